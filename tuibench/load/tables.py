"""Tables of a data set: create, load, inspect, read into the buffer pool, drop.

Insert methods, fastest first:

    bulk    thousands of parameter sets in one packet (MariaDB); the server parses nothing
    infile  LOAD DATA LOCAL, if the server allows it (local_infile)
    insert  multi-row INSERTs as text: works on every server

`TableLoader` creates tables, fills them in parallel pieces, and creates the indexes. A load that fails or is
cancelled drops its unfinished tables, so that no partial table is taken for a complete one.

A table belongs to the data set if its name *and* its columns match. It may have further columns that the
server adds or fills by itself (invisible ones, AUTO_INCREMENT). A run also uses a table of another tool whose
columns accept the same values, and reports the differences; such a table is never dropped. The check reads
only the catalogue and table sizes.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise, zip_longest
from random import Random
from time import perf_counter
from typing import Literal, NamedTuple

import msgspec

from tuibench.base import numerals
from tuibench.base.errors import (
    ConnectionLostError,
    DeniedError,
    NoAnswerError,
    NotReadyError,
    ProtocolError,
    RunError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.load.connections import ER_MAX_PREPARED_STMT_COUNT_REACHED
from tuibench.model.server import Target, for_server
from tuibench.mysql.connection import (
    CHARSET,
    BulkStatement,
    Connection,
    connect,
    load_data,
    supports_bulk,
)
from tuibench.mysql.errors import NoDatabaseError, is_refused_command, is_unsupported
from tuibench.mysql.info import (
    READ_ONLY_BYPASS_WARNING,
    Manner,
    connect_with_defaults,
    is_read_only,
    server_value,
)
from tuibench.workload.dataset import DataSet, RowFormat, RowSource, SizeCheck, build_data_set
from tuibench.workload.program import FlatStatement, Program, flat_statements
from tuibench.workload.sql import split_at_placeholders, syntax_error_position

InsertMethod = Literal["auto", "bulk", "infile", "insert"]
INSERT_METHODS: tuple[InsertMethod, ...] = ("auto", "bulk", "infile", "insert")

ROW_FORMATS: dict[InsertMethod, RowFormat] = {
    "bulk": RowFormat.BULK,
    "infile": RowFormat.TABBED,
    "insert": RowFormat.SQL,
}

STATEMENT_BYTES = 256 * 1024
"""Target size of a statement: round trips are negligible, and the parser's memory stays in cache."""

INFILE_BLOCK_BYTES = 64 * 1024


