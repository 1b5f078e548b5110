"""Compiled programs: SQL, placeholders, weights, scripts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tests.unit.load.programs import EXPLICIT, SINGLE
from tests.unit.load.programs import program as weights_program
from tests.unit.workload.player import Player, nothing
from tuibench.base.errors import UsageError
from tuibench.features.slap.sql import (
    MAX_LITERAL_STATEMENTS,
    LoadType,
    QueryCycle,
    SlapColumns,
    SlapQuery,
    SlapScript,
    StorageEngine,
    client_program,
    client_turns,
    generate_queries,
    split_user_statements,
)
from tuibench.workload import library
from tuibench.workload import sql as sql_text
from tuibench.workload.adhoc_sql import (
    ADHOC_PROFILE,
    AdhocTransaction,
    adhoc_profile_text,
    number_transactions,
    parse_parameter,
)
from tuibench.workload.generator import TransactionGenerator, TurnSequence
from tuibench.workload.program import (
    MAX_DECK_CARDS,
    Program,
    validated_mix,
    weights_of,
    with_weights,
)
from tuibench.workload.sql import StatementClass, split_at_placeholders, strip_literals

# Profiles made of a user's own SQL: what becomes of it, and what is refused with its place.


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


# What mysqlslap would send, and in which order.


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


# Mixes of transactions: which there can be, and how they are drawn and dealt when they change.


OLD = msgspec.structs.replace(EXPLICIT, name="old", weight=90)
NEW = msgspec.structs.replace(SINGLE, name="new", weight=10)
BOTH = weights_program(OLD, NEW)
DECK = msgspec.structs.replace(BOTH, deck=True)
DRAWS = 20_000


def drawn(generator: TransactionGenerator, draws: int = DRAWS) -> Counter[int]:
    return Counter(generator.draw() for _ in range(draws))


def test_a_mix_has_the_weights_given_and_keeps_the_others() -> None:
    assert weights_of(BOTH) == {"old": 90, "new": 10}
    assert validated_mix(BOTH, {"new": 90}) == {"old": 90, "new": 90}
    assert validated_mix(BOTH, {"new": 0.5, "old": 0}) == {"old": 0, "new": 0.5}
    assert weights_of(with_weights(BOTH, (1, 2))) == {"old": 1, "new": 2}


@pytest.mark.parametrize(
    ("of", "given", "words"),
    [
        (BOTH, {"newer": 1}, "test has no transaction 'newer' .did you mean 'new'"),
        (BOTH, {"new": -1}, "the weight of new must be between 0 and"),
        (BOTH, {"new": float("nan")}, "must be between"),
        (BOTH, {"new": float("inf")}, "must be between"),
        (BOTH, {"new": 0, "old": 0}, "at least one transaction needs a weight above 0"),
        (DECK, {"new": 0.5}, "in a deck a weight is a number of cards, not 0.5"),
        (DECK, {"new": MAX_DECK_CARDS}, "a deck has at most 10,000 cards"),
    ],
)
def test_what_is_no_mix_is_refused_in_words(of: Program, given: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        validated_mix(of, given)


def test_transactions_are_drawn_by_the_new_weights_from_the_next_one_on() -> None:
    """Five standard deviations of a binomial count."""
    generator = TransactionGenerator(BOTH, 1, 0)
    for share, weights in ((0.1, None), (0.5, (50, 50)), (1.0, (0, 3)), (0.0, (1, 0))):
        if weights is not None:
            generator.set_weights(weights)
        slack = 5 * (DRAWS * share * (1 - share)) ** 0.5
        assert abs(drawn(generator)[1] - DRAWS * share) <= slack


@given(st.lists(st.integers(0, 9), min_size=2, max_size=2).filter(any), st.integers(0, 30))
def test_a_deck_is_dealt_again_with_the_exact_mix(weights: list[int], before: int) -> None:
    generator = TransactionGenerator(DECK, 1, 0)
    drawn(generator, before)
    generator.set_weights(weights)
    for _ in range(3):
        deck = drawn(generator, sum(weights))
        assert [deck[0], deck[1]] == weights


def test_the_same_seed_and_the_same_changes_give_the_same_draws() -> None:
    runs = []
    for _ in range(2):
        generator = TransactionGenerator(BOTH, 7, 3)
        first = [generator.draw() for _ in range(20)]
        generator.set_weights((1, 1))
        runs.append(first + [generator.draw() for _ in range(20)])
    assert runs[0] == runs[1]


# SQL as text: what class a statement is, where it ends, and where a server stopped understanding it.


@for_each(
    ("text", "wanted"),
    [
        ("SELECT 1", "read"),
        ("select 1", "read"),
        ("(SELECT 1) UNION (SELECT 2)", "read"),
        ("/* first */ SELECT 1", "read"),
        ("-- first\nSELECT 1", "read"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "read"),
        ("WITH a AS (SELECT f(1, (2))), b AS (SELECT 3) DELETE FROM t", "write"),
        ("WITH a AS (SELECT 1)", "other"),
        ("TABLE t", "read"),
        ("INSERT INTO t SELECT 1", "write"),
        ("UPDATE t SET a=1", "write"),
        ("DELETE FROM t", "write"),
        ("REPLACE t VALUES (1)", "write"),
        ("CALL p()", "other"),
        ("SET @a=1", "other"),
        ("", "other"),
    ],
)
def test_a_statement_is_counted_by_its_verb(text: str, wanted: str) -> None:
    assert sql_text.statement_class(text) is StatementClass(wanted)


def test_statements_end_at_delimiters_that_are_not_quoted() -> None:
    text = "SELECT ';'; -- a; b\n SELECT `;` ;; /* ; */"
    assert list(sql_text.split_statements(text)) == [(0, "SELECT ';'"), (12, "-- a; b\n SELECT `;`")]


def test_statements_of_nothing_are_none() -> None:
    assert list(sql_text.split_statements(" ; \n;")) == []


def test_places_are_counted_as_people_do() -> None:
    assert [sql_text.line_and_column("ab\ncd", offset) for offset in (0, 1, 3, 4)] == [
        "line 1, column 1",
        "line 1, column 2",
        "line 2, column 1",
        "line 2, column 2",
    ]


def test_the_place_where_a_server_stopped() -> None:
    text = "SELECT t\nFROM t\nWHER t = 't'"
    message = "You have an error … to use near 't = 't'' at line 3"
    assert sql_text.syntax_error_position(text, message) == "line 3, column 6"
    assert sql_text.syntax_error_position(text, "to use near '' at line 3") == "line 3, column 13"
    assert sql_text.syntax_error_position(text, "Table 'x' doesn't exist") == ""
    assert sql_text.syntax_error_position(text, "near 'nowhere' at line 1") == ""


# Which `?` of a statement waits for a value.


SQL = [
    ("SELECT 1", ("SELECT 1",)),
    ("SELECT ?", ("SELECT ", "")),
    ("? ?", ("", " ", "")),
    ("SELECT '?', ?", ("SELECT '?', ", "")),
    ("SELECT 'it''s ?', ?", ("SELECT 'it''s ?', ", "")),
    (r"SELECT 'a\'?', ?", (r"SELECT 'a\'?', ", "")),
    (r"SELECT '\\', ?", (r"SELECT '\\', ", "")),
    ('SELECT "?""?", ?', ('SELECT "?""?", ', "")),
    ("SELECT `?` FROM t WHERE id=?", ("SELECT `?` FROM t WHERE id=", "")),
    ("SELECT /* why? */ ?", ("SELECT /* why? */ ", "")),
    ("SELECT /*+ NO_ICP(?) */ ?", ("SELECT /*+ NO_ICP(?) */ ", "")),
    ("SELECT /*!50000 ? */, /*M! ? */", ("SELECT /*!50000 ", " */, /*M! ", " */")),
    ("SELECT ? -- really?\n, ?", ("SELECT ", " -- really?\n, ", "")),
    ("SELECT ? --?", ("SELECT ", " --", "")),
    ("SELECT ? # sure?", ("SELECT ", " # sure?")),
    ("SELECT '# ?', ?", ("SELECT '# ?', ", "")),
    ("SELECT '/*', ?, '*/'", ("SELECT '/*', ", ", '*/'")),
    ("/* it's */ SELECT ?, '?'", ("/* it's */ SELECT ", ", '?'")),
    ("SELECT '\n?', ?", ("SELECT '\n?', ", "")),
]


@for_each(("sql", "parts"), SQL)
def test_a_question_mark_in_quotes_and_comments_is_a_letter(sql: str, parts: tuple[str, ...]) -> None:
    assert split_at_placeholders(sql) == parts
    assert strip_literals(sql).count("?") == len(parts) - 1


@given(st.text("?'\"`\\-#/*! M\na"))
def test_the_pieces_make_the_statement_and_agree_with_the_count(sql: str) -> None:
    found = split_at_placeholders(sql)
    assert "?".join(found) == sql
    assert strip_literals(sql).count("?") == len(found) - 1
