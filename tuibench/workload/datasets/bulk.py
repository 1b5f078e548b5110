"""The empty tables of sysbench's bulk_insert: sbtest1…N with an id and k, one for each connection."""

from collections.abc import Mapping
from random import Random
from typing import ClassVar

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import Extent, Form, RowSource
from tuibench.workload.datasets.engine import engine_name
from tuibench.workload.datasets.sbtest import NAME, Sbtest, extent
from tuibench.workload.options import Option


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """As many tables as --threads; as sysbench's, of the server's own engine unless one is given."""

    tables: int
    engine: str

    OPTIONS: ClassVar[dict[str, Option]] = {
        "mysql_storage_engine": Option(
            type="text", default="", help="storage engine of the tables; the server's own if empty"
        ),
    }
    FAMILY: ClassVar[str] = Sbtest.FAMILY

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "Bulk":
        engine = values["mysql_storage_engine"]
        return cls(tables=int(values["threads"]), engine=engine_name(engine) if engine else "")

    def emptied(self) -> "Bulk":
        return self

    def table_names(self) -> tuple[str, ...]:
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    def is_named(self, table: str) -> bool:
        return bool(NAME.fullmatch(table))

    def columns(self, table: str) -> dict[str, str]:
        return {"id": "int", "k": "int"}

    def size(self, table: str) -> int:
        return 0

    def piece_rows(self, table: str) -> int:
        return 0

    def extents(self) -> dict[str, Extent]:
        return {name: extent(name, 0) for name in self.table_names()}

    @property
    def row_data_bytes(self) -> int:
        return 0

    def describe(self) -> str:
        return f"{self.tables} empty tables"

    def create_sql(self, table: str) -> str:
        """The CREATE TABLE statement, with sysbench's columns and key."""
        engine = f" ENGINE={self.engine}" if self.engine else ""
        return (
            f"CREATE TABLE {table} (\n"
            "  id INTEGER NOT NULL,\n"
            "  k INTEGER DEFAULT '0' NOT NULL,\n"
            f"  PRIMARY KEY (id)){engine}"
        )

    def index_sql(self, table: str) -> str:
        return ""

    def constraint_sql(self) -> tuple[str, ...]:
        return ()

    def rows(self, table: str, stream: Random, form: Form) -> RowSource:
        return NoRows()

    def prepare_command(self, profile: str) -> str:
        engine = f" --mysql-storage-engine={self.engine}" if self.engine else ""
        return f"tuibench prepare {profile} --threads={self.tables}{engine}"

    def cleanup_command(self, profile: str) -> str:
        return f"tuibench cleanup {profile} --threads={self.tables}"


class NoRows:
    """The rows of an empty table."""

    row_bytes = 1
    parameters = ""

    def sql(self, table: str, charset: str) -> str:
        raise ValueError(f"{table} is made without rows")

    def block(self, first: int, count: int) -> bytes:
        raise ValueError("there are no rows")
