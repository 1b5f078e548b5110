"""When a level changed: with the change, gradually from it on, or at another time.

The courses that a change may cause begin with it: a step within the first few ticks, or an exponential
approach. Every other step belongs to something else, or to a change that acts late; a single change cannot
tell these apart. The courses are fitted to all ticks before and after the change, beside a straight line and
with errors of AR(1), by generalised least squares (Prais and Winsten: each tick minus φ times the one before
it), which finds a sudden step even in a wandering level. A further step is found by its likelihood ratio,
maximal over all places (Chang, Tiao and Chen, Technometrics 30, 1988).
"""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from operator import add, mul
from typing import NamedTuple

from tuibench.metrics.inference.effects.autoregression import dot, orthonormal, phi_of, without

STEP_GAIN, ALONE_GAIN = 16.0, 6.0
"""The least doubled logarithm of the likelihood ratio that shows a step beside the change's own course, or
instead of it.
"""

COURSE_GAIN, APPROACH_GAIN = 9.0, 4.0
"""The same for a course of the change's own beside a further step, and for an approach instead of a step."""

PLAUSIBLE_GAIN = 4.0
"""Approaches whose doubled log-likelihoods differ by less are equally plausible."""

APPROACHES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
"""Time constants of an approach, in ticks."""

ROUNDING = 1e-14
"""The share of a series' squares below which residuals are rounding errors."""

FEWEST_BEFORE, FEWEST_AT_END = 2, 3
"""The least number of ticks between a step and the change, and between a step and the ends of the series."""


class Onset(NamedTuple):
    """What moved beside the change's own step.

    `place` is the first tick of a further step, counted from the first one after the change and negative
    before it; its `height` is 0 without one. `slowest` is the largest plausible time constant of an approach,
    in ticks; 0 if the level stepped.
    """

    place: int = 0
    height: float = 0.0
    slowest: float = 0.0


def onset(before: Sequence[float], after: Sequence[float], gap: int, late: int) -> Onset:
    """Find a further step, and an approach. `after` begins with the change, `gap` ticks after `before`; a
    step up to tick `late` of it is the change's own.
    """
    values, join = [*before, *after], len(before)
    count = len(values)
    times = [float(place if place < join else place + gap) for place in range(count)]
    own = [_step(count, join + delay) for delay in range(min(late + 1, len(after) - 1))]
    slow = [_approach(times, join, constant) for constant in APPROACHES]
    places = [
        place
        for place in range(FEWEST_AT_END, count - FEWEST_AT_END + 1)
        if place <= join - FEWEST_BEFORE or place > join + late
    ]
    line = [[1.0] * count, times]
    degrees = count - 4

    def fit(*columns: list[float]) -> _Fit:
        return _Fit(values, [*line, *columns], times, phi)

    def beside(courses: Sequence[list[float]]) -> tuple[list[float], _Step]:
        """The best of the change's courses with the best step beside it."""
        found = min((fit(one).best_step(places) for one in own), key=lambda step: step.squares)
        course = max(courses, key=fit(_step(count, found.place)).gain)
        return course, fit(course).best_step(places)

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
    is_step = _log_ratio(plain.squares, alone.squares, degrees) >= STEP_GAIN
    if is_step and _log_ratio(with_change, alone.squares, degrees) >= ALONE_GAIN:
        return Onset(alone.place - join, alone.height)
    slowest = _slowest(plain, own, slow, degrees)
    # Where the change seems to act slowly, a step may explain as much, alone or beside the change's own.
    for step, less in ((alone, plain.squares), (beside(own)[1], stepped)) if slowest else ():
        is_plausible = _log_ratio(approached, step.squares, degrees) >= -PLAUSIBLE_GAIN
        if is_plausible and _log_ratio(less, step.squares, degrees) >= STEP_GAIN:
            return Onset(step.place - join, step.height, slowest)
    return Onset(slowest=slowest)


def _slowest(
    fit: "_Fit", own: Iterable[Sequence[float]], slow: Sequence[Sequence[float]], degrees: int
) -> float:
    """The largest plausible time constant; 0 if an approach does not explain more than a step does."""
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
    """The doubled logarithm of the likelihood ratio of two fits; 0 if there is no noise to compare with."""
    return degrees * math.log(squares / less) if min(squares, less) > 0 else 0.0


class _Fit:
    """A least-squares fit of columns to a series, each tick freed from what φ carries over."""

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
        """What a further column explains of the sum of squares."""
        freed = self._freed(column)
        whole = dot(freed, freed)
        rest = whole - sum(dot(freed, one) ** 2 for one in self._basis)
        if rest <= 1e-9 * whole:
            return 0.0
        return min(dot(self._residuals, freed) ** 2 / rest, self.squares - self._rounding)

    def best_step(self, places: Sequence[int]) -> "_Step":
        """The step that explains most."""
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
        """The products of a vector and a step from each place on."""
        return list(map(add, map(mul, self._scale, values), self._later(rises, values)))

    @staticmethod
    def _later(rises: Sequence[float], values: Sequence[float]) -> list[float]:
        """The sums of the products after each place."""
        products = map(mul, reversed(rises), reversed(values))
        return [*accumulate(products, initial=0.0)][-2::-1]


class _Step(NamedTuple):
    """A step: the tick it begins with, its height, and the sum of squares that it leaves."""

    place: int
    height: float
    squares: float


def _step(count: int, place: int) -> list[float]:
    return [0.0] * place + [1.0] * (count - place)


def _approach(times: Sequence[float], join: int, constant: float) -> list[float]:
    """An exponential approach that begins with the change, half a tick before the first one after it."""
    start = times[join] - 0.5 if join < len(times) else 0.0
    return [1 - math.exp(-(time + 0.5 - start) / constant) if time >= start else 0.0 for time in times]
