"""Whole A/B tests of settings that act late: no false verdict, and intervals with the truth, or none."""

import math
import random

import pytest

from tests.unit.metrics.inference.noises import white
from tests.unit.session.effects.late_trials import late_trial, plan
from tuibench.model.experiments.effect import EffectFigure, Verdict

UP, DOWN = math.log(1.2), math.log(0.8)


@pytest.mark.parametrize("effect", [UP, DOWN])
@pytest.mark.parametrize(("delay", "window"), [(3.0, 6.0), (6.0, 12.0)])
def test_a_test_that_ends_with_its_verdict_lengthens_its_windows(
    effect: float, delay: float, window: float
) -> None:
    """With windows of 4 s, an effect that comes after 6 s has the wrong sign."""
    found = late_trial(
        plan(4, until=True, seed=5), white, random.Random(1), effect=effect, response=(delay, 0.0)
    )
    assert found.result.verdict is (Verdict.HIGHER if effect > 0 else Verdict.LOWER)
    assert found.covers
    assert found.result.window_seconds == window


def test_too_late_for_the_time_that_is_left_says_what_is_needed() -> None:
    found = late_trial(plan(4, until=True, seed=5), white, random.Random(2), effect=UP, response=(0.0, 20.0))
    assert found.covers is None
    assert found.needs is not None
    assert found.needs >= 80
    assert found.seconds < 500


@pytest.mark.parametrize(("response", "needs"), [((20.0, 0.0), 40), ((0.0, 5.0), 30)])
def test_a_test_of_a_fixed_length_says_what_windows_it_needs(
    response: tuple[float, float], needs: int
) -> None:
    found = late_trial(plan(10, until=False, seed=6), white, random.Random(2), effect=DOWN, response=response)
    assert found.result.comparisons == ()
    assert found.needs == needs
    assert f"needs windows of {needs} s (--window={needs})" in found.result.sentence


@pytest.mark.parametrize("fsyncs", [(1.0, 0.0), (0.0, 1.0), (1.0, 0.7)])
def test_what_acts_at_once_on_one_figure_stands_although_another_may_act_late(
    fsyncs: tuple[float, float],
) -> None:
    found = late_trial(
        plan(10, until=False, seed=6),
        white,
        random.Random(2),
        effect=DOWN,
        response=(20.0, 0.0),
        fsyncs=fsyncs,
    ).result
    assert found.verdict is Verdict.CANNOT_TELL
    (stands,) = found.comparisons
    assert stands.figure is EffectFigure.FSYNCS
    assert stands.verdict is (Verdict.LOWER if fsyncs[0] > fsyncs[1] else Verdict.HIGHER)
    assert stands.low - 0.05 <= fsyncs[1] - fsyncs[0] <= stands.high + 0.05
    assert f"(--window=40); fsyncs/trx {stands.verdict}: " in found.sentence


def test_a_figure_that_may_act_late_itself_has_no_verdict_either() -> None:
    """Without a difference of the fsyncs, it is not known when they would change."""
    found = late_trial(
        plan(10, until=False, seed=6),
        white,
        random.Random(2),
        effect=DOWN,
        response=(20.0, 0.0),
        fsyncs=(1.0, 1.0),
    )
    assert found.result.comparisons == ()


@pytest.mark.parametrize("interval", [0.5, 1.0, 2.5])
def test_half_a_window_is_enough_for_a_delay_that_is_left_out(interval: float) -> None:
    found = late_trial(
        plan(10, until=False, seed=7),
        white,
        random.Random(3),
        effect=UP,
        response=(5.0, 0.0),
        interval=interval,
    )
    assert found.covers
    assert found.result.acts_after_seconds == pytest.approx(5.0)


def test_what_acts_at_once_is_found_as_soon_as_before() -> None:
    found = late_trial(plan(4, until=True, seed=8), white, random.Random(4), effect=UP, response=(0.0, 0.0))
    assert found.is_found
    assert found.covers
    assert found.seconds <= 60
    assert found.result.acts_after_seconds is None
    assert found.result.window_seconds == 4


def test_equal_is_not_said_before_a_late_effect_would_show() -> None:
    same = late_trial(
        plan(4, until=True, seed=9), white, random.Random(5), effect=0.0, response=(0.0, 0.0), size=0.001
    )
    assert same.result.verdict is Verdict.EQUAL
    assert same.seconds == pytest.approx(64)
    late = late_trial(
        plan(4, until=True, seed=9), white, random.Random(5), effect=UP, response=(20.0, 0.0), size=0.001
    )
    assert late.result.verdict is Verdict.HIGHER
