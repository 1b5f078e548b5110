"""An open loop on real servers: the rate asked for, limits, the warm-up, and a server that goes and comes."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.integration.support import Finished, prepare, tuibench
from tests.integration.support_session import Watcher, session_spec, watched
from tuibench import paths
from tuibench.demo.binaries import Binary
from tuibench.demo.server import PrivateServer
from tuibench.model.command import Pause, Resume, SetRate, SetThreads, Stop
from tuibench.model.event import EventKind
from tuibench.model.plan import Arrival, Backlog
from tuibench.model.summary import Summary
from tuibench.session.spec import SessionSpec

TABLES = ("--tables=2", "--table-size=500")
RATE, SECONDS = 50, 4


@pytest.fixture(scope="module")
def tables(server: PrivateServer) -> PrivateServer:
    """A server with 2 × 500 rows."""
    prepare(server.target, tables=2, rows=500)
    return server


async def run(server: PrivateServer, *options: str) -> tuple[Finished, Summary]:
    """A run of point selects to its end, without a screen."""
    done = await asyncio.to_thread(
        tuibench, "run", "oltp_point_select", *TABLES, *options, target=server.target
    )
    assert done.code == 0, done.err
    (record,) = paths.runs_dir().iterdir()
    return done, msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary)


@contextlib.asynccontextmanager
async def watching(server: PrivateServer, **plan: Any) -> AsyncIterator[Watcher]:
    """A session of point selects without a time limit, with such a plan."""
    spec = session_spec(server.target, "oltp_point_select", threads=4)
    spec = SessionSpec(
        session=spec.session,
        plan=msgspec.structs.replace(spec.plan, **plan),
        target=spec.target,
        run_directory=spec.run_directory,
    )
    async with watched(spec) as watcher:
        yield watcher


async def stopped(watcher: Watcher) -> Summary:
    """The summary of a run that is told to end; its books balance."""
    await watcher.submit(Stop())
    summary = (await watcher.end()).summary
    assert_balanced(summary)
    written = (watcher.directory / "summary.json").read_bytes()
    assert msgspec.json.decode(written, type=Summary) == summary
    return summary


def assert_balanced(summary: Summary) -> None:
    """At the end nothing is in flight, and nothing waits."""
    assert summary.scheduled == summary.transactions.total + summary.failed + summary.abandoned


# The rate


@pytest.mark.parametrize("workers", [1, 3])
async def test_poisson_arrivals_come_at_the_rate(tables: PrivateServer, workers: int) -> None:
    """The count of a Poisson process deviates by the square root of its mean; five times that is never."""
    options = (f"--rate={RATE}", f"--time={SECONDS}", "--threads=4", f"--workers={workers}")
    done, summary = await run(tables, *options)
    expected = RATE * SECONDS
    assert abs(summary.scheduled - expected) < 5 * expected**0.5
    assert_balanced(summary)
    assert summary.scheduled - summary.transactions.total <= 4
    queues = [int(length) for length in re.findall(r"^\[ \d+s \] queue length: (\d+), ", done.out, re.M)]
    assert len(queues) == SECONDS
    assert max(queues) <= 4
    assert summary.service_ms is not None
    assert summary.latency_ms is not None
    assert summary.latency_ms.avg >= summary.service_ms.avg
    assert f"of {summary.scheduled:,} due, {summary.transactions.total:,} done" in done.err


@pytest.mark.parametrize("workers", [1, 3])
async def test_constant_arrivals_are_exact(tables: PrivateServer, workers: int) -> None:
    options = (f"--rate={RATE}", f"--time={SECONDS}", "--threads=4", f"--workers={workers}")
    _, summary = await run(tables, *options, "--arrival=constant")
    assert abs(summary.scheduled - RATE * SECONDS) <= 2
    assert_balanced(summary)
    assert summary.reconciliation.foreign == 0


async def test_the_rate_can_be_changed_while_it_runs(tables: PrivateServer) -> None:
    async with watching(tables, rate=20.0, arrival=Arrival.CONSTANT) as watcher:
        await watcher.ticks(3)
        answer = await watcher.submit(SetRate(200))
        assert (answer.ok, answer.text) == (True, "rate: 200/s")
        await watcher.until(lambda: sum(load.rate == 200 for load in watcher.loads) >= 6)
        fast = [load for load in watcher.loads if load.rate == 200][1:]
        seconds = sum(load.seconds for load in fast)
        done = sum(load.transactions_per_second * load.seconds for load in fast)
        assert done / seconds == pytest.approx(200, rel=0.1)
        assert watcher.status.rate == 200
        assert [event.text for event in watcher.told(EventKind.RATE)] == ["rate 20/s → 200/s"]
        assert not (await watcher.submit(SetRate(-1))).ok
        assert (await watcher.submit(SetRate(0))).text == "rate: open"
        await watcher.until(lambda: watcher.loads[-1].rate == 0)
        await watcher.ticks(3)
        assert watcher.loads[-1].transactions_per_second > 400
        assert watcher.loads[-1].service is None
        summary = await stopped(watcher)
    assert summary.reconciliation.foreign == 0


async def test_the_rate_stays_while_threads_come_and_go(tables: PrivateServer) -> None:
    async with watching(tables, rate=100.0, arrival=Arrival.CONSTANT, workers=2) as watcher:
        for threads in (9, 1, 5):
            await watcher.submit(SetThreads(threads))
            await watcher.until(partial(works_with, watcher, threads))
            await watcher.ticks(4)
            last = watcher.loads[-3:]
            done = sum(load.transactions_per_second * load.seconds for load in last)
            assert done / sum(load.seconds for load in last) == pytest.approx(100, rel=0.15)
        summary = await stopped(watcher)
    assert summary.reconciliation.foreign == 0


def works_with(watcher: Watcher, connections: int) -> bool:
    return bool(watcher.loads) and watcher.loads[-1].connections == connections


async def test_after_a_pause_there_is_no_burst(tables: PrivateServer) -> None:
    async with watching(tables, rate=100.0, arrival=Arrival.CONSTANT) as watcher:
        await watcher.ticks(3)
        await watcher.submit(Pause())
        paused_at = len(watcher.samples)
        await watcher.ticks(6)
        assert watcher.loads[-1].transactions_per_second == 0
        assert watcher.loads[-1].backlog == 0
        await watcher.submit(Resume())
        await watcher.ticks(6)
        after = watcher.loads[paused_at + 6 :]
        assert max(load.transactions_per_second for load in after) < 150
        await stopped(watcher)


# Limits and the warm-up


@pytest.mark.parametrize(
    "options",
    [
        ("--workers=1",),
        ("--workers=3",),
        ("--workers=2", "--rate=400"),
        ("--workers=2", "--warmup-time=0.5"),
    ],
    ids=" ".join,
)
async def test_a_number_of_transactions_is_done_exactly(tables: PrivateServer, options: tuple[str]) -> None:
    _, summary = await run(tables, "--events=500", "--time=0", "--threads=4", *options)
    assert (summary.transactions.total, summary.scheduled, summary.outcome) == (500, 500, "done")
    assert (summary.failed, summary.abandoned) == (0, 0)
    assert summary.reconciliation.foreign == 0
    assert summary.fairness.events_avg == 125


async def test_fewer_transactions_than_workers_are_done_exactly_too(tables: PrivateServer) -> None:
    _, summary = await run(tables, "--events=1", "--time=0", "--threads=3", "--workers=3")
    assert (summary.transactions.total, summary.outcome) == (1, "done")


@pytest.mark.parametrize("rate", [0, 200])
async def test_the_warm_up_is_not_measured(tables: PrivateServer, rate: int) -> None:
    """As seen by the server: the statements of the warm-up are in neither count."""
    options = ("--warmup-time=1", "--time=2", "--threads=4", f"--rate={rate}", "--arrival=constant")
    done, summary = await run(tables, *options)
    assert summary.reconciliation.foreign == 0
    assert summary.seconds == pytest.approx(2, abs=0.3)
    assert_balanced(summary)
    if rate:
        assert abs(summary.scheduled - 2 * rate) <= 4
    lines = [line for line in done.out.splitlines() if " tps: " in line]
    assert [line.split("]")[0] for line in lines] == ["[ 1s ", "[ 2s "]
    total = summary.fairness.events_avg * 4
    assert total == pytest.approx(summary.transactions.total)


# A server that goes and comes


@pytest.mark.parametrize("backlog", Backlog)
async def test_what_comes_due_while_the_server_is_away_is_kept_or_dropped(
    mariadb_binary: Binary, base: Path, backlog: Backlog
) -> None:
    async with await PrivateServer.start(mariadb_binary, base=base) as server:
        prepare(server.target, tables=2, rows=500)
        async with watching(server, rate=200.0, backlog=backlog, workers=1) as watcher:
            await watcher.ticks(3)
            await server.kill()
            await watcher.until(lambda: watcher.loads[-1].backlog > 100)
            grown = watcher.loads[-1].backlog
            await watcher.ticks(2)
            assert watcher.loads[-1].backlog > grown
            assert watcher.loads[-1].connections == 0
            await server.start_again()
            await watcher.until(lambda: watcher.loads[-1].connections == 4)
            await watcher.until(lambda: watcher.loads[-1].backlog < 10)
            await watcher.ticks(2)
            assert watcher.loads[-1].transactions_per_second > 100
            summary = await stopped(watcher)
    assert summary.reconnects == 4
    assert summary.latency_ms is not None
    assert summary.service_ms is not None
    if backlog is Backlog.KEEP:
        assert summary.abandoned <= 10
        assert summary.latency_ms.max > 1000 * grown / 200
    else:
        assert summary.abandoned >= grown
    assert summary.service_ms.p99 < 500
