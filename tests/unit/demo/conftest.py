"""Example servers and directories."""

from pathlib import Path

import pytest

from tuibench.demo.binaries import Binary
from tuibench.demo.layout import DirectoryLayout
from tuibench.demo.messages import ServerSpec
from tuibench.model.server import Flavour


def make_spec(
    flavour: Flavour = Flavour.MARIADB, base: str = "/b", options: tuple[str, ...] = ()
) -> ServerSpec:
    return ServerSpec(
        binary=Binary(path="/x/sbin/serverd", flavour=flavour, version="11.8.9"),
        base=base,
        user="tuibench",
        password="s3cret",
        database="sbtest",
        options=options,
    )


@pytest.fixture
def layout(tmp_path: Path) -> DirectoryLayout:
    """A new directory as the supervisor creates it."""
    return DirectoryLayout.create(tmp_path)
