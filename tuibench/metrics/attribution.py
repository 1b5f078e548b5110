"""Attribution: how much of a difference is the effect of a change, or why that cannot be told.

Before and after a change differ in time only, so whatever else happened at the change is attributed to it,
too. Three questions guard against that:

- does the level move by itself as much? A placebo answers: two windows of the length to be compared are moved
  over the ticks before the change (`swing`), and the difference must exceed `MARGIN` times the largest
  difference that they show;
- did the level step at another time, or approach its new value slowly (`onset`)? Then the interval covers
  each explanation;
- is the level still on its way without the change (`own_movement`)?

The difference itself is that of an interrupted time series (`difference`). If there is no verdict, the
movement that prevents it is named. A/B tests (`metrics/ab_analysis.py`) do not have these limits.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from operator import add, mul
from statistics import median, variance
from typing import NamedTuple

from tuibench.metrics import inference
from tuibench.metrics.inference import LogInterval
from tuibench.model.effect import MovementKind, Verdict

CAUTION = 0.3
"""The number of standard errors by which φ is raised."""

LARGEST_PHI = 0.97


def phi_of(residuals: Sequence[float], join: int, parameters: int) -> float:
    """Lag-one autocorrelation of residuals, corrected for its bias (Kendall, Biometrika 41, 1954) and raised
    by a part of its standard error. The pair across the gap at `join` is not included.
    """
    count = len(residuals)
    squares = dot(residuals, residuals)
    if squares <= 0:
        return 0.0
    products = math.fsum(
        residuals[place] * residuals[place - 1] for place in range(1, count) if place != join
    )
    raw = products / squares
    unbiased = (raw + (parameters - 1) / count) / max(1 - (parameters + 1) / count, 0.25)
    unbiased = min(max(unbiased, 0.0), LARGEST_PHI)
    return min(unbiased + CAUTION * math.sqrt((1 - unbiased**2) / count), LARGEST_PHI)


def weighted_variance(weights: Sequence[float], times: Sequence[float], phi: float) -> float:
    """Variance of a weighted sum of a stationary AR(1) series with variance one."""
    total = carried = 0.0
    last = times[0]
    for weight, time in zip(weights, times, strict=True):
        carried *= phi ** (time - last)
        total += weight * (weight + 2 * carried)
        carried += weight
        last = time
    return max(total, 0.0)


def orthonormal(columns: Sequence[Sequence[float]]) -> list[list[float]]:
    """Gram-Schmidt orthonormalisation. A column that is a combination of earlier ones becomes zero."""
    basis: list[list[float]] = []
    for column in columns:
        rest = without(column, basis)
        length = math.sqrt(dot(rest, rest))
        is_new = length > 1e-9 * math.sqrt(dot(column, column))
        basis.append([value / length for value in rest] if is_new else [0.0] * len(rest))
    return basis


def without(values: Sequence[float], basis: Sequence[Sequence[float]]) -> list[float]:
    """The rest of a vector after its projections on orthonormal vectors are subtracted."""
    rest = list(values)
    for one in basis:
        part = dot(rest, one)
        rest = [value - part * other for value, other in zip(rest, one, strict=True)]
    return rest


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(mul, one, other))


STEP_SHARE, TREND_SHARE = 0.6, 0.5
"""The share of the variation that a step, or a straight line, must explain to name the movement."""

FEWEST_AT_EDGE = 3
"""Fewest values on either side of a step."""

PERIOD_CORRELATION = 0.3
SHORTEST_PERIOD = 6


class Movement(NamedTuple):
    """How a level moves by itself."""

    kind: MovementKind
    size: float
    """The slope per value of a trend, the height of a step, otherwise the swing; a difference
    of logarithms.
    """
    place: int = 0
    """First value after a step; length of a sawtooth's period; if the kind is unknown, the number of values,
    which is too small.
    """


def swing(values: Sequence[float], window: int, gap: int) -> float:
    """The largest difference between the means of two windows with a gap between them, anywhere in the
    series; 0 if it is too short.
    """
    sums = [0.0, *accumulate(values)]
    means = [(end - start) / window for start, end in zip(sums, sums[window:], strict=False)]
    return max(
        (abs(later - earlier) for earlier, later in zip(means, means[window + gap :], strict=False)),
        default=0.0,
    )


def movement(values: Sequence[float], window: int, gap: int) -> Movement:
    """The kind of movement, significant or not: the simplest shape that explains the series best."""
    mean = math.fsum(values) / len(values)
    total = math.fsum((value - mean) ** 2 for value in values)
    place, height, explained = best_step(values)
    gradient, by_line = _line(values)
    if by_line >= TREND_SHARE * total and by_line >= 0.9 * explained:
        return Movement(MovementKind.TREND, gradient)
    has_swing = len(values) >= 2 * window + gap
    if has_swing and (period := _period(values)) is not None:
        return Movement(MovementKind.SAWTOOTH, swing(values, window, gap), period)
    if explained >= STEP_SHARE * total:
        return Movement(MovementKind.STEP, height, place)
    if by_line >= TREND_SHARE * total:
        return Movement(MovementKind.TREND, gradient)
    if not has_swing:
        return Movement(MovementKind.UNKNOWN, 0.0, len(values))
    return Movement(MovementKind.WANDERING, swing(values, window, gap))


def best_step(values: Sequence[float], fewest: int = FEWEST_AT_EDGE) -> tuple[int, float, float]:
    """The best single step: its place, its height, and the share of the sum of squares that it explains. At
    least `fewest` values are on either side.
    """
    count, whole = len(values), math.fsum(values)
    best, left = (fewest, 0.0, -1.0), 0.0
    for place, value in enumerate(values[:-1], 1):
        left += value
        if fewest <= place <= count - fewest:
            height = (whole - left) / (count - place) - left / place
            explained = height * height * place * (count - place) / count
            if explained > best[2]:
                best = (place, height, explained)
    return best


def slope(values: Sequence[float]) -> float:
    """The slope of the least-squares line, per value."""
    return _line(values)[0]


def _line(values: Sequence[float]) -> tuple[float, float]:
    """The slope of the least-squares line, and the share of the sum of squares that the line explains."""
    count, middle = len(values), (len(values) - 1) / 2
    spread = (count**3 - count) / 12
    gradient = (
        math.fsum((place - middle) * value for place, value in enumerate(values)) / spread if spread else 0.0
    )
    return gradient, gradient * gradient * spread


def autocorrelation(values: Sequence[float], lag: int) -> float:
    """The autocorrelation at a lag; 0 for constant values."""
    mean = math.fsum(values) / len(values)
    off = [value - mean for value in values]
    squares = math.fsum(value * value for value in off) / len(off)
    pairs = list(zip(off, off[lag:], strict=False))
    return math.fsum(a * b for a, b in pairs) / len(pairs) / squares if pairs and squares else 0.0


def _period(values: Sequence[float]) -> int | None:
    """The lag of the largest autocorrelation after a negative one at a shorter lag."""
    mean = math.fsum(values) / len(values)
    off = [value - mean for value in values]
    squares = math.fsum(value * value for value in off)
    if squares == 0:
        return None
    lags = range(1, len(values) * 2 // 3)
    alike = [math.fsum(a * b for a, b in zip(off, off[lag:], strict=False)) / squares for lag in lags]
    below = next((lag for lag, value in zip(lags, alike, strict=True) if value < 0), None)
    later = [
        (value, lag) for lag, value in zip(lags, alike, strict=True) if below is not None and lag > below
    ]
    best, lag = max(later, default=(0.0, 0))
    return lag if lag >= SHORTEST_PERIOD and best >= PERIOD_CORRELATION * (1 - lag / len(values)) else None


STEP_GAIN, FOREIGN_GAIN, ALONE_GAIN = 16.0, 9.0, 0.0
"""The least doubled log-likelihood ratio that shows a further step beside the change's own course; that shows
a step in place of that course; and by which such a step must explain at least as much as the course.
"""

COURSE_GAIN, APPROACH_GAIN = 9.0, 4.0
"""The least doubled log-likelihood ratio that shows a course of the change beside a further step, and one
that shows an approach instead of a step.
"""

PLAUSIBLE_GAIN = 4.0
"""Courses whose doubled log-likelihoods differ by less than this are equally plausible."""

APPROACHES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
"""Time constants of an approach, in ticks."""

ROUNDING = 1e-14
"""Residuals below this share of a series' sum of squares are rounding errors."""

