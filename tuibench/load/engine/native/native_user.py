"""One connection of a load on the native engine: the part that runs in Python.

    connecting ──> attached ──> leaving
        ^             │
        └─────────────┘  lost, or a planned new login; or new session settings, on the same connection

Python logs in, prepares and closes. In between, a native thread has the
socket, and returns it with a reason.
"""

import asyncio
from array import array
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from tuibench import sanitize
from tuibench.errors import ConnectionLostError, ProtocolError, RunError, TuibenchError, UsageError
from tuibench.load.engine.load_connection import LoadConnection
from tuibench.load.engine.native.program import stream_key
from tuibench.load.engine.prepared_connection import MAX_PAUSE_SECONDS, PreparedConnection
from tuibench.load.engine.worker_context import AnyContext
from tuibench.mysql import handover
from tuibench.mysql.errors import error_for_code
from tuibench.workload.generate.draw import DrawSource
from tuibench.workload.generate.generator import needed_by_connection
from tuibench.workload.generate.layout import ProgramLayout

TEXT = 0
"""Instead of the server's id of a prepared statement: the statement is sent as text."""

NO_DESCRIPTOR = "no descriptor"

PANIC_HINT = "this is a bug in tuibench: report it; --engine=asyncio runs the load without this engine"


class Returned(NamedTuple):
    """Why a thread returned a connection; `code` and `message` are those of the error that ends the load."""

    reason: str
    code: int = 0
    message: str = ""

    def error(self) -> TuibenchError | None:
        """The error that ends the load, None if it continues."""
        match self.reason:
            case "refused":
                return error_for_code(self.code, self.message)
            case "usage":
                return UsageError(sanitize.excerpt(self.message))
            case "fault":
                return RunError(sanitize.excerpt(self.message), "check its expressions and captured columns")
            case "panicked":
                return RunError(f"the native engine failed: {sanitize.excerpt(self.message)}", PANIC_HINT)
            case _:
                return None


class Statements(NamedTuple):
    """The prepared statements of a connection, in the form of `Engine.attach`.

    Thousands of connections keep nothing else of them. `identities` are the server's ids, `readers` the
    statements whose rows are read: whether these are binary, and their columns as far as known.
    """

    identities: "array[int]"
    readers: list[tuple[int, bool, list[bytes]]]

    @classmethod
    def taken_from(cls, conn: PreparedConnection, count: int) -> "Statements":
        """Takes the statements from a connection, which no longer keeps them."""
        prepared = conn.prepared
        identities = [prepared[index].identity if index in prepared else TEXT for index in range(count)]
        readers = [
            (index, index in prepared, list(prepared[index].definitions) if index in prepared else [])
            for index in conn.rows
        ]
        conn.packets, conn.rows, conn.prepared = {}, {}, {}
        return cls(array("L", identities), readers)


class NativeUser(LoadConnection[Any]):
    """A connection of the load. It starts after the task `before`, an earlier connection with the same
    number.

    While a thread has its socket, it is in `attached` by its number.
    """

    __slots__ = (
        "_attached",
        "_before",
        "_is_spent",
        "_native",
        "_returned",
        "_statements",
        "_statements_needed",
    )

    def __init__(
        self,
        native: Any,
        attached: dict[int, "NativeUser"],
        context: AnyContext,
        layout: ProgramLayout,
        seed: int,
        number: int,
        *,
        waits_for_slot: bool,
        before: asyncio.Task[None] | None,
        chance: Callable[[], float],
    ) -> None:
        super().__init__(context, number, waits_for_slot=waits_for_slot, chance=chance)
        self._native = native
        self._attached = attached
        self._before = before
        draw = DrawSource(seed, number)
        self._statements_needed = needed_by_connection(layout, draw) if layout.names_tables else None
        self._is_spent = False
        self._statements = Statements(array("L"), [])
        self._returned: asyncio.Future[Returned] | None = None

    @property
    def is_attached(self) -> bool:
        return self._returned is not None

    def leave(self) -> None:
        super().leave()
        if self.is_attached:
            self._native.leave(self.number)

    def park(self) -> None:
        """Takes the connection back after the transaction in flight, for new session settings."""
        if self.is_attached:
            self._native.park(self.number)

    def expect_kill(self) -> None:
        """Retries the next query that is interrupted."""
        if self.is_attached:
            self._native.expect_kill(self.number)

    def on_returned(self, returned: Returned) -> None:
        """The thread returns the connection."""
        if self._returned is not None and not self._returned.done():
            self._returned.set_result(returned)

    async def run(self) -> None:
        if self._before is not None:
            await asyncio.wait({self._before})
            self._before = None
        try:
            await super().run()
        finally:
            if self.is_admitted:
                self._native.dismiss(self.number)

    def _fail(self, error: TuibenchError) -> None:
        super()._fail(error)
        self._native.fail()

    @property
    def _needed(self) -> Collection[int] | None:
        return self._statements_needed

    def _is_out_of_work(self) -> bool:
        return self._is_spent

    def _on_connected(self, conn: PreparedConnection, lost: int) -> None:
        self._statements = Statements.taken_from(conn, len(self._context.statements))
        self._native.admit(self.number)
        self._context.connection_opened()
        self._context.recorder.counters.reconnects += lost > 0

    async def _run_connection(self, conn: PreparedConnection) -> None:
        """Attaches the connection to a thread until it is lost or has nothing left to do."""
        while not self._is_done():
            if conn.session_sql is not self._context.session_sql:
                try:
                    await conn.set_up(self._context)
                except ConnectionLostError:
                    return
                continue
            returned = await self._run_attached(conn)
            if returned.reason in ("lost", "aborted", "broken", "panicked", NO_DESCRIPTOR):
                conn.connection.abort()
                if returned.reason == NO_DESCRIPTOR:
                    await self._wait_for_descriptors(returned.message)
                elif returned.reason == "broken":
                    await self._disconnect()
                    await self._outlive(ProtocolError(returned.message, conn.connection.target.where))
                elif error := returned.error():
                    raise error
                return
            handover.reattach_socket(conn.connection)
            if error := returned.error():
                raise error
            if returned.reason == "new login":
                return
            self._is_spent = returned.reason == "left"

    async def _wait_for_descriptors(self, reason: str) -> None:
        """Pauses before the next login while no descriptor is available. Raises RunError unless refusals are
        retried.
        """
        error = RunError(
            f"a connection cannot be handed to the native engine: {reason}",
            "each connection takes two open files: raise the limit (ulimit -n), or use more --workers",
        )
        if not self._context.outlives_refusals:
            raise error
        self._context.last_refusal = str(error)
        await self._disconnect()
        await self._context.clock.sleep(MAX_PAUSE_SECONDS * (0.5 + self._chance() / 2))

    async def _run_attached(self, conn: PreparedConnection) -> Returned:
        socket = handover.detach_socket(conn.connection)
        if socket is None:
            return Returned("lost")
        self._returned = asyncio.get_running_loop().create_future()
        self._attached[self.number] = self
        try:
            self._native.attach(
                self.number,
                socket.descriptor,
                stream_key,
                self._statements.identities.tolist(),
                self._statements.readers,
                socket.without_eof,
                socket.no_backslash_escapes,
            )
            return await self._returned
        except OSError as error:
            return Returned(NO_DESCRIPTOR, message=error.strerror or str(error))
        finally:
            self._returned = None
            self._attached.pop(self.number, None)
