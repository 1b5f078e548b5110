"""Screening: which candidates have a verdict, at which level, and which are measured next."""

import math
import random
from statistics import fmean, stdev

import pytest

from tests.unit.metrics.inference.ab_tests import screenings
from tests.unit.metrics.inference.noises import NOISES
from tuibench.metrics.inference.ab_tests.screening import (
    FIRST_PAIRS,
    Look,
    next_candidates,
    screen,
)
from tuibench.metrics.inference.ab_tests.sequential import Pair, differences, half_width
from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import Verdict

RATE, TOLERANCE = 0.1, 0.02


def pairs(effect: float, count: int, *, noise: float = 0.01, seed: int = 1) -> list[Pair]:
    rng = random.Random(seed)
    return [
        Pair(
            100 * math.exp(rng.gauss(0, noise)), 100 * math.exp(effect + rng.gauss(0, noise)), place % 2 == 0
        )
        for place in range(count)
    ]


def test_one_candidate_is_read_at_the_whole_rate() -> None:
    seen = pairs(0.1, 6)
    look = screen({1: seen}, rate=RATE, tolerance=TOLERANCE)[1]
    observed = differences(seen)
    half = half_width(len(seen), stdev(observed), RATE)
    assert look.level == RATE
    assert look.verdict is Verdict.HIGHER
    assert [*look.interval] == pytest.approx([*Interval.around(fmean(observed), half)])


def test_the_level_follows_from_how_many_have_a_verdict() -> None:
    many = {number: pairs(0.2, 8, seed=number) for number in range(1, 4)} | {
        number: pairs(0.0, 2, seed=number) for number in range(4, 11)
    }
    looks = screen(many, rate=RATE, tolerance=TOLERANCE)
    claimed = [number for number, look in looks.items() if look.verdict is not Verdict.CANNOT_TELL]
    assert claimed == [1, 2, 3]
    assert [look.level for look in looks.values()] == pytest.approx([RATE * 3 / 10] * 10)
    alone = screen({1: many[1]}, rate=RATE, tolerance=TOLERANCE, of=10)[1]
    assert alone.level == pytest.approx(RATE / 10)
    assert alone.interval.high - alone.interval.low > looks[1].interval.high - looks[1].interval.low


def test_candidates_without_pairs_have_no_verdict() -> None:
    looks = screen({1: [], 2: pairs(0.5, 1)}, rate=RATE, tolerance=TOLERANCE)
    assert {look.verdict for look in looks.values()} == {Verdict.CANNOT_TELL}
    assert [look.needed for look in looks.values()] == [None, None]


def look(
    pairs_seen: int, needed: int | None, high: float = 0.5, verdict: Verdict = Verdict.CANNOT_TELL
) -> Look:
    return Look(Interval(0.0, -0.5, high), verdict, pairs_seen, 0.05, needed)


def test_all_are_measured_a_few_times_first() -> None:
    looks = {1: look(FIRST_PAIRS, 1), 2: look(2, None), 3: look(1, None), 4: look(FIRST_PAIRS + 1, 9)}
    assert next_candidates(looks, 3, tolerance=TOLERANCE) == [3, 2]


def test_then_those_that_are_nearest_to_a_verdict_and_one_that_was_measured_least() -> None:
    looks = {
        1: look(9, 30),
        2: look(9, 3),
        3: look(9, 0, verdict=Verdict.HIGHER),
        4: look(12, 5),
        5: look(5, None),
        6: look(9, 1, high=0.01),
    }
    assert next_candidates(looks, 3, tolerance=TOLERANCE) == [2, 4, 5]
    only_losers = {6: looks[6], 3: looks[3]}
    assert next_candidates(only_losers, 3, tolerance=TOLERANCE) == [6]
    assert next_candidates({3: looks[3]}, 3, tolerance=TOLERANCE) == []


@pytest.mark.parametrize("repeats", [2, pytest.param(12, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", ["white", "random walk"])
def test_few_verdicts_are_false_and_large_effects_are_found(name: str, repeats: int) -> None:
    effects = [math.log(1.1), -math.log(1.1), *[0.0] * 8]
    seen = screenings.judged(effects, NOISES[name], random.Random(7), size=0.015, budget=900, repeats=repeats)
    assert seen.false <= 0.1
    if name == "white":
        assert seen.found >= 0.9
        assert seen.equal >= 0.5


@pytest.mark.parametrize("delay", [6, 20])
def test_a_candidate_that_acts_late_has_no_verdict_and_does_not_mislead_others(delay: int) -> None:
    effects = [math.log(1.2), math.log(0.85), 0.0, 0.0, 0.0]
    found = screenings.screening(
        effects, NOISES["white"], random.Random(4), size=0.02, budget=600, delays={1: delay}
    )
    assert found.verdicts[1] is Verdict.CANNOT_TELL
    assert delay - 1 <= found.late[1] <= delay + 2
    assert [*found.late] == [1]
    assert found.verdicts[2] is Verdict.LOWER
    assert not any(
        screenings.is_false(found.verdicts[number], effects[number - 1]) for number in found.verdicts
    )


def test_without_delays_no_candidate_acts_late() -> None:
    found = screenings.screening(
        [math.log(1.2), math.log(0.85), 0.0, 0.0, 0.0],
        NOISES["white"],
        random.Random(4),
        size=0.02,
        budget=600,
    )
    assert not found.late
    assert found.verdicts[1] is Verdict.HIGHER
