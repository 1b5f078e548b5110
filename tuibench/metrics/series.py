"""Series of a run: growth of counters, end of a transient, ranks of latencies; slow transactions in words.

An unknown figure is None, never zero: a counter that is missing on either side, or that decreased.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from tuibench.base.units import hms, milliseconds, pluralize
from tuibench.model.tick import (
    US_PER_MS,
    Histogram,
    SlowTransaction,
    TimedStatement,
    bucket_upper_bound,
    merge_histograms,
    rank_of,
)

MOST_GROWTH = 2**53
"""The limit of a counter's growth between two readings. Integers up to it are exact in floating point, and
the sums of many such values fit in 64 bits.
"""


class CounterInterval(msgspec.Struct, frozen=True, kw_only=True):
    """The growth of counters between two readings."""

    seconds: float
    """Time between the readings."""
    deltas: dict[str, int]
    """Growth of the counters that both readings have, that did not decrease, and that grew by at most
    `MOST_GROWTH`.
    """
    went_back: tuple[str, ...] = ()
    """Counters that decreased, which indicates a restart or a reset in between."""

    @property
    def reset(self) -> bool:
        return bool(self.went_back)


def counter_interval(before: Mapping[str, int], after: Mapping[str, int], seconds: float) -> CounterInterval:
    """Compare two readings of cumulative counters."""
    deltas = {name: after[name] - value for name, value in before.items() if name in after}
    return CounterInterval(
        seconds=seconds,
        deltas={name: delta for name, delta in deltas.items() if 0 <= delta <= MOST_GROWTH},
        went_back=tuple(name for name, delta in deltas.items() if delta < 0),
    )


def growth(before: float | None, after: float | None) -> float | None:
    """The growth of one cumulative counter; None if unknown on either side, if it decreased, or if it grew by
    more than `MOST_GROWTH`.
    """
    if before is None or after is None or not 0 <= after - before <= MOST_GROWTH:
        return None
    return after - before


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole; None if either is unknown or the whole is zero."""
    if part is None or whole is None or whole <= 0:
        return None
    return part / whole


def trend_ratio(values: Sequence[float]) -> float:
    """The slope in its own standard errors; 0 for fewer than three values, infinite for an exact line."""
    count = len(values)
    if count < 3:
        return 0.0
    mean, middle = math.fsum(values) / count, (count - 1) / 2
    spread = (count**3 - count) / 12
    slope = math.fsum((place - middle) * value for place, value in enumerate(values)) / spread
    residual = math.fsum((value - mean - slope * (place - middle)) ** 2 for place, value in enumerate(values))
    error = math.sqrt(residual / (count - 2) / spread)
    if error <= 1e-12 * max(abs(mean), abs(slope)):
        return 0.0 if abs(slope) <= 1e-12 * abs(mean) else math.copysign(math.inf, slope)
    return slope / error


TREND_LIMIT = 1.5
"""Standard errors of the slope within which a window is settled. One and a half detect an exponential
approach of several times the noise until its remainder is below the interval's own width, and discard less
than one slot in steady noise.
"""


def settled_at(
    series: Sequence[Sequence[float]], window: int, *, least: int = 0, most: int | None = None
) -> int | None:
    """The number of slots to discard until a window of all the series is settled; None if no window within
    the range is settled (yet).

    The series are of equal length and begin at the change. At least `least` and at most `most` slots are
    discarded. The first settled window is used, so that no usable slot is discarded. Truncation of a start-up
    transient is a known problem of simulation output: White, "An effective truncation heuristic for bias
    reduction in simulation output" (Simulation 69, 1997), whose MSER is about as good here, but needs twice
    as many slots for a reliable minimum.
    """
    length = min((len(one) for one in series), default=0)
    last = length - window if most is None else min(most, length - window)
    for start in range(least, last + 1):
        if all(is_at_rest(one[start : start + window]) for one in series):
            return start
    return None


def is_at_rest(values: Sequence[float]) -> bool:
    """True if the values show no trend beyond their noise."""
    return abs(trend_ratio(values)) <= TREND_LIMIT


class Ranks:
    """The merged latencies of a window, which give the value at any rank."""

    def __init__(self, histograms: Sequence[Histogram]) -> None:
        whole = merge_histograms(histograms)
        self.count = whole.count
        self._buckets = sorted(whole.counts)
        self._cumulated = list(accumulate(whole.counts[bucket] for bucket in self._buckets))

    def bucket_at(self, share: float) -> int:
        """The bucket of the value below which a share (0 to 1) of all latencies lies."""
        rank = min(rank_of(100 * share, self.count), self.count)
        return self._buckets[bisect_left(self._cumulated, rank)]

    def at_ms(self, share: float) -> float:
        """The value below which a share (0 to 1) of all latencies lies, in ms."""
        return bucket_upper_bound(self.bucket_at(share)) / US_PER_MS


def count_up_to(histogram: Histogram, bucket: int) -> int:
    """The number of latencies in this bucket or below it."""
    return sum(times for other, times in histogram.counts.items() if other <= bucket)


SHOWN = 3
"""Statements listed in a line; the others are summed."""


def slow_text(slow: SlowTransaction) -> str:
    """`84 ms at 01:12, oltp_write_only: index_update 71 ms, commit 9.8 ms, 8 others 2.1 ms`."""
    when = f" at {hms(slow.at_seconds)}" if slow.at_seconds > 0 else ""
    return f"{milliseconds(slow.response_ms)}{when}, {slow.transaction}: {', '.join(slow_parts(slow))}"


def slow_parts(slow: SlowTransaction, shown: int = SHOWN) -> list[str]:
    """The parts of the time, the largest first: the wait for a connection, statements, and the rest."""
    ordered = sorted(slow.statements, key=lambda each: -each.ms)
    waited = slow.response_ms - slow.service_ms
    parts = [f"{milliseconds(waited)} waiting for a connection"] if waited > 0.01 * slow.response_ms else []
    parts += [statement_text(each) for each in ordered[:shown]]
    rest = ordered[shown:]
    if rest:
        count = pluralize(sum(each.count for each in rest), "other")
        parts.append(f"{count} {milliseconds(sum(each.ms for each in rest))}")
    between = slow.service_ms - sum(each.ms for each in slow.statements)
    if between > 0.1 * slow.response_ms:
        parts.append(f"{milliseconds(between)} between statements")
    return parts


def statement_text(each: TimedStatement) -> str:
    """`commit 9.8 ms`, `10 point_select 12 ms (longest 9 ms)`, `update 50 s (error 1205)`."""
    name = f"{each.count} {each.name}" if each.count > 1 else each.name
    longest = f" (longest {milliseconds(each.max_ms)})" if each.count > 1 else ""
    error = f" (error {each.error})" if each.error else ""
    return f"{name} {milliseconds(each.ms)}{longest}{error}"


def slow_lines(slowest: Sequence[SlowTransaction]) -> Iterator[str]:
    """The lines of a summary."""
    if slowest:
        yield "the slowest:"
        yield from (f"    {slow_text(each)}" for each in slowest[:SHOWN])
