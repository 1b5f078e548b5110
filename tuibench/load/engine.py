"""Base class of the load engines: connections, quota, reports.

An engine runs a program on the connections of a worker process, and reports. `asyncio_engine` is portable and
the reference, `native_engine` runs transactions on threads in Rust. Each adds its queue of due work, its kind
of connection, and its latencies. `tests/integration/load/conformance` runs the same tests on both.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.load.connections import (
    Connect,
    DueWork,
    ExtraConnections,
    LatencyRecorder,
    LoadConnection,
    WorkerContext,
)
from tuibench.load.messages import (
    Finished,
    Reassign,
    StartLoad,
    WorkerReport,
)
from tuibench.load.pacing import NetworkDelay, Timer, WakeupTimer
from tuibench.model.callers import CallerPolicy
from tuibench.model.findings import ErrorMessage
from tuibench.model.plan import Backlog
from tuibench.mysql.connection import connect as log_in
from tuibench.workload.program import ProgramLayout

Emit = Callable[[Reassign | Finished], None]
"""Receives the messages that an engine sends unrequested: work that it has no connections for, and the end of
its quota.
"""


MAX_PARALLEL_LOGINS = 32
"""Maximum number of concurrent logins of one worker; a server's accept queue often has 80 entries."""


UserT = TypeVar("UserT", bound=LoadConnection[Any])
QueueT = TypeVar("QueueT", bound=DueWork)


