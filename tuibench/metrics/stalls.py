"""Stalls of a run, each with the conditions of server and disk during it; steadiness of the throughput.

A stall is a gap between two completed transactions, with work in flight or due, that is long for this load:
at least half a second, and 12 times the usual gap, which random arrivals exceed once in exp(12) gaps. The
usual gap is the longer one of those before and after, because a slower level is not a stall; samples with
other threads or another rate do not count. Transactions of connections that started together may end
together: then gaps take up most of the time, and none is longer than the transactions themselves. These are
not stalls.

Gaps come from the engines (`load.completion_gaps`) and do not depend on samples. The transactions of a
watched server are counted once per sample: there a gap consists of whole samples without a transaction while
threads are running.

Steadiness is the distribution of the throughput from second to second, outside pauses. A mean hides a server
that does nothing for two seconds in every thirty. The lowest seconds (p1 of one-second TPS), the coefficient
of variation, and stalls reveal it.
"""

import math
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from tuibench.metrics.figures import read
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.counters import Counter, redo_limit
from tuibench.model.event import EventKind
from tuibench.model.findings import Culprit, Stall, StallConditions, Steadiness
from tuibench.model.tick import ERROR, Sample, Tick

Number = TypeVar("Number", int, float)


def time_spent(tick: Tick) -> dict[WaitClass, float]:
    """The time of the connections in each wait class of a tick, in microseconds."""
    return {wait: us for wait in WaitClass if (us := tick.sums.get(wait.key, 0.0))}


def conditions_of(sample: Sample) -> StallConditions:
    server, host = sample.server, sample.host
    disk_write_ms = read("disk_write_ms", host)
    if server is None:
        return StallConditions(is_answered=False, disk_write_ms=disk_write_ms)
    room, age = redo_limit(server.levels), read("checkpoint_age", server)
    return StallConditions(
        checkpoint_age_percent=100 * age / room if age is not None and room else None,
        dirty_bytes=_whole(server.levels.get(Counter.POOL_BYTES_DIRTY)),
        disk_write_ms=disk_write_ms,
        log_fsyncs_per_second=read("fsyncs_per_second", server),
        row_lock_waits=_whole(server.levels.get(Counter.ROW_LOCK_CURRENT_WAITS)),
        log_waits=_whole(server.sums.get(Counter.LOG_WAITS)),
        free_page_waits=_whole(server.sums.get(Counter.POOL_WAIT_FREE)),
    )


