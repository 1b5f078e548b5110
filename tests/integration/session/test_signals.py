"""Every way a run can end, orderly or not: the server has its settings back, and nothing of ours is left."""

import asyncio
import gzip
import os
import signal
from pathlib import Path

import msgspec
import pytest

from tests.integration.support.commands import (
    ask,
    assert_nothing_left,
    eventually_asked,
    finished,
    ours,
    started,
    tuibench,
)
from tests.integration.support.processes import first_interval_line, until
from tests.integration.support.session_process import (
    DURABILITY,
    DURABLE,
    UNSAFE,
    Watcher,
    session_spec,
    watched,
)
from tuibench.base import paths
from tuibench.model.counters import CUMULATIVE_NAMES
from tuibench.model.event import EventKind
from tuibench.model.message import ApplyPreset, ServiceSpec, Stop
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.model.tick import RESPONSE, STATEMENT, Sample, total_tick, with_fewer_digits
from tuibench.record.reader import load_run
from tuibench.record.recorder import STATEMENT_BITS
from tuibench.servers.server import PrivateServer
from tuibench.session.registry import launch
from tuibench.session.replay import ReplayClient

GUARDIAN = "tuibench.tuning.guardian"


def journals() -> list[Path]:
    return list(paths.journal_dir().glob("*"))


def told(sample: Sample) -> tuple[object, ...]:
    """What a record has of a sample to the last digit, and its statements as recorded; other fractions are
    shorter there.
    """
    done, server = sample.load, sample.server
    assert done is not None
    return (
        sample.number,
        sample.at,
        sample.elapsed_seconds,
        done.seconds,
        sample.tick.hist(RESPONSE),
        {
            name: with_fewer_digits(each, STATEMENT_BITS)
            for name, each in sample.tick.named(STATEMENT).items()
        },
        server and {name: value for name, value in server.levels.items() if name in CUMULATIVE_NAMES},
    )


# A session


@pytest.mark.one_flavour
async def test_a_stop_puts_all_back(tables: PrivateServer, tuibench_home: Path) -> None:
    async with watched(session_spec(tables.target)) as watcher:
        await make_unsafe(watcher, tables.target)
        assert (await watcher.submit(Stop())).ok
        await ends_in_order(watcher, tables.target, "stopped")
    assert_nothing_left(tuibench_home)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(pytest.param(each, marks=pytest.mark.whole) for each in (signal.SIGHUP, signal.SIGINT)),
    ],
)
async def test_a_signal_puts_all_back(
    any_tables: PrivateServer, tuibench_home: Path, number: signal.Signals
) -> None:
    async with watched(session_spec(any_tables.target)) as watcher:
        await make_unsafe(watcher, any_tables.target)
        os.kill(watcher.pid, number)
        await ends_in_order(watcher, any_tables.target, "interrupted")
    assert_nothing_left(tuibench_home)


async def make_unsafe(watcher: Watcher, target: Target) -> None:
    assert (await watcher.submit(ApplyPreset("unsafe"))).ok
    assert await ask(target, DURABILITY) == [UNSAFE]
    await watcher.ticks(2)


async def ends_in_order(watcher: Watcher, target: Target, outcome: str) -> None:
    """Listens to the end: the server is durable again, and the record is complete."""
    ended = await watcher.end()
    assert await ask(target, DURABILITY) == [DURABLE]
    assert ended.summary.outcome == outcome
    assert ended.text.startswith("SQL statistics:\n")
    assert {event.kind for event in watcher.events} >= {EventKind.RESTORE, EventKind.STOP}
    record = Path(ended.run_directory)
    assert msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary) == ended.summary
    run = load_run(record)
    assert [told(each) for each in run.samples[-len(watcher.samples) :]] == list(map(told, watcher.samples))
    assert list(run.events[-len(watcher.events) :]) == watcher.events
    assert run.summary == ended.summary
    assert not run.cut_short
    for path in record.iterdir():
        data = path.read_bytes()
        assert target.password.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data)


async def test_a_killed_session_is_put_back_by_its_guardian(
    tables: PrivateServer, tuibench_home: Path
) -> None:
    async with watched(session_spec(tables.target)) as watcher:
        await make_unsafe(watcher, tables.target)
        os.kill(watcher.pid, signal.SIGKILL)
        await watcher.until(lambda: watcher.hung_up)
        assert watcher.ended is None
        assert await eventually_asked(tables.target, DURABILITY, DURABLE)
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
    await asyncio.to_thread(cut_short_but_readable, watcher)
    report = await asyncio.to_thread(tuibench, "report", watcher.directory.name)
    assert report.code == 0, report.err
    assert "SQL statistics:" in report.out
    assert "computed from its samples" in report.err
    async with watched(session_spec(tables.target)) as next_one:
        await next_one.ticks()
        await next_one.submit(Stop())
        assert (await next_one.end()).summary.transactions.total > 0


