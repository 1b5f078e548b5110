"""Data sets declared as tables of columns, each column with a function that generates its values.

The size is one option, the scale: records, subscribers, accounts. The number of rows of every table follows
from it. Rows are numbered from 1, and a column generates the values of a range of rows at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from random import Random
from typing import ClassVar, NamedTuple, Self

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import (
    ALPHANUMERICS,
    DIGITS,
    LETTERS,
    ColumnValues,
    DataSet,
    EncodedRows,
    RandomCharacters,
    RowBlock,
    RowFormat,
    SizeCheck,
    engine_name,
)
from tuibench.workload.datasets.sbtest import SUFFICIENT_SHARE

CHUNK_ROWS = 20_000
"""Rows loaded at a time: a fraction of a second's work."""


class RowValues:
    """Random values for columns, from one stream. The order of the `alphabets` determines their values."""

    def __init__(self, stream: Random, alphabets: Sequence[bytes] = (DIGITS, LETTERS, ALPHANUMERICS)) -> None:
        self.chance = stream.random
        self._characters = {alphabet: RandomCharacters.of(alphabet, stream) for alphabet in alphabets}

    def integers(self, count: int, low: int, high: int) -> list[int]:
        """Integers from low to high."""
        chance, span = self.chance, high - low + 1
        return [low + int(chance() * span) for _ in range(count)]

    def exact(self, count: int, low: int, high: int, places: int = 2) -> list[bytes]:
        """Exact numbers with decimals, low to high in units of the last digit."""
        unit, written = 10**places, b"%%d.%%0%dd" % places
        return [written % divmod(number, unit) for number in self.integers(count, low, high)]

    def texts(self, count: int, length: int, alphabet: bytes = ALPHANUMERICS) -> list[bytes]:
        """Texts of one length."""
        return self._characters[alphabet].equal(count, length)

    def varying_texts(self, count: int, low: int, high: int) -> list[bytes]:
        """Texts of low to high letters and digits."""
        return self._characters[ALPHANUMERICS].texts(self.integers(count, low, high))


MakeColumn = Callable[[RowValues, range], ColumnValues]
"""Generates the values of a column for rows with these numbers."""


class Column(NamedTuple):
    """One column: its type without NOT NULL, and the function that generates its values."""

    sql_type: str
    make: MakeColumn


class Table(NamedTuple):
    """One table. `rows` is its number of rows for a scale, `row_bytes` the encoded size of a row.

    `key` is the primary key; `auto_increment` is its column, if it has one; `indexes` are created after
    loading, as `name (columns)`.
    """

    columns: Mapping[str, Column]
    key: str
    row_bytes: int
    rows: Callable[[int], int] = lambda scale: scale
    auto_increment: str = ""
    indexes: tuple[str, ...] = ()

    def create_sql(self, name: str, engine: str) -> str:
        lines = [f"{column} {each.sql_type} NOT NULL" for column, each in self.columns.items()]
        lines = [
            f"{line} AUTO_INCREMENT" if line.startswith(f"{self.auto_increment} ") else line for line in lines
        ]
        body = ",\n  ".join((*lines, f"PRIMARY KEY ({self.key})"))
        return f"CREATE TABLE {name} (\n  {body}\n) ENGINE={engine}"

    def index_sql(self, name: str) -> str:
        added = ", ".join(f"ADD INDEX {index}" for index in self.indexes)
        return f"ALTER TABLE {name} {added}" if added else ""


class TableRows(EncodedRows):
    """The rows of one table."""

    def __init__(self, table: Table, stream: Random, row_format: RowFormat) -> None:
        types = {name: column.sql_type for name, column in table.columns.items()}
        super().__init__(types, table.row_bytes, row_format)
        self._makers = [column.make for column in table.columns.values()]
        self._values = RowValues(stream)

    def blocks(self, first: int, count: int) -> Iterable[RowBlock]:
        numbers = range(first, first + count)
        return [(count, [make(self._values, numbers) for make in self._makers])]


class DeclaredDataSet(DataSet, frozen=True, kw_only=True):
    """The tables of one run. A subclass defines its tables, and the option that is its scale.

    `SIZED` is the column of the first table whose largest value is the scale, `WHAT` the unit of the scale.
    """

    scale: int

    SCALE: ClassVar[str] = ""
    WHAT: ClassVar[str] = ""
    SIZED: ClassVar[tuple[str, str]] = ("", "")

    def tables(self) -> Mapping[str, Table]:
        """The tables by name, in creation order."""
        raise NotImplementedError

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> Self:
        return cls(scale=int(values[cls.SCALE]), engine=engine_name(values["mysql_storage_engine"]))

    def table_names(self) -> tuple[str, ...]:
        return tuple(self.tables())

    def columns(self, table: str) -> dict[str, str]:
        return {name: column.sql_type.lower() for name, column in self.tables()[table].columns.items()}

    def size(self, table: str) -> int:
        return 0 if self.is_empty else self.tables()[table].rows(self.scale)

    def chunk_rows(self, table: str) -> int:
        return CHUNK_ROWS

    def size_checks(self) -> dict[str, SizeCheck]:
        """The largest key, which is the scale."""
        table, column = self.SIZED
        wanted = 0 if self.is_empty else self.scale
        sql = f"SELECT MAX({column}) FROM {table}"  # noqa: S608 (constant names)
        least = ceil(wanted * SUFFICIENT_SHARE)
        return {table: SizeCheck(sql, wanted, least, self.WHAT, self.SCALE.replace("_", "-"))}

    @property
    def row_data_bytes(self) -> int:
        return sum(self.size(name) * table.row_bytes for name, table in self.tables().items())

    def describe(self) -> str:
        return f"{self.scale:,} {self.WHAT}"

    def create_sql(self, table: str) -> str:
        return self.tables()[table].create_sql(table, self.engine)

    def index_sql(self, table: str) -> str:
        return self.tables()[table].index_sql(table)

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> TableRows:
        return TableRows(self.tables()[table], stream, row_format)

    def further_words(self) -> Sequence[str]:
        """Further options of the command that creates the tables."""
        return ()

    def prepare_command(self, profile: str) -> str:
        scale = f"--{self.SCALE.replace('_', '-')}={self.scale}"
        return " ".join((f"tuibench prepare {profile}", scale, *self.further_words(), *self.engine_words()))

    def cleanup_command(self, profile: str) -> str:
        return " ".join((f"tuibench cleanup {profile}", *self.further_words()))


def named(*tables: str) -> str:
    """The SQL condition for tables with these names."""
    return (
        f"t.table_name IN ({', '.join(map(repr, tables))})"
        if len(tables) > 1
        else (f"t.table_name = {tables[0]!r}")
    )


def numbers(_: RowValues, rows: range) -> ColumnValues:
    """The numbers of the rows."""
    return list(rows)
