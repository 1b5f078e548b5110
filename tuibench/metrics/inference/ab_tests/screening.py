"""Screening of many A/B comparisons: verdicts with false discovery rate control, and what to measure next.

Each candidate has a confidence sequence of its own (`sequential`), all against one baseline. With forty of
them at 95 %, two would be wrong; so the level of an interval depends on the number of verdicts
(e-BY: Xu, Wang and Ramdas, "Post-selection inference for e-value based confidence intervals", 2022;
for tests it is e-BH: Wang and Ramdas, JRSS B 84, 2022):

with K candidates, k of them have a verdict if k intervals at level 1 − q k/K have one; the largest such k

Of all verdicts (higher, lower, equal) at most a share q is false on average, the false discovery rate. An
interval of a confidence sequence at level 1 − a misses the true value only if an e-value exceeds 1/a. So the
guarantee needs no independence between candidates that share a baseline, and holds at any time,
whichever candidates are measured next. K is the initial number of candidates.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tuibench.metrics.inference.ab_tests.sequential import (
    FEWEST_PAIRS,
    Pair,
    differences,
    half_width,
    pairs_until,
)
from tuibench.metrics.inference.scale import Scale
from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import Verdict

FIRST_PAIRS = 4
"""Pairs that every candidate gets before any gets more."""


class Look(NamedTuple):
    """The state of one candidate. `level` is the error rate of its interval.

    `needed` estimates the number of further pairs until a verdict; None while unknown, or without one in
    reach.
    """

    interval: Interval
    verdict: Verdict
    pairs: int
    level: float
    needed: int | None


class Sums(NamedTuple):
    """Running sums of a candidate's pairs: mean and deviation of the differences on their scale."""

    scale: Scale
    pairs: int
    mean: float
    deviation: float

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "Sums":
        observed = differences(pairs)
        scale = Scale.of((pair.a for pair in pairs), (pair.b for pair in pairs))
        count = len(observed)
        if count < 2:
            return cls(scale, count, math.nan, math.inf)
        mean = math.fsum(observed) / count
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in observed) / (count - 1))
        return cls(scale, count, mean, deviation)

    def interval(self, level: float) -> Interval:
        if self.pairs < 2:
            return Interval(math.nan, -math.inf, math.inf)
        return self.scale.interval(self.mean, half_width(self.pairs, self.deviation, level))

    def verdict(self, level: float, tolerance: float) -> Verdict:
        if self.pairs < FEWEST_PAIRS:
            return Verdict.CANNOT_TELL
        return self.interval(level).verdict(tolerance)

    def needed(self, level: float, tolerance: float) -> int | None:
        if self.pairs < 2 or not math.isfinite(self.interval(level).estimate):
            return None
        estimate = self.interval(level).estimate
        return pairs_until(estimate, self.deviation, alpha=level, tolerance=tolerance, done=self.pairs)


def screen(
    candidates: Mapping[int, Sequence[Pair]], *, rate: float, tolerance: float, of: int | None = None
) -> dict[int, Look]:
    """The verdict on each candidate; at most the share `rate` of them is false.

    `tolerance` is the share within which a candidate equals the baseline, `of` the initial number of
    candidates.
    """
    sums = {number: Sums.of(pairs) for number, pairs in candidates.items()}
    most = max(len(sums), of or 0, 1)
    level = rate / most
    for claims in range(len(sums), 0, -1):
        tried = rate * claims / most
        found = sum(one.verdict(tried, tolerance) is not Verdict.CANNOT_TELL for one in sums.values())
        if found >= claims:
            level = tried
            break
    return {number: _look(one, level, tolerance) for number, one in sums.items()}


def _look(sums: Sums, level: float, tolerance: float) -> Look:
    verdict = sums.verdict(level, tolerance)
    needed = 0 if verdict is not Verdict.CANNOT_TELL else sums.needed(level, tolerance)
    return Look(sums.interval(level), verdict, sums.pairs, level, needed)


def next_candidates(
    looks: Mapping[int, Look], count: int, *, tolerance: float, is_higher_better: bool = True
) -> list[int]:
    """The candidates to measure next: first all of them a few times, then those closest to a verdict.

    Candidates that cannot be better than the baseline come last; one place is for the one measured least.
    """
    undecided = [number for number, look in looks.items() if look.verdict is Verdict.CANNOT_TELL]
    fresh = [number for number in undecided if looks[number].pairs < FIRST_PAIRS]
    if fresh:
        return sorted(fresh, key=lambda number: looks[number].pairs)[:count]
    nearest = sorted(
        undecided,
        key=lambda number: (
            not may_gain(looks[number].interval, tolerance, is_higher_better=is_higher_better),
            math.inf if looks[number].needed is None else looks[number].needed,
        ),
    )
    chosen = nearest[: max(1, count - 1)]
    rest = sorted((number for number in nearest if number not in chosen), key=lambda each: looks[each].pairs)
    return [*chosen, *rest[: count - len(chosen)]]


def may_gain(interval: Interval, tolerance: float, *, is_higher_better: bool = True) -> bool:
    """False if the candidate is known not to be better by more than the tolerance."""
    return (
        interval.high > math.log1p(tolerance) if is_higher_better else interval.low < math.log1p(-tolerance)
    )
