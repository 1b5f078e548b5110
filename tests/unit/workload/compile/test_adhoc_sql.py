"""Profiles made of a user's own SQL: what becomes of it, and what is refused with its place."""

from collections.abc import Mapping

import pytest

from tests.unit.workload.player import Player, nothing
from tuibench.errors import UsageError
from tuibench.workload import library
from tuibench.workload.compile.adhoc_sql import (
    ADHOC_PROFILE,
    AdhocTransaction,
    adhoc_profile_text,
    number_transactions,
    parse_parameter,
)
from tuibench.workload.program.program import Program

ID = {"id": "1..100"}


def program(
    *texts: str, parameters: Mapping[str, str] | None = None, weights: tuple[float, ...] = ()
) -> Program:
    text = adhoc_profile_text(list(number_transactions(texts)), parameters or {}, weights)
    return library.load_program(ADHOC_PROFILE, {"threads": 1}, text)


def fault(*texts: str, parameters: Mapping[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as failing:
        program(*texts, parameters=parameters)
    return str(failing.value)


def test_one_statement_is_one_transaction_by_itself() -> None:
    made = program("SELECT c FROM t WHERE id=:id", parameters=ID)
    (transaction,) = made.transactions
    assert not transaction.explicit
    player = Player(made, nothing)
    sent = [player.play() for _ in range(50)]
    assert {(one.name, one.sql) for (one,) in sent} == {("select_1_1", "SELECT c FROM t WHERE id=?")}
    assert all(1 <= one.values[0] <= 100 for (one,) in sent)


def test_statements_of_one_text_are_one_transaction_with_the_same_values() -> None:
    made = program("UPDATE t SET k=1 WHERE id=:id; SELECT k FROM t WHERE id=:id;", parameters=ID)
    first, second = Player(made, nothing).play()
    assert first.values == second.values
    assert [one.cls for one in Player(made, nothing).flat] == ["write", "read"]
    assert not made.transactions[0].explicit


def test_begin_and_commit_are_the_transactions_own() -> None:
    made = program("BEGIN; UPDATE t SET k=1; COMMIT")
    assert made.transactions[0].explicit
    assert [one.sql for one in Player(made, nothing).play()] == [
        "START TRANSACTION",
        "UPDATE t SET k=1",
        "COMMIT",
    ]
    assert made == program("start transaction;\nUPDATE t SET k=1;\ncommit work;")


def test_a_rollback_at_the_end_is_meant() -> None:
    made = program("BEGIN; UPDATE t SET k=1; ROLLBACK")
    assert [one.sql for one in Player(made, nothing).play()] == [
        "START TRANSACTION",
        "UPDATE t SET k=1",
        "ROLLBACK",
    ]


def test_several_texts_are_mixed_by_weight() -> None:
    made = program("SELECT 1", "SELECT 2", weights=(9.0, 1.0))
    assert [(each.name, each.weight) for each in made.transactions] == [("sql_1", 9.0), ("sql_2", 1.0)]


def test_names_in_quotes_comments_and_assignments_are_letters() -> None:
    made = program("SELECT ':a', `:b`, @c:=1, '12:30:d' /* :e */ -- :f")
    assert Player(made, nothing).play()[0].sql == "SELECT ':a', `:b`, @c:=1, '12:30:d' /* :e */ -- :f"


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("5..5", {5}),
        ("uniform -1 .. 1", {-1, 0, 1}),
        ("Oslo|Rome", {"Oslo", "Rome"}),
        ("{ make = 'uniform', high = 2 }", {1, 2}),
        ("3 * 2", {6}),
        ("connection", {0}),
    ],
)
def test_how_a_name_is_drawn(text: str, allowed: set[object]) -> None:
    player = Player(program("SELECT :x", parameters={"x": text}), nothing)
    assert {player.play()[0].values[0] for _ in range(100)} == allowed


def test_a_name_may_be_made_of_another() -> None:
    player = Player(program("SELECT :next", parameters={"id": "1..100", "next": "id + 1"}), nothing)
    assert 2 <= player.play()[0].values[0] <= 101


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "SELECT 1\n FROM t WHERE id=:ix",
            "--sql: line 2, column 18: no value for :ix (did you mean 'id'?)",
        ),
        ("SELECT :id, ?", "--sql: line 1, column 13: '?' is not valid here"),
        ("SELECT :id FROM {table}", "--sql: line 1, column 17: '{' is not valid here"),
        ("BEGIN; SELECT :id", "--sql: line 1, column 18: BEGIN has no COMMIT or ROLLBACK"),
        ("BEGIN; COMMIT", "no statement between"),
        ("SELECT :id; COMMIT", "--sql: line 1, column 13: COMMIT must be the first or last statement, alone"),
        (
            "START TRANSACTION READ ONLY; SELECT :id; COMMIT",
            "line 1, column 1: START TRANSACTION must be the first",
        ),
        (" ; ", "--sql: no statement"),
        ("SELECT 1", "--sql-param: :id does not occur in the SQL"),
    ],
)
def test_what_is_refused(text: str, told: str) -> None:
    assert told in fault(text, parameters=ID)


def test_a_name_without_any_parameter_says_how_to_give_one() -> None:
    assert "for example --sql-param id=1..100000" in fault("SELECT :id")


def test_the_second_text_is_named() -> None:
    assert fault("SELECT 1", "SELECT ?").startswith("--sql 2: line 1, column 8")


def test_a_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"my\.sql: line 1"):
        adhoc_profile_text([AdhocTransaction("my", "my.sql", "SELECT :x")], {})


def test_a_rollback_to_a_savepoint_is_a_statement_like_others() -> None:
    made = program("BEGIN; SAVEPOINT a; UPDATE t SET k=1; ROLLBACK TO a; COMMIT")
    assert [one.sql for one in Player(made, nothing).play()][-2:] == ["ROLLBACK TO a", "COMMIT"]


def test_parameters_are_names_and_values() -> None:
    assert parse_parameter("id=1..5") == ("id", "1..5")
    assert parse_parameter(":x = a == 1") == ("x", "a == 1")
    for wrong in ("id", "id=", "1d=3", "if=2", "connection=3"):
        with pytest.raises(UsageError):
            parse_parameter(wrong)


@pytest.mark.parametrize("text", ["{ make = ", "1 +", "{ make = 'nosuch' }", "$"])
def test_parameters_that_mean_nothing(text: str) -> None:
    assert fault("SELECT :x", parameters={"x": text})
