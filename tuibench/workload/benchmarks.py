"""Data sets declared as tables of columns: insert benchmark, SmallBank, TATP, YCSB.

Each column has a function that generates its values for a range of rows, which are numbered from 1. The size
of a data set is one option, its scale: records, subscribers, accounts. The number of rows of every table
follows from the scale.

In TATP a subscriber has one to four access types and facilities, and a facility zero to three forwardings, in
fixed cycles: the numbers of rows are the same for every seed, with exactly the specification's means of 2.5,
2.5 and 1.5.

YCSB's key is an AUTO_INCREMENT number, so that concurrent inserts need no coordination and the newest row has
the largest key. Its profiles scatter popular keys over the table, as YCSB does with a hash.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import ceil
from random import Random
from typing import ClassVar, NamedTuple, Self

from tuibench.model.plan import OptionValue
from tuibench.workload.dataset import (
    ALPHANUMERICS,
    DIGITS,
    ENGINE_OPTION,
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
from tuibench.workload.options import ProfileOption, flag_option, integer_option
from tuibench.workload.sbtest import SUFFICIENT_SHARE

CHUNK_ROWS = 20_000
"""Rows that are loaded at a time: a fraction of a second's work."""


class RowValues:
    """Random values for columns, from one stream. The order of the `alphabets` determines their values."""

    def __init__(self, stream: Random, alphabets: Sequence[bytes] = (DIGITS, LETTERS, ALPHANUMERICS)) -> None:
        self.chance = stream.random
        self._characters = {alphabet: RandomCharacters.of(alphabet, stream) for alphabet in alphabets}

    def integers(self, count: int, low: int, high: int) -> list[int]:
        chance, span = self.chance, high - low + 1
        return [low + int(chance() * span) for _ in range(count)]

    def exact(self, count: int, low: int, high: int, places: int = 2) -> list[bytes]:
        """Exact numbers with decimals; `low` and `high` are in units of the last digit."""
        unit, written = 10**places, b"%%d.%%0%dd" % places
        return [written % divmod(number, unit) for number in self.integers(count, low, high)]

    def texts(self, count: int, length: int, alphabet: bytes = ALPHANUMERICS) -> list[bytes]:
        """Texts of one length."""
        return self._characters[alphabet].equal(count, length)

    def varying_texts(self, count: int, low: int, high: int) -> list[bytes]:
        """Texts of `low` to `high` letters and digits."""
        return self._characters[ALPHANUMERICS].texts(self.integers(count, low, high))


MakeColumn = Callable[[RowValues, range], ColumnValues]
"""Generates the values of a column for rows with these numbers."""


class Column(NamedTuple):
    """One column: its type without NOT NULL, and the function that generates its values."""

    sql_type: str
    make: MakeColumn


class BenchmarkTable(NamedTuple):
    """One table."""

    columns: Mapping[str, Column]
    key: str
    """The primary key."""
    row_bytes: int
    """The encoded size of a row."""
    rows: Callable[[int], int] = lambda scale: scale
    """The number of rows for a scale."""
    auto_increment: str = ""
    """The column that has AUTO_INCREMENT; empty if there is none."""
    indexes: tuple[str, ...] = ()
    """Indexes as `name (columns)`, created after loading."""

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

    def __init__(self, table: BenchmarkTable, stream: Random, row_format: RowFormat) -> None:
        types = {name: column.sql_type for name, column in table.columns.items()}
        super().__init__(types, table.row_bytes, row_format)
        self._makers = [column.make for column in table.columns.values()]
        self._values = RowValues(stream)

    def blocks(self, first: int, count: int) -> Iterable[RowBlock]:
        numbers = range(first, first + count)
        return [(count, [make(self._values, numbers) for make in self._makers])]


