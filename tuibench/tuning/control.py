"""The control connection: the few statements with which settings are read and set, and who counts them.

Every statement here can be repeated without harm, so a broken connection is opened anew and the statement is
sent once more. Values are compared as SHOW GLOBAL VARIABLES says them. Never SET PERSIST.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from tuibench.errors import ConnectionLostError, ServerUnavailableError, SQLError, UsageError
from tuibench.model.target import Target
from tuibench.mysql import info
from tuibench.mysql.connection import Connection, Row, connect

Connect = Callable[[], Awaitable[Connection]]

ANSWER_SECONDS = 20.0
"""How long a statement may take; a server that is silent for longer counts as away."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NUMBER = re.compile(r"-?[0-9]+")


def control_connect(target: Target) -> Connect:
    """How the control connection logs in: no database is needed to change settings."""
    return partial(connect, target, use_database=False)


class Control:
    """A connection of its own, opened when needed."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._counted_before = 0

    @property
    def statements(self) -> int:
        """How many statements were sent, over all connections."""
        return self._counted_before + (self._connection.statements if self._connection else 0)

    async def values(self, names: Iterable[str]) -> dict[str, str]:
        """The global values of those variables that the server has."""
        rows = await self._query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_listed(names)})")
        return {str(name).lower(): str(value) for name, value in rows}

    async def set_global(self, name: str, value: str) -> None:
        """Changes a variable until the server's next restart."""
        await self._query(f"SET GLOBAL {_checked(name)} = {await self._literal(value)}")

    async def grants(self) -> list[str]:
        """What SHOW GRANTS says of this login, active roles included."""
        return [str(row[0]) for row in await self._query("SHOW GRANTS")]

    async def read_only(self, names: Iterable[str]) -> set[str]:
        """Those of the variables that cannot be changed while the server runs. MariaDB only."""
        fixed = "information_schema.SYSTEM_VARIABLES WHERE READ_ONLY = 'YES'"
        rows = await self._query(f"SELECT VARIABLE_NAME FROM {fixed} AND VARIABLE_NAME IN ({_listed(names)})")  # noqa: S608
        return {str(row[0]).lower() for row in rows}

    async def identity(self) -> str:
        """Which instance this is, as the server itself says; empty if it does not."""
        return info.identity(await self.values(info.VARIABLES))

    async def close(self) -> None:
        connection = self._forget()
        if connection:
            await connection.close()

    async def _literal(self, value: str) -> str:
        if _NUMBER.fullmatch(value):
            return value
        connection = self._connection or await self._open()
        return connection.quote(value)

    async def _query(self, sql: str) -> Sequence[Row]:
        known = self._connection is not None
        try:
            return await self._once(sql)
        except ConnectionLostError:
            if not known:
                raise
        return await self._once(sql)

    async def _once(self, sql: str) -> Sequence[Row]:
        """Sends the statement; a connection on which it was cut short is not used again."""
        connection = self._connection or await self._open()
        try:
            return await asyncio.wait_for(connection.query(sql), ANSWER_SECONDS)
        except TimeoutError as error:
            self._drop()
            raise ConnectionLostError(
                2013, f"no answer from the server for {ANSWER_SECONDS:.0f} s"
            ) from error
        except (ConnectionLostError, asyncio.CancelledError):
            self._drop()
            raise

    async def _open(self) -> Connection:
        """Logs in. A server that takes no more connections is as good as away."""
        try:
            self._connection = await self._connect()
        except SQLError as error:
            raise ServerUnavailableError(error.message, error.hint) from error
        return self._connection

    def _drop(self) -> None:
        connection = self._forget()
        if connection:
            connection.abort()

    def _forget(self) -> Connection | None:
        connection, self._connection = self._connection, None
        if connection:
            self._counted_before += connection.statements
        return connection


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{_checked(name)}'" for name in names)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not the name of a server variable")
    return name
