"""Statistical inference: 95 % intervals of means and of differences, verdicts, and their texts.

A verdict (higher, lower, equal, too noisy to tell) follows from a confidence interval, so that one error rate
covers all verdicts: if the interval contains the true difference, none of the first three is false. The
method depends on the data, and is explained at its function:

- two windows of a run, or two runs: circular moving-block bootstrap (`resample`), with `WindowQuantile` for
  percentiles;
- the mean of one short series: Student's t for an autocorrelated series (`estimate_mean`);
- repeated runs: Student's t (`mean_with_interval`);
- starts of servers: one observation for each start (`compare`).

Levels are compared as differences of logarithms (`LogInterval`, `Scale`). A/B tests have methods of their own
(`metrics/ab_analysis.py`).
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import ceil, sqrt
from statistics import NormalDist, fmean, stdev, variance
from typing import NamedTuple, assert_never

from tuibench.base import units
from tuibench.metrics import figures
from tuibench.metrics.figures import MAIN_FIGURES, OTHER_FIGURES, Better, Figure, figure_named
from tuibench.metrics.series import Ranks, count_up_to
from tuibench.model.effect import Comparison, LevelMovement, MovementKind, Verdict
from tuibench.model.findings import Mean, Resource
from tuibench.model.summary import ComparisonVerdict, Contrast
from tuibench.model.sweep import CellResult, SweepPlan, SweepPoint
from tuibench.model.tick import Histogram, Tick, total_tick


@lru_cache(maxsize=4096)
def two_sided(level: float, degrees: float) -> float:
    """The value that |t| exceeds with probability `level`, for Student's t. `degrees` of freedom may be
    fractions, from 1 on. Raises ValueError for a level outside 0 to 1, or fewer degrees.

    Hill, "Algorithm 396: Student's t-quantiles" (Communications of the ACM 13, 1970): within 0.2 % for two
    degrees or more; exact for one, and up to 5 % too large between them.
    """
    if not 0 < level < 1 or degrees < 1:
        raise ValueError(f"no t quantile for level {level} and {degrees} degrees of freedom")
    if degrees == 1:
        return 1 / math.tan(level * math.pi / 2)
    if degrees < 2:
        share = 2 - 2 / degrees
        return math.exp((1 - share) * math.log(two_sided(level, 1)) + share * math.log(two_sided(level, 2)))
    if degrees == 2:
        return math.sqrt(2 / (level * (2 - level)) - 2)
    return _hill(level, degrees)


def _hill(level: float, n: float) -> float:
    a = 1 / (n - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * level) ** (2 / n)
    if y > 0.05 + a:
        y = _near_normal(level, n, a, b, c, d)
    else:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (
            n + 1
        ) / (n + 2) + 1 / y
    return math.sqrt(n * y)


def _near_normal(level: float, n: float, a: float, b: float, c: float, d: float) -> float:
    x = NormalDist().inv_cdf(level / 2)
    y = x * x
    if n < 5:
        c += 0.3 * (n - 4.5) * (x + 0.6)
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return math.expm1(a * y * y)


NORMAL_95 = NormalDist().inv_cdf(0.975)
LEVEL = 0.05

TOLERANCE_PERCENT = 5.0
"""Windows whose difference is certainly smaller are equal."""

NEAR_ZERO = 1e-3
"""The least ratio whose logarithm is used."""

RESAMPLES = 400
"""Number of resampled windows."""
SEED = 1979
"""Fixed, so that the same windows always have the same interval."""

USUAL_PHI, USUAL_WEIGHT = 0.35, 12.0
"""The prior of the autocorrelation: that of a steady load from second to second, and the number of slots for
which it counts.
"""

PHI_MARGIN = 0.3
"""The number of standard errors by which the estimate of φ is raised."""

LARGEST_PHI = 0.9


class RatioSeries(NamedTuple):
    """The numerators and denominators of a ratio, one pair for each slot of a window."""

    above: Sequence[float]
    below: Sequence[float]

    @property
    def ratio(self) -> float:
        return math.fsum(self.above) / math.fsum(self.below)

    @property
    def series(self) -> list[float]:
        return [part / whole if whole else 0.0 for part, whole in zip(self.above, self.below, strict=True)]


class ResampledRatios(NamedTuple):
    """Resampled ratios of two windows."""

    before: list[float]
    after: list[float]
    scale: float
    """The factor by which their deviations from the estimate must be stretched."""


def resample(before: RatioSeries, after: RatioSeries, phi: float | None = None) -> ResampledRatios:
    """Resample both windows independently by the circular moving-block bootstrap. `phi` replaces the
    autocorrelation estimated from the windows.

    Adjacent slots are correlated, so whole blocks of them are drawn (Künsch, Annals of Statistics 17, 1989),
    around the window's end (Politis and Romano, 1992). The middle 95 % of the resampled differences is the
    interval (Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7, 1979). In
    windows of a dozen slots that interval is too narrow for two reasons, which `scale` corrects:

    - percentiles of few values: the interval is expanded to Student's t (Hesterberg, The American
      Statistician 69, 2015);
    - a block cannot contain all of the autocorrelation: the variation that an AR(1) series has beyond the
      block is added (`scatter_correction`).

    In simulation 95 % intervals contain the true value in 90 to 98 of 100 cases, for φ up to 0.6 and twelve
    slots or more.
    """
    rng = random.Random(SEED)
    count = min(len(before.above), len(after.above))
    phi = autocorrelation(before.series, after.series) if phi is None else phi
    block = block_length(phi, count)
    degrees = 2 * (count * (1 - phi) / (1 + phi) - 1)
    scale = two_sided(LEVEL, max(2.0, degrees)) / NORMAL_95 * scatter_correction(phi, count, block)
    return ResampledRatios(_resample_window(before, block, rng), _resample_window(after, block, rng), scale)


def bootstrap_interval(estimate: float, resampled: Sequence[float], scale: float) -> tuple[float, float]:
    """The middle 95 % of the resampled values, stretched by `scale` around the estimate."""
    ordered = sorted(resampled)
    edge = round(0.025 * (len(ordered) - 1))
    low, high = ordered[edge], ordered[-1 - edge]
    return min(estimate, estimate + scale * (low - estimate)), max(
        estimate, estimate + scale * (high - estimate)
    )


def autocorrelation(*windows: Sequence[float]) -> float:
    """A conservative estimate of φ, from 0 to `LARGEST_PHI`, from all windows together.

    The estimate from few slots is corrected for its bias (Marriott and Pope, Biometrika 41, 1954), shrunk
    towards the usual φ of a load, and raised by a part of its standard error.
    """
    products = squares = 0.0
    count = sum(len(window) for window in windows)
    for window in windows:
        mean = math.fsum(window) / len(window)
        off = [value - mean for value in window]
        products += math.fsum(one * other for one, other in pairwise(off))
        squares += math.fsum(value * value for value in off)
    raw = products / squares if squares > 0 else 0.0
    unbiased = min(max(raw + (1 + 3 * raw) * len(windows) / count, 0.0), LARGEST_PHI)
    drawn = (unbiased * count + USUAL_PHI * USUAL_WEIGHT) / (count + USUAL_WEIGHT)
    return min(drawn + PHI_MARGIN / math.sqrt(count), LARGEST_PHI)


def block_length(phi: float, count: int) -> int:
    """Slots of a block: Carlstein's length for AR(1), (2φ/(1−φ²))^(2/3) · n^(1/3) (Annals of Statistics 14,
    1986), at least one slot and at most a third of the window.
    """
    wanted = math.cbrt((2 * phi / (1 - phi * phi)) ** 2 * count)
    return max(1, min(round(wanted), count // 3))


def scatter_correction(phi: float, count: int, block: int) -> float:
    """The ratio of the standard deviation of an AR(1) window's mean to that of its resampled blocks."""
    true = _ar1_variance(phi, count)
    drawn = _ar1_variance(phi, block) - block * true / count
    return math.sqrt(true / max(drawn, 0.05))


