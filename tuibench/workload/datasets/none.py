"""No tables of its own: for a load whose SQL finds what it needs."""

from collections.abc import Mapping
from random import Random
from typing import ClassVar

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import Extent, Form, RowSource
from tuibench.workload.datasets.bulk import NoRows
from tuibench.workload.options import Option


class NoTables(msgspec.Struct, frozen=True):
    """What there is to make, check and drop: nothing."""

    OPTIONS: ClassVar[dict[str, Option]] = {}
    FAMILY: ClassVar[str] = "FALSE"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "NoTables":
        return cls()

    def emptied(self) -> "NoTables":
        return self

    def table_names(self) -> tuple[str, ...]:
        return ()

    def is_named(self, table: str) -> bool:
        return False

    def columns(self, table: str) -> dict[str, str]:
        return {}

    def size(self, table: str) -> int:
        return 0

    def piece_rows(self, table: str) -> int:
        return 0

    def extents(self) -> dict[str, Extent]:
        return {}

    @property
    def row_data_bytes(self) -> int:
        return 0

    def describe(self) -> str:
        return "no tables of its own"

    def create_sql(self, table: str) -> str:
        raise ValueError(f"{table} is no table of this data set")

    def index_sql(self, table: str) -> str:
        return ""

    def constraint_sql(self) -> tuple[str, ...]:
        return ()

    def rows(self, table: str, stream: Random, form: Form) -> RowSource:
        return NoRows()

    def prepare_command(self, profile: str) -> str:
        return ""

    def cleanup_command(self, profile: str) -> str:
        return ""
