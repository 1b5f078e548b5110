"""Sequential A/B tests: confidence sequences, which are valid at all times simultaneously.

A trial runs windows in pairs, one with A and one with B. A fair coin, independent of everything measured,
decides the order (`random_orders`; the fifth pair has one only if the first four repeat no pattern). The
unit of analysis is the pair's difference of logarithms, B − A. Because of the coin, the noise of that
difference is symmetric around zero whatever the load does meanwhile: a drift, a random walk, a step or a
flushing cycle makes the interval wider, and gives no verdict.

Construction of the interval:

- Drift. The expected growth from the first window to the second, estimated from the pairs before this one, is
  subtracted before the coin's sign is applied. It was fixed before the coin was thrown, so the symmetry
  remains. Without evidence of a drift nothing is subtracted (the estimate is shrunk by its own t value).
- Confidence sequence. For Gaussian differences of unknown mean δ and variance, with the prior
  δ/σ ~ N(0, 1/φ) and the right Haar prior on σ, the Bayes factor against any δ is a test martingale. By
  Ville's inequality it exceeds 1/α at any time with probability at most α. The δ that are not rejected are

  mean ± s/√n · sqrt(ν (1 − q) / (q − r)),    r = φ/(φ + n), ν = n − 1, q = (α √r)^(2/n)

  and all of them as long as q ≤ r. This holds exactly from the first pairs on, unlike asymptotic sequences.
  Lai, "On confidence sequences" (Annals of Statistics 4, 1976); Lindon, Ham, Tingley and Bojinov,
  "Anytime-valid linear models" (arXiv 2210.08589); Wang and Ramdas, "Anytime-valid t-tests and confidence
  sequences for Gaussian means with unknown variance" (2024). Self-normalised sums of symmetric variables
  have lighter tails than Gaussian ones (Efron, JASA 64, 1969), so outliers do not invalidate it.
- Several figures. The error rate of a trial is divided among its figures (`levels`): all intervals of all
  figures hold together with probability 1 − α.
"""

import math
import random
from collections.abc import Sequence
from itertools import pairwise, starmap
from operator import eq
from typing import NamedTuple, TypeVar

from tuibench.metrics.inference.scale import Scale
from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import Verdict

ALPHA = 0.05
"""The probability of any false statement in a trial, over all its figures and its whole duration."""

PRIMARY_SHARE = 0.8
"""Share of α for the figure that stops the trial."""

PHI = 0.5
"""Makes the sequence tightest for differences that five to thirty pairs can detect."""

FEWEST_PAIRS = 3
MOST_PAIRS = 1_000_000
"""The limit of estimates: more pairs count as never."""

NOT_REPEATING = 5
"""So many pairs do not begin a test with one order, or with alternating ones."""


Figure = TypeVar("Figure", bound=str)


class Pair(NamedTuple):
    """Two adjacent windows: the figure under A and under B, and whether A came first."""

    a: float
    b: float
    a_first: bool


class Progress(NamedTuple):
    """The state of a figure in a trial.

    `pairs_needed` estimates the number of further pairs until a verdict: 0 with a verdict, None while
    unknown.
    """

    interval: Interval
    verdict: Verdict
    pairs: int
    pairs_needed: int | None


def random_orders(count: int, seed: int) -> list[bool]:
    """True for each pair in which A comes first, by a fair coin.

    The first five never all have the same order, and never all alternate: under a late effect, windows that
    repeat themselves look the same as under the opposite effect at once.
    """
    rng = random.Random(seed)
    orders = [rng.random() < 0.5 for _ in range(count)]
    if count >= NOT_REPEATING and len(set(starmap(eq, pairwise(orders[:NOT_REPEATING])))) == 1:
        orders[NOT_REPEATING - 1] = not orders[NOT_REPEATING - 1]
    return orders


def levels(figures: Sequence[Figure], primary: Figure, alpha: float = ALPHA) -> dict[Figure, float]:
    """The error rate of each figure; together they are `alpha`. `primary` decides when the trial stops."""
    others = [figure for figure in figures if figure != primary]
    if not others:
        return {primary: alpha}
    rest = alpha * (1 - PRIMARY_SHARE) / len(others)
    return {primary: alpha * PRIMARY_SHARE} | dict.fromkeys(others, rest)


