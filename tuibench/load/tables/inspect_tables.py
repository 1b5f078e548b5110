"""Inspection of existing tables: names, columns, sizes, and whether a program can run on them.

A table belongs to the data set if its name *and* its columns match. The queries are cheap: catalogue and
table sizes.
"""

import re
from collections.abc import Iterable

import msgspec

from tuibench.errors import RunError, SQLError
from tuibench.load.engine.prepared_connection import (
    ER_MAX_PREPARED_STMT_COUNT_REACHED,
    ER_UNSUPPORTED_PS,
)
from tuibench.model.target import Target, for_server
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import UNSUPPORTED_CODES
from tuibench.workload.datasets import DataSet, build_data_set
from tuibench.workload.datasets.base import SizeCheck
from tuibench.workload.program import sql_text
from tuibench.workload.program.program import FlatStatement, Program, flat_statements

MAX_NAMED_TABLES = 4
"""The number of tables that a message names."""

ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE = 1054, 1146

_DISPLAY_WIDTH = re.compile(r"^((?:big)?int)\(\d+\)")

_CATALOGUE = """
SELECT t.table_name, t.table_type, c.column_name, c.column_type
FROM information_schema.tables t
LEFT JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
WHERE t.table_schema = DATABASE() AND """


class TableCatalogue(msgspec.Struct, frozen=True):
    """Tables with names of the data set, with its columns (`ours`) or other columns (`foreign`)."""

    ours: frozenset[str]
    foreign: frozenset[str]


async def read_catalogue(connection: Connection, spec: DataSet) -> TableCatalogue:
    """Finds the tables in the connection's database with the data set's names."""
    columns: dict[str, dict[str, str]] = {}
    views: set[str] = set()
    try:
        rows = await connection.query(_CATALOGUE + spec.TABLE_NAME_CONDITION)
    except SQLError as error:
        if error.code not in UNSUPPORTED_CODES:
            raise
        return await _catalogue_by_use(connection, spec)
    for table, kind, column, column_type in rows:
        if not spec.is_table_name(table):
            continue
        columns.setdefault(table, {})[column] = _DISPLAY_WIDTH.sub(r"\1", column_type or "")
        if kind != "BASE TABLE":
            views.add(table)
    ours = frozenset(
        table for table, found in columns.items() if found == spec.columns(table) and table not in views
    )
    return TableCatalogue(ours, frozenset(columns) - ours)


async def _catalogue_by_use(connection: Connection, spec: DataSet) -> TableCatalogue:
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
    return TableCatalogue(frozenset(ours), frozenset(foreign))


async def read_size(connection: Connection, extent: SizeCheck) -> int:
    """The size of a table."""
    rows = await connection.query(extent.sql)
    return int(rows[0][0] or 0)


class MissingTablesError(RunError):
    """None of a program's tables exists yet."""


async def check_tables_present(connection: Connection, program: Program) -> None:
    """Raises RunError, with the command that fixes it, if tables are missing or foreign."""
    spec, command = build_data_set(program), prepare_line(program, connection.target)
    found = await read_catalogue(connection, spec)
    where = f"in the database '{connection.target.database}'"
    if foreign := [table for table in spec.table_names() if table in found.foreign]:
        raise RunError(
            f"{table_list(foreign)} {where} does not have the columns of {program.data_set}",
            f"run in another database (--database), and first: {command}",
        )
    names = spec.table_names()
    if missing := [table for table in names if table not in found.ours]:
        problem = f"{table_list(missing)} {where}: no such table"
        if len(missing) == len(names):
            raise MissingTablesError(problem, f"create the tables with: {command}")
        raise RunError(
            problem,
            f"drop the others with: {cleanup_line(program, connection.target)} "
            f"and create all with: {command}",
        )


def prepare_line(program: Program, target: Target) -> str:
    """The command line that creates the program's tables on this server."""
    return for_server(build_data_set(program).prepare_command(program.profile), target)


def database_hint(program: Program, target: Target) -> str:
    """How to create a missing database with the program's tables."""
    return f"create it and the tables with: {prepare_line(program, target)} --create-database"


def cleanup_line(program: Program, target: Target) -> str:
    """The command line that drops them."""
    return for_server(build_data_set(program).cleanup_command(program.profile), target)


async def check_tables_ready(connection: Connection, program: Program) -> str:
    """Raises RunError, with the command that fixes it, if tables are missing, foreign or too small.

    Returns a description of the part of the tables that the run does not use; usually empty.
    """
    spec = build_data_set(program)
    command = prepare_line(program, connection.target)
    await check_tables_present(connection, program)
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
    return unused


async def check_statements_allowed(connection: Connection, program: Program) -> None:
    """Prepares every statement once, so that the server rejects a statement before the load starts.

    Raises DeniedError for a missing privilege, SQLError with the position for a syntax error.
    """
    for flat in flat_statements(program):
        if not flat.prepared:
            continue
        try:
            await connection.prepare(flat.sql)
        except SQLError as error:
            if error.code == ER_MAX_PREPARED_STMT_COUNT_REACHED:
                return
            if error.code != ER_UNSUPPORTED_PS:
                raise _with_position(error, flat) from error


def _with_position(error: SQLError, flat: FlatStatement) -> SQLError:
    """The error with the statement's name and the position of the syntax error."""
    place = sql_text.syntax_error_position(flat.sql, error.message)
    error.message = f"{flat.name}: {error.message}" + (f" ({place})" if place else "")
    return error


async def check_tables_absent(connection: Connection, program: Program) -> None:
    """Raises RunError, with the fix, if a table to be created exists already."""
    spec = build_data_set(program)
    found = await read_catalogue(connection, spec)
    names = spec.table_names()
    existing = [table for table in names if table in found.ours or table in found.foreign]
    if not existing:
        return
    where = f"in the database '{connection.target.database}'"
    if any(table in found.foreign for table in existing):
        taken = [table for table in existing if table in found.foreign]
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
