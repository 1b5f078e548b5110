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
from tuibench.metrics.inference.ab_tests.screening import next_candidates, screen
from tuibench.metrics.inference.ab_tests.sequential import Pair
from tuibench.model.experiments.effect import Verdict

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
    level = noise(rng, int(budget) + WINDOW * (PER_BLOCK + 1), size)
    pairs: dict[int, list[Pair]] = {number: [] for number in range(1, len(effects) + 1)}
    at = 0
    while at < budget:
        looks = screen(pairs, rate=RATE, tolerance=TOLERANCE)
        due = next_candidates(looks, PER_BLOCK, tolerance=TOLERANCE)
        if not due:
            break
        order = [0, *due]
        rng.shuffle(order)
        seen = {}
        for number in order:
            seconds = level[at + SETTLING : at + WINDOW]
            effect = effects[number - 1] if number else 0.0
            seen[number] = fmean(map(math.exp, seconds)) * math.exp(effect)
            at += WINDOW
        for number in due:
            pairs[number].append(Pair(seen[0], seen[number], order.index(0) < order.index(number)))
    looks = screen(pairs, rate=RATE, tolerance=TOLERANCE)
    return Screening({number: look.verdict for number, look in looks.items()}, float(at))


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
