"""What the tests of sbtest tables share: programs of a handy size, and questions to the server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tuibench.base.errors import SQLError
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection, PreparedStatement, TextStatement, connect
from tuibench.mysql.rows import Row
from tuibench.mysql.statements import CaptureResponse
from tuibench.workload import library
from tuibench.workload.program import FlatStatement, Program

NOT_PREPARABLE = 1295
"""A statement that is accepted as text only."""


def program(name: str = "oltp_read_write", **options: object) -> Program:
    return library.load_program(name, {"tables": 2, "table_size": 5000, **options})


def in_database(target: Target, database: str) -> Target:
    return msgspec.structs.replace(target, database=database)


def over_tcp(target: Target, **changes: Any) -> Target:
    """The same server and login over loopback TCP."""
    return msgspec.structs.replace(target, **{"host": "127.0.0.1", "socket": ""} | changes)


@asynccontextmanager
async def connected(target: Target, *, use_database: bool = True) -> AsyncIterator[Connection]:
    connection = await connect(target, use_database=use_database)
    try:
        yield connection
    finally:
        await connection.close()


async def ready(connection: Connection, statement: FlatStatement) -> PreparedStatement | TextStatement:
    """Prepares a statement, as the load does: what MySQL does not prepare (BEGIN) is sent as text."""
    if statement.prepared:
        try:
            return await connection.prepare(statement.sql)
        except SQLError as error:
            if error.code != NOT_PREPARABLE:
                raise
    return TextStatement(connection, statement.sql)


async def run(connection: Connection, made: PreparedStatement | TextStatement, values: Row = ()) -> int:
    """Runs a statement over the hot path; returns rows affected, or those of a result."""
    return int(await connection.ask(made.packet(values)))


async def fetch(
    connection: Connection, made: PreparedStatement | TextStatement, values: Row = ()
) -> list[Row]:
    """Runs a statement over the hot path; returns its rows."""
    return made.rows.read(await connection.ask(CaptureResponse(made.packet(values))))


@asynccontextmanager
async def empty_database(target: Target, database: str) -> AsyncIterator[Target]:
    """A database of its own for a test, gone afterwards."""
    async with connected(target, use_database=False) as connection:
        await connection.execute(f"DROP DATABASE IF EXISTS {database}")
        await connection.execute(f"CREATE DATABASE {database}")
        try:
            yield in_database(target, database)
        finally:
            await connection.execute(f"DROP DATABASE IF EXISTS {database}")


async def until_sessions_end(connection: Connection, database: str) -> None:
    """Waits until the server has no other session of a database.

    It counts and logs a statement after its response, and a goodbye when it reads it.
    """
    others = f"SELECT 1 FROM information_schema.processlist WHERE db = '{database}' AND id <> CONNECTION_ID()"
    while await connection.query(others):
        pass


@asynccontextmanager
async def set_global(connection: Connection, name: str, value: str) -> AsyncIterator[None]:
    """A global variable with another value for a while."""
    old = (await connection.query(f"SELECT @@GLOBAL.{name}"))[0][0]
    await connection.execute(f"SET GLOBAL {name}={value}")
    try:
        yield
    finally:
        await connection.execute(f"SET GLOBAL {name}={connection.quote(old)}")


async def tables(target: Target) -> list[str]:
    async with connected(target) as connection:
        return sorted(row[0] for row in await connection.query("SHOW TABLES"))


async def definition(target: Target, table: str) -> str:
    async with connected(target) as connection:
        return str((await connection.query(f"SHOW CREATE TABLE {table}"))[0][1])
