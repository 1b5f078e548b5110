"""The data set of TPC-C: tables with the specification's names and go-tpc's types, and their contents.

Rows of a table are numbered from 1 through all warehouses and districts. Values that two tables share (the
number of lines of an order) depend only on warehouse and district, so that any connection can load any piece.
The numbers of lines are distributed evenly and shuffled: every district has the same number of lines.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import ClassVar, NamedTuple

from tuibench.model.plan import OptionValue
from tuibench.workload.benchmarks import RowValues
from tuibench.workload.dataset import (
    ALPHANUMERICS,
    DIGITS,
    ENGINE_OPTION,
    LETTERS,
    ColumnValues,
    DataSet,
    EncodedRows,
    RowBlock,
    RowFormat,
    SizeCheck,
    engine_name,
)
from tuibench.workload.options import ProfileOption, flag_option, integer_option
from tuibench.workload.values import Nurand

DISTRICTS = 10
MIN_LINES, MAX_LINES = 5, 15
CACHED_DISTRICTS = 16
"""Districts in the cache, one for each connection; each takes about a megabyte."""


class TpccSizes(NamedTuple):
    """The sizes of a data set."""

    warehouses: int
    customers: int
    """Customers of each district, which are also its orders."""
    items: int

    @property
    def undelivered(self) -> int:
        return self.customers * 3 // 10

    @property
    def delivered(self) -> int:
        return self.customers - self.undelivered

    @property
    def lines(self) -> int:
        """Order lines of a district."""
        return sum(_line_counts(self.customers))

    def rows_per_range(self, table: str) -> int:
        """Rows of a district, of a warehouse's stock, or of the whole table item."""
        return {
            "warehouse": 1,
            "district": 1,
            "item": self.items,
            "stock": self.items,
            "new_order": self.undelivered,
            "order_line": self.lines,
        }.get(table, self.customers)

    def rows(self, table: str) -> int:
        """Rows of the whole table."""
        stretches = {"item": 1, "warehouse": self.warehouses, "stock": self.warehouses}
        return self.rows_per_range(table) * stretches.get(table, self.warehouses * DISTRICTS)


class RowRange(NamedTuple):
    """Rows of one district (or warehouse)."""

    warehouse: int
    district: int
    first: int
    """Number of the first row within the district."""
    rows: int

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.rows)


def row_ranges(sizes: TpccSizes, table: str, first: int, count: int) -> Iterator[RowRange]:
    """`count` rows of a table from number `first` on, as ranges within districts."""
    whole = sizes.rows_per_range(table)
    districts = 1 if table in ("warehouse", "stock", "item") else DISTRICTS
    place, end = first - 1, first - 1 + count
    while place < end:
        number, start = divmod(place, whole)
        warehouse, district = divmod(number, districts)
        rows = min(whole - start, end - place)
        yield RowRange(warehouse + 1, district + 1, start + 1, rows)
        place += rows


def _line_counts(orders: int) -> list[int]:
    turn = range(MIN_LINES, MAX_LINES + 1)
    return [turn[order % len(turn)] for order in range(orders)]


@lru_cache(CACHED_DISTRICTS)
def lines_of_orders(orders: int, warehouse: int, district: int) -> tuple[int, ...]:
    """The number of lines of each order of a district."""
    lines = _line_counts(orders)
    Random(f"tuibench:tpcc:{warehouse}:{district}:lines").shuffle(lines)
    return tuple(lines)


@lru_cache(CACHED_DISTRICTS)
def customers_of_orders(orders: int, warehouse: int, district: int) -> tuple[int, ...]:
    """The customer of each order of a district; each customer has one order."""
    customers = list(range(1, orders + 1))
    Random(f"tuibench:tpcc:{warehouse}:{district}:customers").shuffle(customers)
    return tuple(customers)


