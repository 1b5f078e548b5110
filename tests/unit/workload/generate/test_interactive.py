"""The full language: shared variables, loops, conditions, captures, rollbacks, against a scripted server."""

from collections import Counter
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from tests.unit.workload.player import Player, Rows, names, nothing
from tuibench.errors import RunError, UsageError
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import compile_profile
from tuibench.workload.program.program import Program

HEAD = 'name = "n"\nsummary = "s"\ndata_set = "sbtest"\n'


def program(text: str, **options: object) -> Program:
    return compile_profile(library.parse_profile(HEAD + text, "n.toml"), options)


def one(steps: str, autocommit: str = "true", **options: object) -> Program:
    return program(f'[[transactions]]\nname = "t"\nautocommit = {autocommit}\n{steps}', **options)


def statement(name: str, *bind: str, **more: Any) -> str:
    marks = ", ".join("?" * len(bind)) or "1"
    entries = "".join(f", {key} = {value}" for key, value in more.items())
    return f'{{ name = "{name}", sql = "SELECT {marks} FROM t", bind = {list(bind)}{entries} }}'


def step(*statements: str, **keys: str) -> str:
    lines = [f"{key} = {value}" for key, value in keys.items()]
    return "\n".join(["[[transactions.steps]]", *lines, f"statements = [{', '.join(statements)}]", ""])


def test_variables_last_for_the_rest_of_the_transaction() -> None:
    of = one(
        step(statement("a", "x"), let='{ x = { make = "uniform", high = 1000 } }') + step(statement("b", "x"))
    )
    for _ in range(20):
        first, second = Player(of, nothing).play()
        assert first.values == second.values
    assert not of.interactive


def test_every_transaction_starts_with_variables_of_its_own() -> None:
    player = Player(one(step(statement("a", "x"), let='{ x = { make = "serial" } }', index='"i"')), nothing)
    assert [player.play()[0].values for _ in range(3)] == [(1,), (2,), (3,)]


def test_a_captured_row_decides_what_is_sent_next() -> None:
    of = one(step(statement("a", capture='["x", "y"]')) + step(statement("b", "x + 1", "y")))
    assert of.interactive
    sent = Player(of, lambda name, values: [(41, "seen", "not wanted"), (1, "other")]).play()
    assert sent[1].values == (42, "seen")


def test_without_a_row_captured_variables_are_null() -> None:
    of = one(
        step(statement("a", capture='["x"]'))
        + step(statement("b", "x"), when='"x == null"')
        + step(statement("c", "x"), when='"x != null"')
    )
    assert names(Player(of, nothing).play()) == ["a", "b"]
    assert names(Player(of, lambda *_: [(0,)]).play()) == ["a", "c"]


def test_loops_go_over_captured_rows() -> None:
    of = one(
        step(statement("a", rows='"found"'))
        + step(statement("b", "id", "name", "i"), each='"found"', into='["id", "name"]', index='"i"')
    )
    sent = Player(of, lambda *_: [(7, "x"), (8, "y")]).play()
    assert [call.values for call in sent[1:]] == [(7, "x", 1), (8, "y", 2)]
    assert names(Player(of, nothing).play()) == ["a"]


def test_loops_go_over_drawn_lists_and_counts() -> None:
    ordered = '{ make = "list", ordered = true, count = "n", of = { make = "uniform", high = 9 } }'
    of = one(
        step(let=f'{{ n = {{ make = "uniform", low = 3, high = 5 }}, items = {ordered} }}')
        + step(statement("a", "x"), each='"items"', into='["x"]')
        + step(statement("b", "i"), repeat='"n"', index='"i"')
    )
    lengths = Counter[int]()
    for connection in range(50):
        sent = Player(of, nothing, connection=connection).play()
        items = [call.values[0] for call in sent if call.name == "a"]
        assert items == sorted(items)
        assert [call.values[0] for call in sent if call.name == "b"] == list(range(1, len(items) + 1))
        lengths[len(items)] += 1
    assert set(lengths) == {3, 4, 5}


def test_a_loop_adds_up_and_a_condition_chooses() -> None:
    of = one(
        step(let="{ total = 0, kind = \"'small'\" }")
        + step(repeat="4", index='"i"', let='{ total = "total + i" }')
        + step(when='"total > 9"', let="{ kind = \"'large'\" }")
        + step(statement("a", "total", "kind"))
    )
    assert Player(of, nothing).play()[0].values == (10, "large")


def test_lists_of_the_profile_are_picked_from() -> None:
    text = '[lists]\nwords = ["a", "b", "c"]\n[[transactions]]\nname = "t"\nautocommit = true\n'
    of = program(text + step(statement("a", "words[i] + words[2 - i]", "len(words)"), let="{ i = 1 }"))
    assert Player(of, nothing).play()[0].values == ("bb", 3)


