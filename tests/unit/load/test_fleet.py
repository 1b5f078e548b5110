"""Worker processes, real ones, with nobody at the other end of their connections."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast
from unittest import mock

import msgspec
import pytest

from tests.unit.load.driving import turns, until
from tests.unit.load.programs import SINGLE, begin, program
from tests.unit.load.test_messages import REPORT
from tuibench.base.errors import RunError
from tuibench.load import fleet as fleet_module
from tuibench.load.fleet import Fleet, WorkerProcess
from tuibench.load.messages import (
    Adjust,
    CompletionGaps,
    Counters,
    Finished,
    FinishLoad,
    FromWorker,
    MessageChannel,
    Reassign,
    RequestReport,
    ResetLoadStats,
    SessionChannel,
    StartLoad,
    ToWorker,
    WorkerChannel,
)
from tuibench.model.callers import CallerPolicy, OnDeadline, time_limit_statements
from tuibench.model.plan import OnError, RunPlan
from tuibench.model.server import Target
from tuibench.workload import library

NOBODY = Target(host="127.0.0.1", port=1, user="ann")
"""Port 1 refuses at once."""

PATIENCE_SECONDS = 30.0
PLAN = RunPlan(profile="test", threads=4)
COUNTED = Counters(scheduled=50, completed=40, abandoned=1, in_flight=4, backlog=5)
Told = TypeVar("Told")


@pytest.fixture(autouse=True)
def _workers_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy elsewhere makes no worker silent; the tests of silence say how soon one is."""
    monkeypatch.setattr(fleet_module, "REPORT_SECONDS", 2 * PATIENCE_SECONDS)
    monkeypatch.setattr(fleet_module, "LAST_REPORT_SECONDS", PATIENCE_SECONDS)


def named(pid: int) -> str:
    return f"worker process {pid}"


@asynccontextmanager
async def fleet(workers: int, **plan: Any) -> AsyncIterator[Fleet]:
    made = Fleet(msgspec.structs.replace(PLAN, **plan), NOBODY, program(SINGLE), workers)
    await made.start()
    try:
        yield made
    finally:
        await made.kill()


async def test_a_worker_whose_session_is_gone_ends() -> None:
    worker = await WorkerProcess.start()
    worker.channel.send(begin(SINGLE))
    worker.channel.send(Adjust(connections=(0, 1)))
    worker.channel.send(RequestReport())
    await worker.report()
    await worker.channel.close()
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE_SECONDS) == 0


async def test_signals_are_the_sessions_business() -> None:
    worker = await WorkerProcess.start()
    worker.channel.send(begin(SINGLE))
    worker.channel.send(RequestReport())
    await worker.report()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        worker.process.send_signal(number)
    worker.channel.send(FinishLoad(0))
    report = await worker.report()
    assert report.connections == 0
    await worker.channel.close()
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE_SECONDS) == 0


async def test_a_question_to_a_load_that_was_ending_does_not_end_its_worker() -> None:
    """As after a crash: the load is replaced while the server's ids of its connections are asked for."""
    worker = await WorkerProcess.start()
    worker.channel.send(begin(SINGLE))
    worker.channel.send(FinishLoad(0))
    await worker.report()
    assert await worker.connection_ids() == ()
    worker.channel.send(Adjust(connections=(0,)))
    worker.channel.send(begin(SINGLE))
    worker.channel.send(RequestReport())
    assert (await worker.report()).connections == 0
    await worker.channel.close()
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE_SECONDS) == 0


async def test_a_fleet_reports_finishes_and_leaves_no_process() -> None:
    async with fleet(2) as workers:
        assert (len(workers), len(set(workers.pids))) == (2, 2)
        await workers.set_threads(3)
        assert [report.worker for report in await workers.report()] == [0, 1]
        reports = await workers.finish(0)
        assert sum(report.connections for report in reports) == 0
    for pid in workers.pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_worker_killed_before_its_first_report_is_named() -> None:
    async with fleet(2) as workers:
        killed = workers.pids[0]
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(RunError, match=f"worker process {killed} ended"):
            await workers.report()


async def test_a_killed_worker_is_replaced_and_its_figures_end() -> None:
    async with fleet(2) as workers:
        await workers.set_threads(4)
        await workers.report()
        killed, other = workers.pids
        os.kill(killed, signal.SIGKILL)
        last, _ = await workers.report()
        assert (last.worker, last.connections, last.counters.in_flight) == (0, 0, 0)
        assert [loss.name for loss in workers.losses] == [named(killed)]
        assert workers.pids[1] == other
        assert workers.pids[0] != killed
        assert [report.worker for report in await workers.report()] == [2, 1]
        os.kill(workers.pids[0], signal.SIGKILL)
        await workers.report()
        assert [report.worker for report in await workers.report()] == [3, 1]
        assert len(await workers.finish(0)) == 2


