"""Messages between session and worker arrive as they were sent, or not at all."""

import socket
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.unit.load.programs import EXPLICIT, SINGLE, begin
from tuibench.load.messages import (
    ApplyDelay,
    ApplyRate,
    ApplyWeights,
    AssignConnections,
    FinishLoad,
    FromWorker,
    MessageChannel,
    PauseLoad,
    RequestReport,
    ResetLoadStats,
    ResumeLoad,
    SessionChannel,
    ToWorker,
    WorkerChannel,
)
from tuibench.load.worker_report import Counters, FairnessStats, Finished, WorkerReport
from tuibench.model.histogram import Histogram
from tuibench.model.plan import Arrival, OnError

REPORT = WorkerReport(
    worker=3,
    seconds=1.01,
    cpu_seconds=0.4,
    lag_p99_ms=0.2,
    connections=8,
    counters=Counters(scheduled=7, backlog=2, completed=4, in_flight=1, errors={1213: 2}, refused={1040: 1}),
    transactions=Histogram.of([100, 20_000, 3_000_000]),
    service=Histogram.of([90, 18_000]),
    statements={"point_select": Histogram.of([90])},
    by_transaction={"new_order": Histogram.of([90, 110])},
    events_per_connection=FairnessStats.of([1.0, 3.0]),
    seconds_per_connection=FairnessStats.of([0.5]),
    failure="no",
    failure_hint="do this",
    failure_exit=3,
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
        AssignConnections((0, 3, 6)),
        AssignConnections(()),
        ApplyRate(12.5),
        ApplyWeights((90.0, 0.5)),
        ApplyDelay(20_000_000),
        ResetLoadStats(None),
        ResetLoadStats(250),
        PauseLoad(),
        ResumeLoad(),
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
    huge = msgspec.structs.replace(REPORT, transactions=Histogram.of(list(range(60_000))))
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
