"""State shared by the connections of a worker: target, program, execution options, remaining quota."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from tuibench.clock import Clock
from tuibench.errors import TuibenchError
from tuibench.load.engine.recorder import LatencyRecorder
from tuibench.load.messages import ExecutionOptions
from tuibench.load.pacing.delay import NetworkDelay
from tuibench.load.pacing.think_time import WakeupTimer
from tuibench.load.worker_report import Reassign
from tuibench.model.plan import Backlog, OnError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, PacketBuilder, constant_packet
from tuibench.workload.program.program import FlatStatement, Transaction

Connect = Callable[[Target], Awaitable[Connection]]


class DueWork(Protocol):
    """The due work of a worker; `pacing.work_queue` describes each method."""

    @property
    def is_finished(self) -> bool: ...

    def set_rate(self, rate_per_second: float) -> int: ...

    def forget(self) -> int: ...

    def reassign(self) -> Reassign: ...

    def take_over(self, work: Reassign) -> None: ...

    def hold(self) -> None: ...

    def release(self) -> None: ...


QueueT = TypeVar("QueueT", bound=DueWork)


class WorkerContext(Generic[QueueT]):
    """The shared state of a worker's connections.

    `fixed_packets` are the packets of statements that are the same on each connection, by their flat index.
    `changes` counts the changes that every connection must check before its next transaction.
    """

    def __init__(
        self,
        target: Target,
        transactions: Sequence[Transaction],
        statements: Sequence[FlatStatement],
        recorder: LatencyRecorder,
        execution: ExecutionOptions,
        queue: QueueT,
        delay: NetworkDelay,
        wakeup_timer: WakeupTimer,
        *,
        opening: asyncio.Semaphore,
        connect: Connect,
        clock: Clock,
        load_has_begun: bool = False,
    ) -> None:
        self.target = target
        self.transactions = transactions
        self.statements = statements
        self.recorder = recorder
        self.execution = execution
        self.queue = queue
        self.delay = delay
        self.wakeup_timer = wakeup_timer
        self.opening = opening
        self.connect = connect
        self.clock = clock
        self.fixed_packets = _constant_packets(statements, execution)
        self.changes = 0
        self.session_sql: tuple[str, ...] = ()
        self.paused = False
        self.connected = 0
        self.failure: TuibenchError | None = None
        self.last_refusal = ""
        self._has_begun = False
        self._load_has_begun = load_has_begun

    @property
    def is_over(self) -> bool:
        """True when no further transaction starts. False while the load is paused."""
        return self.failure is not None or (self.queue.is_finished and not self.paused)

    @property
    def outlives_refusals(self) -> bool:
        """Whether a refused login is retried: the password or a privilege may be restored.

        Before the first successful login of the load, a refusal is an error in the options.
        """
        return (self._has_begun or self._load_has_begun) and self.execution.on_error is OnError.CONTINUE

    def pause(self) -> None:
        """Stops starting transactions until `resume`."""
        self.paused = True
        self.changed()

    def resume(self) -> None:
        self.paused = False

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Makes each connection run these before its next transaction."""
        self.session_sql = statements
        self.changed()

    def fail(self, error: TuibenchError) -> None:
        """Records the failure of the load; the first reason counts."""
        self.failure = self.failure or error
        self.changed()

    def changed(self) -> None:
        """Makes each connection check for changes once."""
        self.changes += 1

    def connection_opened(self, *, is_planned: bool = False) -> None:
        """Counts one more connection.

        The first one after an outage may drop a backlog. Arrivals before the very first connection, or during
        a planned login, are not part of an outage.
        """
        is_outage = self.connected == 0 and self._has_begun and not is_planned
        if is_outage and self.execution.backlog is Backlog.DROP:
            self.recorder.counters.abandoned += self.queue.forget()
        self._has_begun = True
        self.connected += 1

    def connection_closed(self) -> None:
        """Counts one connection fewer."""
        self.connected -= 1


AnyContext = WorkerContext[Any]
"""A context with any kind of queue."""


def _constant_packets(
    statements: Sequence[FlatStatement], execution: ExecutionOptions
) -> dict[int, PacketBuilder]:
    return {
        index: packet
        for index, flat in enumerate(statements)
        if not (flat.captures or (flat.prepared and execution.prepared))
        and (packet := constant_packet(flat.sql)) is not None
    }
