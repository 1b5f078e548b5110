"""Statement digests become models: the values come from the columns."""

import pytest

from tuibench.workload.traffic.digests import ColumnFacts, UnknownValueError, model_of_digest, tables_named
from tuibench.workload.traffic.mix import SlotModel
from tuibench.workload.traffic.value_models import (
    Constant,
    DecimalSpan,
    IntegerRange,
    Listed,
    Related,
    UniqueNumber,
)

TABLES = {
    "t": {
        "id": ColumnFacts("int", is_key=True, low=1, high=900),
        "k": ColumnFacts("int", low=5, high=50),
        "name": ColumnFacts("varchar", 60, samples=("ann", "bob")),
        "price": ColumnFacts("decimal", samples=("1.50", "9.75")),
    }
}
ID, K, NAME = IntegerRange(1, 900), IntegerRange(5, 50), Listed(("ann", "bob"))


def models(digest: str) -> list[object]:
    return [slot.models[0] if not slot.row else slot for slot in model_of_digest(digest, TABLES).slots]


@pytest.mark.parametrize(
    ("digest", "expected"),
    [
        ("SELECT `name` FROM `t` WHERE `id` = ?", [ID]),
        ("SELECT `a` . `name` FROM `t` AS `a` WHERE `a` . `k` > ? LIMIT ?", [K, Constant(10)]),
        ("SELECT `name` FROM `t` WHERE `id` BETWEEN ? AND ? ORDER BY `name`", [ID, Related(0, 99)]),
        ("UPDATE `t` SET `k` = `k` + ? WHERE `id` = ?", [Constant(1), ID]),
        ("UPDATE `t` SET `name` = ? , `price` = ? WHERE `id` = ?", [NAME, DecimalSpan(1, 10, 2), ID]),
        ("INSERT INTO `t` ( `id` , `k` , `name` ) VALUES (...)", [UniqueNumber(), K, NAME]),
        ("INSERT INTO `t` VALUES (...) /* , ... */", [UniqueNumber(), K, NAME, DecimalSpan(1, 10, 2)]),
        ("INSERT INTO `t` ( `k` , `name` ) VALUES ( ? , NOW ( ) )", [K]),
        ("DELETE FROM `t` WHERE `name` LIKE ?", [NAME]),
        ("SELECT `k` FROM `t` WHERE `id` IN (...)", [SlotModel((ID,), "?", 10)]),
    ],
)
def test_values_follow_from_the_columns(digest: str, expected: list[object]) -> None:
    assert models(digest) == expected


def test_the_statement_is_written_with_its_lists() -> None:
    made = model_of_digest("INSERT INTO `t` ( `id` , `k` ) VALUES (...)", TABLES)
    assert made.template.text.replace(" ", "") == "INSERTINTO`t`(`id`,`k`)VALUES(?,?)"


def test_functions_have_no_space_before_their_parentheses() -> None:
    made = model_of_digest("SELECT SUM ( `k` ) FROM `t` WHERE `id` = ? AND ( `k` > ? )", TABLES)
    assert made.template.text.startswith("SELECT SUM( `k` ) FROM `t` WHERE `id` = ? AND ( `k`")


@pytest.mark.parametrize(
    ("digest", "reason"),
    [
        ("SELECT ROUND ( ? )", "a value after ("),
        ("SELECT `x` FROM `t` WHERE `unheard` = ?", "the values of 'unheard'"),
        ("SELECT `x` FROM `t` WHERE `id` = ? AND . . .", "the server truncated its text"),
    ],
)
def test_what_nothing_tells_is_left_out_with_its_reason(digest: str, reason: str) -> None:
    with pytest.raises(UnknownValueError, match=reason.replace("(", r"\(")):
        model_of_digest(digest, TABLES)


def test_the_tables_of_a_digest() -> None:
    digest = "SELECT * FROM `shop` . `orders` AS `o` JOIN `Lines` ON `o` . `id` = `Lines` . `o_id` , `third`"
    assert tables_named(digest)[:2] == ["orders", "lines"]
