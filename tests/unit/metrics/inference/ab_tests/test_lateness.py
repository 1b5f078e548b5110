"""When a value acts, from the course of a load: its delay, its time constant, or that it acts at once."""

import math
import random
from collections.abc import Callable

import pytest

from tests.unit.metrics.inference.noises import Noise, autoregressive, drift, sawtooth, white
from tuibench.metrics.inference.ab_tests.lateness import (
    Lateness,
    Response,
    Rival,
    find_lateness,
    responses,
    window_for,
)
from tuibench.metrics.inference.ab_tests.sequential import random_orders
from tuibench.model.experiments.effect import Comparison, EffectFigure, Verdict

BIN, WINDOW = 0.5, 8
"""Windows of 4 s."""

Act = Callable[[list[float]], list[float]]


def late(
    act: Act, effect: float, *, pairs: int = 12, noise: Noise = white, limit: float = 2.0, seed: int = 1
) -> Lateness:
    rng = random.Random(seed)
    orders = random_orders(pairs, rng.getrandbits(32))
    values = [
        float(value) for a_first in orders for value in ((0, 1) if a_first else (1, 0)) for _ in range(WINDOW)
    ]
    level = noise(rng, len(values), 0.03)
    course: list[float | None] = [own + effect * by for own, by in zip(level, act(values), strict=True)]
    course[5] = course[17] = None
    found = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=limit, before=(0.0, 1.0))
    assert found is not None
    return found


def after(bins: int) -> Act:
    return lambda values: [values[0]] * bins + values[: len(values) - bins]


def approaching(bins: float) -> Act:
    def act(values: list[float]) -> list[float]:
        level, found = values[0], []
        for value in values:
            for _ in range(20):
                level += (value - level) * -math.expm1(-1 / bins / 20)
            found.append(level)
        return found

    return act


@pytest.mark.parametrize("noise", [white, autoregressive(0.9), drift, sawtooth])
@pytest.mark.parametrize("effect", [0.18, -0.22])
def test_a_delay_beyond_the_limit_is_found(effect: float, noise: Noise) -> None:
    found = late(after(12), effect, noise=noise)
    assert found.seconds == pytest.approx(6.0, abs=1.0)
    assert found.is_certain()


def test_a_slow_approach_is_found() -> None:
    found = late(approaching(10.0), 0.18, pairs=20)
    assert found.is_certain()
    assert 7 <= found.seconds <= 30


@pytest.mark.parametrize("effect", [0.0, 0.02, 0.18, -0.22])
@pytest.mark.parametrize("noise", [white, autoregressive(0.9), drift, sawtooth])
@pytest.mark.parametrize(("seeds", "most"), [(10, 2), pytest.param(20, 2, marks=pytest.mark.whole)])
def test_what_acts_at_once_is_not_late(effect: float, noise: Noise, seeds: int, most: int) -> None:
    assert sum(late(list, effect, noise=noise, seed=seed).is_likely for seed in range(seeds)) <= most


def test_a_delay_within_the_limit_is_left_out() -> None:
    found = late(after(3), 0.18)
    assert found.is_in_time
    assert found.unsettled == pytest.approx(2.0)
    assert late(list, 0.18).unsettled == 0


@pytest.mark.parametrize("noise", [white, autoregressive(0.9)])
def test_until_the_first_value_acts_the_one_before_the_test_does(noise: Noise) -> None:
    """B A | A B | B A | …, two windows late: nearly as with the opposite effect at once."""
    values = [float(value) for value in (1, 0, 0, 1, 1, 0, 0, 1, 1, 0) for _ in range(WINDOW)]
    acting = [0.0] * (2 * WINDOW) + values[: -2 * WINDOW]
    level = noise(random.Random(4), len(values), 0.03)
    course = [own + 0.18 * by for own, by in zip(level, acting, strict=True)]
    found = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=2.0, before=(0.0, 1.0))
    assert found is not None
    assert found.seconds == 2 * WINDOW * BIN
    assert found.is_certain()


