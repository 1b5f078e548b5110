"""sysbench's tables sbtest1…N: their options, definition and rows, exactly as sysbench makes them.

Pure text: who sends it, and how fast, is decided in `load`.
"""

import re
import shlex
from collections.abc import Mapping
from math import ceil
from random import Random
from typing import ClassVar

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload import distribution
from tuibench.workload.datasets.base import Extent, Form
from tuibench.workload.datasets.engine import engine_name
from tuibench.workload.datasets.sbtest_rows import Rows
from tuibench.workload.keys import drawer
from tuibench.workload.options import Option, flag, integer
from tuibench.workload.program import Distribution

MAX_TABLES = 100_000
MAX_REPEAT = 100_000
COLUMNS = {"id": "int", "k": "int", "c": "char(120)", "pad": "char(60)"}
"""The columns by which a table is known to be sbtest's, with their types (a display width does not count)."""

NAME = re.compile(r"sbtest([1-9][0-9]*)")

ENOUGH = 0.99
"""A table is large enough with this share of its ids: workloads that delete may have taken the last ones."""


def extent(table: str, rows: int) -> Extent:
    """The largest id of a table is its number of rows, as sysbench fills it."""
    sql = f"SELECT MAX(id) FROM {table}"  # noqa: S608 (a name of ours)
    return Extent(sql, rows, ceil(rows * ENOUGH), "rows", "table-size")


def _repeat(default: int, text: str) -> Option:
    return integer(default, text, maximum=MAX_REPEAT)


class Sbtest(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of one run: made with `table_size` rows each, used by `keys` as --table-size says."""

    FAMILY: ClassVar[str] = "t.table_name LIKE 'sbtest%'"

    tables: int
    table_size: int
    keys: int
    auto_inc: bool
    secondary: bool
    create_secondary: bool
    engine: str
    table_options: str
    distribution: Distribution

    OPTIONS: ClassVar[dict[str, Option]] = {
        "tables": integer(1, "number of tables", minimum=1, maximum=MAX_TABLES),
        "table_size": integer(10_000, "number of rows per table", minimum=1),
        "range_size": integer(100, "rows in a range SELECT", minimum=1),
        "point_selects": _repeat(10, "point SELECTs per transaction"),
        "simple_ranges": _repeat(1, "simple range SELECTs per transaction"),
        "sum_ranges": _repeat(1, "SELECT SUM() per transaction"),
        "order_ranges": _repeat(1, "SELECT … ORDER BY per transaction"),
        "distinct_ranges": _repeat(1, "SELECT DISTINCT per transaction"),
        "index_updates": _repeat(1, "UPDATEs of the indexed column per transaction"),
        "non_index_updates": _repeat(1, "UPDATEs of a column without index per transaction"),
        "delete_inserts": _repeat(1, "DELETE and INSERT pairs per transaction"),
        "range_selects": flag(True, "do the range SELECTs at all"),
        "skip_trx": flag(False, "no BEGIN and COMMIT: every statement by itself"),
        "auto_inc": flag(True, "AUTO_INCREMENT on the primary key"),
        "secondary": flag(False, "a secondary index in place of the primary key"),
        "create_secondary": flag(True, "an index on k besides the primary key"),
        "mysql_storage_engine": Option(type="text", default="innodb", help="storage engine of the tables"),
        "mysql_table_options": Option(type="text", default="", help="further table options, as SQL"),
    }

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "Sbtest":
        """The data set that resolved options ask for. Raises UsageError for a name that is no engine."""
        return cls(
            tables=int(values["tables"]),
            table_size=int(values["table_size"]),
            keys=int(values["table_size"]),
            auto_inc=bool(values["auto_inc"]),
            secondary=bool(values["secondary"]),
            create_secondary=bool(values["create_secondary"]),
            engine=engine_name(values["mysql_storage_engine"]),
            table_options=str(values["mysql_table_options"]),
            distribution=distribution.chosen(values),
        )

    def emptied(self) -> "Sbtest":
        return msgspec.structs.replace(self, table_size=0)

    def table_names(self) -> tuple[str, ...]:
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    def is_named(self, table: str) -> bool:
        return bool(NAME.fullmatch(table))

    def columns(self, table: str) -> dict[str, str]:
        return COLUMNS

    def size(self, table: str) -> int:
        return self.table_size

    def piece_rows(self, table: str) -> int:
        return 0

    def extents(self) -> dict[str, Extent]:
        return {name: extent(name, self.table_size) for name in self.table_names()}

    @property
    def row_data_bytes(self) -> int:
        return self.tables * self.table_size * self.rows("sbtest1", Random(0), Form.SQL).row_bytes

    def describe(self) -> str:
        return f"{self.tables} × {self.table_size:,} rows"

    def create_sql(self, table: str) -> str:
        """The CREATE TABLE statement, word for word sysbench's."""
        auto_increment = " AUTO_INCREMENT" if self.auto_inc else ""
        key = "KEY xid" if self.secondary else "PRIMARY KEY"
        return (
            f"CREATE TABLE {table}(\n"
            f"  id INTEGER NOT NULL{auto_increment},\n"
            "  k INTEGER DEFAULT '0' NOT NULL,\n"
            "  c CHAR(120) DEFAULT '' NOT NULL,\n"
            "  pad CHAR(60) DEFAULT '' NOT NULL,\n"
            f"  {key} (id)\n"
            f") /*! ENGINE = {self.engine} */ {self.table_options}"
        )

    def index_sql(self, table: str) -> str:
        """The CREATE INDEX statement for after the load, empty if there is to be none."""
        number = table.removeprefix("sbtest")
        return f"CREATE INDEX k_{number} ON {table}(k)" if self.create_secondary else ""

    def constraint_sql(self) -> tuple[str, ...]:
        return ()

    def rows(self, table: str, stream: Random, form: Form) -> Rows:
        """A source of rows in one of the forms, whose values come from `stream`."""
        return Rows(form, len(str(self.table_size)), drawer(self.distribution, 1, self.keys, stream), stream)

    def prepare_command(self, profile: str) -> str:
        """What to type to make these tables."""
        parts = [f"tuibench prepare {profile} --tables={self.tables} --table-size={self.keys}"]
        parts += ["--auto-inc=off"] * (not self.auto_inc) + ["--secondary=on"] * self.secondary
        parts += ["--create-secondary=off"] * (not self.create_secondary)
        parts += [f"--mysql-storage-engine={self.engine}"] * (self.engine.lower() != "innodb")
        parts += [f"--mysql-table-options={shlex.quote(self.table_options)}"] * bool(self.table_options)
        return " ".join(parts)

    def cleanup_command(self, profile: str) -> str:
        """What to type to drop them."""
        return f"tuibench cleanup {profile} --tables={self.tables}"
