"""The fleet: the worker processes of a load, with the share of connections, rate and quota of each.

`WorkerLink` is the session's end of a connection to a worker process (`WorkerProcess`), or to a host of
several (`cluster.host.HostLink`). `Fleet` controls any of them; `cluster.fleet.HostFleet` is the fleet of
hosts, each of which has a fleet of its own.

A connection's number determines its random stream, so any worker can run it. A connection stays with its
worker; a new one goes to the worker with the fewest connections. Numbers of a worker that is lost without a
trace are retired: another worker would begin their streams again, and draw their unique values twice.

A worker process that ends unexpectedly is replaced:

    running ──killed──> gone ──> its last report is closed (`closed`) ──> a new worker with its connections

A worker reports once per tick, so its work since the last report is not counted. Transactions that were in
flight or due at that report are abandoned; its connections count as lost and reconnected.
"""

import asyncio
import contextlib
import math
import os
import resource
import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import count, islice
from pathlib import Path
from typing import Any, Generic, TypeVar, assert_never, cast

import msgspec

from tuibench.base.child_process import StderrTail, end_words
from tuibench.base.clock import NS_PER_MS, wait_with_timeout
from tuibench.base.errors import RunError
from tuibench.base.own_process import own_command
from tuibench.base.units import pluralize
from tuibench.load import messages, prepared_worker
from tuibench.load.messages import (
    Adjust,
    ConnectionIds,
    Finished,
    FromWorker,
    MessageChannel,
    Reassign,
    RequestConnectionIds,
    RequestReport,
    ResetLoadStats,
    SessionChannel,
    StartLoad,
    WorkerReport,
)
from tuibench.load.prepared_worker import ForkedProcess
from tuibench.model.callers import CallerPolicy, time_limit_statements
from tuibench.model.cluster import LoadHost
from tuibench.model.plan import OnError, RunPlan
from tuibench.model.server import Target
from tuibench.mysql.connection import CHARSET
from tuibench.mysql.login import first_logins
from tuibench.workload.program import Program, with_weights
from tuibench.workload.values import Serial

CONNECTIONS_SECONDS = 1.0
REPORT_SECONDS = 3.0
"""Timeout for a worker's report. There is no further wait for a worker that is already overdue.

The tick continues without the report: counters are cumulative, so the next report contains the difference.
"""

MOST_LATE_SECONDS = 30.0
"""Additional seconds to wait for the last report of a worker that still runs."""

END_SECONDS = 1.0
"""Timeout for the exit code and the stderr of a process that has closed its connection."""

Forward = Callable[[Reassign], None]
"""Receives the work of a worker without connections."""


CRASHES = frozenset(
    {
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGABRT,
        signal.SIGILL,
        signal.SIGFPE,
        signal.SIGTRAP,
        signal.SIGSYS,
    }
)
"""Signals that an error of the program itself causes."""


class WorkerGoneError(RunError):
    """A worker process, or a host, has ended unexpectedly."""


Incoming = TypeVar("Incoming")


