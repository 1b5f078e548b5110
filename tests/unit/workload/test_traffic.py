"""Profiles from observed traffic."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workload.player import Player, nothing
from tuibench.workload import library
from tuibench.workload.expressions import Constant
from tuibench.workload.program import Program
from tuibench.workload.sql import split_statements
from tuibench.workload.table_names import qualified
from tuibench.workload.templates import Listed, Slot, StatementReader, observe
from tuibench.workload.traffic import (
    RARE,
    TOO_MANY_VALUES,
    UNBOUND,
    WITH_FILES,
    ColumnFacts,
    SlotModel,
    TrafficMix,
    UnknownValueError,
    model_of_digest,
    profile_text,
    tables_named,
)
from tuibench.workload.values import DecimalRange, Sum, Uniform, Unique

# Observed traffic becomes a profile that compiles, and sends statements like those observed.


def compiled(transactions: Sequence[tuple[Sequence[str], bool]], most: int = 20) -> Program:
    mix = TrafficMix()
    for texts, explicit in transactions:
        mix.add(texts, explicit=explicit)
    text = profile_text("seen", "statements seen", ["a note", ""], mix.kinds(most))
    return library.load_program("seen.toml", {}, text)


def sent(program: Program, times: int) -> list[tuple[str, tuple[Any, ...]]]:
    player = Player(program, nothing)
    return [(call.sql, call.values) for _ in range(times) for call in player.play()]


def test_the_mix_is_the_observed_one() -> None:
    program = compiled(
        [([f"SELECT a FROM t WHERE id = {number}"], False) for number in range(90)]
        + [([f"DELETE FROM t WHERE id = {number}"], False) for number in range(10)]
    )
    counts = Counter(sql.split()[0] for sql, _ in sent(program, 1000))
    assert 840 < counts["SELECT"] < 950
    assert {each.name: each.weight for each in program.transactions} == {"select_t": 90, "delete_t": 10}


def test_values_stay_in_their_range() -> None:
    program = compiled([([f"SELECT a FROM t WHERE id = {number}"], False) for number in range(500, 700)])
    values = [values[0] for _, values in sent(program, 500)]
    assert 500 <= min(values) < 520
    assert 680 < max(values) <= 699


def test_frequent_values_stay_frequent() -> None:
    observed = ["ann"] * 80 + ["bob"] * 20
    program = compiled([([f"SELECT a FROM t WHERE name = '{name}'"], False) for name in observed])
    counts = Counter(values[0] for _, values in sent(program, 1000))
    assert counts.keys() == {"ann", "bob"}
    assert counts["ann"] > 700


def test_a_value_that_is_always_the_same_is_part_of_the_statement() -> None:
    program = compiled(
        [([f"SELECT a FROM t WHERE id > {number} ORDER BY 1 LIMIT 10"], False) for number in range(9)]
    )
    assert sent(program, 1)[0][0] == "SELECT a FROM t WHERE id > ? ORDER BY 1 LIMIT 10"


def test_values_that_belong_together_stay_together() -> None:
    """The end of a range follows its beginning, and a transaction stays with its row."""
    program = compiled(
        [
            (
                [
                    f"SELECT a FROM t WHERE id BETWEEN {start} AND {start + 99}",
                    f"UPDATE t SET n = {other} WHERE id = {start}",
                ],
                True,
            )
            for start, other in zip(range(1, 1000, 7), Random(1).sample(range(10**6), 143), strict=True)
        ]
    )
    player = Player(program, nothing)
    for _ in range(50):
        begin, select, update, commit = player.play()
        assert (begin.name, commit.name) == ("begin", "commit")
        assert select.values[1] - select.values[0] == 99
        assert update.values[1] == select.values[0]


def test_lists_have_their_usual_length() -> None:
    program = compiled(
        [
            (["SELECT a FROM t WHERE id IN (" + ", ".join(map(str, range(n, n + 5))) + ")"], False)
            for n in range(40)
        ]
    )
    ((sql, values),) = sent(program, 1)
    assert sql == "SELECT a FROM t WHERE id IN (?, ?, ?, ?, ?)"
    assert len(values) == 5


def test_rows_of_an_insert_are_repeated() -> None:
    program = compiled(
        [
            ([f"INSERT INTO t (a, b) VALUES ({n}, 'x{n}'), ({n + 1}, 'y{n}'), ({n + 2}, 'z')"], False)
            for n in range(30)
        ]
    )
    ((sql, values),) = sent(program, 1)
    assert sql == "INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?, ?)"
    assert [type(value) for value in values] == [int, str] * 3


def test_what_a_profile_cannot_have_is_counted() -> None:
    mix = TrafficMix()
    mix.add(["SET NAMES utf8mb4"], explicit=False)
    mix.add(
        ["SHOW TABLES", "SELECT 1", "SELECT a FROM t WHERE {b", "SELECT a FROM t WHERE b = ?"], explicit=False
    )
    mix.add(["LOAD DATA INFILE 'a' INTO TABLE t", "SELECT a FROM t INTO OUTFILE 'a'"], explicit=False)
    mix.add([f"INSERT INTO t VALUES {', '.join(['(1, 2, 3)'] * 30_000)}"], explicit=False)
    assert mix.lost == {
        "SET": 1,
        "SHOW": 1,
        "SELECT with braces": 1,
        UNBOUND: 1,
        WITH_FILES: 2,
        TOO_MANY_VALUES: 1,
    }
    assert mix.transactions == 1


def test_only_the_most_frequent_kinds_are_kept() -> None:
    mix = TrafficMix()
    for kind in range(10):
        for _ in range(kind + 1):
            mix.add([f"SELECT a{kind} FROM t"], explicit=False)
    assert [kind.times for kind in mix.kinds(3)] == [10, 9, 8]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=8), st.integers(-(2**70), 2**70))
def test_any_text_and_number_makes_a_valid_profile(texts: list[str], number: int) -> None:
    """Quotes, backslashes, braces, marks and control characters of values do not break the file."""
    quoted = [re.sub(r"(['\\])", r"\\\1", text) for text in texts]
    program = compiled([([f"SELECT a FROM t WHERE b = '{text}' AND c > {number}"], False) for text in quoted])
    ((sql, values),) = sent(program, 1)
    assert (values or (sql.split("'")[1],))[0] in texts


# Statements become templates: literals are values, everything else is the same SQL.


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


@pytest.mark.parametrize(
    "marked",
    [
        "SELECT GROUP_CONCAT(a SEPARATOR ';') FROM t WHERE b = «5»",
        "SELECT DATE_FORMAT(a, '%Y'), SUM(IF(b = «1», c, «0»)) FROM t WHERE d = «2» "
        "GROUP BY DATE_FORMAT(a, '%Y') HAVING SUM(c) > «3» AND ROUND(SUM(c), 2) <> «4»",
        "SELECT DISTINCT a + 1 FROM t WHERE b = «5» ORDER BY a + 1",
        "SELECT a FROM t ORDER BY 1, FIELD(b, «2», «3») LIMIT «4», «5»",
        "SELECT /*+ MAX_EXECUTION_TIME(9) */ a FROM t /*!40001 WHERE b = 3 */ LIMIT «2»",
        "SELECT a 'n', b AS 'm' FROM t WHERE c = «'x' 'y'»",
        "SELECT CAST(a AS CHAR(3)), CONVERT(«5», CHAR(1)), NOW(6), STR_TO_DATE(«'1'», '%d') FROM t",
        "SELECT SUM(a) OVER (ORDER BY b ROWS 2 PRECEDING) FROM t WHERE c > «1»",
        "SELECT x FROM (SELECT 1 UNION SELECT «2» AS x FROM u WHERE v = «3») t",
        "SELECT a FROM t WHERE b = 0xFF AND c = b'1' AND d = TIME '1:00:00' AND e = 1e400",
        "SELECT a->'$.b', JSON_EXTRACT(a, «'$.c'»), JSON_VALUE(a,'$.d') FROM t WHERE b LIKE «'f'» ESCAPE '!'",
        "SELECT a FROM t WHERE b IN («-1, 2») AND c IN («1», «2») AND MATCH (d) AGAINST («'e'»)",
        "SELECT SUBSTRING(a FROM «2» FOR «3»), TRIM(LEADING «'x'» FROM «\"b\"») FROM t",
        "VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO t VALUES («1», NOW(3), «'a'», _latin1'b') ON DUPLICATE KEY UPDATE c = c + «2»",
    ],
)
def test_literals_that_a_server_takes_as_parameters(marked: str) -> None:
    sql = re.sub("[«»]", "", marked)
    assert observe(sql).template.text == re.sub("«.*?»", "?", marked)


@pytest.mark.parametrize(
    ("literal", "text", "value"),
    [
        ("x'00112233445566778899'", "UNHEX(?)", "00112233445566778899"),
        ("0x00112233445566778899", "UNHEX(?)", "00112233445566778899"),
        ("_binary'a\\0'", "UNHEX(?)", "6100"),
        ("N'a'", "?", "a"),
        ("_utf8mb4'a' COLLATE 'utf8mb4_bin'", "? COLLATE 'utf8mb4_bin'", "a"),
        ("DATE '2026-01-01'", "CAST(? AS DATE)", "2026-01-01"),
        ("{ts '2026-01-01'}", "CAST(? AS DATETIME(6))", "2026-01-01"),
        ("{fn UPPER('a')}", "UPPER(?)", "a"),
        ("NAME_CONST('p', -5)", "?", -5),
        ("- NAME_CONST('p', 5)", "?", -5),
    ],
)
def test_literals_that_are_more_than_their_text(literal: str, text: str, value: object) -> None:
    seen = observe(f"SELECT a FROM t WHERE b = {literal}")
    assert (seen.template.text, seen.values) == (f"SELECT a FROM t WHERE b = {text}", (((value,),),))


def test_names_in_double_quotes() -> None:
    assert observe('SELECT "a" FROM "t" WHERE "b" = 5').template.text == "SELECT `a` FROM `t` WHERE `b` = ?"


def test_backslashes_of_both_modes() -> None:
    assert observe(r"SELECT a FROM t WHERE b LIKE '100\%\_\n\\'").values == ((("100\\%\\_\n\\",),),)
    assert observe("SELECT a FROM t WHERE b = 'C:\\' AND c = 'x'").values == ((("C:\\",),), (("x",),))


CORPUS = Path(__file__).parents[2] / "integration" / "workload" / "statements.sql"


def test_statements_with_a_known_outline_are_read_the_same() -> None:
    """Of each statement, with these literals and with others of the same and of another size."""
    reader = StatementReader()
    texts = [sql for _, sql in split_statements(CORPUS.read_text())]
    for text in texts * 2:
        for sql in (
            text,
            re.sub(r"\d", "7", text),
            re.sub(r"'(\w)", r"'\1\1", text),
            text.replace("1", "1234567890" * 3),
        ):
            found, expected = reader.observe(sql), observe(sql)
            assert (found.template, found.lengths, found.values) == (
                expected.template,
                expected.lengths,
                expected.values,
            ), sql


def test_a_long_list_has_its_length_and_some_values() -> None:
    reader = StatementReader()
    for begin in (1, 5):
        items = ", ".join(str(begin + each) for each in range(1000))
        seen = reader.observe(f"SELECT a FROM t WHERE b IN ({items}) AND c->'$.x' = 1")
        assert seen.lengths == (1000, 1)
        assert (len(seen.values[0]), seen.values[0][0], seen.placeholders) == (100, (begin,), 1001)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frequent kinds are kept, with fewer samples; rare ones are counted."""
    monkeypatch.setattr("tuibench.workload.traffic.MAX_KINDS", 20)
    monkeypatch.setattr("tuibench.workload.traffic.MAX_KEPT", 500)
    mix = TrafficMix()
    for number in range(1000):
        mix.add([f"SELECT a FROM t WHERE b = '{number:0100}'"], explicit=False)
        mix.add([f"SELECT a{number} FROM t WHERE b = {number}"], explicit=False)
    frequent, *rare = mix.kinds(100)
    assert (frequent.times, len(rare) < 20, mix.transactions) == (1000, True, 2000)
    assert sum(kind.times for kind in rare) + mix.lost[RARE] == 1000
    (slot,) = frequent.statements[0].slots
    assert isinstance(slot.models[0], Listed)
    assert 20 <= len(slot.models[0].values) <= 500 / 4


