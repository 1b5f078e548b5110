"""The screens of a session without load: the server's own figures, and keys that say there is no load."""

from typing import Any

import pytest

from tests.examples import hello, sample, status
from tests.ticks import traffic_tick
from tests.tui.support.driving import LARGE, SMALL, viewer
from tuibench.model.message import NO_LOAD_REFUSAL, Hello, Mark, SetThreads
from tuibench.model.plan import WATCH, RunPlan
from tuibench.model.tick import Histogram, Sample, Tick
from tuibench.tui.actions import ACTIONS, is_offered
from tuibench.tui.screens.monitor import LiveScreen


def traffic(**changes: Any) -> Tick:
    """Half a second of a server's traffic."""
    figures: dict[str, Any] = {
        "seconds": 0.5,
        "transactions_per_second": 42.0,
        "rollbacks_per_second": 4.0,
        "queries_per_second": 840.0,
        "reads_per_second": 588.0,
        "writes_per_second": 168.0,
        "others_per_second": 84.0,
        "latency_note": "performance_schema is OFF",
    }
    return traffic_tick(**(figures | changes))


SILENT = traffic()
TIMED = traffic(
    latency=Histogram.of([100, 200, 4000]).latency(),
    latency_avg_ms=1.4,
    latency_note="statements, by performance_schema",
)


def watching() -> Hello:
    plan = RunPlan(profile=WATCH, is_watch=True, threads=0, seconds=None)
    return hello(plan=plan, data_set="", samples=())


def seen(part: Tick | None = TIMED, number: int = 1) -> Sample:
    return sample(number, load=None, traffic=part, shows_traffic=True)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_the_charts_are_the_servers(size: tuple[int, int]) -> None:
    async with viewer(watching(), size=size) as screen:
        await screen.hear(seen())
        shown = "\n".join(screen.shown(panel) for panel in ("head", "figure-tps", "figure-qps"))
        assert "the server's own traffic" in shown
        assert "commits/s" in shown
        assert size == SMALL or "588" in shown
        assert "worker" not in shown


async def test_without_latencies_there_is_an_average_or_the_reason_and_a_gap_is_no_zero() -> None:
    async with viewer(watching(), size=LARGE) as screen:
        await screen.hear(seen(SILENT))
        assert "no p95: performance_schema is OFF" in screen.shown("head")
        assert not screen.app.screen.query_one(".band.-last").display
        await screen.hear(seen(traffic(latency_avg_ms=1.25), 2))
        assert screen.app.screen.query_one(".band.-last").display
        assert "average" in screen.shown("figure-latency")
        assert "1.25 ms" in screen.shown("figure-latency")
        await screen.hear(seen(None, 3))
        view = screen.app.view
        assert view is not None
        assert (view.points[-1].tps, view.points[-1].qps) == (None, None)


async def test_a_key_of_the_load_says_that_there_is_none_and_keys_of_the_server_work() -> None:
    async with viewer(watching()) as screen:
        await screen.hear(seen())
        for key in ("plus", "minus", "t", "r", "n", "T", "P", "p"):
            screen.app._show_note("")
            await screen.press(key)
            assert NO_LOAD_REFUSAL in screen.shown("note"), key
        assert screen.client.submitted == []
        await screen.press("space")
        assert screen.client.submitted == [Mark()]
        view = screen.app.view
        assert view is not None
        offered = {action.name for action in ACTIONS if is_offered(action, view)}
        assert {"durability", "mark", "stop", "leave"} <= offered
        assert not {"more", "rate", "pause", "probe", "delay", "type_plan"} & offered


async def test_the_cost_of_an_operation_is_one_key_away() -> None:
    async with viewer(watching(), size=SMALL) as screen:
        await screen.hear(seen(TIMED, 1), seen(TIMED, 2))
        await screen.press("o")
        shown = screen.shown("cost")
        assert "per query" in shown
        assert "server CPU" in shown
        assert "–" in shown
        await screen.press("o")
        assert "QPS" in screen.shown("figure-qps")


async def test_a_load_in_reserve_is_added_to_the_servers_traffic_and_taken_away() -> None:
    plan = RunPlan(profile="oltp_read_write", threads=0, seconds=None)
    reserve = hello(plan=plan, samples=(), status=status(threads=1))
    async with viewer(reserve, size=LARGE) as screen:
        await screen.hear(sample(1, traffic=TIMED))
        assert "commits/s" in screen.shown("figure-tps")
        assert "588" in screen.shown("figure-qps")
        await screen.press("plus")
        assert screen.client.submitted == [SetThreads(2)]
        await screen.hear(status(threads=1))
        await screen.press("left_square_bracket")
        assert screen.client.submitted[-1] == SetThreads(0)


async def test_the_tabs_are_those_for_which_there_is_something() -> None:
    """A digit without a tab opens no dialog that would take the next keys."""
    async with viewer(watching()) as screen:
        await screen.hear(seen(SILENT))
        assert screen.shown("tabs").split() == [
            "1",
            "Live",
            "3",
            "Server",
            "4",
            "Sessions",
            "5",
            "Statements",
            "6",
            "Changes",
        ]
        for key, words in (
            ("2", "no times"),
            ("7", "needs a load"),
            ("8", "needs a load"),
            ("9", "U starts"),
        ):
            await screen.press(key)
            assert isinstance(screen.app.screen, LiveScreen)
            assert words in screen.shown("note")
        await screen.hear(seen())
        assert "2 Latency" in screen.shown("tabs")


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_the_health_has_its_line_at_every_size(size: tuple[int, int]) -> None:
    async with viewer(watching(), size=size) as screen:
        await screen.hear(seen())
        line, *_ = screen.shown("health-line" if size == SMALL else "health").splitlines()
        assert line.startswith("HEALTH ● no stall in")
        assert "840 queries/s" in line
        assert len(screen.shown("chart-tps").splitlines()) > 1
