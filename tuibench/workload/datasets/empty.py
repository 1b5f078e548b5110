"""Data sets without rows: sysbench's bulk_insert (sbtest1…N with id and k, one per connection), and none."""

from collections.abc import Mapping
from random import Random
from typing import ClassVar

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import RowFormat, RowSource, SizeCheck, engine_name
from tuibench.workload.datasets.sbtest import TABLE_NAME, Sbtest, row_count_check
from tuibench.workload.language.options import ProfileOption


class BulkInsertTables(msgspec.Struct, frozen=True, kw_only=True):
    """One table per thread; as in sysbench, with the server's default engine unless one is given."""

    tables: int
    engine: str

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "mysql_storage_engine": ProfileOption(
            type="text", default="", help="storage engine of the tables; empty for the server's default"
        ),
    }
    TABLE_NAME_CONDITION: ClassVar[str] = Sbtest.TABLE_NAME_CONDITION

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "BulkInsertTables":
        engine = values["mysql_storage_engine"]
        return cls(tables=int(values["threads"]), engine=engine_name(engine) if engine else "")

    def without_rows(self) -> "BulkInsertTables":
        return self

    def table_names(self) -> tuple[str, ...]:
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    def is_table_name(self, table: str) -> bool:
        return bool(TABLE_NAME.fullmatch(table))

    def columns(self, table: str) -> dict[str, str]:
        return {"id": "int", "k": "int"}

    def size(self, table: str) -> int:
        return 0

    def chunk_rows(self, table: str) -> int:
        return 0

    def size_checks(self) -> dict[str, SizeCheck]:
        return {name: row_count_check(name, 0) for name in self.table_names()}

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

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> RowSource:
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
        raise ValueError(f"{table} has no rows")

    def block(self, first: int, count: int) -> bytes:
        raise ValueError("there are no rows")


class NoTables(msgspec.Struct, frozen=True):
    """A data set without tables, for SQL on existing tables."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {}
    TABLE_NAME_CONDITION: ClassVar[str] = "FALSE"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "NoTables":
        return cls()

    def without_rows(self) -> "NoTables":
        return self

    def table_names(self) -> tuple[str, ...]:
        return ()

    def is_table_name(self, table: str) -> bool:
        return False

    def columns(self, table: str) -> dict[str, str]:
        return {}

    def size(self, table: str) -> int:
        return 0

    def chunk_rows(self, table: str) -> int:
        return 0

    def size_checks(self) -> dict[str, SizeCheck]:
        return {}

    @property
    def row_data_bytes(self) -> int:
        return 0

    def describe(self) -> str:
        return "no tables"

    def create_sql(self, table: str) -> str:
        raise ValueError(f"{table} is not a table of this data set")

    def index_sql(self, table: str) -> str:
        return ""

    def constraint_sql(self) -> tuple[str, ...]:
        return ()

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> RowSource:
        return NoRows()

    def prepare_command(self, profile: str) -> str:
        return ""

    def cleanup_command(self, profile: str) -> str:
        return ""
