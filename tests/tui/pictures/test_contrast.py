"""Every text and every hint in an empty field has a contrast of at least 4.5:1 to its ground (WCAG 2)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from textual.app import App
from textual.geometry import Region
from textual.screen import ModalScreen

from tests.tui.pictures.screenshots import AB_TESTED, CALM, CATALOGUE, FAR_HOSTS, SCREENS, WARNED, Form, Scene
from tests.tui.support.driving import LARGE
from tuibench.tui.terminal.styled_app import DisplayOptions
from tuibench.tui.terminal.themes import OWN_THEMES

LEAST_RATIO = 4.5
FIELDS: dict[str, Scene | Form] = {
    "search": Scene(CATALOGUE, ("5", "slash")),
    "rate": Scene(CALM, ("r",)),
    "invalid": Scene(CALM, ("t", "0")),
    "change": Scene(CATALOGUE, ("5", "down", "enter")),
    "values": Scene(CALM, ("A",)),
    "menu": Scene(CALM, ("ctrl+p",)),
    "form": Form(),
    "form-hint": Form(keys=("tab", "tab", "tab")),
    "form-selection": Form(keys=("tab", "tab", "tab", "tab")),
    "form-wrong": Form(keys=("tab", "tab", "x")),
}
"""Empty, filled, selected and invalid input fields, with and without the focus."""

SCENES: dict[str, Scene | Form] = {
    **SCREENS,
    **FIELDS,
    "durability": Scene(CALM, ("d", "down")),
    "hosts": Scene(FAR_HOSTS, ("4",)),
    "warned": Scene(WARNED),
    "ab": Scene(AB_TESTED),
    "cursor": Scene(keys=("left", "v")),
}


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
    red, green, blue = (_linear(part / 255) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


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


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
async def test_every_text_can_be_read(scene: Scene | Form, theme: Any) -> None:
    app, lead = scene.opened(DisplayOptions(theme=theme.name))
    async with app.run_test(size=LARGE) as pilot:
        await lead(pilot)
        found = list(painted(app))
    assert found
    pale = {f"{each.text.strip()}: {each.ratio:.2f}" for each in found if each.ratio < LEAST_RATIO}
    assert not pale


def test_the_ratio_is_that_of_the_standard() -> None:
    black, white, grey = ColorTriplet(0, 0, 0), ColorTriplet(255, 255, 255), ColorTriplet(118, 118, 118)
    assert PaintedText("", black, white).ratio == pytest.approx(21)
    assert PaintedText("", grey, white).ratio == pytest.approx(4.54, abs=0.01)
