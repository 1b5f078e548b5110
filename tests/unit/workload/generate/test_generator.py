"""The stream of calls: sysbench's transactions, statement by statement, and their seeds."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import msgspec
import pytest

from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import compile_profile
from tuibench.workload.generate.generator import Generator
from tuibench.workload.generate.static import Call
from tuibench.workload.program.program import Program, StatementClass, flat_statements

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
    return list(drawn_by(Generator(of, seed, connection))[1])


def drawn_by(generator: Generator) -> tuple[int, Sequence[Call]]:
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
    generator = Generator(program(), 42, 3)
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
    generator = Generator(of, 0, 0)
    kinds = Counter(drawn_by(generator)[0] for _ in range(10_000))
    assert kinds[0] == pytest.approx(7500, abs=200)


def test_sums_take_variables_and_options() -> None:
    generator = Generator(compiled(MIX), 0, 0)
    drawn = [drawn_by(generator) for _ in range(100)]
    pairs = {call[1] for kind, (call,) in drawn if kind == 1}
    assert pairs == {(5, 14), (6, 16)}


def test_a_statement_without_variables_still_has_a_table() -> None:
    generator = Generator(compiled(MIX), 0, 0)
    drawn = [drawn_by(generator) for _ in range(100)]
    assert {call[0] for kind, (call,) in drawn if kind == 0} == {0, 1, 2, 3}


def test_a_statement_without_variables_keeps_to_its_table_when_repeated() -> None:
    generator = Generator(compiled(MIX.replace("steps = [{", "steps = [{ repeat = 3,")), 0, 0)
    drawn = [drawn_by(generator) for _ in range(100)]
    counts = [[index for index, _ in calls] for kind, calls in drawn if kind == 0]
    assert {len(indexes) for indexes in counts} == {3}
    assert {len(set(indexes)) for indexes in counts} == {1}


def compiled(text: str) -> Program:
    return compile_profile(library.parse_profile(text, "mix.toml"), {"tables": 4})
