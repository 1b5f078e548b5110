"""Tables of TATP: subscribers, access rights, special facilities, call forwardings.

A subscriber has one to four access types and facilities, a facility zero to three forwardings, in fixed
cycles: the same numbers of rows for every seed, and exactly the specification's means of 2.5, 2.5 and 1.5.
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from tuibench.workload.datasets.base import ENGINE_OPTION
from tuibench.workload.datasets.declared.tables import (
    Column,
    DeclaredDataSet,
    RowValues,
    Table,
    named,
    numbers,
)
from tuibench.workload.datasets.random_text import DIGITS, LETTERS
from tuibench.workload.datasets.row_encoding import ColumnValues
from tuibench.workload.language.options import ProfileOption, integer_option

KINDS = 4
NUMBER_DIGITS = 15
MAX_INT = 2**31 - 1
HOURS_BETWEEN = 8


class Child(NamedTuple):
    """A row that belongs to a parent: the parent's number from 1, and its position among the parent's
    rows, from 0.
    """

    parent: int
    place: int


class ChildCycle:
    """Rows per parent in a fixed cycle, such as 1, 2, 3, 4, repeated."""

    def __init__(self, *children: int) -> None:
        self._children = children
        self._places = [(parent, place) for parent, count in enumerate(children) for place in range(count)]

    def rows(self, parents: int) -> int:
        """The number of rows of this many parents."""
        whole, rest = divmod(parents, len(self._children))
        return whole * len(self._places) + sum(self._children[:rest])

    def child(self, row: int) -> Child:
        """The row with this number, from 1."""
        cycle, place = divmod(row - 1, len(self._places))
        parent, number = self._places[place]
        return Child(cycle * len(self._children) + parent + 1, number)


OF_SUBSCRIBER = ChildCycle(1, 2, 3, 4)
OF_FACILITY = ChildCycle(0, 1, 2, 3)


def _kind(subscriber: int, place: int) -> int:
    """The type of a subscriber's access or facility: 1 to 4, each once, from any start."""
    return (subscriber // KINDS + place) % KINDS + 1


def _subscriber(_: RowValues, rows: range) -> ColumnValues:
    return [OF_SUBSCRIBER.child(row).parent for row in rows]


def _type(_: RowValues, rows: range) -> ColumnValues:
    return [_kind(*OF_SUBSCRIBER.child(row)) for row in rows]


def _facility(row: int) -> Child:
    """The facility of a call forwarding, as a child of its subscriber."""
    return OF_SUBSCRIBER.child(OF_FACILITY.child(row).parent)


def _forwarding_subscriber(_: RowValues, rows: range) -> ColumnValues:
    return [_facility(row).parent for row in rows]


def _forwarding_type(_: RowValues, rows: range) -> ColumnValues:
    return [_kind(*_facility(row)) for row in rows]


def _start_time(_: RowValues, rows: range) -> ColumnValues:
    return [HOURS_BETWEEN * OF_FACILITY.child(row).place for row in rows]


def _end_time(values: RowValues, rows: range) -> ColumnValues:
    hours = values.integers(len(rows), 1, HOURS_BETWEEN)
    starts = (HOURS_BETWEEN * OF_FACILITY.child(row).place for row in rows)
    return [start + more for start, more in zip(starts, hours, strict=True)]


def _integer(low: int, high: int) -> Column:
    return Column("INT", lambda values, rows: values.integers(len(rows), low, high))


def _letters(length: int) -> Column:
    return Column(f"CHAR({length})", lambda values, rows: values.texts(len(rows), length, LETTERS))


def _digits(length: int) -> Column:
    return Column(f"CHAR({length})", lambda values, rows: values.texts(len(rows), length, DIGITS))


def _sub_nbr(_: RowValues, rows: range) -> ColumnValues:
    return [b"%015d" % row for row in rows]


def _is_active(values: RowValues, rows: range) -> ColumnValues:
    return [int(number <= 85) for number in values.integers(len(rows), 1, 100)]


TABLES = {
    "subscriber": Table(
        {
            "s_id": Column("INT", numbers),
            "sub_nbr": Column(f"CHAR({NUMBER_DIGITS})", _sub_nbr),
            **{f"bit_{number}": _integer(0, 1) for number in range(1, 11)},
            **{f"hex_{number}": _integer(0, 15) for number in range(1, 11)},
            **{f"byte2_{number}": _integer(0, 255) for number in range(1, 11)},
            "msc_location": _integer(1, MAX_INT),
            "vlr_location": _integer(1, MAX_INT),
        },
        key="s_id",
        row_bytes=150,
        indexes=("sub_nbr (sub_nbr)",),
    ),
    "access_info": Table(
        {
            "s_id": Column("INT", _subscriber),
            "ai_type": Column("INT", _type),
            "data1": _integer(0, 255),
            "data2": _integer(0, 255),
            "data3": _letters(3),
            "data4": _letters(5),
        },
        key="s_id, ai_type",
        row_bytes=45,
        rows=OF_SUBSCRIBER.rows,
    ),
    "special_facility": Table(
        {
            "s_id": Column("INT", _subscriber),
            "sf_type": Column("INT", _type),
            "is_active": Column("INT", _is_active),
            "error_cntrl": _integer(0, 255),
            "data_a": _integer(0, 255),
            "data_b": _letters(5),
        },
        key="s_id, sf_type",
        row_bytes=40,
        rows=OF_SUBSCRIBER.rows,
    ),
    "call_forwarding": Table(
        {
            "s_id": Column("INT", _forwarding_subscriber),
            "sf_type": Column("INT", _forwarding_type),
            "start_time": Column("INT", _start_time),
            "end_time": Column("INT", _end_time),
            "numberx": _digits(NUMBER_DIGITS),
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
    TABLE_NAME_CONDITION: ClassVar[str] = named(*TABLES)
    SCALE: ClassVar[str] = "subscribers"
    WHAT: ClassVar[str] = "subscribers"
    SIZED: ClassVar[tuple[str, str]] = ("subscriber", "s_id")

    def tables(self) -> Mapping[str, Table]:
        return TABLES
