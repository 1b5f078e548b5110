"""The pictures of the screens, to be looked at when they change: `pytest --snapshot-update`.

Each is drawn in the dark theme, and one of every other terminal. What is drawn on a large one must have a
contrast of at least 4.5:1 to its ground in both themes (WCAG 2), and ASCII for each of its characters.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from textual.app import App
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import ModalScreen

from tests.tui.pictures.animation import animated, story
from tests.tui.pictures.recorded import recorded_story
from tests.tui.pictures.screenshots import CALM, CATALOGUE, PICTURES, SCREENS, Form, Picture, Scene
from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL
from tests.tui.support.start import DOUBTFUL
from tuibench.features.start.screen import StartScreen
from tuibench.tui.picture import with_shapes
from tuibench.tui.screens.dialogs import ConfirmDialog
from tuibench.tui.screens.help import HelpScreen
from tuibench.tui.screens.tabs import SCREEN_TABS
from tuibench.tui.styled_app import OWN_THEMES, DisplayOptions
from tuibench.tui.text import to_ascii

LEAST_RATIO = 4.5
CHART_BLOCKS = "?▀▂▃▄▅▆▇"
"""Charts without Unicode are drawn from other characters."""

KINDS: Mapping[str, Callable[..., object]] = {
    **{place.name: place.make for place in SCREEN_TABS},
    "start": StartScreen,
    "help": HelpScreen,
    "confirm": ConfirmDialog,
}
"""The class of every screen that is to be drawn."""

NOT_DRAWN = {
    *("live-light-120x36", "live-safe-120x36", "cursor-120x36", "compared-80x24"),
    *("durability-120x36", "durability-80x24", "threads-120x36", "event-chosen-80x24", "host-cluster-80x24"),
    *("settings-found-80x24", "change-120x36", "client-limited-80x24", "host-afar-120x36", "host-afar-80x24"),
    *("live-afar-120x36", "ab-test-80x24", "start-private-120x36"),
}
"""States whose words other tests look for."""

DRAWN = (
    *(picture for picture in PICTURES if picture.name not in NOT_DRAWN),
    Picture("start-doubtful-120x36", LARGE, Form(DOUBTFUL, ("down", "enter"))),
    Picture("live-starting-120x36", LARGE, Scene(script.hello(0, events=()))),
)
TERMINALS = (
    Picture("live-light-120x36", LARGE, Scene(), DisplayOptions(theme="tuibench-light")),
    Picture("live-ansi-80x24", SMALL, Scene(), DisplayOptions(theme="ansi-dark")),
    Picture("events-ansi-light-80x24", SMALL, Scene(keys=("6",)), DisplayOptions(theme="ansi-light")),
    Picture("live-ascii-80x24", SMALL, Scene(), DisplayOptions(ascii_only=True)),
)
FIELDS: Mapping[str, Scene | Form] = {
    "search": Scene(CATALOGUE, ("g", "slash")),
    "rate": Scene(CALM, ("r",)),
    "invalid": Scene(CALM, ("t", "0")),
    "change": Scene(CATALOGUE, ("g", "down", "enter", "up")),
    "values": Scene(CALM, ("A",)),
    "menu": Scene(CALM, ("ctrl+p",)),
    "durability": Scene(CALM, ("d", "down")),
    "form": Form(),
    "form-hint": Form(keys=("tab", "tab", "tab")),
    "form-selection": Form(keys=("tab", "tab", "tab", "tab")),
    "form-wrong": Form(keys=("tab", "tab", "x")),
}
"""Empty, filled, selected and invalid input fields, with and without the focus."""


def test_every_screen_is_drawn() -> None:
    assert SCREENS.keys() == KINDS.keys()


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(picture, id=picture.name, marks=() if picture.size == SMALL else pytest.mark.whole)
        for picture in DRAWN
    ],
)
def test_picture(picture: Picture, snap_compare: Callable[..., bool]) -> None:
    app, lead = picture.scene.opened(picture.display)

    async def lead_and_look(pilot: Pilot[Any]) -> None:
        await lead(pilot)
        assert type(app.screen) is KINDS.get(picture.name.rpartition("-")[0], type(app.screen))
        if picture.size == LARGE:
            await assert_legible(app, pilot)

    assert snap_compare(app, run_before=lead_and_look, terminal_size=picture.size)


def test_a_saved_picture_has_shapes_where_fonts_differ() -> None:
    cell = '<text class="r1" x="12.2" y="18.5" textLength="36.6" clip-path="url(#l)">{}</text>'
    assert re.findall(r' x="([\d.]+)"', with_shapes(cell.format("a TPS \xa0p95"))) == ["12.2", "97.6"]
    (block,), (upper, lower) = (re.findall(r'x="([\d.]+)" y="([\d.]+)"', with_shapes(cell.format(glyph)))
                                for glyph in ("▄", "⢀⠁"))  # fmt: skip
    assert block == ("12.20", "12.20")
    assert float(upper[0]) > 12.2 + 6.1
    assert float(upper[1]) > 18.3
    assert float(lower[0]) < 24.4 + 6.1
    assert float(lower[1]) < 6.1


@pytest.mark.parametrize("picture", TERMINALS, ids=lambda picture: picture.name)
def test_terminal(picture: Picture, snap_compare: Callable[..., bool]) -> None:
    app, lead = picture.scene.opened(picture.display)
    assert snap_compare(app, run_before=lead, terminal_size=picture.size)


@pytest.mark.whole
@pytest.mark.parametrize("scene", FIELDS.values(), ids=FIELDS)
async def test_a_field_can_be_read(scene: Scene | Form) -> None:
    app, lead = scene.opened(DisplayOptions())
    async with app.run_test(size=LARGE) as pilot:
        await lead(pilot)
        await assert_legible(app, pilot)


@pytest.mark.whole
@pytest.mark.parametrize("screen", ["live", "confirm"])
async def test_no_colour_is_asked_for_where_none_is_wanted(
    screen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    coloured = []
    for wish in (False, True):
        if wish:
            monkeypatch.setenv("NO_COLOR", "")
        app, lead = SCREENS[screen].opened(DisplayOptions())
        async with app.run_test(size=SMALL) as pilot:
            await lead(pilot)
            coloured.append(has_colours(app))
    assert coloured == [True, False]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "choice", "cursor"),
    [("durability", "relaxed", ""), ("values", "threads=32,64", " "), ("menu", "d ", "S"), ("rate", "", "f")],
)
async def test_a_choice_and_the_cursor_are_seen_without_colours(
    name: str, choice: str, cursor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    app, lead = FIELDS[name].opened(DisplayOptions())
    async with app.run_test(size=SMALL) as pilot:
        await lead(pilot)
        styled = [each for each in segments(app) if each.style]
        chosen = "".join(each.text for each in styled if each.style and each.style.underline)
        reverse = [each.text for each in styled if each.style and each.style.reverse]
    assert choice in chosen
    assert bool(choice) is bool(chosen)
    assert not cursor or cursor in reverse


async def test_without_colours_a_mean_over_a_bar_is_no_hole_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    app, lead = SCREENS["live"].opened(DisplayOptions())
    async with app.run_test(size=LARGE) as pilot:
        await lead(pilot)
        styled = [each for each in segments(app) if each.style]
        reverse = {each.text for each in styled if each.style and each.style.reverse}
    assert {"━━━", "▔▔▔▔"} <= reverse
    assert "▁▁▁▁▁▁" not in reverse


def has_colours(app: App[object]) -> bool:
    """Whether any cell asks the terminal for a colour."""
    styles = [segment.style for segment in segments(app) if segment.style]
    return any(
        colour is not None and not colour.is_default
        for style in styles
        for colour in (style.color, style.bgcolor)
    )


def segments(app: App[Any]) -> Iterator[Segment]:
    for strip in app.screen._compositor.render_strips():
        yield from strip


class PaintedText(NamedTuple):
    """A piece of text on the screen, and its colours."""

    text: str
    ink: ColorTriplet
    ground: ColorTriplet

    @property
    def ratio(self) -> float:
        darker, lighter = sorted(map(luminance, (self.ink, self.ground)))
        return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: ColorTriplet) -> float:
    parts = (part / 255 for part in colour)
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_ratio_is_that_of_the_standard() -> None:
    black, white, grey = ColorTriplet(0, 0, 0), ColorTriplet(255, 255, 255), ColorTriplet(118, 118, 118)
    assert PaintedText("", black, white).ratio == pytest.approx(21)
    assert PaintedText("", grey, white).ratio == pytest.approx(4.54, abs=0.01)


async def assert_legible(app: App[Any], pilot: Pilot[Any]) -> None:
    """Leaves the theme as it was."""
    drawn = {character for segment in segments(app) for character in segment.text}
    assert {character for character in drawn - set(CHART_BLOCKS) if to_ascii(character) == "?"} == set()
    theme = app.theme
    for name in (*(each.name for each in OWN_THEMES if each.name != theme), theme):
        app.theme = name
        await pilot.pause()
        found = list(painted(app))
        assert found
        pale = {f"{one.text.strip()}: {one.ratio:.2f}" for one in found if one.ratio < LEAST_RATIO}
        assert not pale, name


def painted(app: App[Any]) -> Iterator[PaintedText]:
    """The texts of the topmost screen; what a dialog dims is not read."""
    regions = topmost_regions(app)
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            if any(map(str.isalnum, segment.text)) and any(region.contains(x, y) for region in regions):
                yield painted_text(segment)
            x += segment.cell_length


def painted_text(segment: Segment) -> PaintedText:
    style = segment.style
    assert style is not None
    assert style.color is not None
    assert style.bgcolor is not None
    ink, ground = style.color.get_truecolor(), style.bgcolor.get_truecolor()
    return PaintedText(segment.text, *((ground, ink) if style.reverse else (ink, ground)))


def topmost_regions(app: App[Any]) -> list[Region]:
    if isinstance(app.screen, ModalScreen):
        return [part.region for part in app.screen.query(".dialog, #--input, CommandList")]
    return [app.screen.region]


@pytest.mark.whole
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
    still = without_motion(drawn)
    assert "+55 % (49..61 %)" in still
    assert "Preset unsafe" not in still


@pytest.mark.whole
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
    still = without_motion(drawn)
    assert "EFFECT of" in still
    assert "Preset unsafe" not in still


def without_motion(drawn: str) -> str:
    """What a viewer that shows no motion shows."""
    return re.sub(r'<g class="r">.*?</g>', "", drawn)