def worst_of(several: Iterable[StallConditions]) -> StallConditions | None:
    """The worst conditions of a stall's samples: the maximum of each, the fewest fsyncs, and the sum of all
    waits; None without samples.
    """
    ticks = list(several)
    if not ticks:
        return None
    return StallConditions(
        is_answered=all(tick.is_answered for tick in ticks),
        checkpoint_age_percent=_most(tick.checkpoint_age_percent for tick in ticks),
        dirty_bytes=_most(tick.dirty_bytes for tick in ticks),
        disk_write_ms=_most(tick.disk_write_ms for tick in ticks),
        log_fsyncs_per_second=_least(tick.log_fsyncs_per_second for tick in ticks),
        row_lock_waits=_most(tick.row_lock_waits for tick in ticks),
        log_waits=_sum(tick.log_waits for tick in ticks),
        free_page_waits=_sum(tick.free_page_waits for tick in ticks),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _most(values: Iterable[Number | None]) -> Number | None:
    return max((value for value in values if value is not None), default=None)


def _least(values: Iterable[Number | None]) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


RECOVERED, MOST_RECOVERING = 0.9, 8
"""The share of the rate before a stall at which the load has recovered; and the number of latest stalls whose
recovery is awaited.
"""

SHORTEST_SECONDS = 0.5
"""The shortest stall."""
USUAL_GAPS = 12
"""A gap is long if the usual rate would have completed this many transactions in it."""

LEAST_SECONDS, MOST_SECONDS = 2.0, 10.0
"""The time before and after a gap that gives the usual rate. Another stall may be near, so of the spans
between these two lengths, the one with the highest rate counts.
"""

IN_STEP = 2.0
"""Gaps of connections in step are at most this multiple of the median response time."""

MOST_TICKS = 3_600

Span = tuple[float, float]


class StallTick(NamedTuple):
    """A sample: its time, the transactions that it completed, and the conditions in it."""

    start_seconds: float
    end_seconds: float
    transactions: float
    level: int
    """A number that increases with each change of threads or rate."""
    is_mixed: bool
    """True for the first sample after such a change."""
    p50_ms: float | None
    conditions: StallConditions
    errors: Mapping[str, float]
    unknown_commits: float
    waits: Mapping[WaitClass, float] = {}
    """The time of the connections in each wait class, in microseconds."""

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


FULL_PERCENT = 90.0
"""Percent of its limit from which the redo log is the cause of a stall."""
MAIN_SHARE, PURGE_SHARE = 0.5, 0.3
"""The shares of the connections' time in a wait class from which it is the cause of a stall."""
NO_CAUSES = frozenset((WaitClass.CLIENT, WaitClass.OTHER, WaitClass.ROW_LOCK, WaitClass.METADATA_LOCK))
"""Classes that explain nothing by themselves."""


def purge_share(spent: Mapping[WaitClass, float]) -> float:
    """The share of the connections' time in statements for which innodb_max_purge_lag delayed them."""
    whole = sum(us for wait, us in spent.items() if wait is not WaitClass.CLIENT)
    return spent.get(WaitClass.PURGE_LAG, 0.0) / whole if whole else 0.0


def innodb_delay(purge: float, age_percent: float | None) -> str:
    """What inside InnoDB delays all changes, from the share of purge lag in the time and the age of the
    checkpoint; empty if nothing does.
    """
    if purge >= PURGE_SHARE:
        return "purge is behind: innodb_max_purge_lag delayed every change"
    if age_percent is not None and age_percent >= FULL_PERCENT:
        return f"the redo log was full ({min(age_percent, 100.0):.0f} % of its limit)"
    return ""


def other_cause(inside: Sequence[StallTick], *, only_certain: bool = False) -> Culprit | None:
    """The cause of a stall that is no connection: what delays all changes inside InnoDB; unless
    `only_certain`, also the wait in which most of the time was spent. None if there is none of these.
    """
    spent: dict[WaitClass, float] = {}
    for tick in inside:
        for wait, us in tick.waits.items():
            spent[wait] = spent.get(wait, 0.0) + us
    whole = sum(us for wait, us in spent.items() if wait is not WaitClass.CLIENT)
    age = _most(tick.conditions.checkpoint_age_percent for tick in inside)
    if delay := innodb_delay(purge_share(spent), age):
        return Culprit(cause=delay)
    named = {wait: us for wait, us in spent.items() if wait not in NO_CAUSES}
    main = max(named, key=lambda wait: named[wait], default=None)
    if main is None or only_certain or not whole or named[main] < MAIN_SHARE * whole:
        return None
    return Culprit(cause=f"most waited for {main.label} ({100 * named[main] / whole:.0f} % of the time)")


CulpritOf = Callable[[float, float], Culprit | None]
"""The connection to blame for a span of the run in seconds; None if there is none."""


class StallLog:
    """Takes samples, gaps and events in the order of time."""

    def __init__(self, culprit_of: CulpritOf = lambda start, end: None) -> None:
        self._culprit_of = culprit_of
        self.stalls: list[Stall] = []
        """Stalls since the last reset."""
        self._ticks: deque[StallTick] = deque(maxlen=MOST_TICKS)
        self._begin_seconds = self._judged_seconds = self._end_seconds = 0.0
        self._asked: tuple[float, float] | None = None
        self._level = 0
        self._watched_gap: Span | None = None
        self._watched_gaps: deque[Span] = deque(maxlen=64)
        self._is_paused = self._is_partial = False

    def on_event(self, kind: EventKind, at_seconds: float) -> None:
        """A pause begins or ends: its samples do not count for the usual rate. A reset forgets all stalls."""
        if kind is EventKind.RESET:
            self.stalls = []
            self._begin_seconds = at_seconds
        if kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = kind is EventKind.PAUSE
            self._is_partial = True
            self._watched_gap = None

    def tick(self, slot: Tick, sample: Sample, gaps: Sequence[Span] | None = None) -> list[Stall]:
        """Add a sample, and the gaps that have ended; None for the traffic of a watched server. Returns the
        stalls that are certain now.
        """
        if gaps is None:
            gaps = self._gaps_of_watched(slot, sample)
        load = sample.load
        threads, rate = read("requested_threads", load), read("target_rate", load)
        has_load = load is None or bool(threads) or slot.sums["completed"] > 0
        is_whole = not self._is_paused and not self._is_partial and slot.end > self._end_seconds
        if is_whole and has_load:
            p50_ms = read("service_p50", load) or read("p50", load)
            conditions = conditions_of(sample)
            asked = None if load is None else (threads or 0, rate or 0)
            is_mixed, self._asked = bool(self._ticks) and asked != self._asked, asked
            self._level += is_mixed
            start = max(slot.start, self._end_seconds)
            self._ticks.append(
                StallTick(
                    start,
                    slot.end,
                    slot.sums["completed"],
                    self._level,
                    is_mixed,
                    p50_ms,
                    conditions,
                    slot.counts(ERROR),
                    slot.sums.get("unknown_commits", 0),
                    time_spent(sample.tick),
                )
            )
        self._end_seconds, self._is_partial = max(slot.end, self._end_seconds), False
        return self._judge(gaps, is_over=False)

    def end(self, gaps: Sequence[Span] | None = None) -> list[Stall]:
        """The load has ended: return the last stalls, without waiting for samples after them."""
        if gaps is None:
            gaps = [*self._watched_gaps, *([self._watched_gap] if self._watched_gap else [])]
        return self._judge(gaps, is_over=True)

    def _gaps_of_watched(self, slot: Tick, sample: Sample) -> Sequence[Span]:
        """Gaps in the traffic of a watched server. Our own thread is one of those that are running."""
        is_wanted = sample.server is None or (read("threads_running", sample.server) or 0) > 1
        if slot.sums["completed"] == 0 and is_wanted and not self._is_paused and not self._is_partial:
            start = self._watched_gap[0] if self._watched_gap else slot.start
            self._watched_gap = (start, slot.end)
        elif self._watched_gap:
            self._watched_gaps.append(self._watched_gap)
            self._watched_gap = None
        return list(self._watched_gaps)

    def _judge(self, gaps: Sequence[Span], *, is_over: bool) -> list[Stall]:
        found = []
        for start, end in gaps:
            if (start + end) / 2 <= self._judged_seconds:
                continue
            start = max(start, self._begin_seconds)
            is_stall = end - start >= SHORTEST_SECONDS and self._is_stall((start, end), gaps, is_over=is_over)
            if is_stall is None:
                break
            self._judged_seconds = end
            if is_stall:
                inside = [
                    tick for tick in self._ticks if tick.start_seconds < end and tick.end_seconds > start
                ]
                codes = sorted({code for tick in inside for code in tick.errors})
                found.append(
                    Stall(
                        start,
                        end,
                        worst_of(tick.conditions for tick in inside),
                        {code: round(sum(tick.errors.get(code, 0) for tick in inside)) for code in codes},
                        unknown_commits=round(sum(tick.unknown_commits for tick in inside)),
                        culprit=self._culprit(start, end, inside),
                    )
                )
        self.stalls += found
        self._find_recoveries()
        return found

    def _culprit(self, start: float, end: float, inside: Sequence[StallTick]) -> Culprit | None:
        """A connection that did nothing is to blame before all else; one that executed may itself have waited
        for what is the cause.
        """
        holder = self._culprit_of(start, end)
        if holder is not None and (holder.is_idle or other_cause(inside, only_certain=True) is None):
            return holder
        return other_cause(inside)

    @property
    def longest_seconds(self) -> float:
        """The longest stall since the last reset; 0 without one."""
        return max((stall.seconds for stall in self.stalls), default=0.0)

    def _find_recoveries(self) -> None:
        """Set the time of recovery of the latest stalls, which may be long after a stall is certain."""
        for place in range(max(0, len(self.stalls) - MOST_RECOVERING), len(self.stalls)):
            stall = self.stalls[place]
            if stall.recovery_seconds is not None:
                continue
            before = _near(tick for tick in reversed(self._ticks) if tick.end_seconds <= stall.start_seconds)
            if not before:
                continue
            usual = sum(tick.transactions for tick in before) / sum(tick.seconds for tick in before)
            later = (
                tick
                for tick in self._ticks_since(stall.end_seconds)
                if tick.transactions >= RECOVERED * usual * tick.seconds
            )
            if (recovered := next(later, None)) is not None:
                seconds = recovered.end_seconds - stall.end_seconds
                self.stalls[place] = replace(stall, recovery_seconds=seconds)

    def _is_stall(self, gap: Span, gaps: Sequence[Span], *, is_over: bool) -> bool | None:
        """True if the gap is a stall; None if further samples are needed to know."""
        start, end = gap
        before = _near(tick for tick in reversed(self._ticks) if tick.end_seconds <= start)
        after = _near(self._ticks_since(end))
        same = [_of_level(side, self._level_at(at)) for side, at in ((before, start), (after, end))]
        rates = [_rate(side) for side in (same if any(same) else (before, after)) if side]
        if not rates or (end - start) * min(rates) < USUAL_GAPS:
            return False if is_over or _is_full(after) else None
        if not (is_over or _is_full(after, LEAST_SECONDS)):
            return None
        around = (*before, *after)
        similar = sum(
            b - a
            for a, b in gaps
            if b - a >= (end - start) / 2
            and any(tick.start_seconds <= (a + b) / 2 < tick.end_seconds for tick in around)
        )
        usual_ms = min((tick.p50_ms for tick in around if tick.p50_ms is not None), default=0.0)
        is_in_step = similar > sum(tick.seconds for tick in around) / 2
        return not (is_in_step and 1000 * (end - start) <= IN_STEP * usual_ms)

    def _level_at(self, seconds: float) -> int | None:
        known = (tick.level for tick in reversed(self._ticks) if tick.start_seconds <= seconds)
        return next(known, None)

    def _ticks_since(self, seconds: float) -> list[StallTick]:
        """The samples that begin after a time, the oldest first."""
        return list(takewhile(lambda tick: tick.start_seconds >= seconds, reversed(self._ticks)))[::-1]


def _is_full(ticks: Sequence[StallTick], seconds: float = MOST_SECONDS) -> bool:
    return sum(tick.seconds for tick in ticks) >= seconds


def _near(ticks: Iterable[StallTick]) -> list[StallTick]:
    """The nearest samples, as many as may give the usual rate."""
    found: list[StallTick] = []
    for tick in ticks:
        if _is_full(found):
            break
        found.append(tick)
    return found


def _of_level(nearest: Iterable[StallTick], level: int | None) -> list[StallTick]:
    """The nearest samples that have the level of the gap."""
    of_level = takewhile(lambda tick: tick.level == level, nearest)
    return [tick for tick in of_level if not tick.is_mixed]


def _rate(nearest: Sequence[StallTick]) -> float:
    """The highest rate of all spans that begin with the nearest sample."""
    seconds = list(accumulate(tick.seconds for tick in nearest))
    transactions = accumulate(tick.transactions for tick in nearest)
    rates = [(span, count / span) for span, count in zip(seconds, transactions, strict=True)]
    return max(rate for span, rate in rates if span >= min(LEAST_SECONDS, seconds[-1]))


MOST_SAMPLES = 100_000
"""More than a day of samples; neighbouring samples of a longer run are merged. An even number."""


class SteadinessLog:
    """Takes samples and events in the order of time. A sample takes 16 bytes."""

    def __init__(self, most: int = MOST_SAMPLES) -> None:
        self._most = most
        self._is_paused = False
        self._is_partial = False
        self._forget()

    def __len__(self) -> int:
        return len(self._seconds)

    def on_event(self, kind: EventKind) -> None:
        """A pause begins or ends, or the figures are reset."""
        if kind is EventKind.RESET:
            self._forget()
        if kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = kind is EventKind.PAUSE
            self._is_partial = True

    def tick(self, slot: Tick) -> None:
        """Add a slot; a slot that overlaps a pause is left out."""
        if not self._is_paused and not self._is_partial:
            self._seconds.append(slot.seconds)
            self._transactions.append(slot.sums["completed"])
            if len(self) >= self._most:
                # Merge each pair of samples.
                for series in (self._seconds, self._transactions):
                    series[:] = array("d", map(float.__add__, series[::2], series[1::2]))
        self._is_partial = False

    def result(self, stalls: Sequence[Stall]) -> Steadiness | None:
        """The steadiness so far, with the stalls of the same time."""
        return steadiness(self._seconds, self._transactions, stalls)

    def _forget(self) -> None:
        self._seconds, self._transactions = array("d"), array("d")


SECOND = 1.0
ROUNDING_SECONDS = 0.05


def steadiness(
    lengths: Iterable[float], transactions: Iterable[float], stalls: Sequence[Stall] = ()
) -> Steadiness | None:
    """The steadiness of a run, from the length of each tick and the transactions completed in it; None
    without a whole second. The caller leaves out pauses.
    """
    rates = sorted(_by_second(lengths, transactions))
    if not rates:
        return None
    mean = math.fsum(rates) / len(rates)
    deviation = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / max(len(rates) - 1, 1))
    return Steadiness(
        p1=at_rank(rates, 0.01),
        p50=at_rank(rates, 0.50),
        p99=at_rank(rates, 0.99),
        variation=deviation / mean if mean > 0 else None,
        longest_stall_seconds=max((stall.seconds for stall in stalls), default=0.0),
        stalls=tuple(stalls),
    )


def _by_second(lengths: Iterable[float], transactions: Iterable[float]) -> Iterator[float]:
    """The rate of each second: shorter ticks are merged, an incomplete second at the end is left out."""
    seconds = count = 0.0
    for length, ended in zip(lengths, transactions, strict=True):
        seconds += length
        count += ended
        if seconds >= SECOND - ROUNDING_SECONDS:
            yield count / seconds
            seconds = count = 0.0


def at_rank(ordered: Sequence[float], share: float) -> float:
    """The value at rank ceil(share · n) of an ordered series."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]