@pytest.mark.parametrize(("rollback", "share"), [("0.25", 0.25), ("true", 1.0)])
def test_a_rollback_by_intent_ends_the_transaction(rollback: str, share: float) -> None:
    of = one(
        step(statement("a")) + f"rollback = {rollback}\n" + step(statement("b")), autocommit='"skip_trx"'
    )
    player = Player(of, nothing)
    ways = Counter(tuple(names(player.play())) for _ in range(2000))
    assert ways[("begin", "a", "rollback")] / 2000 == pytest.approx(share, abs=0.04)
    assert ways[("begin", "a", "b", "commit")] == 2000 - ways[("begin", "a", "rollback")]


def test_without_a_transaction_a_rollback_only_ends_it() -> None:
    text = step(statement("a")) + "rollback = true\n" + step(statement("b"))
    assert names(Player(one(text, autocommit='"skip_trx"', skip_trx="on"), nothing).play()) == ["a"]


def test_a_rollback_in_a_loop_ends_the_whole_transaction() -> None:
    inner = '[[transactions.steps.steps]]\nwhen = "i == 2"\nrollback = true\n'
    text = step(statement("a", "i"), repeat="5", index='"i"') + inner + step(statement("b"))
    assert names(Player(one(text, autocommit="false"), nothing).play()) == ["begin", "a", "a", "rollback"]


def test_a_step_that_no_option_lets_happen_is_gone() -> None:
    of = one(step(statement("a"), when='"auto_inc and tables > 1"') + step(statement("b")))
    assert len(of.transactions[0].steps) == 1
    assert len(one(step(statement("a"), when='"auto_inc"') + step(statement("b"))).transactions[0].steps) == 2


def test_a_step_may_keep_to_one_table() -> None:
    text = step('{ name = "a", sql = "SELECT 1 FROM {table}" }', table='"connection"')
    of = one(text, tables=4)
    for connection in range(6):
        player = Player(of, nothing, connection=connection)
        assert {player.play()[0].sql for _ in range(5)} == {f"SELECT 1 FROM sbtest{connection % 4 + 1}"}
        assert player.generator.needed == frozenset({connection % 4})
    assert Player(one(step(statement("a"))), nothing).generator.needed is None


def test_a_variable_chooses_the_table() -> None:
    text = step(let='{ x = { make = "serial", first = 0 } }') + step(
        '{ name = "a", sql = "SELECT 1 FROM {table}" }', table='"x"'
    )
    player = Player(one(text, tables=3), nothing)
    assert [player.play()[0].sql[-1] for _ in range(4)] == ["1", "2", "3", "1"]


DECK = "".join(
    f'[[transactions]]\nname = "{name}"\nweight = {weight}\nautocommit = true\n{step(statement(name))}'
    for name, weight in (("a", 5), ("b", 3), ("c", 1))
)


def test_a_deck_holds_the_exact_mix() -> None:
    player = Player(program('draw = "deck"\n' + DECK), nothing)
    decks = [tuple(player.play()[0].name for _ in range(9)) for _ in range(50)]
    assert {tuple(sorted(deck)) for deck in decks} == {tuple("aaaaabbbc")}
    assert len(set(decks)) > 10


def test_a_transaction_tried_again_keeps_its_kind() -> None:
    player = Player(program('draw = "deck"\n' + DECK), nothing)
    which = player.generator.draw()
    assert {player.play(which)[0].name for _ in range(20)} == {"abc"[which]}


def test_floating_point_columns_are_calculated_with_like_decimals() -> None:
    of = one(step(statement("a", capture='["x"]')) + step(statement("b", "x * 2 + 0.5")))
    assert Player(of, lambda *_: [(0.1,)]).play()[1].values == (Decimal("0.7"),)


@pytest.mark.parametrize("answer", [[("text",)], [(None,)], []])
def test_values_that_cannot_be_calculated_with_are_reported(answer: Rows) -> None:
    of = one(step(statement("a", capture='["x"]')) + step(statement("b", "x * 2")))
    with pytest.raises(RunError, match="n: the transaction 't' cannot be computed"):
        Player(of, lambda *_: answer).play()


def test_too_few_columns_are_reported() -> None:
    of = one(step(statement("a", capture='["x", "y"]')))
    with pytest.raises(UsageError, match="'a' gives 1 columns, 2 variables are declared"):
        Player(of, lambda *_: [(1,)]).play()


def test_a_program_survives_the_way_to_a_worker() -> None:
    of = library.load_program("tpcc")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(of), type=Program) == of
