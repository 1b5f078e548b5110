"""TPC-C's tables as they are made and loaded: their SQL, their sizes, and rows that agree with each other."""

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.load.tables.loader import chunks_of
from tuibench.workload import library
from tuibench.workload.datasets import build_data_set
from tuibench.workload.datasets.base import RowFormat
from tuibench.workload.datasets.random_text import ALPHANUMERICS, RandomCharacters
from tuibench.workload.datasets.row_encoding import MAX_TEXT_BYTES, ColumnValues, encode_rows
from tuibench.workload.datasets.tpcc.data_set import Tpcc
from tuibench.workload.datasets.tpcc.random_values import last_name
from tuibench.workload.datasets.tpcc.sizes import RowRange, TpccSizes, lines_of_orders, row_ranges

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
