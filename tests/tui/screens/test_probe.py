"""A probe from the screen: the key that starts and ends it, and the screen that shows it."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, viewer
from tests.tui.support.probed import probed
from tuibench.base.units import milliseconds
from tuibench.features.probe.screen import SaturationScreen
from tuibench.model.message import Command, NextStep, StartProbe, StopExperiment
from tuibench.model.probe import ProbeOrder, ProbeState
from tuibench.model.schedule import Quantity
from tuibench.tui.screens.dialogs import InputDialog


def hello(probe: ProbeState | None) -> Any:
    return replace(script.hello(60), probe=probe)


async def test_the_key_asks_and_starts_one() -> None:
    orders: tuple[tuple[tuple[str, ...], Command], ...] = (
        (("enter",), StartProbe()),
        ((*"p95", "less_than_sign", *"20ms", "enter"), StartProbe(ProbeOrder(slo=("p95<20ms",)))),
        ((*"rate", "enter"), StartProbe(ProbeOrder(by=Quantity.RATE))),
    )
    async with viewer(hello(None)) as it:
        await it.press("P", *"fast", "enter")
        assert isinstance(it.app.screen, InputDialog)
        assert not it.client.submitted
        await it.press("escape")
        for keys, command in orders:
            it.client.submitted.clear()
            await it.press("P")
            assert isinstance(it.app.screen, InputDialog)
            await it.press(*keys)
            assert it.client.submitted == [command]


async def test_the_screen_of_the_probe_opens_when_it_has_begun() -> None:
    under_way = probed().under_way
    async with viewer(hello(None)) as it:
        await it.press("P", "enter")
        assert not isinstance(it.app.screen, SaturationScreen)
        await it.hear(under_way)
        assert isinstance(it.app.screen, SaturationScreen)
        await it.press("1")
        await it.hear(under_way)
        assert not isinstance(it.app.screen, SaturationScreen)


async def test_a_probe_of_another_viewer_opens_no_screen() -> None:
    async with viewer(hello(None)) as it:
        await it.press("P", "escape")
        await it.hear(probed().under_way)
        assert not isinstance(it.app.screen, SaturationScreen)


async def test_it_follows_the_probe_to_its_answer_and_the_key_ends_it_or_asks_again() -> None:
    over = probed().over
    async with viewer(hello(None)) as it:
        await it.press("7", "escape")
        assert not isinstance(it.app.screen, SaturationScreen)
        await it.hear(probed().under_way)
        await it.press("7", "P", "j")
        assert isinstance(it.app.screen, SaturationScreen)
        assert it.client.submitted == [StopExperiment("probe"), NextStep()]
        assert "32 threads (up)" in it.shown("probe")
        assert "waiting for a throughput known to ±3.0 %: now ±4.1 %" in it.shown("probe")
        assert it.shown("found").splitlines()[1].split()[0] == "16"
        await it.hear(over)
        assert over.result is not None
        assert "done: the objective is met · p95<40ms" in it.shown("probe")
        assert it.shown("answer").startswith("p95<40ms: met up to 45 threads")
        assert it.shown("found").startswith("Saturated at ")
        it.client.submitted.clear()
        await it.press("j", "P", "enter")
        assert it.client.submitted == [StartProbe()], "there is no next step"


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x36"])
async def test_it_fits_the_terminal(size: tuple[int, int]) -> None:
    async with viewer(hello(probed().over), size) as it:
        await it.press("7")
        assert "knee" in it.shown("bend")
        assert it.shown("bend-axis").split()[:2] == ["threads", "1"]


async def test_the_whole_answer_has_the_room_of_the_charts() -> None:
    over = probed().over
    async with viewer(hello(over), LARGE) as it:
        await it.press("7")
        with_charts = it.shown("found")
        await it.press("enter")
        assert over.result is not None
        assert all(
            milliseconds(step.p95_ms, in_column=True) in it.shown("found")
            for step in over.result.steps
            if step.p95_ms
        )
        assert "more line" not in it.shown("found")
        await it.press("enter")
        assert it.shown("found") == with_charts
