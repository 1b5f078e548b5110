"""Schema of a slap: created before each iteration and dropped after it; never a schema of others.

mysqlslap drops what `--create-schema` names without a check. Here, an existing schema is dropped only if it
has mysqlslap's name, contains nothing but mysqlslap's table, or if `--drop-schema` allows it.

At the end of a slap its schema is dropped in any case, over a new connection if the old one is lost.

A lost connection ends the test, as in mysqlslap. The result depends on whether the server is back in time: a
failed run, or an unreachable server. In the latter case the schema remains, and a message contains its name
and the statement that removes it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

from tuibench.clock import Clock
from tuibench.errors import (
    ConnectionLostError,
    RunError,
    ServerUnreachableError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.load.engine.prepared_connection import TRANSIENT_CODES
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.workload.slap.generated_sql import TABLE

DEFAULT_SCHEMA = "mysqlslap"
SYSTEM_SCHEMAS = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
DATABASE_EXISTS, NO_SUCH_DATABASE = 1007, 1049
COLUMN_NAMES = ("id", "intcol", "charcol")

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = {schema}"
_COLUMNS = (
    "SELECT column_name FROM information_schema.columns "
    "WHERE table_schema = {schema} AND table_name = {table}"
)


def quote_schema(name: str) -> str:
    """A schema's name, quoted for SQL."""
    return f"`{name.replace('`', '``')}`"


def check_not_system_schema(name: str) -> None:
    """Raises UsageError for a system schema."""
    if name.lower() in SYSTEM_SCHEMAS:
        raise UsageError(
            f"'{name}' is a system schema: nothing is created or dropped in it",
            "choose another one with --create-schema",
        )


class SlapSchema:
    """The schema over one connection. `is_ours` is True after this run has created it."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self.is_ours = False

    async def check_droppable(self, *, may_drop: bool) -> None:
        """Raises RunError if it exists and contains tables of others."""
        if may_drop or self._name == DEFAULT_SCHEMA:
            return
        tables = await self._names(_TABLES)
        if not tables or (tables == [TABLE] and await self._is_slaps()):
            return
        raise RunError(
            f"the schema '{self._name}' exists with {_table_list(tables)}: mysqlslap would drop it",
            "choose another one with --create-schema, or add --drop-schema to allow it",
        )

    @property
    def quoted(self) -> str:
        """Its name, quoted for SQL."""
        return quote_schema(self._name)

    async def drop(self, connection: Connection | None = None) -> None:
        """Drop it, over another connection if one is given."""
        await (connection or self._connection).execute(f"DROP SCHEMA IF EXISTS {self.quoted}")
        self.is_ours = False

    async def make(self) -> None:
        """Create and select it. Raises RunError if it exists."""
        try:
            await self._connection.execute(f"CREATE SCHEMA {self.quoted}")
        except ConnectionLostError:
            self.is_ours = True  # It may be there now.
            raise
        except SQLError as error:
            if error.code != DATABASE_EXISTS:
                raise
            raise RunError(
                f"the schema '{self._name}' already exists", "drop it first, or leave out --no-drop"
            ) from error
        self.is_ours = True
        await self.enter()

    async def enter(self) -> None:
        """Select it. Raises RunError if it does not exist."""
        try:
            await self._connection.execute(f"USE {self.quoted}")
        except SQLError as error:
            if error.code != NO_SUCH_DATABASE:
                raise
            raise RunError(
                f"the schema '{self._name}' does not exist",
                "name an existing one with --create-schema, or create tables with --create or -a",
            ) from error

    async def _is_slaps(self) -> bool:
        """Whether the one table has mysqlslap's columns and no others."""
        return all(name.startswith(COLUMN_NAMES) for name in await self._names(_COLUMNS))

    async def _names(self, sql: str) -> list[str]:
        quote = self._connection.quote
        rows = await self._connection.query(sql.format(schema=quote(self._name), table=quote(TABLE)))
        return [str(name) for (name,) in rows]


def _table_list(tables: Iterable[str]) -> str:
    names = list(tables)
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"the table{'s' * (len(names) > 1)} {some}"


