"""What session and workers tell each other."""

import asyncio
import socket
from collections.abc import AsyncIterator
from statistics import fmean, pstdev

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.load.programs import EXPLICIT, SINGLE, begin
from tuibench.load.fleet import WorkerProcess
from tuibench.load.messages import (
    INTEGER_COUNTERS,
    Adjust,
    Counters,
    FairnessStats,
    Finished,
    FinishLoad,
    FromWorker,
    Lease,
    MessageChannel,
    RequestReport,
    ResetLoadStats,
    SessionChannel,
    ToWorker,
    WorkerChannel,
    WorkerReport,
    execution_options,
)
from tuibench.model.findings import ErrorMessage
from tuibench.model.plan import Arrival, Backlog, OnError, RunPlan
from tuibench.model.server import IGNORED_ERRORS
from tuibench.model.tick import Histogram

# Messages between session and worker arrive as they were sent, or not at all.


REPORT = WorkerReport(
    worker=3,
    seconds=1.01,
    cpu_seconds=0.4,
    lag_p99_ms=0.2,
    connections=8,
    counters=Counters(scheduled=7, backlog=2, completed=4, in_flight=1, errors={1213: 2}, refused={1040: 1}),
    hists={
        "response": Histogram.of([100, 20_000, 3_000_000]),
        "service": Histogram.of([90, 18_000]),
        "stmt.point_select": Histogram.of([90]),
        "trx.new_order": Histogram.of([90, 110]),
    },
    fairness=FairnessStats.of([(1.0, 0.5), (3.0, 0.25)]),
    failure=ErrorMessage("no", "do this", 3),
)
Ends = tuple[SessionChannel, WorkerChannel]


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    ours, theirs = socket.socketpair()
    session: SessionChannel = await MessageChannel.over(ours, FromWorker)
    worker: WorkerChannel = await MessageChannel.over(theirs, ToWorker)
    yield session, worker
    await session.close()
    await worker.close()


@pytest.mark.parametrize(
    "message",
    [
        begin(EXPLICIT),
        begin(SINGLE, ignored_errors=None, on_error=OnError.CONTINUE, arrival=Arrival.CONSTANT, limit=70),
        Adjust(connections=(0, 3, 6)),
        Adjust(connections=()),
        Adjust(rate=12.5),
        Adjust(weights=(90.0, 0.5)),
        Adjust(delay_ns=20_000_000),
        ResetLoadStats(None),
        ResetLoadStats(250),
        Adjust(paused=True, users=0, idle=0, logins_per_second=0.5, session_sql=()),
        Adjust(paused=False),
        RequestReport(),
        FinishLoad(2.5),
    ],
    ids=lambda message: type(message).__name__,
)
async def test_a_worker_hears_what_the_session_says(ends: Ends, message: msgspec.Struct) -> None:
    session, worker = ends
    session.send(message)
    assert await worker.receive() == message


async def test_a_password_reaches_the_worker_though_no_repr_shows_it(ends: Ends) -> None:
    session, worker = ends
    session.send(begin(EXPLICIT))
    received = await worker.receive()
    assert received == begin(EXPLICIT)
    assert "secret" not in repr(received)


async def test_a_report_arrives_whole_and_in_order(ends: Ends) -> None:
    session, worker = ends
    huge = msgspec.structs.replace(REPORT, hists={"response": Histogram.of(list(range(60_000)))})
    for report in (REPORT, huge, REPORT):
        worker.send(report)
    assert [await session.receive() for _ in range(3)] == [REPORT, huge, REPORT]


async def test_a_worker_tells_between_reports_that_it_has_finished(ends: Ends) -> None:
    session, worker = ends
    for message in (REPORT, Finished(2), REPORT):
        worker.send(message)
    assert [await session.receive() for _ in range(3)] == [REPORT, Finished(2), REPORT]


async def test_a_peer_that_hung_up_says_nothing(ends: Ends) -> None:
    session, worker = ends
    worker.send(REPORT)
    await worker.close()
    assert await session.receive() == REPORT
    assert await session.receive() is None
    session.send(RequestReport())
    assert await session.receive() is None


