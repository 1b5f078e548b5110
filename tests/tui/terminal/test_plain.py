"""A terminal without Unicode: panels are ASCII on every screen, and scroll bars are letters."""

import pytest

from tests.tui.support import catalogue, script
from tests.tui.support.driving import LARGE, SMALL, Viewer, screen_text, viewer
from tuibench.tui.styled_app import DisplayOptions
from tuibench.tui.text import to_ascii
from tuibench.tui.widgets import Panel

PLAIN_CHARACTERS = DisplayOptions(ascii_only=True)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x36"])
async def test_every_panel_is_ascii(size: tuple[int, int]) -> None:
    async with viewer(script.hello(70, catalogue.status()), size, display=PLAIN_CHARACTERS) as it:
        for keys in (("left", "c", "shift+left", "c", "z"), *"6bg", ("3", "enter", "left"), ("h",)):
            await it.press("1", *keys)
            for panel in it.app.screen.query(Panel):
                assert panel.text().isascii(), (keys, panel.id)


@pytest.mark.parametrize("key", ["A", "U"])
async def test_a_tolerance_in_a_dialog_can_be_typed_as_it_is_shown(key: str) -> None:
    async with viewer(script.hello(60), display=PLAIN_CHARACTERS) as it:
        await it.press(key)
        assert "2%" in screen_text(it)
        assert "~" not in to_ascii(screen_text(it))


def bar(it: Viewer) -> str:
    """The help's scroll bar, from the top down."""
    place = it.app.screen.query_one("#help-dialog").vertical_scrollbar.region
    return "".join(row[place.x] for row in screen_text(it).splitlines()[place.y : place.bottom])


async def test_a_scroll_bar_is_letters_that_follow_the_text() -> None:
    async with viewer(script.hello(60), SMALL, display=PLAIN_CHARACTERS) as it:
        await it.press("question_mark")
        top = bar(it)
        assert top == "#" * top.count("#") + ":" * top.count(":")
        assert "#" in top
        assert ":" in top
        await it.press("end")
        assert bar(it) == top[::-1]


async def test_a_terminal_with_unicode_has_the_finer_bar_again() -> None:
    async with viewer(script.hello(60), display=PLAIN_CHARACTERS):
        pass
    async with viewer(script.hello(60)) as it:
        await it.press("question_mark")
        assert set(bar(it)) != set("#:")
