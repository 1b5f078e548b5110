"""Initial contents of TPC-C's tables (4.3.3.1), column by column."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping

from tuibench.workload.datasets.row_encoding import ColumnValues
from tuibench.workload.datasets.tpcc.random_values import TpccValues
from tuibench.workload.datasets.tpcc.sizes import (
    DISTRICTS,
    RowRange,
    customers_of_orders,
    lines_of_district,
    lines_of_orders,
)
from tuibench.workload.datasets.tpcc.tables import STOCK_DISTRICT_COLUMNS

DIST_LENGTH = 24
LOADED_QUANTITY = 5

RowBlock = tuple[int, list[ColumnValues]]
"""A number of rows as columns."""


def row_blocks(table: str, values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    """The rows of a range.

    Delivered and other orders are separate blocks, so that a column is all null or not.
    """
    return BLOCK_GENERATORS[table](values, at)


def _warehouse(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    ytd = b"%d.00" % (values.sizes.customers * DISTRICTS * 10)
    yield (
        at.rows,
        [at.warehouse, values.text(1, 6, 10), *values.address(1), values.exact(1, 0, 2000, 4), ytd],
    )


def _district(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    customers = values.sizes.customers
    name, tax = values.text(1, 6, 10), values.exact(1, 0, 2000, 4)
    yield at.rows, [
        at.district, at.warehouse, name, *values.address(1), tax, b"%d.00" % (customers * 10), customers + 1,
    ]  # fmt: skip


def _item(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    count = at.rows
    prices = values.exact(count, 100, 10_000, 2)
    yield at.rows, [
        list(at.numbers), values.whole(count, 1, 10_000), values.text(count, 14, 24), prices,
        values.data(count),
    ]  # fmt: skip


def _stock(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    count = at.rows
    dists: list[ColumnValues] = [values.text_of(count, DIST_LENGTH) for _ in STOCK_DISTRICT_COLUMNS]
    quantities = values.whole(count, 10, 100)
    yield at.rows, [list(at.numbers), at.warehouse, quantities, *dists, 0, 0, 0, values.data(count)]


def _customer(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    count = at.rows
    yield at.rows, [
        list(at.numbers), at.district, at.warehouse, values.text(count, 8, 16), b"OE",
        values.last_names(at.numbers), *values.address(count), values.digits(count, 16), values.now,
        values.credits(count), b"50000.00", values.exact(count, 0, 5000, 4), b"-10.00", b"10.00", 1, 0,
        values.text(count, 300, 500),
    ]  # fmt: skip


def _history(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    district, warehouse = at.district, at.warehouse
    texts = values.text(at.rows, 12, 24)
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
        carriers = values.whole(rows, 1, 10) if is_delivered else None
        yield rows, [
            list(numbers), at.district, at.warehouse, list(customers[of]), values.now, carriers,
            list(lines[of]), 1,
        ]  # fmt: skip


def _order_line(values: TpccValues, at: RowRange) -> Iterator[RowBlock]:
    """Delivered lines have amount 0, so that the customers' balances are consistent from the start."""
    orders, delivered = values.sizes.customers, values.sizes.delivered
    lines = lines_of_district(orders, at.warehouse, at.district)
    border = bisect_right(lines.orders, delivered) + 1
    for numbers in _split_range(at.numbers, border):
        rows, is_delivered = len(numbers), numbers[0] < border
        of = slice(numbers[0] - 1, numbers[-1])
        yield rows, [
            list(lines.orders[of]), at.district, at.warehouse, list(lines.numbers[of]),
            values.whole(rows, 1, values.sizes.items), at.warehouse, values.now if is_delivered else None,
            LOADED_QUANTITY, b"0.00" if is_delivered else values.exact(rows, 1, 999_999, 2),
            values.text_of(rows, DIST_LENGTH),
        ]  # fmt: skip


def _split_range(numbers: range, border: int) -> Iterator[range]:
    """The numbers below the border, and the others; empty parts are omitted."""
    for part in (
        range(numbers.start, min(numbers.stop, border)),
        range(max(numbers.start, border), numbers.stop),
    ):
        if part:
            yield part


BLOCK_GENERATORS: Mapping[str, Callable[[TpccValues, RowRange], Iterator[RowBlock]]] = {
    "warehouse": _warehouse,
    "district": _district,
    "customer": _customer,
    "history": _history,
    "new_order": _new_order,
    "orders": _orders,
    "order_line": _order_line,
    "stock": _stock,
    "item": _item,
}

ROW_BYTES = {
    "warehouse": 150,
    "district": 150,
    "customer": 680,
    "history": 90,
    "new_order": 20,
    "orders": 70,
    "order_line": 105,
    "stock": 370,
    "item": 110,
}
"""The encoded size of a row, a little more than the average."""
