"""The pictures of the screens, to be looked at when they change: `pytest --snapshot-update`."""

import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.tui.pictures.animation import animated, story
from tests.tui.pictures.recorded import recorded_story
from tests.tui.pictures.screenshots import DETAILS, SCREENS, SIZES, Form, Picture, Scene
from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL
from tests.tui.support.start import DOUBTFUL
from tuibench.tui.screens.confirm import ConfirmDialog
from tuibench.tui.screens.help import HelpScreen
from tuibench.tui.screens.tabs import SCREEN_TABS
from tuibench.tui.start.screen import StartScreen
from tuibench.tui.terminal.styled_app import DEFAULT_DISPLAY, DisplayOptions

KINDS: Mapping[str, Callable[..., object]] = {
    **{place.name: place.make for place in SCREEN_TABS},
    "start": StartScreen,
    "help": HelpScreen,
    "confirm": ConfirmDialog,
}
"""The class of every screen that is to be in the table."""


class Terminal(NamedTuple):
    """What decides about colours: the display that was asked for, and the environment."""

    display: DisplayOptions = DEFAULT_DISPLAY
    environment: Mapping[str, str] = {}


TERMINALS = {
    "dark": Terminal(),
    "ansi": Terminal(DisplayOptions(theme="ansi-dark")),
    "no-colour": Terminal(environment={"NO_COLOR": ""}),
}
TABLE = list(product(SCREENS, SIZES, TERMINALS))


def test_every_screen_is_in_the_table() -> None:
    assert SCREENS.keys() == KINDS.keys()


def in_every_test(size: str, terminal: str) -> bool:
    return terminal == "dark" or size == "80x24"


CASES = [
    pytest.param(
        screen,
        size,
        terminal,
        id=f"{screen}-{size}-{terminal}",
        marks=() if in_every_test(size, terminal) else pytest.mark.whole,
    )
    for screen, size, terminal in TABLE
]
"""`make test` draws the wide screens in colours only, `make test-all` on every terminal."""


@pytest.mark.parametrize(("screen", "size", "terminal"), CASES)
def test_screen(
    screen: str,
    size: str,
    terminal: str,
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    display, environment = TERMINALS[terminal]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    app, lead = SCREENS[screen].opened(display)

    async def lead_and_check(pilot: Pilot[None]) -> None:
        await lead(pilot)
        assert type(app.screen) is KINDS[screen]
        assert has_colours(app) is ("NO_COLOR" not in environment)

    assert snap_compare(app, run_before=lead_and_check, terminal_size=SIZES[size])


def has_colours(app: App[object]) -> bool:
    """Whether any cell asks the terminal for a colour."""
    strips = app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return any(
        colour is not None and not colour.is_default
        for style in styles
        for colour in (style.color, style.bgcolor)
    )


PLAIN_CHARACTERS = DisplayOptions(ascii_only=True)
MORE = (
    Picture("live-ascii-80x24", SMALL, Scene(), PLAIN_CHARACTERS),
    Picture("big-ascii-120x36", LARGE, Scene(keys=("b",)), PLAIN_CHARACTERS),
    Picture("events-ansi-light-80x24", SMALL, Scene(keys=("7",)), DisplayOptions(theme="ansi-light")),
    Picture("live-starting-120x36", LARGE, Scene(script.hello(0, events=()))),
    Picture("start-doubtful-120x36", LARGE, Form(DOUBTFUL, ("down", "enter"))),
    Picture("start-another-80x24", SMALL, Form(keys=("end",))),
    Picture("start-ansi-light-120x36", LARGE, Form(), DisplayOptions(theme="ansi-light")),
)


@pytest.mark.parametrize("picture", [*DETAILS, *MORE], ids=lambda picture: picture.name)
def test_picture(picture: Picture, snap_compare: Callable[..., bool]) -> None:
    app, lead = picture.scene.opened(picture.display)
    assert snap_compare(app, run_before=lead, terminal_size=picture.size)


async def test_the_animated_toggle_tells_the_story_and_stays_small() -> None:
    drawn = animated(await story())
    assert len(drawn) < 500_000
    for words in (
        "Durability: what survives a crash",
        "Preset unsafe",
        "AT RISK",
        "+55 % (49..61 %)",
        "DURABLE",
    ):
        assert words in drawn
    assert drawn.count("<animate ") > 100


async def test_the_picture_of_the_recorded_run_ends_with_its_effect() -> None:
    drawn = animated(await recorded_story())
    assert len(drawn) < 600_000
    for words in (
        "Durability: what survives a crash",
        "Preset unsafe",
        "AT RISK",
        "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0",
    ):
        assert words in drawn
    still = re.sub(r'<g class="r">.*?</g>', "", drawn)
    assert "EFFECT of" in still
    assert "Preset unsafe" not in still


async def test_a_viewer_that_shows_no_motion_sees_the_effect_of_the_toggle() -> None:
    still = re.sub(r'<g class="r">.*?</g>', "", animated(await story()))
    assert "+55 % (49..61 %)" in still
    assert "Preset unsafe" not in still
