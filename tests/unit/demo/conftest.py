"""Made-up servers and directories."""

from pathlib import Path

import pytest

from tuibench.demo.binaries import Binary
from tuibench.demo.instructions import Spec
from tuibench.demo.layout import Layout
from tuibench.model.server import Flavour


def make_spec(flavour: Flavour = Flavour.MARIADB, base: str = "/b", options: tuple[str, ...] = ()) -> Spec:
    return Spec(
        binary=Binary(path="/x/sbin/serverd", flavour=flavour, version="11.8.9"),
        base=base,
        user="tuibench",
        password="s3cret",
        database="sbtest",
        options=options,
    )


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A new directory as the keeper makes it."""
    return Layout.create(tmp_path)
