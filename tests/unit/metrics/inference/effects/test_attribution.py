"""Before and after: no false verdicts where the level moves, and the movement by its name."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.metrics.inference import simulated
from tests.unit.metrics.inference.noises import NOISES
from tests.unit.metrics.inference.simulated import share
from tuibench.metrics.inference.effects.attribution import attribute, logarithms
from tuibench.metrics.inference.effects.moving import movement, swing
from tuibench.model.experiments.effect import MovementKind, Verdict

REPEATS = 100
BY_CHANCE = 0.05 + 2 * math.sqrt(0.05 * 0.95 / REPEATS)


@pytest.mark.parametrize("name", NOISES)
def test_a_change_without_effect_seldom_gets_a_verdict(name: str) -> None:
    rng = random.Random(1)
    found = [simulated.change(NOISES[name], rng) for _ in range(REPEATS)]
    assert share(one.verdict is not Verdict.CANNOT_TELL for one in found) <= BY_CHANCE


@pytest.mark.parametrize(("name", "power"), [("white", 0.9), ("AR 0.6", 0.85)])
def test_a_gain_of_a_fifth_is_found_on_a_steady_load(name: str, power: float) -> None:
    rng = random.Random(2)
    found = [simulated.change(NOISES[name], rng, effect=math.log(1.2)) for _ in range(REPEATS)]
    assert share(one.verdict is Verdict.HIGHER for one in found) >= power


@pytest.mark.parametrize("effect", [math.log(3), math.log(0.3)])
def test_a_large_effect_is_found_after_twelve_seconds(effect: float) -> None:
    rng = random.Random(3)
    found = [simulated.change(NOISES["white"], rng, effect=effect, before=12) for _ in range(30)]
    wanted = Verdict.HIGHER if effect > 0 else Verdict.LOWER
    assert share(one.verdict is wanted for one in found) >= 0.9


def noisy(levels: list[float], size: float = 0.01) -> list[float]:
    rng = random.Random(4)
    return [level + rng.gauss(0, size) for level in levels]


def test_a_fall_before_the_change_is_named_with_its_slope() -> None:
    falling = noisy([-0.03 * second for second in range(74)])
    found = attribute(falling[:60], falling[62:], 2)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.movement is not None
    assert found.movement.kind is MovementKind.TREND
    assert found.movement.size == pytest.approx(-0.03, abs=0.001)


def test_a_level_that_has_tripled_before_the_change_is_named_a_step() -> None:
    before = noisy([0.0] * 30 + [1.1] * 30)
    found = attribute(before, noisy([0.5] * 12), 2)
    assert found.movement is not None
    assert (found.movement.kind, found.movement.place) == (MovementKind.STEP, -30)


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        ([0.02 * second for second in range(60)], MovementKind.TREND),
        ([0.0] * 25 + [0.4] * 35, MovementKind.STEP),
        ([0.4 * (second % 15) / 15 for second in range(60)], MovementKind.SAWTOOTH),
    ],
)
def test_movements_have_their_names(levels: list[float], kind: MovementKind) -> None:
    found = movement(noisy(levels), 12, 2)
    assert found.kind is kind
    if kind is MovementKind.SAWTOOTH:
        assert found.place == pytest.approx(15, abs=1)


def test_the_swing_is_the_largest_difference_of_two_windows() -> None:
    assert swing([0.0] * 10 + [1.0] * 10, 5, 2) == 1.0
    assert swing([0.0, 1.0], 5, 2) == 0.0


def test_a_step_right_beside_the_change_is_not_its_effect() -> None:
    level = noisy([0.0] * 60 + [0.0] * 6 + [0.5] * 6)
    found = attribute(level[:60], level[60:], 2)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.movement is not None
    assert (found.movement.kind, found.movement.place) == (MovementKind.STEP, 8)


def test_two_long_steady_windows_are_equal() -> None:
    steady = noisy([0.0] * 144, 0.02)
    assert attribute(steady[:120], steady[120:], 0, tolerance=0.05).verdict is Verdict.EQUAL


def test_too_few_ticks_give_no_interval() -> None:
    found = attribute([0.0] * 5, [1.0] * 12, 2)
    assert (found.verdict, found.interval.low) == (Verdict.CANNOT_TELL, -math.inf)


def test_zero_throughput_is_replaced_by_half_the_smallest_unit() -> None:
    before, after = logarithms([0.0, 100.0, 100.0], [10.0, 10.0, 0.0])
    assert before == pytest.approx([math.log(0.5), math.log(100), math.log(100)])
    assert after == pytest.approx([math.log(10), math.log(10), math.log(0.5)])
    assert logarithms([0.0], [], [0.0]) == [[0.0], [], [0.0]]


series = st.lists(st.floats(-3, 3), min_size=6, max_size=130)


@given(series, series, st.integers(0, 30), st.floats(0, 0.2))
def test_any_series_gets_an_interval_around_its_estimate(
    before: list[float], after: list[float], gap: int, tolerance: float
) -> None:
    found = attribute(before, after, gap, tolerance=tolerance)
    assert found.interval.low <= found.interval.estimate <= found.interval.high
    if found.verdict is Verdict.HIGHER:
        assert found.interval.low > 0


@given(series, series, st.integers(0, 30), st.floats(-5, 5))
def test_a_common_level_changes_nothing(
    before: list[float], after: list[float], gap: int, shift: float
) -> None:
    plain = attribute(before, after, gap)
    moved = attribute([level + shift for level in before], [level + shift for level in after], gap)
    assert moved.interval.estimate == pytest.approx(plain.interval.estimate, abs=1e-6)


@pytest.mark.parametrize("period", [12, 18, 26])
def test_an_edge_of_a_sawtooth_beside_the_change_is_named_as_its_own(period: int) -> None:
    """Nothing is attributed; where a movement is named, it is the sawtooth, and not a step at its edge."""
    rng, found = random.Random(period), []
    for begin in range(60):
        levels = [-0.4 * ((second + begin * period / 60) % period) / period for second in range(110)]
        noisily = [level + rng.gauss(0, 0.02) for level in levels]
        found.append(attribute(noisily[:90], noisily[92 : 92 + 8], 2))
    assert all(one.verdict is Verdict.CANNOT_TELL for one in found)
    named = [one.movement for one in found if one.movement is not None]
    assert len(named) >= 30
    assert share(one.kind is MovementKind.SAWTOOTH for one in named) >= 0.9
    assert all(abs(one.place - period) <= 2 for one in named if one.kind is MovementKind.SAWTOOTH)