def _ar1_variance(phi: float, length: int) -> float:
    """Variance of the mean of `length` slots of an AR(1) series, relative to that of independent slots."""
    return 1 + 2 * math.fsum((1 - lag / length) * phi**lag for lag in range(1, length))


def _resample_window(parts: RatioSeries, block: int, rng: random.Random) -> list[float]:
    """The ratio of `RESAMPLES` windows made of blocks of this one."""
    count = len(parts.above)
    tops, bottoms = _circular_block_sums(parts.above, block), _circular_block_sums(parts.below, block)
    blocks = math.ceil(count / block)
    places = rng.choices(range(count), k=RESAMPLES * blocks)
    ratios = []
    for first in range(0, len(places), blocks):
        chosen = places[first : first + blocks]
        whole = sum(map(bottoms.__getitem__, chosen))
        ratios.append(sum(map(tops.__getitem__, chosen)) / whole if whole else math.nan)
    return ratios


def _circular_block_sums(values: Sequence[float], block: int) -> list[float]:
    """The sum of the block that begins at each slot; a block at the end continues at the beginning."""
    twice = [*values, *values[: block - 1]]
    return [sum(twice[start : start + block]) for start in range(len(values))]


class WindowQuantile:
    """The value below which a share (0 to 1) of a window's latencies lies; the window must not be empty.

    A resampled window's quantile is read from the original merged histogram, at the rank that the resampled
    share of latencies below the quantile indicates (Woodruff, "Confidence intervals for medians and other
    position measures", JASA 47, 1952). So no histograms are merged for the hundreds of resampled windows.
    """

    def __init__(self, histograms: Sequence[Histogram], share: float) -> None:
        self._ranks = Ranks(histograms)
        self._share = share
        self.value_ms = self._ranks.at_ms(share)
        bucket = self._ranks.bucket_at(share)
        self.parts = RatioSeries(
            [float(count_up_to(one, bucket)) for one in histograms], [float(one.count) for one in histograms]
        )
        """The latencies up to the quantile and all latencies, by slot."""

    def read(self, resampled: Sequence[float]) -> list[float]:
        """The value in ms for each resampled share of latencies below the original quantile: a smaller share
        means a higher rank.
        """
        found = self.parts.ratio
        return [
            math.nan if math.isnan(one) else self._ranks.at_ms(self._share + found - one) for one in resampled
        ]


