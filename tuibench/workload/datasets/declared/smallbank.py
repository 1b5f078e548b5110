"""Tables of SmallBank: accounts, each with a savings and a checking account."""

from collections.abc import Mapping
from typing import ClassVar

from tuibench.workload.datasets.base import ENGINE_OPTION
from tuibench.workload.datasets.declared.tables import (
    Column,
    DeclaredDataSet,
    RowValues,
    Table,
    named,
    numbers,
)
from tuibench.workload.datasets.row_encoding import ColumnValues
from tuibench.workload.language.options import ProfileOption, integer_option

MIN_BALANCE_CENTS, MAX_BALANCE_CENTS = 1_000_000, 5_000_000
NAME_LENGTH = 20


def _name(values: RowValues, rows: range) -> ColumnValues:
    return values.texts(len(rows), NAME_LENGTH)


def _balance(values: RowValues, rows: range) -> ColumnValues:
    return values.cents(len(rows), MIN_BALANCE_CENTS, MAX_BALANCE_CENTS)


_BALANCES = Table(
    {"custid": Column("INT", numbers), "bal": Column("DECIMAL(14,2)", _balance)}, key="custid", row_bytes=30
)
TABLES = {
    "accounts": Table(
        {"custid": Column("INT", numbers), "name": Column("VARCHAR(64)", _name)},
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
    TABLE_NAME_CONDITION: ClassVar[str] = named(*TABLES)
    SCALE: ClassVar[str] = "accounts"
    WHAT: ClassVar[str] = "accounts"
    SIZED: ClassVar[tuple[str, str]] = ("accounts", "custid")

    def tables(self) -> Mapping[str, Table]:
        return TABLES
