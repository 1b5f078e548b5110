"""When the difference between two values begins: at once, or late.

A setting that acts late moves its effect into the windows that follow. With a delay of one and a half
windows the mean difference of the pairs has the wrong sign, and with one of many windows it is zero. Because
the order of the windows is random, the data tells: the load follows the values with a lag, in every window
and at every switch, in both directions.

The course of a figure (logarithms, in bins of equal length) is fitted with the values as they were set, and
as many responses would pass them on, each with a delay D or with a time constant T:

y(t) = μ + β·t + δ·(x ∗ h)(t) + noise        h(u) = 1 for u > D, or 1 − exp(−u/T)

x is 0 under A and 1 under B. The noise is autoregressive, with the φ that suits each response best, so that
a response does not win by explaining a wandering level. Twice the logarithm of the ratio of the likelihoods
compares the likeliest response with the likeliest one that is over within the part of a window that may be
discarded. An interval has to contain the effects of all late responses that are nearly as likely as that one.
Until the first value acts, the one from before the test does, which may have been either. This is the
distributed-lag view of carry-over in a switchback (Bojinov, Simchi-Levi and Zhao, "Design and analysis of
switchback experiments", Management Science 69, 2023).
"""

import math
from collections.abc import Sequence
from functools import cache
from operator import mul
from typing import NamedTuple

from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import Comparison, Verdict

BINS_PER_WINDOW = 10
MOST_BINS = 600
"""The latest ones of a long test are used."""

FEWEST_BINS = 12
LONGEST_DELAY, LONGEST_CONSTANT = 8, 8
"""In windows."""

PHIS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97)
SMALLEST_NOISE = 1e-3
"""Of a bin, so that a simulation without noise proves nothing too well."""

REMAINDERS = 3.0
"""Time constants until a response is over: a twentieth remains then, and on average less afterwards."""


LATE_WITHIN = 9.0
"""Evidence from which the beginning of every window is discarded: the response, and one bin more."""

LIKELIER, EFFECT = 2.0, 10.0
"""Evidence that withholds a verdict: a late response is likelier, and there is an effect at all."""

NEARLY = 4.0
"""A late response is a rival with at most so much less evidence than one within the limit."""

APPROACH = 6.0
"""Evidence for the effect of a rival that withholds an interval; a delay takes as much as `EFFECT`."""

CERTAIN = 12.0
"""Evidence for a late response on which longer windows are begun, and against one, for a figure whose verdict
stands although another figure may act late.
"""

ROUNDING = 1e-9

WINDOWS = (4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600)
"""Lengths that are recommended, in seconds."""


class Response(NamedTuple):
    """How a value acts: after a delay, or with a time constant; both in bins."""

    delay: int
    constant: float = 0.0

    @property
    def over(self) -> float:
        """When the response is over, in bins after the change."""
        return self.delay + REMAINDERS * self.constant

    def of(self, values: Sequence[float], before: float) -> list[float]:
        """The values as this response passes them on, after a value that was there for long."""
        if self.delay:
            return [before] * min(self.delay, len(values)) + list(values[: max(0, len(values) - self.delay)])
        if not self.constant:
            return list(values)
        share, level, found = -math.expm1(-1 / self.constant), before, []
        # The mean of a bin with this value throughout: it approaches the value exponentially.
        mean = 1 - self.constant * share
        for value in values:
            found.append(level + mean * (value - level))
            level += share * (value - level)
        return found


class Rival(NamedTuple):
    """A late response that explains the course nearly as well as one within the limit: when it is over, the
    effect that it gives (a difference of logarithms), and if there is enough evidence for any effect.
    """

    seconds: float
    effect: float
    has_effect: bool