class WorkerLink(ABC, Generic[Incoming]):
    """The connection to a worker process or a host.

    A host with thousands of runnable threads lets a worker run only every few seconds: it is late. A worker
    that is stopped or hangs does not run: it is silent.
    """

    name: str
    """For messages: worker process 4711."""
    pid: int | None = None
    """None for a worker on another host."""

    def __init__(self, channel: MessageChannel[Incoming], forward: Forward = lambda _: None) -> None:
        self.channel = channel
        self.finished = asyncio.Event()
        """Set when the worker has used its quota."""
        self.reset(forward)
        self._reports: asyncio.Queue[WorkerReport | None] = asyncio.Queue()
        self._connections: asyncio.Queue[tuple[int, ...]] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read(), name=self.name)

    def reset(self, forward: Forward) -> None:
        """Resets the state before a load, without pending reports. `forward` gets the work that the worker
        has no connections for.
        """
        self.finished.clear()
        self._grants = 0
        self._forward = forward
        self.is_overdue = self.is_silent = False
        """True while its report is overdue, and silent if it does not run meanwhile."""
        self.has_reported = False
        """True after its last report."""
        self._is_asked = False
        self._checkpoint = False

    def send(self, message: msgspec.Struct) -> None:
        self.channel.send(message)

    def grant_quota(self, message: StartLoad | ResetLoadStats | Reassign) -> None:
        """Grants a quota of transactions; clears `finished`."""
        self._grants += 1
        self.finished.clear()
        self.send(message)

    def request_report(self, *, checkpoint: bool) -> None:
        """Requests a report unless one is pending; a skipped checkpoint is requested with the next report."""
        self._checkpoint = self._checkpoint or checkpoint
        if not self._is_asked:
            self.has_run()
            self.send(RequestReport(self._checkpoint))
            self._is_asked, self._checkpoint = True, False

    async def report_in_time(self) -> WorkerReport | None:
        """The requested report; None after the timeout. Raises WorkerGoneError if the worker has ended."""
        if self.is_overdue and self._reports.empty():
            self.is_silent = not self.has_run()
            return None
        try:
            return await self.awaited_report()
        except TimeoutError:
            self.is_overdue = True
            self.is_silent = not self.has_run()
            return None

    async def awaited_report(self) -> WorkerReport:
        """The next report. Raises TimeoutError if it takes too long, WorkerGoneError if there is none."""
        return await wait_with_timeout(self.report(), REPORT_SECONDS)

    @abstractmethod
    def has_run(self) -> bool:
        """True if the worker has run since the last call; False if unknown."""

    @abstractmethod
    async def end(self) -> None:
        """Ends the worker, and closes the connection."""

    @abstractmethod
    def gone(self) -> WorkerGoneError:
        """The error of a worker that has ended unexpectedly."""

    async def crash(self) -> str:
        """The error by which the program itself has ended; empty if it has not, or if that is unknown."""
        return ""

    async def last_reports(self, seconds: float) -> list[WorkerReport]:
        """The pending report and the last one, if they arrive in time. A worker that runs gets more time."""
        reports: list[WorkerReport] = []
        owed = 1 + self._is_asked
        waits = 1 + math.ceil(MOST_LATE_SECONDS / max(seconds, REPORT_SECONDS))
        self.has_run()
        with contextlib.suppress(RunError):
            for _ in range(waits):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        while len(reports) < owed:
                            reports.append(await self.report())
                        self.has_reported = True
                        break
                if not self.has_run():
                    break
        return reports

    async def report(self) -> WorkerReport:
        """The next report. Raises WorkerGoneError if the worker has ended."""
        report = await self._reports.get()
        if report is None:
            self._reports.put_nowait(None)
            raise self.gone()
        self._is_asked = self.is_overdue = self.is_silent = False
        return report

    async def connection_ids(self) -> tuple[int, ...]:
        """The server's ids of the worker's connections; empty after the timeout."""
        while not self._connections.empty():
            self._connections.get_nowait()
        self.send(RequestConnectionIds())
        with contextlib.suppress(TimeoutError):
            return await wait_with_timeout(self._connections.get(), CONNECTIONS_SECONDS)
        return ()

    async def _read(self) -> None:
        """Handles messages until the connection ends."""
        try:
            while (message := await self.channel.receive()) is not None:
                self.on_message(message)
        finally:
            await self.learn_end()
            self.no_more_reports()

    async def learn_end(self) -> None:
        """Waits shortly for the reason why the worker ended."""

    def no_more_reports(self) -> None:
        """Makes waiters for a report raise `gone`."""
        self._reports.put_nowait(None)

    @abstractmethod
    def on_message(self, message: Incoming) -> None:
        """Handles one message."""

    def take_report(self, report: WorkerReport) -> None:
        self._reports.put_nowait(report)

    def take_connection_ids(self, ids: tuple[int, ...]) -> None:
        self._connections.put_nowait(ids)

    def take_work(self, work: Reassign) -> None:
        self._forward(work)

    def take_finish(self, grants: int) -> None:
        """Records that the worker has used its first `grants` quotas."""
        if grants == self._grants:
            self.finished.set()


AnyLink = WorkerLink[Any]
"""A link with any types of messages."""


