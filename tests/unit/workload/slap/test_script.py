"""What mysqlslap would send, and in which order."""

from collections.abc import Sequence
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workload.player import Player, nothing
from tuibench.errors import UsageError
from tuibench.workload.generate.generator import TurnSequence
from tuibench.workload.program.program import StatementClass
from tuibench.workload.slap.generated_sql import LoadType, SlapColumns, SlapQuery, generate_queries
from tuibench.workload.slap.script import (
    MAX_LITERAL_STATEMENTS,
    QueryCycle,
    SlapScript,
    StorageEngine,
    client_program,
    client_turns,
    split_user_statements,
)

ABC = tuple(SlapQuery(sql) for sql in ("SELECT 'a'", "SELECT 'b'", "SELECT 'c'"))


def as_mysqlslap_does(length: int, limit: int, commit: int) -> list[int | str]:
    """A client, statement by statement: its list over and over, a commit after so many and at the end."""
    sent: list[int | str] = []
    for number in range(limit):
        sent.append(number % length)
        if commit and (number + 1) % commit == 0:
            sent.append("commit")
    return sent + ["commit"] * bool(commit)


@given(st.integers(1, 7), st.integers(1, 60), st.integers(0, 9))
def test_a_client_goes_on_as_mysqlslap_would(length: int, limit: int, commit: int) -> None:
    made = client_turns(range(length), QueryCycle(queries=limit, commit=commit), length)
    taker = TurnSequence(made)
    dealt = []
    while not taker.is_exhausted:
        dealt.append(taker.take())
    assert ["commit" if which == length else which for which in dealt] == as_mysqlslap_does(
        length, limit, commit
    )
    assert len(dealt) == made.total


@given(st.integers(1, 7), st.integers(1, 60), st.integers(0, 9), st.integers(1, 5))
def test_logins_come_before_every_nth_query_of_the_list(
    length: int, limit: int, commit: int, detach: int
) -> None:
    taker = TurnSequence(
        client_turns(range(length), QueryCycle(queries=limit, commit=commit, detach=detach), length)
    )
    sent, left_before = 0, []
    while not taker.is_exhausted:
        if taker.needs_reconnect():
            left_before.append(sent)
            assert not taker.needs_reconnect()
        sent += taker.take() != length
    assert left_before == [number for number in range(1, limit) if number % length % detach == 0]


def test_an_order_that_never_comes_round_is_refused() -> None:
    with pytest.raises(UsageError, match="sequence is too long"):
        client_turns(range(9973), QueryCycle(queries=10**9, commit=9967), 9973)


def test_every_client_sends_its_list_and_then_leaves() -> None:
    player = Player(client_program(SlapScript(queries=ABC), QueryCycle(queries=4), ()), nothing)
    sent = []
    while not player.generator.is_exhausted:
        sent += [one.sql for one in player.play()]
    assert sent == ["SELECT 'a'", "SELECT 'b'", "SELECT 'c'", "SELECT 'a'"]


def test_equal_queries_are_one_kind_of_transaction() -> None:
    program = client_program(SlapScript(queries=ABC[:1] * 5), QueryCycle(queries=5, commit=2), ())
    assert [each.name for each in program.transactions] == ["select 1", "commit"]
    assert program.turns is not None
    assert program.turns.total == 5 + 2 + 1


@pytest.mark.parametrize("keys", [[3, 4, 5], [2, 9, 30], ["x-1", "y-2"]])
def test_a_key_is_one_of_those_that_are_there(keys: Sequence[int] | Sequence[str]) -> None:
    script = SlapScript(queries=(SlapQuery("SELECT 1 FROM t1 WHERE id = ", by_key=True),))
    player = Player(client_program(script, QueryCycle(queries=200), keys), nothing)
    sent = [player.play()[0] for _ in range(200)]
    assert {one.sql for one in sent} == {f"SELECT 1 FROM t1 WHERE id =  '{key}'" for key in keys}
    assert {one.values for one in sent} == {()}


@pytest.mark.parametrize(
    "keys",
    [range(1, MAX_LITERAL_STATEMENTS + 2), [f"x-{number}" for number in range(MAX_LITERAL_STATEMENTS + 1)]],
)
def test_with_many_keys_the_statement_is_not_written_out_for_each(
    keys: Sequence[int] | Sequence[str],
) -> None:
    script = SlapScript(queries=(SlapQuery("SELECT 1 FROM t1 WHERE id = ", by_key=True),))
    player = Player(client_program(script, QueryCycle(queries=200), keys), nothing)
    sent = [player.play()[0] for _ in range(200)]
    assert {one.sql for one in sent} == {"SELECT 1 FROM t1 WHERE id =  ?"}
    drawn = {one.values[0] for one in sent}
    assert drawn <= set(keys)
    assert len(drawn) > 150


@pytest.mark.parametrize(
    ("load_type", "classes"),
    [
        (LoadType.MIXED, ["write", "read", "write", "read"]),
        (LoadType.WRITE, ["write"] * 4),
        (LoadType.READ, ["read"] * 4),
        (LoadType.KEY, ["read"] * 4),
        (LoadType.UPDATE, ["write"] * 4),
    ],
)
def test_the_kinds_of_load(load_type: LoadType, classes: list[str]) -> None:
    made = generate_queries(load_type, SlapColumns(autoincrement=True), 3, Random(1))
    program = client_program(SlapScript(queries=made), QueryCycle(queries=4), (1, 2))
    assert program.turns is not None
    sent = [program.transactions[which].steps[0].statements[0].cls for which in program.turns.cycle]
    assert sent == [StatementClass(each) for each in classes]
    assert any(query.by_key for query in made) is (load_type in ("mixed", "key", "update"))


def test_only_the_table_has_the_engine_and_rows_come_round() -> None:
    script = SlapScript(create=("CREATE", "one", "two"), writes=6)
    assert list(script.creation(StorageEngine("memory", "max_rows=5"))) == [
        "CREATE Engine = memory max_rows=5", "one", "two", "one", "two", "one",
    ]  # fmt: skip
    own = SlapScript(create=("CREATE", "one", "two"))
    assert list(own.creation(None)) == ["CREATE", "one", "two"]
    assert list(islice(SlapScript().creation(None), 1)) == []


def test_statements_are_separated_by_the_delimiter() -> None:
    assert split_user_statements("a;;b; \n", ";") == ("a", "b")
    assert split_user_statements("a\nb\n", "\n") == ("a", "b")
    with pytest.raises(UsageError, match="placeholder"):
        split_user_statements("SELECT ?", ";")
