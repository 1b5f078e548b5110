"""A terminal that is too small: nothing is asked there, and what was asked before waits unseen."""

import pytest
from textual.widgets import Input, OptionList

from tests.tui.pictures.screenshots import CATALOGUE
from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, Viewer, screen_text, viewer
from tuibench.model.message import ApplyPreset, SetThreads
from tuibench.tui.app import NEEDS_ROOM
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.screens.monitor import LiveScreen
from tuibench.tui.styled_app import DEFAULT_DISPLAY, DisplayOptions

TINY = (60, 15)


def words(it: Viewer) -> str:
    return " ".join(screen_text(it).split())


async def test_a_key_that_opens_a_dialog_says_that_there_is_no_room() -> None:
    async with viewer(script.hello(60), TINY) as it:
        for key in ("t", "r", "n", "T", "P", "d", "question_mark", "ctrl+p"):
            it.app._show_note("")
            await it.press(key)
            assert isinstance(it.app.screen, LiveScreen), key
            assert f"✗ {NEEDS_ROOM}" in words(it), key
            await it.press("1", "2", "enter", "y", "1")
            assert it.client.submitted == [], key


async def test_a_screens_own_keys_change_nothing_that_cannot_be_seen() -> None:
    async with viewer(CATALOGUE, TINY) as it:
        for place, key in (("g", "enter"), ("g", "slash"), ("g", "R"), ("4", "k")):
            await it.press(place)
            await it.press(key)
            assert isinstance(it.app.screen, MainScreen), key
            assert not isinstance(it.app.focused, Input), key


async def test_a_viewer_that_joined_leaves_with_x_where_there_is_no_room_for_the_question() -> None:
    async with viewer(script.hello(60), TINY, owner=False) as it:
        await it.press("q")
        assert it.client.submitted == []
        assert f"✗ {NEEDS_ROOM}" in words(it)
        assert "x leaves, the run continues" in words(it)
        await it.press("x")
        assert it.app.return_code == 0


async def test_other_keys_still_steer_and_are_answered() -> None:
    async with viewer(script.hello(60), TINY) as it:
        await it.press("plus")
        assert it.client.submitted == [SetThreads(65)]
        assert it.client.answer.text in words(it)


@pytest.mark.whole
@pytest.mark.parametrize(
    "display", [DEFAULT_DISPLAY, DisplayOptions(theme="ansi-dark")], ids=["dark", "ansi"]
)
async def test_a_dialog_is_hidden_while_there_is_no_room_and_keeps_what_was_typed(
    display: DisplayOptions,
) -> None:
    async with viewer(script.hello(60), display=display) as it:
        await it.press("t", "9")
        await it.pilot.resize_terminal(*TINY)
        await it.settle()
        assert "this terminal has 60×15" in words(it)
        assert "A dialog is open" in words(it)
        assert "enter sets" not in words(it)
        await it.press("6", "enter")
        assert it.client.submitted == []
        await it.pilot.resize_terminal(*SMALL)
        await it.settle()
        assert "enter sets" in words(it)
        assert "this terminal has" not in words(it)
        await it.press("4", "enter")
        assert it.client.submitted == [SetThreads(96)]


async def test_a_hidden_question_cannot_be_confirmed() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("d", "down", "down", "enter")
        await it.pilot.resize_terminal(*TINY)
        await it.settle()
        await it.press("y")
        assert it.client.submitted == []
        await it.pilot.resize_terminal(*LARGE)
        await it.settle()
        await it.press("y")
        assert it.client.submitted == [ApplyPreset("unsafe")]


@pytest.mark.whole
async def test_esc_closes_what_is_hidden_and_the_screen_below_follows_the_size() -> None:
    """From 120×36 to 80×24 and back, by way of a terminal that is too small."""
    async with viewer(script.hello(60)) as it:
        before = screen_text(it)
        for key in ("t", "d", "question_mark", "ctrl+p"):
            await it.press(key)
            asked = screen_text(it)
            for size in (TINY, SMALL, TINY, LARGE):
                await it.pilot.resize_terminal(*size)
                await it.settle()
                main = it.app.screen_stack[1]
                assert main.has_class("-compact") is (size == SMALL)
            assert screen_text(it) == asked
            await it.pilot.resize_terminal(*TINY)
            await it.settle()
            await it.press("escape")
            assert isinstance(it.app.screen, LiveScreen)
            assert "this terminal has 60×15" in words(it)
            assert "A dialog is open" not in words(it)
            await it.pilot.resize_terminal(*LARGE)
            await it.settle()
            assert screen_text(it) == before


async def test_choices_that_were_made_for_a_wide_terminal_stay_a_line_each() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("d")
        before = it.app.screen.query_one(OptionList).virtual_size.height
        await it.pilot.resize_terminal(*SMALL)
        await it.settle()
        assert it.app.screen.query_one(OptionList).virtual_size.height == before
