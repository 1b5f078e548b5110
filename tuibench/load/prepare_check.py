"""What tables are there, whose they are, and whether a program can run on them.

A table is ours if its name *and* its columns are the data set's. Only cheap questions are asked: the
catalogue, and how large the tables are.
"""

import re
from collections.abc import Iterable

import msgspec

from tuibench.errors import RunError, SQLError
from tuibench.load.login import CANNOT_BE_PREPARED, TOO_MANY_PREPARED
from tuibench.mysql.connection import Connection
from tuibench.workload import sql
from tuibench.workload.datasets import DataSet, data_set
from tuibench.workload.datasets.base import Extent
from tuibench.workload.program import FlatStatement, Program, flat_statements

NAMED = 4
"""How many tables a message names before it says "and others"."""

_DISPLAY_WIDTH = re.compile(r"^((?:big)?int)\(\d+\)")

_CATALOGUE = """
SELECT t.table_name, t.table_type, c.column_name, c.column_type
FROM information_schema.tables t
LEFT JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
WHERE t.table_schema = DATABASE() AND """


class Catalogue(msgspec.Struct, frozen=True):
    """Tables with a name of the data set: those with its columns, too, and the others."""

    ours: frozenset[str]
    foreign: frozenset[str]


async def catalogue(connection: Connection, spec: DataSet) -> Catalogue:
    """What the connection's database holds under the data set's names."""
    columns: dict[str, dict[str, str]] = {}
    views: set[str] = set()
    for table, kind, column, column_type in await connection.query(_CATALOGUE + spec.FAMILY):
        if not spec.is_named(table):
            continue
        columns.setdefault(table, {})[column] = _DISPLAY_WIDTH.sub(r"\1", column_type or "")
        if kind != "BASE TABLE":
            views.add(table)
    ours = frozenset(
        table for table, found in columns.items() if found == spec.columns(table) and table not in views
    )
    return Catalogue(ours, frozenset(columns) - ours)


async def found_of(connection: Connection, extent: Extent) -> int:
    """How large a table is."""
    rows = await connection.query(extent.sql)
    return int(rows[0][0] or 0)


async def check_present(connection: Connection, name: str, spec: DataSet, remedy: str) -> None:
    """Raises RunError when tables of the data set `name` are missing or others'; `remedy` makes them."""
    found = await catalogue(connection, spec)
    where = f"in the database '{connection.target.database}'"
    if foreign := [table for table in spec.table_names() if table in found.foreign]:
        raise RunError(
            f"{named(foreign)} {where} has not the columns of {name}",
            f"run in another database (--database), and first: {remedy}",
        )
    if missing := [table for table in spec.table_names() if table not in found.ours]:
        raise RunError(f"{named(missing)} {where}: no such table", f"make the tables with: {remedy}")


async def check_ready(connection: Connection, program: Program) -> str:
    """Raises RunError, with the command that helps, when tables are missing, foreign or too small.

    Returns what of them the run leaves unused although it was made for use, in words; mostly nothing.
    """
    spec = data_set(program)
    command = spec.prepare_command(program.profile)
    await check_present(connection, program.data_set, spec, command)
    where = f"in the database '{connection.target.database}'"
    unused = ""
    for table, extent in spec.extents().items():
        found = await found_of(connection, extent)
        if found < extent.least:
            raise RunError(
                f"{table} {where} has {found:,} {extent.what}, this run needs {extent.wanted:,}",
                f"run with --{extent.option}={max(found, 1)}, "
                f"or drop the tables with: {spec.cleanup_command(program.profile)} "
                f"and make them with: {command}",
            )
        if extent.is_for_use and found > extent.wanted:
            more = f"--{extent.option}={found}"
            unused = f"there are {found:,} {extent.what}, this run uses {extent.wanted:,}: {more} uses all"
    return unused


async def check_allowed(connection: Connection, program: Program) -> None:
    """Has the server prepare every statement once: what this login may not send is refused before the load.

    Raises DeniedError then, or SQLError for a statement that the server does not understand, with its place.
    """
    for flat in flat_statements(program):
        if not flat.prepared:
            continue
        try:
            await connection.prepare(flat.sql)
        except SQLError as error:
            if error.code == TOO_MANY_PREPARED:
                return
            if error.code != CANNOT_BE_PREPARED:
                raise _placed(error, flat) from error


def _placed(error: SQLError, flat: FlatStatement) -> SQLError:
    """The error with the statement's name, and where in it the server stopped understanding."""
    place = sql.stopped_at(flat.sql, error.message)
    error.message = f"{flat.name}: {error.message}" + (f" ({place})" if place else "")
    return error


async def check_free(connection: Connection, program: Program) -> None:
    """Raises RunError, saying what to do, when a table that would be made is there already."""
    spec = data_set(program)
    found = await catalogue(connection, spec)
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
    if len(existing) == len(names) and await _all_full(connection, spec):
        raise RunError(
            f"the tables are there already: {spec.describe()} {where}",
            f"run on them, or drop them with: {spec.cleanup_command(program.profile)}",
        )
    raise RunError(
        f"{named(existing)} {where} is there, but not {spec.describe()}",
        f"drop the old tables first with: {spec.cleanup_command(program.profile)}",
    )


async def _all_full(connection: Connection, spec: DataSet) -> bool:
    for extent in spec.extents().values():
        if await found_of(connection, extent) != extent.wanted:
            return False
    return True


def named(tables: Iterable[str]) -> str:
    """Some tables by name, the rest by number: sbtest1, sbtest2 and 14 more."""
    names = list(tables)
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
