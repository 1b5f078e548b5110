"""Late, slow and foreign movements beside a change: found at their place, and told from the change's own."""

import math
import random

import pytest

from tests.unit.metrics.inference.noises import NOISES, drift
from tests.unit.metrics.inference.planted import Outcome, Planted, outcomes
from tuibench.metrics.inference.effects.attribution import attribute
from tuibench.metrics.inference.effects.onset import Onset, onset
from tuibench.model.experiments.effect import MovementKind, Verdict

UP, DOWN = math.log(1.2), math.log(0.8)
BEFORE, LATE = 53, 3


def sides(
    *steps: tuple[int, float], approach: float = 0.0, size: float = 0.04
) -> tuple[list[float], list[float]]:
    """A level with steps at these ticks from the change, or an approach of UP."""
    rng = random.Random(11)
    level = [
        rng.gauss(0, size)
        + sum(height for at, height in steps if place >= at)
        + (UP * (1 - math.exp(-(place + 1) / approach)) if approach and place >= 0 else 0.0)
        for place in range(-BEFORE, 42)
    ]
    return level[:BEFORE], level[BEFORE:]


@pytest.mark.parametrize(
    "steps", [(), ((0, UP),), ((2, DOWN),), ((0, math.log(3)),)], ids=["none", "at once", "soon", "large"]
)
def test_a_step_with_the_change_is_its_own(steps: tuple[tuple[int, float], ...]) -> None:
    assert onset(*sides(*steps), 1, LATE) == Onset()


@pytest.mark.parametrize("place", [-17, -4, 6, 20])
@pytest.mark.parametrize("own", [0.0, UP, DOWN])
def test_a_step_at_another_time_is_found(place: int, own: float) -> None:
    found = onset(*sides((0, own), (place, DOWN)), 1, LATE)
    assert found.place == pytest.approx(place, abs=1)
    assert found.height == pytest.approx(DOWN, abs=0.06)
    assert found.slowest == 0.0


@pytest.mark.parametrize("constant", [5, 20])
def test_a_slow_approach_is_known_to_go_on(constant: float) -> None:
    found = onset(*sides(approach=constant, size=0.02), 1, LATE)
    assert found.height == 0.0
    assert constant <= found.slowest <= 3 * constant


@pytest.mark.parametrize("steps", [(), ((0, UP),)])
def test_a_level_without_noise_has_no_other_step(steps: tuple[tuple[int, float], ...]) -> None:
    level = [6.4 + sum(height for at, height in steps if place >= at) for place in range(-20, 13)]
    assert onset(level[:20], level[20:], 0, LATE) == Onset()


def test_the_interval_beside_a_foreign_step_of_the_same_size_holds_the_truth() -> None:
    before, since = sides((-6, DOWN), (0, DOWN))
    found = attribute(before, since[2:14], 3, settling=since[:2], tolerance=0.05)
    assert found.interval.low < DOWN < found.interval.high
    assert found.movement is not None
    assert (found.movement.kind, found.movement.place) == (MovementKind.STEP, -6)


def test_a_late_step_belongs_to_the_change_or_does_not() -> None:
    before, since = sides((7, DOWN))
    found = attribute(before, since[9:21], 10, settling=since[:9], tolerance=0.05)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.interval.low < DOWN < 0 < found.interval.high
    assert found.movement is not None
    assert found.movement.place == 8
    assert found.has_moved_later


def planted(seed: int, **course: float) -> list[Outcome]:
    """Three changes with this course: white and drifting noise, ticks of 0.5, 1 and 3 s."""
    rng = random.Random(seed)
    cases = ((0.5, NOISES["white"]), (1.0, drift), (3.0, NOISES["white"]))
    found = []
    for interval, noise in cases:
        after = 20 * interval + 45
        found += outcomes(
            Planted(interval=interval, before=70.0, after=after, size=0.03, **course), noise, rng
        )
    return found


@pytest.mark.parametrize(
    "course",
    [
        {"effect": DOWN},
        {"effect": DOWN, "delay": 20.0},
        {"effect": UP, "approach": 5.0},
        {"effect": DOWN, "approach": 20.0},
        {"effect": DOWN, "step": DOWN, "step_seconds": -9.5},
        {"step": DOWN, "step_seconds": -12.0},
        {"effect": UP, "step": UP, "step_seconds": 13.0},
    ],
    ids=str,
)
def test_planted_effects_get_no_false_verdict_and_intervals_that_hold_them(course: dict[str, float]) -> None:
    found = planted(3, **course)
    assert len(found) == 6
    assert sum(one.is_false for one in found) == 0
    assert sum(one.covers for one in found) >= 5
