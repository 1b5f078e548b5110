"""The tables of the anomaly meter, and the counts that they keep themselves.

Small tables, one or two for each kind of anomaly; nobody changes `anomaly_other`. Two kinds are counted in
such a way that one SELECT shows, at any moment, how many anomalies have been committed:

- `anomaly_counter`: `n` is what clients computed from what they had read, `done` what the server added in the
  same statement. An update that was lost is one in `done` that is not in `n`.
- `anomaly_doctor`, `anomaly_shift`: within a shift doctors only leave. A shift that nobody is left in has
  had a write skew. It stays so until a relief, which holds the locks of both doctors, counts it in `skews`.

What a reader sees (read skew, fuzzy read, phantom, dirty and aborted read) leaves no trace in tables: the
profile's transactions compare what they read, and end with ROLLBACK if it contradicts itself.
"""

from collections.abc import Mapping
from typing import ClassVar

from tuibench.model.tick import ANOMALY, TALLY
from tuibench.workload.benchmarks import BenchmarkTable, Column, DeclaredDataSet, RowValues, named, numbers
from tuibench.workload.dataset import ENGINE_OPTION, ColumnValues, Tally
from tuibench.workload.options import ProfileOption, integer_option

BOOKINGS_PER_ROOM = 4
"""Bookings of each room that no transaction removes."""


def _constant(sql_type: str, value: int) -> Column:
    return Column(sql_type, lambda _, rows: [value] * len(rows))


def _parent(_: RowValues, rows: range) -> ColumnValues:
    """Each pair of rows belongs to one number."""
    return [(row + 1) // 2 for row in rows]


def _room(_: RowValues, rows: range) -> ColumnValues:
    return [(row - 1) // BOOKINGS_PER_ROOM + 1 for row in rows]


def _two(scale: int) -> int:
    return 2 * scale


ROW_BYTES = 32
ANOMALY_TABLES = {
    "anomaly_counter": BenchmarkTable(
        {"id": Column("INT", numbers), "n": _constant("BIGINT", 0), "done": _constant("BIGINT", 0)},
        key="id",
        row_bytes=ROW_BYTES,
    ),
    "anomaly_shift": BenchmarkTable(
        {"id": Column("INT", numbers), "version": _constant("BIGINT", 0), "skews": _constant("BIGINT", 0)},
        key="id",
        row_bytes=ROW_BYTES,
    ),
    "anomaly_doctor": BenchmarkTable(
        {
            "id": Column("INT", numbers),
            "shift": Column("INT", _parent),
            "number": _constant("BIGINT", 0),
            "on_call": _constant("INT", 1),
        },
        key="id",
        row_bytes=ROW_BYTES,
        rows=_two,
    ),
    "anomaly_account": BenchmarkTable(
        {"id": Column("INT", numbers), "balance": _constant("BIGINT", 0), "moves": _constant("BIGINT", 0)},
        key="id",
        row_bytes=ROW_BYTES,
        rows=_two,
    ),
    "anomaly_room": BenchmarkTable(
        {"id": Column("INT", numbers), "version": _constant("BIGINT", 0)}, key="id", row_bytes=ROW_BYTES
    ),
    "anomaly_booking": BenchmarkTable(
        {"id": Column("INT", numbers), "room": Column("INT", _room)},
        key="id",
        row_bytes=ROW_BYTES,
        rows=lambda scale: BOOKINGS_PER_ROOM * scale,
        indexes=("room (room)",),
    ),
    "anomaly_other": BenchmarkTable(
        {"id": Column("INT", numbers), "number": _constant("INT", 0)}, key="id", row_bytes=ROW_BYTES
    ),
    "anomaly_draft": BenchmarkTable(
        {"id": Column("INT", numbers), "state": _constant("INT", 0)}, key="id", row_bytes=ROW_BYTES
    ),
}

UPDATES, LOST_UPDATES, WRITE_SKEWS = TALLY + "updates", ANOMALY + "lost_updates", ANOMALY + "write_skews"
"""The counts that the tables keep."""
READERS = {
    "read_skew": ANOMALY + "read_skews",
    "fuzzy_read": ANOMALY + "fuzzy_reads",
    "phantom": ANOMALY + "phantoms",
    "dirty_read": ANOMALY + "dirty_reads",
    "aborted_read": ANOMALY + "aborted_reads",
}
"""The profile's transactions that see an anomaly, and its name in a tick."""

TALLY_SQL = """
SELECT SUM(done), SUM(done) - SUM(n),
  (SELECT SUM(skews) FROM anomaly_shift) + (
    SELECT COUNT(*) FROM anomaly_doctor AS one JOIN anomaly_doctor AS other
    ON other.id = one.id + 1 AND other.shift = one.shift WHERE one.on_call + other.on_call = 0)
FROM anomaly_counter"""

ANOMALY_TALLY = Tally(
    sql=TALLY_SQL,
    names=(UPDATES, LOST_UPDATES, WRITE_SKEWS),
    transaction="increment",
    committed=UPDATES,
    lost=LOST_UPDATES,
    seen=READERS,
)


class AnomalyTables(DeclaredDataSet, frozen=True, kw_only=True):
    """The tables of one run."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "anomaly_rows": integer_option(
            10, "counters, pairs of doctors and of accounts, rooms: fewer collide more", minimum=1
        ),
        **ENGINE_OPTION,
    }
    TABLES: ClassVar[Mapping[str, BenchmarkTable]] = ANOMALY_TABLES
    TABLE_NAME_CONDITION: ClassVar[str] = named(*ANOMALY_TABLES)
    SCALE: ClassVar[str] = "anomaly_rows"
    SIZED: ClassVar[str] = "id"
    TALLY: ClassVar[Tally | None] = ANOMALY_TALLY
