"""Data sets without rows: sysbench's bulk_insert (sbtest1…N with id and k, one per connection), and none."""

from collections.abc import Mapping
from typing import ClassVar

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import DataSet, SizeCheck, engine_name
from tuibench.workload.datasets.sbtest import NumberedTables, row_count_check
from tuibench.workload.language.options import ProfileOption


class BulkInsertTables(NumberedTables, frozen=True, kw_only=True):
    """One table per thread; as in sysbench, with the server's default engine unless one is given."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "mysql_storage_engine": ProfileOption(
            type="text", default="", help="storage engine of the tables; empty for the server's default"
        ),
    }

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "BulkInsertTables":
        engine = values["mysql_storage_engine"]
        return cls(tables=int(values["threads"]), engine=engine_name(engine) if engine else "")

    def columns(self, table: str) -> dict[str, str]:
        return {"id": "int", "k": "int"}

    def size_checks(self) -> dict[str, SizeCheck]:
        return {name: row_count_check(name, 0) for name in self.table_names()}

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

    def prepare_command(self, profile: str) -> str:
        engine = f" --mysql-storage-engine={self.engine}" if self.engine else ""
        return f"tuibench prepare {profile} --threads={self.tables}{engine}"

    def cleanup_command(self, profile: str) -> str:
        return f"tuibench cleanup {profile} --threads={self.tables}"


class NoTables(DataSet, frozen=True):
    """A data set without tables, for SQL on existing tables."""

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "NoTables":
        return cls()

    def table_names(self) -> tuple[str, ...]:
        return ()

    def columns(self, table: str) -> dict[str, str]:
        return {}

    def describe(self) -> str:
        return "no tables"

    def create_sql(self, table: str) -> str:
        raise ValueError(f"{table} is not a table of this data set")

    def prepare_command(self, profile: str) -> str:
        return ""

    def cleanup_command(self, profile: str) -> str:
        return ""
