"""Saturation point of a closed loop, estimated from visits of levels in noise that is correlated in time.

The plateau is the highest throughput of the curve up to the highest level allowed, even if that was not
visited: a curve that bends gently may still rise by a fifth above a level where noise hides the rise. The
saturation point is the lowest level with 95 % of the plateau.

Theory of operation: Bayesian inference over a grid of curves. The logarithm of a visit's throughput is the
sum of

- the curve: at first proportional to the level, then bent, sharply (a queue for a number of servers) or
  gently (Amdahl's law, the Universal Scalability Law), then flat or falling;
- a deviation of the level from any such curve;
- an Ornstein-Uhlenbeck process in time: what other programs take of the host;
- the visit's own noise.

Because of the process, levels that were visited soon after each other are compared with each other, and a
host that is busy for a minute disturbs the comparison little. The size of the process is unknown, so each of
`WANDERINGS` is weighted by its likelihood.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import mul
from typing import NamedTuple

NEAR_PLATEAU = 0.95
LOG_NEAR = math.log(NEAR_PLATEAU)

SHARPNESSES, FALLS = (1.0, 1.6, 3.0, 16.0), (0.0, 0.004, 0.02, 0.1, 0.4, 1.2)
"""Shapes of the grid: how sharply the curve bends, and how much it falls."""
BENDS_PER_OCTAVE = 4
FARTHEST_BEND, NEAREST_BEND = 2.0, 64.0
"""Bends of the grid: the highest as a multiple of the highest level visited, the lowest as that level divided
by this number.
"""

WANDERINGS, WANDERING_SECONDS = (0.01, 0.06, 0.3), 12.0
"""Standard deviations of the process, as logarithms, and its time constant."""
LEVEL_ERROR, OCTAVE_ERROR = 0.01, 0.012
"""The deviation of a level from the curve near the highest throughput, and its increase for each octave away
from that.
"""

FEW_BENDS, LIKELY_WITHIN, FINER = 4, 4.0, 4
"""If no more than this many bends are likely (their log-likelihoods differ from the best by less than the
second number), further bends near them are tried, in steps finer by the third.
"""

LEAST_ERROR = 0.003
GOOD_SHARE, GOOD_EXCESS = 0.9, 2.0
"""A level is a good choice with at least this share of the plateau, and at most this multiple of the
saturation point.
"""
LOG_NEGLIGIBLE = math.log(1e-4)


class Visit(NamedTuple):
    """The throughput of a level at one time of the run."""

    level: float
    tps: float
    at_seconds: float
    error: float
    """Standard error of the throughput's logarithm."""


class CurveShape(NamedTuple):
    """A curve without its factor."""

    bend: float
    """The level at which it bends."""
    sharpness: float
    """The higher, the sharper the bend."""
    fall: float
    """Each further multiple of `bend` divides the throughput by 1 + `fall`, 1 + 2·`fall`, …."""

    def log_tps(self, level: float) -> float:
        ratio = level / self.bend
        bent = math.log(ratio) - math.log1p(ratio**self.sharpness) / self.sharpness
        return bent - math.log1p(self.fall * (ratio - 1)) if ratio > 1 else bent


class Belief(NamedTuple):
    """A curve with its posterior weight."""

    weight: float
    heights: Sequence[float]
    """Logarithms of the throughput at the visited levels, as shares of the plateau."""
    log_plateau: float
    point: float
    """The saturation point."""