async def test_a_replacement_worker_receives_the_present_state() -> None:
    """Its connections, its part of the rate, what is left of its limit, and all that was set meanwhile."""
    plan = {"threads": 3, "rate": 90.0, "events": 300, "client_delay_ms": 2.0}
    async with pretended_fleet(2, **plan) as (workers, ends):
        await workers.set_threads(3)
        workers.pause()
        workers.set_session(("SET x = 1",))
        ends[0].send(msgspec.structs.replace(REPORT, worker=0, connections=2, counters=COUNTED))
        ends[1].send(msgspec.structs.replace(REPORT, worker=1))
        await workers.report()
        await ends[0].close()
        asked = asyncio.create_task(workers.report())
        ends[1].send(msgspec.structs.replace(REPORT, worker=1))
        await until(lambda: len(ends) == 3)
        new = ends[2]
        begun = await told(new, StartLoad)
        assert (begun.worker, begun.workers, begun.limit) == (2, 2, 200 - (50 - 5))
        first = await told(ends[1], StartLoad)
        assert begun.seed != first.seed
        assert (begun.has_begun, begun.is_replacement) == (True, True)
        assert (first.has_begun, first.is_replacement) == (False, False)
        state = Adjust(delay_ns=2_000_000, session_sql=("SET x = 1",), paused=True)
        assert await told(new, Adjust) == state
        assert await told(new, Adjust) == Adjust(connections=(0, 2))
        assert await told(new, Adjust) == Adjust(rate=60.0)
        closed, _ = await asked
        assert (closed.counters.abandoned, closed.counters.reconnects) == (1 + 4 + 5, 2)
        (loss,) = workers.losses
        assert (loss.connections, loss.abandoned) == (2, 4 + 5)


async def test_a_load_begins_again_with_another_program_on_the_same_workers() -> None:
    """Its counters begin again, so its workers have other numbers; connections and rate stay."""
    async with pretended_fleet(2, threads=3, rate=90.0, on_error=OnError.STOP) as (workers, ends):
        await workers.set_threads(3)
        first = await told(ends[0], StartLoad)
        again = asyncio.create_task(
            workers.begin_again(program(SINGLE), is_native=False, keeps_ledger=True, grace_seconds=1.0)
        )
        for number, end in enumerate(ends):
            assert await told(end, FinishLoad) == FinishLoad(1.0)
            end.send(msgspec.structs.replace(REPORT, worker=number, gaps=CompletionGaps(7, ())))
        last = await again
        assert [report.worker for report in last] == [0, 1]
        assert all(report.gaps.until_ns > 7 for report in last)
        begun = [await told(end, StartLoad) for end in ends]
        assert len({first.worker, *(each.worker for each in begun)}) == 3
        assert all(each.keeps_ledger and each.seed != first.seed for each in begun)
        assert first.execution.on_error is OnError.STOP
        assert all(each.execution.on_error is OnError.CONTINUE for each in begun)
        assert await told(ends[0], Adjust) == Adjust(connections=(0, 2))
        assert await told(ends[0], Adjust) == Adjust(rate=60.0)
        assert len(ends) == 2


async def test_serial_numbers_are_not_given_twice() -> None:
    """A new process would begin with the first one."""
    made = Fleet(PLAN, NOBODY, library.load_program("bulk_insert", {}), 1)
    await made.start()
    try:
        await made.report()
        os.kill(made.pids[0], signal.SIGKILL)
        with pytest.raises(RunError, match="ended unexpectedly"):
            await made.report()
    finally:
        await made.kill()


async def test_more_threads_start_more_workers_up_to_the_most() -> None:
    made = Fleet(RunPlan(profile="test", threads=1), NOBODY, program(SINGLE), 3)
    await made.start()
    try:
        assert len(made) == 1
        await made.set_threads(2)
        assert len(made) == 2
        await made.set_threads(50)
        assert [report.worker for report in await made.report()] == [0, 1, 2]
        await made.set_threads(1)
        assert len(made) == 3
        assert len(await made.finish(0)) == 3
    finally:
        await made.kill()


