"""What a data set must tell to whoever makes, checks and drops its tables. Pure text: it sends nothing."""

from collections.abc import Mapping
from random import Random
from typing import ClassVar, Protocol

from tuibench.model.plan import OptionValue
from tuibench.workload.options import Option


class RowSource(Protocol):
    """Writes the INSERT statements of a load."""

    @property
    def row_bytes(self) -> int:
        """The size of one row in the text of a statement."""
        ...

    def insert_sql(self, table: str, first: int, count: int) -> str:
        """One INSERT for the rows with numbers from `first` on."""
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

    def rows(self, stream: Random) -> RowSource:
        """A source of rows whose values come from `stream`."""
        ...

    def prepare_command(self, profile: str) -> str:
        """What to type to make these tables."""
        ...
