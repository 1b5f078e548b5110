"""Connections in addition to the load's: idle ones that stay open, and logins at a rate.

Idle connections show the cost of mere connections to a server; one that the server closes is opened again.

Logins are an open loop: they are due whether or not the server has completed earlier ones, and a login's time
counts from its due time. A login that is due while too many are in progress is missed, and counted.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from random import Random

from tuibench.errors import SQLError, TuibenchError
from tuibench.load.engine.worker_context import AnyContext
from tuibench.load.pacing.arrival_schedule import ArrivalSchedule
from tuibench.load.pacing.timer import Timer
from tuibench.model.plan import Arrival
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import CLIENT_CANNOT_CONNECT

PARALLEL_IDLE_LOGINS = 8
MAX_LOGINS_UNDER_WAY = 256
"""Maximum number of concurrent extra logins of one worker. A server that does not answer these would not
answer more of them sooner.
"""

LOOK_SECONDS = 1.0
"""How often closed idle connections are replaced."""


class ExtraConnections:
    """The idle connections and the extra logins of one worker. `refusal` is why idle ones are missing."""

    def __init__(
        self,
        context: AnyContext,
        timer: Callable[[Callable[[], None]], Timer],
        arrival: Arrival,
        seed: int,
    ) -> None:
        self.refusal = ""
        self._context = context
        self._wanted = 0
        self._idle: list[Connection] = []
        self._idle_task: asyncio.Task[None] | None = None
        self._schedule = ArrivalSchedule(Random(f"tuibench:{seed}:logins"), arrival)
        self._timer: Timer | None = None
        self._make_timer = timer
        self._under_way: set[asyncio.Task[None]] = set()
        self._numbers = count()

    @property
    def idle(self) -> int:
        """The number of open idle connections."""
        return sum(connection.is_open for connection in self._idle)

    def connection_ids(self) -> tuple[int, ...]:
        """The server's ids of the idle connections."""
        return tuple(connection.thread_id for connection in self._idle if connection.is_open)

    def set(self, idle: int, logins_per_second: float) -> None:
        """Sets the number of idle connections and the rate of extra logins."""
        self._wanted = idle
        if self._idle_task is None and idle:
            self._idle_task = asyncio.create_task(self._maintain_idle(), name="idle connections")
        if self._timer is None and logins_per_second:
            self._timer = self._make_timer(self._on_timer)
        self._schedule.set_rate(logins_per_second, self._context.clock.now_ns())
        self._on_timer()

    def hold(self) -> None:
        """Stops extra logins until `release`; idle connections stay open."""
        self._schedule.hold(self._context.clock.now_ns())
        self._set_timer(None)

    def release(self) -> None:
        self._schedule.release(self._context.clock.now_ns())
        self._on_timer()

    async def close(self) -> None:
        """Closes all connections and cancels logins in progress."""
        self.hold()
        tasks = [*self._under_way, *([self._idle_task] if self._idle_task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._idle_task = None
        idle, self._idle = self._idle, []
        await asyncio.gather(*(self._say_goodbye(connection) for connection in idle))
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def _set_timer(self, at_ns: int | None) -> None:
        if self._timer is not None:
            self._timer.set(at_ns)

    # Idle connections

    async def _maintain_idle(self) -> None:
        while True:
            await self._open_missing()
            await self._close_surplus()
            await self._context.clock.sleep(LOOK_SECONDS)

    async def _open_missing(self) -> None:
        self._idle = [connection for connection in self._idle if connection.is_open]
        while (missing := self._wanted - len(self._idle)) > 0:
            logins = (self._open_idle() for _ in range(min(missing, PARALLEL_IDLE_LOGINS)))
            if not all(await asyncio.gather(*logins)):
                return
        self.refusal = ""

    async def _open_idle(self) -> bool:
        """Opens one more; False if the server refuses it or is unavailable."""
        try:
            self._idle.append(await self._log_in())
        except TuibenchError as error:
            self.refusal = str(error)
            return False
        return True

    async def _close_surplus(self) -> None:
        surplus, self._idle = self._idle[self._wanted :], self._idle[: self._wanted]
        for connection in surplus:
            await self._say_goodbye(connection)

    # Logins

    def _on_timer(self) -> None:
        for due_ns in self._schedule.due(self._context.clock.now_ns()):
            if len(self._under_way) >= MAX_LOGINS_UNDER_WAY:
                self._context.recorder.counters.missed_logins += 1
                continue
            task = asyncio.create_task(self._log_in_and_out(due_ns), name="extra login")
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        self._set_timer(self._schedule.next_ns)

    async def _log_in_and_out(self, due_ns: int) -> None:
        recorder = self._context.recorder
        try:
            connection = await self._log_in()
        except SQLError as error:
            recorder.counters.count_error(error.code)
        except TuibenchError as error:
            recorder.counters.count_error(getattr(error, "code", 0) or CLIENT_CANNOT_CONNECT)
            self._context.last_refusal = str(error)
        else:
            recorder.counters.logins += 1
            recorder.login_us.append((self._context.clock.now_ns() - due_ns) // 1000)
            await self._say_goodbye(connection)

    async def _log_in(self) -> Connection:
        """Logs in; its statements count as tuibench's own questions."""
        context = self._context
        connection = await context.connect(context.target.for_connection(next(self._numbers)))
        context.recorder.other_questions += connection.statements
        return connection

    async def _say_goodbye(self, connection: Connection) -> None:
        """Closes a connection; the server counts COM_QUIT as a question."""
        self._context.recorder.other_questions += connection.is_open
        await connection.close()
