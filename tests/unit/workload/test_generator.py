"""Statements of a transaction as they are generated."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from tests.unit.workload.player import Player, Rows, nothing
from tests.unit.workload.player import names as interactive_names
from tuibench.base.errors import RunError, UsageError
from tuibench.workload import library
from tuibench.workload.compiler import compile_profile
from tuibench.workload.generator import Call, TransactionGenerator
from tuibench.workload.program import Program, flat_statements
from tuibench.workload.sql import StatementClass

# The stream of calls: sysbench's transactions, statement by statement, and their seeds.


POINTS = ["point_select"] * 10
RANGES = ["simple_range", "sum_range", "order_range", "distinct_range"]
WRITES = ["index_update", "non_index_update", "delete", "insert"]
TRANSACTIONS = {
    "oltp_read_write": ["begin", *POINTS, *RANGES, *WRITES, "commit"],
    "oltp_read_only": ["begin", *POINTS, *RANGES, "commit"],
    "oltp_write_only": ["begin", *WRITES, "commit"],
    "oltp_point_select": ["point_select"],
}


def program(name: str = "oltp_read_write", **options: object) -> Program:
    return library.load_program(name, {"tables": 4, "table_size": 1000, **options})


def calls(of: Program, seed: int = 0, connection: int = 0) -> list[Call]:
    return list(drawn_by(TransactionGenerator(of, seed, connection))[1])


def drawn_by(generator: TransactionGenerator) -> tuple[int, Sequence[Call]]:
    """Which transaction comes next, and its calls."""
    which = generator.draw()
    return which, generator.calls[which]()


def names(of: Program) -> list[str]:
    flat = flat_statements(of)
    return [flat[index].name for index, _ in calls(of)]


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_transaction_is_sysbenchs(name: str) -> None:
    assert names(program(name)) == TRANSACTIONS[name]


def test_without_transaction_there_is_no_begin() -> None:
    of = program(skip_trx="on")
    assert names(of) == [*POINTS, *RANGES, *WRITES]
    assert not of.transactions[0].explicit


def test_without_range_selects_there_are_none() -> None:
    assert names(program(range_selects=False)) == ["begin", *POINTS, *WRITES, "commit"]


def test_repeat_counts_are_options() -> None:
    of = program(point_selects="2", delete_inserts=2, index_updates=0, sum_ranges=0)
    writes = ["non_index_update", "delete", "insert", "delete", "insert"]
    ranges = ["simple_range", "order_range", "distinct_range"]
    assert names(of) == ["begin", "point_select", "point_select", *ranges, *writes, "commit"]


def test_one_table_for_all_repetitions_of_a_step_and_new_values_for_each() -> None:
    of = program(rand_type="uniform")
    tables_of_inserts = Counter[str]()
    for connection in range(200):
        drawn = calls(of, connection=connection)
        points = drawn[1:11]
        assert len({index for index, _ in points}) == 1
        assert len({values for _, values in points}) > 1
        tables_of_inserts[flat_statements(of)[drawn[-2][0]].sql.split()[2]] += 1
    assert set(tables_of_inserts) == {"sbtest1", "sbtest2", "sbtest3", "sbtest4"}


def test_an_insert_puts_back_the_row_that_its_delete_took() -> None:
    of = program()
    flat = flat_statements(of)
    for connection in range(50):
        (delete, (deleted,)), (insert, inserted) = calls(of, connection=connection)[-3:-1]
        assert flat[delete].sql.split()[2] == flat[insert].sql.split()[2]
        assert inserted[0] == deleted
        assert 1 <= int(str(inserted[1])) <= 1000
        assert (len(str(inserted[2])), len(str(inserted[3]))) == (119, 59)


def test_a_range_ends_range_size_rows_later() -> None:
    for range_size in (1, 100):
        ranges = calls(program(range_size=range_size))[11:15]
        assert all(int(str(last)) - int(str(first)) == range_size - 1 for _, (first, last) in ranges)


def test_values_match_the_placeholders() -> None:
    of = program()
    flat = flat_statements(of)
    assert all(flat[index].sql.count("?") == len(values) for index, values in calls(of))


def test_flat_statements_are_one_for_each_table() -> None:
    flat = flat_statements(program())
    assert len(flat) == 9 * 4 + 2
    assert len(set(flat)) == len(flat)
    assert {statement.cls for statement in flat if statement.name in WRITES} == {StatementClass.WRITE}
    assert {statement.cls for statement in flat if statement.name in RANGES} == {StatementClass.READ}
    assert all(statement.prepared for statement in flat)


def test_one_seed_gives_one_sequence_for_each_connection() -> None:
    of = program()
    first = [calls(of, seed=5, connection=connection) for connection in range(4)]
    again = [calls(of, seed=5, connection=connection) for connection in range(4)]
    assert first == again
    assert all(first[0] != other for other in first[1:])
    assert first[0] != calls(of, seed=6)


def test_the_stream_of_a_seed_never_changes() -> None:
    """These numbers are a promise: a run with the same seed is the same run after an upgrade."""
    generator = TransactionGenerator(program(), 42, 3)
    drawn = [drawn_by(generator) for _ in range(5)]
    assert [values for _, values in drawn[0][1][1:5]] == [(505,), (468,), (497,), (504,)]
    assert hashlib.sha256(repr(drawn).encode()).hexdigest()[:16] == "298e0c9bfd723117"


def test_a_program_survives_the_way_to_a_worker() -> None:
    of = program(rand_type="zipfian")
    same = msgspec.msgpack.decode(msgspec.msgpack.encode(of), type=Program)
    assert same == of
    assert calls(same) == calls(of)


MIX = """
name = "mix"
summary = "three to one"
data_set = "sbtest"
[[transactions]]
name = "often"
weight = 3
autocommit = true
steps = [{ statements = [{ name = "one", sql = "SELECT COUNT(*) FROM {table}" }] }]
[[transactions]]
name = "rarely"
autocommit = true
[[transactions.steps]]
let.a = { make = "uniform", low = 5, high = 6 }
let.b = "a + a + tables"
statements = [{ name = "two", sql = "SELECT ?, '?', ?", bind = ["a", "b"] }]
"""


def test_transactions_are_drawn_by_weight() -> None:
    of = compiled(MIX)
    generator = TransactionGenerator(of, 0, 0)
    kinds = Counter(drawn_by(generator)[0] for _ in range(10_000))
    assert kinds[0] == pytest.approx(7500, abs=200)


def test_sums_take_variables_and_options() -> None:
    generator = TransactionGenerator(compiled(MIX), 0, 0)
    drawn = [drawn_by(generator) for _ in range(100)]
    pairs = {call[1] for kind, (call,) in drawn if kind == 1}
    assert pairs == {(5, 14), (6, 16)}


def test_a_statement_without_variables_still_has_a_table() -> None:
    generator = TransactionGenerator(compiled(MIX), 0, 0)
    drawn = [drawn_by(generator) for _ in range(100)]
    assert {call[0] for kind, (call,) in drawn if kind == 0} == {0, 1, 2, 3}


def test_a_statement_without_variables_keeps_to_its_table_when_repeated() -> None:
    generator = TransactionGenerator(compiled(MIX.replace("steps = [{", "steps = [{ repeat = 3,")), 0, 0)
    drawn = [drawn_by(generator) for _ in range(100)]
    counts = [[index for index, _ in calls] for kind, calls in drawn if kind == 0]
    assert {len(indexes) for indexes in counts} == {3}
    assert {len(set(indexes)) for indexes in counts} == {1}


def compiled(text: str) -> Program:
    return compile_profile(library.parse_profile(text, "mix.toml"), {"tables": 4})


# The full language: shared variables, loops, conditions, captures, rollbacks, against a scripted server.


HEAD = 'name = "n"\nsummary = "s"\ndata_set = "sbtest"\n'


def interactive_program(text: str, **options: object) -> Program:
    return compile_profile(library.parse_profile(HEAD + text, "n.toml"), options)


def one(steps: str, autocommit: str = "true", **options: object) -> Program:
    return interactive_program(f'[[transactions]]\nname = "t"\nautocommit = {autocommit}\n{steps}', **options)


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
    assert interactive_names(Player(of, nothing).play()) == ["a", "b"]
    assert interactive_names(Player(of, lambda *_: [(0,)]).play()) == ["a", "c"]


def test_loops_go_over_captured_rows() -> None:
    of = one(
        step(statement("a", rows='"found"'))
        + step(statement("b", "id", "name", "i"), each='"found"', into='["id", "name"]', index='"i"')
    )
    sent = Player(of, lambda *_: [(7, "x"), (8, "y")]).play()
    assert [call.values for call in sent[1:]] == [(7, "x", 1), (8, "y", 2)]
    assert interactive_names(Player(of, nothing).play()) == ["a"]


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


def test_a_part_has_the_size_of_its_variable() -> None:
    """A statement for each size. Its values are those of a list without duplicates, in the order drawn."""
    many = '{ make = "list", distinct = true, count = "n", of = { make = "uniform", high = 6 } }'
    part = (
        '{ sql = "(?, ?, ?)", repeat = "n", index = "i", let.d = "i * 10", bind = ["i", "d", "many[i - 1]"] }'
    )
    of = one(
        step(
            statement("before", "n"),
            f'{{ name = "sized", sql = "SELECT ?, {{p}}, ?", bind = ["n", "n + 1"], parts.p = {part} }}',
            statement("after", "n"),
            let=f'{{ n = {{ make = "uniform", low = "tables + 1", high = 4 }}, many = {many} }}',
        ),
        tables=1,
    )
    sizes, orders = Counter[int](), set[bool]()
    assert sum(each.name == "sized" for each in flat_statements(of)) == 3
    for connection in range(60):
        before, sized, after = Player(of, nothing, connection=connection).play()
        ((size,),) = {before.values, after.values}
        assert sized.sql == f"SELECT ?, {', '.join(['(?, ?, ?)'] * size)}, ?"
        first, *rows, last = sized.values
        assert (first, last) == (size, size + 1)
        assert rows[0::3] == list(range(1, size + 1))
        assert rows[1::3] == [10 * number for number in range(1, size + 1)]
        assert len(set(rows[2::3])) == size
        orders.add(rows[2::3] == sorted(rows[2::3]))
        sizes[size] += 1
    assert set(sizes) == {2, 3, 4}
    assert orders == {True, False}


@pytest.mark.parametrize("bounds", ["low = 0, high = 4", "low = 1, high = 200", 'low = 5, high = "tables"'])
def test_sizes_of_a_part_are_few_and_above_zero(bounds: str) -> None:
    with pytest.raises(UsageError, match="which are no sizes of a part"):
        one(
            step(
                '{ name = "a", sql = "SELECT {p}", parts.p = { sql = "1", repeat = "n" } }',
                let=f'{{ n = {{ make = "uniform", {bounds} }} }}',
            ),
            tables=1,
        )


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
    of = interactive_program(
        text + step(statement("a", "words[i] + words[2 - i]", "len(words)"), let="{ i = 1 }")
    )
    assert Player(of, nothing).play()[0].values == ("bb", 3)


@pytest.mark.parametrize(("rollback", "share"), [("0.25", 0.25), ("true", 1.0)])
def test_a_rollback_by_intent_ends_the_transaction(rollback: str, share: float) -> None:
    of = one(
        step(statement("a")) + f"rollback = {rollback}\n" + step(statement("b")), autocommit='"skip_trx"'
    )
    player = Player(of, nothing)
    ways = Counter(tuple(interactive_names(player.play())) for _ in range(2000))
    assert ways[("begin", "a", "rollback")] / 2000 == pytest.approx(share, abs=0.04)
    assert ways[("begin", "a", "b", "commit")] == 2000 - ways[("begin", "a", "rollback")]


def test_without_a_transaction_a_rollback_only_ends_it() -> None:
    text = step(statement("a")) + "rollback = true\n" + step(statement("b"))
    assert interactive_names(Player(one(text, autocommit='"skip_trx"', skip_trx="on"), nothing).play()) == [
        "a"
    ]


def test_a_rollback_in_a_loop_ends_the_whole_transaction() -> None:
    inner = '[[transactions.steps.steps]]\nwhen = "i == 2"\nrollback = true\n'
    text = step(statement("a", "i"), repeat="5", index='"i"') + inner + step(statement("b"))
    assert interactive_names(Player(one(text, autocommit="false"), nothing).play()) == [
        "begin",
        "a",
        "a",
        "rollback",
    ]


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
    player = Player(interactive_program('draw = "deck"\n' + DECK), nothing)
    decks = [tuple(player.play()[0].name for _ in range(9)) for _ in range(50)]
    assert {tuple(sorted(deck)) for deck in decks} == {tuple("aaaaabbbc")}
    assert len(set(decks)) > 10


def test_a_transaction_tried_again_keeps_its_kind() -> None:
    player = Player(interactive_program('draw = "deck"\n' + DECK), nothing)
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


def test_interactive_a_program_survives_the_way_to_a_worker() -> None:
    of = library.load_program("tpcc")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(of), type=Program) == of
