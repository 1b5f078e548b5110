"""What a data set must tell to whoever makes, checks and drops its tables. Pure text: it sends nothing."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import ClassVar, NamedTuple, Protocol

from tuibench.model.plan import OptionValue
from tuibench.workload.options import Option


class Form(StrEnum):
    """How rows travel: as the values of an INSERT, as lines for LOAD DATA, as parameters by the thousand."""

    SQL = "sql"
    TABBED = "tabbed"
    BULK = "bulk"


INTO: dict[Form, str] = {
    Form.SQL: "INSERT INTO {table} ({columns}) VALUES ",
    Form.TABBED: "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET {charset} ({columns})",
    Form.BULK: "INSERT INTO {table} ({columns}) VALUES ({marks})",
}


def into(form: Form, table: str, columns: Sequence[str], charset: str) -> str:
    """The statement that rows of these columns go with, in a form."""
    marks = ", ".join("?" * len(columns))
    return INTO[form].format(table=table, columns=", ".join(columns), marks=marks, charset=charset)


class Extent(NamedTuple):
    """How large a table is, told by one cheap question.

    The answer of `sql` is a number of `what`, or null for none. The tables are made with `wanted`, a run can
    do with `least`; `option` is what chooses a run for tables of another size. What `is_for_use` a run should
    use up: if it leaves some, it is told so.
    """

    sql: str
    wanted: int
    least: int
    what: str
    option: str
    is_for_use: bool = False


class RowSource(Protocol):
    """Writes the rows of a load in one form.

    `parameters` has an `i` (32 bit integer) or an `s` (text of at most 250 bytes) for each column.
    """

    parameters: str

    @property
    def row_bytes(self) -> int:
        """The size of one row as it is sent, or a little more than the average."""
        ...

    def sql(self, table: str, charset: str) -> str:
        """The statement that the rows go with; an INSERT in text ends where they begin.

        `charset` is the connection's, in which the rows are all ASCII.
        """
        ...

    def block(self, first: int, count: int) -> bytes:
        """The rows with numbers from `first` on, in the form asked for."""
        ...


class DataSet(Protocol):
    """The tables of one run.

    `OPTIONS` are those a user may give, besides the ones of every profile (`compile.SHARED`, with `threads`).
    `FAMILY` is an SQL condition on `t.table_name` that finds all tables that may bear one of its names.
    """

    OPTIONS: ClassVar[dict[str, Option]]
    FAMILY: ClassVar[str]

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "DataSet":
        """The data set that resolved options ask for. Raises UsageError if there is none such."""
        ...

    def emptied(self) -> "DataSet":
        """The same tables, made without rows."""
        ...

    def table_names(self) -> tuple[str, ...]:
        """The tables, in an order in which they can be dropped."""
        ...

    def is_named(self, table: str) -> bool:
        """Whether a table is called like one of this kind of data set, of any size."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """The columns by which a table is known to be ours, with their types but no display widths."""
        ...

    def size(self, table: str) -> int:
        """How many rows the table is made with."""
        ...

    def piece_rows(self, table: str) -> int:
        """How many rows of it one connection loads at a time; 0 for as many as there are."""
        ...

    def extents(self) -> dict[str, Extent]:
        """How large the tables are, as far as that can be told cheaply."""
        ...

    @property
    def row_data_bytes(self) -> int:
        """What all rows together take as they are sent, about."""
        ...

    def describe(self) -> str:
        """The data in words: 4 × 100,000 rows."""
        ...

    def create_sql(self, table: str) -> str: ...

    def index_sql(self, table: str) -> str:
        """What makes the index after the load; empty if there is none."""
        ...

    def constraint_sql(self) -> tuple[str, ...]:
        """What is done when all tables have their rows and indexes."""
        ...

    def rows(self, table: str, stream: Random, form: Form) -> RowSource:
        """A source of the table's rows in that form, whose values come from `stream`."""
        ...

    def prepare_command(self, profile: str) -> str:
        """What to type to make these tables."""
        ...

    def cleanup_command(self, profile: str) -> str:
        """What to type to drop them."""
        ...
