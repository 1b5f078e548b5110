"""The driver's private names: in one file, all of them there, in the release that was read."""

import ast
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import asyncmy

import tuibench.mysql
from tests.paths import ROOT
from tests.private_names import is_private, private_names
from tests.tables import for_each
from tuibench.mysql import driver_internals
from tuibench.mysql.driver import RELEASE
from tuibench.mysql.driver_internals import DriverConnection

PACKAGE = Path(tuibench.mysql.__file__).parent
INTERNALS = Path(driver_internals.__file__)
OTHER_FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != INTERNALS]
OWN_NAMES = {"_readable_bytes", "_max_bytes", "_too_much"}
USED = sorted(
    {
        node.attr
        for node in ast.walk(ast.parse(INTERNALS.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and is_private(node.attr)
    }
    - OWN_NAMES
)
DRIVER_SOURCE = (Path(asyncmy.__file__).parent / "connection.pyx").read_text(encoding="utf-8")


def test_the_driver_is_the_release_that_was_read() -> None:
    assert version("asyncmy") == RELEASE
    assert f'"asyncmy=={RELEASE}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@for_each("path", OTHER_FILES)
def test_no_other_file_uses_private_names(path: Path) -> None:
    assert not list(private_names(ast.parse(path.read_text(encoding="utf-8"))))


@for_each("name", USED)
def test_the_driver_has_the_name(name: str) -> None:
    assert re.search(rf"\bself\.{name}\b|\bdef {name}\b", DRIVER_SOURCE)


PUBLIC_PARTS = {name: part for name, part in vars(DriverConnection).items() if not name.startswith("_")}


async def test_no_public_name_hides_one_of_the_driver() -> None:
    driver: Any = asyncmy
    connection = driver.Connection()
    assert not [name for name in PUBLIC_PARTS if hasattr(connection, name)]


def test_every_part_says_why_it_is_needed() -> None:
    assert not [name for name, part in PUBLIC_PARTS.items() if name != "login_steps" and not part.__doc__]
