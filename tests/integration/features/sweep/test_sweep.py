"""`tuibench sweep` on real servers: its figures, and how it ends, goes on, and leaves the server."""

import asyncio
import signal
from pathlib import Path

import msgspec
import pytest

from tests.integration.support.commands import (
    ask,
    assert_nothing_left,
    eventually_asked,
    finished,
    started,
    tuibench,
)
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE
from tuibench.base import paths
from tuibench.features.sweep import runner as sweeping
from tuibench.features.sweep.beginning import beyond
from tuibench.features.sweep.planning import build_cases, build_variants
from tuibench.metrics.inference import RUN_FIGURES
from tuibench.model.event import EventKind
from tuibench.model.message import SessionMessage
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.model.sweep import Cell, CellResult, Sweep, SweepPlan
from tuibench.model.tick import Sample
from tuibench.record.sweep_folder import load_sweep
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

COMMAND = (
    "sweep", "oltp_write_only", "--tables=1", "--table-size=500", "--time=0.5", "--warmup-time=0",
    "--interval=0.25", "--workers=1", "--prepare", "--cleanup",
)  # fmt: skip


def only_sweep() -> Path:
    (directory,) = paths.sweeps_dir().iterdir()
    return directory


def summary_of(directory: Path, result: CellResult) -> Summary:
    return msgspec.json.decode((directory / result.run / "summary.json").read_bytes(), type=Summary)


@pytest.mark.one_flavour
async def test_a_sweep_measures_everything_and_leaves_nothing(database: Target, tuibench_home: Path) -> None:
    await ask(database, f"DROP DATABASE {database.database}")
    made = ("--preset=unsafe", "--create-database")
    ended = await asyncio.to_thread(tuibench, *COMMAND, *made, target=database)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("oltp_write_only (1 × 500 rows): TPS by threads; one run of 0.5 s\n")
    assert await ask(database, DURABILITY) == [DURABLE]
    assert await ask(database, "SHOW TABLES") == []
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
    directory = only_sweep()
    sweep = load_sweep(directory)
    (result,), (data,) = sweep.done, sweep.data
    figures, summary = result.figures, summary_of(directory, result)
    assert set(RUN_FIGURES) <= figures.keys()
    assert figures["headline"] == figures["tps"] == summary.transactions.per_second > 0
    assert summary.reconciliation.foreign == 0
    assert figures["questions_per_second"] == pytest.approx(figures["qps"], rel=0.2)
    assert (data.files_bytes or 0) > 2**16
    assert not data.prepared
    assert (sweep.record.surroundings.ping_ms or 0) > 0
    assert any(
        event.text.startswith("preset unsafe: ")
        for event in summary.events
        if event.kind is EventKind.SETTING
    )


async def test_an_interrupted_sweep_tells_what_it_knows_and_goes_on(
    any_server: PrivateServer, tuibench_home: Path
) -> None:
    target = any_server.target
    with started(*COMMAND, "--preset=durable,unsafe", target=target) as process:
        assert await eventually_asked(target, DURABILITY, UNSAFE)
        process.send_signal(signal.SIGINT)
        ended = await asyncio.to_thread(finished, process)
    assert ended.code == 130, ended.err
    assert "durable 1/1" in ended.out
    assert "unsafe" not in ended.out
    assert await ask(target, DURABILITY) == [DURABLE]
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
    directory = only_sweep()
    assert f"1 cell is left; continue with: tuibench sweep --resume {directory}" in ended.err
    again = ("sweep", f"--resume={directory}")
    resumed = await asyncio.to_thread(tuibench, *again, env={"MYSQL_PWD": target.password})
    assert resumed.code == 0, resumed.err
    assert "unsafe 0/0 : durable 1/1" in resumed.out
    assert await ask(target, DURABILITY) == [DURABLE]
    assert await ask(target, "SHOW TABLES") == []
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


# A known beginning

WARM = ("--start=warm", "--tables=1", "--time=2", "--warmup-time=0", "--interval=0.5", "--workers=1")
FLUSHING = (
    "SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max, "
    "@@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_max_dirty_pages_pct_lwm"
)