def test_long_statements_and_strange_verbs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuibench.workload.traffic.MAX_TEXT", 10_000)
    monkeypatch.setattr("tuibench.workload.traffic.MAX_REASONS", 5)
    mix = TrafficMix()
    for number in range(100):
        mix.add([f"SELECT a{number:0900} FROM t"], explicit=False)
        mix.add(["SELECT b FROM t"], explicit=False)
        mix.add([f"{'WORD'[number % 4] * (number + 2)} x"], explicit=False)
    frequent, *rare = mix.kinds(1000)
    assert (frequent.times, len(rare) < 12) == (100, True)
    assert len(mix.lost) <= 5 + 2
    assert mix.lost.total() == 100 + 100 - len(rare)


def test_tables_of_several_databases() -> None:
    mix = TrafficMix()
    for name in ("a", "b"):
        for number in range(5):
            mix.add(
                [f"SELECT x FROM t WHERE id IN ({number}, {number + 2})"], explicit=False, databases=[name]
            )
    text = profile_text("seen", "", [], mix.kinds(9), with_database=True)
    sent_texts = {sql for sql, _ in sent(library.load_program("seen.toml", {}, text), 20)}
    assert sent_texts == {f"SELECT x FROM `{name}`.t WHERE id IN (?, ?)" for name in "ab"}


