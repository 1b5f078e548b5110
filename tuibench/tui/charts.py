"""The content of the charts: history, time grid, cursor, comparison of two spans, scales.

The history has bounded memory. It keeps the newest ticks unmerged, and older ones in levels of blocks, each
`FACTOR` times as long as those of the level before. A block merges its ticks so that no peak is lost: rates
are the mean over the measured time, latencies (also percentiles) the maximum, counts by latency bucket the
sum.

Columns are aligned to the start of the run. A column therefore keeps its ticks while the chart moves, so that
merged columns do not flicker. At the start of a run each tick is two columns wide, until the ticks need the
whole width. The cursor is a time range of the run, and keeps its position in the data.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from tuibench.base.units import axis_maximum, axis_maximum_of_bytes
from tuibench.metrics.figures import FIGURES, read
from tuibench.metrics.inference import RatioSeries, estimate_difference, resample
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import Comparison
from tuibench.model.tick import RESPONSE, Latency, Sample, Tick, coarse_counts
from tuibench.tui.figures import mean_figures, read_figures, read_lags, worst_lags

BLOCKS_PER_LEVEL = 4096
"""Number of blocks kept on each level: on the first one, more than an hour of seconds."""
FACTOR = 8
LEVELS = 5
"""Number of levels; the last one holds half a year of seconds."""


CpuShares = tuple[float, float, float]
"""CPU usage in percent of the whole host: the server, tuibench, other programs."""


class TimeAccount(NamedTuple):
    """How the connections spent their time."""

    seconds: float
    """The time that the account covers. On a busy host it may include the time of earlier ticks."""
    completed: float
    """The transactions in this time."""
    spent: Sequence[float]
    """The seconds of all connections in each `WaitClass`."""


class ChartPoint(NamedTuple):
    """One tick, or several merged ones, for the charts. Unknown figures are None."""

    elapsed_seconds: float
    tps: float | None
    qps: float | None
    p95_ms: float | None
    latency: Latency | None = None
    slot: int = 0
    """The number of the (last) tick, from 1."""
    seconds: float = 0.0
    """The measured time; 0 for a gap."""
    counts: Sequence[int] = ()
    """The transactions by latency bucket, see `model.tick.Histogram`; empty if unknown."""
    headline: float | None = None
    """The profile's headline figure, if it has one."""
    fsyncs: float | None = None
    """The server's fsyncs of the redo log per transaction."""
    cpu: CpuShares | None = None
    ticks: int = 1
    """The number of merged ticks."""
    figures: Sequence[float] = ()
    """The values of all figures, see `figures.read_figures`."""
    lags: Mapping[str, float] = MappingProxyType({})
    """The lag of each replica in seconds, by name."""
    account: TimeAccount | None = None


Blocks = tuple[ChartPoint, ...]


