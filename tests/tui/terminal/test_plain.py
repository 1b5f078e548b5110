"""A terminal without Unicode: each character has one of ASCII that stands for it, scroll bars too."""

import pytest

from tests.tui.pictures.screenshots import PICTURES, Picture
from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, Viewer, screen_text, viewer
from tuibench.tui.terminal.styled_app import DisplayOptions
from tuibench.tui.text.drawing import to_ascii

PLAIN_CHARACTERS = DisplayOptions(ascii_only=True)


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(each, id=each.name, marks=() if each.size == SMALL else pytest.mark.whole)
        for each in PICTURES
    ],
)
async def test_every_character_has_its_likeness(picture: Picture) -> None:
    app, lead = picture.scene.opened(PLAIN_CHARACTERS)
    async with app.run_test(size=picture.size) as pilot:
        await lead(pilot)
        strips = app.screen._compositor.render_strips()
        drawn = {character for strip in strips for segment in strip for character in segment.text}
        assert {character for character in drawn - {"?"} if to_ascii(character) == "?"} == set()


def bar(it: Viewer) -> str:
    """The help's scroll bar, from the top down."""
    place = it.app.screen.query_one("#help-dialog").vertical_scrollbar.region
    return "".join(row[place.x] for row in screen_text(it).splitlines()[place.y : place.bottom])


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x36"])
async def test_a_scroll_bar_is_letters_that_follow_the_text(size: tuple[int, int]) -> None:
    async with viewer(script.hello(60), size, display=PLAIN_CHARACTERS) as it:
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
