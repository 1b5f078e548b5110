"""The difference that a change has made so far: an interval that may be looked at after every tick.

Somebody watches the ticks after a change come, one a second. An ordinary 95 % interval that is read each time
is wrong far more often than in 5 of 100 cases. So this interval is a confidence sequence: it holds at all
times at once. All ticks count, those before the change, those after it, and those of an alternation:

    y(t) = μ + β·t + δ·x(t) + u(t)        x: the share of the tick in which the new value held
                                          u: autoregressive, with the φ of the ticks before the change

For Gaussian errors and the prior δ/σ ~ N(0, 1/φ₀), the Bayes factor against any δ is a test martingale from
the change on, whatever μ, β and σ are (right Haar priors: Hendriksen, de Heide and Grünwald, Bayesian
Analysis 16, 2021; Lindon, Ham, Tingley and Bojinov, arXiv 2210.08589). By Ville's inequality it exceeds 1/α
at any time with probability at most α. The values of δ that are not rejected are

    δ̂ ± s/√z · sqrt(ν (1 − q) / (q − r)),    r = φ₀/(φ₀ + z), q = (α √r)^(2/(ν + 1))

z is the information on δ (the sum of squares of x without its projections), s the standard deviation of the
residuals, ν their degrees of freedom. The interval covers both that without a trend and that with one. A
level also moves without a change, which no model of errors covers: then the interval includes zero until the
values alternate (`_follows_the_change`).
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from tuibench.metrics.ab_analysis import MOST_PERCENT, error_levels
from tuibench.metrics.attribution import (
    MARGIN,
    MOST_BEFORE,
    dot,
    orthonormal,
    phi_of,
    swing,
    without,
)
from tuibench.metrics.effect_detection import TOLERANCE_PERCENT, USUAL_SLOTS, window_figures
from tuibench.metrics.figures import figure_named
from tuibench.metrics.inference import USUAL_PHI, LogInterval
from tuibench.metrics.wait_changes import time_parts
from tuibench.model.effect import Comparison, Verdict
from tuibench.model.tick import Tick, total_tick

ALPHA = 0.0125
"""The probability that any interval ever misses its difference; that of the figure that decides has 0.01. The
planned looks at the effect have the rest of 5 %.
"""

PRIOR = 0.2
"""φ₀ of the prior: the sequence is tightest for differences of some two standard deviations of a tick."""

FEWEST = 4
"""Fewest ticks: three for level, trend and difference, and one for the noise."""

FEWEST_OF_NOISE = 6
"""With fewer ticks before the change, the usual autocorrelation is assumed."""

FIRST_TICKS, FIRST_SHARE = 3, 0.5
"""The first ticks after a change must show this share of its difference: a later step is something else."""

NEXT_SHARE = 0.3
"""The tick next to the change on either side must be this share of the difference away from the level of the
other side: a step one tick too early or too late is something else. The noise of a single tick hides no more
of a difference of some three standard deviations.
"""

RECENT_TICKS = 15
"""In these before the change, a movement from one few ticks to the next few counts, too."""

WATCHED_TICKS = 40
"""A level that was watched for a shorter time must have moved less."""

SWITCHES = 3
"""After so many switches of an alternation, the level has followed the values, not the time."""


class Reading(NamedTuple):
    """The logarithm of a figure in a tick since the change."""

    time: float
    """In ticks after the last one before the change: 1 for the next one."""
    share: float
    """The share of the tick in which the new value held."""
    level: float


def difference_so_far(
    before: Sequence[float], since: Sequence[Reading], alpha: float = ALPHA
) -> LogInterval | None:
    """The confidence sequence of a difference of logarithms; None as long as the ticks do not bound it.
    `before` are the logarithms of the ticks before the change.
    """
    shares = [*([0.0] * len(before)), *(one.share for one in since)]
    if len(shares) < FEWEST or not min(shares) < 0.5 < max(shares):
        return None
    times = [*map(float, range(1 - len(before), 1)), *(one.time for one in since)]
    levels, phi = [*before, *(one.level for one in since)], _phi(before)
    ones, trend, course, values = (
        _whitened(one, times, phi) for one in ([1.0] * len(times), times, shares, levels)
    )
    plain = _sequence([ones], course, values, alpha)
    beside_trend = _sequence([ones, trend], course, values, alpha)
    if plain is None or beside_trend is None:
        return None
    low, high = min(plain.low, beside_trend.low), max(plain.high, beside_trend.high)
    if low <= 0 <= high or _follows_the_change(before, since, plain.estimate):
        return LogInterval(plain.estimate, low, high)
    return LogInterval(plain.estimate, min(low, 0.0), max(high, 0.0))


def _sequence(
    others: Sequence[Sequence[float]], shares: Sequence[float], levels: Sequence[float], alpha: float
) -> LogInterval | None:
    """The confidence sequence of the coefficient of `shares` beside the `others`, all of them whitened; None
    without a bound.
    """
    basis = orthonormal(others)
    course, rest = (without(one, basis) for one in (shares, levels))
    degrees = len(levels) - len(basis) - 1
    information = dot(course, course)
    if information <= 0:
        return None
    estimate = dot(course, rest) / information
    deviation = math.sqrt(max(dot(rest, rest) - estimate**2 * information, 0.0) / degrees)
    ratio = PRIOR / (PRIOR + information)
    q = (alpha * math.sqrt(ratio)) ** (2 / (degrees + 1))
    if q <= ratio:
        return None
    half = deviation * math.sqrt(degrees * (1 - q) / (q - ratio) / information)
    return LogInterval.around(estimate, half)


def _phi(before: Sequence[float]) -> float:
    if len(before) < FEWEST_OF_NOISE:
        return USUAL_PHI
    count = len(before)
    line = orthonormal([[1.0] * count, list(map(float, range(count)))])
    return phi_of(without(before, line), 0, 2)


def _whitened(values: Sequence[float], times: Sequence[float], phi: float) -> list[float]:
    """The values without what the value before each explains, all with the variance of an innovation (Prais
    and Winsten, for any distances in time).
    """
    innovation = math.sqrt(1 - phi * phi)
    found = [values[0] * innovation]
    for (time, value), (following, later) in pairwise(zip(times, values, strict=True)):
        carried = phi ** (following - time)
        found.append((later - carried * value) * innovation / math.sqrt(1 - carried * carried))
    return found


def _follows_the_change(before: Sequence[float], since: Sequence[Reading], estimate: float) -> bool:
    """True if the level moved with the change, and not as much before it. A level that followed the values
    back and forth needs no such proof.
    """
    switches = sum((one.share < 0.5) is not (other.share < 0.5) for one, other in pairwise(since))
    if switches >= SWITCHES:
        return True
    held = [one.level for one in since if one.share > 0.5]
    window = max(1, min(len(held), len(before) // 3))
    if len(before) < FEWEST_OF_NOISE:
        return False
    first = fmean(held[:FIRST_TICKS]) - fmean(before[-max(FIRST_TICKS, window) :])
    moved = max(swing(before, window, 0), swing(before[-RECENT_TICKS:], FIRST_TICKS, 0))
    doubt = max(1.0, WATCHED_TICKS / len(before))
    shown = math.copysign(first, first * estimate)
    old, new = fmean(before[-WATCHED_TICKS:-1]), fmean(held[1:] or held)
    is_timely = (held[0] - old) / estimate >= NEXT_SHARE and (new - before[-1]) / estimate >= NEXT_SHARE
    return is_timely and abs(estimate) >= MARGIN * doubt * moved and shown >= FIRST_SHARE * abs(estimate)


MOSTLY = 0.75
"""A tick belongs to a value that held for a larger share of it."""


class RunningDifference:
    """The differences of a change so far, from the ticks before it and those since."""

    def __init__(self, before: Sequence[Tick], decides: str = "") -> None:
        """`decides` is a figure that is compared in addition to the usual ones."""
        self._before = list(before[-MOST_BEFORE:])
        self._decides = decides
        self._since: list[tuple[Tick, float]] = []

    def add(self, tick: Tick, share: float | None) -> None:
        """Add a tick, and the share of it in which the new value held; None if that is not known."""
        if share is not None:
            self._since = [*self._since[1 - MOST_BEFORE :], (tick, share)]

    def comparisons(self, primary: str) -> tuple[Comparison, ...]:
        """The figures so far, that of the given name first; empty without ticks of both values."""
        old, new = self._sides
        if not old or not new:
            return ()
        levels = [window_figures(total_tick(side), self._decides) for side in (old, new)]
        figures = [key for key in levels[0] if key in levels[1]]
        ordered = sorted(figures, key=lambda key: key != primary)
        rates = error_levels(ordered, ordered[0], ALPHA) if ordered else {}
        return tuple(self._comparison(key, levels[0][key], levels[1][key], rates[key]) for key in ordered)

    @property
    def time(self) -> tuple[dict[str, float], dict[str, float]]:
        """Where the time of a transaction went before and after the change, as `time_parts`."""
        old, new = self._sides
        return time_parts(old), time_parts(new)

    @property
    def _sides(self) -> tuple[list[Tick], list[Tick]]:
        """The ticks of the old value, the newest of those before the change, and of the new value; those of
        both values are on neither side.
        """
        old = [tick for tick, share in self._since if share < 1 - MOSTLY]
        return [*self._before[-USUAL_SLOTS:], *old], [tick for tick, share in self._since if share > MOSTLY]

    def _comparison(self, key: str, before: float, after: float, alpha: float) -> Comparison:
        found = self._interval(key, alpha)
        percents = [100 * (after / before - 1) if before else 0.0, -100.0, MOST_PERCENT]
        verdict = Verdict.CANNOT_TELL
        if found is not None:
            percents = [min(percent, MOST_PERCENT) for percent in found.percent]
            verdict = found.verdict(0.0)
        deltas = [before * percent / 100 for percent in percents]
        return Comparison(
            figure=key,
            before=before,
            after=after,
            delta=deltas[0],
            low=deltas[1],
            high=deltas[2],
            percent=percents[0],
            percent_low=percents[1],
            percent_high=percents[2],
            verdict=verdict,
            tolerance_percent=TOLERANCE_PERCENT,
        )

    def _interval(self, key: str, alpha: float) -> LogInterval | None:
        """None for a figure without logarithms, too, such as fsyncs of which there are none."""
        before = [level for _, level in self._levels(key, [(tick, 0.0) for tick in self._before])]
        last = self._before[-1] if self._before else self._since[0][0]
        since = [
            Reading((tick.end - last.end) / last.seconds, share, level)
            for (tick, share), level in self._levels(key, self._since)
        ]
        return difference_so_far(before, since, alpha)

    @staticmethod
    def _levels(key: str, ticks: Sequence[tuple[Tick, float]]) -> Iterator[tuple[tuple[Tick, float], float]]:
        figure = figure_named(key)
        for one in ticks:
            value = figure.value(one[0])
            if value is not None and value > 0:
                yield one, math.log(value)