@pytest.mark.parametrize(
    "marked",
    [
        "SELECT a FROM «t», «u» v JOIN «`w`» USING (k), «x» WHERE EXTRACT(DAY FROM d) = 1",
        "SELECT a FROM «t» LEFT JOIN («u» CROSS JOIN «v») ON u.a = t.a, o.w ORDER BY a, b",
        "WITH c AS (SELECT 1 FROM «t»), d (a, b) AS (SELECT a, b FROM c) SELECT * FROM c, «u»",
        "INSERT INTO «t» (a) SELECT b FROM o.u ON DUPLICATE KEY UPDATE a = VALUES(a)",
        "INSERT «t» VALUES (1, (SELECT MAX(a) FROM «u»)), (2, 3)",
        "DELETE o, «l» FROM «orders» o JOIN «l» ON 1",
        "DELETE FROM «t» WHERE a = 1 ORDER BY a, b LIMIT 2",
        "UPDATE LOW_PRIORITY «a», «b» SET a.x = 1, b.y = 2 WHERE y IN (SELECT z FROM «c»)",
        "SELECT a FROM «t» PARTITION (p0), «u» USE INDEX (i), dual FOR UPDATE",
        "SELECT j.s FROM «o», JSON_TABLE(o.doc, '$' COLUMNS(s INT PATH '$.s')) j",
        "SELECT REPLACE(a, 'x', 'y') INTO @v FROM «t»",
    ],
)
def test_tables_get_their_database(marked: str) -> None:
    sql = re.sub("[«»]", "", marked)
    assert qualified(sql, "d`d") == marked.replace("«", "`d``d`.").replace("»", "")
    assert qualified(sql, "") == sql