def cut_short_but_readable(watcher: Watcher) -> None:
    """At most the tick under way is lost, and what is left can be reported and shown."""
    run = load_run(watcher.directory)
    assert run.cut_short
    assert not run.is_live
    assert (run.unreadable_lines, run.summary.outcome) == (0, "cut short")
    seen = {each.number for each in watcher.samples}
    assert seen - {each.number for each in run.samples} <= {max(seen)}
    assert len(list(run.intervals())) in (len(run.measured), len(run.measured) - 1)
    assert run.summary.transactions.total == round(
        total_tick(sample.tick for sample in run.measured).sums["completed"]
    )
    assert any(EventKind.SETTING is event.kind for event in run.events)
    assert run.states[-1][1].settings
    replay = ReplayClient(run)
    replay.seek(1e9)
    assert replay.position_seconds >= run.samples[-1].elapsed_seconds


@pytest.mark.one_flavour
async def test_restore_puts_back_what_killed_session_and_guardian_left(
    tables: PrivateServer, tuibench_home: Path
) -> None:
    async with watched(session_spec(tables.target)) as watcher:
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        for pid, module in ours(tuibench_home).items():
            if module == "tuibench.tuning.guardian":
                os.kill(pid, signal.SIGKILL)
        os.kill(watcher.pid, signal.SIGKILL)
    assert await ask(tables.target, DURABILITY) == [UNSAFE]
    shown = tuibench("restore", "--dry-run", target=tables.target)
    assert "sync_binlog 1 → 0" in shown.out
    assert await ask(tables.target, DURABILITY) == [UNSAFE]
    restored = tuibench("restore", env={"MYSQL_PWD": tables.target.password})
    assert restored.code == 0, restored.err
    assert await ask(tables.target, DURABILITY) == [DURABLE]
    assert not journals()
    assert tuibench("restore").out == "nothing to restore\n"


async def test_a_cancelled_start_leaves_nothing(any_tables: PrivateServer, tuibench_home: Path) -> None:
    spec = ServiceSpec(
        session=session_spec(any_tables.target), socket=str(paths.runtime_dir() / "cancelled.sock")
    )
    starting = asyncio.create_task(launch(spec, tuibench_home / "log"))
    assert await asyncio.to_thread(until, lambda: bool(ours(tuibench_home)))
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


# A run without a screen


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(each, marks=pytest.mark.whole) for each in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_ends_a_run_early_with_its_summary(
    any_tables: PrivateServer, tuibench_home: Path, number: signal.Signals
) -> None:
    command = (
        "run",
        "oltp_read_write",
        "--tables=2",
        "--table-size=500",
        "--time=0",
        "--interval=0.2",
        "--client-delay=2ms",
    )
    with started(*command, "--report-interval=0.2", target=any_tables.target) as process:
        assert process.stdout is not None
        first = first_interval_line(process.stdout)
        process.send_signal(number)
        ended = finished(process)
    assert first.startswith("[ 0s ] thds: 1 tps: ")
    assert ended.code == 130
    assert "SQL statistics:" in ended.out
    assert "Traceback" not in ended.err
    assert_nothing_left(tuibench_home)
    (record,) = paths.runs_dir().iterdir()
    summary = msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary)
    assert summary.outcome == "interrupted"
    assert summary.reconciliation.foreign == 0


def test_a_killed_run_leaves_no_process(any_tables: PrivateServer, tuibench_home: Path) -> None:
    command = (
        "run",
        "oltp_read_write",
        "--tables=2",
        "--table-size=500",
        "--time=0",
        "--interval=0.2",
        "--client-delay=2ms",
    )
    with started(*command, "--report-interval=0.2", target=any_tables.target) as process:
        assert process.stdout is not None
        assert first_interval_line(process.stdout).startswith("[ 0s ] "), finished(process)
        assert "tuibench.load.worker" in ours(tuibench_home).values()
        process.kill()
        process.communicate()
    assert_nothing_left(tuibench_home)
    (record,) = paths.runs_dir().iterdir()
    run = load_run(record)
    assert run.samples
    assert run.cut_short
