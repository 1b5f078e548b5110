"""Simulated screenings of settings: how often a verdict is false, and how often an effect is found.

The bench `tests.bench.screening_validity` prints these with many repetitions; the unit tests hold them to
their limits with few.
"""

import math
import random
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from tests.unit.metrics.inference.noises import Noise
from tuibench.model.experiments.effect import EffectFigure, Verdict
from tuibench.model.experiments.tune import Candidate, TuneBlock, TunePlan, TuneWindow
from tuibench.session.tune.evaluation import Evaluation

WINDOW, SETTLING = 5, 1
"""Seconds, and those left out after each change."""

PER_BLOCK = 4
RATE, TOLERANCE = 0.1, 0.02


class Screening(NamedTuple):
    """A finished screening: the verdicts by candidate, and how long it took."""

    verdicts: dict[int, Verdict]
    seconds: float


class Judged(NamedTuple):
    """The share of verdicts that are false, and of large effects that are found with the right sign."""

    false: float
    found: float
    equal: float
    seconds: float


def screening(
    effects: Sequence[float], noise: Noise, rng: random.Random, *, size: float, budget: float
) -> Screening:
    """Candidates with these true effects (differences of logarithms), as `tune` measures them."""
    plan = TunePlan(tolerance_percent=100 * TOLERANCE, false_rate=RATE, candidates_per_block=PER_BLOCK)
    evaluation = Evaluation(plan, [_candidate(number) for number in range(1, len(effects) + 1)])
    level = noise(rng, int(budget) + WINDOW * (PER_BLOCK + 1), size)
    at = 0
    while at < budget:
        due = evaluation.next_block(rng)
        if not due:
            break
        rng.shuffle(due)
        windows = []
        for numbers in due:
            seconds = level[at + SETTLING : at + WINDOW]
            effect = math.fsum(effects[number - 1] for number in numbers)
            figures = {EffectFigure.TPS: fmean(map(math.exp, seconds)) * math.exp(effect)}
            windows.append(TuneWindow(candidates=numbers, figures=figures))
            at += WINDOW
        evaluation.add([TuneBlock(end_seconds=at, windows=tuple(windows))])
    return Screening({number: look.verdict for number, look in evaluation.looks().items()}, float(at))


def _candidate(number: int) -> Candidate:
    return Candidate(
        number=number,
        setting=f"setting_{number}",
        topic="",
        value="1",
        original="0",
        change="",
        meaning="",
        risk="",
    )


def is_false(verdict: Verdict, effect: float) -> bool:
    """True for the wrong direction, and for "equal" beyond the tolerance."""
    match verdict:
        case Verdict.HIGHER:
            return effect <= 0
        case Verdict.LOWER:
            return effect >= 0
        case Verdict.EQUAL:
            return not math.log1p(-TOLERANCE) <= effect <= math.log1p(TOLERANCE)
        case _:
            return False


def judged(
    effects: Sequence[float],
    noise: Noise,
    rng: random.Random,
    *,
    size: float,
    budget: float,
    repeats: int,
    large: float = math.log(1.09),
) -> Judged:
    """The false discovery rate over many screenings, and the power for effects of at least `large`."""
    runs = [screening(effects, noise, rng, size=size, budget=budget) for _ in range(repeats)]
    rates, found, equal = [], [], []
    for run in runs:
        told = {n: verdict for n, verdict in run.verdicts.items() if verdict is not Verdict.CANNOT_TELL}
        wrong = sum(is_false(verdict, effects[n - 1]) for n, verdict in told.items())
        rates.append(wrong / max(1, len(told)))
        for number, effect in enumerate(effects, 1):
            right = Verdict.HIGHER if effect > 0 else Verdict.LOWER
            if abs(effect) >= large:
                found.append(run.verdicts[number] is right)
            elif effect == 0:
                equal.append(run.verdicts[number] is Verdict.EQUAL)
    return Judged(
        fmean(rates),
        fmean(found) if found else math.nan,
        fmean(equal) if equal else math.nan,
        fmean(run.seconds for run in runs),
    )
