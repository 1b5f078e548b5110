"""Attribution of a difference to a change, by an interrupted time series, or the reason why it is not
possible.

One value per tick, as a logarithm:

y(t) = a + b·t + δ·[t is after the change] + u(t)

so that a trend continues after the change, and δ is the effect of the change. The errors u are
autocorrelated. Their φ is estimated from the residuals of the samples and of blocks of samples, corrected for
its bias (Kendall, Biometrika 41, 1954) and raised by a part of its standard error; the widest of these
intervals is used. Interrupted time series: Wagner et al., Journal of Clinical Pharmacy and Therapeutics 27
(2002).

Before and after differ in time only, so anything else that happened at the change is attributed to it, too.
A difference is attributed only if the level did not move as much by itself: it must exceed
`MARGIN` times the largest difference that two such windows showed before the change (`moving.swing`), and
there must be no step right beside the change. Otherwise there is no verdict, and the movement is named. A/B
trials (`sequential`) do not have this limit.
"""

import math
from collections.abc import Sequence
from statistics import median, variance
from typing import NamedTuple

from tuibench.metrics.inference import students_t
from tuibench.metrics.inference.effects.moving import Movement, autocorrelation, best_step, movement, swing
from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import MovementKind, Verdict

LEVEL = 0.05
FEWEST_BEFORE, FEWEST_AFTER = 6, 6
MOST_BEFORE = 120
"""Ticks before a change from which the movement of the level is estimated."""

MARGIN = 1.5
BLOCKS = (1, 4)
"""Ticks per block: longer blocks reveal a wandering level under noise."""

FEWEST_BLOCKS = 16
CAUTION = 0.3
"""The number of standard errors that φ is raised by."""

LARGEST_PHI = 0.97
PLAIN_ERRORS = 3.0
"""Plain standard errors from which a difference seems certain; if it is not, the movement of the level is the
explanation.
"""

FLOOR = 0.05
"""The least tick, as a share of the median: zero has no logarithm."""

REGULAR = 0.6
"""The least autocorrelation at the period of a sawtooth; that of noise is sometimes large by chance."""

EXPLAINED, STEP_ERRORS = 0.6, 3.0
"""The least height of a step beside the change that explains the difference: a share of the difference, and a
multiple of its own error.
"""


class Attribution(NamedTuple):
    """The difference with its interval. `movement` is set if it cannot be attributed to the change.

    The place of a step is in ticks from the change, negative before it.
    """

    interval: Interval
    verdict: Verdict
    movement: Movement | None = None


def logarithms(before: Sequence[float], after: Sequence[float]) -> tuple[list[float], list[float]]:
    """Levels as logarithms; values near zero count as `FLOOR` of the lower side's median."""
    medians = [middle for middle in (median(before), median(after)) if middle > 0]
    least = FLOOR * min(medians) if medians else 1.0
    old, new = ([math.log(max(value, least)) for value in values] for values in (before, after))
    return old, new