class ChartHistory:
    """An immutable sequence of points in the order of their slots; `added` returns the next history."""

    def __init__(
        self, levels: tuple[Blocks, ...] = ((),) * LEVELS, cache: "ColumnCache | None" = None
    ) -> None:
        self.levels = levels
        self._cache = ColumnCache() if cache is None else cache

    @classmethod
    def of(cls, points: Iterable[ChartPoint]) -> "ChartHistory":
        """A history of these points."""
        levels = [tuple(points)]
        for level in range(1, LEVELS):
            levels.append(_blocks(levels[-1], FACTOR**level))
        return cls(tuple(level[-BLOCKS_PER_LEVEL:] for level in levels))

    def added(self, point: ChartPoint) -> "ChartHistory":
        """The history with this tick appended."""
        levels = tuple(_append(level, point, FACTOR**n) for n, level in enumerate(self.levels))
        return ChartHistory(levels, self._cache)

    @property
    def points(self) -> Blocks:
        """The newest ticks, not merged."""
        return self.levels[0]

    @property
    def first_slot(self) -> int:
        """First slot of the oldest point that is kept; 1 while empty."""
        for number, level in enumerate(self.levels):
            if len(level) < BLOCKS_PER_LEVEL or number == LEVELS - 1:
                return max(1, _block_start(level[0], FACTOR**number)) if level else 1
        raise AssertionError

    @property
    def last_slot(self) -> int:
        return self.points[-1].slot if self.points else 0

    def between(self, start_seconds: float, end_seconds: float) -> Blocks:
        """Points of a time range, on the finest level that reaches back to its start."""
        for level in self.levels:
            if len(level) < BLOCKS_PER_LEVEL or level[0].elapsed_seconds <= start_seconds:
                break
        return tuple(point for point in level if start_seconds < point.elapsed_seconds <= end_seconds)

    def window(self, slots: int, last: int, count: int) -> list[ChartPoint | None]:
        """The merged points of `count` columns up to the column `last`; None for a column without data.

        Column n contains the slots n·slots + 1 to (n + 1)·slots. `slots` must be a result of
        `slots_per_column`.
        """
        known = self._cache.of(slots)
        finished = (self.last_slot - 1) // slots
        wanted = range(last - count + 1, last + 1)
        missing = [column for column in wanted if column >= finished or column not in known]
        if missing:
            groups = self.groups(slots, last, last - missing[0] + 1)
            fresh = {missing[0] + n: merge_points(group) if group else None for n, group in enumerate(groups)}
            known = known | fresh
            self._cache.keep({column: point for column, point in fresh.items() if column < finished})
        return [known[column] for column in wanted]

    def groups(self, slots: int, last: int, count: int) -> list[list[ChartPoint]]:
        """The points of the same columns before they are merged, on the coarsest level that is exact."""
        first = last - count + 1
        groups: list[list[ChartPoint]] = [[] for _ in range(count)]
        for point in reversed(self.levels[coarsest_level(slots)]):
            column = (point.slot - 1) // slots - first
            if column < 0:
                break
            if column < count:
                groups[column].append(point)
        return groups


class ColumnCache:
    """A cache of the complete columns of the zoom that was drawn last.

    They are the same in every later history, so that for a new tick only its own column is merged.
    """

    def __init__(self) -> None:
        self._slots = 0
        self._known: dict[int, ChartPoint | None] = {}

    def of(self, slots: int) -> dict[int, ChartPoint | None]:
        """The cached columns of this number of slots."""
        if slots != self._slots or len(self._known) > BLOCKS_PER_LEVEL:
            self._slots, self._known = slots, {}
        return self._known

    def keep(self, columns: dict[int, ChartPoint | None]) -> None:
        self._known.update(columns)


def slots_per_column(slots: float, count: int) -> int:
    """Number of slots per column so that `count` columns show at least `slots` slots."""
    wanted = max(1, math.ceil(slots))
    for level in range(LEVELS):
        unit = int(FACTOR**level)
        whole = math.ceil(wanted / unit) * unit
        if whole * count <= (BLOCKS_PER_LEVEL - 1) * unit or level == LEVELS - 1:
            return whole
    raise AssertionError


def coarsest_level(slots: int) -> int:
    """The coarsest level whose blocks do not cross the borders of columns with this number of slots."""
    return max(level for level in range(LEVELS) if slots % FACTOR**level == 0)


def merge_points(points: Sequence[ChartPoint]) -> ChartPoint:
    """Merge points into one."""
    if len(points) == 1:
        return points[0]
    newest = max(points, key=lambda point: point.slot)
    return ChartPoint(
        elapsed_seconds=newest.elapsed_seconds,
        tps=_mean([(point.tps, point.seconds) for point in points]),
        qps=_mean([(point.qps, point.seconds) for point in points]),
        p95_ms=_worst([point.p95_ms for point in points]),
        latency=_worst_latency([point.latency for point in points]),
        slot=newest.slot,
        seconds=sum(point.seconds for point in points),
        counts=sum_counts([point.counts for point in points]),
        headline=_mean([(point.headline, point.seconds) for point in points]),
        fsyncs=_mean([(point.fsyncs, point.seconds) for point in points]),
        cpu=_mean_shares([(point.cpu, point.ticks) for point in points]),
        ticks=sum(point.ticks for point in points),
        figures=mean_figures([(point.figures, point.ticks) for point in points]),
        lags=worst_lags([point.lags for point in points]),
        account=whole_account(point.account for point in points),
    )


