"""TPC-C: transactions and tables."""

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import DOCS
from tests.unit.workload.player import Player, Rows, Sent, names
from tuibench.load.conditions import tpcc_conditions
from tuibench.load.tables import chunks_of
from tuibench.workload import library
from tuibench.workload.dataset import (
    ALPHANUMERICS,
    MAX_TEXT_BYTES,
    ColumnValues,
    RandomCharacters,
    RowFormat,
    build_data_set,
    encode_rows,
)
from tuibench.workload.tpcc import RowRange, Tpcc, TpccSizes, last_name, lines_of_orders, row_ranges

# TPC-C's five transactions, played against a scripted server.


ITEMS = 100_000
NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL = range(5)
DISTS = [f"dist {number:02}" for number in range(1, 11)]
OPENING = ["begin", "no_customer", "no_district", "no_next_order", "no_order", "no_new_order"]
LINE = ["no_item", "no_stock", "no_take", "no_line"]
BATCH: dict[str, object] = {"batch": True}
BATCHED_DELIVERY = [
    "deliver_all_taken",
    "deliver_all_carrier",
    "deliver_all_whose",
    "deliver_all_lines",
    "deliver_all_sums",
]


def shop(**changed: Rows) -> Callable[[str, tuple[Any, ...]], Rows]:
    """A server with one answer for each captured statement."""
    answers: dict[str, Rows] = {
        "no_customer": [(Decimal("0.1"), "BARBARBAR", "GC", Decimal("0.05"))],
        "no_district": [(3001, Decimal("0.02"))],
        "no_stock": [(20, "original", "")],
        "pay_warehouse_name": [("a", "b", "c", "d", "e", "Warehouse")],
        "pay_district_name": [("a", "b", "c", "d", "e", "District")],
        "customers_by_name": [(11,), (22,), (33,), (44,)],
        "pay_customer": [("Ann", "OE", "BARBARBAR", "GC", Decimal("-10.00"))],
        "status_order": [(3000,)],
        "deliver_oldest": [(2101,)],
        "deliver_whose": [(77,)],
        "deliver_sum": [(Decimal("123.45"),)],
        "level_next": [(3001,)],
        **changed,
    }

    def answer(name: str, values: tuple[Any, ...]) -> Rows:
        if name == "no_item":
            return [(Decimal("2.50"), "item", "data")] if values[0] <= ITEMS else []
        if name == "no_items":
            return [(item, Decimal(item), "item", "data") for item in values if item <= ITEMS]
        if name == "no_stock":
            return [(*answers[name][0][:2], DISTS[values[0] - 1])]
        if name == "no_stocks":
            keys = zip(values[1::2], values[2::2], strict=True)
            return [(*key, *answers["no_stock"][0][:2], DISTS[values[0] - 1]) for key in keys]
        if name == "deliver_all_whose":
            return [(district, 70 + district) for district, order in districts(values) if order]
        if name == "deliver_all_sums":
            return [(district, Decimal(order) / 100) for district, order in districts(values) if order]
        return answers[name]

    return answer


def districts(values: tuple[Any, ...]) -> list[tuple[int, int]]:
    """The districts and orders of a batched Delivery's keys."""
    return list(zip(values[1::3], values[2::3], strict=True))


def player(
    *, connection: int = 0, warehouses: int = 1, options: dict[str, object] | None = None, **changed: Rows
) -> Player:
    program = library.load_program("tpcc", {"warehouses": warehouses, **(options or {})})
    return Player(program, shop(**changed), seed=1, connection=connection)


def of_name(sent: list[Sent], name: str) -> list[tuple[Any, ...]]:
    return [one.values for one in sent if one.name == name]


def test_the_mix_is_dealt_from_a_deck() -> None:
    generator = player().generator
    for _ in range(5):
        assert Counter(generator.draw() for _ in range(100)) == {0: 45, 1: 43, 2: 4, 3: 4, 4: 4}


def test_new_order_takes_every_line_from_stock() -> None:
    counts = Counter[int]()
    shopper = player()
    for _ in range(300):
        sent = shopper.play(NEW_ORDER)
        (order,) = of_name(sent, "no_order")
        lines = of_name(sent, "no_line")
        if names(sent)[-1] == "rollback":
            continue
        assert names(sent) == [*OPENING, *LINE * len(lines), "commit"]
        assert order[0] == 3001
        assert of_name(sent, "no_next_order")[0][0] == 3002
        assert order[4] == len(lines)
        assert [line[3] for line in lines] == list(range(1, len(lines) + 1))
        counts[len(lines)] += 1
        for line, take in zip(lines, of_name(sent, "no_take"), strict=True):
            quantity, district = line[6], line[1]
            assert line[7] == quantity * Decimal("2.50")
            assert line[8] == DISTS[district - 1]
            assert take[0] == (20 - quantity if quantity <= 10 else 111 - quantity)
            assert take[1:4] == (quantity, 0, line[4])
    assert set(counts) == set(range(5, 16))


