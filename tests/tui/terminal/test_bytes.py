"""What the Live screen costs a slow line: bytes written for each sample, in a steady state."""

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, viewer

SECONDS = 12


class Line:
    """Counts what the app writes to its terminal, in bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written = 0
        monkeypatch.setattr(HeadlessDriver, "is_headless", property(lambda _: False))
        monkeypatch.setattr(HeadlessDriver, "write", lambda _, data: self._take(data))

    def _take(self, data: str) -> None:
        self.written += len(data.encode())


@pytest.mark.parametrize(("size", "budget"), [(LARGE, 2_500), (SMALL, 1_700)], ids=["120x36", "80x24"])
async def test_a_second_of_the_live_screen_stays_within_its_budget(
    size: tuple[int, int], budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    line = Line(monkeypatch)
    length = script.LENGTH - SECONDS
    async with viewer(script.hello(length), size=size) as it:
        await it.hear(script.samples()[-SECONDS])
        before = line.written
        for sample in script.samples()[1 - SECONDS :]:
            await it.hear(sample)
        each = (line.written - before) / (SECONDS - 1)
        assert 0 < each <= budget


async def test_what_is_not_visible_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample changes the clock in the head and nothing else of a screen without figures."""
    line = Line(monkeypatch)
    async with viewer(script.hello(60)) as it:
        await it.press("6")
        before = line.written
        await it.hear(script.samples(61)[-1])
        assert line.written - before < 600


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["120x36", "80x24"])
async def test_the_screen_below_the_first_one_costs_no_picture(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual paints a screen that opens twice, once with what was laid out and once in full."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    line = Line(monkeypatch)
    async with viewer(script.hello(60), size=size) as it:
        at_first = line.written
        it.app.refresh()
        await it.settle()
        whole = line.written - at_first
        assert 0 < at_first < 2.5 * whole
