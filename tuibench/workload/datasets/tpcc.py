"""TPC-C's tables: how many warehouses of which size, how large the tables are, what is said of them."""

import time
from collections.abc import Mapping
from random import Random
from typing import ClassVar

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import Extent, Form
from tuibench.workload.datasets.engine import engine_name
from tuibench.workload.datasets.tpcc_rows import Rows
from tuibench.workload.datasets.tpcc_sizes import Sizes
from tuibench.workload.datasets.tpcc_tables import TABLES
from tuibench.workload.options import Option, flag, integer

MAX_WAREHOUSES = 100_000
ROW_DATA_BYTES_PER_WAREHOUSE, ROW_DATA_BYTES_PER_ITEM = 90_000_000, 75
PIECE_ROWS = 30_000
"""So much of a table is loaded at a time: half a second's work."""


class Tpcc(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of one run. `loaded_c` is the constant C of the load's last names.

    `loaded_at` is the time that the rows bear, as a DATETIME.
    """

    warehouses: int
    customers: int
    items: int
    loaded_c: int
    foreign_keys: bool
    engine: str
    loaded_at: str
    is_empty: bool = False

    OPTIONS: ClassVar[dict[str, Option]] = {
        "warehouses": integer(1, "number of warehouses", minimum=1, maximum=MAX_WAREHOUSES),
        "foreign_keys": flag(False, "tie the tables with foreign keys, when they are made"),
        "c_load": integer(123, "the constant C that last names are loaded with", maximum=255),
        "customers_per_district": integer(
            3000, "customers of a district; TPC-C's are 3000, fewer are for tests", minimum=20, maximum=3000
        ),
        "items": integer(100_000, "items in the catalogue; TPC-C's are 100,000", minimum=20, maximum=100_000),
        "mysql_storage_engine": Option(type="text", default="innodb", help="storage engine of the tables"),
    }
    FAMILY: ClassVar[str] = f"t.table_name IN ({', '.join(repr(name) for name in TABLES)})"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "Tpcc":
        """The data set that resolved options ask for. Raises UsageError for a name that is no engine."""
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
    def sizes(self) -> Sizes:
        return Sizes(self.warehouses, self.customers, self.items)

    def emptied(self) -> "Tpcc":
        return msgspec.structs.replace(self, is_empty=True)

    def table_names(self) -> tuple[str, ...]:
        return tuple(TABLES)

    def is_named(self, table: str) -> bool:
        return table in TABLES

    def columns(self, table: str) -> dict[str, str]:
        return {name: kind.lower() for name, kind in TABLES[table].columns.items()}

    def size(self, table: str) -> int:
        return 0 if self.is_empty else self.sizes.rows(table)

    def piece_rows(self, table: str) -> int:
        """Whole districts, or parts of a warehouse's stock."""
        whole = self.sizes.per_stretch(table)
        return whole * max(1, PIECE_ROWS // whole) if table != "stock" else PIECE_ROWS

    def extents(self) -> dict[str, Extent]:
        """The number of warehouses, and whether the last one is as large as it should be."""
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
            table: Extent(f"SELECT {sql}", wanted, wanted, what, option, is_for_use=table == "warehouse")
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
        """The foreign keys. Our rows fulfil them, so the server need not copy the tables to look."""
        if not self.foreign_keys:
            return ()
        added = (table.reference_sql(name) for name, table in TABLES.items())
        return ("SET SESSION foreign_key_checks=0", *filter(None, added))

    def rows(self, table: str, stream: Random, form: Form) -> Rows:
        """A source of the table's rows in one of the forms, whose values come from `stream`."""
        return Rows(table, self.sizes, self.loaded_c, self.loaded_at, stream, form)

    def prepare_command(self, profile: str) -> str:
        """What to type to make these tables."""
        parts = [f"tuibench prepare {profile} --warehouses={self.warehouses}"]
        parts += ["--foreign-keys"] * self.foreign_keys
        for option, value in (
            ("c_load", self.loaded_c),
            ("customers_per_district", self.customers),
            ("items", self.items),
        ):
            if value != self.OPTIONS[option].default:
                parts.append(f"--{option.replace('_', '-')}={value}")
        parts += [f"--mysql-storage-engine={self.engine}"] * (self.engine.lower() != "innodb")
        return " ".join(parts)

    def cleanup_command(self, profile: str) -> str:
        """What to type to drop them."""
        return f"tuibench cleanup {profile}"
