"""The load itself: connections that make tables, fill them piece by piece, and index them.

How rows travel is decided in `prepare_ways`. A load that fails or is cancelled drops the tables it has not
finished, so that no half table is taken for a whole one.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from time import perf_counter

import msgspec

from tuibench.errors import ConnectionLostError, RunError, SQLError, TuibenchError
from tuibench.load.prepare_check import named
from tuibench.load.prepare_pieces import Piece, pieces_of
from tuibench.load.prepare_ways import FORMS, Sender, Way, is_refused, ways
from tuibench.load.several import kill, together
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET, Connection
from tuibench.mysql.own import connect_own
from tuibench.workload.datasets import DataSet

TRANSACTION_BYTES = 4 * 1024 * 1024
"""Aimed size of a transaction: few flushes of the logs, and nothing that a replica would choke on."""

NOT_FOR_CLIENTS = frozenset({"ucs2", "utf16", "utf16le", "utf32"})
"""Character sets that are not ASCII's superset; servers refuse them from clients."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a load is, `seconds` after its start. A table counts when it has its index, too."""

    rows: int
    total_rows: int
    tables: int
    seconds: float

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """How a load is done: over how many connections, which way, and whether the binary log hears of it."""

    parallel: int = 4
    way: Way = "auto"
    binlog: bool = True
    seed: int = 0


class Load:
    """One load of a data set. `rows` and `seconds` tell how far it is.

    `accepted` is called when the server has made the first table: it lets us write.
    """

    def __init__(
        self,
        target: Target,
        spec: DataSet,
        method: Method,
        largest_packet: int,
        report: Callable[[Progress], None],
    ) -> None:
        self._target = target
        self._spec = spec
        self._method = method
        self._largest_packet = largest_packet
        self._pieces = pieces_of(spec, max(1, method.parallel))
        self._parallel = min(max(1, method.parallel), len(self._pieces))
        self._charset = CHARSET
        self._report = report
        self.accepted: Callable[[], None] = lambda: None
        self._connections: list[Connection] = []
        self._unfinished: set[str] = set()
        self._pieces_left = dict.fromkeys(spec.table_names(), 0)
        for piece in self._pieces:
            self._pieces_left[piece.table] += 1
        self._total_rows = sum(map(spec.size, spec.table_names()))
        self._tables = 0
        self._ways: list[Way] = [method.way]
        self._started = perf_counter()
        self.rows = 0

    @property
    def seconds(self) -> float:
        return perf_counter() - self._started

    @property
    def way(self) -> Way:
        """How rows travel at the moment."""
        return self._ways[0]

    async def run(self) -> None:
        """Loads everything; when that fails or is cancelled, puts away what is half done and says why."""
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
        await together(self._connect() for _ in range(self._parallel))
        self._ways = await ways(self._connections[0], self._method.way)
        names = iter(self._spec.table_names())
        # One by itself at first: what the server has against it, it has against all.
        await self._create(self._connections[0], islice(names, 1))
        self.accepted()
        await together(self._create(connection, names) for connection in self._connections)
        work = iter(self._pieces)
        await together(self._fill(connection, work) for connection in self._connections)
        await self._constrain()

    async def _connect(self) -> None:
        connection = await connect_own(self._target, sends_rows=True)
        self._connections.append(connection)
        if not self._method.binlog:
            await connection.execute("SET SESSION sql_log_bin=0")

    async def _create(self, connection: Connection, names: Iterator[str]) -> None:
        """Makes tables as long as there are names.

        A table is ours from the moment we ask for it, until the server says that it has not made it.
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

    async def _fill(self, connection: Connection, work: Iterator[Piece]) -> None:
        await connection.execute("SET SESSION autocommit=0")
        self._charset = await _speak_the_tables_charset(connection)
        for piece in work:
            if piece.rows:
                await self._send(connection, piece)
            self._pieces_left[piece.table] -= 1
            if not self._pieces_left[piece.table]:
                await self._finish(connection, piece.table)

    async def _constrain(self) -> None:
        """What ties whole tables to each other. Until that is done, none of them is finished."""
        for sql in self._spec.constraint_sql():
            await self._connections[0].execute(sql)
        self._unfinished.clear()

    async def _send(self, connection: Connection, piece: Piece) -> None:
        """Sends one piece; when the server refuses the way before the first row, in the next best one."""
        while True:
            way = self.way
            try:
                return await self._send_by(way, connection, piece)
            except SQLError as error:
                if not is_refused(error, way) or (way == self.way and len(self._ways) == 1):
                    raise
            if way == self.way:
                self._ways.pop(0)

    async def _send_by(self, way: Way, connection: Connection, piece: Piece) -> None:
        """Sends the rows of one piece. What they hold depends on the seed, the piece and the way alone."""
        stream = Random(f"tuibench:{self._method.seed}:{piece.table}:{piece.first}")
        rows = self._spec.rows(piece.table, stream, FORMS[way])
        sender = Sender(
            way,
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
        self._tell()

    async def _finish(self, connection: Connection, table: str) -> None:
        if sql := self._spec.index_sql(table):
            await connection.execute(sql)
        if not self._spec.constraint_sql():
            self._unfinished.discard(table)
        self._tables += 1
        self._tell()

    def _tell(self) -> None:
        self._report(
            Progress(
                rows=self.rows,
                total_rows=self._total_rows,
                tables=self._tables,
                seconds=self.seconds,
            )
        )

    async def _drop_unfinished(self, cause: BaseException) -> None:
        """Ends what our connections still do on the server, then drops the tables."""
        if not self._unfinished:
            return
        tables = [table for table in self._spec.table_names() if table in self._unfinished]
        try:
            connection = await connect_own(self._target)
            for loader in self._connections:
                await kill(connection, loader.thread_id)
            await connection.execute(f"DROP TABLE IF EXISTS {', '.join(tables)}")
            await connection.close()
        except TuibenchError as error:
            raise RunError(
                f"the load ended early ({str(cause) or 'interrupted'}); {named(tables)} is left half loaded, "
                f"as it could not be dropped: {error.message}",
                "drop the tables with tuibench cleanup when the server is back",
            ) from cause


async def _speak_the_tables_charset(connection: Connection) -> str:
    """Sets the character set of statements from now on, and returns it.

    The tables' own spares the server a conversion of every value: 4 of 15 µs a row on MariaDB with latin1
    tables. All we send is ASCII, so any character set that a client may speak at all will do.
    """
    charset = str((await connection.query("SELECT @@character_set_database"))[0][0])
    if charset in NOT_FOR_CLIENTS:
        return CHARSET
    await connection.execute(f"SET NAMES {charset}")
    return charset
