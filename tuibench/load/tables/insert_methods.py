"""Insert methods for loading tables, fastest first.

bulk    thousands of parameter sets in one packet (MariaDB); the server parses nothing
infile  LOAD DATA LOCAL, if the server allows it (local_infile)
insert  multi-row INSERTs as text: works on every server
"""

import asyncio
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Literal

from tuibench.errors import RunError, SQLError, UsageError
from tuibench.mysql.bulk import (
    BULK_REFUSED_CODES,
    LOCAL_INFILE_REFUSED_CODES,
    BulkStatement,
    load_data,
    supports_bulk,
)
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import server_value
from tuibench.workload.datasets.base import RowFormat, RowSource

InsertMethod = Literal["auto", "bulk", "infile", "insert"]
INSERT_METHODS: tuple[InsertMethod, ...] = ("auto", "bulk", "infile", "insert")

ROW_FORMATS: dict[InsertMethod, RowFormat] = {
    "bulk": RowFormat.BULK,
    "infile": RowFormat.TABBED,
    "insert": RowFormat.SQL,
}

REFUSED_CODES = {"bulk": BULK_REFUSED_CODES, "infile": LOCAL_INFILE_REFUSED_CODES}

STATEMENT_BYTES = 256 * 1024
"""Target size of a statement: round trips are negligible, and the parser's memory stays in cache."""

INFILE_BLOCK_BYTES = 64 * 1024

OnRowsSent = Callable[[int], None]
"""Called with the number of rows that the server has accepted."""


async def supported_methods(connection: Connection, wanted: InsertMethod = "auto") -> list[InsertMethod]:
    """The methods that a server supports, fastest first; only `wanted` if it is given.

    Raises UsageError if the server does not support it. The server may still refuse a method: see
    `is_refused`.
    """
    if wanted == "bulk" and not supports_bulk(connection):
        raise UsageError("this server has no bulk statements", "use --load-with=infile or --load-with=insert")
    if wanted != "auto":
        return [wanted]
    allowed = await server_value(connection, "local_infile")
    found: list[InsertMethod] = ["bulk"] if supports_bulk(connection) else []
    return [*found, "infile", "insert"] if int(allowed or 0) else [*found, "insert"]


def is_method_refused(error: SQLError, insert_method: InsertMethod) -> bool:
    """Whether the server refuses the method and has accepted no rows, so that another one may be tried."""
    return error.code in REFUSED_CODES.get(insert_method, ())


class RowSender:
    """Sends the rows of one table over one connection with one method."""

    def __init__(
        self,
        insert_method: InsertMethod,
        connection: Connection,
        table: str,
        rows: RowSource,
        *,
        largest_packet: int,
        charset: str,
    ) -> None:
        self._insert_method = insert_method
        self._connection = connection
        self._rows = rows
        self._table = table
        self._sql = rows.sql(table, charset)
        self._per_statement = max(1, min(STATEMENT_BYTES, largest_packet // 2) // rows.row_bytes)
        self._statement: BulkStatement | None = None

    async def send(self, first: int, count: int, sent: OnRowsSent) -> None:
        """Sends the rows with ids from `first` on, in one or more statements; does not commit.

        Raises RunError if the server has not accepted all rows.
        """
        if self._insert_method == "infile":
            await self._load(first, count)
            sent(count)
            return
        ranges = [
            (start, min(self._per_statement, first + count - start))
            for start in range(first, first + count, self._per_statement)
        ]
        block = self._rows.block(*ranges[0])
        for (_, rows), following in zip_longest(ranges, ranges[1:]):
            response = asyncio.ensure_future(self._insert(block))
            try:
                # The statement is on its way; the next one is written while the server works.
                await asyncio.sleep(0)
                block = self._rows.block(*following) if following else b""
                taken = await response
            except BaseException:
                response.cancel()
                raise
            self._check(taken, rows)
            sent(rows)

    async def close(self) -> None:
        if self._statement is not None:
            await self._statement.close()

    async def _insert(self, block: bytes) -> int:
        if self._insert_method == "insert":
            return await self._connection.execute(self._sql + block.decode("ascii"))
        if self._statement is None:
            self._statement = await BulkStatement.prepare(self._connection, self._sql, self._rows.parameters)
        return await self._statement.execute(block)

    async def _load(self, first: int, count: int) -> None:
        loaded = await load_data(self._connection, self._sql, self._blocks(first, count))
        self._check(loaded.rows, count)
        if loaded.warnings:
            warnings = await self._connection.query("SHOW WARNINGS LIMIT 1")
            raise RunError(
                f"LOAD DATA of {self._table}: {warnings[0][2] if warnings else 'the server warns'}"
            )

    def _blocks(self, first: int, count: int) -> Iterator[bytes]:
        step = max(1, INFILE_BLOCK_BYTES // self._rows.row_bytes)
        for start in range(first, first + count, step):
            yield self._rows.block(start, min(step, first + count - start))

    def _check(self, taken: int, expected: int) -> None:
        if taken != expected:
            raise RunError(
                f"{self._table}: the server took {taken:,} of {expected:,} rows",
                "check that no other client writes to the table",
            )
