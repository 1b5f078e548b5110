"""Opening of a load connection: login, session setup, preparing statements, retries."""

import asyncio
from collections.abc import Callable, Collection, Sequence

from tuibench.errors import (
    ConnectionLostError,
    ServerBusyError,
    ServerUnavailableError,
    ServerUnreachableError,
    SQLError,
)
from tuibench.load.engine.worker_context import AnyContext
from tuibench.mysql.connection import Connection, PacketBuilder, PreparedStatement, TextStatement
from tuibench.mysql.errors import CLIENT_CANNOT_CONNECT, CONNECTION_LOST_CODES, TOO_MANY_CONNECTIONS_CODES
from tuibench.mysql.protocol.packets import PreparedHandle
from tuibench.workload.generate.interactive import Rows
from tuibench.workload.program.limits import MAX_ITEMS

ER_MAX_PREPARED_STMT_COUNT_REACHED = 1461
ER_UNSUPPORTED_PS = 1295
"""Some statements (USE, LOCK TABLES on some servers) are accepted as text only."""

TRANSIENT_CODES = CONNECTION_LOST_CODES | TOO_MANY_CONNECTIONS_CODES
"""Errors of a login while a server restarts."""

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.05, 1.0

ReadRows = Callable[[bytes], Rows]
"""Reads the rows of a response."""


class TooManyConnections(Exception):  # noqa: N818
    """The server accepts no more connections."""


def backoff_seconds(attempt: int, first_seconds: float, longest_seconds: float, chance: float) -> float:
    """Seconds to wait before attempt n (from 0): doubling, capped, and spread by a chance in [0, 1)."""
    doublings = min(attempt, 32)
    return float(min(longest_seconds, first_seconds * 2**doublings) * (0.5 + chance / 2))


class PreparedConnection:
    """A connection that is ready for work, with every flat statement that it may execute.

    `rows` reads the responses of capturing statements, `prepared` has the server's handles of prepared ones.
    `login_us` is the duration of the login.
    """

    def __init__(self, connection: Connection, login_us: int = 0) -> None:
        self.connection = connection
        self.login_us = login_us
        self.packets: dict[int, PacketBuilder] = {}
        self.rows: dict[int, ReadRows] = {}
        self.prepared: dict[int, PreparedHandle] = {}
        self.session_sql: tuple[str, ...] = ()

    async def set_up(self, context: AnyContext) -> None:
        """Applies the load's present session settings to the connection; a refusal is counted."""
        self.session_sql = context.session_sql
        before = self.connection.statements
        try:
            for sql in self.session_sql:
                await self.connection.execute(sql)
        except ConnectionLostError:
            raise
        except SQLError as error:
            context.recorder.counters.count_error(error.code)
        finally:
            context.recorder.other_questions += self.connection.statements - before

    async def close(self, context: AnyContext) -> None:
        """Closes the connection; the server counts COM_QUIT as a question."""
        context.recorder.other_questions += self.connection.is_open
        await self.connection.close()


async def open_prepared_connection(
    context: AnyContext,
    number: int,
    needed: Collection[int] | None,
    *,
    waits_for_slot: bool,
    is_leaving: Callable[[], bool],
    chance: Callable[[], float],
) -> PreparedConnection | None:
    """Returns a ready connection with the `needed` statements (None: all); None if it has to leave before.

    With several servers, connection `number` uses them in turn. While the server is unavailable, it retries
    with a growing back-off. Raises TooManyConnections when the server accepts no more connections, unless
    this one `waits_for_slot`. Raises TuibenchError for errors that a retry would not change, unless the load
    has begun and continues after errors.
    """
    attempt = 0
    while not is_leaving():
        try:
            async with context.opening:
                return await _open(context, number, needed)
        except SQLError as error:
            if error.code in TOO_MANY_CONNECTIONS_CODES and not waits_for_slot:
                context.recorder.counters.count_refusal(error.code)
                raise TooManyConnections from error
            if error.code not in TRANSIENT_CODES:
                if not context.outlives_refusals:
                    raise
                context.recorder.counters.count_error(error.code)
            context.last_refusal = str(error)
        except ServerBusyError as error:
            context.last_refusal = str(error)
        except ServerUnreachableError as error:
            context.recorder.counters.count_error(CLIENT_CANNOT_CONNECT)
            context.last_refusal = str(error)
        except ServerUnavailableError as error:
            if not context.outlives_refusals:
                raise
            context.recorder.counters.count_error(error.code or CLIENT_CANNOT_CONNECT)
            context.last_refusal = str(error)
        await context.clock.sleep(backoff_seconds(attempt, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, chance()))
        attempt += 1
    return None


async def _open(context: AnyContext, number: int, needed: Collection[int] | None) -> PreparedConnection:
    since_ns = context.clock.now_ns()
    connection = await context.connect(context.target.for_connection(number))
    conn = PreparedConnection(connection, (context.clock.now_ns() - since_ns) // 1000)
    try:
        for sql in context.execution.session_sql:
            await conn.connection.execute(sql)
        context.recorder.other_questions += conn.connection.statements
        await conn.set_up(context)
        await _prepare_statements(
            context, conn, range(len(context.statements)) if needed is None else sorted(needed)
        )
    except (SQLError, asyncio.CancelledError):
        await conn.close(context)
        raise
    return conn


async def _prepare_statements(context: AnyContext, conn: PreparedConnection, indexes: Sequence[int]) -> None:
    """Prepares statements, or sends them as text on request or if the server accepts no more."""
    flat, connection, fixed = context.statements, conn.connection, context.fixed_packets
    if len(fixed) == len(flat):
        conn.packets = fixed
        return
    conn.packets.update(fixed)
    indexes = [index for index in indexes if index not in fixed]
    wanted = [index for index in indexes if flat[index].prepared and context.execution.prepared]
    made = await connection.prepare_all([flat[index].sql for index in wanted]) if wanted else []
    prepared = dict(zip(wanted, made, strict=True))
    for index in indexes:
        statement = _prepared_or_text(context, prepared.get(index)) or TextStatement(
            connection, flat[index].sql
        )
        conn.packets[index] = statement.packet
        if isinstance(statement, PreparedStatement):
            conn.prepared[index] = statement.prepared
        if flat[index].captures:
            statement.rows.most_values = MAX_ITEMS
            conn.rows[index] = statement.rows.read


def _prepared_or_text(
    context: AnyContext, made: PreparedStatement | SQLError | None
) -> PreparedStatement | None:
    """The prepared statement, None if it is to be sent as text. Raises the server's error otherwise."""
    if not isinstance(made, SQLError):
        return made
    if made.code not in (ER_MAX_PREPARED_STMT_COUNT_REACHED, ER_UNSUPPORTED_PS):
        raise made
    if made.code == ER_MAX_PREPARED_STMT_COUNT_REACHED:
        context.recorder.counters.count_refusal(made.code)
    return None
