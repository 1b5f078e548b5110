"""Opening a connection of the load: log in, set it up, prepare its statements, try as long as it helps."""

import asyncio
from collections.abc import Callable, Collection, Sequence

from tuibench.errors import ConnectionLostError, ServerAwayError, ServerBusyError, SQLError
from tuibench.load.work import Work
from tuibench.mysql.connection import Connection, Packet, Statement, TextStatement
from tuibench.mysql.errors import (
    CLIENT_CANNOT_CONNECT,
    CONNECTION_LOST_CODES,
    TOO_MANY_CONNECTIONS_CODES,
)
from tuibench.workload.generate import Rows

TOO_MANY_PREPARED = 1461
CANNOT_BE_PREPARED = 1295
"""Some statements (USE, LOCK TABLES on some servers) are only taken as text."""

PASSING_CODES = CONNECTION_LOST_CODES | TOO_MANY_CONNECTIONS_CODES
"""What a login may meet while a server goes down and comes back."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0

ReadRows = Callable[[bytes], Rows]
"""Reads the rows of an answer to a statement."""


class Refused(Exception):  # noqa: N818
    """The server takes no more connections."""


def back_off(attempt: int, first_seconds: float, longest_seconds: float, chance: float) -> float:
    """Seconds to wait before attempt n (from 0): doubling, capped, and spread by a chance in [0, 1)."""
    doublings = min(attempt, 32)
    return float(min(longest_seconds, first_seconds * 2**doublings) * (0.5 + chance / 2))


class Line:
    """A connection that is ready for work, with each flat statement that it may be asked for.

    `rows` reads the answers to those that capture.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.packets: dict[int, Packet] = {}
        self.rows: dict[int, ReadRows] = {}
        self.session_sql: tuple[str, ...] = ()

    async def set_up(self, work: Work) -> None:
        """Gives the connection what the others of the workload have by now; a refusal is counted."""
        self.session_sql = work.session_sql
        before = self.connection.statements
        try:
            for sql in self.session_sql:
                await self.connection.execute(sql)
        except ConnectionLostError:
            raise
        except SQLError as error:
            work.recorder.counters.count_error(error.code)
        finally:
            work.recorder.unanswered += self.connection.statements - before

    async def close(self, work: Work) -> None:
        """Says goodbye, which the server counts as a question."""
        work.recorder.unanswered += self.connection.is_open
        await self.connection.close()


async def open_line(
    work: Work,
    number: int,
    needed: Collection[int] | None,
    *,
    is_patient: bool,
    is_leaving: Callable[[], bool],
    chance: Callable[[], float],
) -> Line | None:
    """A ready connection with the `needed` statements (None: all); None if told to leave meanwhile.

    With several servers, connection `number` has its own by turns. While the server is away it tries again
    with a growing back-off. Raises Refused when the server takes no more connections, unless this one
    `is_patient`: its place comes free. Raises TuibenchError for what another try would not mend.
    """
    attempt = 0
    while not is_leaving():
        try:
            async with work.opening:
                return await _log_in(work, number, needed)
        except SQLError as error:
            if error.code in TOO_MANY_CONNECTIONS_CODES and not is_patient:
                work.recorder.counters.count_refusal(error.code)
                raise Refused from error
            if error.code not in PASSING_CODES:
                raise
            work.last_refusal = str(error)
        except ServerBusyError as error:
            work.last_refusal = str(error)
        except ServerAwayError as error:
            work.recorder.counters.count_error(CLIENT_CANNOT_CONNECT)
            work.last_refusal = str(error)
        await work.clock.sleep(back_off(attempt, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, chance()))
        attempt += 1
    return None


async def _log_in(work: Work, number: int, needed: Collection[int] | None) -> Line:
    line = Line(await work.connect(work.target.for_connection(number)))
    try:
        for sql in work.rules.session_sql:
            await line.connection.execute(sql)
        work.recorder.unanswered += line.connection.statements
        await line.set_up(work)
        await _make_ready(work, line, range(len(work.statements)) if needed is None else sorted(needed))
    except (SQLError, asyncio.CancelledError):
        await line.close(work)
        raise
    return line


async def _make_ready(work: Work, line: Line, indexes: Sequence[int]) -> None:
    """Prepares statements, or has them sent as text where that is wanted, or the server takes no more."""
    flat, connection, fixed = work.statements, line.connection, work.fixed_packets
    if len(fixed) == len(flat):
        line.packets = fixed
        return
    line.packets.update(fixed)
    indexes = [index for index in indexes if index not in fixed]
    wanted = [index for index in indexes if flat[index].prepared and work.rules.prepared]
    made = await connection.prepare_all([flat[index].sql for index in wanted]) if wanted else []
    prepared = dict(zip(wanted, made, strict=True))
    for index in indexes:
        statement = _usable(work, prepared.get(index)) or TextStatement(connection, flat[index].sql)
        line.packets[index] = statement.packet
        if flat[index].captures:
            line.rows[index] = statement.rows.read


def _usable(work: Work, made: Statement | SQLError | None) -> Statement | None:
    """The prepared statement, None if it is to be sent as text; raises what is wrong with it."""
    if not isinstance(made, SQLError):
        return made
    if made.code not in (TOO_MANY_PREPARED, CANNOT_BE_PREPARED):
        raise made
    if made.code == TOO_MANY_PREPARED:
        work.recorder.counters.count_refusal(made.code)
    return None
