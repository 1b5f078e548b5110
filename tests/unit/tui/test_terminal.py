"""The terminal: keys, styles, partial updates, and internals of Textual."""

import ast
import functools
import importlib
import inspect
import io
import pkgutil
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate
from textual.drivers.headless_driver import HeadlessDriver
from textual.strip import Strip

import tuibench.tui
from tests.paths import DOCS
from tests.private_names import is_private, private_names
from tests.tables import for_each
from tests.tui.support import script
from tuibench.base.errors import UsageError
from tuibench.base.units import local_time
from tuibench.tui import textual_internals
from tuibench.tui.actions import ACTIONS_BY_NAME
from tuibench.tui.panels.lists import figures_text
from tuibench.tui.screens import help
from tuibench.tui.screens.tabs import TABS_BY_NAME
from tuibench.tui.steering import move_cursor
from tuibench.tui.styled_app import CellsUpdate, ascii_driver, needs_ascii
from tuibench.tui.text import clock_axis_text
from tuibench.tui.textual_internals import PRIVATE_PARTS, PrivatePart
from tuibench.tui.view import initial_view
from tuibench.tui.widgets import CURSOR_JUMP_CELLS, column_runs

# Textual's private parts: all in one file, and as they were when that file was written.


ROOT = Path(tuibench.tui.__path__[0])
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != Path(textual_internals.__file__)]


@pytest.mark.parametrize("private", PRIVATE_PARTS, ids=lambda private: private.part.__qualname__)
def test_a_private_part_is_as_it_was_read(private: PrivatePart) -> None:
    assert private.present_digest == private.digest, f"read its new source: {private.reason}"


def test_a_changed_part_has_another_digest() -> None:
    changed = PRIVATE_PARTS[0]._replace(part=test_a_changed_part_has_another_digest)
    assert changed.present_digest != changed.digest