def sum_counts(counts: Sequence[Sequence[int]]) -> Sequence[int]:
    """Sums of counts by bucket; unknown counts are left out."""
    known = [each for each in counts if each]
    if len(known) < 2:
        return known[0] if known else ()
    return array("Q", map(sum, zip(*known, strict=True)))


def _mean(values: Sequence[tuple[float | None, float]]) -> float | None:
    known = [(value, seconds) for value, seconds in values if value is not None]
    whole = sum(seconds for _, seconds in known)
    return sum(value * seconds for value, seconds in known) / whole if whole > 0 else None


def _mean_shares(shares: Sequence[tuple[CpuShares | None, int]]) -> CpuShares | None:
    known = [(each, ticks) for each, ticks in shares if each is not None]
    if not known:
        return None
    whole = sum(ticks for _, ticks in known)
    server, own, rest = (sum(each[part] * ticks for each, ticks in known) / whole for part in range(3))
    return server, own, rest


def whole_account(accounts: Iterable[TimeAccount | None]) -> TimeAccount | None:
    """The sum of the accounts; None if there are none."""
    known = [each for each in accounts if each is not None]
    if len(known) < 2:
        return known[0] if known else None
    return TimeAccount(
        sum(each.seconds for each in known),
        sum(each.completed for each in known),
        array("f", map(sum, zip(*(each.spent for each in known), strict=True))),
    )


