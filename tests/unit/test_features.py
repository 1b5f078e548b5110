"""The table of features: each names what exists, and another feature uses only what one offers."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.paths import ROOT
from tests.tables import for_each
from tuibench.base.feature import CommandEntry, Feature, command_entries, installed

FOLDER = ROOT / "tuibench" / "features"


def test_each_folder_is_a_feature_of_the_table() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert folders == {feature.name for feature in installed()}
    assert len(installed()) == len(folders)


@for_each("entry", command_entries())
def test_a_command_is_a_function_of_its_module(entry: CommandEntry) -> None:
    assert callable(getattr(import_module(entry.module), entry.name))


def test_no_two_commands_have_one_name() -> None:
    names = [entry.name for entry in command_entries()]
    assert len(names) == len(set(names))


@for_each("feature", installed())
def test_what_a_feature_offers_exists(feature: Feature) -> None:
    for module in feature.offers:
        assert find_spec(f"tuibench.features.{feature.name}.{module}") is not None


def imported(path: Path) -> set[str]:
    """The modules of features that a file imports, also within functions: `sweep.planning`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tuibench.features."):
            name = (node.module or "").removeprefix("tuibench.features.")
            names = [f"{name}.{each.name}" for each in node.names] if "." not in name else [name]
            found |= set(names)
    return found


@for_each("feature", installed())
def test_a_feature_uses_of_another_only_what_that_offers(feature: Feature) -> None:
    offered = {f"{other.name}.{module}" for other in installed() for module in other.offers}
    used = {name for path in (FOLDER / feature.name).rglob("*.py") for name in imported(path)}
    foreign = {name for name in used if name.partition(".")[0] != feature.name}
    assert foreign <= offered
