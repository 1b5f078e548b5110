"""The private names of the driver: those of the table, no others, and all of them there."""

import re
from importlib.metadata import version
from pathlib import Path

import asyncmy
import pytest

import tuibench.mysql
from tests.paths import ROOT
from tuibench.mysql.driver_internals import PRIVATE_NAMES, RELEASE

SOURCES = [
    path for path in Path(tuibench.mysql.__file__).parent.rglob("*.py") if path.name != "driver_internals.py"
]
USE = re.compile(r"\b(?:_?raw|_driver)\.(_[a-z][a-z_]*)")


def test_the_driver_is_the_release_that_was_read() -> None:
    assert version("asyncmy") == RELEASE
    assert f'"asyncmy=={RELEASE}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_code_uses_the_names_of_the_table_and_no_others() -> None:
    used = {name for path in SOURCES for name in USE.findall(path.read_text(encoding="utf-8"))}
    assert used == set(PRIVATE_NAMES)


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_the_driver_has_the_name(name: str) -> None:
    source = (Path(asyncmy.__file__).parent / "connection.pyx").read_text(encoding="utf-8")
    assert re.search(rf"\bself\.{name}\b|\bdef {name}\b", source)
