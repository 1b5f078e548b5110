"""Profiles of Lua scripts: what is recognised in a trace, and what is refused."""

from collections.abc import Iterator
from random import Random

import pytest

from tuibench.base.errors import UsageError
from tuibench.load.script_profile import ProfileWriter, read_trace
from tuibench.workload import library
from tuibench.workload.compiler import compile_profile
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.language import Profile
from tuibench.workload.values import DISTRIBUTION_OPTIONS, Key, Zipfian

EVENTS = 40
DIGITS = "-".join(["#" * 11] * 10)


def line(*words: object) -> str:
    return "\1" + "\t".join(map(str, words))


def profile_of(lines: Iterator[str], rand_type: str = "special") -> tuple[Profile, list[str]]:
    options = {name: option.default for name, option in DISTRIBUTION_OPTIONS.items()}
    writer = ProfileWriter(read_trace(lines), {**options, "rand_type": rand_type})
    text = writer.text("traced", "of a test", ["a comment"])
    profile = library.parse_profile(text, "traced.toml")
    TransactionGenerator(compile_profile(profile, {}), 0, 0)
    return profile, list(writer.notes)


def traced(random: Random) -> Iterator[str]:
    """Events with a loop of three point selects, a range, and rows that are deleted and inserted again."""
    for _ in range(EVENTS):
        yield line("V")
        yield line("Q", "BEGIN")
        table = random.randint(1, 4)
        yield line("D", "uniform", 1, 4, table)
        for _ in range(3):
            key = random.randint(1, 500)
            yield line("D", "default", 1, 500, key)
            yield line("E", f"SELECT c FROM sbtest{table} WHERE id=?", f"num{key}")
        key, table = random.randint(1, 500), random.randint(1, 4)
        yield line("D", "default", 1, 500, key)
        yield line("E", f"SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ?", f"num{key}", f"num{key + 9}")
        key, k, table = random.randint(1, 500), random.randint(-7, 7), random.randint(1, 4)
        text = "-".join(f"{random.randrange(10**11):011}" for _ in range(10))
        yield line("D", "default", 1, 500, key)
        yield line("D", "uniform", -7, 7, k)
        yield line("D", "string", DIGITS, "nil", text)
        yield line("Q", f"DELETE FROM sbtest{table} WHERE id={key}")
        yield line("Q", f"INSERT INTO sbtest{table} (id, k, c) VALUES ({key}, {k * k}, '{text}')")
        yield line("Q", "COMMIT")


def test_loops_keys_ranges_and_tables_are_recognised() -> None:
    profile, notes = profile_of(traced(Random(7)))
    (transaction,) = profile.transactions
    points, ranges, writes = (step for step in transaction.steps if not isinstance(step, str))
    assert (profile.data_set, profile.defaults) == (
        "sbtest",
        {"rand_type": "special", "tables": 4, "table_size": 500},
    )
    assert transaction.autocommit is False
    assert (points.repeat, ranges.repeat, writes.repeat) == (3, 1, 1)
    assert [each.sql for each in (*points.statements, *ranges.statements, *writes.statements)] == [
        "SELECT c FROM {table} WHERE id=?",
        "SELECT c FROM {table} WHERE id BETWEEN ? AND ?",
        "DELETE FROM {table} WHERE id=?",
        "INSERT INTO {table} (id, k, c) VALUES (?, ?, ?)",
    ]
    assert [*points.let.values()] == [Key(low=1, high="table_size")]
    (key,) = ranges.let
    assert ranges.statements[0].bind == (key, f"{key} + 9")
    deleted, inserted = writes.statements
    assert deleted.bind == inserted.bind[:1]
    assert [each.prepared for each in (*points.statements, deleted)] == [True, False]
    assert "_seen[" in str(writes.let[inserted.bind[1]])
    assert writes.let[inserted.bind[2]].groups == 10  # type: ignore[union-attr]
    # Squares were computed from what was drawn: only this is not equal.
    assert len(notes) == 1
    assert inserted.bind[1] in notes[0]


def test_kinds_of_events_have_their_weights_and_lists_their_length() -> None:
    def lines() -> Iterator[str]:
        random = Random(3)
        for number in range(EVENTS):
            yield line("V")
            if number % 4 == 0:
                yield line("Q", "UPDATE t SET a = 1")
                continue
            keys = [random.randint(1, 90) for _ in range(5)]
            yield from (line("D", "special", 1, 90, key) for key in keys)
            yield line("Q", f"SELECT a FROM t WHERE id IN ({', '.join(map(str, keys))})")

    profile, notes = profile_of(lines())
    reads, writes = profile.transactions
    assert (reads.weight, writes.weight, profile.data_set) == (30, 10, "none")
    assert not notes
    (step,) = reads.steps
    assert not isinstance(step, str)
    (part,) = step.statements[0].parts.values()
    assert (part.repeat, *part.let.values()) == (5, Key(low=1, high=90))


def test_numbers_of_another_distribution_than_the_keys_have_a_generator_of_their_own() -> None:
    def lines() -> Iterator[str]:
        random = Random(4)
        for _ in range(EVENTS):
            key = random.randint(5, 90)
            yield from (
                line("V"),
                line("D", "zipfian", 5, 90, key),
                line("Q", f"DELETE FROM t WHERE id={key}"),
            )

    profile, notes = profile_of(lines())
    assert not notes
    (step,) = profile.transactions[0].steps
    assert not isinstance(step, str)
    assert [*step.let.values()] == [Zipfian(low=5, high=90, exponent=0.8)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([line("V"), line("X", "bulk_insert_next")], r"call bulk_insert_next\(\)"),
        ([line("V"), line("Q", "BEGIN"), line("Q", "COMMIT"), line("Q", "BEGIN")], "several transactions"),
        ([line("V"), line("Q", "ROLLBACK")], "ROLLBACK"),
        ([line("V")], "no statements"),
        (
            [each for n in range(13) for each in (line("V"), line("Q", f"SELECT a{'a' * n} FROM t"))],
            "13 shapes",
        ),
        ([line("V"), line("E", "SELECT '?', ?", "num1")], "cannot be told"),
    ],
)
def test_what_has_no_profile_is_refused(lines: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        profile_of(iter(lines))


def test_counts_are_of_all_events_and_failed_ones_are_left_out() -> None:
    lines = [line("C", "before", "Com_select", 2), line("C", "before", "Com_insert", 0), line("V")]
    lines += [line("Q", "SELECT 1 FROM t"), line("V"), line("Q", "SELECT 2 FROM t"), line("R", 1213)]
    lines += [line("C", "after", "Com_select", 7), line("C", "after", "Com_insert", 0), "printed"]
    trace = read_trace(lines)
    assert (len(trace.events), trace.failed, trace.counts) == (1, 1, {"select": 2.5})
