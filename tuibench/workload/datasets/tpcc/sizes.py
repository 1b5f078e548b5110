"""Sizes of TPC-C's tables, and the relations between rows.

Rows of a table are numbered from 1 through all warehouses and districts. Values that two tables share (the
number of lines of an order) depend only on warehouse and district, so that any connection can load any piece.
The numbers of lines are distributed evenly and shuffled: every district has the same number of lines.
"""

from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import NamedTuple

DISTRICTS = 10
MIN_LINES, MAX_LINES = 5, 15
CACHED_DISTRICTS = 16
"""Cached districts, one per connection, about a megabyte each."""


class TpccSizes(NamedTuple):
    """Numbers of warehouses, customers (and orders) per district, items."""

    warehouses: int
    customers: int
    items: int

    @property
    def undelivered(self) -> int:
        return self.customers * 3 // 10

    @property
    def delivered(self) -> int:
        return self.customers - self.undelivered

    @property
    def lines(self) -> int:
        """The order lines of a district."""
        return sum(_line_counts(self.customers))

    def rows_per_range(self, table: str) -> int:
        """Rows per district, per warehouse's stock, or of the table item."""
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
    """A range of rows of one district (or warehouse): `rows` from number `first` on."""

    warehouse: int
    district: int
    first: int
    rows: int

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.rows)


def row_ranges(sizes: TpccSizes, table: str, first: int, count: int) -> Iterator[RowRange]:
    """Rows of a table, from number `first` on, as ranges."""
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
    """The customer of each order of a district: each customer has one."""
    customers = list(range(1, orders + 1))
    Random(f"tuibench:tpcc:{warehouse}:{district}:customers").shuffle(customers)
    return tuple(customers)


class OrderLines(NamedTuple):
    """The order lines of a district: order and line number of each."""

    orders: tuple[int, ...]
    numbers: tuple[int, ...]


@lru_cache(CACHED_DISTRICTS)
def lines_of_district(orders: int, warehouse: int, district: int) -> OrderLines:
    counts = lines_of_orders(orders, warehouse, district)
    return OrderLines(
        tuple([order for order, count in enumerate(counts, 1) for _ in range(count)]),
        tuple([number for count in counts for number in range(1, count + 1)]),
    )
