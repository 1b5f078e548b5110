"""Base class of data sets: tables, columns, sizes, SQL and row sources. It executes no statements."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import ClassVar, NamedTuple, Protocol

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


class DataSet(Protocol):
    """The tables of one run.

    `OPTIONS` are its options, in addition to those of every profile (`compile.SHARED_OPTIONS`, with
    `threads`). `TABLE_NAME_CONDITION` is an SQL condition on `t.table_name` that is true for all names of its
    tables.
    """

    OPTIONS: ClassVar[dict[str, ProfileOption]]
    TABLE_NAME_CONDITION: ClassVar[str]

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "DataSet":
        """The data set with resolved options. Raises UsageError for invalid ones."""
        ...

    def without_rows(self) -> "DataSet":
        """The same tables without rows."""
        ...

    def table_names(self) -> tuple[str, ...]:
        """The tables, in an order for dropping."""
        ...

    def is_table_name(self, table: str) -> bool:
        """True if the name is that of a table of this kind of data set, of any size."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """The columns that identify the table, with types but without display widths."""
        ...

    def size(self, table: str) -> int:
        """The number of rows of the table."""
        ...

    def chunk_rows(self, table: str) -> int:
        """The number of rows that a connection loads at a time; 0 for all."""
        ...

    def size_checks(self) -> dict[str, SizeCheck]:
        """Cheap queries for the sizes of the tables."""
        ...

    @property
    def row_data_bytes(self) -> int:
        """The approximate encoded size of all rows."""
        ...

    def describe(self) -> str:
        """A description of the data: 4 × 100,000 rows."""
        ...

    def create_sql(self, table: str) -> str: ...

    def index_sql(self, table: str) -> str:
        """The CREATE INDEX statement after loading; empty if there is none."""
        ...

    def constraint_sql(self) -> tuple[str, ...]:
        """Statements for after loading and indexing all tables."""
        ...

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> RowSource:
        """A source of the table's rows in a format, with values from `stream`."""
        ...

    def prepare_command(self, profile: str) -> str:
        """The command that creates these tables."""
        ...

    def cleanup_command(self, profile: str) -> str:
        """The command that drops them."""
        ...


_ENGINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def engine_name(value: object) -> str:
    """The engine's name. Raises UsageError if it is not a valid name."""
    engine = str(value)
    if not _ENGINE.fullmatch(engine):
        raise UsageError(f"--mysql-storage-engine: '{engine}' is not a name")
    return engine
