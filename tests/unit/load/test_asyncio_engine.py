"""The asyncio engine: users, open loop, limits of transactions."""

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import NO_RESPONSE, FakeClock, FakeConnection, FakeServer, Result
from tests.unit.load.driving import Drive, balanced, driving, turns, until
from tests.unit.load.programs import (
    AWAY,
    DEADLOCK,
    DUPLICATE,
    EXPLICIT,
    EXPLICIT_SQL,
    LOCK_WAIT,
    LOST,
    SINGLE,
    TOO_MANY,
    UPDATE,
    begin,
)
from tests.unit.load.virtual_runs import RATE, Run, TimedServer, for_ten_seconds, p_ms, ran
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.clock import NS_PER_MS
from tuibench.base.errors import ConnectionLostError, ServerUnreachableError
from tuibench.load.messages import Counters, Reassign, StartLoad
from tuibench.model.callers import Backoff, Breaker, CallerPolicy, QueueOrder
from tuibench.model.plan import Arrival, Backlog, OnError
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection
from tuibench.workload.program import Transaction, Turns

# The books of the load balance, whatever the server answers and whatever is asked of the engine.


@dataclass(frozen=True)
class Do:
    """One thing to do with an engine, in words that a failing example shows."""

    what: str
    how_many: int = 0

    async def on(self, drive: Drive[FakeClock]) -> None:
        match self.what:
            case "connections":
                drive.engine.set_connections(range(self.how_many))
            case "pause":
                drive.engine.pause()
            case "resume":
                drive.engine.resume()
            case "rate":
                drive.engine.set_rate(self.how_many)
            case "delay":
                drive.engine.set_delay(self.how_many * NS_PER_MS)
            case "callers":
                drive.engine.set_callers(POLICIES[self.how_many])
            case "over":
                now_ns = drive.clock.now_ns()
                drive.engine.take_over(Reassign((now_ns,) * (self.how_many // 2), self.how_many))
            case "limit":
                drive.engine.reset_stats(self.how_many or None)
            case "time":
                drive.clock.advance(self.how_many / 1000)
            case _:
                await turns(self.how_many)


POLICIES = (
    CallerPolicy(),
    CallerPolicy(deadline_ms=20, attempts=3),
    CallerPolicy(deadline_ms=50, attempts=2, queue=QueueOrder.LIFO, retry_budget=20.0),
    CallerPolicy(deadline_ms=20, queue=QueueOrder.SHED, breaker=Breaker(50, 0.1)),
    CallerPolicy(deadline_ms=1, attempts=4, queue=QueueOrder.SHED, backoff=Backoff(5, 2, True)),
)


def is_delayed(asked: list[Do]) -> bool:
    """Whether answers may be cut off on their make-believe way."""
    return any(action.what == "delay" and action.how_many for action in asked)


actions = st.lists(
    st.one_of(
        st.builds(Do, st.just("connections"), st.integers(0, 5)),
        st.builds(Do, st.sampled_from(["pause", "resume"])),
        st.builds(Do, st.just("delay"), st.integers(0, 30)),
        st.builds(Do, st.just("turns"), st.integers(0, 25)),
        st.builds(Do, st.just("rate"), st.sampled_from([0, 0, 20, 500])),
        st.builds(Do, st.just("limit"), st.sampled_from([0, 1, 30])),
        st.builds(Do, st.just("over"), st.sampled_from([1, 30])),
        st.builds(Do, st.just("time"), st.integers(0, 400)),
        st.builds(Do, st.just("callers"), st.integers(0, len(POLICIES) - 1)),
    ),
    min_size=3,
    max_size=20,
)
usual_results = st.sampled_from([1, 1, 1, 0, DEADLOCK, LOCK_WAIT, LOST])
some_results = st.lists(st.one_of(usual_results, st.sampled_from([NO_RESPONSE, DUPLICATE])), max_size=60)
some_logins = st.lists(st.sampled_from([None, None, TOO_MANY, AWAY, LOST]), max_size=8)
some_rollbacks = st.lists(st.sampled_from([1, 1, LOST, NO_RESPONSE]), max_size=5)
rules = st.fixed_dictionaries(
    {
        "backlog": st.sampled_from(Backlog),
        "on_error": st.sampled_from(OnError),
        "arrival": st.sampled_from(Arrival),
        "limit": st.sampled_from([None, None, 0, 1, 40]),
        "prepared": st.booleans(),
    }
)
rates = st.sampled_from([0, 50, 1000])
programs = st.sampled_from([(EXPLICIT,), (SINGLE,), (EXPLICIT, SINGLE)])


@given(programs, some_results, some_logins, some_rollbacks, actions, st.integers(0, 2), rules, rates)
def test_every_transaction_and_every_question_is_accounted_for(
    transactions: tuple[Transaction, ...],
    results: list[Result],
    logins: list[Exception | None],
    rollbacks: list[Result],
    asked: list[Do],
    max_retries: int,
    rules: dict[str, Any],
    rate: float,
) -> None:
    async def scenario() -> None:
        server = FakeServer(results, logins=logins, rollbacks=rollbacks)  # type: ignore[arg-type]
        work = begin(*transactions, max_retries=max_retries, **rules)
        async with driving(server, work, connections=2) as drive:
            drive.engine.set_rate(rate)
            for action in asked:
                await action.on(drive)
                assert balanced(drive.counters)
            await drive.engine.stop(0)
            counters = drive.counters
        assert balanced(counters)
        assert (counters.in_flight, counters.backlog) == (0, 0)
        assert counters.questions == server.questions
        assert drive.transactions.count == counters.completed >= drive.service.count
        assert drive.transactions.sum_us >= drive.service.sum_us
        on_the_way = len(server.returned) - counters.queries
        assert 0 <= on_the_way <= counters.abandoned if is_delayed(asked) else on_the_way == 0
        of_profile = [sql for sql in server.returned if sql != "ROLLBACK"]
        assert 0 <= len(of_profile) - sum(each.count for each in drive.statements.values()) <= on_the_way
        assert server.open_connections == 0

    asyncio.run(scenario())


@given(some_results)
def test_a_single_statement_program_never_rolls_back(results: list[Result]) -> None:
    async def scenario() -> None:
        server = FakeServer(results)
        async with driving(server, begin(SINGLE), connections=3):
            await turns(80)
        assert not [sql for _, sql in server.heard if sql == "ROLLBACK"]

    asyncio.run(scenario())


@given(some_results)
def test_nothing_is_committed_by_halves(results: list[Result]) -> None:
    """A rejected statement is followed by ROLLBACK, a new one begins first, or after COMMIT or ROLLBACK."""

    async def scenario() -> None:
        server = FakeServer(results)
        async with driving(server, begin(EXPLICIT), connections=2):
            await turns(120)
        for place in server.rejected:
            connection, _ = server.heard[place]
            later = [sql for number, sql in server.heard[place + 1 :] if number == connection]
            assert later[:1] in ([], ["ROLLBACK"])
        for connection in {number for number, _ in server.heard}:
            heard = server.heard_by(connection)
            for before, after in zip(["COMMIT", *heard], heard, strict=False):
                assert after != "START TRANSACTION" or before in ("COMMIT", "ROLLBACK")
                assert before != "ROLLBACK" or after == "START TRANSACTION"

    asyncio.run(scenario())


async def test_refused_connections_leave_their_numbers_to_the_next() -> None:
    """Two connections with one number would draw the same keys and wait for each other's locks."""
    server = FakeServer(logins=[None, TOO_MANY, None])
    async with driving(server, begin(SINGLE), connections=3) as drive:
        await until(lambda: drive.report().connections == 2)
        drive.engine.set_connections(range(3))
        await until(lambda: drive.report().connections == 3)
        assert connections_running() == ["connection 0", "connection 1", "connection 2"]


async def test_connections_keep_their_numbers_when_others_come_and_go() -> None:
    async with driving(FakeServer(), begin(SINGLE, worker=1, workers=3), connections=0) as drive:
        drive.engine.set_connections((1, 4, 7))
        await until(lambda: drive.report().connections == 3)
        assert connections_running() == ["connection 1", "connection 4", "connection 7"]
        drive.engine.set_connections((1, 7, 9))
        await until(lambda: len(drive.server.connections) == 4 and drive.report().connections == 3)
        assert connections_running() == ["connection 1", "connection 7", "connection 9"]


def connections_running() -> list[str]:
    return sorted(task.get_name() for task in asyncio.all_tasks() if "connection" in task.get_name())


async def test_departed_connections_keep_their_figures() -> None:
    async with driving(FakeServer(), begin(SINGLE), connections=4) as drive:
        await drive.until_ended(40)
        drive.engine.set_connections(range(1))
        await until(lambda: drive.report().connections == 1)
        await drive.engine.stop(1)
        report = drive.report()
        assert report.fairness.n == 4
        assert report.fairness.events == report.counters.completed


async def test_connections_are_opened_a_few_at_a_time() -> None:
    gate = asyncio.Event()

    class SlowServer(FakeServer):
        waiting = 0

        async def connect(self, target: Target) -> Connection:
            self.waiting += 1
            await gate.wait()
            return await super().connect(target)

    server = SlowServer()
    async with driving(server, begin(SINGLE), connections=100) as drive:
        await turns(20)
        assert server.waiting == 32
        gate.set()
        await until(lambda: drive.report().connections == 100)


async def test_stop_lets_a_transaction_end_within_the_grace() -> None:
    async with driving(FakeServer(), begin(EXPLICIT), connections=5) as drive:
        await until(lambda: drive.counters.in_flight == 5)
        await drive.engine.stop(grace_seconds=5)
        counters = drive.counters
        assert (counters.abandoned, counters.in_flight) == (0, 0)
        assert counters.completed == counters.scheduled


async def test_counters_are_cumulative_and_histograms_are_not() -> None:
    async with driving(FakeServer(), begin(SINGLE)) as drive:
        await drive.until_ended(3)
        first = drive.report()
        await drive.until_ended(first.counters.completed + 3)
        drive.engine.pause()
        await until(lambda: drive.counters.in_flight == 0)
        assert drive.report().hist("response").count == 0
        assert drive.report().counters.completed == drive.transactions.count > first.counters.completed


@pytest.mark.parametrize("connections", [0, 1, 7])
async def test_the_number_of_connections_is_the_one_asked_for(connections: int) -> None:
    async with driving(FakeServer(), begin(SINGLE), connections=3) as drive:
        await until(lambda: drive.report().connections == 3)
        drive.engine.set_connections(range(connections))
        await until(lambda: drive.report().connections == connections == drive.server.open_connections)


# One connection of the load: how its work is counted, and the turns that it is given.


# Counting


@pytest.mark.parametrize(("affected", "figures"), [(1, (2, 1, 2)), (0, (2, 0, 3))])
async def test_a_write_without_an_effect_counts_as_other(
    affected: int, figures: tuple[int, int, int]
) -> None:
    stop: list[Result] = [1, 1, 1, affected, 1, NO_RESPONSE]
    async with driving(FakeServer(stop), begin(EXPLICIT)) as drive:
        await drive.until_ended(1)
        counters = drive.counters
        assert (counters.reads, counters.writes, counters.others) == figures
        assert counters.queries == 5


async def test_a_statement_cut_off_at_the_end_was_a_question_and_its_transaction_is_abandoned() -> None:
    async with driving(FakeServer([1, NO_RESPONSE]), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 2)
        assert drive.counters.in_flight == 1
        await drive.engine.stop(0)
        counters = drive.counters
        assert (counters.abandoned, counters.in_flight, counters.queries) == (1, 0, 1)
        assert counters.questions == drive.server.questions == 2


async def test_a_rollback_cut_off_at_the_end_was_a_question_too() -> None:
    async with driving(FakeServer([DEADLOCK], rollbacks=[NO_RESPONSE]), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 2)
        await drive.engine.stop(0)
        assert drive.counters.questions == drive.server.questions == 2


async def test_a_departure_ends_the_transaction_in_flight_then_says_goodbye() -> None:
    async with driving(FakeServer(), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 3)
        drive.engine.set_connections(range(0))
        await until(lambda: drive.server.open_connections == 0)
        counters = drive.counters
        assert drive.server.heard_by(0) == EXPLICIT_SQL
        assert (counters.completed, counters.abandoned) == (1, 0)
        assert counters.questions == drive.server.questions == len(EXPLICIT_SQL) + 1


async def test_nothing_starts_while_the_load_is_held() -> None:
    async with driving(FakeServer(), begin(EXPLICIT), connections=4) as drive:
        await drive.until_ended(4)
        drive.engine.pause()
        await until(lambda: drive.counters.in_flight == 0)
        held = drive.counters
        await turns(50)
        assert drive.counters == held
        drive.engine.resume()
        await drive.until_ended(held.completed + 4)


# Turns


async def test_a_connection_with_turns_does_them_in_order_and_leaves() -> None:
    server = FakeServer()
    async with driving(server, in_turns(Turns(cycle=(0, 1), count=3, ending=(1,)), limit=8), 2) as drive:
        await until(drive.engine.finished.is_set)
    single, explicit = [UPDATE.sql[0]], EXPLICIT_SQL
    for connection in (0, 1):
        assert server.heard_by(connection) == [*single, *explicit, *single, *explicit]
    assert server.open_connections == 0


async def test_a_connection_with_turns_reconnects_at_the_given_turns() -> None:
    server = FakeServer()
    turns = Turns(cycle=(0, 0, 0), count=7, reconnect_at=frozenset({0, 2}))
    async with driving(server, in_turns(turns, limit=7)) as drive:
        await until(drive.engine.finished.is_set)
        counters = drive.counters
    assert [len(server.heard_by(number)) for number in range(len(server.connections))] == [2, 1, 2, 1, 1]
    assert counters.completed == 7
    assert not counters.failed


async def test_a_lost_connection_goes_on_with_its_turns() -> None:
    server = FakeServer([1, LOST])
    async with driving(server, in_turns(Turns(cycle=(0,), count=4), limit=4)) as drive:
        await until(drive.engine.finished.is_set)
        counters = drive.counters
    assert (counters.completed, counters.failed) == (3, 1)


def in_turns(turns: Turns, limit: int) -> StartLoad:
    """A worker whose connections do these turns of SINGLE and EXPLICIT."""
    message = begin(SINGLE, EXPLICIT, limit=limit)
    return msgspec.structs.replace(message, program=msgspec.structs.replace(message.program, turns=turns))


# Whole runs of an open loop, in make-believe time: stalls, too much work, pauses and outages.


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
    assert run.report().failure.message == ""
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


# Runs with a limit of transactions, and runs after a warm-up, in make-believe time: how much is done.


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
        assert (warm.fairness.events, warm.counters.backlog, warm.counters.in_flight) == (0, 0, 0)
        assert warm.counters.completed > 100
        run.engine.resume()
        await asyncio.wait_for(run.engine.finished.wait(), 60)
        cold = run.report()
        assert cold.counters.completed - warm.counters.completed == 40
        assert (cold.fairness.events, cold.hist("response").count) == (40, 40)
        assert cold.fairness.n == 8

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
