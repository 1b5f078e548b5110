"""How many rows TPC-C's tables have, and which of them belong together: pure arithmetic.

Rows of a table are numbered from 1 through all warehouses and districts. What two tables must agree on (how
many lines an order has) depends on warehouse and district alone, so that any connection can load any piece.
Numbers of lines are dealt out evenly and shuffled: every district has the same number of lines.
"""

from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import NamedTuple

DISTRICTS = 10
LEAST_LINES, MOST_LINES = 5, 15
KEPT_DISTRICTS = 16
"""Those of so many connections are remembered while they are loaded, a megabyte each."""


class Sizes(NamedTuple):
    """How many there are: warehouses, customers (and orders) of a district, items."""

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
        return sum(_lines_in_turn(self.customers))

    def per_stretch(self, table: str) -> int:
        """How many rows belong to one district, one warehouse's stock, or the whole catalogue."""
        return {
            "warehouse": 1,
            "district": 1,
            "item": self.items,
            "stock": self.items,
            "new_order": self.undelivered,
            "order_line": self.lines,
        }.get(table, self.customers)

    def rows(self, table: str) -> int:
        """How many rows the whole table has."""
        stretches = {"item": 1, "warehouse": self.warehouses, "stock": self.warehouses}
        return self.per_stretch(table) * stretches.get(table, self.warehouses * DISTRICTS)


class Stretch(NamedTuple):
    """Neighbouring rows of one district (or warehouse): `rows` from number `first` in it."""

    warehouse: int
    district: int
    first: int
    rows: int

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.rows)


def stretches(sizes: Sizes, table: str, first: int, count: int) -> Iterator[Stretch]:
    """Rows of a table, from number `first` on, as stretches."""
    whole = sizes.per_stretch(table)
    districts = 1 if table in ("warehouse", "stock", "item") else DISTRICTS
    place, end = first - 1, first - 1 + count
    while place < end:
        number, start = divmod(place, whole)
        warehouse, district = divmod(number, districts)
        rows = min(whole - start, end - place)
        yield Stretch(warehouse + 1, district + 1, start + 1, rows)
        place += rows


def _lines_in_turn(orders: int) -> list[int]:
    turn = range(LEAST_LINES, MOST_LINES + 1)
    return [turn[order % len(turn)] for order in range(orders)]


@lru_cache(KEPT_DISTRICTS)
def lines_of_orders(orders: int, warehouse: int, district: int) -> tuple[int, ...]:
    """How many lines each order of a district has."""
    lines = _lines_in_turn(orders)
    Random(f"tuibench:tpcc:{warehouse}:{district}:lines").shuffle(lines)
    return tuple(lines)


@lru_cache(KEPT_DISTRICTS)
def customers_of_orders(orders: int, warehouse: int, district: int) -> tuple[int, ...]:
    """Each customer of a district has one of its orders."""
    customers = list(range(1, orders + 1))
    Random(f"tuibench:tpcc:{warehouse}:{district}:customers").shuffle(customers)
    return tuple(customers)


class Lines(NamedTuple):
    """The order lines of a district: of each its order, and its number in it."""

    orders: tuple[int, ...]
    numbers: tuple[int, ...]


@lru_cache(KEPT_DISTRICTS)
def lines_of_district(orders: int, warehouse: int, district: int) -> Lines:
    counts = lines_of_orders(orders, warehouse, district)
    return Lines(
        tuple([order for order, count in enumerate(counts, 1) for _ in range(count)]),
        tuple([number for count in counts for number in range(1, count + 1)]),
    )
