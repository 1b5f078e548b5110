"""The books of the load balance, whatever the server answers and whatever is asked of the engine."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import NO_RESPONSE, FakeClock, FakeServer, Result
from tests.unit.load.engine.driving import Drive, balanced, driving, turns, until
from tests.unit.load.engine.server_errors import AWAY, DEADLOCK, DUPLICATE, LOCK_WAIT, LOST, TOO_MANY
from tests.unit.load.programs import EXPLICIT, SINGLE, begin
from tuibench.clock import NS_PER_MS
from tuibench.load.worker_report import Reassign
from tuibench.model.plan import Arrival, Backlog, OnError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.workload.program.program import Transaction


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
            case "over":
                now_ns = drive.clock.now_ns()
                drive.engine.take_over(Reassign((now_ns,) * (self.how_many // 2), self.how_many))
            case "limit":
                drive.engine.reset_stats(self.how_many or None)
            case "time":
                drive.clock.advance(self.how_many / 1000)
            case _:
                await turns(self.how_many)


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
        assert report.events_per_connection.n == report.seconds_per_connection.n == 4
        assert report.events_per_connection.total == report.counters.completed


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
        assert drive.report().transactions.count == 0
        assert drive.report().counters.completed == drive.transactions.count > first.counters.completed


@pytest.mark.parametrize("connections", [0, 1, 7])
async def test_the_number_of_connections_is_the_one_asked_for(connections: int) -> None:
    async with driving(FakeServer(), begin(SINGLE), connections=3) as drive:
        await until(lambda: drive.report().connections == 3)
        drive.engine.set_connections(range(connections))
        await until(lambda: drive.report().connections == connections == drive.server.open_connections)
