"""Simulated screenings of settings: how often a verdict is false, and how often an effect is found.

The bench `tests.bench.screening_validity` prints these with many repetitions; the unit tests hold them to
their limits with few.
"""

import math
import random
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from tests.unit.metrics.noises import Noise
from tuibench.features.tune.evaluation import Evaluation
from tuibench.model.effect import Verdict
from tuibench.model.tune import Candidate, TuneBlock, TunePlan, TuneWindow

WINDOW, SETTLING = 5, 1
"""Seconds, and those left out after each change."""

PER_BLOCK = 4
RATE, TOLERANCE = 0.1, 0.02


class Screening(NamedTuple):
    """A finished screening: the verdicts by candidate, how long it took, and what acts late by how much."""

    verdicts: dict[int, Verdict]
    seconds: float
    late: dict[int, int]


class Judged(NamedTuple):
    """The share of verdicts that are false, and of large effects that are found with the right sign; how
    many candidates per screening are found to act late, rightly and wrongly.
    """

    false: float
    found: float
    equal: float
    seconds: float
    late: float
    wrongly_late: float


def screening(
    effects: Sequence[float],
    noise: Noise,
    rng: random.Random,
    *,
    size: float,
    budget: float,
    delays: Mapping[int, int] | None = None,
) -> Screening:
    """Candidates with these true effects (differences of logarithms), as `tune` measures them. `delays` are
    the seconds after which some of them act.
    """
    delays = delays or {}
    is_set: list[tuple[int, ...]] = []
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
            is_set += [numbers] * WINDOW
            course = [
                math.exp(level[second] + _effect(effects, delays, is_set, second))
                for second in range(at, at + WINDOW)
            ]
            figures = {"tps": fmean(course[SETTLING:])}
            windows.append(
                TuneWindow(candidates=numbers, figures=figures, course=tuple(course), seconds=WINDOW)
            )
            at += WINDOW
        evaluation.add([TuneBlock(end_seconds=at, windows=tuple(windows))])
    verdicts = {number: look.verdict for number, look in evaluation.looks().items()}
    return Screening(verdicts, float(at), {number: round(late) for number, late in evaluation.late.items()})


def _effect(
    effects: Sequence[float], delays: Mapping[int, int], is_set: Sequence[tuple[int, ...]], second: int
) -> float:
    """The sum of the effects of what was set when it had to be for this second."""
    return math.fsum(
        effect
        for number, effect in enumerate(effects, 1)
        if (since := second - delays.get(number, 0)) >= 0 and number in is_set[since]
    )


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
    delays: Mapping[int, int] | None = None,
) -> Judged:
    """The false discovery rate over many screenings, and the power for effects of at least `large`."""
    runs = [screening(effects, noise, rng, size=size, budget=budget, delays=delays) for _ in range(repeats)]
    rates, found, equal = [], [], []
    for run in runs:
        told = {n: verdict for n, verdict in run.verdicts.items() if verdict is not Verdict.CANNOT_TELL}
        wrong = sum(is_false(verdict, effects[n - 1]) for n, verdict in told.items())
        rates.append(wrong / max(1, len(told)))
        for number, effect in enumerate(effects, 1):
            right = Verdict.HIGHER if effect > 0 else Verdict.LOWER
            if abs(effect) >= large and number not in (delays or {}):
                found.append(run.verdicts[number] is right)
            elif effect == 0:
                equal.append(run.verdicts[number] is Verdict.EQUAL)
    return Judged(
        fmean(rates),
        fmean(found) if found else math.nan,
        fmean(equal) if equal else math.nan,
        fmean(run.seconds for run in runs),
        fmean(len(run.late.keys() & (delays or {}).keys()) for run in runs),
        fmean(len(run.late.keys() - (delays or {}).keys()) for run in runs),
    )