def _worst(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _worst_latency(latencies: Sequence[Latency | None]) -> Latency | None:
    """Maximum of each latency figure."""
    known = [each for each in latencies if each is not None]
    if len(known) < 2:
        return known[0] if known else None
    return Latency(**{name: max(getattr(each, name) for each in known) for name in Latency.__struct_fields__})


def _block_start(point: ChartPoint, unit: int) -> int:
    return (point.slot - 1) // unit * unit + 1


def _blocks(points: Sequence[ChartPoint], unit: int) -> Blocks:
    level: list[list[ChartPoint]] = []
    for point in points:
        if level and _block_start(level[-1][-1], unit) == _block_start(point, unit):
            level[-1].append(point)
        else:
            level.append([point])
    return tuple(merge_points(block) for block in level)


def _append(level: Blocks, point: ChartPoint, unit: int) -> Blocks:
    if level and _block_start(level[-1], unit) == _block_start(point, unit):
        return (*level[:-1], merge_points((level[-1], point)))
    return (*level[-(BLOCKS_PER_LEVEL - 1) :], point)


SLOT_TOLERANCE = 1e-6
STARTING_CELLS = 2


class Zoom(NamedTuple):
    """A zoom of the charts."""

    label: str
    seconds: float
    """The minimum time that the charts show; 0 for one tick per column."""


ZOOMS = (
    Zoom("1 min", 0),
    Zoom("5 min", 300),
    Zoom("15 min", 900),
    Zoom("60 min", 3600),
    Zoom("all", math.inf),
)


class TimeGrid(NamedTuple):
    """The assignment of slots to the columns of a chart, in blocks of equal length."""

    slots: int
    """The number of slots in a block."""
    last: int
    """The number of the newest block, counted from the start of the run."""
    columns: int
    interval_seconds: float
    """The length of a slot."""
    cells: int = 1
    """The number of columns in which a block is drawn."""

    @property
    def column_seconds(self) -> float:
        return self.slots * self.interval_seconds / self.cells

    @property
    def blocks(self) -> int:
        """Number of visible blocks; the leftmost one may be partly visible."""
        return -(-self.columns // self.cells)

    def column_of(self, slot: int) -> int:
        """First column of a tick, counted from the left; not visible if outside 0 to `columns` − 1."""
        return ((slot - 1) // self.slots - self.last - 1) * self.cells + self.columns

    def column_at(self, elapsed_seconds: float) -> int:
        """Column of a time: that of the first tick that ends after it."""
        return self.column_of(math.ceil(elapsed_seconds / self.interval_seconds - SLOT_TOLERANCE))

    def stretch_of(self, column: int) -> tuple[float, float]:
        """Start and end of the block of a column, in seconds into the run."""
        seconds = self.slots * self.interval_seconds
        end = (self.last - (self.columns - 1 - column) // self.cells + 1) * seconds
        return end - seconds, end


def make_grid(history: ChartHistory, zoom: Zoom, count: int, interval_seconds: float) -> TimeGrid:
    """Grid of a chart that is `count` cells wide, with the newest column at its right edge."""
    known = history.last_slot - history.first_slot + 1
    if not zoom.seconds:
        wanted = 1.0
    elif math.isinf(zoom.seconds):
        # One column more, because the first and the last one may be partial.
        wanted = known / max(count - 1, 1)
    else:
        wanted = zoom.seconds / interval_seconds / count
    slots = slots_per_column(wanted, count)
    is_young = not zoom.seconds and known * STARTING_CELLS <= count
    cells = STARTING_CELLS if is_young else 1
    return TimeGrid(slots, (history.last_slot - 1) // slots, count, interval_seconds, cells)


def chart_point(sample: Sample, interval_seconds: float) -> ChartPoint:
    """The chart point of a sample."""
    host = sample.shown_host
    point = ChartPoint(
        sample.elapsed_seconds,
        None,
        None,
        None,
        slot=round(sample.elapsed_seconds / interval_seconds),
        fsyncs=read("fsyncs", sample.server),
        cpu=None if host is None else cpu_shares(host),
        figures=read_figures(sample),
        lags=read_lags(sample),
        account=_account(sample.tick),
    )
    load = sample.throughput
    if load is None:
        return point
    latency = sample.latency if load is sample.tick else load.hist(RESPONSE).latency()
    counts = coarse_counts(load.hist(RESPONSE))
    return point._replace(
        tps=read("tps", load) or 0.0,
        qps=read("qps", load) or 0.0,
        p95_ms=latency.p95 if latency else None,
        latency=latency,
        seconds=load.seconds,
        counts=array("Q", counts) if counts else (),
        headline=read("headline", sample.load),
    )


def _account(tick: Tick) -> TimeAccount | None:
    seconds = tick.sums.get(TIME + "seconds", 0.0)
    if not seconds:
        return None
    spent = array("f", [tick.sums[wait.key] / 1e6 for wait in WaitClass])
    return TimeAccount(seconds, tick.sums[TIME + "completed"], spent)


def cpu_shares(host: Tick) -> CpuShares:
    """The CPU usage of a host by group of processes."""
    server, own, rest = (read(f"cpu_{name}", host) or 0.0 for name in ("server", "tuibench", "rest"))
    return server, own, rest


# Comparison of two spans by TPS, QPS and p95, with 95 % intervals of `metrics.inference`. The p95 of a span
# is the mean of its samples' p95, weighted by their transactions, because a viewer has no histograms to
# merge.

MIN_POINTS = 4
"""Minimum number of measured points in each span."""


Spans = tuple[Comparison, ...] | str
"""The differences between span A and span B, or the reason why there are none."""


def compare_spans(points: Sequence[ChartPoint], a: tuple[float, float], b: tuple[float, float]) -> Spans:
    """Compare the points measured within two spans; the start of a span is exclusive."""
    before, after = (
        [point for point in points if span[0] < point.elapsed_seconds <= span[1] and point.tps is not None]
        for span in (a, b)
    )
    for name, found in (("A", before), ("B", after)):
        if len(found) < MIN_POINTS:
            return f"span {name} has {len(found)} measured points, {MIN_POINTS} are needed"
    compared = (
        _ratio_comparison("tps", _rate_parts(before, "tps"), _rate_parts(after, "tps")),
        _ratio_comparison("qps", _rate_parts(before, "qps"), _rate_parts(after, "qps")),
        _ratio_comparison("p95", _latency_parts(before), _latency_parts(after)),
    )
    return tuple(one for one in compared if one is not None)


def _rate_parts(points: Sequence[ChartPoint], name: str) -> RatioSeries:
    return RatioSeries(
        [getattr(point, name) * point.seconds for point in points], [point.seconds for point in points]
    )


def _latency_parts(points: Sequence[ChartPoint]) -> RatioSeries | None:
    known = [
        (point.p95_ms, (point.tps or 0.0) * point.seconds) for point in points if point.p95_ms is not None
    ]
    return (
        RatioSeries([p95 * count for p95, count in known], [count for _, count in known]) if known else None
    )


def _ratio_comparison(name: str, before: RatioSeries | None, after: RatioSeries | None) -> Comparison | None:
    if before is None or after is None or not sum(before.below) or not sum(after.below):
        return None
    return estimate_difference(FIGURES[name].key, before.ratio, after.ratio, resample(before, after))


TimeRange = tuple[float, float]
"""Start and end, in seconds into the run."""

MAX_MARKS = 4
MAX_FIGURES = 4
"""Maximum number of figures on the charts of a screen."""


class ChartState(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's choices for the charts."""

    zoom: int = 0
    """An index into `ZOOMS`."""
    cursor: TimeRange | None = None
    """The time range of the selected column; None without a cursor."""
    marks: tuple[TimeRange, ...] = ()
    """The columns marked for a comparison: both ends of span A, then of B."""
    difference: Spans | None = None
    """The comparison, once there are four marks."""
    pins: tuple[int, ...] = ()
    """The changes whose effects are pinned, by their last marker: one, or two that are compared."""
    clock: bool = False
    """Whether the axis shows the time of day."""
    figures: tuple[str, ...] | None = None
    """The keys of the figures on the charts of the lists; None if each screen shows its own."""
    on_live: tuple[str, ...] = ()
    """The keys of figures added to the first screen."""
    slots: tuple[str, ...] = ()
    """The names of the figures on the three charts of the first screen; empty for the default."""

    @property
    def zoomed(self) -> Zoom:
        return ZOOMS[self.zoom]

    @property
    def is_engaged(self) -> bool:
        """True if there is a cursor, a span or a pin to clear."""
        return self.cursor is not None or bool(self.marks) or bool(self.pins)

    def points_at(self, elapsed_seconds: float) -> bool:
        """True if the cursor is at this time."""
        return self.cursor is not None and self.cursor[0] < elapsed_seconds <= self.cursor[1]

    @property
    def spans(self) -> tuple[TimeRange, ...]:
        """Spans A and B, as far as they are marked; a span with one mark consists of the marked column."""
        pairs = (self.marks[:2], self.marks[2:])
        return tuple((min(start for start, _ in pair), max(end for _, end in pair)) for pair in pairs if pair)


# Scales. The lower bound of a chart is zero, unless all values are far from zero and differ: otherwise the
# bars of a buffer pool that is 97 to 98 % full would fill every cell. A chart of a rate always starts at
# zero, so that its bars are proportional to the rate.

NEAR_ZERO, LEAST_SPREAD = 0.5, 0.005
"""The axis starts above zero if all values exceed the share `NEAR_ZERO` of the maximum, and differ by more
than the share `LEAST_SPREAD` of it.
"""
_STEPS = 4
"""Number of steps of an axis that does not start at zero."""


class ValueRange(NamedTuple):
    """Values at the lower and the upper edge of a chart."""

    base: float
    top: float


def baseline(least: float, most: float) -> float:
    """The lower bound of a sparkline: zero, unless all values are far from zero and differ.

    The minimum is then drawn at a third of the height, so that it is not mistaken for zero.
    """
    spread = most - least
    if least < NEAR_ZERO * most or spread < LEAST_SPREAD * most:
        return 0.0
    return least - spread / 2


def chart_scale(values: Sequence[float], *, may_rise: bool, is_bytes: bool = False) -> ValueRange:
    """Rounded axis bounds for these values. With `may_rise` the lower bound may be above zero; with
    `is_bytes` the bounds are round in binary units.
    """
    most = max(values, default=0.0)
    base = baseline(min(values, default=0.0), most) if may_rise else 0.0
    rounded = axis_maximum_of_bytes if is_bytes else axis_maximum
    if not base:
        return ValueRange(0.0, rounded(most))
    step = rounded((most - base) / _STEPS)
    return ValueRange(math.floor(base / step) * step, math.ceil(most / step) * step)
