"""The table of actions feeds everything that names a key."""

from collections import Counter

import msgspec
import pytest
from textual.geometry import Size

from tests.tui.support import script
from tests.tui.support.driving import SMALL
from tuibench.errors import UsageError
from tuibench.model.message import ReplayState, RunState
from tuibench.tui.app import TuibenchApp
from tuibench.tui.commands.actions import ACTIONS, ACTIONS_BY_NAME, REPLAY_ACTIONS, is_possible
from tuibench.tui.screens import tabs
from tuibench.tui.screens.base import size_classes, too_small_notice
from tuibench.tui.screens.dialog_table import DIALOGS
from tuibench.tui.screens.help import ACTION_SUBJECTS, KEY_WIDTH, help_sections
from tuibench.tui.terminal import themes
from tuibench.tui.view import View, initial_view

DIALOG_WIDTH = 8
"""What frame, padding and scroll bar take of the help."""
REPLAYING = ReplayState(position_seconds=10.0, first_seconds=0.0, last_seconds=84.0)


def test_no_key_means_two_things() -> None:
    counted = Counter(key for action in ACTIONS for key in action.keys.split(","))
    counted.update(place.key for place in tabs.SCREEN_TABS)
    assert max(counted.values()) == 1


def keys(view: View) -> set[str]:
    return {key for _, entries in help_sections(view) for key, _ in entries}


def test_every_action_has_its_subject_in_the_help() -> None:
    told = Counter(name for names in ACTION_SUBJECTS.values() for name in names)
    assert told == Counter(ACTIONS_BY_NAME.keys())


def test_a_line_of_the_help_fits_beside_its_key_at_80_columns() -> None:
    live = initial_view(script.hello(10))
    lines = [text for _, entries in help_sections(live) for _, text in entries]
    assert max(map(len, lines)) <= SMALL[0] - DIALOG_WIDTH - KEY_WIDTH


def test_the_help_lists_every_key() -> None:
    live = initial_view(script.hello(10))
    listed = keys(live)
    assert {action.shown for action in ACTIONS if action not in REPLAY_ACTIONS} <= listed
    replayed = keys(msgspec.structs.replace(live, replay=REPLAYING))
    assert {action.shown for action in REPLAY_ACTIONS} | {"p", "q", "?"} <= replayed
    assert not {"+", "t", "d", "x"} & replayed
    assert {place.key for place in tabs.SCREEN_TABS} <= listed


def test_every_action_leads_somewhere() -> None:
    for action in ACTIONS:
        opens = action.name in DIALOGS or hasattr(TuibenchApp, f"_open_{action.name}")
        leads = (
            action.play
            or action.command
            or action.change
            or action.view_change
            or action.place in tabs.TABS_BY_NAME
            or opens
        )
        assert leads, action.name


def test_every_dialog_has_its_action() -> None:
    assert set(DIALOGS) <= set(ACTIONS_BY_NAME)


def test_nothing_but_looking_and_leaving_works_while_stopping() -> None:
    view = initial_view(script.hello(10, script.status(RunState.STOPPING)))
    view_changes = {action.name for action in ACTIONS if action.view_change}
    assert {action.name for action in ACTIONS if is_possible(action, view)} == {
        "copy",
        "save",
        "help",
        "menu",
        "leave",
        "stop",
    } | view_changes
    assert is_possible(ACTIONS_BY_NAME["more"], initial_view(script.hello(10)))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((80, 24), "-compact -short -low"),
        ((79, 24), "-small -short -low"),
        ((80, 23), "-small -short -low"),
        ((100, 30), "-compact -short"),
        ((120, 36), "-full -short -high"),
        ((200, 24), "-compact -short -low"),
        ((100, 60), "-compact -tall -high"),
        ((200, 60), "-full -tall -high"),
    ],
)
def test_the_arrangement_follows_the_size(size: tuple[int, int], expected: str) -> None:
    assert size_classes(*size) == set(expected.split())


def test_the_notice_of_a_small_terminal_says_how_to_leave() -> None:
    notice = too_small_notice(initial_view(script.hello(60)), Size(70, 20))
    assert "80×24" in notice
    assert "70×20" in notice
    assert "without a screen: use tuibench run." in notice


def test_a_read_only_viewer_of_a_small_terminal_sees_only_how_to_leave() -> None:
    view = msgspec.structs.replace(initial_view(script.hello(60)), read_only=True)
    notice = too_small_notice(view, Size(70, 20))
    assert "leave with q" in notice
    assert "tuibench run" not in notice


def test_an_unknown_theme_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean tuibench-light"):
        themes.check_theme("tuibench-lihgt")
    themes.check_theme("ansi-dark")