class BaseEngine(ABC, Generic[UserT, QueueT]):
    """The load of one worker, whose connections are tasks of the event loop.

    No method blocks; `stop` is awaited. The number of a connection determines its stream of values.
    """

    def __init__(
        self,
        begin: StartLoad,
        queue: QueueT,
        layout: ProgramLayout,
        *,
        connect: Connect | None,
        clock: Clock,
        emit: Emit,
        timer: Callable[[Callable[[], None]], Timer],
    ) -> None:
        self.finished = asyncio.Event()
        """Set once every transaction that the engine was allowed to start has ended."""
        self._begin = begin
        self._queue = queue
        self._layout = layout
        self._clock = clock
        self._emit = emit
        transactions = begin.program.transactions
        self._recorder = LatencyRecorder(layout.statements, [each.name for each in transactions])
        self._delay = NetworkDelay(clock, timer)
        self._wakeup_timer = WakeupTimer(clock, timer)
        self._context = WorkerContext(
            begin.target,
            transactions,
            layout.statements,
            self._recorder,
            begin.execution,
            queue,
            self._delay,
            self._wakeup_timer,
            opening=asyncio.Semaphore(MAX_PARALLEL_LOGINS),
            connect=connect or partial(log_in, charset=begin.charset),
            clock=clock,
            load_has_begun=begin.has_begun,
        )
        self._extra = ExtraConnections(self._context, timer, begin.arrival, begin.seed + begin.worker)
        self._grants = 1
        self._wanted: frozenset[int] = frozenset()
        self._users: dict[int, tuple[UserT, asyncio.Task[None]]] = {}
        self._draining: list[tuple[int, UserT, asyncio.Task[None]]] = []
        self._reported_ns, self._cpu_at = clock.now_ns(), time.process_time()

    def set_connections(self, numbers: Collection[int]) -> None:
        """Opens and closes connections, in the background, until these are open.

        A connection that is dropped ends after its transaction. If its number returns, its stream of values
        continues, so that unique values stay unique.
        """
        before, self._wanted = self._wanted, frozenset(numbers)
        self._reap()
        for number in self._users.keys() - self._wanted:
            user, task = self._users.pop(number)
            user.leave()
            self._draining.append((number, user, task))
        predecessors = {number: task for number, _, task in self._draining}
        for number in numbers:
            if number not in self._users:
                waits = number in before or self._begin.is_replacement
                self._open(number, predecessors.get(number), waits_for_slot=waits)
        self._reassign_leftover()

    def set_rate(self, rate_per_second: float) -> None:
        """Schedules this many transactions per second; 0 for a closed loop, which drops the backlog."""
        self._recorder.counters.abandoned += self._queue.set_rate(rate_per_second)

    def set_extra_connections(self, idle: int, logins_per_second: float) -> None:
        self._extra.set(idle, logins_per_second)

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Runs these statements on each connection before its next transaction, and at each login."""
        self._context.set_session(statements)
        self._wake_all()

    def reset_stats(self, limit: int | None) -> None:
        """Drops the backlog and each connection's figures; `limit` transactions may start from now on."""
        self._recorder.counters.abandoned += self._reset_figures(limit)
        self._quota_granted()
        self._reassign_leftover()

    def take_over(self, work: Reassign) -> None:
        """Adds the work that another worker has no connections for."""
        self._queue.take_over(work)
        self._quota_granted()
        self.set_connections(self._wanted)

    def pause(self) -> None:
        """Stops starting and scheduling transactions until `resume`."""
        self._context.pause()
        self._hold()
        self._extra.hold()

    def resume(self) -> None:
        """Continues after `pause`; with `--backlog=drop` it drops the backlog first."""
        self._context.resume()
        if self._begin.execution.backlog is Backlog.DROP:
            self._drop_backlog()
        self._release()
        self._extra.release()
        self._wake_all()

    def report(self) -> WorkerReport:
        """Returns the latencies since the last report, and the counters since the start."""
        now_ns, cpu = self._clock.now_ns(), time.process_time()
        measured, failure = self._measured(now_ns), self._context.failure
        report = replace(
            measured,
            worker=self._begin.worker,
            seconds=(now_ns - self._reported_ns) / NS_PER_SECOND,
            cpu_seconds=cpu - self._cpu_at,
            connections=sum(user.connected for user in self._present()),
            hists=measured.hists | self._recorder.take_waits(),
            last_refusal=self._context.last_refusal,
            idle_connections=self._extra.idle,
            idle_refusal=self._extra.refusal,
            failure=ErrorMessage.of(failure) if failure is not None else ErrorMessage(),
        )
        self._reported_ns, self._cpu_at = now_ns, cpu
        return report

    def connection_ids(self) -> tuple[int, ...]:
        """Returns the server's ids of the open connections."""
        ids = (user.connection_id for user in self._present())
        return (*(id for id in ids if id is not None), *self._extra.connection_ids())

    async def stop(self, grace_seconds: float) -> None:
        """Closes all connections; abandons the backlog and transactions that exceed the grace period."""
        self._hold()
        self._drop_backlog()
        self._queue.reassign()
        self.set_connections(())
        await self._extra.close()
        users = {task: user for _, user, task in self._draining}
        if users:
            _, late = await asyncio.wait(users, timeout=grace_seconds)
            for task in late:
                self._abort(users[task], task)
            await asyncio.gather(*users, return_exceptions=True)
        self._reap()
        self._close()
        self._delay.close()
        self._wakeup_timer.close()

    @abstractmethod
    def set_users(self, users: int) -> None:
        """Sets the number of users that share the connections, as in a connection pool; 0 for none."""

    @abstractmethod
    def set_weights(self, weights: Sequence[float]) -> None:
        """Sets the weight of each transaction of the program, from each connection's next draw."""

    @abstractmethod
    def set_delay(self, delay_ns: int) -> None:
        """Delays the answers to statements that are sent from now on, as a longer network would."""

    @abstractmethod
    def set_callers(self, policy: CallerPolicy) -> None:
        """Sets what the callers do from now on."""

    @abstractmethod
    def checkpoint(self) -> None:
        """Restarts each connection's figures of the interval between two checkpoints."""

    @abstractmethod
    def expect_kill(self, connection_id: int) -> None:
        """Retries the next interrupted query of this connection, as the operator kills it."""

    @abstractmethod
    def _new_user(self, number: int, before: asyncio.Task[None] | None, *, waits_for_slot: bool) -> UserT:
        """Returns a new connection. `before` is the task of an earlier one with the same number that has not
        ended.
        """

    @abstractmethod
    def _reset_figures(self, limit: int | None) -> int:
        """Drops the backlog and the connections' figures, and sets the limit; returns the number of dropped
        transactions.
        """

    @abstractmethod
    def _measured(self, now_ns: int) -> WorkerReport:
        """The part of a report that the engine itself measures."""

    @abstractmethod
    def _wake_all(self) -> None:
        """Makes each connection check for work."""

    @abstractmethod
    def _close(self) -> None:
        """Releases the engine's resources, after all connections have ended."""

    def _abort(self, user: UserT, task: asyncio.Task[None]) -> None:
        """Ends a connection immediately, also during a transaction."""
        task.cancel()

    def _hold(self) -> None:
        """Stops scheduling until `_release`."""
        self._queue.hold()

    def _release(self) -> None:
        self._queue.release()

    def _present(self) -> list[UserT]:
        opened = [user for user, _ in self._users.values()]
        return [*opened, *(user for _, user, _ in self._draining)]

    def _drop_backlog(self) -> None:
        self._recorder.counters.abandoned += self._queue.forget()

    def _quota_granted(self) -> None:
        self._grants += 1
        self.finished.clear()

    def _reassign_leftover(self) -> None:
        """Passes the remaining work to another worker if no connection is open or requested."""
        if self._wanted:
            return
        if work := self._queue.reassign():
            self._emit(work)
        self._check_finished()

    def _check_finished(self) -> None:
        """Reports the end once no transaction may start and every connection has ended."""
        if self._queue.is_finished:
            self._wake_all()
        is_finished = self._queue.is_finished and all(task.done() for _, task in self._users.values())
        if is_finished and not self.finished.is_set():
            self.finished.set()
            self._emit(Finished(self._grants))

    def _open(self, number: int, before: asyncio.Task[None] | None, *, waits_for_slot: bool) -> None:
        """Opens a connection.

        A number that was requested before and has no connection was refused. It waits for a slot, which
        connections that are no longer requested free. So does a connection of a worker that has ended,
        because the server may not have freed its slot yet.
        """
        user = self._new_user(number, before, waits_for_slot=waits_for_slot)
        task = asyncio.create_task(user.run(), name=f"connection {number}")
        task.add_done_callback(lambda _: self._check_finished())
        self._users[number] = user, task

    def _reap(self) -> list[UserT]:
        """Removes and returns the connections that have ended; their numbers are free."""
        ended = [user for user, task in self._users.values() if task.done()]
        ended += [user for _, user, task in self._draining if task.done()]
        self._draining = [each for each in self._draining if not each[2].done()]
        self._users = {number: each for number, each in self._users.items() if not each[1].done()}
        return ended
