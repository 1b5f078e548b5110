"""The screens of figures: what the session says is painted, at every size, and without colour or Unicode."""

import msgspec
import pytest
from msgspec.structs import replace

from tests.ticks import changed
from tests.tui.pictures.screenshots import CALM
from tests.tui.support import screened, script
from tests.tui.support.driving import LARGE, SMALL, viewer
from tests.tui.support.statements import DETAIL, REPORT
from tuibench.features.probe.screen import SaturationScreen
from tuibench.model.event import Event, EventKind
from tuibench.model.message import StopExperiment, Watch
from tuibench.model.server import StatementReport
from tuibench.model.tick import ReplicaSample
from tuibench.tui.screens.monitor import LiveScreen


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
            assert it.app.screen.query_one("#small").display is is_small
            assert it.app.screen.query_one("#main").display is not is_small
        assert [it.shown(panel) for panel in ("head", "chart-tps", "events", "durability")] == before


async def test_the_small_screen_has_everything() -> None:
    async with viewer(script.hello(), size=SMALL) as it:
        assert "Questions/s 48,994" in it.shown("server-strip")
        assert "CPU" in it.shown("host-strip")
        assert "▲ AT RISK" in it.shown("durability")
        assert it.shown("effect").startswith("EFFECT of 3  preset unsafe"), "in place of the events, as news"
        fsyncs = it.shown("effect").splitlines()[-1]
        assert fsyncs.startswith("fsyncs/trx 1.04 → 0.020        ◂··"), "beyond the interval's scale"
        assert fsyncs.endswith("···   ÷53 (42..63)")
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


@pytest.mark.parametrize(("size", "lines"), [(SMALL, 1), ((100, 30), 2)])
async def test_the_slowest_transaction_takes_the_lines_that_the_latencies_leave(
    size: tuple[int, int], lines: int
) -> None:
    async with viewer(script.hello(60), size) as it:
        await it.press("2")
        slowest, latencies = it.shown("slowest"), it.shown("latencies").splitlines()
        assert len(slowest.splitlines()) == lines
        assert ("begin 0.1 ms" in slowest) is (lines > 1)
        # The table is not cut for it.
        assert ("more" in latencies[-1]) is (lines == 1)


# The server's host from afar, and the client's beside it.


AFAR = script.afar(script.hello(20))
LAST = AFAR.samples[-1]


async def test_live_shows_the_servers_host_and_the_clients_in_a_row() -> None:
    async with viewer(AFAR, size=LARGE) as screen:
        shown = screen.shown("host-panel")
        assert "HOST of the server" in shown
        assert "CPU 31 %, tuibench 24 %" in shown


async def test_the_host_screen_has_both_with_steal_and_limits() -> None:
    async with viewer(AFAR, size=LARGE) as screen:
        await screen.press("h")
        assert "of the server, ssh:ann@db1, limited to 6, steal 1 %" in screen.shown("cores")
        left, right = screen.shown("host-left"), screen.shown("host-right")
        assert "max 16 GiB" in left
        assert "CLIENT" in right
        assert "24 %" in right


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_the_clients_host_has_all_its_rows(size: tuple[int, int]) -> None:
    async with viewer(AFAR, size=size) as screen:
        await screen.press("h")
        _, _, rows = screen.shown("host-right").partition("CLIENT")
        names = [line[:12].strip() for line in rows.splitlines()[1:]]
        assert names == ["CPU", "tuibench", "Memory", "Network in", "out", "Steal", "Throttled"]
        assert "Swap" in screen.shown("host-left")


async def test_the_cpu_chart_of_a_cluster_names_all_its_parts() -> None:
    async with viewer(script.hello_from_hosts(20), size=LARGE) as screen:
        await screen.press("h")
        assert "rest" in screen.shown("host-cpu-figure")
        assert "Throttled" in screen.shown("host-left")


async def test_a_lost_host_says_why() -> None:
    async with viewer(AFAR, size=LARGE) as screen:
        lost = changed(LAST, number=LAST.number + 1, host=None, host_note="ssh db1: gone")
        await screen.hear(lost)
        assert "ssh db1: gone" in screen.shown("host-panel")
        assert "31 %" not in screen.shown("host-panel")


