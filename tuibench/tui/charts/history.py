"""History of a run for the charts, in bounded memory.

A pyramid: the newest ticks singly, and below them ever coarser levels of blocks, each `FACTOR` times as long
as those of the level above. A block merges its ticks: rates are the mean over the measured time, latencies
(also percentiles) are the maximum, counts by latency bucket are sums. So no peak is lost at any zoom.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tuibench.model.histogram import Latency
from tuibench.tui.charts.figures.table import mean_figures, worst_lags

BLOCKS_PER_LEVEL = 4096
"""Blocks kept on each level: more than an hour of single seconds."""
FACTOR = 8
LEVELS = 5
"""Number of levels; the last one holds half a year of seconds."""


CpuShares = tuple[float, float, float]
"""Percent of the whole host: the server, tuibench, other programs."""


class ChartPoint(NamedTuple):
    """One tick, or several merged, for the charts. Load figures are None where the load was not measured.

    `slot` numbers the (last) tick from 1, `seconds` is the measured time, 0 for a gap. `counts` are the
    transactions by latency bucket (see `metrics.histogram`), empty if unknown. `headline` is the profile's
    headline figure, if it has one. `fsyncs` are the server's log fsyncs per transaction; `cpu` is the
    percentage of this host used by server, tuibench and other programs.
    """

    elapsed_seconds: float
    tps: float | None
    qps: float | None
    p95_ms: float | None
    latency: Latency | None = None
    slot: int = 0
    seconds: float = 0.0
    counts: Sequence[int] = ()
    headline: float | None = None
    fsyncs: float | None = None
    cpu: CpuShares | None = None
    ticks: int = 1
    figures: Sequence[float] = ()
    lags: Mapping[str, float] = MappingProxyType({})


Blocks = tuple[ChartPoint, ...]


class ChartHistory:
    """Immutable sequence of points in the order of their slots; `added` returns the next history."""

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
        """Columns `last - count + 1` to `last` of `slots` slots each; None for a column without data.

        Column n holds the slots n·slots + 1 to (n + 1)·slots. `slots` must be a result of `slots_per_column`.
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
        """The points of the same columns before merging, on the coarsest level that is still exact."""
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
    """Cache of the completed columns of the zoom that was drawn last.

    They are the same in every later history, so a tick costs no more than the column it belongs to.
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
    """The coarsest level whose blocks do not cross the borders of such columns."""
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
    )


def sum_counts(counts: Sequence[Sequence[int]]) -> Sequence[int]:
    """Sums of counts by bucket; unknown counts are left out."""
    known = [each for each in counts if each]
    if len(known) < 2:
        return known[0] if known else ()
    return array("Q", map(sum, zip(*known, strict=True)))


def pack_counts(counts: Sequence[int]) -> Sequence[int]:
    """Store counts compactly."""
    return array("Q", counts) if counts else ()


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
