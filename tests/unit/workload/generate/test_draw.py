"""Draws that are not keys: NURand, amounts, chances, serial and unique numbers."""

from collections import Counter
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.workload.generate.draw import DrawSource
from tuibench.workload.generate.random_values import (
    PERMUTATION_PRIME,
    allowed_nurand_constants,
    nurand_constant,
    nurand_draw,
    permute32,
)
from tuibench.workload.program.values import Chance, DecimalRange, Nurand, Serial, Unique


def expected_nurand(a: int, low: int, high: int, c: int) -> dict[int, float]:
    """The exact chances: every pair of the two uniform numbers counted."""
    counts = Counter[int]()
    for first in range(a + 1):
        for second in range(low, high + 1):
            counts[((first | second) + c) % (high - low + 1) + low] += 1
    return {number: count / counts.total() for number, count in counts.items()}


@pytest.mark.parametrize(("a", "low", "high", "c"), [(255, 0, 999, 123), (63, 1, 300, 17), (15, 1, 10, 3)])
def test_nurand_follows_its_formula(a: int, low: int, high: int, c: int) -> None:
    draws = 200_000
    draw = nurand_draw(Nurand(a, low, high), c, Random(3))
    found = Counter(draw() for _ in range(draws))
    chances = expected_nurand(a, low, high, c)
    assert set(found) <= set(chances)
    chi_squared = sum((found[number] - draws * p) ** 2 / (draws * p) for number, p in chances.items())
    freedom = len(chances) - 1
    assert abs(chi_squared - freedom) < 5 * (2 * freedom) ** 0.5


def test_the_constant_of_a_run_is_one_for_all_connections_and_far_from_the_loads() -> None:
    assert allowed_nurand_constants(1023, None) == range(1024)
    allowed = allowed_nurand_constants(255, 123)
    assert {abs(c - 123) for c in allowed} <= set(range(65, 120)) - {96, 112}
    seen = {nurand_constant(seed, Nurand(255, 0, 999, 123)) for seed in range(500)}
    assert seen <= set(allowed)
    assert len(seen) > 50
    draws = [DrawSource(7, connection).draw(Nurand(255, 0, 999, 123)) for connection in (0, 1)]
    hot = [Counter(draw() for _ in range(20_000)).most_common(30) for draw in draws]
    assert len({number for number, _ in hot[0]} & {number for number, _ in hot[1]}) > 10


@given(low=st.integers(0, 50), span=st.integers(0, 500), places=st.integers(0, 4), seed=st.integers(0, 99))
def test_amounts_are_exact_and_within_their_bounds(low: int, span: int, places: int, seed: int) -> None:
    draw = DrawSource(seed, 0).draw(DecimalRange(low, low + span, places))
    for _ in range(20):
        amount = draw()
        assert low <= amount <= low + span
        assert amount.as_tuple().exponent == -places


def test_amounts_reach_both_bounds() -> None:
    draw = DrawSource(1, 0).draw(DecimalRange(1, 2, 1))
    assert {draw() for _ in range(500)} == {Decimal(tenths) / 10 for tenths in range(10, 21)}


@pytest.mark.parametrize("percent", [0.0, 1.0, 60.0, 100.0])
def test_a_chance_comes_as_often_as_it_says(percent: float) -> None:
    draw = DrawSource(1, 0).draw(Chance(percent))
    assert sum(draw() for _ in range(20_000)) / 200 == pytest.approx(
        percent, abs=1 if 0 < percent < 100 else 0
    )


def test_serial_numbers_count_up() -> None:
    draw = DrawSource(1, 0).draw(Serial(10))
    assert [draw() for _ in range(3)] == [10, 11, 12]


@given(st.sets(st.integers(0, 2**32 - 1), max_size=500))
def test_the_permutation_repeats_nothing(numbers: set[int]) -> None:
    assert len({permute32(number) for number in numbers}) == len(numbers)


def test_the_permutation_keeps_to_32_bits_and_to_itself_above_the_prime() -> None:
    assert all(
        0 <= permute32(number) < 2**32
        for number in (0, 1, PERMUTATION_PRIME // 2, PERMUTATION_PRIME - 1, PERMUTATION_PRIME, 2**32 - 1)
    )
    assert permute32(PERMUTATION_PRIME + 2) == PERMUTATION_PRIME + 2
    assert permute32(PERMUTATION_PRIME - 1) == PERMUTATION_PRIME - 1
    assert permute32(2) == 4


@given(seed=st.integers(0, 2**31), connections=st.integers(1, 50))
def test_unique_numbers_differ_between_all_connections_also_added_ones(seed: int, connections: int) -> None:
    drawn: list[int] = []
    for connection in range(connections + 5):
        draw = DrawSource(seed, connection).draw(Unique(connections))
        drawn += [draw() for _ in range(40)]
    assert len(set(drawn)) == len(drawn)


def test_unique_numbers_wrap_into_all_bits() -> None:
    """However the counting starts, it goes on at 0 after 2³² - 1."""
    for seed in range(50):
        draw = DrawSource(seed, 0).draw(Unique(2**31))
        numbers = [draw() for _ in range(2)]
        assert all(-(2**31) <= number < 2**31 for number in numbers)
        assert numbers[0] != numbers[1]