def estimate_difference(figure: str, before: float, after: float, resampled: ResampledRatios) -> Comparison:
    """The absolute and the relative difference of a figure, from its two values and the resampled ones."""
    low, high = bootstrap_interval(
        after - before, _pairwise(resampled, lambda old, new: new - old), resampled.scale
    )
    percent, percent_low, percent_high = None, None, None
    if before > 0:
        edges = _ratio_interval(after / before, resampled)
        percent, percent_low, percent_high = (100 * (ratio - 1) for ratio in (after / before, *edges))
    elif not after:
        percent = percent_low = percent_high = 0.0
    return Comparison(
        figure=figure,
        before=before,
        after=after,
        delta=after - before,
        low=low,
        high=high,
        percent=percent,
        percent_low=percent_low,
        percent_high=percent_high,
        verdict=_verdict((low, high), (percent_low, percent_high)),
        tolerance_percent=TOLERANCE_PERCENT,
    )


def _verdict(difference: tuple[float, float], percents: tuple[float | None, float | None]) -> Verdict:
    """Higher or lower if both intervals exclude zero; equal if the relative interval is within
    the tolerance.
    """
    known = [edge for edge in percents if edge is not None]
    if min(*difference, *known) > 0:
        return Verdict.HIGHER
    if max(*difference, *known) < 0:
        return Verdict.LOWER
    is_equal = bool(known) and max(map(abs, known)) <= TOLERANCE_PERCENT
    return Verdict.EQUAL if is_equal else Verdict.CANNOT_TELL