@pytest.mark.whole
def test_one_new_order_in_a_hundred_rolls_back_at_its_last_line() -> None:
    shopper = player()
    rolled_back = 0
    for _ in range(3000):
        sent = shopper.play(NEW_ORDER)
        wanted = of_name(sent, "no_order")[0][4]
        assert len(of_name(sent, "no_item")) == wanted
        if names(sent)[-1] == "rollback":
            rolled_back += 1
            assert names(sent) == [*OPENING, *LINE * (wanted - 1), "no_item", "rollback"]
            assert sent[-2].values == (ITEMS + 1,)
        else:
            assert all(values[0] <= ITEMS for values in of_name(sent, "no_item"))
    assert 10 <= rolled_back <= 55


def test_stock_is_refilled_when_it_runs_low() -> None:
    for _ in range(20):
        sent = player(no_stock=[(12, "original", "")]).play(NEW_ORDER)
        for take in of_name(sent, "no_take"):
            left = 12 - take[1]
            assert take[0] == (left if left >= 10 else left + 91)


@pytest.mark.whole
def test_remote_lines_come_from_every_other_warehouse() -> None:
    """One line in a hundred, never from home, and the order says that it is not all local."""
    suppliers = Counter[int]()
    lines = 0
    shopper = player(warehouses=4)
    for _ in range(2000):
        sent = shopper.play(NEW_ORDER)
        (order,) = of_name(sent, "no_order")
        found = of_name(sent, "no_line")
        lines += len(found)
        remote = [line for line in found if line[5] != order[2]]
        suppliers.update((line[5] - order[2]) % 4 for line in remote)
        if names(sent)[-1] == "commit":
            assert order[5] == (0 if remote else 1)
        remote_counts = [take[2] for take in of_name(sent, "no_take")]
        assert sum(remote_counts) == len(remote)
    assert suppliers.total() / lines == pytest.approx(0.01, abs=0.004)
    assert set(suppliers) == {1, 2, 3}


def test_a_batched_new_order_reads_and_inserts_its_lines_at_once() -> None:
    """The line of an item has its price, its stock, its supplier and its quantity."""
    shopper, rolled_back, remote, sizes = player(warehouses=3, options=BATCH), 0, 0, set[int]()
    for _ in range(400):
        sent = shopper.play(NEW_ORDER)
        (order,) = of_name(sent, "no_order")
        w_id, count = order[2], order[4]
        (ids,) = of_name(sent, "no_items")
        assert len(set(ids)) == len(ids) == count
        assert list(ids) == sorted(ids)
        if names(sent)[-1] == "rollback":
            rolled_back += 1
            assert names(sent) == [*OPENING, "no_items", "rollback"]
            assert ids[-1] == ITEMS + 1
            continue
        assert names(sent) == [*OPENING, "no_items", "no_stocks", *["no_take"] * count, "no_lines", "commit"]
        ((district, *keys),) = of_name(sent, "no_stocks")
        (values,) = of_name(sent, "no_lines")
        lines = [values[start : start + 9] for start in range(0, len(values), 9)]
        assert [line[:4] for line in lines] == [(order[0], district, w_id, n + 1) for n in range(count)]
        assert [key for line in lines for key in (line[5], line[4])] == keys
        assert [line[4] for line in lines] == list(ids)
        for line, take in zip(lines, of_name(sent, "no_take"), strict=True):
            item, supplier, quantity, amount, dist = line[4:]
            assert take == (20 - quantity if quantity <= 10 else 111 - quantity, quantity,
                            int(supplier != w_id), item, supplier)  # fmt: skip
            assert (amount, dist) == (quantity * Decimal(item), DISTS[district - 1])
        away = sum(line[5] != w_id for line in lines)
        assert order[5] == (0 if away else 1)
        remote += away
        sizes.add(count)
    assert 0 < rolled_back < 20
    assert remote > 0
    assert sizes == set(range(5, 16))