class Lateness(NamedTuple):
    """When a value acts, in seconds after its change.

    The likeliest response is over after `seconds`. `evidence` is twice the logarithm of the likelihood of the
    likeliest response that is not over within the limit, relative to the likeliest one that is: negative if
    it acts in time. `effect` is that of the likeliest response relative to no effect. Until `unsettled` even
    the one within the limit is not over; 0 without evidence that it acts later than at once.
    """

    seconds: float
    evidence: float
    effect: float
    unsettled: float
    rivals: tuple[Rival, ...] = ()

    @property
    def is_likely(self) -> bool:
        """True if the effect probably comes too late for the windows."""
        return self.evidence > LIKELIER and self.effect > EFFECT

    @property
    def is_in_time(self) -> bool:
        """True if it is certain that the effect does not come too late for the windows."""
        return self.evidence < -CERTAIN

    def may_reverse(self, verdict: Verdict) -> bool:
        """True if a verdict of a difference could have the wrong sign: a late response is likelier at all."""
        return self.is_likely or (self.evidence > 0 and verdict in (Verdict.HIGHER, Verdict.LOWER))

    def contradiction(self, comparison: Comparison | None) -> float | None:
        """When the likeliest response is over that contradicts a comparison of the figure; None if none does.

        One contradicts its verdict, or gives an effect outside of its interval. Without a difference, that
        takes evidence for the effect, because a response that hardly shows in the course can give any.
        """
        if self.may_reverse(Verdict.CANNOT_TELL if comparison is None else comparison.verdict):
            return self.seconds
        if comparison is None or comparison.percent_low is None or comparison.percent_high is None:
            return None
        low, high = comparison.percent_low, comparison.percent_high
        is_different = comparison.verdict in (Verdict.HIGHER, Verdict.LOWER)
        for rival in self.rivals:
            percent = Interval.around(rival.effect, 0.0).percent.estimate
            if (is_different or rival.has_effect) and not low <= percent <= high:
                return rival.seconds
        return None

    def is_certain(self, candidates: int = 1) -> bool:
        """True with enough evidence for longer windows; with many candidates to look at, it takes more."""
        return self.evidence > CERTAIN + 2 * math.log(candidates)