def _ratio_interval(ratio: float, resampled: ResampledRatios) -> tuple[float, float]:
    """The interval of after / before. It is that of the logarithm, so that it stays above zero, unless the
    ratio is close to zero.
    """
    ratios = _pairwise(resampled, lambda old, new: new / old if old > 0 else math.nan)
    if min(ratio, *ratios) > NEAR_ZERO and max(ratio, *ratios) < 1 / NEAR_ZERO:
        low, high = bootstrap_interval(math.log(ratio), [math.log(one) for one in ratios], resampled.scale)
        return math.exp(low), math.exp(high)
    low, high = bootstrap_interval(ratio, ratios, resampled.scale)
    return max(0.0, low), high


def _pairwise(resampled: ResampledRatios, combine: Callable[[float, float], float]) -> list[float]:
    values = [combine(old, new) for old, new in zip(resampled.before, resampled.after, strict=True)]
    return [value for value in values if not math.isnan(value)] or [0.0]


FEWEST_VALUES = 4
"""With fewer values the mean has no interval."""


class SymmetricEstimate(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    margin: float
    """Half of the interval's width."""


def estimate_mean(values: Sequence[float]) -> SymmetricEstimate:
    """The mean of a settled series. Its margin is a share of the mean; infinite if unknown.

    Adjacent ticks are correlated: n of them are worth n·(1−φ)/(1+φ) independent ones in an AR(1) series (Box,
    Jenkins and Reinsel, Time Series Analysis, ch. 2). φ is the estimate of `autocorrelation`, and Student's t
    has the degrees of freedom that remain.
    """
    count = len(values)
    if not count:
        return SymmetricEstimate(0.0, math.inf)
    mean = math.fsum(values) / count
    if count < FEWEST_VALUES or mean <= 0:
        return SymmetricEstimate(mean, math.inf)
    phi = autocorrelation(values)
    independent = count * (1 - phi) / (1 + phi)
    error = stdev(values) / math.sqrt(independent)
    return SymmetricEstimate(mean, two_sided(LEVEL, max(2.0, independent - 1)) * error / mean)


RUN_FIGURES = (
    "headline",
    "tps",
    "qps",
    "avg_ms",
    "p95_ms",
    "errors",
    "retries",
    "slow_queries",
    "open_tables",
    "questions_per_second",
    "cpu_server",
    "cpu_tuibench",
    "cpu_total",
    "memory_server_bytes",
    "memory_used_bytes",
)
"""Figures of a sweep's run for which the table of figures has another name or another way of reading: counts
since the start of the run, means over its samples, and the largest value of a sample.
"""
MORE = tuple(
    figure.name
    for figure in (*MAIN_FIGURES, *OTHER_FIGURES)
    if figure.name not in RUN_FIGURES and f"{figure.name}_ms" not in RUN_FIGURES
)
"""The other figures of the table."""
COSTS = tuple(
    f"{resource}_per_{operation}" for operation in ("transaction", "query") for resource in Resource
)
"""Figures of the cost of an operation."""
FIGURES = (*RUN_FIGURES, *MORE, *COSTS)
"""All figures of a sweep's run, by name."""


def mean_with_interval(values: Sequence[float]) -> Mean:
    """Mean and 95 % interval by Student's t; at least one value is needed."""
    if len(values) < 2:
        return Mean(mean=values[0], half_width=None, count=1)
    half = two_sided(LEVEL, len(values) - 1) * stdev(values) / sqrt(len(values))
    return Mean(mean=fmean(values), half_width=half, count=len(values))


def sweep_points(plan: SweepPlan, results: Iterable[CellResult]) -> tuple[SweepPoint, ...]:
    """A point for each combination that has a result, in the order of the plan."""
    runs: dict[tuple[str, str, int], list[CellResult]] = {}
    for result in results:
        if result.outcome == "done" and result.figures:
            cell = result.cell
            runs.setdefault((cell.case.name, cell.variant.name, cell.threads), []).append(result)
    wanted = (
        (case.name, variant.name, threads)
        for case in plan.cases
        for variant in plan.variants
        for threads in plan.threads
    )
    points = []
    for own in (runs[key] for key in wanted if key in runs):
        first = own[0]
        known = {name: [run.figures[name] for run in own if name in run.figures] for name in FIGURES}
        points.append(
            SweepPoint(
                case=first.cell.case,
                variant=first.cell.variant,
                threads=first.cell.threads,
                headline=first.headline,
                figures={name: mean_with_interval(values) for name, values in known.items() if values},
                limited=any(run.limited for run in own),
            )
        )
    return tuple(points)


class LogInterval(NamedTuple):
    """A difference of logarithms with its confidence interval; the bounds are infinite if nothing
    is known.
    """

    estimate: float
    low: float
    high: float

    @classmethod
    def around(cls, estimate: float, half_width: float) -> "LogInterval":
        return cls(estimate, estimate - half_width, estimate + half_width)

    @property
    def percent(self) -> "LogInterval":
        """The interval as a relative difference in percent."""
        return LogInterval(*(_percent(bound) for bound in self))

    @property
    def has_edge(self) -> bool:
        """False if nothing is known."""
        return self.low > -math.inf or self.high < math.inf

    def verdict(self, tolerance: float = 0.0) -> Verdict:
        """The verdict. `tolerance` is a share: 0.02 is ±2 %, and 0 never gives "equal".

        A difference that is certainly above zero is "higher" even if it is within the tolerance.
        """
        if self.low > 0:
            return Verdict.HIGHER
        if self.high < 0:
            return Verdict.LOWER
        if tolerance > 0 and math.log1p(-tolerance) <= self.low and self.high <= math.log1p(tolerance):
            return Verdict.EQUAL
        return Verdict.CANNOT_TELL


def _percent(difference: float) -> float:
    try:
        return 100 * math.expm1(difference)
    except OverflowError:
        return math.inf


NEXT_TO_NOTHING = 0.05
"""A level below this share of the highest level counts as zero."""


class Scale(NamedTuple):
    """The scale on which levels are compared: logarithms, so that differences are relative, or shares of
    `unit` if some level is near zero.
    """

    unit: float | None = None

    @classmethod
    def of(cls, first: Iterable[float], other: Iterable[float]) -> "Scale":
        """The scale for two sides: logarithms unless a level is near zero, otherwise relative to the first
        side.

        The logarithms of very small levels vary so much that they would hide a difference.
        """
        first, other = list(first), list(other)
        every = [*first, *other]
        if not every or min(every) > NEXT_TO_NOTHING * max(every):
            return cls()
        return cls(_mean(first) or _mean(other) or 1.0)

    def __call__(self, level: float) -> float:
        return math.log(level) if self.unit is None else level / self.unit

    def level(self, value: float) -> float:
        """The level of a value on this scale."""
        return math.exp(value) if self.unit is None else value * self.unit

    def interval(self, estimate: float, half_width: float) -> LogInterval:
        """estimate ± half_width on this scale, converted to differences of logarithms."""
        found = LogInterval.around(estimate, half_width)
        if self.unit is None:
            return found
        return LogInterval(*(math.log1p(bound) if bound > -1 else -math.inf for bound in found))


def _mean(levels: list[float]) -> float:
    return math.fsum(levels) / len(levels) if levels else 0.0


MOST_SLOTS = 400
"""Slots to which a longer run is merged."""
FEWEST_SLOTS = 5
"""With fewer slots there is no verdict, because the noise cannot be estimated."""


TickSeries = Sequence[Tick]


def compare_figure(figure: Figure, first: TickSeries, other: TickSeries) -> Contrast:
    """Compare the figure of another run with that of the first, relative to the noise of their own ticks.

    A figure that is a ratio of sums over ticks (transactions over seconds, errors over attempts) or a
    percentile of all latencies has an interval, by `resample`. Other figures have a value and no interval.
    """
    before, after = _FigureResampler.of(figure, first), _FigureResampler.of(figure, other)
    if before.value is None or after.value is None:
        return Contrast(value=after.value)
    relative = after.value / before.value if before.value else (1.0 if not after.value else None)
    if min(len(before.parts.above), len(after.parts.above)) < FEWEST_SLOTS:
        percent = None if relative is None else 100 * (relative - 1)
        return Contrast(value=after.value, relative=relative, percent=percent)
    resampled = resample(before.parts, after.parts)
    found = estimate_difference(
        figure.key,
        before.value,
        after.value,
        ResampledRatios(before.read(resampled.before), after.read(resampled.after), resampled.scale),
    )
    return Contrast(
        value=after.value,
        relative=relative,
        percent=found.percent,
        low=found.percent_low,
        high=found.percent_high,
        verdict=judge(figure.better, found.verdict),
    )


def merge_ticks(ticks: Sequence[Tick], most: int = MOST_SLOTS) -> list[Tick]:
    """Merge adjacent ticks evenly to at most `most`. An interval loses no accuracy, because adjacent ticks
    are resampled together anyway.
    """
    length = max(1, ceil(len(ticks) / most))
    return [total_tick(ticks[at : at + length]) for at in range(0, len(ticks), length)]


def judge(better: Better | None, verdict: Verdict) -> ComparisonVerdict:
    """Better or worse, by the figure's direction of improvement; a figure without a direction is equal or
    different.
    """
    match verdict:
        case Verdict.EQUAL:
            return ComparisonVerdict.EQUAL
        case Verdict.CANNOT_TELL | Verdict.NOT_ONLY:
            return ComparisonVerdict.CANNOT_TELL
        case Verdict.HIGHER | Verdict.LOWER if better is None:
            return ComparisonVerdict.DIFFERENT
        case Verdict.HIGHER | Verdict.LOWER:
            return ComparisonVerdict.BETTER if verdict.value == better else ComparisonVerdict.WORSE


class _FigureResampler(NamedTuple):
    """A figure of one run, and how to resample it."""

    value: float | None
    parts: RatioSeries
    """The ratio to resample; empty if the figure has no interval."""
    read: Callable[[list[float]], list[float]]
    """Converts resampled ratios to values of the figure."""

    @classmethod
    def of(cls, figure: Figure, ticks: TickSeries) -> "_FigureResampler":
        if isinstance(figure.source, figures.Quantile) and 0 < figure.source.share < 1:
            histograms = [each for tick in ticks if (each := tick.hist(figure.source.of)).count]
            if not histograms:
                return cls(None, RatioSeries([], []), list)
            quantile = WindowQuantile(histograms, figure.source.share)
            return cls(quantile.value_ms, quantile.parts, quantile.read)
        known = [parts for tick in ticks if (parts := figure.parts(tick)) is not None]
        if not sum(below for _, below in known):
            return cls(figure.value(total_tick(ticks)), RatioSeries([], []), list)
        series = RatioSeries([above for above, _ in known], [below for _, below in known])
        return cls(series.ratio, series, list)


TREND_POINTS, TREND_SHARE = 2.0, 0.1
"""A difference is explained if it deviates from that of the levels by more than this many points and this
share of it.
"""

ALTERNATION = "an A/B test (--ab) alternates the values and decides"


TOO_NOISY = "too noisy to tell"
STILL_WARMING = "still warming up"


# Texts of differences and verdicts: the same on screen, on stderr, in reports and in the record.
def difference_text(one: Comparison) -> str:
    """The difference and its interval: `+43 % (38..49 %)`, `÷420 (300..600)`; in the figure's own unit if
    there is no relative difference.
    """
    difference, interval = difference_and_interval(one)
    return f"{difference} ({interval})" if interval else difference


def difference_and_interval(one: Comparison) -> tuple[str, str]:
    if one.percent is None or one.percent_low is None or one.percent_high is None:
        return units.change_and_interval(one.delta, one.low, one.high)
    return units.difference_and_interval(one.percent, one.percent_low, one.percent_high)


def verdict_text(one: Comparison, *, is_brief: bool = False) -> str:
    """What is known of a difference, to be written after the name of the figure. There are three outcomes:

    - certain: `+42 % (29..58 %)`, `equal within ±5 % (−2..3 %)`
    - real, but not caused by this change alone: `−53 % (−71..−25 %), and other programs took 23 % more CPU`
    - `too noisy to tell (−45..423 %)`, with the reason, if one was found

    `is_brief` leaves out the reasons, for narrow places that show them on lines of their own.
    """
    reason = "" if one.movement is None or is_brief else movement_text(one.movement)
    interval = difference_and_interval(one)[1]
    match one.verdict:
        case Verdict.EQUAL:
            return _equal_text(one, interval, is_brief=is_brief)
        case Verdict.CANNOT_TELL if one.movement is not None and _is_within_tolerance(one):
            return f"{_equal_text(one, interval, is_brief=is_brief)}{', and ' * bool(reason)}{reason}"
        case Verdict.CANNOT_TELL if one.is_warming:
            return STILL_WARMING
        case Verdict.CANNOT_TELL:
            edges = f" ({interval})" if interval else ""
            return f"{TOO_NOISY}{edges}{': ' * bool(reason)}{reason}"
        case Verdict.NOT_ONLY:
            return f"{difference_text(one)}{', and ' * bool(reason)}{reason}"
        case Verdict.HIGHER | Verdict.LOWER:
            return difference_text(one)
        case _:
            assert_never(one.verdict)


def _equal_text(one: Comparison, interval: str, *, is_brief: bool) -> str:
    edges = f" ({interval})" if interval else ""
    return f"equal {'' if is_brief else 'within '}±{one.tolerance_percent:g} %{edges}"


def _is_within_tolerance(one: Comparison) -> bool:
    edges = (one.percent_low, one.percent_high)
    return all(edge is not None and abs(edge) <= one.tolerance_percent for edge in edges)


def least_text(one: Comparison) -> str:
    """The shortest form: `+55 %`, `×84`; `+55 %?` if something else may have contributed, `=` if equal, `?`
    if nothing is known.
    """
    if one.verdict is Verdict.EQUAL:
        return "="
    if one.verdict is Verdict.CANNOT_TELL:
        return "?"
    doubt = "?" if one.verdict is Verdict.NOT_ONLY else ""
    difference = units.signed(one.delta, 2) if one.percent is None else units.difference(one.percent)
    return f"{difference}{doubt}"


def trend_text(one: Comparison) -> str:
    """A note that the difference excludes the trend before the change; empty if the levels alone give about
    the same difference.
    """
    is_without = one.differs and is_without_trend(one)
    return ", corrected for the trend before the change" if is_without else ""


def is_without_trend(one: Comparison) -> bool:
    """True if the levels alone give another difference, because the trend before the change is removed.
    Always False for a difference relative to the other statements.
    """
    if one.percent is None or not one.before or one.others_percent is not None:
        return False
    plain = 100 * (one.after / one.before - 1)
    return abs(plain - one.percent) > max(TREND_POINTS, TREND_SHARE * abs(one.percent))


def control_text(one: Comparison) -> str:
    """A note that COMMIT was compared with the transactions' other statements, and how these changed; empty
    if it was not.
    """
    if one.others_percent is None:
        return ""
    size = abs(one.others_percent)
    word = "more" if one.others_percent > 0 else "less"
    moved = "as much time as before" if size < 1 else f"{size:.0f} % {word} time"
    return f"by COMMIT beside the other statements, which took {moved}"


def movement_reason(one: Comparison) -> str:
    """How the figure's level moved without the change, as a sentence; empty if it did not move."""
    if one.movement is None:
        return ""
    text = movement_text(one.movement)
    return f"{figure_named(one.figure).brief} {text.removeprefix('it ')}" if text.startswith("it ") else text


def movement_text(movement: LevelMovement) -> str:
    """How the level moved without the change: `it was falling by 3 %/s before the change`."""
    amount = units.significant(abs(movement.percent))
    match movement.kind:
        case MovementKind.TREND:
            direction = "falling" if movement.percent < 0 else "rising"
            return f"it was {direction} by {amount} %/s before the change"
        case MovementKind.STEP:
            side = "before" if movement.seconds < 0 else "after"
            when = f"{abs(movement.seconds):.0f} s {side} the change"
            if movement.percent >= 100 * (units.TENFOLD - 1):
                return f"it rose {1 + movement.percent / 100:.0f}-fold {when}"
            return f"it {'fell' if movement.percent < 0 else 'rose'} by {amount} % {when}"
        case MovementKind.SAWTOOTH:
            return f"it was swinging by {amount} % every {movement.seconds:.0f} s before the change"
        case MovementKind.WANDERING:
            return f"it was wandering by {amount} % before the change"
        case MovementKind.UNKNOWN:
            return f"it was watched for only {movement.seconds:.0f} s before the change"
        case MovementKind.WARM_UP:
            return STILL_WARMING
        case MovementKind.HOST:
            direction = "less" if movement.percent < 0 else "more"
            return f"other programs took {amount} % {direction} CPU"


STARTS_LEVEL = 0.045
"""Slightly below 5 %, because Welch's test slightly exceeds its level for a few starts with different
variances.
"""

Starts = Sequence[Sequence[float]]
"""For each start the levels of its runs, of which there is at least one."""


def compare(
    first: Starts, other: Starts, *, level: float = STARTS_LEVEL, scale: Scale | None = None
) -> LogInterval:
    """Compare two groups of independent server starts. The estimate is the difference of the groups' levels
    on the scale; `scale` is given if more groups share one. With a single start on a side there is an
    estimate, but no bounds and no verdict, because the variation between starts is unknown.

    Between starts of one server with the same data 5 to 10 % are usual, within a start less than 2 %. So a
    start is one observation, however long or often it was measured: the logarithms of its runs are averaged.
    Student's t is applied to the starts, with Welch's degrees of freedom for two groups of different variance
    (Biometrika 34, 1947). Kalibera and Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013):
    repetition is needed at the level that varies.
    """
    scale = scale_of_starts(first, other) if scale is None else scale
    a, b = _start_levels(first, scale), _start_levels(other, scale)
    half = _welch(a, b, level) if min(len(a), len(b)) > 1 else math.inf
    return scale.interval(fmean(b) - fmean(a), half)


def scale_of_starts(first: Starts, *others: Starts) -> Scale:
    """The common scale of groups of starts, relative to the level of the first group."""
    runs, *rest = ([run for start in group for run in start] for group in (first, *others))
    scale = Scale.of(runs, chain.from_iterable(rest))
    return scale if scale.unit is None else Scale(level_of_starts(first, Scale(1.0)) or scale.unit)


def level_of_starts(starts: Starts, scale: Scale) -> float:
    """The level of a group: the mean of its starts on the scale; a start counts as the mean of its runs."""
    return scale.level(fmean(_start_levels(starts, scale)))


def _start_levels(starts: Starts, scale: Scale) -> list[float]:
    return [fmean(scale(run) for run in start) for start in starts]


def _welch(a: Sequence[float], b: Sequence[float], level: float) -> float:
    """Half the width of the interval of the difference of means."""
    one, other = variance(a) / len(a), variance(b) / len(b)
    if one + other == 0:
        return 0.0
    degrees = (one + other) ** 2 / (one**2 / (len(a) - 1) + other**2 / (len(b) - 1))
    return two_sided(level, max(1.0, degrees)) * math.sqrt(one + other)
