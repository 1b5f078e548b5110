"""One connection of the load, from login to disconnect.

    connecting ──> working ──> leaving
        ^             │
        └── lost <────┘

connecting  logs in and prepares; ends if the server accepts no more connections, retries if it is unavailable
working     runs transactions one after the other, or (open loop) each when it is due; waits while paused;
            logs in again after --reconnect transactions
lost        the connection is lost: its transaction has failed, it is opened again after a back-off
leaving     on request, or without work: the transaction in flight ends, then the connection is closed
"""

import random
from collections.abc import Collection
from functools import partial
from typing import Any

from tuibench.errors import ConnectionLostError, ProtocolError
from tuibench.load.engine.asyncio.transactions import TransactionRunner
from tuibench.load.engine.load_connection import LoadConnection
from tuibench.load.engine.prepared_connection import PreparedConnection
from tuibench.load.engine.worker_context import WorkerContext
from tuibench.load.pacing.work_queue import WorkQueue
from tuibench.mysql.protocol.statement_protocol import AsyncCall, TransactionLoop
from tuibench.workload.generate.generator import Generator


class VirtualUser(LoadConnection[WorkQueue]):
    """A connection of the load with its own stream of values."""

    def __init__(
        self,
        context: WorkerContext[WorkQueue],
        generator: Generator,
        number: int,
        *,
        waits_for_slot: bool,
    ) -> None:
        super().__init__(context, number, waits_for_slot=waits_for_slot, chance=random.Random(number).random)
        self.transactions = TransactionRunner(context, generator, self._chance)
        self._generator = generator
        self._renews = False

    def leave(self) -> None:
        super().leave()
        self._context.changed()
        self.wake()

    def wake(self) -> None:
        """Resumes the transaction loop if it waits."""
        if self._conn is not None:
            self._conn.connection.protocol.wake()

    @property
    def _needed(self) -> Collection[int] | None:
        return self._generator.needed

    def _is_out_of_work(self) -> bool:
        return self._generator.is_exhausted

    def _on_connected(self, conn: PreparedConnection, lost: int) -> None:
        self._context.connection_opened(is_planned=self._renews)
        recorder = self._context.recorder
        if self._renews:
            recorder.counters.logins += 1
            recorder.login_us.append(conn.login_us)
        elif lost:
            recorder.counters.reconnects += 1
        self._renews = False
        self.transactions.logged_in()

    async def _run_connection(self, conn: PreparedConnection) -> None:
        loop: TransactionLoop = self._transaction_loop(conn)
        answer: Any = None
        try:
            while (call := await conn.connection.protocol.run(loop, answer)) is not None:
                answer = await _await_call(call)
        except ConnectionLostError as error:
            if isinstance(error, ProtocolError):
                conn.connection.abort()
            await self._disconnect()
            if isinstance(error, ProtocolError):
                await self._outlive(error)
        finally:
            loop.close()
            self._context.queue.withdraw(self)

    def _transaction_loop(self, conn: PreparedConnection) -> TransactionLoop:
        """Yields the requests of transactions one after the other, or (open loop) of each when it is due."""
        context, queue = self._context, self._context.queue
        while not self._is_done():
            if self._generator.needs_reconnect():
                return
            if self.transactions.is_login_due:
                self._renews = True
                return
            if conn.session_sql is not context.session_sql:
                yield partial(conn.set_up, context)
            elif context.paused or (not queue.is_open and self._is_thinking()):
                yield None
            elif queue.is_open and not queue.backlog:
                queue.wait(self)
                yield None
            else:
                yield from self.transactions.run_transactions(conn)

    def _is_thinking(self) -> bool:
        """Whether the next transaction is not due yet; the connection is woken in time."""
        think_time = self.transactions.think_time
        if not self._generator.pauses.are_any or think_time.is_over(self._context.clock.now_ns()):
            return False
        if (at_ns := think_time.take_wakeup_ns()) is not None:
            self._context.wakeup_timer.schedule(at_ns, self)
        return True


async def _await_call(call: AsyncCall) -> Any:
    """The result of a call that the transaction loop requested, or its error."""
    try:
        return await call()
    except Exception as error:
        return error
