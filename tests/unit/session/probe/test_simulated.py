"""Simulated servers with known curves, probed in their noise: how often the answer is right.

A step is the distance from the level that is answered to the next one that was measured.
"""

import math
import random

import pytest

from tests.unit.session.probe.simulated_probe import Curve, Noise, probe
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder
from tuibench.session.probe.level_search import ProbeProgress, objective_edge
from tuibench.session.probe.result import knee_step

RIGHT = 0.95
runs = pytest.mark.parametrize("runs", [20, pytest.param(200, marks=pytest.mark.whole)])
NOISE = Noise(deviation=0.02, phi=0.35, settling_seconds=1.0)


def a_curve(rng: random.Random) -> Curve:
    """A server with a knee somewhere between one thread and a few hundred."""
    sigma, kappa = 10 ** rng.uniform(-2.5, -0.9), 10 ** rng.uniform(-5, -2.7)
    return Curve(lam=rng.uniform(50, 800), sigma=sigma, kappa=kappa)


def neighbours(progress: ProbeProgress, level: float) -> tuple[float, float]:
    """The measured levels next to one, or as far off as steps are at least."""
    levels = [step.level for step in progress.measured]
    below = max((other for other in levels if other < level), default=level / 1.2)
    above = min((other for other in levels if other > level), default=level * 1.2)
    return below, above


@runs
def test_the_knee_is_within_one_step_of_the_true_one(runs: int) -> None:
    rng = random.Random(11)
    right = close = 0
    for seed in range(runs):
        law = a_curve(rng)
        plan = probe(ProbeOrder(), law, seed, NOISE)
        step = knee_step(plan.progress())
        assert step is not None
        below, above = neighbours(plan.progress(), step.level)
        right += below <= max(1.0, law.knee) <= above
        close += abs(math.log2(step.level / max(1.0, law.knee))) <= math.log2(1.25)
        assert plan.progress().elapsed_seconds <= plan.order.seconds + plan.order.step_seconds
    assert right >= RIGHT * runs
    assert close >= RIGHT * runs


@runs
def test_the_objective_is_never_answered_more_than_a_step_above_its_limit(runs: int) -> None:
    rng = random.Random(12)
    right = near = 0
    for seed in range(runs):
        law = a_curve(rng)
        limit_ms = law.p95_ms(2 ** rng.uniform(1, 7))
        plan = probe(ProbeOrder(slo=(f"p95<{limit_ms:.4f}ms",)), law, seed, NOISE)
        most, _ = objective_edge(plan.progress())
        level = most.level if most else 0.0
        true = law.most_within(limit_ms)
        right += neighbours(plan.progress(), level)[0] <= true
        near += level >= true / 2
        assert plan.end in (ProbeEnd.SLO, ProbeEnd.KNEE, ProbeEnd.COLLAPSE)
    assert right >= RIGHT * runs
    assert near >= 0.8 * runs, "an answer that is far too low is of no use either"