class WorkerProcess(WorkerLink[FromWorker]):
    """One worker process and the connection to it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process | ForkedProcess,
        channel: SessionChannel,
        forward: Forward = lambda _: None,
    ) -> None:
        self.process = process
        self.pid: int = process.pid
        self.name = f"worker process {process.pid}"
        self._stderr = StderrTail(cast(asyncio.StreamReader, process.stderr))
        super().__init__(channel, forward)

    def reset(self, forward: Forward) -> None:
        super().reset(forward)
        self._cpu_ticks: int | None = None

    @classmethod
    async def start(cls, forward: Forward = lambda _: None) -> "WorkerProcess":
        """Takes the prepared process, or starts one in its own process session, so that the terminal's Ctrl-C
        does not reach it.

        Raises RunError if the system refuses a process or open files.
        """
        try:
            process, line = await _prepared() or await _spawn()
            try:
                channel: SessionChannel = await MessageChannel.over(line, FromWorker)
            except BaseException:
                line.close()
                process.kill()
                await process.wait()
                raise
            return cls(process, channel, forward)
        except OSError as error:
            raise RunError(
                f"cannot start a worker process: {error.strerror or error}",
                "check the account's limits: ulimit -u for processes, ulimit -n for open files",
            ) from error

    def has_run(self) -> bool:
        """True if the process has used CPU time since the last call; False if unknown."""
        before, self._cpu_ticks = self._cpu_ticks, cpu_ticks(self.pid)
        return self._cpu_ticks is not None and self._cpu_ticks != before

    def on_message(self, message: FromWorker) -> None:
        match message:
            case WorkerReport():
                self.take_report(message)
            case ConnectionIds(ids=ids):
                self.take_connection_ids(ids)
            case Reassign():
                self.take_work(message)
            case Finished(grants=grants):
                self.take_finish(grants)
            case _:
                assert_never(message)

    def gone(self) -> WorkerGoneError:
        code = self.process.returncode
        causes = ("" if code is None else f"it {end_words(code)}", self._stderr.last_line)
        cause = f" ({': '.join(filter(None, causes))})" if any(causes) else ""
        hint = "check for a kernel out-of-memory message, then start again" if code == -signal.SIGKILL else ""
        return WorkerGoneError(f"{self.name} ended unexpectedly{cause}", hint)

    async def learn_end(self) -> None:
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), END_SECONDS)
        await self._stderr.close(END_SECONDS)

    async def crash(self) -> str:
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), 1)
        code = self.process.returncode or 0
        if -code in CRASHES:
            return f"by {signal.Signals(-code).name}"
        return f"with exit code {code}" if code > 0 else ""

    async def end(self) -> None:
        """Ends the process; a process that has finished ends on its own."""
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.channel.close(), 1)
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), 1)
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        self._reading.cancel()


def cpu_ticks(pid: int) -> int | None:
    """The CPU time of a process in the system's ticks; None without /proc, or if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return int(user) + int(system)


async def _prepared() -> tuple[ForkedProcess, socket.socket] | None:
    """The process that was forked for this session; None if it is in use or has ended."""
    worker = prepared_worker.take()
    if worker is None:
        return None
    process = await ForkedProcess.of(worker)
    return process, worker.link


