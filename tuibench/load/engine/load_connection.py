"""Base class of a connection of the load: login, work, disconnect, and a new login after a loss."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Generic

from tuibench.errors import ProtocolError, RunError, TuibenchError
from tuibench.load.engine.prepared_connection import (
    FIRST_PAUSE_SECONDS,
    MAX_PAUSE_SECONDS,
    PreparedConnection,
    TooManyConnections,
    backoff_seconds,
    open_prepared_connection,
)
from tuibench.load.engine.worker_context import QueueT, WorkerContext
from tuibench.model.plan import OnError


class LoadConnection(ABC, Generic[QueueT]):
    """One connection of the load. `is_admitted` once the server has accepted its first login.

    One that `waits_for_slot` waits for a slot on a server that accepts no more connections. `chance` spreads
    the pauses between logins.
    """

    __slots__ = ("_broken", "_chance", "_conn", "_context", "_is_leaving", "_waits_for_slot", "is_admitted",
                 "number")  # fmt: skip

    def __init__(
        self,
        context: WorkerContext[QueueT],
        number: int,
        *,
        waits_for_slot: bool,
        chance: Callable[[], float],
    ) -> None:
        self.number = number
        self.is_admitted = False
        self._context = context
        self._waits_for_slot = waits_for_slot
        self._chance = chance
        self._is_leaving = False
        self._broken = 0
        self._conn: PreparedConnection | None = None

    @property
    def connected(self) -> bool:
        return self._conn is not None

    @property
    def connection_id(self) -> int | None:
        """The server's id of the connection, if there is one."""
        return self._conn.connection.thread_id if self._conn is not None else None

    def leave(self) -> None:
        """Ends after the transaction in flight."""
        self._is_leaving = True

    async def run(self) -> None:
        """Runs until it is asked to leave, refused by the server, out of work, or cancelled."""
        try:
            lost = 0
            while not self._is_done() and (conn := await self._connect(lost)) is not None:
                lost += 1
                await self._run_connection(conn)
                await self._disconnect()
        except TuibenchError as error:
            self._fail(error)
        except Exception as error:
            self._fail(RunError(f"a connection of the load failed: {type(error).__name__}: {error}"))
        finally:
            await self._disconnect()

    @property
    @abstractmethod
    def _needed(self) -> Collection[int] | None:
        """The statements that it executes, by their flat index; None for all."""

    @abstractmethod
    def _is_out_of_work(self) -> bool:
        """Whether it has no further transaction to run."""

    @abstractmethod
    def _on_connected(self, conn: PreparedConnection, lost: int) -> None:
        """Counts a login; `lost` is the number of connections it had before."""

    @abstractmethod
    async def _run_connection(self, conn: PreparedConnection) -> None:
        """Runs transactions until none is left, or the connection is lost or due for a new login."""

    async def _outlive(self, error: ProtocolError) -> None:
        """Waits before the next login after a protocol error, or raises it with --on-error=stop."""
        if self._context.execution.on_error is OnError.STOP:
            raise error
        pause = backoff_seconds(self._broken, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, self._chance())
        self._broken += 1
        await self._context.clock.sleep(pause)

    def _fail(self, error: TuibenchError) -> None:
        self._context.fail(error)

    def _is_done(self) -> bool:
        return self._is_leaving or self._context.is_over or self._is_out_of_work()

    async def _connect(self, lost: int) -> PreparedConnection | None:
        """A connection that is ready; None if it has to leave, or the server accepts no more."""
        try:
            self._conn = await open_prepared_connection(
                self._context,
                self.number,
                self._needed,
                waits_for_slot=self._waits_for_slot or lost > 0,
                is_leaving=self._is_done,
                chance=self._chance,
            )
        except TooManyConnections:
            return None
        if self._conn is not None:
            self.is_admitted = True
            self._on_connected(self._conn, lost)
        return self._conn

    async def _disconnect(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            self._context.connection_closed()
            await conn.close(self._context)
