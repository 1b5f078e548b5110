"""Connection of a sampler: one job at a time, with a timeout shorter than a tick.

A job that exceeds its timeout stays in flight and is collected by a later call, so a slow response costs a
gap and not the connection: with max_connections exhausted, a new login might fail.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import ConnectionLostError, TuibenchError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.session_defaults import Manner, connect_with_defaults

T = TypeVar("T")
Job = Callable[[Connection], Awaitable[T]]
Connect = Callable[[Target], Awaitable[Connection]]

CONNECT_TIMEOUT_SECONDS = 5.0


async def log_in(target: Target) -> Connection:
    seconds = min(target.connect_timeout, CONNECT_TIMEOUT_SECONDS)
    return await connect_with_defaults(
        target, use_database=False, timeout_seconds=seconds, manner=Manner.IS_TIMED
    )


class MonitoringConnection:
    """A connection that reconnects by itself.

    `last_error` is the reason why the last job failed, and is empty after a success. `logins` counts
    the connections made so far.
    """

    def __init__(
        self,
        target: Target,
        clock: Clock,
        *,
        timeout_seconds: float,
        give_up_seconds: float,
        log_in: Connect = log_in,
    ) -> None:
        self._target = target
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._give_up_ns = int(give_up_seconds * NS_PER_SECOND)
        self._log_in = log_in
        self._connection: Connection | None = None
        self._closed_statements = 0
        self._job: Job[Any] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._since_ns = 0
        self.logins = 0
        self.last_error = ""

    @property
    def statements(self) -> int:
        """The number of statements sent over all connections of this object."""
        current = self._connection.statements if self._connection else 0
        return self._closed_statements + current

    @property
    def connection_ids(self) -> set[int]:
        """The server's id of the connection, if it is open."""
        return {self._connection.thread_id} if self._connection else set()

    async def run(self, job: Job[T]) -> T | None:
        """The job's result; None if it failed or timed out (see `last_error`).

        A job still in flight from an earlier call is waited for first; its result is returned
        if it is the same job.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_seconds
        while True:
            task, running = self._current(job)
            await asyncio.wait({task}, timeout=max(0.0, deadline - loop.time()))
            if not task.done():
                self._note_silence()
                return None
            self._task = None
            result: T | None = task.result()
            if running == job:
                return result

    async def close(self) -> None:
        """Quit, which the server counts as one more statement; discard the job in flight."""
        if self._task:
            self._cancel()
            self._drop()
        if self._connection:
            self._closed_statements += self._connection.statements + 1
            connection, self._connection = self._connection, None
            await connection.close()

    def _current(self, job: Job[Any]) -> tuple[asyncio.Task[Any], Job[Any]]:
        """The task in flight and its job; starts the given one if there is none."""
        if self._task is None or self._job is None:
            self._task = asyncio.create_task(self._perform(job))
            self._job, self._since_ns = job, self._clock.now_ns()
        return self._task, self._job

    async def _perform(self, job: Job[T]) -> T | None:
        try:
            if self._connection is None:
                self._connection = await self._log_in(self._target)
                self.logins += 1
            result = await job(self._connection)
        except ConnectionLostError as error:
            self._drop()
            self.last_error = error.message
        except TuibenchError as error:
            self.last_error = error.message
        else:
            self.last_error = ""
            return result
        return None

    def _note_silence(self) -> None:
        waited_ns = self._clock.now_ns() - self._since_ns
        self.last_error = f"no answer for {waited_ns / NS_PER_SECOND:.1f} s"
        if waited_ns >= self._give_up_ns:
            self._cancel()
            self._drop()

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None

    def _drop(self) -> None:
        """Discard a connection that is no longer usable."""
        if self._connection:
            self._closed_statements += self._connection.statements
            self._connection.abort()
            self._connection = None