async def test_a_dead_worker_does_not_cost_a_slower_one_its_last_report() -> None:
    async with pretended_fleet(2) as (workers, (dead, slow)):
        await dead.close()
        asked = asyncio.create_task(workers.report())
        assert await told(slow, RequestReport) == RequestReport()
        await turns(50)
        assert not asked.done()
        slow.send(REPORT)
        with pytest.raises(RunError, match="ended unexpectedly"):
            await asked
        slow.send(REPORT)
        assert await workers.finish(0) == [REPORT]


# What each worker is told, by workers that the test plays


async def test_threads_and_rate_are_spread_and_each_part_of_the_rate_fits_its_connections() -> None:
    async with pretended_fleet(2, threads=3, rate=90.0) as (workers, ends):
        await workers.set_threads(3)
        assert [await adjusted(end, "connections") for end in ends] == [(0, 2), (1,)]
        assert [await adjusted(end, "rate") for end in ends] == [60.0, 30.0]
        await workers.set_threads(5)
        assert [await adjusted(end, "connections") for end in ends] == [(0, 2, 4), (1, 3)]
        assert [await adjusted(end, "rate") for end in ends] == [54.0, 36.0]
        workers.set_rate(10.0)
        assert [await adjusted(end, "rate") for end in ends] == [6.0, 4.0]
        workers.set_rate(0)
        assert [await adjusted(end, "rate") for end in ends] == [0.0, 0.0]


@pytest.mark.parametrize(("events", "limits"), [(500, [333, 167]), (1, [0, 1]), (2, [1, 1])])
async def test_a_number_of_transactions_is_shared_out_exactly(events: int, limits: list[int]) -> None:
    async with pretended_fleet(2, threads=3, events=events) as (_, ends):
        begun = [await told(end, StartLoad) for end in ends]
        assert [begin.limit for begin in begun] == limits
        assert [(begin.worker, begin.workers) for begin in begun] == [(0, 2), (1, 2)]


async def test_without_a_transaction_limit_no_worker_has_a_quota() -> None:
    async with pretended_fleet(2) as (_, ends):
        assert [(await told(end, StartLoad)).limit for end in ends] == [None, None]


async def test_with_a_number_of_transactions_no_worker_comes_late() -> None:
    """Its share is given away already."""
    async with pretended_fleet(4, threads=2, events=100) as (workers, ends):
        await workers.set_threads(9)
        assert len(workers) == len(ends) == 2
        assert await adjusted(ends[0], "connections") == (0, 2, 4, 6, 8)


async def test_the_limits_hold_from_the_end_of_the_warm_up() -> None:
    async with pretended_fleet(2, threads=2, events=100, warmup_seconds=1.0) as (workers, ends):
        assert [(await told(end, StartLoad)).limit for end in ends] == [None, None]
        workers.reset_stats()
        assert [await told(end, ResetLoadStats) for end in ends] == [ResetLoadStats(50), ResetLoadStats(50)]


async def test_a_fleet_has_finished_when_all_its_workers_have() -> None:
    async with pretended_fleet(2, threads=2, events=2) as (workers, ends):
        finished = asyncio.create_task(workers.finished())
        ends[1].send(Finished(1))
        await turns(50)
        assert not finished.done()
        ends[0].send(Finished(1))
        await asyncio.wait_for(finished, PATIENCE_SECONDS)


async def test_what_a_worker_leaves_is_for_the_one_with_the_most_connections() -> None:
    work = Reassign((17, 18), 40)
    async with pretended_fleet(2, threads=2, events=100) as (workers, ends):
        await workers.set_threads(2)
        await workers.set_threads(1)
        ends[1].send(work)
        assert await told(ends[0], Reassign) == work


async def test_a_worker_that_was_left_more_has_not_finished_before_it_says_so() -> None:
    async with pretended_fleet(2, threads=2, events=100) as (workers, ends):
        await workers.set_threads(2)
        await workers.set_threads(1)
        finished = asyncio.create_task(workers.finished())
        ends[0].send(Finished(1))
        ends[1].send(Reassign((), 40))
        ends[1].send(Finished(1))
        await told(ends[0], Reassign)
        ends[0].send(Finished(1))
        await turns(50)
        assert not finished.done()
        ends[0].send(Finished(2))
        await asyncio.wait_for(finished, PATIENCE_SECONDS)


async def test_a_worker_that_comes_while_the_load_is_held_is_held() -> None:
    async with pretended_fleet(2, threads=1) as (workers, ends):
        workers.pause()
        await workers.set_threads(2)
        assert [type(await ends[1].receive()) for _ in range(2)] == [StartLoad, Adjust]
        workers.resume()
        assert await adjusted(ends[1], "paused") is False