def test_a_batched_delivery_leaves_out_districts_without_new_orders() -> None:
    """Its customers get the sums of their own districts."""
    shopper = player(options=BATCH)
    answer, asked = shop(), list[int]()

    def empty_ones(name: str, values: tuple[Any, ...]) -> Rows:
        if name != "deliver_oldest":
            return answer(name, values)
        asked.append(values[1])
        return [] if values[1] in (1, 4, 10) else [(2100 + values[1],)]

    sent = Player(shopper.program, empty_ones, seed=1).play(DELIVERY)
    assert asked == list(range(1, 11))
    assert names(sent) == [
        "begin", *["deliver_oldest"] * 10, *BATCHED_DELIVERY, *["deliver_balance"] * 7, "commit"
    ]  # fmt: skip
    keys = [(1, district, 0 if district in (1, 4, 10) else 2100 + district) for district in range(1, 11)]
    for name in BATCHED_DELIVERY:
        (values,) = of_name(sent, name)
        assert values[-30:] == tuple(number for key in keys for number in key)
    served = [district for district in range(1, 11) if district not in (1, 4, 10)]
    assert of_name(sent, "deliver_balance") == [
        (Decimal(2100 + district) / 100, 1, district, 70 + district) for district in served
    ]


def test_transactions_of_few_rows_are_the_same_batched() -> None:
    for which in (PAYMENT, ORDER_STATUS, STOCK_LEVEL):
        batched, plain = player(options=BATCH), player()
        for _ in range(20):
            assert batched.play(which) == plain.play(which)


def test_payment_finds_the_middle_customer_of_a_name() -> None:
    by_name = 0
    shopper = player()
    for _ in range(1000):
        sent = shopper.play(PAYMENT)
        (paying,) = of_name(sent, "pay_good_credit")
        if found := of_name(sent, "customers_by_name"):
            by_name += 1
            assert paying[-1] == 22
            assert found[0][2].isupper()
        (amount,) = {of_name(sent, name)[0][0] for name in ("pay_warehouse", "pay_district")}
        assert 1 <= amount <= 5000
        assert paying[0] == Decimal("-10.00") - amount
        assert paying[1] == amount
        assert of_name(sent, "pay_history")[0][-2:] == (amount, "Warehouse    District")
    assert by_name == pytest.approx(600, abs=60)


def test_payment_by_an_unknown_name_falls_back_to_the_drawn_customer() -> None:
    shopper = player(customers_by_name=[])
    customers = {of_name(shopper.play(PAYMENT), "pay_customer")[0][2] for _ in range(50)}
    assert len(customers) > 40


def test_payment_writes_down_bad_credit() -> None:
    bad = player(pay_customer=[("Ann", "OE", "BARBARBAR", "BC", Decimal("5.00"))])
    sent = names(bad.play(PAYMENT))
    assert "pay_bad_credit" in sent
    assert "pay_good_credit" not in sent


def test_fifteen_payments_in_a_hundred_are_remote() -> None:
    remote = 0
    shopper = player(warehouses=5)
    for _ in range(2000):
        history = of_name(shopper.play(PAYMENT), "pay_history")[0]
        remote += history[1] != history[4]
        if history[1] == history[4]:
            assert history[0] == history[3]
    assert remote / 2000 == pytest.approx(0.15, abs=0.03)


def test_order_status_reads_the_lines_of_the_last_order() -> None:
    sent = player().play(ORDER_STATUS)
    assert names(sent)[-4:] == ["status_customer", "status_order", "status_lines", "commit"]
    assert sent[-2].values[2] == 3000


def test_delivery_goes_through_ten_districts() -> None:
    sent = player().play(DELIVERY)
    assert [values[1] for values in of_name(sent, "deliver_oldest")] == list(range(1, 11))
    assert {values[0] for values in of_name(sent, "deliver_balance")} == {Decimal("123.45")}
    assert {values[3] for values in of_name(sent, "deliver_balance")} == {77}
    assert len(sent) == 2 + 10 * 7


def test_delivery_skips_districts_without_new_orders() -> None:
    assert names(player(deliver_oldest=[]).play(DELIVERY)) == ["begin", *["deliver_oldest"] * 10, "commit"]


def test_stock_level_looks_at_the_last_twenty_orders() -> None:
    sent = player().play(STOCK_LEVEL)
    (values,) = of_name(sent, "level_count")
    assert values[2:4] == (3001, 2981)
    assert 10 <= values[5] <= 20


# What docs/tpcc.md says

