"""The schema of a slap: made before each iteration and dropped after it, and never anybody else's.

mysqlslap drops what `--create-schema` names without a look. Here a schema that is there at the beginning is
dropped only if it is mysqlslap's by its name, holds nothing but mysqlslap's table, or was given up in words.
"""

from collections.abc import Iterable

from tuibench.errors import ConnectionLostError, RunError, SQLError, UsageError
from tuibench.mysql.connection import Connection
from tuibench.workload.slap.generated import TABLE

DEFAULT_SCHEMA = "mysqlslap"
SYSTEM_SCHEMAS = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
DATABASE_EXISTS, NO_SUCH_DATABASE = 1007, 1049
COLUMN_NAMES = ("id", "intcol", "charcol")

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = {schema}"
_COLUMNS = (
    "SELECT column_name FROM information_schema.columns "
    "WHERE table_schema = {schema} AND table_name = {table}"
)


def quoted(name: str) -> str:
    """A schema's name as SQL takes it."""
    return f"`{name.replace('`', '``')}`"


def demand_no_system_schema(name: str) -> None:
    """Raises UsageError for a schema that the server lives on."""
    if name.lower() in SYSTEM_SCHEMAS:
        raise UsageError(
            f"'{name}' is the server's own schema: nothing is made or dropped in it",
            "name another one with --create-schema",
        )


class Schema:
    """The schema over one connection. `is_ours` once this run has made it."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self.is_ours = False

    async def demand_droppable(self, *, may_drop: bool) -> None:
        """Raises RunError when it is there and holds what is not ours to drop."""
        if may_drop or self._name == DEFAULT_SCHEMA:
            return
        tables = await self._names(_TABLES)
        if not tables or (tables == [TABLE] and await self._is_slaps()):
            return
        raise RunError(
            f"the schema '{self._name}' is there already, with {_named(tables)}: mysqlslap would drop it",
            "name another one with --create-schema, or say --drop-schema if it may go",
        )

    @property
    def quoted(self) -> str:
        """Its name as SQL takes it."""
        return quoted(self._name)

    async def drop(self, connection: Connection | None = None) -> None:
        """Drops it, over another connection if one is given."""
        await (connection or self._connection).execute(f"DROP SCHEMA IF EXISTS {self.quoted}")
        self.is_ours = False

    async def make(self) -> None:
        """Makes it, and goes there. Raises RunError when it is there."""
        try:
            await self._connection.execute(f"CREATE SCHEMA {self.quoted}")
        except ConnectionLostError:
            self.is_ours = True  # It may be there now.
            raise
        except SQLError as error:
            if error.code != DATABASE_EXISTS:
                raise
            raise RunError(
                f"the schema '{self._name}' is there already", "drop it first, or leave out --no-drop"
            ) from error
        self.is_ours = True
        await self.enter()

    async def enter(self) -> None:
        """Goes there. Raises RunError when it is not there."""
        try:
            await self._connection.execute(f"USE {self.quoted}")
        except SQLError as error:
            if error.code != NO_SUCH_DATABASE:
                raise
            raise RunError(
                f"the schema '{self._name}' is not there",
                "name the one to run in with --create-schema, or make tables with --create or -a",
            ) from error

    async def _is_slaps(self) -> bool:
        """Whether the one table has mysqlslap's columns and no others."""
        return all(name.startswith(COLUMN_NAMES) for name in await self._names(_COLUMNS))

    async def _names(self, sql: str) -> list[str]:
        quote = self._connection.quote
        rows = await self._connection.query(sql.format(schema=quote(self._name), table=quote(TABLE)))
        return [str(name) for (name,) in rows]


def _named(tables: Iterable[str]) -> str:
    names = list(tables)
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"the table{'s' * (len(names) > 1)} {some}"