@cache
def responses(bins_per_window: int) -> tuple[Response, ...]:
    """Those that are compared: the one that acts at once, delays, and time constants."""
    window = bins_per_window
    delays = {*range(window + 1), *range(window, 2 * window, max(1, window // 4))}
    delays |= set(range(2 * window, LONGEST_DELAY * window + 1, max(1, window // 2)))
    constants = [window * 2.0**power for power in range(-2, 4) if 2.0**power <= LONGEST_CONSTANT]
    return (*map(Response, sorted(delays)), *(Response(0, constant) for constant in constants))


def find_lateness(
    levels: Sequence[float | None],
    values: Sequence[float],
    *,
    bin_seconds: float,
    window: int,
    limit: float,
    before: Sequence[float] = (0.0,),
    others: Sequence[Sequence[float]] = (),
) -> Lateness | None:
    """The likeliest response of a course; None if there is too little of it.

    `before` are the values that may have been there for long before the first one.

    `levels` are logarithms, or shares of a level if some are zero; None where nothing usable was measured.
    `values` are 0 under A, 1 under B. A
    window has `window` bins; a response within `limit` seconds can be discarded. What `others` explain,
    values of the same kind that act at once, is taken out.
    """
    first = max(0, len(levels) - MOST_BINS)
    kept = [level for level in levels[first:] if level is not None]
    if len(kept) < FEWEST_BINS or len(set(values)) < 2:
        return None
    course = _Course(levels[first:], [other[first:] for other in others])
    found = []
    for response in responses(window):
        if response.over * 2 > len(levels) + REMAINDERS * window and not response.constant:
            continue
        for earlier in before if response.over else before[:1]:
            fit = course.fit(response.of(values, earlier)[first:])
            if fit is not None:
                found.append((fit.likelihood, response, fit.effect))
    within = [one for one in found if one[1].over * bin_seconds <= limit + ROUNDING]
    if not within:
        return None
    likelihood, best, _ = max(found)
    beyond = max((one[0] for one in found if one not in within), default=-math.inf)
    at_most, settled, _ = max(within)
    without_effect = course.without_effect
    at_once = next((one[0] for one in within if not one[1].over), -math.inf)
    unsettled = (settled.over + 1) * bin_seconds if at_most - at_once > LATE_WITHIN else 0.0
    return Lateness(
        best.over * bin_seconds,
        beyond - at_most,
        likelihood - without_effect,
        min(unsettled, limit),
        tuple(
            Rival(
                response.over * bin_seconds,
                effect,
                has_effect=likely - without_effect > (APPROACH if response.constant else EFFECT),
            )
            for likely, response, effect in sorted(found, reverse=True)
            if response.over * bin_seconds > limit + ROUNDING and likely > at_most - NEARLY
        ),
    )


def window_for(seconds: float) -> float:
    """The length of windows for a response that is over after so long: half of each is left to measure."""
    return next((float(each) for each in WINDOWS if each >= 2 * seconds), 60.0 * math.ceil(seconds / 30))


class _Fit(NamedTuple):
    """Twice the logarithm of the likelihood of a response, and its effect."""

    likelihood: float
    effect: float


class _Course:
    """The levels without their trend, and the sums that every fit needs."""

    def __init__(self, levels: Sequence[float | None], others: Sequence[Sequence[float]] = ()) -> None:
        self._places = [place for place, level in enumerate(levels) if level is not None]
        self._basis: list[list[float]] = []
        for explains in ([1.0] * len(levels), list(map(float, range(len(levels)))), *others):
            rest = self._residuals([explains[place] for place in self._places])
            if (length := math.sqrt(sum(map(mul, rest, rest)))) > ROUNDING * len(levels):
                self._basis.append([value / length for value in rest])
        self._levels = self._residuals([level for level in levels if level is not None])
        self._after = [n for n in range(1, len(self._places)) if self._places[n] == self._places[n - 1] + 1]
        self._own = self._sums(self._levels, self._levels)

    @property
    def without_effect(self) -> float:
        """Twice the logarithm of the likelihood of no effect."""
        return max(self._likelihood(phi, 0.0) for phi in PHIS)

    def fit(self, passed_on: Sequence[float]) -> _Fit | None:
        """The likeliest effect with a response; None without any contrast."""
        course = self._residuals([passed_on[place] for place in self._places])
        square, cross = self._sums(course, course), self._sums(course, self._levels)
        if square[0] < 1e-6 * len(course):
            return None
        effects = ((phi, _whitened(phi, cross) / _whitened(phi, square)) for phi in PHIS)
        return max(
            _Fit(self._likelihood(phi, effect * _whitened(phi, cross)), effect) for phi, effect in effects
        )

    def _likelihood(self, phi: float, explained: float) -> float:
        count = len(self._after)
        left = max(_whitened(phi, self._own) - explained, 0.0) / count + SMALLEST_NOISE**2 * (1 - phi * phi)
        return -count * math.log(left)

    def _sums(self, one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
        """Of products at the same place, one place apart, and at the place before, over the chained bins."""
        here, there = [one[n] for n in self._after], [other[n] for n in self._after]
        before, earlier = [one[n - 1] for n in self._after], [other[n - 1] for n in self._after]
        return (
            sum(map(mul, here, there)),
            sum(map(mul, here, earlier)) + sum(map(mul, before, there)),
            sum(map(mul, before, earlier)),
        )

    def _residuals(self, values: Sequence[float]) -> list[float]:
        """Without mean, trend, and what others explain."""
        for explains in self._basis:
            share = sum(map(mul, values, explains))
            values = [value - share * other for value, other in zip(values, explains, strict=True)]
        return list(values)


def _whitened(phi: float, sums: tuple[float, float, float]) -> float:
    """The sum of products after the autocorrelation is removed."""
    return sums[0] - phi * sums[1] + phi * phi * sums[2]