async def _spawn() -> tuple[asyncio.subprocess.Process, socket.socket]:
    """Starts the process; returns it with the session's end of the connection."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *own_command("tuibench.load.worker", str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    return process, ours


class WorkerPool(AbstractAsyncContextManager["WorkerPool"]):
    """Idle workers between loads; the remaining ones are ended at the end."""

    def __init__(self) -> None:
        self._workers: list[WorkerProcess] = []

    async def acquire(self, forward: Callable[[Reassign], None]) -> WorkerProcess:
        """A worker for the next load: an idle one, or a new process."""
        if not self._workers:
            return await WorkerProcess.start(forward)
        worker = self._workers.pop()
        worker.reset(forward)
        return worker

    async def release(self, worker: WorkerProcess) -> None:
        """Keeps a worker that has reported the end of its load; ends any other."""
        if worker.has_reported:
            self._workers.append(worker)
        else:
            await worker.end()

    async def __aexit__(self, *_: object) -> None:
        workers, self._workers = self._workers, []
        await asyncio.gather(*(worker.end() for worker in workers))


SEED_STEP = 1_000_003
"""Added to the seed at every replacement: a restarted stream would repeat its values."""

NUMBERS_OF_A_LOAD = 1 << 16
"""Difference between the workers' numbers in a load and in the previous one."""


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process that ended: its name, how and why it ended, and the known losses."""

    name: str
    reason: str
    connections: int
    abandoned: int

    @property
    def is_host(self) -> bool:
        """True if an entire host was lost: it is not replaced immediately."""
        return False

    @property
    def event(self) -> str:
        """The message to the operator."""
        return (
            f"{self.reason}: another worker opens its "
            f"{pluralize(self.connections, 'connection')} again; {pluralize(self.abandoned, 'transaction')} "
            "in flight and its work since its last report are lost"
        )

    @property
    def warning(self) -> str:
        """The message in the summary."""
        return f"incomplete: {self.reason} and was replaced; its work after its last report is not counted"


def loss_of(name: str, report: WorkerReport, error: WorkerGoneError) -> Loss:
    """The losses of a worker; `report` is its last one, `error` the error with which it ended."""
    counters = report.counters
    abandoned = counters.in_flight + counters.backlog
    return Loss(name=name, reason=error.message, connections=report.connections, abandoned=abandoned)


def closed(report: WorkerReport) -> WorkerReport:
    """The final report of a dead worker: nothing is in flight, and no further work was done."""
    counters = msgspec.structs.replace(
        report.counters,
        abandoned=report.counters.abandoned + report.counters.in_flight + report.counters.backlog,
        reconnects=report.counters.reconnects + report.connections,
        in_flight=0,
        backlog=0,
    )
    return msgspec.structs.replace(
        report,
        seconds=0.0,
        cpu_seconds=0.0,
        lag_p99_ms=0.0,
        connections=0,
        counters=counters,
        hists={},
        gaps=report.gaps.closed(),
    )


def can_begin_again(program: Program) -> bool:
    """False for a program with serial numbers: a new process would restart them."""
    return not _holds(program, Serial)


def _holds(value: Any, kind: type) -> bool:
    """True if a value is of a type, or contains a value of it."""
    if isinstance(value, kind):
        return True
    if isinstance(value, msgspec.Struct):
        return any(_holds(getattr(value, name), kind) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return any(_holds(each, kind) for each in value.values())
    return isinstance(value, list | tuple) and any(_holds(each, kind) for each in value)


class ConnectionAssignment:
    """Distribution of connection numbers over workers: the lowest numbers that are not retired."""

    def __init__(self) -> None:
        self._numbers: list[set[int]] = []
        self._retired: set[int] = set()

    @property
    def total(self) -> int:
        return sum(map(len, self._numbers))

    def shares(self, workers: int) -> list[tuple[int, ...]]:
        """The present connection numbers of each worker; a new worker has none yet."""
        missing = max(0, workers - len(self._numbers))
        return [*(tuple(sorted(numbers)) for numbers in self._numbers), *((),) * missing]

    @property
    def busiest(self) -> int:
        """The worker with the most connections."""
        return max(range(len(self._numbers)), key=lambda worker: len(self._numbers[worker]))

    def spread(self, connections: int, workers: int) -> list[tuple[int, ...]]:
        """The numbers of each worker for this many connections. The number of workers never decreases."""
        usable = (number for number in count() if number not in self._retired)
        return self.assign(tuple(islice(usable, connections)), workers)

    def assign(self, wanted: Collection[int], workers: int) -> list[tuple[int, ...]]:
        """Distributes the wanted numbers; returns those of each worker."""
        self._numbers += [set() for _ in range(workers - len(self._numbers))]
        for numbers in self._numbers:
            numbers.intersection_update(wanted)
        kept = set().union(*self._numbers)
        for number in wanted:
            if number not in kept:
                min(self._numbers, key=len).add(number)
        return [tuple(sorted(numbers)) for numbers in self._numbers]

    def remove(self, worker: int) -> int:
        """Removes a worker and retires its numbers; returns how many."""
        numbers = self._numbers.pop(worker)
        self._retired |= numbers
        return len(numbers)

    def make_room(self, workers: int, added: int) -> None:
        """Retires numbers of the busiest workers, so that the added workers get as many new ones."""
        share = self.total // (workers + added)
        for _ in range(share * added):
            numbers = self._numbers[self.busiest]
            if len(numbers) > share:
                self._retired.add(max(numbers))
                numbers.discard(max(numbers))


def split_by_weight(whole: int, weights: list[int]) -> list[int]:
    """Divides an integer in proportion to weights; the parts add up to it."""
    total = sum(weights) or 1
    done = 0
    given: list[int] = []
    for weight in weights:
        done += weight
        given.append(whole * done // total - sum(given))
    return given


LAST_REPORT_SECONDS = 5.0


class Fleet:
    """All workers of a run."""

    def __init__(
        self,
        plan: RunPlan,
        target: Target,
        program: Program,
        most: int,
        *,
        charset: str = CHARSET,
        is_native: bool = False,
        pool: WorkerPool | None = None,
    ) -> None:
        """The number of workers grows with the threads, up to `most`. Workers come from `pool`, and return to
        it at the end.
        """
        self._plan = plan
        self._target = target
        self._program = program
        self._most = most
        self._charset = charset
        self._is_native = is_native
        self._pool = pool
        self._rate = plan.rate
        self._delay_ns = round(plan.client_delay_ms * NS_PER_MS)
        self._callers = plan.callers
        self._paused = False
        self._session_sql: tuple[str, ...] = ()
        self._limit_sql = time_limit_statements(plan.callers)
        self._is_over = False
        self._growing = asyncio.Lock()
        self._assignment = ConnectionAssignment()
        self._workers: list[AnyLink] = []
        self._known: dict[AnyLink, WorkerReport] = {}
        self._scheduled_before: dict[AnyLink, int] = {}
        self._limits_hold = not plan.warmup_seconds
        self._has_begun = False
        self._keeps_ledger = False
        self._begun_again = 0
        self.losses: list[Loss] = []
        """The workers that have ended."""

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def is_native(self) -> bool:
        return self._is_native

    @property
    def pids(self) -> list[int]:
        """The processes on this host."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    @property
    def worker_count(self) -> int:
        """The number of worker processes, on all hosts."""
        return len(self._workers)

    @property
    def hosts(self) -> tuple[LoadHost, ...]:
        """The state of each host; empty for a load from this host alone."""
        return ()

    @property
    def ended_ns(self) -> int | None:
        """The end of the load; None for the present time. The fleet of hosts needs it, because hosts report
        late.
        """
        return None

    def take_notices(self) -> list[str]:
        """Messages for the operator since the last call."""
        return []

    async def start(self) -> None:
        """Starts the processes for the plan's threads, without connections."""
        await self._grow(self._plan.threads)

    async def set_threads(self, threads: int) -> None:
        """Distributes the connections over the workers; with a transaction limit no worker is added."""
        if self._plan.events is None:
            await self._grow(threads)
        if self._is_over:
            return
        self._send_spread(self._assignment.spread(threads, len(self._workers)))

    def set_rate(self, rate_per_second: float) -> None:
        """Sets the rate of the whole load; 0 for a closed loop."""
        self._rate = rate_per_second
        self._pace_again()

    def set_weights(self, weights: Sequence[float]) -> None:
        """Sets the weights of the program's transactions, in their order."""
        self._program = with_weights(self._program, weights)
        self._broadcast(Adjust(weights=tuple(weights)))

    def set_delay(self, delay_ns: int) -> None:
        """Sets the simulated network delay; 0 for none."""
        self._delay_ns = delay_ns
        self._broadcast(Adjust(delay_ns=delay_ns))

    def set_callers(self, policy: CallerPolicy) -> None:
        """Sets what the callers of the load do."""
        before = self._limit_sql
        self._callers, self._limit_sql = policy, time_limit_statements(policy, was_limited=bool(before))
        self._broadcast(Adjust(callers=policy))
        if self._limit_sql != before and not self._is_over:
            self._broadcast(Adjust(session_sql=self._sql_of_sessions))

    @property
    def _sql_of_sessions(self) -> tuple[str, ...]:
        """The statements that every connection executes."""
        return (*self._session_sql, *self._limit_sql)

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Makes every connection execute these statements, including connections of later workers.

        Does nothing after the end of the load: settings are restored when the workers have ended.
        """
        self._session_sql = statements
        if not self._is_over:
            self._broadcast(Adjust(session_sql=self._sql_of_sessions))

    def reset_stats(self) -> None:
        """Ends the warm-up: drops the backlog, resets the connections' statistics, applies the limits."""
        for worker, limit in zip(self._workers, self.limits(len(self._workers)), strict=True):
            worker.grant_quota(messages.ResetLoadStats(limit))
            if worker in self._known:
                self._scheduled_before[worker] = self._known[worker].counters.scheduled
        self._limits_hold = True

    def pause(self) -> None:
        self._paused = True
        self._broadcast(Adjust(paused=True))

    def resume(self) -> None:
        self._paused = False
        self._broadcast(Adjust(paused=False))

    async def finished(self) -> None:
        """Waits until every worker has finished its quota."""
        while unfinished := [worker for worker in self._workers if not worker.finished.is_set()]:
            await unfinished[0].finished.wait()

    async def report(self, *, checkpoint: bool = False) -> list[WorkerReport]:
        """One report from every worker that responds in time.

        A worker that has ended is replaced and added to `losses`. Raises RunError if it cannot be replaced,
        after all others have responded or timed out.
        """
        for worker in self._workers:
            worker.request_report(checkpoint=checkpoint)
        answers = await asyncio.gather(
            *(worker.report_in_time() for worker in self._workers), return_exceptions=True
        )
        reports = []
        for worker, answer in zip(list(self._workers), answers, strict=False):
            if isinstance(answer, WorkerGoneError):
                last = await self.replace(worker, answer)
                reports += [last] if last is not None else []
            elif isinstance(answer, BaseException):
                raise answer
            elif answer is not None:
                self._known[worker] = answer
                self._has_begun |= answer.connections > 0
                reports.append(answer)
        return reports

    async def replace(self, gone: AnyLink, error: WorkerGoneError) -> WorkerReport | None:
        """Replaces a process that ended; returns its final report, None if it had never reported.

        A process is not replaced if it ended before its first report, or if a script has ended it: the new
        one would end, too.
        """
        if self._program.script is not None and (crash := await gone.crash()):
            raise RunError(
                f"{self._program.script.path}: the script ended {gone.name} {crash}",
                "a script that may use the C library can end the process that runs it",
            )
        known = self._known.pop(gone, None)
        if known is None or self._is_over or not can_begin_again(self._program):
            raise error
        place = self._workers.index(gone)
        new = await self.take()
        if self._has_ended():
            await self._release([new])
            raise error
        self.losses.append(loss_of(gone.name, known, error))
        self._workers[place] = new
        self.introduce(new, self._heir_of(gone, place, known))
        self.spread_again()
        gone.finished.set()
        await gone.end()
        return closed(known)

    def _heir_of(self, gone: AnyLink, place: int, known: WorkerReport) -> messages.StartLoad:
        """The first message to the new worker: another seed, and the rest of the old worker's limit."""
        limits: list[int | None] = [None] * len(self._workers)
        if self._limits_hold:
            limits = self.limits(len(self._workers))
        limit, done = limits[place], known.counters.scheduled - self._scheduled_before.get(gone, 0)
        begin = self.begin(place, limits)
        number = self.worker_number(len(self._workers) + len(self.losses) - 1)
        return msgspec.structs.replace(
            begin,
            worker=begin.worker - self.worker_number(place) + number,
            seed=begin.seed + SEED_STEP * len(self.losses),
            limit=None if limit is None else max(0, limit - done + known.counters.backlog),
            is_replacement=True,
        )

    async def begin_again(
        self, program: Program, *, is_native: bool, keeps_ledger: bool, grace_seconds: float
    ) -> list[WorkerReport]:
        """Ends the load of every worker, and begins another program with the same connection numbers.

        Returns the last reports of the ended load. The workers have other numbers afterwards, because their
        counters begin again. Raises RunError if a worker does not answer.
        """
        last = await self.finish(grace_seconds)
        if silent := self.unresponsive:
            raise RunError(f"{silent[0]} did not end its load")
        self._program, self._is_native, self._keeps_ledger = program, is_native, keeps_ledger
        self._begun_again += 1 + len(self.losses)
        self._known.clear()
        self._scheduled_before.clear()
        unlimited: list[int | None] = [None] * len(self._workers)
        for number, worker in enumerate(self._workers):
            worker.reset(self.forward)
            self.introduce(worker, self.begin(number, unlimited))
        self.spread_again()
        return [msgspec.structs.replace(report, gaps=report.gaps.closed()) for report in last]

    def spread_again(self) -> None:
        """Sends each worker its connections and its share of the rate again."""
        self._send_spread(self._assignment.shares(len(self._workers)))

    def _send_spread(self, spread: Sequence[tuple[int, ...]]) -> None:
        for worker, numbers in zip(self._workers, spread, strict=True):
            worker.send(Adjust(connections=numbers))
        self._pace([len(numbers) for numbers in spread])

    @property
    def overdue(self) -> tuple[str, ...]:
        """The names of workers with an overdue report."""
        return tuple(worker.name for worker in self._workers if worker.is_overdue)

    @property
    def silent(self) -> tuple[str, ...]:
        """The names of workers with an overdue report that do not run."""
        return tuple(worker.name for worker in self._workers if worker.is_silent)

    @property
    def unresponsive(self) -> tuple[str, ...]:
        """The names of workers that did not report the end of their load."""
        return tuple(worker.name for worker in self._workers if not worker.has_reported)

    async def expect_kill(self, connection_id: int) -> None:
        """Announces the kill of a query to all workers, so that its transaction is retried; waits until they
        know.
        """
        self._broadcast(messages.ExpectKill(connection_id))
        await self.connection_ids()

    async def connection_ids(self) -> set[int]:
        """The server's ids of all connections of the load."""
        by_worker = await asyncio.gather(*(worker.connection_ids() for worker in self._workers))
        return {id for ids in by_worker for id in ids}

    async def finish(self, grace_seconds: float) -> list[WorkerReport]:
        """Ends the load; returns the last reports of the workers that respond in time.

        Call `kill` afterwards.
        """
        self._broadcast(messages.FinishLoad(grace_seconds))
        seconds = grace_seconds + LAST_REPORT_SECONDS
        by_worker = await asyncio.gather(*(worker.last_reports(seconds) for worker in self._workers))
        return [report for reports in by_worker for report in reports]

    async def kill(self) -> None:
        """Ends the processes, except those returned to the pool.

        Raises the first error after all of them were asked to end.
        """
        self._is_over = True
        async with self._growing:
            await self._release(self._workers)

    async def _release(self, workers: Sequence[AnyLink]) -> None:
        results = await asyncio.gather(*map(self.release, workers), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _grow(self, threads: int) -> None:
        """Starts the processes that this many threads need, up to the maximum.

        If one fails, none is added. Raises the first error.
        """
        wanted = self.wanted_workers(threads)
        unlimited: list[int | None] = [None] * wanted
        limits = unlimited if self._plan.warmup_seconds else self.limits(wanted)
        async with self._growing:
            if self._is_over:
                return
            for worker in await self._take_all(wanted - len(self._workers)):
                self.introduce(worker, self.begin(len(self._workers), limits))
                self._workers.append(worker)

    def wanted_workers(self, threads: int) -> int:
        """The number of workers for these threads."""
        return max(1, min(threads, self._most))

    async def _take_all(self, count: int) -> list[AnyLink]:
        """Starts workers; if one fails, releases the others and raises its error."""
        starting = [asyncio.create_task(self.take(), name="start a worker") for _ in range(count)]
        try:
            return await asyncio.gather(*starting)
        except BaseException:
            for task in starting:
                task.cancel()
            results = await asyncio.gather(*starting, return_exceptions=True)
            await self._release([result for result in results if not isinstance(result, BaseException)])
            raise

    def _has_ended(self) -> bool:
        """True if the fleet was ended. Checked again after each wait for a process."""
        return self._is_over

    async def take(self) -> AnyLink:
        if self._pool is not None:
            return await self._pool.acquire(self.forward)
        return await WorkerProcess.start(self.forward)

    async def release(self, worker: AnyLink) -> None:
        """Ends a worker, or returns it to the pool."""
        if self._pool is not None and isinstance(worker, WorkerProcess):
            await self._pool.release(worker)
        else:
            await worker.end()

    def worker_number(self, index: int) -> int:
        """The number of the worker that starts at this place; it determines the worker's stream of
        arrivals.
        """
        return index

    def introduce(self, worker: AnyLink, begin: messages.StartLoad) -> None:
        """Sends a new worker the current state."""
        worker.grant_quota(begin)
        state = Adjust(
            delay_ns=self._delay_ns or None,
            session_sql=self._sql_of_sessions or None,
            callers=self._callers if self._callers != CallerPolicy() else None,
            paused=self._paused or None,
        )
        if state != Adjust():
            worker.send(state)

    def forward(self, work: Reassign) -> None:
        """Passes the work of a worker without connections to the worker with the most connections."""
        if not self._is_over:
            self._workers[self._assignment.busiest].grant_quota(work)

    def begin(self, number: int, limits: list[int | None]) -> messages.StartLoad:
        """The first message of a worker."""
        execution = messages.execution_options(self._plan)
        if self._keeps_ledger:
            execution = msgspec.structs.replace(execution, on_error=OnError.CONTINUE)
        return messages.StartLoad(
            worker=self.worker_number(number) + NUMBERS_OF_A_LOAD * self._begun_again,
            workers=len(limits),
            target=self._target,
            program=self._program,
            seed=self._plan.seed + SEED_STEP * self._begun_again,
            execution=execution,
            arrival=self._plan.arrival,
            limit=limits[number],
            charset=self._charset,
            is_native=self._is_native,
            has_begun=self._has_begun,
            first_logins=first_logins().all(),
            keeps_ledger=self._keeps_ledger,
        )

    def _pace_again(self) -> None:
        self._pace([len(numbers) for numbers in self._assignment.shares(len(self._workers))])

    @property
    def held_connections(self) -> int:
        """Connections of the load that no worker has at the moment; their share of the rate is not sent to
        others.
        """
        return 0

    def _pace(self, connections: list[int]) -> None:
        """Divides the rate, the users and the extra connections in proportion to the connections."""
        total, plan = sum(connections) + self.held_connections or 1, self._plan
        users = split_by_weight(plan.users, connections)
        idle = split_by_weight(plan.idle_connections, connections)
        for place, (worker, number) in enumerate(zip(self._workers, connections, strict=True)):
            has_extra = plan.idle_connections or plan.connect_rate
            worker.send(
                Adjust(
                    rate=self._rate * number / total,
                    users=users[place] if plan.users else None,
                    idle=idle[place] if has_extra else None,
                    logins_per_second=plan.connect_rate * number / total if has_extra else None,
                )
            )

    def _broadcast(self, message: msgspec.Struct) -> None:
        for worker in self._workers:
            worker.send(message)

    def limits(self, workers: int) -> list[int | None]:
        """Divides the quota of transactions by the planned threads."""
        if self._plan.events is None:
            return [None] * workers
        planned = [len(numbers) for numbers in ConnectionAssignment().spread(self._plan.threads, workers)]
        return list(split_by_weight(self._plan.events, planned))


FILES_OF_A_WORKER = 64
"""Open files of a worker in addition to its connections."""


def worker_count(plan: RunPlan, *, is_beside_server: bool, is_native: bool) -> int:
    """The number of processes: the plan's, else one per core, minus one for a server on the same machine.

    The native engine uses all cores from one process. More are needed if a process may not open enough files
    for all connections.
    """
    if plan.workers is not None:
        return plan.workers
    cores = os.cpu_count() or 1
    usual = 1 if is_native else max(1, cores - 1 if is_beside_server else cores)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard <= FILES_OF_A_WORKER:
        return usual
    files = plan.most_threads * files_per_connection(is_native=is_native)
    return max(usual, -(-files // (hard - FILES_OF_A_WORKER)))


def files_per_connection(*, is_native: bool) -> int:
    """Descriptors of one connection. The native engine works on a copy of the driver's descriptor."""
    return 2 if is_native else 1


def open_files_of_worker(connections: int, workers: int, *, is_native: bool) -> int:
    """The open files of the worker with the most of these connections."""
    most = -(-connections // max(1, workers))
    return most * files_per_connection(is_native=is_native) + FILES_OF_A_WORKER
