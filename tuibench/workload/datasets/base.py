"""What a data set must tell to whoever makes, checks and drops its tables. Pure text: it sends nothing."""

from collections.abc import Mapping
from enum import StrEnum
from random import Random
from typing import ClassVar, Protocol

from tuibench.model.plan import OptionValue
from tuibench.workload.options import Option


class Form(StrEnum):
    """How rows travel: as the values of an INSERT, as lines for LOAD DATA, as parameters by the thousand."""

    SQL = "sql"
    TABBED = "tabbed"
    BULK = "bulk"


class RowSource(Protocol):
    """Writes the rows of a load in one form. All rows have the same size.

    `parameters` has an `i` (32 bit integer) or an `s` (text of at most 250 bytes) for each column.
    """

    parameters: str

    @property
    def row_bytes(self) -> int:
        """The size of one row as it is sent."""
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
    `COLUMNS` are the columns by which a table is known to be ours, with their types but no display widths.
    """

    OPTIONS: ClassVar[dict[str, Option]]
    COLUMNS: ClassVar[dict[str, str]]

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "DataSet":
        """The data set that resolved options ask for. Raises UsageError if there is none such."""
        ...

    @property
    def tables(self) -> int: ...

    @property
    def table_size(self) -> int:
        """How many rows each table is made with."""
        ...

    def emptied(self) -> "DataSet":
        """The same tables, made without rows."""
        ...

    def table_names(self) -> tuple[str, ...]: ...

    def describe(self) -> str:
        """The data in words: 4 × 100,000 rows."""
        ...

    def create_sql(self, table: str) -> str: ...

    def index_sql(self, table: str) -> str:
        """What makes the index after the load; empty if there is none."""
        ...

    def rows(self, stream: Random, form: Form) -> RowSource:
        """A source of rows in that form, whose values come from `stream`."""
        ...

    def prepare_command(self, profile: str) -> str:
        """What to type to make these tables."""
        ...

    def cleanup_command(self, profile: str) -> str:
        """What to type to drop them."""
        ...
