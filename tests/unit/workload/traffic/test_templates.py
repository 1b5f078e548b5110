"""Statements become templates: literals are values, everything else is the same SQL."""

from decimal import Decimal

import pytest

from tuibench.workload.traffic.templates import Slot, observe


def test_statements_that_differ_in_values_have_one_template() -> None:
    one = observe("SELECT c  FROM t /* hint */ WHERE id=17 AND name = 'Ann'")
    two = observe('SELECT c FROM t WHERE id=4 AND name = "O\'Neil";')
    assert one.template == two.template
    assert one.template.text == "SELECT c FROM t WHERE id=? AND name = ?"
    assert [rows[0][0] for rows in one.values] == [17, "Ann"]
    assert [rows[0][0] for rows in two.values] == [4, "O'Neil"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("1.50", Decimal("1.50")),
        ("1e3", Decimal("1e3")),
        (r"'a\'b'", "a'b"),
        ("'it''s'", "it's"),
        (r"'\n'", "\n"),
    ],
)
def test_literals_have_their_values(text: str, value: object) -> None:
    assert observe(f"SELECT {text}").values == (((value,),),)


def test_an_in_list_of_any_length_is_one_value() -> None:
    short, long = (
        observe("SELECT 1 FROM t WHERE id IN (1, 2)"),
        observe("SELECT 1 FROM t WHERE id IN (1,2,3,4)"),
    )
    assert short.template == long.template
    assert short.template.slots == (Slot(), Slot("?"))
    assert long.values[1] == ((1,), (2,), (3,), (4,))


def test_the_rows_of_an_insert_are_one_value() -> None:
    seen = observe(
        "INSERT INTO t (id, name) VALUES (1, 'a'), (2, 'b'),(3,'c') ON DUPLICATE KEY UPDATE n = n + 1"
    )
    assert seen.template.slots == (Slot("(?, ?)", 2), Slot())
    assert seen.values[0] == ((1, "a"), (2, "b"), (3, "c"))
    assert seen.template.fragments[1] == " ON DUPLICATE KEY UPDATE n = n + "


def test_one_row_has_a_value_for_each_column() -> None:
    seen = observe("INSERT INTO t VALUES (1, NOW(), 'a')")
    assert seen.template.text == "INSERT INTO t VALUES (?, NOW(), ?)"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a->'$.x' FROM t",
        "SELECT a AS 'title' FROM t",
        "SELECT `1` FROM t1",
        "SELECT x COLLATE 'utf8mb4_bin' FROM t",
        "SELECT _latin1'abc'",
        "SELECT 0xFF",
        "SELECT c FROM t -- 17",
    ],
)
def test_what_is_no_parameter_stays(sql: str) -> None:
    assert observe(sql).values == ()


def test_rows_of_different_shapes_are_single_values() -> None:
    seen = observe("INSERT INTO t VALUES (1, NULL), (2, 3)")
    assert [slot.row for slot in seen.template.slots] == ["", "", ""]