@pytest.mark.parametrize("sent", [b"\x00", b"\x00\x00\x01\x00half a message"])
async def test_half_a_message_is_none(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    session: SessionChannel = await MessageChannel.over(ours, FromWorker)
    theirs.sendall(sent)
    theirs.close()
    assert await session.receive() is None
    await session.close()


# Counters and moments: merging loses nothing, in whatever order the workers report.


numbers = st.integers(0, 2**40)
by_code = st.dictionaries(st.sampled_from([1040, 1205, 1213, 2013]), st.integers(1, 1000))
by_kind = st.dictionaries(st.sampled_from(["payment", "new_order"]), st.integers(1, 1000))
counters = st.builds(
    Counters,
    **dict.fromkeys(INTEGER_COUNTERS, numbers),
    errors=by_code,
    refused=by_code,
    retried=by_kind,
    rolled_back=by_kind,
)
values = st.lists(st.floats(0, 1e6), max_size=50)


@given(counters, counters, counters)
def test_adding_is_associative_and_commutative(a: Counters, b: Counters, c: Counters) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(counters, counters)
def test_a_difference_is_what_came_on_top(before: Counters, more: Counters) -> None:
    assert (before + more) - before == more
    assert (before - before) == Counters()


@given(counters)
def test_adding_leaves_both_sides_alone(a: Counters) -> None:
    copy = msgspec.structs.replace(
        a,
        errors=dict(a.errors),
        refused=dict(a.refused),
        retried=dict(a.retried),
        rolled_back=dict(a.rolled_back),
    )
    total = a + Counters()
    total.count_error(1213)
    total.count_refusal(1040)
    total.count_retry("payment")
    total.count_rollback("new_order")
    assert a == copy


def test_queries_are_statements_of_all_three_kinds() -> None:
    assert Counters(reads=1, writes=2, others=4, questions=9).queries == 7


@given(values, values)
def test_merged_moments_are_those_of_all_values(a: list[float], b: list[float]) -> None:
    merged = FairnessStats.of((one, one / 3) for one in a) + FairnessStats.of((one, one / 3) for one in b)
    together = a + b
    assert merged.n == len(together)
    if together:
        mean, deviation, largest = fmean(together), pstdev(together), max(together)
        wanted = {
            "events_avg": mean,
            "events_stddev": deviation,
            "seconds_avg": mean / 3,
            "seconds_stddev": deviation / 3,
        }
        assert merged.moments == pytest.approx(wanted, abs=1e-6 * (1 + largest))


def test_moments_of_nothing_are_zero() -> None:
    assert set(FairnessStats().moments.values()) == {0.0}


# What a plan's words mean to a worker.


def test_the_plan_says_which_errors_are_tried_again() -> None:
    rules = execution_options(RunPlan(profile="p"))
    assert all(rules.ignores(code) for code in IGNORED_ERRORS)
    assert not rules.ignores(1062)


@pytest.mark.parametrize(("ignored", "deadlock"), [((), False), (None, True), ((1213,), True)])
def test_none_of_the_errors_or_all_of_them(ignored: tuple[int, ...] | None, deadlock: bool) -> None:
    assert execution_options(RunPlan(profile="p", ignored_errors=ignored)).ignores(1213) is deadlock


@pytest.mark.parametrize(
    ("isolation", "sql"),
    [
        ("", ()),
        ("read-committed", ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",)),
        ("serializable", ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",)),
    ],
)
def test_an_isolation_level_is_set_at_login(isolation: str, sql: tuple[str, ...]) -> None:
    assert execution_options(RunPlan(profile="p", isolation=isolation)).session_sql == sql


def test_the_rest_is_passed_on() -> None:
    plan = RunPlan(
        profile="p", max_retries=7, on_error=OnError.CONTINUE, backlog=Backlog.DROP, prepared=False
    )
    rules = execution_options(plan)
    assert (rules.max_retries, rules.on_error) == (7, OnError.CONTINUE)
    assert (rules.backlog, rules.prepared) == (Backlog.DROP, False)


# Leases: renewed in time they go on, and what has run out stays so.


SECOND = 1_000_000_000
PATIENCE_SECONDS = 60.0


def test_a_lease_runs_out_unless_it_is_renewed() -> None:
    lease = Lease(3, 0)
    assert lease.seconds_left(SECOND) == 2
    lease.renew(2 * SECOND)
    assert not lease.is_over(5 * SECOND - 1)
    assert lease.is_over(5 * SECOND)
    lease.renew(6 * SECOND)
    assert lease.is_over(6 * SECOND)
    assert lease.seconds_left(6 * SECOND) == 0


def test_a_lease_of_no_time_never_runs_out_unless_it_is_ended() -> None:
    lease = Lease(0, 0)
    assert lease.seconds_left(10**18) is None
    assert not lease.is_over(10**18)
    lease.end()
    assert lease.is_over(0)


async def test_a_worker_process_whose_lease_runs_out_ends_by_itself() -> None:
    """Its agent is stopped, say: nobody closes the connection, nobody sends it a word."""
    from msgspec.structs import replace

    worker = await WorkerProcess.start()
    worker.send(replace(begin(SINGLE), lease_seconds=0.2))
    worker.send(Adjust(connections=(0, 1)))
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE_SECONDS) == 0
    await worker.end()


async def test_a_worker_process_without_a_lease_waits() -> None:
    worker = await WorkerProcess.start()
    worker.send(begin(SINGLE))
    worker.send(RequestReport())
    await worker.report()
    assert worker.process.returncode is None
    await worker.end()
