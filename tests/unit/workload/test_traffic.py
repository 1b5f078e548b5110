"""Profiles from observed traffic."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workload.player import Player, nothing
from tuibench.workload import library
from tuibench.workload.expressions import Constant
from tuibench.workload.program import Program
from tuibench.workload.templates import (
    Listed,
    LoggedStatement,
    Slot,
    TransactionGrouper,
    observe,
    statements,
)
from tuibench.workload.traffic import (
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
    mix.add(["SHOW TABLES", "SELECT 1", "SELECT {d '2025-01-01'}"], explicit=False)
    assert mix.skipped == {"SET": 1, "SHOW": 1, "SELECT": 1}
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
    (_, values) = sent(program, 1)[0]
    assert values[0] in {text[:2000] for text in texts}


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


def test_rows_of_different_shapes_are_single_values() -> None:
    seen = observe("INSERT INTO t VALUES (1, NULL), (2, 3)")
    assert [slot.row for slot in seen.template.slots] == ["", "", ""]


# The slow query logs of both flavours: statements, connections, times, transactions.


MARIADB = """\
/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 250101 12:00:00
# User@Host: shop[shop] @ localhost []
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 52
use shop;
SET timestamp=1735732800;
BEGIN;
# User@Host: shop[shop] @ localhost []
# Thread_id: 9  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1
SET timestamp=1735732800;
SELECT name
  FROM customer
 WHERE id = 3;
# User@Host: shop[shop] @ localhost []
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
SET timestamp=1735732801;
UPDATE customer SET n = n + 1 WHERE id = 7;
# User@Host: shop[shop] @ localhost []
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
SET timestamp=1735732801;
COMMIT;
"""

MYSQL = """\
/usr/sbin/mysqld, Version: 8.4.0 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock
Time                 Id Command    Argument
# Time: 2025-01-01T12:00:00.123456Z
# User@Host: shop[shop] @ localhost []  Id:    12
# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1735732800;
SELECT name FROM customer WHERE id = 3;
# Time: 2025-01-01T12:00:01.123456Z
# User@Host: shop[shop] @ localhost []  Id:    12
# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0
SET timestamp=1735732801;
# administrator command: Quit;
"""


def test_mariadbs_log() -> None:
    found = list(statements(MARIADB.splitlines(keepends=True)))
    assert [(each.connection, each.sql) for each in found] == [
        (8, "BEGIN"),
        (9, "SELECT name\n  FROM customer\n WHERE id = 3"),
        (8, "UPDATE customer SET n = n + 1 WHERE id = 7"),
        (8, "COMMIT"),
    ]
    assert {each.database for each in found} == {"shop"}
    assert [each.at for each in found] == [1735732800, 1735732800, 1735732801, 1735732801]


def test_mysqls_log() -> None:
    assert list(statements(MYSQL.splitlines(keepends=True))) == [
        LoggedStatement(12, 1735732800, "shop", "SELECT name FROM customer WHERE id = 3")
    ]


def test_what_is_no_slow_log_has_no_statements() -> None:
    assert list(statements(["SELECT 1;\n", "hello\n", "\n"])) == []


def test_transactions_of_connections_that_take_turns() -> None:
    grouper = TransactionGrouper()
    done = [
        made
        for connection, sql in [
            (1, "BEGIN"),
            (2, "start transaction read only"),
            (1, "UPDATE a SET x = 1"),
            (3, "SELECT 3"),
            (2, "SELECT 2"),
            (1, "UPDATE b SET x = 1"),
            (2, "ROLLBACK"),
            (1, "commit"),
            (1, "COMMIT"),
        ]
        if (made := grouper.add(LoggedStatement(connection, None, "", sql))) is not None
    ]
    assert done == [
        (("SELECT 3",), False),
        (("UPDATE a SET x = 1", "UPDATE b SET x = 1"), True),
    ]
    assert grouper.rolled_back == 1


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
