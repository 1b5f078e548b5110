"""The control connection: the statements that read and set settings, counted.

Every statement can be repeated without harm, so a broken connection is opened again and the statement is sent
again. Values are compared in the form of SHOW GLOBAL VARIABLES. SET PERSIST is never used. Redo logging is
not a variable: it is read from the status and set with ALTER INSTANCE.
"""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from tuibench.base import sanitize
from tuibench.base.clock import wait_with_timeout
from tuibench.base.errors import (
    ConnectionLostError,
    NoAnswerError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.model.counters import Counter
from tuibench.model.server import Flavour, Target
from tuibench.model.settings import ServerVariable
from tuibench.mysql import info
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.errors import is_unsupported
from tuibench.mysql.info import Manner, connect_with_defaults, shortened
from tuibench.mysql.rows import Row

_REDO_SQL = {"ON": "ALTER INSTANCE ENABLE INNODB REDO_LOG", "OFF": "ALTER INSTANCE DISABLE INNODB REDO_LOG"}
_START_SQL = (
    "SELECT UNIX_TIMESTAMP() - CAST(VARIABLE_VALUE AS UNSIGNED) FROM {table} WHERE VARIABLE_NAME = 'UPTIME'"
)
_STATUS_TABLES = {
    Flavour.MARIADB: "information_schema.GLOBAL_STATUS",
    Flavour.MYSQL: "performance_schema.global_status",
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def change_sql(name: str, value: str) -> str:
    """The statement that changes a setting for all connections."""
    if name == ServerVariable.REDO_LOG_ENABLED:
        return _REDO_SQL[value]
    return f"SET GLOBAL {_checked(name)} = {_literal(value)}"


def is_change(sql: str, name: str) -> bool:
    """True for a statement of `change_sql` that changes this setting."""
    prefix = "ALTER INSTANCE " if name == ServerVariable.REDO_LOG_ENABLED else f"SET GLOBAL {name} ="
    return sql.startswith(prefix)


def manual_statement(name: str, value: str) -> str:
    """The same statement for a message. A name or value from a journal may not be valid in a statement."""
    try:
        return change_sql(name, value)
    except (UsageError, KeyError):
        return f"set {name!r} to {value!r}"


def session_sql(name: str, value: str) -> str:
    """The statement that changes a setting of one connection."""
    if name == ServerVariable.ISOLATION:
        return f"SET SESSION TRANSACTION ISOLATION LEVEL {value.replace('-', ' ')}"
    return f"SET SESSION {_checked(name)} = {_literal(value)}"


def _literal(value: str) -> str:
    if _NUMBER.fullmatch(value):
        return value
    quoted = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{quoted}'"


def quoted_list(names: Iterable[str]) -> str:
    """Names of variables as a list of literals."""
    return ", ".join(f"'{_checked(name)}'" for name in names)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not the name of a server variable")
    return name


Connect = Callable[[], Awaitable[Connection]]

CHANGE_TIMEOUT_SECONDS = 120.0
"""Time limit for a change: a smaller buffer pool must be emptied, a new redo log written."""

_SESSION_NAMES = {
    str(ServerVariable.SQL_LOG_BIN): str(ServerVariable.SQL_LOG_BIN),
    str(ServerVariable.ISOLATION): str(ServerVariable.ISOLATION),
    "tx_isolation": str(ServerVariable.ISOLATION),
}


def admin_connector(target: Target) -> Connect:
    """The login of the control connection, without a database."""
    return partial(connect_with_defaults, target, use_database=False, manner=Manner.IS_TIMED)


class AdminConnection:
    """A separate connection, opened when needed, and then one of `own`.

    `before_repeating` is awaited before a change is repeated over a new connection.
    """

    before_repeating: Callable[[], Awaitable[None]] | None = None

    def __init__(self, connect: Connect, own: OwnConnections | None = None) -> None:
        self._connect = connect
        self._own = own or OwnConnections()
        self._connection: Connection | None = None

    async def values(self, names: Iterable[str]) -> dict[str, str]:
        """The global values of the settings that the server has."""
        wanted = tuple(names)
        rows = await self._query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({quoted_list(wanted)})")
        if ServerVariable.REDO_LOG_ENABLED in wanted:
            rows = [*rows, *await self._query(f"SHOW GLOBAL STATUS LIKE '{ServerVariable.REDO_LOG_ENABLED}'")]
        return {str(name).lower(): str(value) for name, value in rows}

    async def session_values(self) -> dict[str, str]:
        """The session values with which a new connection of this login starts."""
        rows = await self._query(
            f"SHOW SESSION VARIABLES WHERE Variable_name IN ({quoted_list(_SESSION_NAMES)})"
        )
        return {_SESSION_NAMES[str(name).lower()]: str(value) for name, value in rows}

    async def has_innodb(self) -> bool:
        """False on a server of another make that has variables of InnoDB, but no page size in its status."""
        try:
            rows = await self._query(f"SHOW GLOBAL STATUS LIKE '{Counter.PAGE_SIZE}'")
        except SQLError as error:
            if not is_unsupported(error):
                raise
            return True
        return any(str(value) != "0" for name, value in rows if name == Counter.PAGE_SIZE)

    async def set_global(self, name: str, value: str) -> None:
        """Change a setting until the server's next restart."""
        await self._query(change_sql(name, value), CHANGE_TIMEOUT_SECONDS, self.before_repeating)

    async def server_start(self, flavour: Flavour) -> int:
        """The start of the server, in seconds by its own clock; 0 if it does not report it.

        The value is exact: both terms have the time at which the statement began, so their difference is
        constant.
        """
        rows = await self._rows_if_known(_START_SQL.format(table=_STATUS_TABLES[flavour]))
        return int(rows[0][0]) if rows else 0

    async def lock_holder(self, name: str) -> tuple[int | None, int]:
        """The connection that has a user-level lock (0 for none, None on a server without such locks), and
        this connection.
        """
        rows = await self._rows_if_known(f"SELECT IS_USED_LOCK('{name}'), CONNECTION_ID()")
        return (int(rows[0][0] or 0), int(rows[0][1])) if rows else (None, 0)

    async def take_lock(self, name: str) -> bool:
        """Takes a user-level lock, until it is released or this connection ends; True if it was free."""
        rows = await self._rows_if_known(f"SELECT GET_LOCK('{name}', 0)")
        return bool(rows) and str(rows[0][0]) == "1"

    async def release_lock(self, name: str) -> None:
        """Releases a user-level lock of this connection, if there is one."""
        if self._connection is not None:
            with contextlib.suppress(TuibenchError):
                await self._once(f"DO RELEASE_LOCK('{name}')", None)

    async def describe_connection(self, number: int) -> str:
        """A connection with its user and host, as far as this login may see them."""
        processes = await self._rows_if_known("SHOW PROCESSLIST")
        who = next((f" ({row[1]}@{row[2]})" for row in processes if str(row[0]) == str(number)), "")
        return f"connection {number}{sanitize.excerpt(who)}"

    async def _rows_if_known(self, sql: str) -> Sequence[Row]:
        """The rows; empty from a server that does not know the statement, or refuses it."""
        try:
            return await self._query(sql)
        except ConnectionLostError:
            raise
        except SQLError:
            return ()

    async def being_changed(self, names: Iterable[str]) -> set[str]:
        """The settings that the server is changing now, perhaps for a client that has ended.

        The statement is in one of the columns, depending on the make of the server.
        """
        rows = await self._query("SHOW FULL PROCESSLIST")
        running = [text for row in rows for text in row if isinstance(text, str)]
        return {name for name in names if any(is_change(sql, name) for sql in running)}

    async def try_session(self, name: str, value: str, back: str) -> None:
        """Sets a setting of this connection and resets it, to test whether the server permits the change."""
        await self._query(session_sql(name, value))
        await self._query(session_sql(name, back))

    async def grants(self) -> list[str]:
        """The output of SHOW GRANTS for this login, including active roles."""
        return [str(row[0]) for row in await self._query("SHOW GRANTS")]

    async def read_only(self, names: Iterable[str]) -> set[str]:
        """The variables that cannot be changed while the server runs. MariaDB only."""
        fixed = "information_schema.SYSTEM_VARIABLES WHERE READ_ONLY = 'YES'"
        wanted = f"VARIABLE_NAME IN ({quoted_list(names)})"
        rows = await self._query(f"SELECT VARIABLE_NAME FROM {fixed} AND {wanted}")  # noqa: S608
        return {str(row[0]).lower() for row in rows}

    async def identity(self) -> str:
        """The identity of this instance, as reported by the server; empty if it does not report it."""
        return info.instance_identity(await self.values(info.VARIABLES))

    async def close(self) -> None:
        connection = self._forget()
        if connection:
            await connection.close()

    async def _query(
        self,
        sql: str,
        seconds: float | None = None,
        before_repeating: Callable[[], Awaitable[None]] | None = None,
    ) -> Sequence[Row]:
        known = self._connection is not None
        try:
            return await self._once(sql, seconds)
        except ConnectionLostError:
            if not known:
                raise
        if before_repeating is not None:
            await before_repeating()
        return await self._once(sql, seconds)

    async def _once(self, sql: str, seconds: float | None) -> Sequence[Row]:
        """Sends the statement. A connection on which it was interrupted is not used again."""
        connection = self._connection or await self._open()
        timeout_seconds = connection.target.query_timeout if seconds is None else seconds
        try:
            return await wait_with_timeout(connection.query(sql), timeout_seconds)
        except TimeoutError as error:
            self._drop()
            raise NoAnswerError(
                2013,
                f"no answer from the server for {timeout_seconds:.0f} s to {shortened(sql)}",
                "increase --query-timeout to wait longer",
            ) from error
        except (ConnectionLostError, asyncio.CancelledError):
            self._drop()
            raise

    async def _open(self) -> Connection:
        """Logs in. A server that accepts no more connections counts as unreachable."""
        try:
            self._connection = await self._connect()
        except SQLError as error:
            raise ServerUnavailableError(error.message, error.hint) from error
        self._own.add(self._connection)
        return self._connection

    def _drop(self) -> None:
        connection = self._forget()
        if connection:
            connection.abort()

    def _forget(self) -> Connection | None:
        connection, self._connection = self._connection, None
        if connection:
            self._own.discard(connection)
        return connection
