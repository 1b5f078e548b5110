"""What can be told before a run starts: whether the server has room for the statements it is to prepare."""

import msgspec

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.connection import Connection
from tuibench.workload.program import Program, flat_statements

LARGEST_LIMIT = 4_194_304
"""The most that servers of either flavour take for max_prepared_stmt_count."""


class PreparedRoom(msgspec.Struct, frozen=True):
    """How many prepared statements the server keeps at most, and how many it has now, everybody's."""

    limit: int
    in_use: int

    @property
    def free(self) -> int:
        return max(0, self.limit - self.in_use)


def prepared_statements(program: Program) -> int:
    """How many statements each connection of the load prepares."""
    return sum(statement.prepared for statement in flat_statements(program))


def prepared_warning(room: PreparedRoom, threads: int, statements: int) -> str:
    """What does not fit, what happens then, and what to do; empty if all fits.

    `statements` is how many each of the `threads` connections prepares.
    """
    needed = threads * statements
    if needed <= room.free:
        return ""
    used = f", {room.in_use:,} are in use" if room.in_use else ""
    enough = room.in_use + needed
    remedy = (
        f"SET GLOBAL max_prepared_stmt_count={enough}, or run with --db-ps-mode=disable"
        if enough <= LARGEST_LIMIT
        else "run with --db-ps-mode=disable"
    )
    return (
        f"{threads:,} connections × {statements} prepared statements are {needed:,}, the server keeps "
        f"{room.limit:,}{used}: the rest will be sent as text, which is slower; {remedy}"
    )


async def prepared_room(connection: Connection) -> PreparedRoom | None:
    """Asks the server, with two statements; None where it does not say."""
    limit = await _number(connection, "SHOW GLOBAL VARIABLES LIKE 'max_prepared_stmt_count'")
    in_use = await _number(connection, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
    return None if limit is None or in_use is None else PreparedRoom(limit, in_use)


async def _number(connection: Connection, sql: str) -> int | None:
    try:
        rows = await connection.query(sql)
    except ConnectionLostError:
        raise
    except SQLError:
        return None
    return int(rows[0][1]) if rows else None