async def supported_methods(connection: Connection, wanted: InsertMethod = "auto") -> list[InsertMethod]:
    """The methods that a server supports, fastest first; only `wanted` if it is given. The server may still
    refuse a method.

    Raises UsageError if the server does not support `wanted`.
    """
    if wanted == "bulk" and not supports_bulk(connection):
        raise UsageError("this server has no bulk statements", "use --load-with=infile or --load-with=insert")
    if wanted != "auto":
        return [wanted]
    allowed = await server_value(connection, "local_infile")
    found: list[InsertMethod] = ["bulk"] if supports_bulk(connection) else []
    return [*found, "infile", "insert"] if numerals.count(allowed) else [*found, "insert"]


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
        self.has_sent = False
        """True once the server has accepted rows, or asked for them."""

    @property
    def row_bytes(self) -> int:
        """The encoded size of one row."""
        return self._rows.row_bytes

    async def send(self, first: int, count: int, sent: Callable[[int], None]) -> None:
        """Sends the rows with ids from `first` on, in one or more statements; does not commit.

        Raises RunError if the server has not accepted all rows.
        """
        if self._insert_method == "infile":
            await self._load(first, count)
            self.has_sent = True
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
                # While the server executes the statement, the next one is encoded.
                await asyncio.sleep(0)
                block = self._rows.block(*following) if following else b""
                taken = await response
            except BaseException:
                response.cancel()
                raise
            self.has_sent = True
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
        self.has_sent = True
        step = max(1, INFILE_BLOCK_BYTES // self._rows.row_bytes)
        for start in range(first, first + count, step):
            yield self._rows.block(start, min(step, first + count - start))

    def _check(self, taken: int, expected: int) -> None:
        if taken != expected:
            raise RunError(
                f"{self._table}: the server took {taken:,} of {expected:,} rows",
                "check that no other client writes to the table",
            )


ER_NO_SUCH_THREAD = 1094


async def run_all(coroutines: Iterable[Coroutine[None, None, None]]) -> None:
    """Runs all concurrently; the first error cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def kill_connection(connection: Connection, thread_id: int) -> None:
    """Kills another connection on the server; it may have ended already."""
    try:
        await connection.execute(f"KILL {thread_id}")
    except SQLError as error:
        if error.code != ER_NO_SUCH_THREAD:
            raise


async def abort_and_kill(target: Target, connections: Iterable[Connection]) -> None:
    """Closes connections during their work, and kills them on the server, if it is reachable."""
    connections = list(connections)
    for connection in connections:
        connection.abort()
    try:
        other = await connect_with_defaults(target)
        for connection in connections:
            await kill_connection(other, connection.thread_id)
        await other.close()
    except TuibenchError:
        return


MAX_NAMED_TABLES = 4
"""The number of tables that a message names."""

ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE = 1054, 1146

_DISPLAY_WIDTH = re.compile(r"^((?:big)?int)\(\d+\)")

_CATALOGUE = """
SELECT t.table_name, t.table_type, t.create_options, c.column_name, c.column_type, c.extra
FROM information_schema.tables t
LEFT JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
WHERE t.table_schema = DATABASE() AND """


BASE_TABLE, SYSTEM_VERSIONED = "BASE TABLE", "SYSTEM VERSIONED"
_FILLED_BY_SERVER = re.compile("invisible|auto_increment", re.IGNORECASE)
_TYPE = re.compile(r"([a-z]+)(?:\((\d+)[,\d]*\))?(.*)")

WIDER = {
    "int": ("int", "bigint"),
    "char": ("char", "varchar", "text", "mediumtext", "longtext"),
    "varchar": ("varchar", "char", "text", "mediumtext", "longtext"),
    "datetime": ("datetime", "timestamp"),
}
"""Types of columns that accept the values of a data set's type, by that type. Any other type accepts only its
own.
"""


class FoundTables(NamedTuple):
    """Tables with the names of a data set."""

    ours: frozenset[str]
    """Those that have its columns."""
    foreign: frozenset[str]
    """Those that have other columns. A foreign table without a remark cannot be used."""
    remarks: dict[str, str]
    """How a table that a run can use differs from tuibench's own."""

    @property
    def usable(self) -> frozenset[str]:
        return self.ours | self.remarks.keys()


class FoundColumn(NamedTuple):
    """A column of the catalogue."""

    name: str
    type: str
    is_filled: bool
    """True if the server fills the column unless a statement names it."""


def columns_unlike(wanted: Mapping[str, str], found: Sequence[FoundColumn]) -> list[str] | None:
    """How columns differ from those of a data set, apart from those that the server fills; empty if they are
    the same.

    None if they do not accept the same values.
    """
    by_name = {column.name.lower(): column for column in found}
    if any(name not in by_name for name in wanted):
        return None
    if not all(column.is_filled for name, column in by_name.items() if name not in wanted):
        return None
    unlike = []
    for name, kind in wanted.items():
        column = by_name[name]
        if not _takes_values_of(column.type, kind):
            return None
        if (column.name, column.type) != (name, kind):
            unlike.append(f"{column.name} is {column.type}")
    return unlike


def _takes_values_of(found: str, wanted: str) -> bool:
    (kind, size, _), (own, own_size, _) = (
        match.groups() if (match := _TYPE.match(each)) else (each, None, "") for each in (found, wanted)
    )
    if kind not in WIDER.get(own, (own,)):
        return False
    if own in ("char", "varchar"):
        return size is None or own_size is None or int(size) >= int(own_size)
    return own in WIDER or found == wanted


async def read_catalogue(connection: Connection, spec: DataSet) -> FoundTables:
    """Finds the tables in the connection's database with the data set's names."""
    columns: dict[str, list[FoundColumn]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    try:
        rows = await connection.query(_CATALOGUE + spec.TABLE_NAME_CONDITION)
    except SQLError as error:
        if not is_unsupported(error):
            raise
        return await _catalogue_by_use(connection, spec)
    for table, kind, options, column, column_type, extra in rows:
        if spec.is_table_name(table):
            kinds[table] = kind, options or ""
            found = _DISPLAY_WIDTH.sub(r"\1", column_type or "")
            is_filled = bool(_FILLED_BY_SERVER.search(extra or ""))
            columns.setdefault(table, []).append(FoundColumn(column or "", found, is_filled))
    ours: set[str] = set()
    remarks: dict[str, str] = {}
    for table, (kind, options) in kinds.items():
        unlike = columns_unlike(spec.columns(table), columns[table])
        if unlike is None or kind not in (BASE_TABLE, SYSTEM_VERSIONED):
            continue
        if kind == BASE_TABLE and not unlike:
            ours.add(table)
        unlike += ["it is system-versioned"] * (kind == SYSTEM_VERSIONED)
        unlike += ["it is partitioned"] * ("partitioned" in options.lower())
        if unlike:
            remarks[table] = ", ".join(unlike)
    return FoundTables(frozenset(ours), frozenset(kinds) - ours, remarks)


async def _catalogue_by_use(connection: Connection, spec: DataSet) -> FoundTables:
    """Finds the tables on a server without information_schema: by a SELECT of each table's columns, without
    types.

    Raises the server's error if a table can be neither read nor identified as missing.
    """
    ours, foreign = set(), set()
    for table in spec.table_names():
        names = ", ".join(spec.columns(table))
        try:
            await connection.query(f"SELECT {names} FROM {table} LIMIT 1")  # noqa: S608 (names of our own)
        except SQLError as error:
            if error.code == ER_BAD_FIELD_ERROR:
                foreign.add(table)
            elif error.code != ER_NO_SUCH_TABLE:
                raise
        else:
            ours.add(table)
    return FoundTables(frozenset(ours), frozenset(foreign), {})


async def read_size(connection: Connection, extent: SizeCheck) -> int:
    rows = await connection.query(extent.sql)
    return numerals.count(rows[0][0]) or 0


class MissingTablesError(RunError):
    """None of a program's tables exists yet."""


async def check_tables_present(connection: Connection, program: Program) -> str:
    """Raises RunError, with the command that fixes it, if tables are missing or foreign.

    Returns how tables of another tool differ from tuibench's own; usually empty.
    """
    spec, command = build_data_set(program), prepare_line(program, connection.target)
    found = await read_catalogue(connection, spec)
    where = f"in the database '{connection.target.database}'"
    if taken := [table for table in spec.table_names() if table in found.foreign - found.usable]:
        raise RunError(
            f"{table_list(taken)} {where} does not have the columns of {program.data_set}",
            f"run in another database (--database), and first: {command}",
        )
    names = spec.table_names()
    if missing := [table for table in names if table not in found.usable]:
        problem = f"{table_list(missing)} {where}: no such table"
        if len(missing) == len(names):
            raise MissingTablesError(problem, f"create the tables with: {command}")
        drop = f"drop them with: {cleanup_line(program, connection.target)} and create all with: {command}"
        there = len(names) - len(missing)
        if "tables" in program.options and missing == list(names[there:]):
            raise RunError(problem, f"{there} of {len(names)} exist: run with --tables={there}, or {drop}")
        raise RunError(problem, f"{there} of {len(names)} exist: use another database, or {drop}")
    alike: dict[str, list[str]] = {}
    for table in names:
        if table in found.remarks:
            alike.setdefault(found.remarks[table], []).append(table)
    if not alike:
        return ""
    unlike = "; ".join(f"{table_list(tables)}: {remark}" for remark, tables in alike.items())
    return f"these tables are not like tuibench's own, which affects the figures: {unlike}"


def prepare_line(program: Program, target: Target) -> str:
    """The command line that creates the program's tables on this server."""
    return for_server(build_data_set(program).prepare_command(program.profile), target)


def database_hint(program: Program, target: Target) -> str:
    """How to create a missing database with the program's tables."""
    return f"create it and the tables with: {prepare_line(program, target)} --create-database"


async def connect_to_tables(target: Target, program: Program) -> Connection:
    """Logs in; if the database does not exist, the error has the command that creates it."""
    try:
        return await connect_with_defaults(target)
    except NoDatabaseError as error:
        error.hint = database_hint(program, target)
        raise


def cleanup_line(program: Program, target: Target) -> str:
    """The command line that drops the program's tables."""
    return for_server(build_data_set(program).cleanup_command(program.profile), target)


async def check_tables_ready(connection: Connection, program: Program) -> str:
    """Raises RunError, with the command that fixes it, if tables are missing, foreign or too small.

    Returns how they differ from tuibench's own, and the part that the run does not use; usually empty.
    """
    spec = build_data_set(program)
    command = prepare_line(program, connection.target)
    remark = await check_tables_present(connection, program)
    where = f"in the database '{connection.target.database}'"
    unused = ""
    for table, extent in spec.size_checks().items():
        found = await read_size(connection, extent)
        if found < extent.least:
            raise RunError(
                f"{table} {where} has {found:,} {extent.what}, this run needs {extent.wanted:,}",
                f"run with --{extent.option}={max(found, 1)}, "
                f"or drop the tables with: {cleanup_line(program, connection.target)} "
                f"and create them with: {command}",
            )
        if extent.is_for_use and found > extent.wanted:
            more = f"--{extent.option}={found}"
            unused = f"there are {found:,} {extent.what}, this run uses {extent.wanted:,}: {more} uses all"
    return "; ".join(filter(None, (remark, unused)))


async def check_statements_allowed(connection: Connection, program: Program) -> str:
    """Prepares every statement once, so that the server rejects a statement before the load starts.

    Returns the reason if all statements must be sent as text, because the server, or a proxy in front of it,
    does not prepare them or does not execute prepared ones; usually empty. If the server does not prepare
    single statements, each connection sends only those as text.

    Raises DeniedError for a missing privilege, SQLError with the position for a syntax error.
    """
    refusal: SQLError | None = None
    is_preparing = False
    for flat in flat_statements(program):
        if not flat.prepared:
            continue
        try:
            await connection.prepare(flat.sql)
            is_preparing = True
        except SQLError as error:
            if error.code == ER_MAX_PREPARED_STMT_COUNT_REACHED:
                return ""
            if not is_refused_command(error) or await _is_refused_as_text(connection, flat.sql, error.code):
                place = syntax_error_position(flat.sql, error.message)
                error.message = f"{flat.name}: {error.message}" + (f" ({place})" if place else "")
                raise
            refusal = refusal or error
    if refusal is not None and not is_preparing:
        return f"the server prepares no statements, they are sent as text: {refusal.full_message}"
    if is_preparing or program.script is not None:
        return await _execution_refusal(connection.target)
    return ""


async def _is_refused_as_text(connection: Connection, sql: str, code: int) -> bool:
    """True if the server answers EXPLAIN of the statement, sent as text, with the same error. Then the error
    is about the statement, not about preparing it.
    """
    try:
        await connection.query("EXPLAIN " + "NULL".join(split_at_placeholders(sql)))
    except ConnectionLostError:
        raise
    except SQLError as error:
        return error.code == code
    return False


async def _execution_refusal(target: Target) -> str:
    """Why prepared statements are not executed, although they are prepared; empty if they are.

    The check has a connection of its own, because a proxy may close the connection at the first execution.
    """
    connection = await connect_with_defaults(target)
    try:
        statement = await connection.prepare("SELECT 1")
        await connection.ask(statement.packet(()))
    except (ProtocolError, NoAnswerError, DeniedError, NotReadyError):
        raise
    except SQLError as error:
        if error.code == ER_MAX_PREPARED_STMT_COUNT_REACHED:
            return ""
        return f"the server executes no prepared statements, all are sent as text: {error.full_message}"
    finally:
        await connection.close()
    return ""


async def refused_statements(
    target: Target, statements: Sequence[FlatStatement], *, use_database: bool = True
) -> dict[FlatStatement, str]:
    """The statements that the server refuses to prepare, with its errors. Nothing is executed.

    Statements that the server accepts as text are not included, nor any after the server has no room for more
    prepared statements.
    """
    found: dict[FlatStatement, str] = {}
    for begin in range(0, len(statements), STATEMENTS_PER_CONNECTION):
        connection = await connect(target, use_database=use_database)
        try:
            for flat in statements[begin : begin + STATEMENTS_PER_CONNECTION]:
                try:
                    await connection.prepare(flat.sql)
                except SQLError as error:
                    if error.code == ER_MAX_PREPARED_STMT_COUNT_REACHED:
                        return found
                    if not is_refused_command(error) or await _is_refused_as_text(
                        connection, flat.sql, error.code
                    ):
                        place = syntax_error_position(flat.sql, error.message)
                        found[flat] = error.message + (f" ({place})" if place else "")
        finally:
            await connection.close()
    return found


STATEMENTS_PER_CONNECTION = 1000
"""Statements that are prepared before the connection is closed, which frees them on the server."""


async def check_tables_absent(connection: Connection, program: Program) -> None:
    """Raises RunError, with the fix, if a table to be created exists already."""
    spec = build_data_set(program)
    ours, foreign, _ = await read_catalogue(connection, spec)
    names = spec.table_names()
    existing = [table for table in names if table in ours or table in foreign]
    if not existing:
        return
    where = f"in the database '{connection.target.database}'"
    if taken := [table for table in existing if table in foreign]:
        raise RunError(
            f"{table_list(taken)} {where} exists with other columns than {program.data_set}'s",
            "tuibench does not drop it: use another database with --database NAME --create-database",
        )
    if len(existing) == len(names) and await _are_complete(connection, spec):
        raise RunError(
            f"the tables already exist: {spec.describe()} {where}",
            f"use them for a run, or drop them with: {cleanup_line(program, connection.target)}",
        )
    raise RunError(
        f"{table_list(existing)} {where} exists, but not {spec.describe()}",
        f"drop the old tables first with: {cleanup_line(program, connection.target)}",
    )


async def _are_complete(connection: Connection, spec: DataSet) -> bool:
    for extent in spec.size_checks().values():
        if await read_size(connection, extent) != extent.wanted:
            return False
    return True


def table_list(tables: Iterable[str]) -> str:
    """Some tables by name, and the number of the others: sbtest1, sbtest2 and 14 more."""
    names = list(tables)
    more = len(names) - MAX_NAMED_TABLES
    return ", ".join(names[:MAX_NAMED_TABLES]) + (f" and {more} more" if more > 0 else "")


class RowChunk(NamedTuple):
    """A range of rows of one table for one connection."""

    table: str
    first: int
    """The first id."""
    rows: int
    """The number of ids."""


def chunks_of(spec: DataSet, parallel: int) -> list[RowChunk]:
    """The rows of a data set in pieces, table by table."""
    names = spec.table_names()
    if not any(map(spec.chunk_rows, names)):
        return split_into_chunks(names, spec.size(names[0]), parallel)
    pieces = []
    for name in names:
        size, step = spec.size(name), spec.chunk_rows(name)
        firsts = range(1, max(size, 1) + 1, step or size)
        pieces += [RowChunk(name, first, min(step, size + 1 - first)) for first in firsts]
    return pieces


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
        pieces = max(1, min(cuts, table_size))
        edges = [table_size * cut // pieces for cut in range(pieces + 1)]
        parts += [RowChunk(table, low + 1, high - low) for low, high in pairwise(edges)]
    return parts


TRANSACTION_BYTES = 4 * 1024 * 1024
"""Target size of a transaction: few log flushes, and not too large for replicas."""

UNSUPPORTED_CLIENT_CHARSETS = frozenset({"ucs2", "utf16", "utf16le", "utf32"})
"""Character sets that are not supersets of ASCII; servers do not accept them from clients."""


class LoadProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a load, or its result."""

    rows: int
    total_rows: int
    tables: int
    """The number of complete tables: those with their indexes."""
    seconds: float
    """Since the start of the load."""
    insert_method: InsertMethod = "auto"

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
    """One load of a data set."""

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
        """Called after the server has created the first table, which means that writes are allowed."""
        self.cleanup = "DROP TABLE"
        """The command that drops the tables."""
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
        # The first table is created alone: an error with it applies to all.
        await self._create(self._connections[0], islice(names, 1))
        self.accepted()
        await run_all(self._create(connection, names) for connection in self._connections)
        work = iter(self._pieces)
        await run_all(self._fill(connection, work) for connection in self._connections)
        # The tables are unfinished until the constraints between them exist.
        for sql in self._spec.constraint_sql():
            await self._connections[0].execute(sql)
        self._unfinished.clear()

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
        # The tables' character set saves the server a conversion of every value: 4 of 15 µs per row on
        # MariaDB with latin1 tables. All values are ASCII, so every client character set is suitable.
        charset = await server_value(connection, "character_set_database")
        if charset is not None and charset not in UNSUPPORTED_CLIENT_CHARSETS:
            await connection.execute(f"SET NAMES {charset}")
            self._charset = charset
        for piece in work:
            if piece.rows:
                await self._send(connection, piece)
            self._pieces_left[piece.table] -= 1
            if not self._pieces_left[piece.table]:
                await self._finish(connection, piece.table)

    async def _send(self, connection: Connection, piece: RowChunk) -> None:
        """Sends one piece; uses the next method if the server refuses this one before the first row."""
        while True:
            insert_method = self.insert_method
            sender = self._sender(insert_method, connection, piece)
            try:
                return await self._send_by(sender, connection, piece)
            except SQLError as error:
                if sender.has_sent or not is_refused_command(error):
                    raise
                if insert_method == self.insert_method and len(self._methods) == 1:
                    if insert_method != "insert" and not error.hint:
                        error.hint = "--load-with=insert sends INSERT statements"
                    raise
            if insert_method == self.insert_method:
                self._methods.pop(0)

    def _sender(self, insert_method: InsertMethod, connection: Connection, piece: RowChunk) -> RowSender:
        """The sender of the rows of one piece. Their values depend only on seed, piece and method."""
        stream = Random(f"tuibench:{self._method.seed}:{piece.table}:{piece.first}")
        rows = self._spec.rows(piece.table, stream, ROW_FORMATS[insert_method])
        return RowSender(
            insert_method,
            connection,
            piece.table,
            rows,
            largest_packet=self._largest_packet,
            charset=self._charset,
        )

    async def _send_by(self, sender: RowSender, connection: Connection, piece: RowChunk) -> None:
        per_transaction = max(1, TRANSACTION_BYTES // sender.row_bytes)
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

    @property
    def progress(self) -> LoadProgress:
        return LoadProgress(
            rows=self.rows,
            total_rows=self._total_rows,
            tables=self._tables,
            seconds=self.seconds,
            insert_method=self.insert_method,
        )

    def _report_progress(self) -> None:
        self._report(self.progress)

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


LEAST_PACKET_BYTES = 1 << 20
"""max_allowed_packet if the server does not report it: the smallest default of all servers."""


async def prepare_tables(
    target: Target,
    program: Program,
    *,
    method: LoadOptions | None = None,
    parallel: int = 4,
    progress: Callable[[LoadProgress], None] | None = None,
    create_database: bool = False,
    warn: Callable[[str], None] | None = None,
) -> LoadProgress:
    """Creates and fills the tables of a program on the first server of a target.

    `method` defaults to the fastest insert method over `parallel` connections. `warn` is called, after the
    first table was created, with reasons against loading. Raises RunError, with the fix, if a table exists
    already. On failure or cancellation, unfinished tables are dropped.
    """
    if create_database:
        await ensure_database(target)
    first = await connect_to_tables(target, program)
    try:
        await check_tables_absent(first, program)
        limit = numerals.count(await server_value(first, "max_allowed_packet")) or LEAST_PACKET_BYTES
        read_only = await is_read_only(first)
    finally:
        await first.close()
    spec = build_data_set(program)
    load = TableLoader(
        target, spec, method or LoadOptions(parallel=parallel), limit, progress or (lambda _: None)
    )
    load.cleanup = cleanup_line(program, target)
    if read_only and warn is not None:
        load.accepted = partial(warn, READ_ONLY_BYPASS_WARNING)
    await load.run()
    return load.progress


async def ensure_database(target: Target) -> None:
    """Creates the target's database unless it exists."""
    connection = await connect_with_defaults(target, use_database=False)
    try:
        name = target.database.replace("`", "``")
        await connection.execute(f"CREATE DATABASE IF NOT EXISTS `{name}`")
    finally:
        await connection.close()


INDEXES = (
    "SELECT DISTINCT index_name FROM information_schema.statistics "
    "WHERE table_schema = DATABASE() AND table_name = '{table}' AND index_type = 'BTREE'"
)


async def prewarm_tables(target: Target, program: Program, progress: Callable[[str], None]) -> dict[str, int]:
    """Analyses and reads the program's existing tables; returns their rows. Calls `progress` for each."""
    spec = build_data_set(program)
    connection = await connect_with_defaults(target, manner=Manner.WORKS)
    try:
        found = await read_catalogue(connection, spec)
        tables = dict.fromkeys((table for table in spec.table_names() if table in found.usable), 0)
        for table in tables:
            progress(table)
            await connection.query(f"ANALYZE TABLE {table}")
            for (index,) in await connection.query(INDEXES.format(table=table)):
                rows = await connection.query(f"SELECT COUNT(*) FROM {table} FORCE INDEX (`{index}`)")  # noqa: S608
                tables[table] = numerals.count(rows[0][0]) or 0
    finally:
        await connection.close()
    return tables


class CleanupResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a cleanup."""

    dropped: tuple[str, ...]
    foreign: tuple[str, ...]
    """Tables with the data set's names but other columns; they were kept."""
    missing: tuple[str, ...]
    """Tables that did not exist."""
    others: tuple[str, ...]
    """Tables beyond the requested number; they were kept, too."""


async def drop_tables(
    target: Target, program: Program, warn: Callable[[str], None] | None = None
) -> CleanupResult:
    """Drops the program's tables that have the names and columns of its data set.

    `warn` is called with reasons against dropping them.
    """
    spec = build_data_set(program)
    names = spec.table_names()
    connection = await connect_with_defaults(target, manner=Manner.WORKS)
    try:
        ours, foreign, _ = await read_catalogue(connection, spec)
        dropped = tuple(table for table in names if table in ours)
        for table in dropped:
            await connection.execute(f"DROP TABLE {table}")
        if dropped and warn is not None and await is_read_only(connection):
            warn(READ_ONLY_BYPASS_WARNING)
    finally:
        await connection.close()
    return CleanupResult(
        dropped=dropped,
        foreign=tuple(table for table in names if table in foreign),
        missing=tuple(table for table in names if table not in ours and table not in foreign),
        others=tuple(sorted(ours.difference(names), key=lambda table: (len(table), table))),
    )