def compared(low: float, high: float, verdict: Verdict = Verdict.CANNOT_TELL) -> Comparison:
    return Comparison(
        figure=EffectFigure.TPS,
        before=1.0,
        after=1.0,
        delta=0.0,
        low=0.0,
        high=0.0,
        percent=(low + high) / 2,
        percent_low=low,
        percent_high=high,
        verdict=verdict,
        tolerance_percent=2.0,
    )


def test_an_interval_has_to_contain_what_a_late_response_gives() -> None:
    rivals = (
        Rival(7.0, -0.1, has_effect=False),
        Rival(9.0, 0.05, has_effect=True),
        Rival(30.0, 0.18, has_effect=True),
    )
    found = Lateness(seconds=0.0, evidence=0.0, effect=8.0, unsettled=0.0, rivals=rivals)
    assert found.contradiction(compared(-1.0, 6.0)) == 30.0
    assert found.contradiction(compared(-1.0, 4.0)) == 9.0
    assert found.contradiction(compared(-1.0, 25.0)) is None
    assert found.contradiction(compared(1.0, 25.0, Verdict.HIGHER)) == 7.0
    assert found.contradiction(None) is None
    beyond = found._replace(rivals=(Rival(9.0, 800.0, has_effect=True),))
    assert beyond.contradiction(compared(-1.0, 25.0)) == 9.0


def test_a_short_course_of_a_slow_approach_has_rivals_with_larger_effects() -> None:
    found = [
        late(approaching(16.0), 0.18, pairs=4, noise=autoregressive(0.9), seed=seed) for seed in range(20)
    ]
    assert sum(one.is_likely or any(rival.effect > 0.1 for rival in one.rivals) for one in found) >= 16


def test_a_dip_at_every_change_is_no_late_effect() -> None:
    def dips(values: list[float]) -> list[float]:
        changed = [place for place in range(1, len(values)) if values[place] != values[place - 1]]
        return [
            -1.0 if any(place - 3 < at <= place for at in changed) else 0.0 for place in range(len(values))
        ]

    assert not late(dips, 0.3, pairs=20).is_certain()


def test_without_both_values_nothing_is_known() -> None:
    assert find_lateness([1.0] * 40, [0.0] * 40, bin_seconds=BIN, window=WINDOW, limit=2.0) is None
    assert find_lateness([1.0] * 8, [0.0, 1.0] * 4, bin_seconds=BIN, window=WINDOW, limit=2.0) is None


def test_others_that_act_at_once_are_taken_out() -> None:
    """Another setting that is always set six bins after this one would look like its late effect."""
    rng = random.Random(3)
    values = [float(rng.random() < 0.3) for _ in range(60) for _ in range(WINDOW)]
    other = [0.0] * 6 + values[:-6]
    course = [0.2 * by + rng.gauss(0, 0.02) for by in other]
    alone = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=2.0)
    beside = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=2.0, others=[other])
    assert alone is not None
    assert beside is not None
    assert alone.is_certain()
    assert not beside.is_likely


def test_a_response_passes_values_on() -> None:
    assert Response(2).of([1.0, 0.0, 0.0, 1.0], 0.0) == [0.0, 0.0, 1.0, 0.0]
    assert Response(9).of([1.0, 0.0, 0.0], 1.0) == [1.0, 1.0, 1.0]
    approach = Response(0, 4.0).of([0.0, *[1.0] * 40], 0.0)
    assert approach[0] == 0
    assert approach[1] == pytest.approx(1 - 4 * -math.expm1(-1 / 4))
    assert approach[40] == pytest.approx(1, abs=1e-4)
    assert Response(0) in responses(4)


@pytest.mark.parametrize(
    ("seconds", "window"), [(2.0, 4.0), (6.0, 12.0), (7.4, 15.0), (60.0, 120.0), (301.0, 660.0)]
)
def test_half_a_window_is_left_to_measure(seconds: float, window: float) -> None:
    assert window_for(seconds) == window
