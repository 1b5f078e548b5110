"""The search for the step in an ordered list of builds, on simulated starts."""

import math
import random

import pytest

from tuibench.features.sweep.bisection import SearchState, bisect
from tuibench.model.effect import Verdict

NAMES = tuple(f"b{number}" for number in range(16))
STARTS = 5


def searched(
    rng: random.Random, first_bad: int, step: float, noise: float, *, only_worse: bool = True
) -> tuple[SearchState, dict[str, list[float]]]:
    """The whole search: starts differ by `noise`, builds from `first_bad` on by `step` from those before."""
    levels: dict[str, list[float]] = {}
    while True:
        state = bisect(NAMES, levels, STARTS, only_worse=only_worse)
        if not state.wanted:
            return state, levels
        for name, start in state.wanted:
            own = levels.setdefault(name, [])
            assert start == len(own) + 1
            level = 1000 * (step if NAMES.index(name) >= first_bad else 1.0)
            own.append(level * math.exp(rng.gauss(0, noise)))


@pytest.mark.parametrize("first_bad", range(1, 16))
def test_a_step_is_found_in_six_measurements_wherever_it_is(first_bad: int) -> None:
    found, levels = searched(random.Random(first_bad), first_bad, 0.85, 0.02)
    assert found.is_found
    assert (found.good, found.bad) == (first_bad - 1, first_bad)
    assert len(levels) <= 6
    assert found.interval is not None
    assert found.interval.low < math.log(0.85) < found.interval.high
    assert not found.uncertain


def test_a_clear_step_takes_few_starts() -> None:
    found, levels = searched(random.Random(1), 9, 0.5, 0.02)
    assert found.is_found
    assert sorted(map(len, levels.values())) == [1, 1, 1, 1, 5, 5]


@pytest.mark.parametrize(
    ("trials", "most"), [(60, 3), pytest.param(2000, 100, marks=pytest.mark.whole)], ids=["60", "2000"]
)
def test_the_wrong_step_is_named_in_five_percent_of_the_cases_at_most(trials: int, most: int) -> None:
    """A step of 12 %, either way, of starts that differ by 4 %: three of their standard deviations."""
    rng = random.Random(38)
    wrong = 0
    for _ in range(trials):
        first_bad, step = rng.randint(1, 15), rng.choice([0.88, 1 / 0.88])
        found, levels = searched(rng, first_bad, step, 0.04, only_worse=False)
        assert len(levels) <= 6
        wrong += found.is_found and found.bad != first_bad
    assert wrong <= most


@pytest.mark.parametrize(("step", "verdict"), [(1.0, Verdict.CANNOT_TELL), (1.2, Verdict.HIGHER)])
def test_without_a_step_down_there_is_no_first_bad(step: float, verdict: Verdict) -> None:
    found, levels = searched(random.Random(3), 8, step, 0.02)
    assert not found.is_found
    assert found.verdict is verdict
    assert list(levels) == ["b0", "b15"]


def test_what_stays_between_both_ends_is_uncertain() -> None:
    levels = {
        "b0": [100.0, 101.0, 99.0, 100.5, 99.5],
        "b1": [90.0, 89.5, 90.5, 89.0, 91.0],
        "b2": [80.0, 81.0, 79.0, 80.5, 79.5],
    }
    found = bisect(("b0", "b1", "b2"), levels, STARTS)
    assert found.uncertain == ("b1",)
    assert found.is_found