@pytest.mark.whole
@pytest.mark.one_flavour
async def test_a_cell_after_writes_begins_with_clean_pages_in_memory(
    database: Target, tuibench_home: Path
) -> None:
    before = await ask(database, FLUSHING)
    words = ("sweep", "oltp_update_index,oltp_insert,oltp_point_select", "--table-size=30000", "--prepare")
    options = (*WARM, "--threads=4", "--preset=unsafe", "--order=given", "--cleanup")
    ended = await asyncio.to_thread(tuibench, *words, *options, target=database, seconds=150)
    assert ended.code == 0, ended.err
    assert await ask(database, FLUSHING) == before
    updates, inserts, selects = load_sweep(only_sweep()).done
    for one in (updates, inserts, selects):
        assert not one.beginning or not beyond(one.beginning), ended.err
        assert one.figures["disk_reads_per_transaction"] < 0.01
    assert updates.beginning["rows"] == inserts.beginning["rows"] == 30_000 < selects.beginning["rows"]
    assert max(updates.beginning["waited_seconds"], selects.beginning["waited_seconds"]) > 0
    assert not any(warning.startswith("other data") for warning in inserts.warnings)
    assert any(warning.startswith("other data") for warning in selects.warnings)
    assert "each cell began warm, with at most dirty pages 0" in ended.err
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


@pytest.mark.one_flavour
@pytest.mark.parametrize("start", ["warm", pytest.param("cold", marks=pytest.mark.whole)])
async def test_a_private_server_begins_each_cell_with_the_same_data(
    binary: Binary, tuibench_home: Path, start: str
) -> None:
    """Deleted rows are back, and a cold buffer pool reads the pages from the disk."""
    words = ("sweep", "oltp_delete,oltp_point_select", f"--server={binary.path}", "--table-size=20000")
    ended = await asyncio.to_thread(tuibench, *words, *WARM[1:], f"--start={start}")
    assert ended.code == 0, ended.err
    for one in load_sweep(only_sweep()).done:
        pages = one.figures["disk_reads_per_transaction"] * one.figures["tps"] * 2
        assert pages > 50 if start == "cold" else pages < 20
        assert one.beginning.get("rows", 20_000) == 20_000
        assert not beyond(one.beginning)
        assert not [text for text in one.warnings if text.startswith(("beginning", "other data"))]
    assert f"each cell began {start}, " in ended.err
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


# A restart in the middle


class Restarter:
    """Restarts the server once, in the middle of the first cell."""

    def __init__(self, server: PrivateServer) -> None:
        self.said: list[str] = []
        self.restarted: asyncio.Task[None] | None = None
        self._server = server

    def on_message(self, message: SessionMessage) -> None:
        if isinstance(message, Sample) and message.elapsed_seconds > 0 and self.restarted is None:
            self.restarted = asyncio.create_task(self._server.restart())

    def on_cell_start(self, cell: Cell, place: int) -> None:
        self.said.append(f"{cell.variant.preset} begins")

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None:
        self.said.append(f"{result.outcome} at attempt {result.attempt}")

    def report(self, text: str) -> None:
        self.said.append(text)


async def test_a_cell_in_which_the_server_was_restarted_is_run_again(
    any_restartable: PrivateServer, tuibench_home: Path
) -> None:
    target = any_restartable.target
    plan = SweepPlan(
        cases=build_cases(["oltp_write_only"], {"tables": 1, "table_size": 500}, 1),
        variants=build_variants("unsafe", []),
        threads=(1,),
        base=RunPlan(profile="oltp_write_only", seconds=1.0, interval_seconds=0.25, workers=1),
        prepare=True,
        cleanup=True,
    )
    folder = await sweeping.create_sweep(plan, target, tuibench_home / "sweep")
    restarter = Restarter(any_restartable)
    await sweeping.build_runner(folder, target, restarter, on_message=restarter.on_message).run()
    folder.close()
    assert restarter.restarted is not None
    await restarter.restarted
    assert "unsafe begins" in restarter.said
    assert any("retrying once" in words for words in restarter.said)
    assert "done at attempt 2" in restarter.said
    assert await ask(target, DURABILITY) == [DURABLE]
    assert await ask(target, "SHOW TABLES") == []
    (result,) = load_sweep(folder.directory).done
    assert summary_of(folder.directory, result).outcome == "done"
