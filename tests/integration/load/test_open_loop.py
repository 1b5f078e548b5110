"""An open loop on real servers: the rate asked for, limits, and the warm-up."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.integration.support.commands import Finished, tuibench
from tests.integration.support.session_process import Watcher, session_spec, watched
from tuibench.base import paths
from tuibench.metrics.figures import read
from tuibench.model.event import EventKind
from tuibench.model.message import SessionSpec, SetRate, Stop
from tuibench.model.plan import Arrival
from tuibench.model.summary import Summary
from tuibench.servers.server import PrivateServer

TABLES = ("--tables=2", "--table-size=500")
RATE, SECONDS = 100, 2


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


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.whole), 3])
async def test_poisson_arrivals_come_at_the_rate(any_tables: PrivateServer, workers: int) -> None:
    """The count of a Poisson process deviates by the square root of its mean; five times that is never."""
    options = (f"--rate={RATE}", f"--time={SECONDS}", "--threads=4", f"--workers={workers}")
    done, summary = await run(any_tables, *options)
    expected = RATE * SECONDS
    assert abs(summary.scheduled - expected) < 5 * expected**0.5
    assert_balanced(summary)
    assert re.search(r"^\[ \d+s \] queue length: \d+, concurrency: \d+$", done.out, re.M)
    assert summary.service_ms is not None
    assert summary.latency_ms is not None
    assert summary.latency_ms.avg >= summary.service_ms.avg
    assert f"of {summary.scheduled:,} due, {summary.transactions.total:,} done" in done.err


@pytest.mark.one_flavour
async def test_the_rate_can_be_changed_while_it_runs(tables: PrivateServer) -> None:
    async with watching(tables, rate=20.0, arrival=Arrival.CONSTANT) as watcher:
        await watcher.ticks(3)
        answer = await watcher.submit(SetRate(200))
        assert (answer.ok, answer.text) == (True, "rate: 200/s")
        await watcher.until(lambda: sum(read("target_rate", load) == 200 for load in watcher.loads) >= 6)
        fast = [load for load in watcher.loads if read("target_rate", load) == 200][1:]
        assert sum(load.sums["completed"] for load in fast) > 0
        assert watcher.status.rate == 200
        assert [event.text for event in watcher.told(EventKind.RATE)] == ["rate 20/s → 200/s"]
        assert not (await watcher.submit(SetRate(-1))).ok
        assert (await watcher.submit(SetRate(0))).text == "rate: none"
        await watcher.until(lambda: not read("target_rate", watcher.loads[-1]))
        await watcher.ticks(3)
        assert not watcher.loads[-1].hist("service").count
        summary = await stopped(watcher)
    assert summary.reconciliation.foreign == 0


# Limits and the warm-up


@pytest.mark.parametrize(
    "options",
    [
        ("--workers=3",),
        ("--workers=2", "--rate=400"),
        ("--workers=2", "--warmup-time=0.5"),
    ],
    ids=" ".join,
)
async def test_a_number_of_transactions_is_done_exactly(
    any_tables: PrivateServer, options: tuple[str]
) -> None:
    _, summary = await run(any_tables, "--events=500", "--time=0", "--threads=4", *options)
    assert (summary.transactions.total, summary.scheduled, summary.outcome) == (500, 500, "done")
    assert (summary.failed, summary.abandoned) == (0, 0)
    assert summary.reconciliation.foreign == 0
    assert summary.fairness.events_avg == 125


async def test_fewer_transactions_than_workers_are_done_exactly_too(any_tables: PrivateServer) -> None:
    _, summary = await run(any_tables, "--events=1", "--time=0", "--threads=3", "--workers=3")
    assert (summary.transactions.total, summary.outcome) == (1, "done")


@pytest.mark.one_flavour
async def test_the_warm_up_is_not_measured(tables: PrivateServer) -> None:
    await assert_unmeasured(tables, rate=0)


async def test_the_warm_up_of_an_open_loop_is_not_measured(any_tables: PrivateServer) -> None:
    await assert_unmeasured(any_tables, rate=200)


async def assert_unmeasured(server: PrivateServer, rate: int) -> None:
    """As seen by the server: the statements of the warm-up are in neither count."""
    options = (
        "--warmup-time=0.5", "--time=1", "--threads=4", f"--rate={rate}", "--arrival=constant",
        "--client-delay=1ms",
    )  # fmt: skip
    _, summary = await run(server, *options)
    assert summary.reconciliation.foreign == 0
    assert_balanced(summary)
    total = summary.fairness.events_avg * 4
    assert total == pytest.approx(summary.transactions.total)