async def test_a_worker_that_comes_late_has_the_mix_and_the_delay_of_the_others() -> None:
    async with pretended_fleet(2, threads=1) as (workers, ends):
        workers.set_weights((7.0,))
        workers.set_delay(500_000)
        assert await adjusted(ends[0], "weights") == (7.0,)
        assert await adjusted(ends[0], "delay_ns") == 500_000
        await workers.set_threads(2)
        assert (await told(ends[1], StartLoad)).program.transactions[0].weight == 7
        assert await adjusted(ends[1], "delay_ns") == 500_000


async def test_the_time_limit_of_a_deadline_is_set_beside_the_other_statements() -> None:
    policy = CallerPolicy(deadline_ms=200, on_deadline=OnDeadline.KILL)
    (limit,) = time_limit_statements(policy)
    (default,) = time_limit_statements(CallerPolicy(), was_limited=True)
    async with pretended_fleet(1, deadline_ms=200.0, on_deadline=OnDeadline.KILL) as (workers, ends):
        assert await adjusted(ends[0], "session_sql") == (limit,)
        workers.set_session(("SET x = 1",))
        assert await adjusted(ends[0], "session_sql") == ("SET x = 1", limit)
        workers.set_callers(CallerPolicy(deadline_ms=200))
        assert await adjusted(ends[0], "session_sql") == ("SET x = 1", default)


async def test_the_delay_of_the_plan_is_there_from_the_start() -> None:
    async with pretended_fleet(1, client_delay_ms=20.0) as (_, ends):
        assert await adjusted(ends[0], "delay_ns") == 20_000_000


class PretendedProcess:
    """A process that ends as soon as it is asked to."""

    pid = 4242
    returncode = 0

    def __init__(self) -> None:
        self.stderr = asyncio.StreamReader()
        self.stderr.feed_eof()

    async def wait(self) -> int:
        return 0


@asynccontextmanager
async def pretended_fleet(most: int, **plan: Any) -> AsyncIterator[tuple[Fleet, list[WorkerChannel]]]:
    """A fleet whose workers the test plays, at these ends."""
    ends: list[WorkerChannel] = []

    async def start(forward: Callable[[Reassign], None]) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        session: SessionChannel = await MessageChannel.over(ours, FromWorker)
        ends.append(await MessageChannel.over(theirs, ToWorker))
        return WorkerProcess(cast("asyncio.subprocess.Process", PretendedProcess()), session, forward)

    with mock.patch.object(WorkerProcess, "start", start):
        made = Fleet(msgspec.structs.replace(PLAN, **plan), NOBODY, program(SINGLE), most)
        await made.start()
        yield made, ends
        await made.kill()
        for end in ends:
            await end.close()


async def told(end: WorkerChannel, kind: type[Told]) -> Told:
    """The next message of a kind that a worker gets; others before it are passed over."""
    while (message := await asyncio.wait_for(end.receive(), PATIENCE_SECONDS)) is not None:
        if isinstance(message, kind):
            return message
    raise AssertionError(f"no {kind.__name__} came")


async def adjusted(end: WorkerChannel, field: str) -> Any:
    """The next value of a field that a worker gets."""
    while (value := getattr(await told(end, Adjust), field)) is None:
        pass
    return value


async def test_settings_may_be_put_back_when_the_workers_are_gone() -> None:
    async with fleet(1) as workers:
        await workers.kill()
        with mock.patch.object(MessageChannel, "send") as send:
            workers.set_session(("SET SESSION long_query_time = 10",))
        send.assert_not_called()
        assert not any(os.path.exists(f"/proc/{pid}") for pid in workers.pids)


async def test_a_worker_that_does_not_answer_is_killed() -> None:
    async with fleet(1) as workers:
        await workers.report()
        os.kill(workers.pids[0], signal.SIGSTOP)
    with pytest.raises(ProcessLookupError):
        os.kill(workers.pids[0], 0)


# Workers that do not answer


async def test_a_stopped_worker_is_left_out_until_it_continues() -> None:
    async with fleet(2) as workers:
        await workers.report()
        halted = workers.pids[0]
        os.kill(halted, signal.SIGSTOP)
        with mock.patch.object(fleet_module, "REPORT_SECONDS", 0.2):
            while workers.silent != (named(halted),):
                await workers.report()
        assert workers.overdue == (named(halted),)
        answers = await asyncio.wait_for(workers.report(), PATIENCE_SECONDS)
        assert [report.worker for report in answers] == [1]
        os.kill(halted, signal.SIGCONT)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(reports := await workers.report()) < 2:
                pass
        assert [report.worker for report in reports] == [0, 1]
        assert not {*workers.overdue, *workers.silent}


