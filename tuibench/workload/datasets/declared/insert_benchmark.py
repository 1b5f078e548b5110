"""Tables of the insert benchmark, pi1…N: one sale per row, and three secondary indexes."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import ENGINE_OPTION, SizeCheck, engine_name
from tuibench.workload.datasets.declared.tables import (
    Column,
    DeclaredDataSet,
    RowValues,
    Table,
    numbers,
)
from tuibench.workload.datasets.row_encoding import ColumnValues
from tuibench.workload.language.options import ProfileOption, flag_option, integer_option

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
    return [b"2025-01-%02d %02d:%02d:%02d" % _time_of(row) for row in rows]


def _time_of(row: int) -> tuple[int, int, int, int]:
    minutes, second = divmod(row, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return days % 28 + 1, hour, minute, second


def _integer(high: int) -> Column:
    return Column("INT", lambda values, rows: values.integers(len(rows), 1, high))


@cache
def _table(*, secondary: bool) -> Table:
    return Table(
        {
            "transactionid": Column("INT", numbers),
            "dateandtime": Column("DATETIME", _date),
            "cashregisterid": _integer(REGISTERS),
            "customerid": _integer(CUSTOMERS),
            "productid": _integer(PRODUCTS),
            "price": Column(
                "DECIMAL(8,2)", lambda values, rows: values.cents(len(rows), 100, MAX_PRICE_CENTS)
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
    WHAT: ClassVar[str] = "rows"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "InsertBenchmark":
        return cls(
            scale=int(values["table_size"]),
            engine=engine_name(values["mysql_storage_engine"]),
            count=int(values["tables"]),
            secondary=bool(values["secondary"]),
        )

    def tables(self) -> Mapping[str, Table]:
        table = _table(secondary=self.secondary)
        return {f"pi{number}": table for number in range(1, self.count + 1)}

    def is_table_name(self, table: str) -> bool:
        return bool(TABLE_NAME.fullmatch(table))

    def size_checks(self) -> dict[str, SizeCheck]:
        """Queries for the number of rows, counted by key: a load deletes the oldest rows while it inserts."""
        wanted = 0 if self.is_empty else self.scale
        return {
            name: SizeCheck(
                f"SELECT MAX(transactionid) FROM {name}",  # noqa: S608 (constant names)
                wanted,
                wanted,
                self.WHAT,
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