@lru_cache(CACHED_DISTRICTS)
def lines_of_district(orders: int, warehouse: int, district: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The order lines of a district: the order of each line, and its number in that order."""
    counts = lines_of_orders(orders, warehouse, district)
    return (
        tuple([order for order, count in enumerate(counts, 1) for _ in range(count)]),
        tuple([number for count in counts for number in range(1, count + 1)]),
    )


SYLLABLES = (b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING")
LAST_NAMES = 1000
LAST_NAME_A = 255


def last_name(number: int) -> bytes:
    """The last name for a number from 0 to 999 (TPC-C 4.3.2.3)."""
    return SYLLABLES[number // 100] + SYLLABLES[number // 10 % 10] + SYLLABLES[number % 10]


ORIGINAL = b"ORIGINAL"
ORIGINAL_SHARE = BAD_CREDIT_SHARE = 0.1


class TpccValues(RowValues):
    """Generates columns from one stream."""

    def __init__(self, sizes: TpccSizes, loaded_c: int, loaded_at: bytes, stream: Random) -> None:
        super().__init__(stream, (ALPHANUMERICS, LETTERS, DIGITS))
        self.sizes = sizes
        self.now = loaded_at
        # Customers after the first thousand have random names; small districts have fewer names.
        names = min(sizes.customers, LAST_NAMES)
        self.name_number = Nurand(a=LAST_NAME_A, low=0, high=names - 1, loaded_c=loaded_c).with_constant(
            loaded_c, stream
        )

    def address(self, count: int) -> list[ColumnValues]:
        """Two streets, city, state, and a zip code that ends in 11111."""
        streets: list[ColumnValues] = [self.varying_texts(count, 10, 20) for _ in range(3)]
        zips = [digits + b"11111" for digits in self.texts(count, 4, DIGITS)]
        return [*streets, self.texts(count, 2, LETTERS), zips]

    def data(self, count: int) -> list[bytes]:
        """26 to 50 characters; one in ten contains ORIGINAL."""
        return [self._original(text) for text in self.varying_texts(count, 26, 50)]

    def _original(self, text: bytes) -> bytes:
        if self.chance() >= ORIGINAL_SHARE:
            return text
        place = int(self.chance() * (len(text) - len(ORIGINAL) + 1))
        return text[:place] + ORIGINAL + text[place + len(ORIGINAL) :]


DIST_LENGTH = 24
LOADED_QUANTITY = 5


def _warehouse(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    ytd = b"%d.00" % (values.sizes.customers * DISTRICTS * 10)
    yield (
        at.rows,
        [at.warehouse, values.varying_texts(1, 6, 10), *values.address(1), values.exact(1, 0, 2000, 4), ytd],
    )


def _district(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    customers = values.sizes.customers
    name, tax = values.varying_texts(1, 6, 10), values.exact(1, 0, 2000, 4)
    yield at.rows, [
        at.district, at.warehouse, name, *values.address(1), tax, b"%d.00" % (customers * 10), customers + 1,
    ]  # fmt: skip


def _item(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    count = at.rows
    prices = values.exact(count, 100, 10_000, 2)
    yield at.rows, [
        list(at.numbers), values.integers(count, 1, 10_000), values.varying_texts(count, 14, 24), prices,
        values.data(count),
    ]  # fmt: skip


def _stock(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    count = at.rows
    dists: list[ColumnValues] = [values.texts(count, DIST_LENGTH) for _ in range(DISTRICTS)]
    quantities = values.integers(count, 10, 100)
    yield at.rows, [list(at.numbers), at.warehouse, quantities, *dists, 0, 0, 0, values.data(count)]


def _customer(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    count = at.rows
    # The first customers have each last name once, the others random ones.
    yield at.rows, [
        list(at.numbers), at.district, at.warehouse, values.varying_texts(count, 8, 16), b"OE",
        [last_name(number - 1 if number <= LAST_NAMES else values.name_number()) for number in at.numbers],
        *values.address(count), values.texts(count, 16, DIGITS), values.now,
        [b"BC" if values.chance() < BAD_CREDIT_SHARE else b"GC" for _ in range(count)],
        b"50000.00", values.exact(count, 0, 5000, 4), b"-10.00", b"10.00", 1, 0,
        values.varying_texts(count, 300, 500),
    ]  # fmt: skip


def _history(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    district, warehouse = at.district, at.warehouse
    texts = values.varying_texts(at.rows, 12, 24)
    yield at.rows, [list(at.numbers), district, warehouse, district, warehouse, values.now, b"10.00", texts]


def _new_order(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    delivered = values.sizes.customers - values.sizes.undelivered
    yield at.rows, [[delivered + number for number in at.numbers], at.district, at.warehouse]


def _orders(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    orders, delivered = values.sizes.customers, values.sizes.delivered
    lines = lines_of_orders(orders, at.warehouse, at.district)
    customers = customers_of_orders(orders, at.warehouse, at.district)
    for numbers in _split_range(at.numbers, delivered + 1):
        rows, is_delivered = len(numbers), numbers[0] <= delivered
        of = slice(numbers[0] - 1, numbers[-1])
        carriers = values.integers(rows, 1, 10) if is_delivered else None
        yield rows, [
            list(numbers), at.district, at.warehouse, list(customers[of]), values.now, carriers,
            list(lines[of]), 1,
        ]  # fmt: skip


def _order_line(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    """Delivered lines have amount 0, so that the customers' balances are consistent from the start."""
    orders, delivered = values.sizes.customers, values.sizes.delivered
    order_ids, line_numbers = lines_of_district(orders, at.warehouse, at.district)
    border = bisect_right(order_ids, delivered) + 1
    for numbers in _split_range(at.numbers, border):
        rows, is_delivered = len(numbers), numbers[0] < border
        of = slice(numbers[0] - 1, numbers[-1])
        yield rows, [
            list(order_ids[of]), at.district, at.warehouse, list(line_numbers[of]),
            values.integers(rows, 1, values.sizes.items), at.warehouse, values.now if is_delivered else None,
            LOADED_QUANTITY, b"0.00" if is_delivered else values.exact(rows, 1, 999_999, 2),
            values.texts(rows, DIST_LENGTH),
        ]  # fmt: skip


def _split_range(numbers: range, border: int) -> Iterator[range]:
    """The numbers below the border, and the others; empty parts are omitted."""
    for part in (
        range(numbers.start, min(numbers.stop, border)),
        range(max(numbers.start, border), numbers.stop),
    ):
        if part:
            yield part


class TpccTable(NamedTuple):
    """One table.

    Delivered and other orders are separate blocks, so that a column of a block is either all null or never
    null.
    """

    declared: str
    """Columns with their types."""
    blocks: Callable[[TpccValues, RowRange], Iterator[RowBlock]]
    """Generates the blocks of a range of rows."""
    row_bytes: int
    """The encoded size of a row, or a little more than the average."""
    key: str = ""
    """The primary key."""
    secondary: str = ""
    """The secondary index."""
    references: tuple[tuple[str, str], ...] = ()
    """Foreign keys."""

    @property
    def columns(self) -> dict[str, str]:
        return dict(column.split(" ", 1) for column in self.declared.split(", "))

    def create_sql(self, name: str, engine: str, *, forces_key: bool) -> str:
        """The CREATE TABLE statement; columns of the primary key are NOT NULL.

        With `forces_key`, a table without a primary key gets one, in the form of sysbench-tpcc.
        """
        keys = self.key.split(", ")
        lines = [
            f"{column} {kind}{' NOT NULL' if column in keys or column in _NOT_NULL_COLUMNS else ''}"
            for column, kind in self.columns.items()
        ]
        if forces_key and not self.key:
            lines = ["id INT NOT NULL AUTO_INCREMENT", *lines, "PRIMARY KEY (id)"]
        lines += [f"PRIMARY KEY ({self.key})"] * bool(self.key)
        body = ",\n  ".join(lines)
        return f"CREATE TABLE {name} (\n  {body}\n) ENGINE={engine}"


_NOT_NULL_COLUMNS = frozenset({"h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "ol_i_id"})
"""NOT NULL columns outside the primary keys."""


def _address(prefix: str) -> str:
    texts = ", ".join(f"{prefix}_{name} VARCHAR(20)" for name in ("street_1", "street_2", "city"))
    return f"{texts}, {prefix}_state CHAR(2), {prefix}_zip CHAR(9)"


_DISTRICT_INFO = ", ".join(f"s_dist_{number:02} CHAR(24)" for number in range(1, DISTRICTS + 1))

TABLES = {
    "order_line": TpccTable(
        "ol_o_id INT, ol_d_id INT, ol_w_id INT, ol_number INT, ol_i_id INT, ol_supply_w_id INT, "
        "ol_delivery_d DATETIME, ol_quantity INT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24)",
        _order_line,
        105,
        key="ol_w_id, ol_d_id, ol_o_id, ol_number",
        references=(
            ("ol_w_id, ol_d_id, ol_o_id", "orders (o_w_id, o_d_id, o_id)"),
            ("ol_supply_w_id, ol_i_id", "stock (s_w_id, s_i_id)"),
        ),
    ),
    "stock": TpccTable(
        f"s_i_id INT, s_w_id INT, s_quantity INT, {_DISTRICT_INFO}, s_ytd INT, s_order_cnt INT, "
        "s_remote_cnt INT, s_data VARCHAR(50)",
        _stock,
        370,
        key="s_w_id, s_i_id",
        references=(("s_w_id", "warehouse (w_id)"), ("s_i_id", "item (i_id)")),
    ),
    "new_order": TpccTable(
        "no_o_id INT, no_d_id INT, no_w_id INT",
        _new_order,
        20,
        key="no_w_id, no_d_id, no_o_id",
        references=(("no_w_id, no_d_id, no_o_id", "orders (o_w_id, o_d_id, o_id)"),),
    ),
    "orders": TpccTable(
        "o_id INT, o_d_id INT, o_w_id INT, o_c_id INT, o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT, "
        "o_all_local INT",
        _orders,
        70,
        key="o_w_id, o_d_id, o_id",
        secondary="idx_order ON orders (o_w_id, o_d_id, o_c_id, o_id)",
        references=(("o_w_id, o_d_id, o_c_id", "customer (c_w_id, c_d_id, c_id)"),),
    ),
    "history": TpccTable(
        "h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT, h_date DATETIME, "
        "h_amount DECIMAL(6,2), h_data VARCHAR(24)",
        _history,
        90,
        references=(
            ("h_c_w_id, h_c_d_id, h_c_id", "customer (c_w_id, c_d_id, c_id)"),
            ("h_w_id, h_d_id", "district (d_w_id, d_id)"),
        ),
    ),
    "customer": TpccTable(
        "c_id INT, c_d_id INT, c_w_id INT, c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), "
        f"{_address('c')}, c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), "
        "c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INT, "
        "c_delivery_cnt INT, c_data VARCHAR(500)",
        _customer,
        680,
        key="c_w_id, c_d_id, c_id",
        secondary="idx_customer ON customer (c_w_id, c_d_id, c_last, c_first)",
        references=(("c_w_id, c_d_id", "district (d_w_id, d_id)"),),
    ),
    "district": TpccTable(
        f"d_id INT, d_w_id INT, d_name VARCHAR(10), {_address('d')}, d_tax DECIMAL(4,4), "
        "d_ytd DECIMAL(12,2), d_next_o_id INT",
        _district,
        150,
        key="d_w_id, d_id",
        references=(("d_w_id", "warehouse (w_id)"),),
    ),
    "warehouse": TpccTable(
        f"w_id INT, w_name VARCHAR(10), {_address('w')}, w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2)",
        _warehouse,
        150,
        key="w_id",
    ),
    "item": TpccTable(
        "i_id INT, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50)",
        _item,
        110,
        key="i_id",
    ),
}
"""The tables in an order for dropping: each before those that it references."""


class TpccRows(EncodedRows):
    """The rows of one table."""

    def __init__(self, table: str, data: "Tpcc", stream: Random, row_format: RowFormat) -> None:
        super().__init__(TABLES[table].columns, TABLES[table].row_bytes, row_format)
        self._table = table
        self._values = TpccValues(data.sizes, data.loaded_c, data.loaded_at.encode(), stream)

    def blocks(self, first: int, count: int) -> Iterator[RowBlock]:
        ranges = row_ranges(self._values.sizes, self._table, first, count)
        return (block for each in ranges for block in TABLES[self._table].blocks(self._values, each))


MAX_WAREHOUSES = 100_000
ROW_DATA_BYTES_PER_WAREHOUSE, ROW_DATA_BYTES_PER_ITEM = 90_000_000, 75
CHUNK_ROWS = 30_000
"""Rows loaded at a time: about half a second's work."""


class Tpcc(DataSet, frozen=True, kw_only=True):
    """The tables of one run."""

    warehouses: int
    customers: int
    items: int
    loaded_c: int
    """The constant C with which last names were loaded."""
    foreign_keys: bool
    force_pk: bool
    loaded_at: str
    """The DATETIME in the rows."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "warehouses": integer_option(1, "number of warehouses", minimum=1, maximum=MAX_WAREHOUSES),
        "foreign_keys": flag_option(False, "create foreign keys after loading"),
        "force_pk": flag_option(False, "a primary key for the table history, which clusters ask for"),
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
            force_pk=bool(values["force_pk"]),
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
        return TABLES[table].create_sql(table, self.engine, forces_key=self.force_pk)

    def index_sql(self, table: str) -> str:
        index = TABLES[table].secondary
        return f"CREATE INDEX {index}" if index else ""

    def constraint_sql(self) -> tuple[str, ...]:
        """The foreign keys.

        The rows satisfy them, so the server does not need to copy the tables for a check.
        """
        if not self.foreign_keys:
            return ()
        statements = ["SET SESSION foreign_key_checks=0"]
        for name, table in TABLES.items():
            added = (
                f"ADD CONSTRAINT fk_{name}_{number} FOREIGN KEY ({columns}) REFERENCES {parent}"
                for number, (columns, parent) in enumerate(table.references, 1)
            )
            if table.references:
                statements.append(f"ALTER TABLE {name} {', '.join(added)}")
        return tuple(statements)

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> TpccRows:
        """A source of the table's rows in a format, with values from `stream`."""
        return TpccRows(table, self, stream, row_format)

    def prepare_command(self, profile: str) -> str:
        parts = [f"tuibench prepare {profile} --warehouses={self.warehouses}"]
        parts += ["--foreign-keys"] * self.foreign_keys + ["--force-pk"] * self.force_pk
        for option, value in (
            ("c_load", self.loaded_c),
            ("customers_per_district", self.customers),
            ("items", self.items),
        ):
            if value != self.OPTIONS[option].default:
                parts.append(f"--{option.replace('_', '-')}={value}")
        return " ".join((*parts, *self.engine_words()))