@for_each("path", MODULES)
def test_no_other_module_touches_one(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [*private_names(tree), *private_modules(tree)]


def private_modules(tree: ast.AST) -> Iterator[str]:
    """Private modules of Textual that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_private_module(node.module or ""):
            yield node.module or ""


def is_private_module(name: str) -> bool:
    return name.startswith("textual") and any(is_private(part) for part in name.split("."))


def test_no_class_replaces_a_private_name_by_accident() -> None:
    assert set(replaced_names()) == {"FilteredPaintApp._display"}


def replaced_names() -> Iterator[str]:
    """Methods and attributes of our classes that Textual uses under the same private name."""
    for module in pkgutil.walk_packages([str(ROOT)], "tuibench.tui."):
        for name, owner in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(owner) and owner.__module__ == module.name:
                theirs = {
                    each
                    for base in owner.__mro__
                    if base.__module__.startswith("textual")
                    for each in own_private_names(base)
                }
                yield from (f"{name}.{each}" for each in own_private_names(owner) & theirs)


def own_private_names(owner: type) -> frozenset[str]:
    """The private methods that a class defines, and the private attributes that it assigns to `self`."""
    return private_names_of(owner.__module__, owner.__qualname__)


@functools.cache
def private_names_of(module: str, name: str) -> frozenset[str]:
    tree = classes_of(module)[name]
    methods = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assigned = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    return frozenset(name for name in methods | assigned if is_private(name))


@functools.cache
def classes_of(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module by their qualified names; the source is parsed once for all of them."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return dict(named_classes(tree, ""))


def named_classes(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from named_classes(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from named_classes(node, f"{prefix}{node.name}.<locals>.")
        else:
            yield from named_classes(node, prefix)


# The user's keys: read strictly, and what is wrong is named by file, action and nearest name.


def test_a_key_is_a_character_or_a_name_and_several_stand_side_by_side() -> None:
    found = help.parse_keymap(
        {"pause": "i", "double": "f5 )", "fewer": "(", "halve": "Space", "mark": "M"}, "c.toml"
    )
    assert found.bound == {
        "pause": "i",
        "double": "f5,right_parenthesis",
        "fewer": "left_parenthesis",
        "halve": "space",
        "mark": "M",
    }
    assert found.shown == {"pause": "i", "double": "f5", "fewer": "(", "halve": "space", "mark": "M"}


def test_keys_can_change_places() -> None:
    assert help.parse_keymap({"pause": "d", "durability": "p"}, "c.toml").bound == {
        "pause": "d",
        "durability": "p",
    }


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"puase": "o"}, "c.toml: keys.puase: there is no action 'puase' (did you mean 'pause'?)"),
        ({"pause": 3}, "c.toml: keys.pause: a key is a text"),
        ({"pause": " "}, "c.toml: keys.pause: a key is a text"),
        ({"pause": "spcae"}, "c.toml: keys.pause: there is no key 'spcae' (did you mean 'space'?)"),
        ({"pause": "Enter"}, "c.toml: keys.pause: Enter confirms and goes back everywhere"),
        (
            {"pause": "q"},
            "c.toml: keys.pause: q is the key of 'stop', too (give that action another key: stop = ",
        ),
        ({"stop": "i", "pause": "i"}, "c.toml: keys.pause: i is the key of 'stop', too"),
    ],
)
def test_faults_are_named(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        help.parse_keymap(given, "c.toml")
    found = str(caught.value)
    assert found.startswith(fault) or "'pause', too" in found


def test_the_documentation_names_every_action_and_no_two_have_one_name() -> None:
    text = (DOCS / "screen.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`", text.partition("The actions: ")[2].partition("## ")[0])
    assert sorted(named) == sorted((*ACTIONS_BY_NAME, *TABS_BY_NAME))
    assert set(named) == set(help.DEFAULT_KEYS)


# When a terminal gets plain characters, and that then it gets no others.


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, True),
        ({"LANG": "en_US.UTF-8", "TERM": "linux"}, True),
    ],
)
def test_the_locale_and_the_terminal_decide(
    environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL", "LC_CTYPE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.__stdout__", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    assert needs_ascii() is expected


def test_a_plain_driver_sends_ascii_in_as_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "write", lambda _, data: sent.append(data))
    driver = object.__new__(ascii_driver(HeadlessDriver))
    driver.write("\x1b[1m╭─ Help ─╮▸ ● ↑ é 🔎")
    assert sent == ["\x1b[1m+- Help -+> * ^ ? > "]


# A partial repaint sends the cells that were refreshed, and no others.


def written(spans: list[tuple[int, int, int]]) -> str:
    """Of a line of two widgets, "abcdefgh" from column 0 and "ijklmnop" from column 8."""
    chops: list[dict[int, Strip | None]] = [
        {0: Strip([]), 8: None},
        {0: strip_of("abcdefgh"), 8: strip_of("ijklmnop")},
    ]
    update = ChopsUpdate(chops, spans, [[8, 16], [8, 16]])
    return CellsUpdate.of(update).render_segments(Console(file=io.StringIO(), color_system=None))


def strip_of(text: str) -> Strip:
    return Strip([Segment(text)])


def test_a_span_inside_a_widget_begins_where_it_begins() -> None:
    assert written([(1, 3, 5)]) == "\x1b[2;4Hde"


def test_a_span_over_two_widgets_is_cut_on_both_sides() -> None:
    assert written([(1, 6, 10)]) == "\x1b[2;7Hgh\x1b[2;9Hij"


def test_spans_of_one_line_are_apart() -> None:
    assert written([(1, 0, 1), (1, 15, 16)]) == "\x1b[2;1Ha\x1b[2;16Hp"


@given(st.sets(st.integers(0, 300), min_size=1))
def test_runs_hold_every_column_and_are_worth_the_jump_between_them(columns: set[int]) -> None:
    found = column_runs(sorted(columns))
    assert all(any(first <= column <= last for first, last in found) for column in columns)
    assert all(first in columns and last in columns for first, last in found)
    assert all(later[0] - earlier[1] > CURSOR_JUMP_CELLS for earlier, later in pairwise(found))


# What is copied: the figures of now, or of the cursor's column.


def test_figures_are_copied_with_their_context() -> None:
    text = figures_text(initial_view(script.hello()))
    assert text.startswith(
        "MariaDB 10.11.19, oltp_read_write, 4 × 100,000 rows, 64 threads, 01:24 into the run"
    )
    assert "TPS 2,4" in text
    assert "fsyncs/trx 0.020" in text
    assert "innodb_flush_log_at_trx_commit=0, sync_binlog=0 (at risk)" in text
    assert "effect of 3: preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0\n" in text
    assert "\n  TPS: 1,560 → 2,412, +55 % (49..61 %)" in text


def test_with_a_cursor_they_are_those_of_its_column() -> None:
    view = initial_view(script.hello())
    for _ in range(40):
        view = move_cursor(-1)(view, 60)
    assert "00:45 into the run" in figures_text(view)


def test_before_the_first_sample_there_is_nothing() -> None:
    assert figures_text(initial_view(script.hello(0))) == ""


def test_the_clock_axis_is_labelled_at_round_times() -> None:
    text = clock_axis_text(60, 1.0, script.START + 7, local_time)
    labels = text.split()
    assert len(labels) >= 3
    assert all(label.endswith(("0", "5")) for label in labels)
    assert labels == sorted(labels)
    assert len(text) == 60
