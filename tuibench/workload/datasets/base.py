"""Base class of data sets: tables, columns, sizes, SQL and row sources. It executes no statements."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import ClassVar, NamedTuple, Protocol, Self

import msgspec

from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload.language.options import ProfileOption


class RowFormat(StrEnum):
    """Encoding of rows: values of an INSERT, lines for LOAD DATA, or parameters of a bulk statement."""

    SQL = "sql"
    TABBED = "tabbed"
    BULK = "bulk"


INSERT_TEMPLATES: dict[RowFormat, str] = {
    RowFormat.SQL: "INSERT INTO {table} ({columns}) VALUES ",
    RowFormat.TABBED: "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET {charset} ({columns})",
    RowFormat.BULK: "INSERT INTO {table} ({columns}) VALUES ({marks})",
}


def insert_statement(row_format: RowFormat, table: str, columns: Sequence[str], charset: str) -> str:
    """The statement for rows of these columns in a row format."""
    marks = ", ".join("?" * len(columns))
    return INSERT_TEMPLATES[row_format].format(
        table=table, columns=", ".join(columns), marks=marks, charset=charset
    )


class SizeCheck(NamedTuple):
    """A cheap query for the size of a table.

    The result of `sql` is a number of `what`, or null. The tables are created with `wanted`; a run needs at
    `least` this many; `option` adapts a run to tables of another size. With `is_for_use`, a run that uses
    only a part of them reports this.
    """

    sql: str
    wanted: int
    least: int
    what: str
    option: str
    is_for_use: bool = False


class RowSource(Protocol):
    """Encodes the rows of a load in one format.

    `parameters` has an `i` (32-bit integer) or an `s` (text of at most 250 bytes) for each column.
    """

    parameters: str

    @property
    def row_bytes(self) -> int:
        """The encoded size of one row, or a little more than the average."""
        ...

    def sql(self, table: str, charset: str) -> str:
        """The statement for the rows; the rows are appended to a text INSERT.

        `charset` is the connection's character set; the rows are ASCII.
        """
        ...

    def block(self, first: int, count: int) -> bytes:
        """The encoded rows with numbers from `first` on."""
        ...


class NoRows:
    """The rows of an empty table."""

    row_bytes = 1
    parameters = ""

    def sql(self, table: str, charset: str) -> str:
        raise ValueError(f"{table} has no rows")

    def block(self, first: int, count: int) -> bytes:
        raise ValueError("there are no rows")


ENGINE_OPTION = {
    "mysql_storage_engine": ProfileOption(type="text", default="innodb", help="storage engine of the tables")
}


class DataSet(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of one run; by default without rows, secondary indexes and constraints.

    `OPTIONS` are its options, in addition to those of every profile (`compile.SHARED_OPTIONS`, with
    `threads`). `TABLE_NAME_CONDITION` is an SQL condition on `t.table_name` that is true for all names of its
    tables.
    """

    engine: str = "innodb"
    is_empty: bool = False

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {}
    TABLE_NAME_CONDITION: ClassVar[str] = "FALSE"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> Self:
        """The data set with resolved options. Raises UsageError for invalid ones."""
        raise NotImplementedError

    def without_rows(self) -> Self:
        """The same tables without rows."""
        return msgspec.structs.replace(self, is_empty=True)

    def table_names(self) -> tuple[str, ...]:
        """The tables, in an order for dropping."""
        raise NotImplementedError

    def is_table_name(self, table: str) -> bool:
        """True if the name is that of a table of this kind of data set, of any size."""
        return table in self.table_names()

    def columns(self, table: str) -> dict[str, str]:
        """The columns that identify the table, with types but without display widths."""
        raise NotImplementedError

    def size(self, table: str) -> int:
        """The number of rows of the table."""
        return 0

    def chunk_rows(self, table: str) -> int:
        """The number of rows that a connection loads at a time; 0 for all."""
        return 0

    def size_checks(self) -> dict[str, SizeCheck]:
        """Cheap queries for the sizes of the tables."""
        return {}

    @property
    def row_data_bytes(self) -> int:
        """The approximate encoded size of all rows."""
        return 0

    def describe(self) -> str:
        """A description of the data: 4 × 100,000 rows."""
        raise NotImplementedError

    def create_sql(self, table: str) -> str:
        """The CREATE TABLE statement."""
        raise NotImplementedError

    def index_sql(self, table: str) -> str:
        """The CREATE INDEX statement after loading; empty if there is none."""
        return ""

    def constraint_sql(self) -> tuple[str, ...]:
        """Statements for after loading and indexing all tables."""
        return ()

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> RowSource:
        """A source of the table's rows in a format, with values from `stream`."""
        return NoRows()

    def prepare_command(self, profile: str) -> str:
        """The command that creates these tables."""
        raise NotImplementedError

    def cleanup_command(self, profile: str) -> str:
        """The command that drops them."""
        return f"tuibench cleanup {profile}"

    def engine_words(self) -> list[str]:
        """The option for another storage engine than InnoDB, in the command that creates the tables."""
        return [f"--mysql-storage-engine={self.engine}"] * (self.engine.lower() != "innodb")


_ENGINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def engine_name(value: object) -> str:
    """The engine's name. Raises UsageError if it is not a valid name."""
    engine = str(value)
    if not _ENGINE.fullmatch(engine):
        raise UsageError(f"--mysql-storage-engine: '{engine}' is not a name")
    return engine