class Saturation:
    """What visits tell of the curve, up to the `highest` level allowed and with bends up to twice the highest
    level visited: a curve that still grows there is not saturated.
    """

    def __init__(self, visits: Sequence[Visit], highest: float) -> None:
        self.levels = sorted({visit.level for visit in visits})
        normals = [NormalModel(visits, self.levels, wandering) for wandering in WANDERINGS]
        low, high = self.levels[0], self.levels[-1]
        first = math.floor(BENDS_PER_OCTAVE * math.log2(max(low / 2, high / NEAREST_BEND)))
        last = math.ceil(BENDS_PER_OCTAVE * math.log2(high * FARTHEST_BEND))
        bends = [2 ** (place / BENDS_PER_OCTAVE) for place in range(first, last + 1)]
        shapes, heights, fits = self._fitted(bends, normals)
        likeliest = max(fits)
        near = {shapes[place].bend for score, *_, place in fits if likeliest[0] - score < LIKELY_WITHIN}
        if len(near) <= FEW_BENDS:
            # Only a few bends are likely: try further ones between their neighbours.
            bends = sorted(near)
            step = 2 ** (1 / (BENDS_PER_OCTAVE * FINER))
            ends = range(1 - FINER, FINER)
            finer = sorted({round(bend * step**place, 6) for bend in bends for place in ends})
            shapes, heights, fits = self._fitted(finer, normals)
        best = max(score for score, *_ in fits)
        sums: dict[int, tuple[float, float, float]] = {}
        for score, log_factor, variance, place in fits:
            if score - best > LOG_NEGLIGIBLE:
                weight = math.exp(score - best)
                whole, factor, square = sums.get(place, (0.0, 0.0, 0.0))
                sums[place] = whole + weight, factor + weight * log_factor, square + weight * variance
        total = math.fsum(weight for weight, *_ in sums.values())
        self._variance = math.fsum(square for *_, square in sums.values()) / total
        self.beliefs: list[Belief] = []
        for place, (weight, factor, _) in sums.items():
            plateau, point = summit(shapes[place], max(highest, 2 * self.levels[-1]))
            shares = [height - plateau for height in heights[place]]
            self.beliefs.append(Belief(weight / total, shares, factor / weight + plateau, point))

    def _fitted(
        self, bends: Sequence[float], normals: Sequence["NormalModel"]
    ) -> tuple[list[CurveShape], list[tuple[float, ...]], list[tuple[float, float, float, int]]]:
        """All curves with these bends, and their heights at the levels; and for each curve and deviation the
        logarithms of its weight and factor, the variance of the factor, and the curve's place.
        """
        shapes = [shape for bend in bends for shape in _shapes(bend)]
        heights = [
            height
            for bend in bends
            for height in zip(*(_log_tps(bend, level) for level in self.levels), strict=True)
        ]
        squares = [
            [one * other for place, one in enumerate(height) for other in height[: place + 1]]
            for height in heights
        ]
        fits = []
        for normal in normals:
            for place, (height, square) in enumerate(zip(heights, squares, strict=True)):
                log_likelihood, log_factor = normal.fit(height, square)
                # A priori half of all curves stay flat (a queue, Amdahl's law), and the others fall.
                log_prior = -math.log(len(FALLS) - 1) if shapes[place].fall else 0.0
                fits.append((log_likelihood + log_prior, log_factor, normal.variance, place))
        return shapes, heights, fits

    def reaches(self, level: float, share: float = NEAR_PLATEAU) -> float:
        """The probability that a visited level has this share of the plateau."""
        least, place = math.log(share) - 1e-9, self.levels.index(level)
        return math.fsum(each.weight for each in self.beliefs if each.heights[place] >= least)

    def is_below(self, level: float) -> float:
        """The probability that the saturation point is at most this level."""
        return math.fsum(each.weight for each in self.beliefs if each.point <= level * (1 + 1e-9))

    def chance_of(self, level: float) -> float:
        """The probability that a visited level is a good choice: it has nearly the plateau, with little more
        than the level that this takes.
        """
        least, place = math.log(GOOD_SHARE), self.levels.index(level)
        return math.fsum(
            each.weight
            for each in self.beliefs
            if each.heights[place] >= least and level <= GOOD_EXCESS * each.point
        )

    def point(self, probability: float) -> float:
        """The level that the saturation point does not exceed with this probability."""
        ordered = sorted(self.beliefs, key=lambda each: each.point)
        reached = accumulate(each.weight for each in ordered)
        return next(
            (each.point for each, sum in zip(ordered, reached, strict=True) if sum >= probability),
            ordered[-1].point,
        )

    def log_share(self, level: float) -> float:
        """The expected logarithm of a visited level's throughput, as a share of the plateau."""
        place = self.levels.index(level)
        return math.fsum(each.weight * each.heights[place] for each in self.beliefs)

    @property
    def plateau(self) -> tuple[float, float, float]:
        """The plateau's throughput, and the bounds of its 95 % interval."""
        mean = math.fsum(each.weight * each.log_plateau for each in self.beliefs)
        spread = math.fsum(each.weight * (each.log_plateau - mean) ** 2 for each in self.beliefs)
        half = 1.96 * math.sqrt(spread + self._variance + LEVEL_ERROR**2)
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


@lru_cache(1024)
def _shapes(bend: float) -> tuple[CurveShape, ...]:
    return tuple(CurveShape(bend, sharpness, fall) for sharpness in SHARPNESSES for fall in FALLS)


