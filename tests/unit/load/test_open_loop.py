"""Whole runs of an open loop, in make-believe time: stalls, outages, pauses, too much work, enough of it."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from tests.fakes import FakeConnection, FakeServer
from tests.unit.load.driving import Drive, balanced
from tests.unit.load.programs import SINGLE, begin
from tests.virtual import VirtualClock, in_no_time
from tuibench.errors import ConnectionLostError, ServerAwayError
from tuibench.load.report import Counters, HandOver
from tuibench.load.wire import Begin
from tuibench.metrics.histogram import Histogram
from tuibench.model.plan import Arrival, Backlog
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection

RATE = 100.0
SERVICE_SECONDS = 0.002

Script = Callable[["Run"], Awaitable[None]]


class TimedServer(FakeServer):
    """Every statement takes its time. During a stall nothing is answered, during an outage all is lost."""

    def __init__(
        self,
        clock: VirtualClock,
        service_seconds: float = SERVICE_SECONDS,
        *,
        stall: tuple[float, float] = (0, 0),
        outage: tuple[float, float] = (0, 0),
    ) -> None:
        super().__init__()
        self.started: list[float] = []
        self._clock = clock
        self._service_seconds = service_seconds
        self._stall = stall
        self._outage = outage

    async def connect(self, target: Target) -> Connection:
        if self._is_away():
            raise ServerAwayError("cannot reach a server at db:3306", "is it running?")
        return await super().connect(target)

    async def answer(self, connection: FakeConnection, sql: str) -> int:
        self.started.append(self._clock.time())
        await self._clock.sleep(self._service_seconds)
        begun, over = self._stall
        if begun <= self._clock.time() < over:
            await self._clock.sleep(over - self._clock.time())
        if self._is_away():
            connection.break_off()
            raise ConnectionLostError(2013, "connection lost")
        return await super().answer(connection, sql)

    def _is_away(self) -> bool:
        begun, over = self._outage
        return begun <= self._clock.time() < over


class Run(Drive[VirtualClock]):
    """A drive in virtual time."""

    server: TimedServer

    async def wait_until(self, second: float) -> None:
        await self.clock.sleep(second - self.clock.now_ns() / 1e9)

    def started_in(self, seconds: float, since: float) -> int:
        """How many statements the server got in a span of time."""
        return sum(since <= at < since + seconds for at in self.server.started)


def ran(
    script: Script,
    how: Begin | None = None,
    *,
    connections: int = 8,
    rate: float = RATE,
    service_seconds: float = SERVICE_SECONDS,
    stall: tuple[float, float] = (0, 0),
    outage: tuple[float, float] = (0, 0),
) -> Run:
    """The run after a script has been played on it, still going on."""

    async def scenario(clock: VirtualClock) -> Run:
        server = TimedServer(clock, service_seconds, stall=stall, outage=outage)
        run = Run(server, how or begin(SINGLE, arrival=Arrival.CONSTANT), clock)
        run.engine.set_rate(rate)
        run.engine.set_connections(range(connections))
        await script(run)
        assert balanced(run.counters)
        await run.engine.stop(10)
        run.last = run.counters
        assert balanced(run.last)
        return run

    return in_no_time(scenario)


async def for_ten_seconds(run: Run) -> None:
    await run.wait_until(10)


def p_ms(histogram: Histogram, percentile: float) -> float:
    return histogram.percentiles((percentile,))[0] / 1000


# Coordinated omission


@pytest.mark.parametrize("arrival", Arrival)
def test_a_stall_of_a_second_shows_in_the_response_time_and_not_in_the_service_time(
    arrival: Arrival,
) -> None:
    run = ran(for_ten_seconds, begin(SINGLE, arrival=arrival), stall=(5, 6))
    assert run.transactions.count == run.service.count == run.last.completed == run.last.scheduled
    assert abs(run.last.scheduled - 1000) < 5 * 1000**0.5
    assert p_ms(run.transactions, 99) > 800
    assert p_ms(run.transactions, 50) < 5
    assert p_ms(run.service, 99) < 5
    assert p_ms(run.service, 100) >= 990


def test_a_closed_loop_hides_the_same_stall() -> None:
    run = ran(for_ten_seconds, rate=0, connections=1, stall=(5, 6))
    assert run.last.completed > 4000
    assert p_ms(run.transactions, 99) < 5
    assert run.service.count == 0


def test_without_a_stall_the_response_time_is_the_service_time() -> None:
    run = ran(for_ten_seconds)
    assert run.last.completed == run.last.scheduled
    assert abs(run.last.scheduled - 1000) <= 1
    assert run.transactions == run.service
    assert (p_ms(run.transactions, 0), p_ms(run.transactions, 100)) == (2.0, 2.0)


def test_the_work_of_a_stall_is_caught_up_with_and_no_more_is_started_than_was_due() -> None:
    run = ran(for_ten_seconds, stall=(5, 6))
    for span in (0.5, 1.0, 2.0):
        assert run.started_in(span, 6.0) <= (1 + span) * RATE + 1
    assert run.started_in(1.0, 8.0) == RATE
    assert run.last.abandoned == 0


def test_transactions_start_when_they_are_due() -> None:
    run = ran(for_ten_seconds)
    gaps = [after - before for before, after in pairwise(run.server.started)]
    assert min(gaps) == pytest.approx(0.01)
    assert max(gaps) == pytest.approx(0.01)


def test_all_connections_get_their_share() -> None:
    run = ran(for_ten_seconds, connections=4)
    shares = [len(run.server.heard_by(number)) for number in range(4)]
    assert max(shares) - min(shares) <= 2


# Too much work


def test_over_capacity_the_backlog_grows_and_nothing_breaks() -> None:
    seen: list[Counters] = []

    async def script(run: Run) -> None:
        for second in range(1, 11):
            await run.wait_until(second)
            seen.append(run.counters)

    run = ran(script, rate=500, connections=2, service_seconds=0.01)
    assert all(after.backlog > before.backlog for before, after in pairwise(seen))
    assert seen[-1].backlog == pytest.approx(10 * (500 - 200), rel=0.01)
    assert seen[-1].completed == pytest.approx(10 * 200, rel=0.01)
    assert run.report().failure == ""
    assert run.last.abandoned == seen[-1].backlog


def test_a_rate_taken_off_forgets_the_backlog_and_goes_on_as_a_closed_loop() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(5)
        backlog = run.counters.backlog
        run.engine.set_rate(0)
        counters = run.counters
        assert (counters.backlog, counters.abandoned) == (0, backlog)
        assert backlog > 1000
        done = counters.completed
        await run.wait_until(6)
        assert run.counters.completed - done == pytest.approx(200, abs=4)

    ran(script, rate=500, connections=2, service_seconds=0.01)


def test_a_rate_can_be_put_on_a_closed_loop_and_changed() -> None:
    async def script(run: Run) -> None:
        for second, rate in ((1, 50), (3, 200), (5, 0)):
            await run.wait_until(second)
            run.engine.set_rate(rate)
        await run.wait_until(6)

    run = ran(script, rate=0, connections=2)
    assert run.started_in(1, 0) == pytest.approx(1000, abs=4)
    assert run.started_in(1.9, 1.05) == pytest.approx(95, abs=2)
    assert run.started_in(1.9, 3.05) == pytest.approx(380, abs=3)
    assert run.started_in(0.9, 5.05) == pytest.approx(900, abs=4)


# Pauses and outages


@pytest.mark.parametrize("backlog", Backlog)
def test_after_a_pause_there_is_no_burst(backlog: Backlog) -> None:
    async def script(run: Run) -> None:
        await run.wait_until(2)
        run.engine.pause()
        await run.wait_until(7)
        run.engine.resume()
        await run.wait_until(10)

    run = ran(script, begin(SINGLE, arrival=Arrival.CONSTANT, backlog=backlog))
    assert run.started_in(4.9, 2.05) == 0
    assert run.started_in(1, 7.0) <= RATE + 1
    assert run.last.scheduled == pytest.approx(5 * RATE, abs=3)
    assert p_ms(run.transactions, 100) == 2.0


@pytest.mark.parametrize(("backlog", "dropped"), [(Backlog.KEEP, False), (Backlog.DROP, True)])
def test_a_backlog_from_before_a_pause_is_kept_or_dropped_at_its_end(backlog: Backlog, dropped: bool) -> None:
    async def script(run: Run) -> None:
        await run.wait_until(3)
        run.engine.pause()
        await run.wait_until(4)
        waiting, abandoned = run.counters.backlog, run.counters.abandoned
        assert waiting > 100
        run.engine.resume()
        at_once = 1  # evenly spaced arrivals begin with one
        assert run.counters.backlog == at_once + (0 if dropped else waiting)
        assert run.counters.abandoned - abandoned == (waiting if dropped else 0)

    ran(
        script,
        begin(SINGLE, arrival=Arrival.CONSTANT, backlog=backlog),
        rate=200,
        connections=1,
        service_seconds=0.01,
    )


def test_after_an_outage_what_came_due_is_worked_off() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(3.99)
        counters = run.counters
        assert counters.backlog == pytest.approx(2 * RATE - 8, abs=3)
        assert run.report().connections == 0
        assert run.report().last_refusal.startswith("cannot reach a server")
        await run.wait_until(10)

    run = ran(script, outage=(2, 4))
    assert (run.last.reconnects, run.last.abandoned) == (8, 0)
    assert (run.last.failed, run.last.errors[2013]) == (8, 8)
    assert run.last.completed == run.last.scheduled - 8
    assert p_ms(run.transactions, 100) > 1800
    assert run.started_in(2, 4.0) <= 4 * RATE + 1


def test_after_an_outage_what_came_due_is_dropped_if_asked() -> None:
    run = ran(for_ten_seconds, begin(SINGLE, arrival=Arrival.CONSTANT, backlog=Backlog.DROP), outage=(2, 4))
    assert run.last.abandoned == pytest.approx(2 * RATE, rel=0.5)
    assert run.last.abandoned >= 2 * RATE - 8 - 3
    assert run.last.completed == run.last.scheduled - run.last.failed - run.last.abandoned
    assert p_ms(run.transactions, 100) < 50


def test_what_comes_due_before_the_first_connection_is_there_is_not_dropped() -> None:
    """A worker that is added to a running load gets its part of the rate while it still logs in."""
    run = ran(for_ten_seconds, begin(SINGLE, arrival=Arrival.CONSTANT, backlog=Backlog.DROP), outage=(0, 2))
    assert run.last.abandoned == 0
    assert run.last.completed == run.last.scheduled >= 10 * RATE - 1


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
        left = [work for work in lost.told if isinstance(work, HandOver)]
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
                raise ServerAwayError("no way back", "")
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
        run.engine.start_over(40)
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
        run.engine.start_over(None)
        assert (run.counters.backlog, run.counters.abandoned) == (0, waiting)

    ran(script, rate=200, connections=1, service_seconds=0.01)
