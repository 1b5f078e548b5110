"""Observed traffic becomes a profile that compiles, and sends statements like those observed."""

import re
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workload.player import Player, nothing
from tuibench.workload import library
from tuibench.workload.program.program import Program
from tuibench.workload.traffic.mix import TrafficMix
from tuibench.workload.traffic.profile_text import ObservedTraffic, profile_text


def compiled(transactions: Sequence[tuple[Sequence[str], bool]], most: int = 20) -> Program:
    mix = TrafficMix()
    for statements, explicit in transactions:
        mix.add(statements, explicit=explicit)
    text = profile_text(ObservedTraffic("seen", "statements seen", ["a note", ""], mix.kinds(most)))
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