@lru_cache(8192)
def _log_tps(bend: float, level: float) -> tuple[float, ...]:
    """`CurveShape.log_tps` of all curves with this bend: each visit asks for the same levels again."""
    return tuple(shape.log_tps(level) for shape in _shapes(bend))


@lru_cache(8192)
def summit(shape: CurveShape, highest: float) -> tuple[float, float]:
    """The logarithm of a curve's plateau, and its saturation point, up to a level."""
    peak = _maximum(shape.log_tps, highest) if shape.fall else highest
    plateau = shape.log_tps(peak)
    low, high = 0.5, peak
    for _ in range(24):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if shape.log_tps(middle) >= plateau + LOG_NEAR else (middle, high)
    return plateau, high


def _maximum(height: Callable[[float], float], highest: float) -> float:
    """The place of the maximum of a function with a single maximum."""
    low, high = 0.5, highest
    for _ in range(24):
        left, right = low ** (2 / 3) * high ** (1 / 3), low ** (1 / 3) * high ** (2 / 3)
        low, high = (left, high) if height(left) < height(right) else (low, right)
    return high


class NormalModel:
    """The likelihood of curves with an unknown factor, for one deviation of the process: generalised least
    squares, reduced to a quadratic form of the curve's heights at the levels.
    """

    def __init__(self, visits: Sequence[Visit], levels: Sequence[float], wandering: float) -> None:
        places = [levels.index(visit.level) for visit in visits]
        top = max(visits, key=lambda visit: visit.tps).level
        deviation = [LEVEL_ERROR + OCTAVE_ERROR * abs(math.log2(level / top)) for level in levels]
        factor = cholesky(
            [
                [self._covariance(visits, i, j, wandering, deviation[places[i]]) for j in range(i + 1)]
                for i in range(len(visits))
            ]
        )
        ones = [solve_lower(factor, [float(place == own) for own in places]) for place in range(len(levels))]
        values = solve_lower(factor, [math.log(visit.tps) for visit in visits])
        matrix = [[sum(map(mul, a, b)) for b in ones] for a in ones]
        vector: list[float] = [sum(map(mul, a, values)) for a in ones]
        self._sums: list[float] = [sum(row) for row in matrix]
        self._whole: float = sum(self._sums)
        self._total: float = sum(vector)
        self._products = [
            (matrix[i][j] - self._sums[i] * self._sums[j] / self._whole) * (1 if i == j else 2)
            for i in range(len(levels))
            for j in range(i + 1)
        ]
        """Of the quadratic form, a symmetric matrix: its lower triangle, where other pairs count twice."""
        self._vector = [
            value - row_sum * self._total / self._whole
            for value, row_sum in zip(vector, self._sums, strict=True)
        ]
        determinant = 2 * math.fsum(math.log(row[-1]) for row in factor) + math.log(self._whole)
        self._constant: float = sum(map(mul, values, values)) - self._total**2 / self._whole + determinant

    @staticmethod
    def _covariance(visits: Sequence[Visit], i: int, j: int, wandering: float, deviation: float) -> float:
        one, other = visits[i], visits[j]
        together = wandering**2 * math.exp(-abs(one.at_seconds - other.at_seconds) / WANDERING_SECONDS)
        same = deviation**2 if one.level == other.level else 0.0
        return together + same + (max(one.error, LEAST_ERROR) ** 2 if i == j else 0.0)

    @property
    def variance(self) -> float:
        """The variance of the factor's logarithm."""
        return 1 / self._whole

    def fit(self, height: Sequence[float], square: Sequence[float]) -> tuple[float, float]:
        """The logarithms of a curve's likelihood and of its factor; `square` has the products of its heights,
        row by row of a lower triangle.
        """
        misfit: float = (
            self._constant - 2 * sum(map(mul, self._vector, height)) + sum(map(mul, self._products, square))
        )
        factor: float = (self._total - sum(map(mul, self._sums, height))) / self._whole
        return -misfit / 2, factor


def cholesky(lower: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower triangular factor of a positive definite matrix, given by its lower triangle."""
    rows: list[list[float]] = []
    for i, given in enumerate(lower):
        row: list[float] = []
        for j in range(i):
            row.append((given[j] - sum(map(mul, row, rows[j]))) / rows[j][j])
        row.append(math.sqrt(given[i] - sum(map(mul, row, row))))
        rows.append(row)
    return rows


def solve_lower(factor: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The solution of a lower triangular system."""
    found: list[float] = []
    for row, value in zip(factor, right, strict=True):
        found.append((value - sum(map(mul, row, found))) / row[-1])
    return found