class DeclaredDataSet(DataSet, frozen=True, kw_only=True):
    """The tables of one run. A subclass declares its tables, and the option that is its scale."""

    scale: int

    TABLES: ClassVar[Mapping[str, BenchmarkTable]] = {}
    SCALE: ClassVar[str] = ""
    """Name of the option, which is also the unit of the scale."""
    SIZED: ClassVar[str] = ""
    """The column of the first table whose largest value is the scale."""

    def tables(self) -> Mapping[str, BenchmarkTable]:
        """The tables by name, in creation order."""
        return self.TABLES

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
        """A query for the largest key, which equals the scale."""
        table, wanted = next(iter(self.TABLES)), 0 if self.is_empty else self.scale
        sql = f"SELECT MAX({self.SIZED}) FROM {table}"  # noqa: S608 (constant names)
        return {table: SizeCheck(sql, wanted, ceil(wanted * SUFFICIENT_SHARE), self.SCALE, self.SCALE)}

    @property
    def row_data_bytes(self) -> int:
        return sum(self.size(name) * table.row_bytes for name, table in self.tables().items())

    def describe(self) -> str:
        return f"{self.scale:,} {self.SCALE}"

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
    """The SQL condition that is true for these table names."""
    return (
        f"t.table_name IN ({', '.join(map(repr, tables))})"
        if len(tables) > 1
        else (f"t.table_name = {tables[0]!r}")
    )


def numbers(_: RowValues, rows: range) -> ColumnValues:
    """The numbers of the rows."""
    return list(rows)


REGISTERS, CUSTOMERS, PRODUCTS, MAX_PRICE_CENTS = 1000, 100_000, 10_000, 50_000
DATA_LENGTH = 10
MAX_TABLES = 1000
INDEXES = (
    "price_customer (price, customerid)",
    "register_price_customer (cashregisterid, price, customerid)",
    "price_date_customer (price, dateandtime, customerid)",
)
TABLE_NAME = re.compile(r"pi([1-9][0-9]*)")


def _date(values: RowValues, rows: range) -> ColumnValues:
    """Times of one day, increasing with the row number."""
    return [
        b"2025-01-%02d %02d:%02d:%02d" % (row // 86_400 % 28 + 1, row // 3600 % 24, row // 60 % 60, row % 60)
        for row in rows
    ]


def _integer(high: int) -> Column:
    return Column("INT", lambda values, rows: values.integers(len(rows), 1, high))


@cache
def _table(*, secondary: bool) -> BenchmarkTable:
    return BenchmarkTable(
        {
            "transactionid": Column("INT", numbers),
            "dateandtime": Column("DATETIME", _date),
            "cashregisterid": _integer(REGISTERS),
            "customerid": _integer(CUSTOMERS),
            "productid": _integer(PRODUCTS),
            "price": Column(
                "DECIMAL(8,2)", lambda values, rows: values.exact(len(rows), 100, MAX_PRICE_CENTS)
            ),
            "data": Column("VARCHAR(64)", lambda values, rows: values.texts(len(rows), DATA_LENGTH)),
        },
        key="transactionid",
        auto_increment="transactionid",
        row_bytes=75,
        indexes=INDEXES if secondary else (),
    )


class InsertBenchmark(DeclaredDataSet, frozen=True, kw_only=True):
    """The tables of one run, `count` of them with the same number of rows each."""

    count: int
    secondary: bool

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "tables": integer_option(
            1, "number of tables; each client works on one", minimum=1, maximum=MAX_TABLES
        ),
        "table_size": integer_option(100_000, "rows per table", minimum=1),
        "secondary": flag_option(True, "three secondary indexes"),
        **ENGINE_OPTION,
    }
    TABLE_NAME_CONDITION: ClassVar[str] = "t.table_name LIKE 'pi%'"
    SCALE: ClassVar[str] = "table_size"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "InsertBenchmark":
        return cls(
            scale=int(values["table_size"]),
            engine=engine_name(values["mysql_storage_engine"]),
            count=int(values["tables"]),
            secondary=bool(values["secondary"]),
        )

    def tables(self) -> Mapping[str, BenchmarkTable]:
        table = _table(secondary=self.secondary)
        return {f"pi{number}": table for number in range(1, self.count + 1)}

    def is_table_name(self, table: str) -> bool:
        return bool(TABLE_NAME.fullmatch(table))

    def size_checks(self) -> dict[str, SizeCheck]:
        """Queries that count the rows by key, because a load deletes the oldest rows while it inserts."""
        wanted = 0 if self.is_empty else self.scale
        return {
            name: SizeCheck(
                f"SELECT MAX(transactionid) FROM {name}",  # noqa: S608 (constant names)
                wanted,
                wanted,
                "rows",
                "table-size",
            )
            for name in self.table_names()
        }

    def describe(self) -> str:
        return f"{self.count} × {self.scale:,} rows{'' if self.secondary else ', no secondary index'}"

    def further_words(self) -> Sequence[str]:
        return (
            *((f"--tables={self.count}",) if self.count > 1 else ()),
            *(("--secondary=off",) if not self.secondary else ()),
        )


