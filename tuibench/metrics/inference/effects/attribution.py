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
`MARGIN` times the largest difference that two such windows showed before the change (`moving.swing`).
If the level stepped at another time than with the change, or approaches its new value slowly (`onset`), the
interval covers each of the explanations. Without a verdict, the movement is named. A/B trials (`sequential`)
do not have these limits.
"""

import math
from collections.abc import Sequence
from statistics import median, variance
from typing import NamedTuple

from tuibench.metrics.inference import students_t
from tuibench.metrics.inference.effects.autoregression import (
    dot,
    orthonormal,
    phi_of,
    weighted_variance,
    without,
)
from tuibench.metrics.inference.effects.moving import Movement, autocorrelation, movement, swing
from tuibench.metrics.inference.effects.onset import Onset, onset
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
PLAIN_ERRORS = 3.0
"""Plain standard errors from which a difference seems certain; if it is not, the movement of the level is the
explanation.
"""

FLOOR = 0.05
"""The least tick, as a share of the median: zero has no logarithm."""

REGULAR = 0.6
"""The least autocorrelation at the period of a sawtooth; that of noise is sometimes large by chance."""


class Attribution(NamedTuple):
    """The difference with its interval. `movement` is set if it cannot be attributed to the change.

    The place of a step is in ticks from the change, negative before it. `has_moved_later` is True if the
    level stepped later than with the change, or approaches its new value slowly.
    """

    interval: Interval
    verdict: Verdict
    movement: Movement | None = None
    has_moved_later: bool = False


def logarithms(*series: Sequence[float]) -> list[list[float]]:
    """Levels as logarithms; values near zero count as `FLOOR` of the median of the lowest series."""
    medians = [middle for middle in map(median, filter(None, series)) if middle > 0]
    least = FLOOR * min(medians) if medians else 1.0
    return [[math.log(max(value, least)) for value in values] for values in series]


def attribute(
    before: Sequence[float],
    after: Sequence[float],
    gap: int,
    *,
    settling: Sequence[float] = (),
    late: int = 3,
    tolerance: float = 0.0,
) -> Attribution:
    """Compare the ticks before a change with those after it, both as logarithms.

    `gap` ticks between them belong to neither: the change itself, and `settling`, the ticks from the change
    on. A step up to tick `late` after the change is the change's own.
    """
    before = before[-MOST_BEFORE:]
    if len(before) < FEWEST_BEFORE or len(after) < FEWEST_AFTER:
        estimate = _mean(after) - _mean(before) if before and after else math.nan
        return Attribution(Interval(estimate, -math.inf, math.inf), Verdict.CANNOT_TELL)
    level = _mean(before)
    before, settling, after = ([value - level for value in side] for side in (before, settling, after))
    missing = max(0, gap - len(settling))
    other = onset(before, [*settling, *after], missing, late)
    interval = _widened(before, settling, after, gap, other)
    step = None
    if other.height:
        place = other.place + missing if other.place >= 0 else other.place
        step = Movement(MovementKind.STEP, other.height, place)
    verdict, movement = _attributed(interval, before, after, gap, step, tolerance)
    moved = bool(other.slowest or (step and step.place > 0))
    return Attribution(interval, Verdict.CANNOT_TELL if movement else verdict, movement, moved)


def _attributed(
    interval: Interval,
    before: Sequence[float],
    after: Sequence[float],
    gap: int,
    step: Movement | None,
    tolerance: float,
) -> tuple[Verdict, Movement | None]:
    """The verdict of the interval, and what takes it away."""
    verdict = interval.verdict(tolerance)
    window = min(len(after), max(FEWEST_AFTER, (len(before) - gap) // 2))
    plain = abs(_mean(after) - _mean(before[-window:]))
    if verdict is Verdict.EQUAL:
        is_visible = plain > math.log1p(tolerance)
        return verdict, (step or _movement(before, window, gap)) if is_visible else None
    if verdict is Verdict.CANNOT_TELL:
        own = _movement(before, window, gap)
        error = _plain_error(before[-window:], after)
        is_explained = plain > PLAIN_ERRORS * error
        if step is not None or not is_explained:
            is_own = _is_regular(before, own, plain / MARGIN if is_explained else error)
            return verdict, own if is_own else step
        return verdict, _unless_small(own, plain, before)
    observed = min(abs(interval.estimate), plain)
    if observed >= MARGIN * swing(before, window, gap):
        return verdict, None
    own = _movement(before, window, gap)
    return verdict, own if step is None or _is_regular(before, own, observed / MARGIN) else step


def _widened(
    before: Sequence[float], settling: Sequence[float], after: Sequence[float], gap: int, other: Onset
) -> Interval:
    """The difference with an interval that covers whatever may be true: a step before the change stays or is
    part of the noise, a later one belongs to the change or does not, and an approach is not over yet.
    """
    interval = difference(before, after, gap)
    edges = [interval]
    if other.height and other.place < 0:
        interval = difference(before, after, gap, step=other.place)
        edges.append(interval)
    elif other.height:
        count = len(after)
        still = max(0.0, 1 - (len(settling) + count - other.place) / count)
        edges.append(Interval(*(edge + other.height * still for edge in interval)))
        since = [*settling, *after]
        edges.append(difference(before, since, max(0, gap - len(settling)), step=other.place))
    if other.slowest:
        past = [math.exp(-(len(settling) + place + 1) / other.slowest) for place in range(len(after))]
        rest = 1 / (1 - _mean(past))
        edges += [Interval(*(rest * edge for edge in one)) for one in edges]
    low, high = min(one.low for one in edges), max(one.high for one in edges)
    return Interval(interval.estimate, low, high)


def difference(
    before: Sequence[float], after: Sequence[float], gap: int, *, step: int | None = None
) -> Interval:
    """δ of the model above, with the widest of the intervals of all block lengths. `step` is the place of a
    further step, in ticks from the first of `after`.
    """
    sides = [(before[::-1], after)]
    if step is not None:
        sides.append(
            (
                [float(-1 - place >= step) for place in range(len(before))],
                [float(place >= step) for place in range(len(after))],
            )
        )
    intervals = [
        _regressed([(_blocks(old, block)[::-1], _blocks(new, block)) for old, new in sides], gap / block)
        for block in BLOCKS
        if block == 1 or (len(before) + len(after) >= FEWEST_BLOCKS * block and len(after) >= 2 * block)
    ]
    half = max(interval.high - interval.estimate for interval in intervals)
    return Interval.around(intervals[0].estimate, half)


def _regressed(sides: Sequence[tuple[list[float], list[float]]], gap: float) -> Interval:
    """δ of the first of these series, with the others as regressors; each before and after the change."""
    (before, after), *others = sides
    values = [*before, *after]
    count = len(values)
    times = [float(place) if place < len(before) else place + gap for place in range(count)]
    is_after = [0.0] * len(before) + [1.0] * len(after)
    basis = orthonormal([[1.0] * count, times, *([*old, *new] for old, new in others), is_after])
    residuals = without(values, basis)
    # The last direction is δ's, cleared of the others: δ = its part / its own share of `is_after`.
    share = dot(is_after, basis[-1])
    phi = phi_of(residuals, len(before), len(basis))
    taken = math.fsum(weighted_variance(one, times, phi) for one in basis)
    squared = dot(residuals, residuals) / max(count - taken, 1.0)
    error = math.sqrt(squared * weighted_variance(basis[-1], times, phi)) / share
    degrees = max(2.0, count * (1 - phi) / (1 + phi) - len(basis))
    return Interval.around(dot(values, basis[-1]) / share, students_t.two_sided(LEVEL, degrees) * error)


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
