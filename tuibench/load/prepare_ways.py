"""The ways rows travel to a server, the quickest it takes first, and how each sends one transaction.

bulk    parameters by the thousand in one packet (MariaDB); nothing for the server to parse
infile  LOAD DATA LOCAL, where the server allows it (local_infile)
insert  INSERTs of many rows in text: every server takes them
"""

from collections.abc import Callable, Iterator
from typing import Literal

from tuibench.errors import RunError, SQLError, UsageError
from tuibench.mysql.bulk import (
    BULK_REFUSED_CODES,
    INFILE_REFUSED_CODES,
    BulkStatement,
    load_data,
    takes_bulk,
)
from tuibench.mysql.connection import Connection
from tuibench.workload.datasets.base import Form, RowSource

Way = Literal["auto", "bulk", "infile", "insert"]
WAYS: tuple[Way, ...] = ("auto", "bulk", "infile", "insert")

FORMS: dict[Way, Form] = {"bulk": Form.BULK, "infile": Form.TABBED, "insert": Form.SQL}

REFUSED_CODES = {"bulk": BULK_REFUSED_CODES, "infile": INFILE_REFUSED_CODES}

STATEMENT_BYTES = 256 * 1024
"""Aimed size of a statement: round trips do not count any more, and the parser's memory stays in cache."""

INFILE_BLOCK_BYTES = 64 * 1024

Sent = Callable[[int], None]
"""Told how many rows the server has taken."""


async def ways(connection: Connection, wanted: Way = "auto") -> list[Way]:
    """The ways a server takes, the quickest first; only `wanted` if it is one.

    Raises UsageError for one that the server has not. The server may yet refuse one: see `is_refused`.
    """
    if wanted == "bulk" and not takes_bulk(connection):
        raise UsageError("this server has no bulk statements", "use --load-with=infile or --load-with=insert")
    if wanted != "auto":
        return [wanted]
    allowed = await connection.query("SELECT @@local_infile")
    found: list[Way] = ["bulk"] if takes_bulk(connection) else []
    return [*found, "infile", "insert"] if int(allowed[0][0]) else [*found, "insert"]


def is_refused(error: SQLError, way: Way) -> bool:
    """True if another way may do: the server does not take this one, and has taken nothing."""
    return error.code in REFUSED_CODES.get(way, ())


class Sender:
    """Sends the rows of one table over one connection, in the way chosen."""

    def __init__(
        self,
        way: Way,
        connection: Connection,
        table: str,
        rows: RowSource,
        *,
        largest_packet: int,
        charset: str,
    ) -> None:
        self._way = way
        self._connection = connection
        self._rows = rows
        self._table = table
        self._sql = rows.sql(table, charset)
        self._per_statement = max(1, min(STATEMENT_BYTES, largest_packet // 2) // rows.row_bytes)
        self._statement: BulkStatement | None = None

    async def send(self, first: int, count: int, sent: Sent) -> None:
        """Sends the rows with ids from `first` on, in as many statements as it takes; does not commit.

        Raises RunError when the server has taken other than all rows.
        """
        if self._way == "infile":
            await self._load(first, count)
            sent(count)
            return
        for start in range(first, first + count, self._per_statement):
            rows = min(self._per_statement, first + count - start)
            self._check(await self._insert(self._rows.block(start, rows)), rows)
            sent(rows)

    async def close(self) -> None:
        if self._statement is not None:
            await self._statement.close()

    async def _insert(self, block: bytes) -> int:
        if self._way == "insert":
            return await self._connection.execute(self._sql + block.decode("ascii"))
        if self._statement is None:
            self._statement = await BulkStatement.prepare(self._connection, self._sql, self._rows.parameters)
        return await self._statement.execute(block)

    async def _load(self, first: int, count: int) -> None:
        loaded = await load_data(self._connection, self._sql, self._blocks(first, count))
        self._check(loaded.rows, count)
        if loaded.warnings:
            told = await self._connection.query("SHOW WARNINGS LIMIT 1")
            raise RunError(f"LOAD DATA of {self._table}: {told[0][2] if told else 'the server warns'}")

    def _blocks(self, first: int, count: int) -> Iterator[bytes]:
        step = max(1, INFILE_BLOCK_BYTES // self._rows.row_bytes)
        for start in range(first, first + count, step):
            yield self._rows.block(start, min(step, first + count - start))

    def _check(self, taken: int, expected: int) -> None:
        if taken != expected:
            raise RunError(
                f"{self._table}: the server took {taken:,} of {expected:,} rows",
                "does anything else write to the table?",
            )
