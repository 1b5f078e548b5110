"""Statement digests, and the columns that they name, for a profile of a server's traffic."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tuibench.base import numerals
from tuibench.base.clock import Clock
from tuibench.base.errors import RunError, SQLError, UsageError
from tuibench.mysql.connection import Connection
from tuibench.workload.traffic import ColumnFacts, sample_text

SAMPLE_ROWS = 100
PREPARE, EXECUTE = "PREPARE ", "EXECUTE "
"""Prefixes of a prepared statement's text on MySQL; its executions are counted."""

_DIGESTS = """
SELECT DIGEST, DIGEST_TEXT, COUNT_STAR, UNIX_TIMESTAMP(FIRST_SEEN), UNIX_TIMESTAMP(LAST_SEEN)
FROM performance_schema.events_statements_summary_by_digest
WHERE SCHEMA_NAME = {} AND DIGEST_TEXT IS NOT NULL
"""
_COLUMNS = """
SELECT LOWER(TABLE_NAME), LOWER(COLUMN_NAME), LOWER(DATA_TYPE),
  COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COLUMN_KEY
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} ORDER BY TABLE_NAME, ORDINAL_POSITION
"""
_EXECUTIONS = """
SELECT COUNT_STAR FROM performance_schema.events_statements_summary_global_by_event_name
WHERE EVENT_NAME = 'statement/com/Execute' AND @@version LIKE '%MariaDB%'
"""
"""Executions by the binary protocol: MariaDB keeps no digests of them."""


async def read_digests(
    connection: Connection, database: str, seconds: float, clock: Clock
) -> tuple[dict[str, int], float, int]:
    """The digests of the next `seconds`; with 0 those of the server's statistics so far.

    Returns the digests of the database with their counts, most frequent first, the seconds in which they were
    counted, and the number of executions, in all databases, without a digest. Raises RunError if the server
    keeps no digests.
    """
    before = await _read(connection, database) if seconds else {}
    unseen_before = await _executions_without_digest(connection) if seconds else 0
    if seconds:
        await clock.sleep(seconds)
    after = await _read(connection, database)
    unseen = await _executions_without_digest(connection) - unseen_before
    grown: Counter[str] = Counter()
    for digest, one in after.items():
        if not one.text.startswith(PREPARE):
            earlier = before[digest].executions if digest in before else 0
            grown[one.text.removeprefix(EXECUTE)] += one.executions - earlier
    span = seconds or max((one.last for one in after.values()), default=0.0) - min(
        (one.first for one in after.values()), default=0.0
    )
    found = {text: times for text, times in grown.most_common() if times > 0}
    return found, span, unseen


async def _executions_without_digest(connection: Connection) -> int:
    rows = await connection.query(_EXECUTIONS)
    return (numerals.count(rows[0][0]) or 0) if rows else 0


class _Digest(NamedTuple):
    """A statement, as the server has counted it."""

    text: str
    executions: int
    first: float
    """The Unix time of the first execution."""
    last: float


async def _read(connection: Connection, database: str) -> dict[str, _Digest]:
    """The statements of a database, by digest."""
    try:
        rows = await connection.query(_DIGESTS.format(connection.quote(database)))
    except SQLError as error:
        raise RunError(
            f"the server's statement digests cannot be read: {error}",
            "it takes performance_schema=ON and the privilege SELECT on performance_schema.*",
        ) from error
    if not rows and str((await connection.query("SELECT @@GLOBAL.performance_schema"))[0][0]) in ("0", "OFF"):
        raise RunError(
            "the server keeps no statement digests: performance_schema is OFF",
            "use a slow query log with long_query_time=0: tuibench profiles from-slow-log FILE",
        )
    return {
        str(digest): _Digest(str(text), times, begun, ended)
        for digest, text, count, first, last in rows
        if (times := numerals.count(count)) is not None
        and (begun := numerals.amount(first)) is not None
        and (ended := numerals.amount(last)) is not None
    }


async def read_tables(
    connection: Connection, database: str, wanted: Iterable[str]
) -> dict[str, dict[str, ColumnFacts]]:
    """The columns of these tables, with some of their values."""
    columns: dict[str, dict[str, tuple[str, int, str]]] = defaultdict(dict)
    for table, name, kind, length, key in await connection.query(_COLUMNS.format(connection.quote(database))):
        columns[str(table)][str(name)] = (str(kind), numerals.count(length) or 0, str(key))
    return {
        table: await _facts(connection, table, columns[table])
        for table in dict.fromkeys(wanted)
        if table in columns
    }


async def _facts(
    connection: Connection, table: str, columns: dict[str, tuple[str, int, str]]
) -> dict[str, ColumnFacts]:
    name = f"`{table.replace('`', '``')}`"
    rows = await connection.query(f"SELECT * FROM {name} LIMIT {SAMPLE_ROWS}")  # noqa: S608 (quoted)
    found = {}
    for place, (column, (kind, length, key)) in enumerate(columns.items()):
        samples = tuple(
            text for row in rows if place < len(row) and (text := sample_text(row[place])) is not None
        )
        low, high = await _span(connection, name, column, kind, key, samples)
        found[column] = ColumnFacts(kind, length, key in ("PRI", "UNI"), low, high, samples)
    return found


async def _span(
    connection: Connection, table: str, column: str, kind: str, key: str, samples: Sequence[str]
) -> tuple[int | None, int | None]:
    """The smallest and the largest integer: of the whole column if it has an index, else of some rows."""
    if kind not in ("tinyint", "smallint", "mediumint", "int", "bigint"):
        return None, None
    if key:
        quoted = f"`{column.replace('`', '``')}`"
        rows: Sequence[Any] = await connection.query(
            f"SELECT MIN({quoted}), MAX({quoted}) FROM {table}"  # noqa: S608 (quoted)
        )
        ((low, high),) = rows
        return numerals.whole(low), numerals.whole(high)
    numbers = [number for text in samples if (number := numerals.whole(text)) is not None]
    return (min(numbers), max(numbers)) if numbers else (None, None)


def checked_database(database: str) -> str:
    """The database whose traffic is read. Raises UsageError without one."""
    if not database:
        raise UsageError("a database is required", "-D NAME names it")
    return database