def progress(
    pairs: Sequence[Pair], *, alpha: float, tolerance: float = 0.0, is_estimated: bool = True
) -> Progress:
    """The result of a figure's pairs, in the order of measurement.

    `tolerance` is the share within which A and B count as equal. Estimating `pairs_needed` is optional,
    because it takes most of the time.
    """
    observed = differences(pairs)
    count = len(observed)
    if count < 2:
        return Progress(Interval(math.nan, -math.inf, math.inf), Verdict.CANNOT_TELL, count, None)
    mean = math.fsum(observed) / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in observed) / (count - 1))
    interval = _scale(pairs).interval(mean, half_width(count, deviation, alpha))
    verdict = interval.verdict(tolerance) if count >= FEWEST_PAIRS else Verdict.CANNOT_TELL
    if verdict is not Verdict.CANNOT_TELL:
        return Progress(interval, verdict, count, 0)
    if not is_estimated:
        return Progress(interval, verdict, count, None)
    needed = pairs_until(interval.estimate, deviation, alpha=alpha, tolerance=tolerance, done=count)
    return Progress(interval, verdict, count, needed)


def differences(pairs: Sequence[Pair]) -> list[float]:
    """B − A of each pair, with the drift estimated from earlier pairs subtracted.

    Differences of logarithms; if a figure was zero in some window (fsyncs with a durability of 0), shares
    of the mean level under A instead.
    """
    level = _scale(pairs)
    drift, observed = _Drift(), []
    for pair in pairs:
        sign = 1.0 if pair.a_first else -1.0
        growth = sign * (level(pair.b) - level(pair.a))
        observed.append(sign * (growth - drift.estimate()))
        drift.add(sign, growth)
    return observed


def half_width(count: int, deviation: float, alpha: float, phi: float = PHI) -> float:
    """Half the width of the confidence sequence after `count` pairs; infinite while there is no bound."""
    if count < 2:
        return math.inf
    ratio = phi / (phi + count)
    q = (alpha * math.sqrt(ratio)) ** (2 / count)
    if q <= ratio:
        return math.inf
    return deviation * math.sqrt((count - 1) * (1 - q) / (q - ratio) / count)


def pairs_until(mean: float, deviation: float, *, alpha: float, tolerance: float, done: int) -> int | None:
    """The number of further pairs until a verdict, at constant mean and deviation; None if none is
    reached.
    """

    def is_decided(count: int) -> bool:
        interval = Interval.around(mean, half_width(count, deviation, alpha))
        return interval.verdict(tolerance) is not Verdict.CANNOT_TELL

    high = max(done, FEWEST_PAIRS)
    while not is_decided(high):
        high *= 2
        if high > MOST_PAIRS:
            return None
    low = max(done, high // 2)
    while low < high:
        middle = (low + high) // 2
        if is_decided(middle):
            high = middle
        else:
            low = middle + 1
    return max(high - done, 1)


def _scale(pairs: Sequence[Pair]) -> Scale:
    return Scale.of((pair.a for pair in pairs), (pair.b for pair in pairs))


class _Drift:
    """Growth from a pair's first window to its second that is independent of A and B.

    Least squares of the growth on a constant and the order, in running sums.
    """

    FEWEST = 4
    """Two parameters, and two degrees of freedom for their error."""

    def __init__(self) -> None:
        self._count = 0
        self._signs = self._growths = self._products = self._squares = 0.0

    def add(self, sign: float, growth: float) -> None:
        self._count += 1
        self._signs += sign
        self._growths += growth
        self._products += sign * growth
        self._squares += growth * growth

    def estimate(self) -> float:
        """The drift, shrunk to zero unless it exceeds its standard error (positive-part James and Stein)."""
        n, balance = self._count, self._count**2 - self._signs**2
        if n < self.FEWEST or balance <= 0:
            return 0.0
        drift = (n * self._growths - self._signs * self._products) / balance
        effect = (n * self._products - self._signs * self._growths) / balance
        residual = max(0.0, self._squares - drift * self._growths - effect * self._products) / (n - 2)
        variance = residual * n / balance
        return drift * max(0.0, 1 - 2 * variance / drift**2) if drift else 0.0
