"""What is in effect on a server beside its variables, read once per start: redo log, performance_schema,
the connection's character set, and the tables of a load with their statistics.

These are readings. What they mean, and which of them make a comparison unfair, is decided in `compare.audit`.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence

from tuibench.model.counters import Counter
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.settings import ServerVariable
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import query_if_allowed

MOST_DEFINITIONS, MOST_TABLES = 20, 500
"""Tables whose definition is read, and whose rows are."""

_REDO = (str(Counter.REDO_LOG_CAPACITY), str(ServerVariable.REDO_LOG_ENABLED))
_REDO_SQL = f"SHOW GLOBAL STATUS WHERE Variable_name IN {_REDO}"
_CONSUMERS_SQL = "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' ORDER BY NAME"
_INSTRUMENTS_SQL = """
SELECT DISTINCT SUBSTRING_INDEX(NAME, '/', IF(NAME LIKE 'wait/%', 2, 1)) AS kind
FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' ORDER BY kind
"""
_COLLATIONS_SQL = """
SELECT DISTINCT COLLATION_NAME FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME IN ({names}) AND COLLATION_NAME IS NOT NULL ORDER BY 1
"""
_ROWS_SQL = """
SELECT TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES
WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME IN ({names})
"""
_STATISTICS_SQL = """
SELECT table_name, n_rows, UNIX_TIMESTAMP() - UNIX_TIMESTAMP(last_update) FROM mysql.innodb_table_stats
WHERE database_name = {schema} AND table_name IN ({names})
"""


async def read_in_effect(
    connection: Connection, server: ServerInfo, variables: Mapping[str, str], tables: Sequence[str] = ()
) -> dict[str, str]:
    """Readings by name; one that the server does not have, or refuses to this login, is absent."""
    found = {
        str(name).lower(): str(value) for name, value in await query_if_allowed(connection, _REDO_SQL) or ()
    }
    for row in await query_if_allowed(connection, "SELECT @@SESSION.collation_connection") or ():
        found["connection_collation"] = str(row[0])
    if variables.get("performance_schema", "").upper() == "ON":
        for name, sql in (("consumers", _CONSUMERS_SQL), ("instruments", _INSTRUMENTS_SQL)):
            if (rows := await query_if_allowed(connection, sql)) is not None:
                found[name] = ", ".join(str(row[0]) for row in rows)
    return found | (await _tables(connection, server, tables[:MOST_TABLES]) if tables else {})


async def _tables(connection: Connection, server: ServerInfo, tables: Sequence[str]) -> dict[str, str]:
    """Definitions, collations, rows and statistics of those that exist."""
    if server.flavour is Flavour.MYSQL:
        # MySQL's information_schema repeats the rows of up to a day ago.
        await query_if_allowed(connection, "SET SESSION information_schema_stats_expiry = 0")
    chosen = {
        "schema": connection.quote(connection.target.database),
        "names": ", ".join(map(connection.quote, tables)),
    }
    rows = await query_if_allowed(connection, _ROWS_SQL.format(**chosen))
    known = {str(name): int(count or 0) for name, count in rows or ()}
    if not known:
        return {}
    found = {
        "rows": str(sum(known.values())),
        "tables": str(len(known)),
        "definitions": await _definitions(connection, [name for name in tables if name in known]),
    }
    if collations := await query_if_allowed(connection, _COLLATIONS_SQL.format(**chosen)):
        found["table_collations"] = ", ".join(str(row[0]) for row in collations)
    statistics = await query_if_allowed(connection, _STATISTICS_SQL.format(**chosen))
    if statistics is not None:
        found["tables_with_statistics"] = str(len(statistics))
        found["rows_in_statistics"] = str(sum(int(count) for _, count, _ in statistics))
        if statistics:
            found["statistics_age_seconds"] = str(max(int(age) for *_, age in statistics))
    return found


async def _definitions(connection: Connection, tables: Sequence[str]) -> str:
    """A digest of the tables' definitions, which does not depend on the server's way to write them."""
    digest = hashlib.sha256()
    for table in tables[:MOST_DEFINITIONS]:
        name = f"{_quoted(connection.target.database)}.{_quoted(table)}"
        for row in await query_if_allowed(connection, f"SHOW CREATE TABLE {name}") or ():
            digest.update(plain_definition(str(row[1])).encode())
    return digest.hexdigest()[:12]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


_SPELLING = (
    (re.compile(r" (?:auto_increment|stats_\w+)=\d+"), ""),
    (re.compile(r"\b((?:tiny|small|medium|big)?int)\(\d+\)"), r"\1"),
    (re.compile(r" (?:default )?(?:charset|collate|character set)[= ]\w+"), ""),
    (re.compile(r"'(-?\d+(?:\.\d+)?)'"), r"\1"),
    (re.compile(r"current_timestamp\(\)"), "current_timestamp"),
    (re.compile(r" default null\b"), ""),
    (re.compile(r"\s+"), " "),
)
"""What servers write differently about the same table; character sets are a reading of their own."""


def plain_definition(statement: str) -> str:
    """SHOW CREATE TABLE, without what servers write differently about the same table."""
    text = statement.lower()
    for pattern, plain in _SPELLING:
        text = pattern.sub(plain, text)
    return text