MIN_BALANCE_CENTS, MAX_BALANCE_CENTS = 1_000_000, 5_000_000
NAME_LENGTH = 20


_BALANCES = BenchmarkTable(
    {
        "custid": Column("INT", numbers),
        "bal": Column(
            "DECIMAL(14,2)",
            lambda values, rows: values.exact(len(rows), MIN_BALANCE_CENTS, MAX_BALANCE_CENTS),
        ),
    },
    key="custid",
    row_bytes=30,
)
SMALLBANK_TABLES = {
    "accounts": BenchmarkTable(
        {
            "custid": Column("INT", numbers),
            "name": Column("VARCHAR(64)", lambda values, rows: values.texts(len(rows), NAME_LENGTH)),
        },
        key="custid",
        row_bytes=NAME_LENGTH + 17,
        indexes=("name (name)",),
    ),
    "savings": _BALANCES,
    "checking": _BALANCES,
}


class SmallBank(DeclaredDataSet, frozen=True, kw_only=True):
    """The tables of one run."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "accounts": integer_option(
            10_000, "customers, each with a savings and a checking account", minimum=2
        ),
        **ENGINE_OPTION,
    }
    TABLES: ClassVar[Mapping[str, BenchmarkTable]] = SMALLBANK_TABLES
    TABLE_NAME_CONDITION: ClassVar[str] = named(*SMALLBANK_TABLES)
    SCALE: ClassVar[str] = "accounts"
    SIZED: ClassVar[str] = "custid"


KINDS = 4
NUMBER_DIGITS = 15
MAX_INT = 2**31 - 1
HOURS_BETWEEN = 8


class ChildCycle:
    """Numbers of children of each parent in a fixed cycle, such as 1, 2, 3, 4, repeated."""

    def __init__(self, *children: int) -> None:
        self._children = children
        self._places = [(parent, place) for parent, count in enumerate(children) for place in range(count)]

    def rows(self, parents: int) -> int:
        """The number of children of all these parents."""
        whole, rest = divmod(parents, len(self._children))
        return whole * len(self._places) + sum(self._children[:rest])

    def child(self, row: int) -> tuple[int, int]:
        """The number of a row's parent, and the row's place among the parent's rows, from 0. Rows and parents
        are numbered from 1.
        """
        cycle, place = divmod(row - 1, len(self._places))
        parent, number = self._places[place]
        return cycle * len(self._children) + parent + 1, number


OF_SUBSCRIBER = ChildCycle(1, 2, 3, 4)
OF_FACILITY = ChildCycle(0, 1, 2, 3)


def _kind(subscriber: int, place: int) -> int:
    """The type of a subscriber's access or facility: 1 to 4, each once, beginning at a type that depends on
    the subscriber.
    """
    return (subscriber // KINDS + place) % KINDS + 1


def _subscriber(_: RowValues, rows: range) -> ColumnValues:
    return [OF_SUBSCRIBER.child(row)[0] for row in rows]


def _type(_: RowValues, rows: range) -> ColumnValues:
    return [_kind(*OF_SUBSCRIBER.child(row)) for row in rows]


def _facility(row: int) -> tuple[int, int]:
    """The facility of a call forwarding, as a child of its subscriber."""
    return OF_SUBSCRIBER.child(OF_FACILITY.child(row)[0])


def _end_time(values: RowValues, rows: range) -> ColumnValues:
    hours = values.integers(len(rows), 1, HOURS_BETWEEN)
    starts = (HOURS_BETWEEN * OF_FACILITY.child(row)[1] for row in rows)
    return [start + more for start, more in zip(starts, hours, strict=True)]


def _tatp_integer(low: int, high: int) -> Column:
    return Column("INT", lambda values, rows: values.integers(len(rows), low, high))


def _letters(length: int) -> Column:
    return Column(f"CHAR({length})", lambda values, rows: values.texts(len(rows), length, LETTERS))


TATP_TABLES = {
    "subscriber": BenchmarkTable(
        {
            "s_id": Column("INT", numbers),
            "sub_nbr": Column(f"CHAR({NUMBER_DIGITS})", lambda _, rows: [b"%015d" % row for row in rows]),
            **{f"bit_{number}": _tatp_integer(0, 1) for number in range(1, 11)},
            **{f"hex_{number}": _tatp_integer(0, 15) for number in range(1, 11)},
            **{f"byte2_{number}": _tatp_integer(0, 255) for number in range(1, 11)},
            "msc_location": _tatp_integer(1, MAX_INT),
            "vlr_location": _tatp_integer(1, MAX_INT),
        },
        key="s_id",
        row_bytes=150,
        indexes=("sub_nbr (sub_nbr)",),
    ),
    "access_info": BenchmarkTable(
        {
            "s_id": Column("INT", _subscriber),
            "ai_type": Column("INT", _type),
            "data1": _tatp_integer(0, 255),
            "data2": _tatp_integer(0, 255),
            "data3": _letters(3),
            "data4": _letters(5),
        },
        key="s_id, ai_type",
        row_bytes=45,
        rows=OF_SUBSCRIBER.rows,
    ),
    "special_facility": BenchmarkTable(
        {
            "s_id": Column("INT", _subscriber),
            "sf_type": Column("INT", _type),
            "is_active": Column(
                "INT",
                lambda values, rows: [int(number <= 85) for number in values.integers(len(rows), 1, 100)],
            ),
            "error_cntrl": _tatp_integer(0, 255),
            "data_a": _tatp_integer(0, 255),
            "data_b": _letters(5),
        },
        key="s_id, sf_type",
        row_bytes=40,
        rows=OF_SUBSCRIBER.rows,
    ),
    "call_forwarding": BenchmarkTable(
        {
            "s_id": Column("INT", lambda _, rows: [_facility(row)[0] for row in rows]),
            "sf_type": Column("INT", lambda _, rows: [_kind(*_facility(row)) for row in rows]),
            "start_time": Column(
                "INT", lambda _, rows: [HOURS_BETWEEN * OF_FACILITY.child(row)[1] for row in rows]
            ),
            "end_time": Column("INT", _end_time),
            "numberx": Column(
                f"CHAR({NUMBER_DIGITS})",
                lambda values, rows: values.texts(len(rows), NUMBER_DIGITS, DIGITS),
            ),
        },
        key="s_id, sf_type, start_time",
        row_bytes=45,
        rows=lambda subscribers: OF_FACILITY.rows(OF_SUBSCRIBER.rows(subscribers)),
    ),
}


class Tatp(DeclaredDataSet, frozen=True, kw_only=True):
    """The tables of one run."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "subscribers": integer_option(10_000, "subscribers; 100,000 in TATP", minimum=4),
        **ENGINE_OPTION,
    }
    TABLES: ClassVar[Mapping[str, BenchmarkTable]] = TATP_TABLES
    TABLE_NAME_CONDITION: ClassVar[str] = named(*TATP_TABLES)
    SCALE: ClassVar[str] = "subscribers"
    SIZED: ClassVar[str] = "s_id"


FIELDS, FIELD_BYTES = 10, 100
TABLE = "usertable"
_FIELD = Column(f"CHAR({FIELD_BYTES})", lambda values, rows: values.texts(len(rows), FIELD_BYTES))

YCSB_TABLES = {
    TABLE: BenchmarkTable(
        {"ycsb_key": Column("INT", numbers), **{f"field{number}": _FIELD for number in range(FIELDS)}},
        key="ycsb_key",
        auto_increment="ycsb_key",
        row_bytes=FIELDS * (FIELD_BYTES + 3) + 11,
    )
}


class Ycsb(DeclaredDataSet, frozen=True, kw_only=True):
    """The table of one run."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "records": integer_option(10_000, "records of the table", minimum=1),
        **ENGINE_OPTION,
    }
    TABLES: ClassVar[Mapping[str, BenchmarkTable]] = YCSB_TABLES
    TABLE_NAME_CONDITION: ClassVar[str] = named(TABLE)
    SCALE: ClassVar[str] = "records"
    SIZED: ClassVar[str] = "ycsb_key"
