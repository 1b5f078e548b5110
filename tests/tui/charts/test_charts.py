"""The keys and the mouse on the charts: cursor, zoom, freeze, comparison."""

import re

import pytest

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, viewer
from tuibench.model.message import Pause
from tuibench.tui.panels.time_chart import AXIS_WIDTH

SAMPLES = script.samples(63)[-3:]


@pytest.mark.whole
@pytest.mark.parametrize("size", [LARGE, SMALL])
async def test_the_cursor_is_drawn_through_all_charts_and_escape_ends_it(size: tuple[int, int]) -> None:
    async with viewer(script.hello(60), size=size) as it:
        await it.press("left", "left")
        for chart in ("chart-tps", "chart-qps", "chart-latency"):
            assert all("┃" in row for row in it.shown(chart).splitlines())
        assert it.shown("axis").endswith(" 00:59")
        await it.press("a")
        assert re.search(r" \d\d:\d\d:\d\d$", it.shown("axis")), "the time of day, as the axis has it"
        await it.press("a", "escape")
        assert "┃" not in it.shown("chart-tps")


@pytest.mark.whole
async def test_a_label_that_the_cursor_covers_in_part_is_left_out() -> None:
    """Some of its digits beside the cursor would be another number."""
    async with viewer(script.hello(), size=LARGE) as it:
        await it.press("left")
        whole = set()
        for _ in range(30):
            await it.press("left")
            rule, *rows = it.shown("chart-tps").splitlines()
            labels = re.findall(r"[\d,.]+", " ".join(row[AXIS_WIDTH:] for row in rows))
            assert set(labels) <= {"1,560", "2,412"}
            assert rule.count("%") == rule.count(" +55 %")
            whole |= {*labels, *(["+55 %"] if "%" in rule else [])}
        assert whole == {"1,560", "2,412", "+55 %"}


async def test_a_frozen_chart_does_not_move_while_the_load_is_controlled() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("v")
        chart = it.shown("chart-tps")
        await it.hear(*SAMPLES, script.status(threads=8))
        await it.press("p")
        assert it.shown("chart-tps") == chart
        assert it.client.submitted == [Pause()]
        assert "8 threads" in it.shown("head")
        assert "01:03" in it.shown("head")
        assert "DISPLAY FROZEN AT 01:00" in it.shown("tabs")
        await it.press("v")
        assert "FROZEN" not in it.shown("tabs")
        assert it.shown("chart-tps") != chart


async def test_the_mouse_points_at_a_column_and_drags_the_cursor() -> None:
    async with viewer(script.hello(60)) as it:
        await it.pilot.mouse_down("#chart-qps", offset=(AXIS_WIDTH + 40, 2))
        await it.settle()
        assert it.shown("chart-tps").splitlines()[2][AXIS_WIDTH + 40] == "┃"
        await it.pilot.mouse_up("#chart-qps", offset=(AXIS_WIDTH + 40, 2))


async def test_spans_are_compared_beside_the_events() -> None:
    async with viewer(script.hello()) as it:
        await it.press("left", "c", "shift+left", "c", "shift+left", "c", "shift+left", "c")
        assert it.shown("effect").startswith("A ")
        assert "QPS" in it.shown("effect")
        labels = it.shown("axis").split()[5:]
        assert all(re.fullmatch(r"−\d+s|├─+[AB]─+┤", label) for label in labels), (
            "no half label beside a span"
        )
        await it.press("escape")
        assert it.shown("effect").startswith("EFFECT of")


async def test_the_cursor_reads_the_latency_screen_too() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("2", "left")
        for chart in ("chart-p50", "chart-p95", "chart-p99", "chart-max", "heat"):
            assert all("┃" in row for row in it.shown(chart).splitlines()), chart
        await it.press("1")
        assert "┃" in it.shown("chart-tps")
