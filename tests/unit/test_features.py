"""The table of features: each names what exists, and another feature uses only what one offers."""

import ast
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.examples import summary
from tests.paths import ROOT
from tests.tables import for_each
from tests.unit import toy
from tuibench import app
from tuibench.base.document import write_text
from tuibench.base.feature import CommandEntry, Feature, command_entries, installed, merged, resolve
from tuibench.report.part import report_parts
from tuibench.session.laboratory import experiment_kinds
from tuibench.tui.actions import OWN_ACTIONS, features_actions
from tuibench.tui.screens.help import with_followers
from tuibench.tui.screens.tabs import OWN_TABS, features_tabs

FOLDER = ROOT / "tuibench" / "features"


class Entry(NamedTuple):
    name: str
    after: str = ""


def test_an_entry_of_a_feature_follows_the_one_that_it_names() -> None:
    own = (Entry("one"), Entry("two"))
    brought = (Entry("third", after="second"), Entry("second", after="one"), Entry("chained", after="second"))
    names = [entry.name for entry in merged(own, brought)]
    assert names == ["one", "second", "chained", "two", "third"]


def references() -> set[str]:
    """Every reference of every feature."""
    found = set()
    for value in (value for feature in installed() for value in feature):
        several = (
            value.values() if isinstance(value, Mapping) else [value] if isinstance(value, str) else value
        )
        found |= {one for one in several if isinstance(one, str) and ":" in one}
    return found


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with one feature more: its folder, and a line in the table."""
    monkeypatch.setattr(app, "FEATURES", (*app.FEATURES, toy.FEATURE))


@pytest.mark.usefixtures("with_toy")
def test_a_new_feature_is_one_folder_and_one_line() -> None:
    assert [entry.name for entry in command_entries() if entry.module == toy.HERE] == ["toy"]
    assert toy.Play in experiment_kinds()
    tabs = [tab.name for tab in merged(OWN_TABS, features_tabs())]
    assert tabs[tabs.index("tune") + 1] == "toy"
    actions = merged(OWN_ACTIONS, features_actions())
    names = [action.name for action in actions]
    assert names[names.index("mark") + 1] == "play"
    assert list(with_followers(("mark", "pin"), actions)) == ["mark", "play", "pin"]
    written = "".join(write_text(tuple(part.sections(summary()))) for part in report_parts(summary()))
    assert "It was played." in written


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


@for_each("reference", sorted(references()))
def test_a_reference_leads_to_what_exists(reference: str) -> None:
    assert resolve(reference) is not None
