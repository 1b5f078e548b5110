"""What the session says is painted, at every size and without colour or Unicode too."""

import pytest

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, viewer
from tuibench.model.event import Event, EventKind


def mark(elapsed: float, number: int) -> Event:
    return Event(at=0.0, elapsed_seconds=elapsed, kind=EventKind.MARK, text="mark", marker=number)


async def test_a_sample_and_a_status_are_painted() -> None:
    async with viewer(script.hello(59)) as it:
        await it.hear(script.samples(60)[-1])
        assert "01:00" in it.shown("head")
        assert "31,5" in it.shown("server-panel")
        assert it.shown("figure-tps").splitlines()[0] == "TPS transactions/s"
        await it.hear(script.status(threads=8, durability=("0", "0")))
        assert "8 threads" in it.shown("head")
        assert "▲ AT RISK" in it.shown("durability")
        assert it.app.screen.query_one("#durability").has_class("-at-risk")


async def test_an_event_is_listed_and_marked_in_all_charts() -> None:
    async with viewer(script.hello(60, events=())) as it:
        await it.hear(mark(59.5, 4))
        assert it.shown("events") == "4   00:59  mark"
        for chart, crossing in (("chart-tps", "4"), ("chart-qps", "┼"), ("chart-latency", "┼")):
            rule, *rows = it.shown(chart).splitlines()
            assert rule.endswith(crossing)
            assert all(row[-1] in "│ ▁▂▃▄▅▆▇█" for row in rows)
            assert rows[-1][-1] == "█"


async def test_missing_samples_are_a_gap() -> None:
    async with viewer(script.hello(60, events=())) as it:
        baseline = it.shown("chart-tps").splitlines()[-1].removeprefix("     0 ")
        assert baseline == "█" * 31 + "  " + "█" * 22


async def test_a_sample_without_load_is_a_gap_and_a_dash() -> None:
    async with viewer(script.hello(59, events=())) as it:
        await it.hear(script.without(script.samples(60)[-1], "load", "server", "host"))
        assert it.shown("chart-tps").splitlines()[-1].endswith("█")
        assert len(it.shown("chart-tps").splitlines()[-1]) == 7 + 54
        assert "▀▀▀" in it.shown("figure-tps")
        assert "–" in it.shown("server-panel")
        assert "–" in it.shown("host-panel")


async def test_nothing_is_lost_when_the_terminal_changes_its_size() -> None:
    async with viewer(script.hello(60)) as it:
        before = [it.shown(panel) for panel in ("head", "chart-tps", "events", "durability")]
        for size in (SMALL, (60, 10), (200, 60), LARGE):
            await it.pilot.resize_terminal(*size)
            await it.settle()
            is_small = size == (60, 10)
            assert it.app.screen.has_class("-small") is is_small
            assert it.app.screen.query_one("#too-small").display is is_small
            assert it.app.screen.query_one("#main").display is not is_small
        assert [it.shown(panel) for panel in ("head", "chart-tps", "events", "durability")] == before


async def test_the_small_screen_has_everything() -> None:
    async with viewer(script.hello(), size=SMALL) as it:
        assert "Questions/s 48,994" in it.shown("server-strip")
        assert "CPU" in it.shown("host-strip")
        assert "▲ AT RISK" in it.shown("durability")
        assert it.shown("effect").startswith("EFFECT of 3  preset unsafe"), "in place of the events, as news"
        assert "fsyncs/trx 1.04 → 0.020        ÷53 (42..63)" in it.shown("effect")
        assert "1.04 │ 0.020" in it.shown("chart-fsyncs")


async def test_only_the_cells_that_changed_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async with viewer(script.hello(60)) as it:
        panel = it.app.screen.query_one("#durability")
        sent: list[object] = []
        monkeypatch.setattr(panel, "refresh", lambda *regions, **_: sent.append(regions))
        await it.hear(script.samples(61)[-1])
        assert sent == []
        await it.hear(script.status(durability=("0", "1")))
        assert sent