PAGE = (DOCS / "tpcc.md").read_text(encoding="utf-8")
CASES: dict[str, tuple[int, Callable[[list[Sent]], bool]]] = {
    "`new_order`": (NEW_ORDER, lambda sent: names(sent)[-1] == "commit"),
    "`new_order`, batched": (NEW_ORDER, lambda sent: names(sent)[-1] == "commit"),
    "`new_order`, rolled back": (NEW_ORDER, lambda sent: names(sent)[-1] == "rollback"),
    "`new_order`, batched, rolled back": (NEW_ORDER, lambda sent: names(sent)[-1] == "rollback"),
    "`payment`": (PAYMENT, lambda sent: True),
    "`order_status`": (ORDER_STATUS, lambda sent: True),
    "`delivery`": (DELIVERY, lambda sent: True),
    "`delivery`, batched": (DELIVERY, lambda sent: True),
    "`stock_level`": (STOCK_LEVEL, lambda sent: True),
}


def told(cell: str, sent: list[Sent]) -> int:
    """The number of statements that a cell of the table says."""
    by_id, _, by_name = cell.partition(", by name ")
    text = by_name if by_name and of_name(sent, "customers_by_name") else by_id
    lines = of_name(sent, "no_order")[0][4] if of_name(sent, "no_order") else 0
    terms = re.findall(r"(\d*)(n?)", text.replace(" ", ""))
    return sum(int(number or 1) * (lines if n else 1) for number, n in terms if number or n)


@pytest.mark.parametrize("case", CASES)
def test_the_statements_are_as_many_as_the_table_says(case: str) -> None:
    which, fits = CASES[case]
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {case} |")]
    cells = [cell.strip() for cell in row.strip("| ").split("|")][1:]
    shopper, seen = player(options=BATCH if "batched" in case else {}), 0
    for _ in range(800):
        sent = shopper.play(which)
        if not fits(sent):
            continue
        words = Counter(one.sql.split()[0] for one in sent)
        writes = words["INSERT"] + words["UPDATE"] + words["DELETE"]
        assert (len(sent), words["SELECT"], writes) == tuple(told(cell, sent) for cell in cells)
        seen += 1
    assert seen


def test_the_page_names_every_condition() -> None:
    for condition in tpcc_conditions(build_data_set(library.load_program("tpcc"))):
        assert f"| {condition.name} | " in PAGE


def test_the_mix_over_twenty_thousand_transactions() -> None:
    """Sixteen connections, each with a deck of its own."""
    drawn = Counter[int]()
    for connection in range(16):
        generator = player(connection=connection).generator
        drawn.update(generator.draw() for _ in range(1250))
    for which, percent in enumerate((45, 43, 4, 4, 4)):
        assert 100 * drawn[which] / 20_000 == pytest.approx(percent, abs=0.5)


# Whose warehouse


def test_a_connection_keeps_to_its_warehouse() -> None:
    for connection, home in ((0, 1), (2, 3), (3, 1)):
        shopper = player(connection=connection, warehouses=3)
        found = {of_name(shopper.play(NEW_ORDER), "no_order")[0][2] for _ in range(30)}
        assert found == {home}


def test_any_warehouse_is_drawn_if_asked_for() -> None:
    shopper = player(warehouses=3, options={"any_warehouse": "on"})
    assert {of_name(shopper.play(PAYMENT), "pay_history")[0][4] for _ in range(60)} == {1, 2, 3}


def test_names_are_those_of_the_load() -> None:
    """A small district has fewer names; the run's C is as far from the load's as it must be."""
    shopper = player(options={"customers_per_district": 40})
    found = set()
    for _ in range(200):
        found |= {values[2] for values in of_name(shopper.play(PAYMENT), "customers_by_name")}
    assert found <= {last_name(number).decode() for number in range(40)}
    assert len(found) > 30


# TPC-C's tables as they are made and loaded: their SQL, their sizes, and rows that agree with each other.


REFERENCE = {
    "warehouse": "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd",
    "district": "d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, "
    "d_tax, d_ytd, d_next_o_id",
    "customer": "c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, "
    "c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, "
    "c_delivery_cnt, c_data",
    "history": "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data",
    "new_order": "no_o_id, no_d_id, no_w_id",
    "orders": "o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local",
    "order_line": "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, "
    "ol_quantity, ol_amount, ol_dist_info",
    "stock": "s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, "
    "s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data",
    "item": "i_id, i_im_id, i_name, i_price, i_data",
}
SIZES = TpccSizes(warehouses=3, customers=40, items=50)


def tpcc(**options: object) -> Tpcc:
    made = build_data_set(library.load_program("tpcc", options))
    assert isinstance(made, Tpcc)
    return made