def test_rows_of_different_shapes_are_single_values() -> None:
    seen = observe("INSERT INTO t VALUES (1, NULL), (2, 3)")
    assert [slot.row for slot in seen.template.slots] == ["", "", ""]


# Statement digests become models: the values come from the columns.


TABLES = {
    "t": {
        "id": ColumnFacts("int", is_key=True, low=1, high=900),
        "k": ColumnFacts("int", low=5, high=50),
        "name": ColumnFacts("varchar", 60, samples=("ann", "bob")),
        "price": ColumnFacts("decimal", samples=("1.50", "9.75")),
    }
}
PRICE = DecimalRange(low=1, high=10)
ID, K, NAME = Uniform(low=1, high=900), Uniform(low=5, high=50), Listed(("ann", "bob"))


def models(digest: str) -> list[object]:
    return [slot.models[0] if not slot.row else slot for slot in model_of_digest(digest, TABLES).slots]


@pytest.mark.parametrize(
    ("digest", "expected"),
    [
        ("SELECT `name` FROM `t` WHERE `id` = ?", [ID]),
        ("SELECT `a` . `name` FROM `t` AS `a` WHERE `a` . `k` > ? LIMIT ?", [K, Constant(10)]),
        ("SELECT `name` FROM `t` WHERE `id` BETWEEN ? AND ? ORDER BY `name`", [ID, Sum(("v0",), 99)]),
        ("UPDATE `t` SET `k` = `k` + ? WHERE `id` = ?", [Constant(1), ID]),
        ("UPDATE `t` SET `name` = ? , `price` = ? WHERE `id` = ?", [NAME, PRICE, ID]),
        ("INSERT INTO `t` ( `id` , `k` , `name` ) VALUES (...)", [Unique(), K, NAME]),
        ("INSERT INTO `t` VALUES (...) /* , ... */", [Unique(), K, NAME, PRICE]),
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
