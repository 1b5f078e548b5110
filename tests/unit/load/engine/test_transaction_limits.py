"""Runs with a limit of transactions, and runs after a warm-up, in make-believe time: how much is done."""

import asyncio

import pytest

from tests.fakes import FakeConnection
from tests.unit.load.engine.driving import balanced
from tests.unit.load.engine.virtual_runs import RATE, Run, TimedServer, ran
from tests.unit.load.programs import SINGLE, begin
from tests.virtual import VirtualClock, in_no_time
from tuibench.errors import ConnectionLostError, ServerUnreachableError
from tuibench.load.worker_report import Counters, Reassign
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection

# Enough of it


@pytest.mark.parametrize("rate", [0, RATE])
@pytest.mark.parametrize(("limit", "connections"), [(1, 4), (500, 4), (3, 1), (0, 2)])
def test_exactly_as_many_transactions_as_allowed(rate: float, limit: int, connections: int) -> None:
    async def script(run: Run) -> None:
        await asyncio.wait_for(run.engine.finished.wait(), 60)
        assert run.report().connections == 0

    run = ran(script, begin(SINGLE, limit=limit), rate=rate, connections=connections)
    assert (run.last.scheduled, run.last.completed, run.last.abandoned) == (limit, limit, 0)
    assert len(run.server.started) == limit


@pytest.mark.parametrize("rate", [0, RATE])
@pytest.mark.parametrize("events", [3, 500])
def test_a_worker_that_loses_its_connections_leaves_its_share_to_another(rate: float, events: int) -> None:
    async def scenario(clock: VirtualClock) -> tuple[Run, Run]:
        server = TimedServer(clock, stall=(0.005, 2))
        kept, lost = (Run(server, begin(SINGLE, limit=events), clock) for _ in range(2))
        for run in (kept, lost):
            run.engine.set_rate(rate)
            run.engine.set_connections(range(4))
        await lost.wait_until(1)
        lost.engine.set_connections(())
        left = [work for work in lost.told if isinstance(work, Reassign)]
        assert len(left) == (events > lost.counters.scheduled)
        for work in left:
            kept.engine.take_over(work)
        for run in (kept, lost):
            await asyncio.wait_for(run.engine.finished.wait(), 60)
            await run.engine.stop(10)
        return kept, lost

    kept, lost = (run.counters for run in in_no_time(scenario))
    assert kept.completed + lost.completed == 2 * events
    assert lost.completed < events or events == 3
    assert balanced(kept)
    assert balanced(lost)


@pytest.mark.parametrize("rate", [0, RATE])
def test_the_work_is_finished_though_the_server_was_away_meanwhile(rate: float) -> None:
    async def script(run: Run) -> None:
        await asyncio.wait_for(run.engine.finished.wait(), 60)

    run = ran(script, begin(SINGLE, limit=500), rate=rate, connections=4, outage=(0.2, 3))
    assert run.last.scheduled == 500 == run.last.completed + run.last.failed
    assert 1 <= run.last.failed <= 4


def test_who_finds_no_server_and_no_work_left_does_not_keep_the_others_waiting() -> None:
    """One of two connections is lost for good; the other does all there is to do."""

    class OneIsLost(TimedServer):
        async def connect(self, target: Target) -> Connection:
            if len(self.connections) == 2:
                raise ServerUnreachableError("no way back", "")
            return await super().connect(target)

        async def answer(self, connection: FakeConnection, sql: str) -> int:
            if connection.number == 1:
                connection.break_off()
                raise ConnectionLostError(2013, "connection lost")
            return await super().answer(connection, sql)

    async def scenario(clock: VirtualClock) -> Counters:
        run = Run(OneIsLost(clock), begin(SINGLE, limit=50), clock)
        run.engine.set_connections((0, 1))
        await asyncio.wait_for(run.engine.finished.wait(), 60)
        await run.engine.stop(0)
        return run.counters

    counters = in_no_time(scenario)
    assert (counters.completed, counters.failed) == (49, 1)


@pytest.mark.parametrize("rate", [0, RATE])
def test_held_with_a_limit_the_connections_open_and_wait(rate: float) -> None:
    """Even one whose worker got no share of the work: the run waits for all connections before it begins."""

    async def script(run: Run) -> None:
        await run.wait_until(1)
        assert (run.report().connections, run.engine.finished.is_set()) == (3, False)
        run.engine.resume()
        await asyncio.wait_for(run.engine.finished.wait(), 60)

    async def scenario(clock: VirtualClock) -> int:
        run = Run(TimedServer(clock), begin(SINGLE, limit=0), clock)
        run.engine.pause()
        run.engine.set_connections(range(3))
        run.engine.set_rate(rate)
        await script(run)
        await run.engine.stop(0)
        return run.counters.scheduled

    assert in_no_time(scenario) == 0


# The warm-up


@pytest.mark.parametrize("rate", [0, RATE])
def test_after_the_warm_up_everybody_starts_over(rate: float) -> None:
    async def script(run: Run) -> None:
        await run.wait_until(2)
        run.engine.pause()
        await run.wait_until(3)
        run.engine.reset_stats(40)
        warm = run.report()
        assert (warm.events_per_connection.total, warm.counters.backlog, warm.counters.in_flight) == (0, 0, 0)
        assert warm.counters.completed > 100
        run.engine.resume()
        await asyncio.wait_for(run.engine.finished.wait(), 60)
        cold = run.report()
        assert cold.counters.completed - warm.counters.completed == 40
        assert (cold.events_per_connection.total, cold.transactions.count) == (40, 40)
        assert cold.events_per_connection.n == 8

    ran(script, rate=rate)


def test_the_backlog_of_the_warm_up_is_not_carried_over() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(3)
        run.engine.pause()
        await run.wait_until(4)
        waiting = run.counters.backlog
        assert waiting > 100
        run.engine.reset_stats(None)
        assert (run.counters.backlog, run.counters.abandoned) == (0, waiting)

    ran(script, rate=200, connections=1, service_seconds=0.01)