CLEANUP_TIMEOUT_SECONDS = 20.0
"""How long the end of a test that went wrong may take."""

RETRY_SECONDS = 0.5
SEE_THE_LOG = (
    "its error log says whether it was restarted, crashed, or killed a connection; run the test again"
)

Dial = Callable[[], Awaitable[Connection]]
"""Makes a new connection to the server, in no database."""


class ConnectionLostInTestError(RunError):
    """The test has lost a connection: it was killed, or its server went away."""


@contextmanager
def raise_as_lost(target: Target, doing: str) -> Iterator[None]:
    """Raises LostError for a lost connection, with where and when that was."""
    try:
        yield
    except ConnectionLostError as error:
        raise ConnectionLostInTestError(
            f"the server at {target.where} closed the connection during {doing}: {error.message}", SEE_THE_LOG
        ) from error


class SchemaCleanup:
    """Drops the schema at the end of a test; `schema` is set as soon as there is one to drop.

    Without an error, a drop may take as long as it needs; after an error, the time is limited.
    """

    def __init__(
        self, connection: Connection, dial: Dial, report: Callable[[str], None], clock: Clock
    ) -> None:
        self.schema: SlapSchema | None = None
        self._connection = connection
        self._dial = dial
        self._where = connection.target.where
        self._report = report
        self._clock = clock

    async def __aenter__(self) -> "SchemaCleanup":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises ServerAwayError if the server is lost and does not return; an earlier error comes first."""
        try:
            async with asyncio.timeout(None if error is None else CLEANUP_TIMEOUT_SECONDS):
                await self._clear(is_lost=isinstance(error, ConnectionLostInTestError))
        except asyncio.CancelledError:
            self._report_leftover()
            raise
        except (TuibenchError, TimeoutError) as failure:
            self._report_leftover()
            if error is None or isinstance(error, ConnectionLostInTestError):
                raise self._final_error(error, failure) from failure
        finally:
            await self._close_connection(in_order=error is None)

    async def _clear(self, *, is_lost: bool) -> None:
        """Has the schema gone. After a loss, it also takes the server to be back."""
        if not is_lost:
            try:
                return await self._drop(self._connection)
            except ConnectionLostError:
                pass
        async with asyncio.timeout(CLEANUP_TIMEOUT_SECONDS):
            again = await self._back()
            try:
                await self._drop(again)
            finally:
                await again.close()

    async def _drop(self, connection: Connection) -> None:
        if self.schema is not None and self.schema.is_ours:
            await self.schema.drop(connection)

    async def _back(self) -> Connection:
        """A new connection, as soon as there is one."""
        is_reported = False
        while True:
            try:
                return await self._dial()
            except (ServerUnreachableError, SQLError) as error:
                if isinstance(error, SQLError) and error.code not in TRANSIENT_CODES:
                    raise
                if not is_reported:
                    self._report(
                        f"waiting up to {CLEANUP_TIMEOUT_SECONDS:.0f} s for the server: {error.message}"
                    )
                is_reported = True
            await self._clock.sleep(RETRY_SECONDS)

    def _report_leftover(self) -> None:
        if self.schema is not None and self.schema.is_ours:
            name = self.schema.quoted
            self._report(
                f"the schema {name} was not removed at {self._where}; to remove it: DROP SCHEMA {name}"
            )

    def _final_error(self, lost: BaseException | None, failure: BaseException) -> TuibenchError:
        """What the test ends with when its schema could not be dropped, or its server did not come back."""
        if isinstance(failure, SQLError) and not isinstance(failure, ConnectionLostError):
            return failure
        what = (
            lost.message
            if isinstance(lost, ConnectionLostInTestError)
            else f"lost the connection to the server at {self._where}"
        )
        return ServerUnreachableError(
            f"{what}; it did not come back within {CLEANUP_TIMEOUT_SECONDS:.0f} s",
            "check that it is running, and its error log",
        )

    async def _close_connection(self, *, in_order: bool) -> None:
        """Closes the connection; without waiting after an error, as the server may not answer."""
        if in_order:
            await self._connection.close()
        else:
            self._connection.abort()