async def test_replicas_stand_on_live_and_on_the_server_screen() -> None:
    replicas = (
        ReplicaSample(name="db2:3306", lag_seconds=3.0, lag_bytes=2048, is_running=True, state="applying"),
        ReplicaSample(name="db3:3306", note="no answer in time"),
    )
    async with viewer(AFAR, size=LARGE) as screen:
        await screen.hear(replace(LAST, number=LAST.number + 1, replicas=replicas))
        assert "Replica lag" in screen.shown("server-panel")
        assert "1 stopped" in screen.shown("server-panel")
        await screen.press("3")
        shown = screen.shown("server-left")
        assert "REPLICAS" in shown
        assert "2.00 KiB" in shown
        assert "no answer" in shown


async def test_without_a_source_it_is_the_clients() -> None:
    alone = replace(AFAR, samples=tuple(changed(each, host=None) for each in AFAR.samples))
    async with viewer(alone, size=LARGE) as screen:
        assert "HOST of the client" in screen.shown("host-panel")
        await screen.press("h")
        assert "--host-metrics" in screen.shown("cores")


# Statements.


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_statements_by_time_with_the_span_before(size: tuple[int, int]) -> None:
    async with viewer(script.hello(20), size=size) as screen:
        await screen.press("s")
        assert Watch("statements") in screen.client.submitted
        assert "reading the statements" in screen.shown("statements")
        await screen.hear(REPORT)
        shown = screen.shown("statements")
        assert "5 s since preset unsafe" in shown
        assert "COMMIT" in shown
        assert "1.82 ms" in shown
        assert "· digests that begin with EXECUTE" in shown
        assert ("22.9 ms" in shown) == (size == LARGE)
        await screen.hear(StatementReport(seconds=1.0, rows=(), gaps=("performance_schema is OFF",)))
        shown = screen.shown("statements")
        assert "no statements in this span yet" in shown
        assert "performance_schema is OFF" in shown
        await screen.press("s")
        assert "TPS" in screen.shown("figure-tps")


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_enter_shows_a_statement_in_full_with_its_plan(size: tuple[int, int]) -> None:
    async with viewer(script.hello(20), size=size) as screen:
        await screen.press("s")
        await screen.hear(REPORT)
        await screen.press("enter")
        assert Watch("statements", statement="sbtest ab12") in screen.client.submitted
        assert "reading …" in screen.shown("statement-detail")
        await screen.hear(msgspec.structs.replace(REPORT, detail=DETAIL))
        shown = screen.shown("statement-detail")
        assert "SELECT c FROM sbtest1 WHERE id=? AND k BETWEEN ? AND ?" in shown
        assert "without executing it" in shown
        # A narrow screen leaves out what matters least.
        assert ("select_type" in shown) == (size == LARGE)
        assert "Using where" in shown
        assert "The plan is for 1 as each value" in shown
        await screen.press("down")
        assert Watch("statements", statement="sbtest cd34") in screen.client.submitted
        assert "reading …" in screen.shown("statement-detail")
        await screen.press("escape")
        assert screen.app.screen.query_one("#statements").display
        await screen.press("escape")
        assert "TPS" in screen.shown("figure-tps")


# A screening: its chart, its key, and what is copied.


TUNED = msgspec.structs.replace(CALM, tune=screened.progress())
OVER = msgspec.structs.replace(CALM, tune=screened.progress(is_over=True))


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_every_value_has_its_line_under_its_verdict(size: tuple[int, int]) -> None:
    async with viewer(TUNED, size) as it:
        await it.press("9")
        shown = it.shown("tune")
        for one in screened.CANDIDATES:
            assert one.change in shown
        assert shown.index("Better") < shown.index("Worse") < shown.index("No effect within ±2 %")
        assert "●" in shown
        assert "at most" in shown.splitlines()[0]


async def test_without_a_result_the_key_of_its_screen_opens_no_dialog() -> None:
    """The next keys would be typed into it."""
    async with viewer(CALM) as it:
        await it.press("9")
        assert isinstance(it.app.screen, LiveScreen)
        assert it.shown("note") == "→ no screening has run yet: U starts one"
        await it.press("7")
        assert isinstance(it.app.screen, SaturationScreen)
        assert "P starts" in it.shown("probe")


async def test_the_key_ends_a_screening_under_way() -> None:
    async with viewer(TUNED) as it:
        await it.press("U")
        assert it.client.submitted == [StopExperiment("tune")]


async def test_the_winner_is_copied_for_the_option_file() -> None:
    async with viewer(OVER) as it:
        await it.press("9")
        assert "over" in it.shown("tune").splitlines()[0]
        await it.press("y")
        assert "innodb_flush_log_at_trx_commit = 2" in it.app.clipboard