FEWEST_BEFORE_JOIN, FEWEST_AT_END = 2, 3
"""Fewest ticks between a step and the change, and between a step and the ends of the series."""


class Onset(NamedTuple):
    """What moved beside the change's own step."""

    place: int = 0
    """The first tick of a further step, counted from the first tick after the change; negative before it."""
    height: float = 0.0
    """0 without a further step."""
    slowest: float = 0.0
    """The largest plausible time constant of an approach, in ticks; 0 if the level stepped."""


def onset(before: Sequence[float], after: Sequence[float], gap: int, late: int) -> Onset:
    """Find a further step, and a slow approach.

    The courses that a change may cause begin with it: a step within the first few ticks (up to tick `late`),
    or an exponential approach. Any other step belongs to something else, or to a change that acts late; a
    single change cannot tell these apart. The courses are fitted to all ticks, beside a straight line and
    with AR(1) errors, by generalised least squares (Prais and Winsten: each tick minus φ times the one before
    it), which finds a sudden step even in a wandering level. A further step is found by its likelihood ratio,
    maximal over all places (Chang, Tiao and Chen, Technometrics 30, 1988).

    `after` begins with the change, `gap` ticks after the end of `before`.
    """
    values, join = [*before, *after], len(before)
    count = len(values)
    times = [float(place if place < join else place + gap) for place in range(count)]
    own = [_step(count, join + delay) for delay in range(min(late + 1, len(after) - 1))]
    slow = [_approach(times, join, constant) for constant in APPROACHES]
    places = [
        place
        for place in range(FEWEST_AT_END, count - FEWEST_AT_END + 1)
        if place < join or place > join + late
    ]
    apart = [place for place in places if not join - FEWEST_BEFORE_JOIN < place < join]
    line = [[1.0] * count, times]
    degrees = count - 4

    def fit(*columns: list[float]) -> _ColumnFit:
        return _ColumnFit(values, [*line, *columns], times, phi)

    def beside(courses: Sequence[list[float]]) -> tuple[list[float], _Step]:
        """The best of the change's courses with the best step beside it."""
        found = min((fit(one).best_step(apart) for one in own), key=lambda step: step.squares)
        course = max(courses, key=fit(_step(count, found.place)).gain)
        return course, fit(course).best_step(apart)

    phi = 0.0
    for _ in range(2):
        course, more = beside((*own, *slow))
        basis = orthonormal([*line, course, _step(count, more.place)])
        phi = phi_of(without(values, basis), join, len(basis))
    plain = fit()
    alone = plain.best_step(places)
    stepped, approached = (plain.squares - max(map(plain.gain, courses)) for courses in (own, slow))
    with_change = min(stepped, approached)
    _, more = beside((*own, *slow))
    if _log_ratio(with_change, more.squares, degrees) >= STEP_GAIN:
        rest = fit(_step(count, more.place))
        with_course = rest.squares - max(map(rest.gain, (*own, *slow)))
        if _log_ratio(rest.squares, with_course, degrees) < COURSE_GAIN:
            return Onset(alone.place - join, alone.height)
        return Onset(more.place - join, more.height, _slowest(rest, own, slow, degrees))
    is_step = _log_ratio(plain.squares, alone.squares, degrees) >= FOREIGN_GAIN
    if is_step and _log_ratio(with_change, alone.squares, degrees) >= ALONE_GAIN:
        return Onset(alone.place - join, alone.height)
    slowest = _slowest(plain, own, slow, degrees)
    # If the change seems to act slowly, a step may explain as much, alone or beside the change's own.
    for step, less in ((alone, plain.squares), (beside(own)[1], stepped)) if slowest else ():
        is_plausible = _log_ratio(approached, step.squares, degrees) >= -PLAUSIBLE_GAIN
        if is_plausible and _log_ratio(less, step.squares, degrees) >= STEP_GAIN:
            return Onset(step.place - join, step.height, slowest)
    return Onset(slowest=slowest)


