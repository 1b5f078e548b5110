"""Table of YCSB: a key and ten fields of 100 bytes.

The key is an AUTO_INCREMENT number, so that concurrent inserts need no coordination and the newest
row has the largest key. Profiles scatter popular keys over the table, as YCSB does by a hash.
"""

from collections.abc import Mapping
from typing import ClassVar

from tuibench.workload.datasets.base import ENGINE_OPTION
from tuibench.workload.datasets.declared.tables import (
    Column,
    DeclaredDataSet,
    Table,
    named,
    numbers,
)
from tuibench.workload.language.options import ProfileOption, integer_option

FIELDS, FIELD_BYTES = 10, 100
TABLE = "usertable"
_FIELD = Column(f"CHAR({FIELD_BYTES})", lambda values, rows: values.texts(len(rows), FIELD_BYTES))

TABLES = {
    TABLE: Table(
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
    TABLE_NAME_CONDITION: ClassVar[str] = named(TABLE)
    SCALE: ClassVar[str] = "records"
    WHAT: ClassVar[str] = "records"
    SIZED: ClassVar[tuple[str, str]] = (TABLE, "ycsb_key")

    def tables(self) -> Mapping[str, Table]:
        return TABLES
