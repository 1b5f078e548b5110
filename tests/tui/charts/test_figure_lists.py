"""The lists of the server's and the host's screens: a figure is chosen, charted, and shown on Live."""

import msgspec
import pytest
from textual.command import CommandList

from tests.ticks import changed
from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, screen_text, viewer
from tuibench.base.units import milliseconds
from tuibench.model.tick import ReplicaSample

MORE = script.samples(63)[-3:]
WIDE = (200, 60)


async def test_a_figure_of_the_list_is_put_on_the_charts_and_taken_off() -> None:
    async with viewer(script.hello(60), size=SMALL) as it:
        await it.press("3")
        assert not it.app.screen.query_one("#server-charts").display
        painted = [list(strip) for strip in it.app.screen._compositor.render_strips()]
        await it.press("down")
        assert [list(strip) for strip in it.app.screen._compositor.render_strips()] != painted
        await it.press("enter")
        assert "SELECT" in it.shown("server-charts-title-0")
        assert "/s" in it.shown("server-charts-title-0")
        assert "SELECT is on the chart" in it.shown("note")
        assert "SELECT ●" in it.shown("server-left")
        await it.press("enter")
        assert not it.app.screen.query_one("#server-charts").display
        assert "SELECT is off the chart" in it.shown("note")
        before = it.shown("server-left")
        await it.hear(*MORE)
        assert it.shown("server-left") != before


async def test_the_palette_puts_any_figure_of_the_table_on_live() -> None:
    async with viewer(script.hello(60), size=LARGE) as it:
        await it.press("ctrl+p")
        found = it.app.screen.query_one(CommandList)
        await it.press(*"p99.9")
        await it.until(lambda: bool(found.options) and "Chart on Live: p99.9" in str(found.options[0].prompt))
        await it.press("enter")
        view = it.app.view
        assert view is not None
        await it.until(
            lambda: it.app.view is not None and it.app.view.chart_state.on_live == ("FIGURES/p999",)
        )
        assert "p99.9 (ms) is on Live" in it.shown("note")
        latency = view.points[-1].latency
        assert latency is not None
        assert milliseconds(latency.p999) in screen_text(it)


async def test_the_cpu_chart_is_shown_where_the_list_leaves_room() -> None:
    async with viewer(script.hello(60), size=SMALL) as it:
        await it.press("h")
        for size, is_shown in ((SMALL, False), ((100, 30), True), (LARGE, True)):
            await it.pilot.resize_terminal(*size)
            await it.settle()
            assert it.app.screen.query_one("#host-cpu").display is is_shown, size
            for row in ("Idle", "Throttled", "Swap"):
                assert row in it.shown("host-left"), size
            # The parts of the load are in the list or in the legend of the chart.
            legend = it.shown("host-cpu-figure") if size == LARGE else it.shown("host-left")
            assert "tuibench" in legend, size
            assert ("tuibench" in it.shown("host-left")) is (size != LARGE), size


@pytest.mark.whole
@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.whole), WIDE])
async def test_a_click_chooses_a_row_and_a_second_one_charts_it(size: tuple[int, int]) -> None:
    async with viewer(script.hello(60), size=size) as it:

        async def click(column: str, name: str, x: int) -> str:
            rows = it.shown(column).splitlines()
            row = next(place for place, line in enumerate(rows) if line.startswith(name))
            await it.pilot.click(f"#{column}", offset=(x, row))
            await it.settle()
            return it.shown("note")

        for screen, column, name, title in (
            ("3", "server-right", "pages read", "Pages read"),
            ("h", "host-left", "Used", "Memory used"),
        ):
            await it.press(screen)
            assert title not in await click(column, name, 2)
            last_column = it.app.screen.query_one(f"#{column}").size.width - 1
            assert f"{title} is on the chart" in await click(column, name, last_column)
            assert f"{title} is off the chart" in await click(column, name, 0)


@pytest.mark.whole
@pytest.mark.parametrize("size", [SMALL, LARGE, pytest.param(WIDE, marks=pytest.mark.whole)])
async def test_at_most_four_are_stacked_and_one_is_on_live_until_taken_off(
    size: tuple[int, int],
) -> None:
    async with viewer(script.hello(60), size=size) as it:
        await it.press("3", "enter", *("down", "enter") * 4)
        titles = [it.shown(f"server-charts-title-{place}").split()[0] for place in range(4)]
        assert titles == ["SELECT", "INSERT", "UPDATE", "DELETE"]
        assert "Questions was removed" in it.shown("note")
        await it.press("i", "1")
        assert "DELETE" in it.shown("pinned-title-0")
        assert it.shown("pinned-chart-0").strip()
        await it.hear(*MORE)
        assert "DELETE" in it.shown("pinned-title-0")
        await it.press("3", "i", "1")
        assert not it.app.screen.query_one("#pinned").display


async def test_the_charts_have_the_markers_the_cursor_and_the_zoom_of_the_run() -> None:
    async with viewer(script.hello(60), size=WIDE) as it:
        await it.press("3")
        assert "│" in it.shown("server-charts-chart-0")
        await it.press("left", "left")
        for chart in ("server-charts-chart-0", "server-charts-chart-1"):
            assert all("┃" in row for row in it.shown(chart).splitlines()), chart
        assert "00:59" in it.shown("axis")
        await it.press("z")
        assert "5 min" in it.shown("axis")
        await it.press("1")
        assert "5 min" in it.shown("axis")
        assert "┃" in it.shown("chart-tps")


async def test_the_host_has_the_processor_over_time_and_the_figures_chosen_elsewhere() -> None:
    async with viewer(script.hello(60), size=WIDE) as it:
        await it.press("h")
        assert "100 %" in it.shown("host-cpu-chart")
        assert it.shown("host-charts-title-0").startswith("Disk write")
        await it.press("3", "down", "enter", "h")
        shown = [it.shown(f"host-charts-title-{place}").splitlines()[0] for place in range(3)]
        assert shown == ["Threads running", "Redo written", "SELECT"]
        await it.press("left")
        assert "┃" in it.shown("host-cpu-chart")


async def test_the_lag_of_a_replica_is_a_chart() -> None:
    lags = [
        msgspec.structs.replace(
            sample, replicas=(ReplicaSample(name="db2:3306", lag_seconds=float(n), is_running=True),)
        )
        for n, sample in enumerate(MORE)
    ]
    async with viewer(script.hello(60), size=SMALL) as it:
        await it.hear(*lags)
        await it.press("3", "pageup", "pageup", "enter")
        assert it.shown("server-charts-title-0").split()[:3] == ["db2:3306", "2", "s"]
        assert it.shown("server-charts-chart-0").splitlines()[-1].rstrip().endswith("▁▄█")
        await it.hear(changed(MORE[-1], elapsed_seconds=64.0))
        assert "–" in it.shown("server-charts-title-0")


@pytest.mark.whole
async def test_every_size_keeps_list_and_keys_on_the_screen() -> None:
    async with viewer(script.afar(script.hello(60)), size=SMALL) as it:
        for place, name in (("3", "server"), ("h", "host")):
            await it.press(place, *("down", "enter") * 4)
            for size in (SMALL, LARGE, WIDE, (110, 32), (300, 90)):
                await it.pilot.resize_terminal(*size)
                await it.settle()
                assert "chart on/off" in screen_text(it), (size, place)
                assert len(it.shown(f"{name}-left").splitlines()) >= 4, (size, place)