def attribute(
    before: Sequence[float], after: Sequence[float], gap: int, *, tolerance: float = 0.0
) -> Attribution:
    """Compare the ticks before a change with those after it, both as logarithms.

    `gap` ticks between them belong to neither: the change itself, and settling.
    """
    before = before[-MOST_BEFORE:]
    if len(before) < FEWEST_BEFORE or len(after) < FEWEST_AFTER:
        estimate = _mean(after) - _mean(before) if before and after else math.nan
        return Attribution(Interval(estimate, -math.inf, math.inf), Verdict.CANNOT_TELL)
    interval = difference(before, after, gap)
    verdict = interval.verdict(tolerance)
    window = min(len(after), max(FEWEST_AFTER, (len(before) - gap) // 2))
    plain = abs(_mean(after) - _mean(before[-window:]))
    if verdict is Verdict.EQUAL:
        if plain <= math.log1p(tolerance):
            return Attribution(interval, verdict)
        return Attribution(interval, Verdict.CANNOT_TELL, _movement(before, window, gap))
    if verdict is Verdict.CANNOT_TELL:
        own = _movement(before, window, gap)
        error = _plain_error(before[-window:], after)
        if plain <= PLAIN_ERRORS * error:
            return Attribution(interval, verdict, own if _is_regular(before, own, error) else None)
        step = _step_beside(before[-window:], after, gap, plain)
        if step is not None:
            return Attribution(interval, verdict, own if _is_regular(before, own, plain / MARGIN) else step)
        return Attribution(interval, verdict, _unless_small(own, plain, before))
    observed = min(abs(interval.estimate), plain)
    step = _step_beside(before[-window:], after, gap, observed)
    is_usual = observed < MARGIN * swing(before, window, gap)
    cause = step or (_movement(before, window, gap) if is_usual else None)
    if step and _is_regular(before, own := _movement(before, window, gap), observed / MARGIN):
        cause = own
    return Attribution(interval, Verdict.CANNOT_TELL if cause else verdict, cause)


def difference(before: Sequence[float], after: Sequence[float], gap: int) -> Interval:
    """δ of the model above, with the widest of the intervals of all block lengths."""
    intervals = [
        _regressed(_blocks(before[::-1], block)[::-1], _blocks(after, block), gap / block)
        for block in BLOCKS
        if block == 1 or (len(before) + len(after) >= FEWEST_BLOCKS * block and len(after) >= 2 * block)
    ]
    half = max(interval.high - interval.estimate for interval in intervals)
    return Interval.around(intervals[0].estimate, half)


def _regressed(before: Sequence[float], after: Sequence[float], gap: float) -> Interval:
    values = [*before, *after]
    count = len(values)
    times = [float(place) if place < len(before) else place + gap for place in range(count)]
    is_after = [0.0] * len(before) + [1.0] * len(after)
    basis = _orthonormal([[1.0] * count, times, is_after])
    parts = [_dot(values, one) for one in basis]
    residuals = [
        value - math.fsum(part * one[place] for part, one in zip(parts, basis, strict=True))
        for place, value in enumerate(values)
    ]
    # The last direction is δ's, cleared of the others: δ = its part / its own share of `is_after`.
    share = _dot(is_after, basis[-1])
    phi = _phi(residuals, len(before), len(basis))
    taken = math.fsum(_quadratic(one, times, phi) for one in basis)
    squared = _dot(residuals, residuals) / max(count - taken, 1.0)
    error = math.sqrt(squared * _quadratic(basis[-1], times, phi)) / share
    degrees = max(2.0, count * (1 - phi) / (1 + phi) - len(basis))
    return Interval.around(parts[-1] / share, students_t.two_sided(LEVEL, degrees) * error)


def _phi(residuals: Sequence[float], join: int, parameters: int) -> float:
    """Lag-one autocorrelation, corrected for bias and raised; the pair across the gap is not included."""
    count = len(residuals)
    squares = _dot(residuals, residuals)
    if squares <= 0:
        return 0.0
    products = math.fsum(
        residuals[place] * residuals[place - 1] for place in range(1, count) if place != join
    )
    raw = products / squares
    unbiased = (raw + (parameters - 1) / count) / max(1 - (parameters + 1) / count, 0.25)
    unbiased = min(max(unbiased, 0.0), LARGEST_PHI)
    return min(unbiased + CAUTION * math.sqrt((1 - unbiased**2) / count), LARGEST_PHI)


def _quadratic(weights: Sequence[float], times: Sequence[float], phi: float) -> float:
    """Variance of the weighted sum of a stationary AR(1) series of variance one."""
    total = carried = 0.0
    last = times[0]
    for weight, time in zip(weights, times, strict=True):
        carried *= phi ** (time - last)
        total += weight * (weight + 2 * carried)
        carried += weight
        last = time
    return max(total, 0.0)


def _orthonormal(columns: Sequence[list[float]]) -> list[list[float]]:
    """Gram-Schmidt orthonormalisation."""
    basis: list[list[float]] = []
    for column in columns:
        rest = column
        for one in basis:
            part = _dot(rest, one)
            rest = [value - part * other for value, other in zip(rest, one, strict=True)]
        length = math.sqrt(_dot(rest, rest))
        basis.append([value / length for value in rest])
    return basis


def _step_beside(
    before: Sequence[float], after: Sequence[float], gap: int, observed: float
) -> Movement | None:
    """A step in one of the windows that exceeds its noise and explains most of the observed difference."""
    for values, start in ((after, gap), (before, -len(before))):
        place, height, explained = best_step(values, fewest=1)
        mean, count = _mean(values), len(values)
        rest = math.fsum((value - mean) ** 2 for value in values) - explained
        error = math.sqrt(max(rest, 0.0) / (count - 2) * count / (place * (count - place)))
        if abs(height) >= max(EXPLAINED * observed, STEP_ERRORS * error) and height:
            return Movement(MovementKind.STEP, height, start + place)
    return None


def _is_regular(before: Sequence[float], own: Movement, least: float) -> bool:
    """True for a sawtooth that repeats itself and swings by so much: a step beside the change is its edge."""
    return (
        own.kind is MovementKind.SAWTOOTH
        and own.size > least
        and autocorrelation(before, own.place) >= REGULAR
    )


def _movement(before: Sequence[float], window: int, gap: int) -> Movement:
    found = movement(before, window, gap)
    return found._replace(place=found.place - len(before)) if found.kind is MovementKind.STEP else found


def _unless_small(found: Movement, plain: float, before: Sequence[float]) -> Movement:
    """The movement; UNKNOWN if it is too small to explain the difference: only a trend that is hidden in a
    short history could.
    """
    has_swing = found.kind in (MovementKind.WANDERING, MovementKind.SAWTOOTH)
    is_small = has_swing and MARGIN * found.size < plain
    if is_small and len(before) < MOST_BEFORE:
        return Movement(MovementKind.UNKNOWN, 0.0, len(before))
    return found


def _plain_error(before: Sequence[float], after: Sequence[float]) -> float:
    """The standard error of the difference of means of constant levels, for independent ticks."""
    return math.sqrt(variance(before) / len(before) + variance(after) / len(after))


def _blocks(values: Sequence[float], length: int) -> list[float]:
    """Means of complete blocks, from the first value on."""
    return [
        math.fsum(values[start : start + length]) / length
        for start in range(0, len(values) - length + 1, length)
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))
