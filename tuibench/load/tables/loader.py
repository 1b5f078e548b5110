"""Table loader: creates tables, fills them in parallel pieces, and creates the indexes.

`insert_methods` decides how rows are sent. A load that fails or is cancelled drops its unfinished tables, so
that no partial table is taken for a complete one.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from random import Random
from time import perf_counter
from typing import NamedTuple

import msgspec

from tuibench.errors import ConnectionLostError, RunError, SQLError, TuibenchError
from tuibench.load.tables.insert_methods import (
    ROW_FORMATS,
    InsertMethod,
    RowSender,
    is_method_refused,
    supported_methods,
)
from tuibench.load.tables.inspect_tables import table_list
from tuibench.load.tables.parallel import kill_connection, run_all
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET, Connection
from tuibench.mysql.info import server_value
from tuibench.mysql.session_defaults import Manner, connect_with_defaults
from tuibench.workload.datasets import DataSet


class RowChunk(NamedTuple):
    """A range of rows of one table for one connection: `rows` ids from `first` on."""

    table: str
    first: int
    rows: int


def chunks_of(spec: DataSet, parallel: int) -> list[RowChunk]:
    """The rows of a data set in pieces, table by table."""
    names = spec.table_names()
    if not any(map(spec.chunk_rows, names)):
        return split_into_chunks(names, spec.size(names[0]), parallel)
    return [
        piece for name in names for piece in _fixed_size_chunks(name, spec.size(name), spec.chunk_rows(name))
    ]


def _fixed_size_chunks(table: str, size: int, step: int) -> list[RowChunk]:
    return [
        RowChunk(table, first, min(step, size + 1 - first))
        for first in range(1, max(size, 1) + 1, step or size)
    ]


def split_into_chunks(tables: Sequence[str], table_size: int, parallel: int) -> list[RowChunk]:
    """One piece per table, except that the last tables are split so that no connection is idle.

    Ten tables on four connections: eight complete ones, and the last two in halves. An empty table is one
    piece without rows.
    """
    whole = len(tables) // parallel * parallel
    rest = len(tables) - whole
    cuts = -(-parallel // rest) if rest else 1
    parts = [RowChunk(table, 1, table_size) for table in tables[:whole]]
    for table in tables[whole:]:
        parts += _split_table(table, table_size, max(1, min(cuts, table_size)))
    return parts


def _split_table(table: str, table_size: int, cuts: int) -> list[RowChunk]:
    edges = [table_size * cut // cuts for cut in range(cuts + 1)]
    return [RowChunk(table, low + 1, high - low) for low, high in pairwise(edges)]


TRANSACTION_BYTES = 4 * 1024 * 1024
"""Target size of a transaction: few log flushes, and not too large for replicas."""

UNSUPPORTED_CLIENT_CHARSETS = frozenset({"ucs2", "utf16", "utf16le", "utf32"})
"""Character sets that are not supersets of ASCII; servers do not accept them from clients."""


class LoadProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a load, `seconds` after its start. A table is complete when it has its index."""

    rows: int
    total_rows: int
    tables: int
    seconds: float

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0


class LoadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a load: connections, insert method, binary logging."""

    parallel: int = 4
    insert_method: InsertMethod = "auto"
    binlog: bool = True
    seed: int = 0


class TableLoader:
    """One load of a data set. `rows` and `seconds` are its progress.

    `accepted` is called after the server has created the first table: writes are allowed. `cleanup` is the
    command that drops the tables.
    """

    def __init__(
        self,
        target: Target,
        spec: DataSet,
        method: LoadOptions,
        largest_packet: int,
        report: Callable[[LoadProgress], None],
    ) -> None:
        self._target = target
        self._spec = spec
        self._method = method
        self._largest_packet = largest_packet
        self._pieces = chunks_of(spec, max(1, method.parallel))
        self._parallel = min(max(1, method.parallel), len(self._pieces))
        self._charset = CHARSET
        self._report = report
        self.accepted: Callable[[], None] = lambda: None
        self.cleanup = "DROP TABLE"
        self._connections: list[Connection] = []
        self._unfinished: set[str] = set()
        self._pieces_left = dict.fromkeys(spec.table_names(), 0)
        for piece in self._pieces:
            self._pieces_left[piece.table] += 1
        self._total_rows = sum(map(spec.size, spec.table_names()))
        self._tables = 0
        self._methods: list[InsertMethod] = [method.insert_method]
        self._started = perf_counter()
        self.rows = 0

    @property
    def seconds(self) -> float:
        return perf_counter() - self._started

    @property
    def insert_method(self) -> InsertMethod:
        """The present insert method."""
        return self._methods[0]

    async def run(self) -> None:
        """Loads everything; on failure or cancellation drops the unfinished tables."""
        try:
            await self._load()
        except BaseException as error:
            for connection in self._connections:
                connection.abort()
            await self._drop_unfinished(error)
            raise
        for connection in self._connections:
            await connection.close()

    async def _load(self) -> None:
        await run_all(self._connect() for _ in range(self._parallel))
        self._methods = await supported_methods(self._connections[0], self._method.insert_method)
        names = iter(self._spec.table_names())
        # The first table alone: an error with it applies to all.
        await self._create(self._connections[0], islice(names, 1))
        self.accepted()
        await run_all(self._create(connection, names) for connection in self._connections)
        work = iter(self._pieces)
        await run_all(self._fill(connection, work) for connection in self._connections)
        await self._constrain()

    async def _connect(self) -> None:
        connection = await connect_with_defaults(self._target, sends_rows=True, manner=Manner.WORKS)
        self._connections.append(connection)
        if not self._method.binlog:
            await connection.execute("SET SESSION sql_log_bin=0")

    async def _create(self, connection: Connection, names: Iterator[str]) -> None:
        """Creates tables until there are no more names.

        A table counts as created from the request on, unless the server reports that it was not created.
        """
        for table in names:
            self._unfinished.add(table)
            try:
                await connection.execute(self._spec.create_sql(table))
            except ConnectionLostError:
                raise
            except SQLError:
                self._unfinished.discard(table)
                raise

    async def _fill(self, connection: Connection, work: Iterator[RowChunk]) -> None:
        await connection.execute("SET SESSION autocommit=0")
        self._charset = await _use_table_charset(connection)
        for piece in work:
            if piece.rows:
                await self._send(connection, piece)
            self._pieces_left[piece.table] -= 1
            if not self._pieces_left[piece.table]:
                await self._finish(connection, piece.table)

    async def _constrain(self) -> None:
        """Constraints between tables. The tables are unfinished until these exist."""
        for sql in self._spec.constraint_sql():
            await self._connections[0].execute(sql)
        self._unfinished.clear()

    async def _send(self, connection: Connection, piece: RowChunk) -> None:
        """Sends one piece; uses the next method if the server refuses this one before the first row."""
        while True:
            insert_method = self.insert_method
            try:
                return await self._send_by(insert_method, connection, piece)
            except SQLError as error:
                if not is_method_refused(error, insert_method) or (
                    insert_method == self.insert_method and len(self._methods) == 1
                ):
                    raise
            if insert_method == self.insert_method:
                self._methods.pop(0)

    async def _send_by(self, insert_method: InsertMethod, connection: Connection, piece: RowChunk) -> None:
        """Sends the rows of one piece. Their values depend only on seed, piece and method."""
        stream = Random(f"tuibench:{self._method.seed}:{piece.table}:{piece.first}")
        rows = self._spec.rows(piece.table, stream, ROW_FORMATS[insert_method])
        sender = RowSender(
            insert_method,
            connection,
            piece.table,
            rows,
            largest_packet=self._largest_packet,
            charset=self._charset,
        )
        per_transaction = max(1, TRANSACTION_BYTES // rows.row_bytes)
        end = piece.first + piece.rows
        for first in range(piece.first, end, per_transaction):
            await sender.send(first, min(per_transaction, end - first), self._sent)
            await connection.execute("COMMIT")
        await sender.close()

    def _sent(self, rows: int) -> None:
        self.rows += rows
        self._report_progress()

    async def _finish(self, connection: Connection, table: str) -> None:
        if sql := self._spec.index_sql(table):
            await connection.execute(sql)
        if not self._spec.constraint_sql():
            self._unfinished.discard(table)
        self._tables += 1
        self._report_progress()

    def _report_progress(self) -> None:
        self._report(
            LoadProgress(
                rows=self.rows,
                total_rows=self._total_rows,
                tables=self._tables,
                seconds=self.seconds,
            )
        )

    async def _drop_unfinished(self, cause: BaseException) -> None:
        """Kills the connections' statements on the server, then drops the tables."""
        if not self._unfinished:
            return
        tables = [table for table in self._spec.table_names() if table in self._unfinished]
        try:
            connection = await connect_with_defaults(self._target)
            for loader in self._connections:
                await kill_connection(connection, loader.thread_id)
            await connection.execute(f"DROP TABLE IF EXISTS {', '.join(tables)}")
            await connection.close()
        except TuibenchError as error:
            raise RunError(
                f"the load ended early ({str(cause) or 'interrupted'}); {table_list(tables)} is partly "
                f"loaded and could not be dropped: {error.message}",
                f"when the server is back, drop the tables with: {self.cleanup}",
            ) from cause


async def _use_table_charset(connection: Connection) -> str:
    """Sets the connection's character set and returns it.

    The tables' character set saves the server a conversion of every value: 4 of 15 µs per row on MariaDB with
    latin1 tables. All values are ASCII, so every client character set is suitable.
    """
    charset = await server_value(connection, "character_set_database")
    if charset is None or charset in UNSUPPORTED_CLIENT_CHARSETS:
        return CHARSET
    await connection.execute(f"SET NAMES {charset}")
    return charset
