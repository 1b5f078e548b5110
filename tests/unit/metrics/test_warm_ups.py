"""Changes while a load still warms up, and after a step that is not theirs: nothing false is sure."""

import math

import pytest

from tests.unit.metrics import warm_ups
from tests.unit.metrics.simulated import share
from tests.unit.metrics.warm_ups import Case, WarmUp, cases, curves, foreign_steps, steady_cases
from tuibench.metrics.inference import STILL_WARMING
from tuibench.model.effect import MovementKind, Verdict
from tuibench.report.effects import effect_text

HELD_OUT = 54
"""The seed of what nothing was tuned by."""


def assert_nothing_false_is_sure(found: list[Case], most: float) -> None:
    assert not [case for case in found if case.is_wrong]
    # By the noise of some windows, which has nothing to do with the curve.
    assert sum(case.is_misleading for case in found) <= len(found) / 100
    assert sum(case.blames_reads for case in found) <= len(found) / 100
    by_chance = most + 2 * math.sqrt(most * (1 - most) / len(found))
    assert share(case.is_sure for case in found) <= by_chance


@pytest.mark.parametrize("slots", [0, warm_ups.PRIVATE_SLOTS])
@pytest.mark.parametrize("sample", [10, pytest.param(240, marks=pytest.mark.whole)])
def test_an_unrelated_change_during_a_warm_up_gets_no_verdict(slots: int, sample: int) -> None:
    assert_nothing_false_is_sure(list(cases(HELD_OUT, curves(HELD_OUT), slots=slots, sample=sample)), 0.05)


@pytest.mark.parametrize("slots", [0, warm_ups.PRIVATE_SLOTS])
@pytest.mark.parametrize("sample", [8, pytest.param(240, marks=pytest.mark.whole)])
def test_an_effect_during_a_warm_up_is_found_or_withheld(slots: int, sample: int) -> None:
    found = list(cases(HELD_OUT, curves(HELD_OUT), slots=slots, effects=warm_ups.EFFECTS[1:], sample=sample))
    assert not [case for case in found if case.is_wrong or case.is_equal_falsely]
    assert sum(case.is_misleading for case in found) <= len(found) / 100


@pytest.mark.parametrize("slots", [0, warm_ups.PRIVATE_SLOTS])
@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.whole)])
def test_a_foreign_step_before_a_change_is_not_its_effect(slots: int, count: int) -> None:
    found = list(foreign_steps(HELD_OUT, count, slots=slots))
    assert share(case.is_sure for case in found) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / count)


@pytest.mark.parametrize("seconds", [16.0, 20.0])
def test_a_change_of_a_steady_demo_is_decided_at_once(seconds: float) -> None:
    """The first windows of six samples decide, soon after the start of a demo."""
    found = list(
        steady_cases(
            HELD_OUT,
            12,
            effect=math.log(1.42),
            before=(seconds,),
            slots=warm_ups.PRIVATE_SLOTS,
            intervals=(1.0,),
            sizes=(0.02, 0.04),
            noise_of={"white": warm_ups.NOISES["white"]},
        )
    )
    assert sum(case.is_found for case in found) >= 11


EXPONENTIAL = WarmUp("exponential", math.log(5), constant=12.0)


@pytest.mark.parametrize("at", [12.0, 15.0])
def test_a_curve_that_saturates_is_said_to_warm_up(at: float) -> None:
    """Carried on as a straight line, it would have doubled once more; also when it is measured again."""
    (found,) = cases(
        1,
        [EXPONENTIAL],
        changed_at=(at,),
        intervals=(1.0,),
        sizes=(0.02,),
        noise_of={"white": warm_ups.NOISES["white"]},
    )
    assert found.effects
    for effect in found.effects:
        one = effect.comparison("tps")
        assert one is not None
        assert one.verdict is Verdict.CANNOT_TELL
        assert one.movement is not None
        assert one.movement.kind is MovementKind.WARM_UP
        assert effect_text(effect).startswith(f"TPS {STILL_WARMING}")
        assert "because" not in effect_text(effect)