def rows_of(table: str, first: int, count: int, **options: object) -> list[list[str]]:
    """Rows in text, as lists of columns."""
    source = tpcc(customers_per_district=40, items=50, **options).rows(table, Random(1), RowFormat.TABBED)
    return [line.split("\t") for line in source.block(first, count).decode().splitlines()]


def test_names_and_order_of_columns_are_the_specifications() -> None:
    assert {table: ", ".join(tpcc().columns(table)) for table in tpcc().table_names()} == REFERENCE


def test_a_table_is_made_with_its_key() -> None:
    assert tpcc().create_sql("new_order").split("\n") == [
        "CREATE TABLE new_order (",
        "  no_o_id INT NOT NULL,",
        "  no_d_id INT NOT NULL,",
        "  no_w_id INT NOT NULL,",
        "  PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
        ") ENGINE=innodb",
    ]
    assert "PRIMARY" not in tpcc().create_sql("history")
    with_key = tpcc(force_pk=True)
    assert with_key.create_sql("history").splitlines()[1] == "  id INT NOT NULL AUTO_INCREMENT,"
    assert with_key.create_sql("history").splitlines()[-2] == "  PRIMARY KEY (id)"
    assert with_key.create_sql("orders") == tpcc().create_sql("orders")
    assert "--force-pk" in with_key.prepare_command("tpcc")
    assert tpcc().index_sql("orders") == "CREATE INDEX idx_order ON orders (o_w_id, o_d_id, o_c_id, o_id)"
    assert tpcc().columns("customer")["c_discount"] == "decimal(4,4)"


def test_foreign_keys_come_last_and_only_if_asked_for() -> None:
    assert tpcc().constraint_sql() == ()
    first, *others = tpcc(foreign_keys="on").constraint_sql()
    assert first == "SET SESSION foreign_key_checks=0"
    assert (
        "ALTER TABLE customer ADD CONSTRAINT fk_customer_1 FOREIGN KEY (c_w_id, c_d_id) "
        "REFERENCES district (d_w_id, d_id)" in others
    )
    assert sum(sql.count("FOREIGN KEY") for sql in others) == 10


def test_a_table_is_dropped_before_those_it_refers_to() -> None:
    names = tpcc().table_names()
    for sql in tpcc(foreign_keys="on").constraint_sql()[1:]:
        child = sql.split()[2]
        for parent in re.findall(r"REFERENCES (\w+)", sql):
            assert names.index(child) < names.index(parent)


def test_the_sizes_are_the_specifications() -> None:
    spec = tpcc(warehouses=2)
    assert {table: spec.size(table) for table in spec.table_names() if table != "order_line"} == {
        "warehouse": 2, "district": 20, "customer": 60_000, "history": 60_000, "orders": 60_000,
        "new_order": 18_000, "stock": 200_000, "item": 100_000,
    }  # fmt: skip
    assert spec.size("order_line") == pytest.approx(600_000, rel=0.001)
    assert spec.without_rows().size("stock") == 0
    assert spec.describe() == "2 warehouses"


def test_what_to_type_has_what_is_not_the_default() -> None:
    assert tpcc().prepare_command("tpcc") == "tuibench prepare tpcc --warehouses=1"
    assert tpcc(foreign_keys="on", items=50, c_load=7).prepare_command("tpcc") == (
        "tuibench prepare tpcc --warehouses=1 --foreign-keys --c-load=7 --items=50"
    )
    assert tpcc().cleanup_command("tpcc") == "tuibench cleanup tpcc"


@given(
    st.sampled_from(sorted(REFERENCE)), st.integers(1, 3), st.integers(20, 60), st.integers(20, 60),
)  # fmt: skip
def test_pieces_hold_every_row_once(table: str, warehouses: int, customers: int, items: int) -> None:
    spec = tpcc(warehouses=warehouses, customers_per_district=customers, items=items)
    found: list[int] = []
    for piece in chunks_of(spec, 4):
        if piece.table == table:
            found += range(piece.first, piece.first + piece.rows)
    assert found == list(range(1, spec.size(table) + 1))


@given(st.sampled_from(sorted(REFERENCE)), st.data())
def test_rows_are_the_same_however_they_are_cut(table: str, data: st.DataObject) -> None:
    """Which rows a number stands for depends on nothing else."""
    total = SIZES.rows(table)
    cut = data.draw(st.integers(1, total))
    places = [
        (at.warehouse, at.district, number)
        for first, count in ((1, cut), (cut + 1, total - cut))
        for at in row_ranges(SIZES, table, first, count)
        for number in at.numbers
    ]
    assert len(places) == len(set(places)) == total
    assert places == sorted(places)