CURVE_GAIN, TREND_GAIN = 16.0, 6.0
"""The least doubled log-likelihood ratio that shows that a level did not move in a straight line, and that it
moved at all.
"""

MOST_BENDS = 24
"""Number of places at which a bend of the line is tried."""


def own_movement(before: Sequence[float], since: Sequence[float], missing: int, late: int) -> float:
    """The size of the level's movement around the change without the change: 0 if it is at rest, or in a
    trend that was observed for long enough; infinite if that cannot be known.

    The level is moving in two cases: a bent line or a saturating curve explains the course better than a
    straight line, beside whatever the change may have caused; or it moved before the change, or moves slowly
    after it, but was observed for a shorter time before the change than after it. `since` begins with the
    change, `missing` ticks after the end of `before`.
    """
    values, join = [*before, *since], len(before)
    count, seen = len(values), join >= len(since) + missing
    times = [float(place if place < join else place + missing) for place in range(count)]
    own = [_step(count, join + delay) for delay in range(min(late + 1, len(since) - 1))]
    slow = [_approach(times, join, constant) for constant in APPROACHES]
    curves = [[math.exp(-time / constant) for time in times] for constant in APPROACHES]
    curves += [
        [max(0.0, time - times[place]) for time in times]
        for place in range(FEWEST_AT_END, count - 2, max(1, count // MOST_BENDS))
    ]
    ones, degrees, phi = [1.0] * count, count - 4, 0.0
    for _ in range(2):
        course = max((*own, *slow), key=_ColumnFit(values, [ones, times], times, phi).gain)
        curve = max(curves, key=_ColumnFit(values, [ones, times, course], times, phi).gain)
        phi = phi_of(without(values, orthonormal([ones, times, course, curve])), join, 4)
    straight = _ColumnFit(values, [ones, times, course], times, phi)
    columns = [ones, times]
    curve = max(curves, key=straight.gain)
    if _log_ratio(straight.squares, straight.squares - straight.gain(curve), degrees) >= CURVE_GAIN:
        columns.append(curve)
    elif seen:
        return 0.0
    elif (
        _log_ratio(_ColumnFit(values, [ones, course], times, phi).squares, straight.squares, degrees)
        < TREND_GAIN
    ):
        level = _ColumnFit(values, [ones], times, phi)
        stepped, approached = (level.squares - max(map(level.gain, courses)) for courses in (own, slow))
        return math.inf if _log_ratio(stepped, approached, degrees) >= APPROACH_GAIN else 0.0
    basis = orthonormal([*columns, course])
    share = dot(course, basis[-1])
    size = dot(values, basis[-1]) / share if share else 0.0
    rest = without(values, basis)
    without_it = [
        value - noise - size * part for value, noise, part in zip(values, rest, course, strict=True)
    ][max(0, join - len(since)) :]
    return max(without_it) - min(without_it)


def _slowest(
    fit: "_ColumnFit", own: Iterable[Sequence[float]], slow: Sequence[Sequence[float]], degrees: int
) -> float:
    """The largest plausible time constant; 0 if an approach explains no more than a step."""
    stepped = fit.squares - max(map(fit.gain, own))
    approached = [fit.squares - fit.gain(one) for one in slow]
    if _log_ratio(stepped, min(approached), degrees) < APPROACH_GAIN:
        return 0.0
    return max(
        constant
        for constant, squares in zip(APPROACHES, approached, strict=True)
        if _log_ratio(squares, min(approached), degrees) <= PLAUSIBLE_GAIN
    )


def _log_ratio(squares: float, less: float, degrees: int) -> float:
    """The doubled log-likelihood ratio of two fits; 0 without noise."""
    return degrees * math.log(squares / less) if min(squares, less) > 0 else 0.0


class _ColumnFit:
    """A least-squares fit of columns to a series; what φ carries over from the tick before is subtracted from
    each tick.
    """

    def __init__(
        self,
        values: Sequence[float],
        columns: Sequence[Sequence[float]],
        times: Sequence[float],
        phi: float,
    ) -> None:
        steps = [later - earlier for earlier, later in pairwise(times)]
        own = 1 - phi * phi
        self._carried = [0.0, *(phi**step for step in steps)]
        self._scale = [
            math.sqrt(own),
            *(math.sqrt(own / (1 - carried * carried)) for carried in self._carried[1:]),
        ]
        self._basis = orthonormal([self._freed(column) for column in columns])
        self._residuals = without(self._freed(values), self._basis)
        self._rounding = ROUNDING * dot(values, values)
        self.squares = max(dot(self._residuals, self._residuals), self._rounding)

    def _freed(self, column: Sequence[float]) -> list[float]:
        earlier = [0.0, *column[:-1]]
        return [
            scale * (value - carried * last)
            for scale, value, carried, last in zip(self._scale, column, self._carried, earlier, strict=True)
        ]

    def gain(self, column: Sequence[float]) -> float:
        """The sum of squares that a further column explains."""
        freed = self._freed(column)
        whole = dot(freed, freed)
        rest = whole - sum(dot(freed, one) ** 2 for one in self._basis)
        if rest <= 1e-9 * whole:
            return 0.0
        return min(dot(self._residuals, freed) ** 2 / rest, self.squares - self._rounding)

    def best_step(self, places: Sequence[int]) -> "_Step":
        """The step that explains the most."""
        rises = [scale * (1 - carried) for scale, carried in zip(self._scale, self._carried, strict=True)]
        squares = list(map(add, map(mul, self._scale, self._scale), self._later(rises, rises)))
        left = squares
        for one in self._basis:
            left = [rest - part * part for rest, part in zip(left, self._along(rises, one), strict=True)]
        along = self._along(rises, self._residuals)
        best, gain = _Step(places[0], 0.0, self.squares), 0.0
        for place in places:
            rest, part = left[place], along[place]
            if rest > 1e-9 * squares[place] and part * part / rest > gain:
                gain = part * part / rest
                best = _Step(place, part / rest, max(self.squares - gain, self._rounding))
        return best

    def _along(self, rises: Sequence[float], values: Sequence[float]) -> list[float]:
        """The products of a vector with the step at each place."""
        return list(map(add, map(mul, self._scale, values), self._later(rises, values)))

    @staticmethod
    def _later(rises: Sequence[float], values: Sequence[float]) -> list[float]:
        """The sums of the products after each place."""
        products = map(mul, reversed(rises), reversed(values))
        return [*accumulate(products, initial=0.0)][-2::-1]


class _Step(NamedTuple):
    """A step."""

    place: int
    """The tick with which it begins."""
    height: float
    squares: float
    """The sum of squares that it leaves unexplained."""


def _step(count: int, place: int) -> list[float]:
    return [0.0] * place + [1.0] * (count - place)


def _approach(times: Sequence[float], join: int, constant: float) -> list[float]:
    """An exponential approach that begins at the change, half a tick before the first tick after it."""
    start = times[join] - 0.5 if join < len(times) else 0.0
    return [1 - math.exp(-(time + 0.5 - start) / constant) if time >= start else 0.0 for time in times]


LEVEL = 0.05
FEWEST_BEFORE, FEWEST_AFTER = 6, 6
MOST_BEFORE = 120
"""Most ticks before a change from which the movement of the level is estimated."""

MARGIN = 1.5
"""The factor by which a difference must exceed the level's own movement."""
MATERIAL = 0.3
"""The least movement without the change, as a share of the difference, that prevents a verdict."""

REST = 1.5
"""A load is settled, whatever it did earlier, if it was at rest for this multiple of the time that is
compared after the change.
"""

BLOCKS = (1, 4)
"""Ticks per block; longer blocks reveal a wandering level under noise."""

FEWEST_BLOCKS = 16
PLAIN_ERRORS = 3.0
"""A difference of this many plain standard errors seems certain; if it is not, the movement of the level is
the explanation.
"""

FLOOR = 0.05
"""The least value of a tick, as a share of the median, because zero has no logarithm."""

REGULAR = 0.6
"""The least autocorrelation at a sawtooth's period; that of noise is sometimes large by chance."""


class Attribution(NamedTuple):
    """The difference with its interval."""

    interval: LogInterval
    verdict: Verdict
    movement: Movement | None = None
    """Set if the difference cannot be attributed to the change alone. The place of a step is in ticks from
    the change, negative before it.
    """
    has_moved_later: bool = False
    """True if the level stepped later than at the change, or approaches its new value slowly."""


def logarithms(*series: Sequence[float]) -> list[list[float]]:
    """Levels as logarithms; the least value is `FLOOR` times the lowest median of the series."""
    medians = [middle for middle in map(median, filter(None, series)) if middle > 0]
    least = FLOOR * min(medians) if medians else 1.0
    return [[math.log(max(value, least)) for value in values] for values in series]


def attribute(
    before: Sequence[float],
    after: Sequence[float],
    gap: int,
    *,
    settling: Sequence[float] = (),
    earlier: Sequence[float] | None = (),
    late: int = 3,
    tolerance: float = 0.0,
) -> Attribution:
    """Compare the ticks before a change with those after it, both as logarithms.

    `gap` ticks between them belong to neither side; `settling` are the ticks from the change on. A step up to
    tick `late` after the change is the change's own. `earlier` are the ticks before `before` in which the
    load had not settled; None for a figure that does not warm up.
    """
    before = before[-MOST_BEFORE:]
    if len(before) < FEWEST_BEFORE or len(after) < FEWEST_AFTER:
        estimate = _mean(after) - _mean(before) if before and after else math.nan
        return Attribution(LogInterval(estimate, -math.inf, math.inf), Verdict.CANNOT_TELL)
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
    is_named = movement is not None and movement.kind not in (MovementKind.TREND, MovementKind.UNKNOWN)
    if earlier is not None and not (verdict is Verdict.CANNOT_TELL and is_named):
        own = [*(value - level for value in earlier), *before]
        observed = min(abs(interval.estimate), abs(_mean(after) - _mean(before[-len(after) :])))
        moving = own_movement(before, [*settling, *after], missing, late)
        is_moving = _has_moved_alike(own, len(before), after, gap) or moving > MATERIAL * observed
        if is_moving and len(own) < MOST_BEFORE:
            verdict, movement = Verdict.CANNOT_TELL, Movement(MovementKind.WARM_UP, 0.0, len(own))
            interval = LogInterval(interval.estimate, min(interval.low, 0.0), max(interval.high, 0.0))
    if movement is not None:
        is_real = verdict in (Verdict.HIGHER, Verdict.LOWER)
        verdict = Verdict.NOT_ONLY if is_real else Verdict.CANNOT_TELL
    return Attribution(interval, verdict, movement, moved)


def _has_moved_alike(own: Sequence[float], rested: int, after: Sequence[float], gap: int) -> bool:
    """True if the level moved as much before it came to rest, and has not been at rest for long."""
    window = FEWEST_BEFORE
    if rested >= REST * (gap + len(after)) or len(own) == rested:
        return False
    plain = abs(_mean(after) - _mean(own[-min(rested, len(after)) :]))
    return plain < MARGIN * swing(own, window // 2, 1)


def _attributed(
    interval: LogInterval,
    before: Sequence[float],
    after: Sequence[float],
    gap: int,
    step: Movement | None,
    tolerance: float,
) -> tuple[Verdict, Movement | None]:
    """The verdict of the interval, and the movement that prevents one."""
    verdict = interval.verdict(tolerance)
    window = min(len(after), max(FEWEST_AFTER, (len(before) - gap) // 2))
    plain = abs(_mean(after) - _mean(before[-window:]))
    if verdict is Verdict.EQUAL:
        is_visible = plain > math.log1p(tolerance)
        return verdict, (step or _movement(before, window, gap)) if is_visible else None
    if verdict is Verdict.CANNOT_TELL:
        own = _movement(before, window, gap)
        # The standard error of a difference of means, for constant levels and independent ticks.
        recent = before[-window:]
        error = math.sqrt(variance(recent) / len(recent) + variance(after) / len(after))
        is_explained = plain > PLAIN_ERRORS * error
        if step is not None or not is_explained:
            is_own = _is_regular(before, own, plain / MARGIN if is_explained else error)
            return verdict, own if is_own else step
        has_swing = own.kind in (MovementKind.WANDERING, MovementKind.SAWTOOTH)
        is_small = has_swing and MARGIN * own.size < plain
        return verdict, (
            Movement(MovementKind.UNKNOWN, 0.0, len(before))
            if is_small and len(before) < MOST_BEFORE
            else own
        )
    observed = min(abs(interval.estimate), plain)
    if observed >= MARGIN * swing(before, window, gap):
        return verdict, None
    own = _movement(before, window, gap)
    return verdict, own if step is None or _is_regular(before, own, observed / MARGIN) else step


def _widened(
    before: Sequence[float], settling: Sequence[float], after: Sequence[float], gap: int, other: Onset
) -> LogInterval:
    """The difference, with an interval that covers every plausible case: a step before the change persists or
    is part of the noise, a later step belongs to the change or does not, an approach is not over yet. If
    there is a difference, it also covers that a trend ended with the change, as in a saturating curve, or
    became twice as steep.
    """
    interval = difference(before, after, gap)
    edges = [interval]
    if interval.low > 0 or interval.high < 0:
        bend = _trend(before, after, gap) * (gap + (len(after) + 1) / 2)
        edges += [LogInterval(*(edge + turn for edge in interval)) for turn in (bend, -bend)]
    if other.height and other.place < 0:
        interval = difference(before, after, gap, step=other.place)
        edges.append(interval)
    elif other.height:
        count = len(after)
        still = max(0.0, 1 - (len(settling) + count - other.place) / count)
        edges.append(LogInterval(*(edge + other.height * still for edge in interval)))
        since = [*settling, *after]
        edges.append(difference(before, since, max(0, gap - len(settling)), step=other.place))
    if other.slowest:
        past = [math.exp(-(len(settling) + place + 1) / other.slowest) for place in range(len(after))]
        rest = 1 / (1 - _mean(past))
        edges += [LogInterval(*(rest * edge for edge in one)) for one in edges]
    low, high = min(one.low for one in edges), max(one.high for one in edges)
    return LogInterval(interval.estimate, low, high)


def difference(
    before: Sequence[float], after: Sequence[float], gap: int, *, step: int | None = None
) -> LogInterval:
    """δ of an interrupted time series, with the widest interval of all block lengths. `step` is the place of
    a further step, in ticks from the first tick of `after`.

    One value per tick, as a logarithm:

        y(t) = a + b·t + δ·[t is after the change] + u(t)

    so that a trend continues after the change, and δ is the effect of the change. The errors u are
    autocorrelated; their φ is estimated from the residuals of ticks and of blocks of ticks (`phi_of`).
    Interrupted time series: Wagner et al., Journal of Clinical Pharmacy and Therapeutics 27 (2002).
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
    return LogInterval.around(intervals[0].estimate, half)


def _trend(before: Sequence[float], after: Sequence[float], gap: int) -> float:
    """The slope per tick, beside a step at the change; 0 if it may be zero."""
    count, join = len(before) + len(after), len(before)
    times = [float(place if place < join else place + gap) for place in range(count)]
    basis = orthonormal([[1.0] * count, _step(count, join), times])
    found = _coefficient([*before, *after], times, basis, join, times)
    return found.estimate if found.low > 0 or found.high < 0 else 0.0


def _regressed(sides: Sequence[tuple[list[float], list[float]]], gap: float) -> LogInterval:
    """δ of the first of these series, with the others as regressors; each has a part before and after the
    change.
    """
    (before, after), *others = sides
    values = [*before, *after]
    count = len(values)
    times = [float(place) if place < len(before) else place + gap for place in range(count)]
    is_after = [0.0] * len(before) + [1.0] * len(after)
    basis = orthonormal([[1.0] * count, times, *([*old, *new] for old, new in others), is_after])
    return _coefficient(values, is_after, basis, len(before), times)


def _coefficient(
    values: Sequence[float],
    column: Sequence[float],
    basis: Sequence[Sequence[float]],
    join: int,
    times: Sequence[float],
) -> LogInterval:
    """The coefficient of a column. The last vector of the basis is this column without its projections on the
    others.
    """
    residuals = without(values, basis)
    share = dot(column, basis[-1])
    phi = phi_of(residuals, join, len(basis))
    taken = math.fsum(weighted_variance(one, times, phi) for one in basis)
    squared = dot(residuals, residuals) / max(len(values) - taken, 1.0)
    error = math.sqrt(squared * weighted_variance(basis[-1], times, phi)) / share
    degrees = max(2.0, len(values) * (1 - phi) / (1 + phi) - len(basis))
    return LogInterval.around(dot(values, basis[-1]) / share, inference.two_sided(LEVEL, degrees) * error)


def _is_regular(before: Sequence[float], own: Movement, least: float) -> bool:
    """True for a sawtooth that repeats itself and swings by at least `least`: a step at the change is then
    one of its edges.
    """
    return (
        own.kind is MovementKind.SAWTOOTH
        and own.size > least
        and autocorrelation(before, own.place) >= REGULAR
    )


def _movement(before: Sequence[float], window: int, gap: int) -> Movement:
    found = movement(before, window, gap)
    return found._replace(place=found.place - len(before)) if found.kind is MovementKind.STEP else found


def _blocks(values: Sequence[float], length: int) -> list[float]:
    """Means of complete blocks, from the first value on."""
    return [
        math.fsum(values[start : start + length]) / length
        for start in range(0, len(values) - length + 1, length)
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
