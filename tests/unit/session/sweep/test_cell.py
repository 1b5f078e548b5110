"""What becomes of a cell's run: its settings as commands, its figures, and whether it counts."""

from typing import Any

import msgspec
import pytest

from tests import examples, sweeps
from tests.ticks import host_tick, server_tick
from tuibench.model.command import ApplyPreset, ChangeSetting
from tuibench.model.event import EventKind
from tuibench.model.measurements.headline import HeadlineTotals
from tuibench.model.results.summary import Summary
from tuibench.model.results.sweep import SweepVariant
from tuibench.model.tick import Tick
from tuibench.session.sweep.cell import cell_failure, cell_figures, headline_name, variant_commands
from tuibench.session.sweep.matrix import OVERHEAD_SECONDS, all_cells, cell_seconds, remaining_seconds


def summary(**changes: Any) -> Summary:
    server = msgspec.structs.replace(examples.summary().server, deltas={"Questions": 200, "Slow_queries": 3})
    return examples.summary(**{"server": server, "outcome": "done", "failure": "", "events": (), **changes})


def server_part(open_tables: int) -> Tick:
    return server_tick(
        uptime_seconds=1, threads_running=1, threads_connected=1, max_connections=100,
        open_tables=open_tables, table_open_cache=2000, questions_total=1, slow_queries_total=0,
    )  # fmt: skip


def host_part(cpu_server: float | None, memory: int | None) -> Tick:
    return host_tick(
        cores=2, cpu_total=50.0, cpu_server=cpu_server, cpu_tuibench=10.0,
        memory_used_bytes=100, memory_total_bytes=200, disk_read_bytes_per_second=None,
        disk_write_bytes_per_second=None, net_received_bytes_per_second=None,
        net_sent_bytes_per_second=None, memory_server_bytes=memory,
    )  # fmt: skip


def test_the_preset_comes_first_and_single_values_over_it() -> None:
    variant = SweepVariant(name="x", preset="unsafe", settings={"sync_binlog": "5", "long_query_time": "0.1"})
    assert variant_commands(variant) == (
        ApplyPreset("unsafe"),
        ChangeSetting("sync_binlog", "5"),
        ChangeSetting("long_query_time", "0.1"),
    )
    assert variant_commands(SweepVariant(name="")) == ()


def test_the_most_open_tables_and_the_mean_of_the_processors_count() -> None:
    samples = [
        examples.sample(server=server_part(20), host=host_part(30.0, 1000)),
        examples.sample(server=None, host=None),
        examples.sample(server=server_part(25), host=host_part(50.0, 3000)),
        examples.sample(server=server_part(22), host=host_part(None, None)),
    ]
    figures = cell_figures(summary(), samples)
    assert figures.open_tables == 25
    assert (figures.cpu_server, figures.cpu_total) == (40.0, 50.0)
    assert (figures.memory_server_bytes, figures.memory_used_bytes) == (3000, 100)
    assert figures.slow_queries == 3


def test_missing_figures_are_none() -> None:
    counted = msgspec.structs.replace(examples.summary().reconciliation, questions_server=None)
    server = msgspec.structs.replace(examples.summary().server, deltas={})
    figures = cell_figures(summary(latency_ms=None, reconciliation=counted, server=server), [])
    told = msgspec.structs.asdict(figures)
    assert {name for name, value in told.items() if value not in (None, {})} == {
        "headline", "tps", "qps", "errors", "retries",
    }  # fmt: skip


def test_a_profile_may_be_about_another_figure() -> None:
    tpmc = HeadlineTotals(title="tpmC", note="not audited", transaction="new_order", value=864.0)
    run = summary(headline=tpmc)
    assert (headline_name(run), cell_figures(run, []).headline) == ("tpmC (not audited)", 864.0)
    assert cell_figures(run, []).tps == run.transactions.per_second
    assert (headline_name(summary()), cell_figures(summary(), []).headline) == ("TPS", 52.0)


def test_questions_are_the_servers_without_our_sampling() -> None:
    counted = msgspec.structs.replace(examples.summary().reconciliation, questions_server=520, own=20)
    assert cell_figures(summary(reconciliation=counted, seconds=5.0), []).questions_per_second == 100.0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"outcome": "failed", "failure": "error 1146"}, "error 1146"),
        ({"outcome": "stopped"}, "the run was stopped"),
        (
            {"events": (msgspec.structs.replace(examples.EVENT, kind=EventKind.RESTART),)},
            "the server was restarted in the middle of the run",
        ),
        (
            {"server": msgspec.structs.replace(examples.summary().server, deltas={})},
            "the server's counters were reset during the run, or the server was unreachable at its end",
        ),
    ],
)
def test_why_a_run_does_not_count(changes: dict[str, Any], why: str) -> None:
    assert cell_failure(summary(**changes)) == why


def test_the_forecast_learns_from_the_cells_that_are_done() -> None:
    base, cells = sweeps.PLAN.base, all_cells(sweeps.PLAN)
    assert cell_seconds(base, ()) == 6.0 + OVERHEAD_SECONDS
    results = [
        sweeps.result(cells[0], seconds=7.0),
        sweeps.result(cells[1], seconds=8.0),
        msgspec.structs.replace(sweeps.failed(cells[2]), seconds=500.0),
    ]
    assert remaining_seconds(base, results, 4) == 4 * 7.5