def test_stretches_end_with_their_district() -> None:
    assert list(row_ranges(SIZES, "orders", 39, 4)) == [RowRange(1, 1, 39, 2), RowRange(1, 2, 1, 2)]
    assert list(row_ranges(SIZES, "stock", 101, 2)) == [RowRange(3, 1, 1, 2)]


def test_an_order_has_as_many_lines_as_it_says() -> None:
    orders = {row[0]: int(row[6]) for row in rows_of("orders", 41, 40)}
    per_district = SIZES.lines
    lines = rows_of("order_line", per_district + 1, per_district)
    assert {row[1] for row in lines} == {"2"}
    assert Counter(row[0] for row in lines) == orders
    assert all(5 <= count <= 15 for count in orders.values())
    for order, count in orders.items():
        assert [row[3] for row in lines if row[0] == order] == [str(line) for line in range(1, count + 1)]


def test_only_the_last_orders_are_not_delivered() -> None:
    orders = rows_of("orders", 1, 40)
    assert [row[5] == "\\N" for row in orders] == [False] * 28 + [True] * 12
    assert sorted(int(row[3]) for row in orders) == list(range(1, 41))
    assert [row[0] for row in rows_of("new_order", 1, 12)] == [str(order) for order in range(29, 41)]
    for row in rows_of("order_line", 1, SIZES.lines):
        is_delivered = int(row[0]) <= 28
        assert (row[6] == "\\N") is not is_delivered
        assert (row[8] == "0.00") is is_delivered


def test_lines_are_spread_evenly() -> None:
    counts = Counter(lines_of_orders(3000, 1, 1))
    assert set(counts) == set(range(5, 16))
    assert set(counts.values()) <= {272, 273}
    assert lines_of_orders(3000, 1, 1) != lines_of_orders(3000, 1, 2)


def test_the_first_thousand_customers_have_each_name_once() -> None:
    source = tpcc().rows("customer", Random(1), RowFormat.TABBED)
    rows = [line.split("\t") for line in source.block(1, 3000).decode().splitlines()]
    names = [row[5] for row in rows]
    assert (names[0], names[371], names[999]) == ("BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING")
    assert names[371] == last_name(371).decode()
    assert len(set(names[:1000])) == 1000
    assert set(names[1000:]) <= set(names[:1000])
    assert 0.07 < sum(row[13] == "BC" for row in rows) / 3000 < 0.13


def test_one_row_in_ten_is_original() -> None:
    rows = rows_of("stock", 1, 50) + rows_of("stock", 51, 50, warehouses=2)
    for row in rows:
        assert 26 <= len(row[-1]) <= 50
    source = tpcc().rows("item", Random(3), RowFormat.TABBED)
    texts = [line.rsplit("\t", 1)[1] for line in source.block(1, 5000).decode().splitlines()]
    assert sum("ORIGINAL" in text for text in texts) == pytest.approx(500, abs=120)


COLUMNS: list[ColumnValues] = [[1, 37], 37, [b"ab", b"c" * MAX_TEXT_BYTES], b"x%", None]


@pytest.mark.parametrize(
    ("form", "written"),
    [
        (RowFormat.SQL, b"(1,37,'ab','x%%',NULL),(37,37,'%b','x%%',NULL)," % (b"c" * MAX_TEXT_BYTES)),
        (RowFormat.TABBED, b"1\t37\tab\tx%%\t\\N\n37\t37\t%b\tx%%\t\\N\n" % (b"c" * MAX_TEXT_BYTES)),
        (
            RowFormat.BULK,
            b"\0\1\0\0\0\0%%\0\0\0\0\2ab\0\2x%%\1"
            b"\0%%\0\0\0\0%%\0\0\0\0\xfc\xf4\1%b\0\2x%%\1" % (b"c" * MAX_TEXT_BYTES),
        ),
    ],
    ids=lambda value: value if isinstance(value, RowFormat) else "as written",
)
def test_columns_are_written_in_each_form(form: RowFormat, written: bytes) -> None:
    assert encode_rows(form, 2, COLUMNS) == written


def test_characters_are_equally_likely() -> None:
    drawn = Counter(RandomCharacters(ALPHANUMERICS, bytes(16)).take(620_000))
    assert set(drawn) == set(ALPHANUMERICS)
    assert max(drawn.values()) - min(drawn.values()) < 900