async def test_a_halted_worker_that_is_killed_is_replaced() -> None:
    async with fleet(2) as workers:
        await workers.report()
        os.kill(workers.pids[1], signal.SIGSTOP)
        with mock.patch.object(fleet_module, "REPORT_SECONDS", 0.2):
            while named(workers.pids[1]) not in workers.overdue:
                await workers.report()
        killed = workers.pids[1]
        os.kill(killed, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not workers.losses:
                await workers.report()
        assert workers.losses[0].name == named(killed)
        assert named(killed) not in workers.overdue


async def test_a_silent_worker_is_asked_once_and_its_late_report_and_its_last_both_count() -> None:
    async with pretended_fleet(1) as (workers, (end,)):
        with mock.patch.object(fleet_module, "REPORT_SECONDS", 0.01):
            assert await workers.report() == []
        assert await workers.report(checkpoint=True) == []
        end.send(REPORT)
        end.send(REPORT)
        assert await workers.finish(0) == [REPORT, REPORT]
        asked = []
        while not isinstance(message := await end.receive(), FinishLoad):
            asked.append(message)
        assert asked.count(RequestReport()) + asked.count(RequestReport(checkpoint=True)) == 1


async def test_a_worker_that_runs_is_late_and_not_silent() -> None:
    with (
        mock.patch.object(fleet_module, "REPORT_SECONDS", 0.01),
        mock.patch.object(fleet_module, "cpu_ticks", side_effect=range(100)),
    ):
        async with pretended_fleet(1) as (workers, (end,)):
            for _ in range(3):
                assert await workers.report() == []
                assert (workers.overdue, workers.silent) == (tuple(map(named, workers.pids)), ())
            with mock.patch.object(fleet_module, "cpu_ticks", return_value=70):
                await workers.report()
                await workers.report()
                assert workers.silent == tuple(map(named, workers.pids))
            end.send(REPORT)
            end.send(REPORT)
            await workers.finish(0)


async def test_a_worker_that_does_not_run_is_silent_with_the_first_report_that_it_owes() -> None:
    with (
        mock.patch.object(fleet_module, "REPORT_SECONDS", 0.01),
        mock.patch.object(fleet_module, "cpu_ticks", return_value=7),
    ):
        async with pretended_fleet(1) as (workers, (end,)):
            assert await workers.report() == []
            assert workers.silent == tuple(map(named, workers.pids))
            end.send(REPORT)
            end.send(REPORT)
            await workers.finish(0)


async def test_the_last_report_of_a_worker_that_runs_is_waited_for() -> None:
    """It comes when the first wait is over."""
    ends: list[WorkerChannel] = []

    def has_run(pid: int) -> int:
        if waits:
            ends[0].send(REPORT)
        waits.append(pid)
        return len(waits)

    waits: list[int] = []
    with (
        mock.patch.object(fleet_module, "REPORT_SECONDS", 0.01),
        mock.patch.object(fleet_module, "LAST_REPORT_SECONDS", 0.05),
        mock.patch.object(fleet_module, "cpu_ticks", has_run),
    ):
        async with pretended_fleet(1) as (workers, made):
            ends += made
            assert await workers.finish(0) == [REPORT]
            assert not workers.unresponsive
    assert len(waits) >= 2


async def test_the_cpu_time_of_a_process_is_known_while_it_is_there() -> None:
    async with fleet(1) as workers:
        (pid,) = workers.pids
        await workers.report()
        assert (fleet_module.cpu_ticks(pid) is None) == (sys.platform == "darwin")
    assert fleet_module.cpu_ticks(pid) is None


async def test_a_fleet_with_a_killed_worker_still_takes_commands_and_ends() -> None:
    """A transport that has closed refuses to be written to, with some event loops."""
    cannot = mock.patch.object(fleet_module, "can_begin_again", return_value=False)
    async with fleet(2) as workers:
        cannot.start()
        await workers.report()
        os.kill(workers.pids[0], signal.SIGKILL)
        with pytest.raises(RunError, match="ended unexpectedly"):
            await workers.report()
        workers.pause()
        with pytest.raises(RunError, match="ended unexpectedly"):
            await workers.report()
        cannot.stop()
        assert [report.worker for report in await workers.finish(0)] == [1]


async def test_nothing_is_written_to_a_line_that_is_closed() -> None:
    async with pretended_fleet(1) as (_, (end,)):
        await end.close()
        with mock.patch.object(end._writer, "write") as write:
            end.send(Finished(1))
        write.assert_not_called()
