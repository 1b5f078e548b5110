"""What tables are there, whose they are, and whether a program can run on them.

A table is ours if its name *and* its columns are the data set's. Only cheap questions are asked: the
catalogue, and the largest id of each table.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tuibench.errors import RunError, SQLError
from tuibench.load.login import TOO_MANY_PREPARED
from tuibench.mysql.connection import Connection
from tuibench.workload.datasets import data_set
from tuibench.workload.datasets.sbtest import NAME
from tuibench.workload.program import Program, flat_statements

ENOUGH = 0.99
"""A table is large enough with this share of its ids: workloads that delete may have taken the last ones."""

NAMED = 4
"""How many tables a message names before it says "and others"."""

_DISPLAY_WIDTH = re.compile(r"^int\(\d+\)$")

_CATALOGUE = """
SELECT t.table_name, t.table_type, c.column_name, c.column_type
FROM information_schema.tables t
LEFT JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
WHERE t.table_schema = DATABASE() AND t.table_name LIKE 'sbtest%'
"""


class Catalogue(msgspec.Struct, frozen=True):
    """Tables called sbtest and a number: those with the data set's columns, and the others of that name."""

    ours: frozenset[str]
    foreign: frozenset[str]


async def catalogue(connection: Connection, wanted: Mapping[str, str]) -> Catalogue:
    """What the connection's database holds under sbtest's names; ours have the columns wanted."""
    columns: dict[str, dict[str, str]] = {}
    views: set[str] = set()
    for table, kind, column, column_type in await connection.query(_CATALOGUE):
        if not NAME.fullmatch(table):
            continue
        columns.setdefault(table, {})[column] = _DISPLAY_WIDTH.sub("int", column_type or "")
        if kind != "BASE TABLE":
            views.add(table)
    ours = frozenset(table for table, found in columns.items() if found == wanted and table not in views)
    return Catalogue(ours, frozenset(columns) - ours)


async def rows_at_most(connection: Connection, table: str) -> int:
    """The largest id of a table, which is its number of rows as sysbench fills it; 0 when it is empty."""
    rows = await connection.query(f"SELECT MAX(id) FROM {table}")  # noqa: S608 (a name we matched)
    return int(rows[0][0] or 0)


async def check_ready(connection: Connection, program: Program) -> None:
    """Raises RunError, with the command that helps, when tables are missing, foreign or too small."""
    spec = data_set(program)
    command = spec.prepare_command(program.profile)
    found = await catalogue(connection, spec.COLUMNS)
    where = f"in the database '{connection.target.database}'"
    if foreign := [table for table in spec.table_names() if table in found.foreign]:
        raise RunError(
            f"{named(foreign)} {where} has not the columns of {program.data_set}",
            f"run in another database (--database), and first: {command}",
        )
    if missing := [table for table in spec.table_names() if table not in found.ours]:
        raise RunError(f"{named(missing)} {where}: no such table", f"make the tables with: {command}")
    for table in spec.table_names():
        rows = await rows_at_most(connection, table)
        if rows < spec.table_size * ENOUGH:
            raise RunError(
                f"{table} {where} has {rows:,} rows, this run needs {spec.table_size:,}",
                f"run with --table-size={max(rows, 1)}, "
                f"or drop the tables with: {spec.cleanup_command(program.profile)} "
                f"and make them with: {command}",
            )


async def check_allowed(connection: Connection, program: Program) -> None:
    """Has the server prepare every statement once: what this login may not send is refused before the load.

    Raises DeniedError then, or SQLError for a statement that the server does not understand.
    """
    for flat in flat_statements(program):
        if not flat.prepared:
            continue
        try:
            await connection.prepare(flat.sql)
        except SQLError as error:
            if error.code == TOO_MANY_PREPARED:
                return
            raise


async def check_free(connection: Connection, program: Program) -> None:
    """Raises RunError, saying what to do, when a table that would be made is there already."""
    spec = data_set(program)
    found = await catalogue(connection, spec.COLUMNS)
    names = spec.table_names()
    existing = [table for table in names if table in found.ours or table in found.foreign]
    if not existing:
        return
    where = f"in the database '{connection.target.database}'"
    if any(table in found.foreign for table in existing):
        taken = [table for table in existing if table in found.foreign]
        raise RunError(
            f"{named(taken)} {where} is there, with other columns than {program.data_set}'s",
            "it is not ours to drop: prepare in another database with --database NAME --create-database",
        )
    if len(existing) == len(names) and await _all_full(connection, names, spec.table_size):
        raise RunError(
            f"the tables are there already: {spec.describe()} {where}",
            f"run on them, or drop them with: {spec.cleanup_command(program.profile)}",
        )
    raise RunError(
        f"{named(existing)} {where} is there, but not {spec.describe()}",
        f"drop the old tables first with: {spec.cleanup_command(program.profile)}",
    )


async def _all_full(connection: Connection, tables: Sequence[str], table_size: int) -> bool:
    for table in tables:
        if await rows_at_most(connection, table) != table_size:
            return False
    return True


def named(tables: Iterable[str]) -> str:
    """Some tables by name, the rest by number: sbtest1, sbtest2 and 14 more."""
    names = list(tables)
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
