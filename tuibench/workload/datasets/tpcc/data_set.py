"""TPC-C data set: options, tables, size queries, row sources."""

import time
from collections.abc import Mapping
from random import Random
from typing import ClassVar

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import (
    ENGINE_OPTION,
    DataSet,
    RowFormat,
    SizeCheck,
    engine_name,
    insert_statement,
)
from tuibench.workload.datasets.row_encoding import bulk_parameter_types, encode_rows
from tuibench.workload.datasets.tpcc.random_values import TpccValues
from tuibench.workload.datasets.tpcc.row_blocks import ROW_BYTES, row_blocks
from tuibench.workload.datasets.tpcc.sizes import TpccSizes, row_ranges
from tuibench.workload.datasets.tpcc.tables import TABLES
from tuibench.workload.language.options import ProfileOption, flag_option, integer_option


class TpccRows:
    """Encodes the rows of one table in one format."""

    def __init__(
        self,
        table: str,
        sizes: TpccSizes,
        loaded_c: int,
        loaded_at: str,
        stream: Random,
        row_format: RowFormat,
    ) -> None:
        self._table = table
        self._sizes = sizes
        self._row_format = row_format
        self._columns = tuple(TABLES[table].columns)
        self.parameters = bulk_parameter_types(TABLES[table].columns)
        self._values = TpccValues(sizes, loaded_c, loaded_at.encode(), stream)
        self.row_bytes = ROW_BYTES[table]

    def sql(self, table: str, charset: str) -> str:
        return insert_statement(self._row_format, table, self._columns, charset)

    def block(self, first: int, count: int) -> bytes:
        written = b"".join(
            encode_rows(self._row_format, rows, columns)
            for row_range in row_ranges(self._sizes, self._table, first, count)
            for rows, columns in row_blocks(self._table, self._values, row_range)
        )
        return written[:-1] if self._row_format is RowFormat.SQL else written


MAX_WAREHOUSES = 100_000
ROW_DATA_BYTES_PER_WAREHOUSE, ROW_DATA_BYTES_PER_ITEM = 90_000_000, 75
CHUNK_ROWS = 30_000
"""Rows loaded at a time: about half a second's work."""


class Tpcc(DataSet, frozen=True, kw_only=True):
    """The tables of one run. `loaded_c` is the constant C for last names.

    `loaded_at` is the DATETIME in the rows.
    """

    warehouses: int
    customers: int
    items: int
    loaded_c: int
    foreign_keys: bool
    loaded_at: str

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "warehouses": integer_option(1, "number of warehouses", minimum=1, maximum=MAX_WAREHOUSES),
        "foreign_keys": flag_option(False, "create foreign keys after loading"),
        "c_load": integer_option(123, "the constant C for last names when loading", maximum=255),
        "customers_per_district": integer_option(
            3000, "customers per district; 3000 in TPC-C, fewer for tests", minimum=20, maximum=3000
        ),
        "items": integer_option(100_000, "items; 100,000 in TPC-C", minimum=20, maximum=100_000),
        **ENGINE_OPTION,
    }
    TABLE_NAME_CONDITION: ClassVar[str] = f"t.table_name IN ({', '.join(repr(name) for name in TABLES)})"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "Tpcc":
        """The data set with resolved options. Raises UsageError for an invalid engine name."""
        return cls(
            warehouses=int(values["warehouses"]),
            customers=int(values["customers_per_district"]),
            items=int(values["items"]),
            loaded_c=int(values["c_load"]),
            foreign_keys=bool(values["foreign_keys"]),
            engine=engine_name(values["mysql_storage_engine"]),
            loaded_at=time.strftime("%Y-%m-%d %H:%M:%S"),
        )

    @property
    def sizes(self) -> TpccSizes:
        return TpccSizes(self.warehouses, self.customers, self.items)

    def table_names(self) -> tuple[str, ...]:
        return tuple(TABLES)

    def columns(self, table: str) -> dict[str, str]:
        return {name: kind.lower() for name, kind in TABLES[table].columns.items()}

    def size(self, table: str) -> int:
        return 0 if self.is_empty else self.sizes.rows(table)

    def chunk_rows(self, table: str) -> int:
        """Complete districts, or parts of a warehouse's stock."""
        whole = self.sizes.rows_per_range(table)
        return whole * max(1, CHUNK_ROWS // whole) if table != "stock" else CHUNK_ROWS

    def size_checks(self) -> dict[str, SizeCheck]:
        """Queries for the number of warehouses, and for the size of the last one."""
        last = f"WHERE {{}}_w_id = {self.warehouses}"
        asked = {
            "warehouse": ("MAX(w_id) FROM warehouse", self.warehouses, "warehouses", "warehouses"),
            "item": ("MAX(i_id) FROM item", self.items, "items", "items"),
            "stock": (f"MAX(s_i_id) FROM stock {last.format('s')}", self.items, "items", "items"),
            "customer": (
                f"MAX(c_id) FROM customer {last.format('c')} AND c_d_id = 10",
                self.customers,
                "customers in its last district",
                "customers-per-district",
            ),
        }
        return {
            table: SizeCheck(f"SELECT {sql}", wanted, wanted, what, option, is_for_use=table == "warehouse")
            for table, (sql, wanted, what, option) in asked.items()
        }

    @property
    def row_data_bytes(self) -> int:
        share = (self.items / 100_000 + self.customers / 3000) / 2
        return (
            int(self.warehouses * ROW_DATA_BYTES_PER_WAREHOUSE * share) + self.items * ROW_DATA_BYTES_PER_ITEM
        )

    def describe(self) -> str:
        size = "" if (self.customers, self.items) == (3000, 100_000) else ", smaller than TPC-C's"
        return f"{self.warehouses:,} {'warehouse' if self.warehouses == 1 else 'warehouses'}{size}"

    def create_sql(self, table: str) -> str:
        return TABLES[table].create_sql(table, self.engine)

    def index_sql(self, table: str) -> str:
        index = TABLES[table].secondary
        return f"CREATE INDEX {index}" if index else ""

    def constraint_sql(self) -> tuple[str, ...]:
        """The foreign keys.

        The rows satisfy them, so the server does not need to copy the tables for a check.
        """
        if not self.foreign_keys:
            return ()
        added = (table.reference_sql(name) for name, table in TABLES.items())
        return ("SET SESSION foreign_key_checks=0", *filter(None, added))

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> TpccRows:
        """A source of the table's rows in a format, with values from `stream`."""
        return TpccRows(table, self.sizes, self.loaded_c, self.loaded_at, stream, row_format)

    def prepare_command(self, profile: str) -> str:
        parts = [f"tuibench prepare {profile} --warehouses={self.warehouses}"]
        parts += ["--foreign-keys"] * self.foreign_keys
        for option, value in (
            ("c_load", self.loaded_c),
            ("customers_per_district", self.customers),
            ("items", self.items),
        ):
            if value != self.OPTIONS[option].default:
                parts.append(f"--{option.replace('_', '-')}={value}")
        return " ".join((*parts, *self.engine_words()))
