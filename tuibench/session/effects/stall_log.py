"""Stalls of a run, each with the conditions during it: what the event, the summary and every report show.

A stall is a gap between two completed transactions, with work in flight or due, that is long for this load:
at least half a second, and 20 times the usual gap, so that chance alone would need exp(20) gaps for one. The
usual gap is the longer one of those before and after, because a slower level is no stall. Transactions
of connections that started together may end together: then gaps take up most of the time, and none is longer
than the transactions themselves. These are no stalls.

Gaps come from the engines (`load.completion_gaps`), independent of samples. The transactions of a server that
is only watched are counted once a sample: there a gap is whole samples without one while threads are running.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tuibench.metrics.series.slots import Slot
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.measurements.steadiness import Stall, StallConditions
from tuibench.session.effects.stall_conditions import conditions_of, worst_of

SHORTEST_SECONDS = 0.5
USUAL_GAPS = 20
"""Transactions that would have been completed in the gap at the usual rate."""

LEAST_SECONDS, MOST_SECONDS = 2.0, 10.0
"""The samples before and after a gap that give the usual rate: as many as have `USUAL_GAPS` transactions."""

IN_STEP = 2.0
"""Gaps of connections in step are at most this multiple of the median response time."""

MOST_TICKS = 3_600

Span = tuple[float, float]


class StallTick(NamedTuple):
    """A sample: where it is, what it completed, and the conditions in it."""

    start_seconds: float
    end_seconds: float
    transactions: float
    p50_ms: float | None
    conditions: StallConditions

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


class StallLog:
    """Takes samples, gaps and events in chronological order. `stalls` are those since the last reset."""

    def __init__(self) -> None:
        self.stalls: list[Stall] = []
        self._ticks: deque[StallTick] = deque(maxlen=MOST_TICKS)
        self._counters: Mapping[str, int] = {}
        self._begin_seconds = self._judged_seconds = self._end_seconds = 0.0
        self._watched_gap: Span | None = None
        self._watched_gaps: deque[Span] = deque(maxlen=64)
        self._is_paused = self._is_partial = False

    def on_event(self, kind: EventKind, at_seconds: float) -> None:
        """A pause begins or ends: its samples say nothing of the usual rate. A reset forgets all stalls."""
        if kind is EventKind.RESET:
            self.stalls = []
            self._begin_seconds = at_seconds
        if kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = kind is EventKind.PAUSE
            self._is_partial = True
            self._watched_gap = None

    def tick(self, slot: Slot, sample: Sample, gaps: Sequence[Span] | None = None) -> list[Stall]:
        """Process one sample, and the gaps so far that have ended; None if the engine is not what is
        measured. Returns the stalls that are certain now.
        """
        before, self._counters = self._counters, sample.server.counters if sample.server else {}
        if gaps is None:
            gaps = self._gaps_of_watched(slot, sample)
        has_load = sample.load is None or sample.load.threads > 0
        if not self._is_paused and not self._is_partial and (has_load or slot.transactions):
            latency = sample.load and (sample.load.service or sample.load.latency)
            p50_ms, conditions = latency.p50 if latency else None, conditions_of(sample, before)
            start = max(slot.start_seconds, self._end_seconds)
            self._ticks.append(StallTick(start, slot.end_seconds, slot.transactions, p50_ms, conditions))
        self._end_seconds, self._is_partial = slot.end_seconds, False
        return self._judge(gaps, is_over=False)

    def end(self, gaps: Sequence[Span] | None = None) -> list[Stall]:
        """The load has ended: the last stalls, without waiting for samples after them."""
        if gaps is None:
            gaps = [*self._watched_gaps, *([self._watched_gap] if self._watched_gap else [])]
        return self._judge(gaps, is_over=True)

    def _gaps_of_watched(self, slot: Slot, sample: Sample) -> Sequence[Span]:
        """Gaps of a server's own traffic. Our own thread is one of those that are running."""
        is_wanted = sample.server is None or (sample.server.threads_running or 0) > 1
        if slot.transactions == 0 and is_wanted and not self._is_paused and not self._is_partial:
            start = self._watched_gap[0] if self._watched_gap else slot.start_seconds
            self._watched_gap = (start, slot.end_seconds)
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
                found.append(Stall(start, end, self._conditions_in(start, end)))
        self.stalls += found
        return found

    def _is_stall(self, gap: Span, gaps: Sequence[Span], *, is_over: bool) -> bool | None:
        """Whether it is one; None if that is not known before more samples were taken."""
        start, end = gap
        before = _nearest(tick for tick in reversed(self._ticks) if tick.end_seconds <= start)
        after = _nearest(tick for tick in self._ticks_since(end))
        if not (is_over or _suffices(after)):
            return None
        rates = [_rate(side) for side in (before, after) if side]
        if not rates or (end - start) * min(rates) < USUAL_GAPS:
            return False
        around = (*before, *after)
        similar = sum(b - a for a, b in gaps if b - a >= (end - start) / 2 and _is_in((a, b), around))
        usual_ms = min((tick.p50_ms for tick in around if tick.p50_ms is not None), default=0.0)
        is_in_step = similar > sum(tick.seconds for tick in around) / 2
        return not (is_in_step and 1000 * (end - start) <= IN_STEP * usual_ms)

    def _ticks_since(self, seconds: float) -> list[StallTick]:
        """The samples that begin after a time, the oldest first."""
        found: list[StallTick] = []
        for tick in reversed(self._ticks):
            if tick.start_seconds < seconds:
                break
            found.append(tick)
        return found[::-1]

    def _conditions_in(self, start: float, end: float) -> StallConditions | None:
        return worst_of(
            tick.conditions for tick in self._ticks if tick.start_seconds < end and tick.end_seconds > start
        )


def _nearest(ticks: Iterable[StallTick]) -> list[StallTick]:
    """The first of these samples that suffice for a rate."""
    found: list[StallTick] = []
    for tick in ticks:
        if _suffices(found):
            break
        found.append(tick)
    return found


def _suffices(ticks: Sequence[StallTick]) -> bool:
    seconds = sum(tick.seconds for tick in ticks)
    is_enough = sum(tick.transactions for tick in ticks) >= USUAL_GAPS
    return seconds >= (LEAST_SECONDS if is_enough else MOST_SECONDS)


def _rate(ticks: Sequence[StallTick]) -> float:
    return sum(tick.transactions for tick in ticks) / sum(tick.seconds for tick in ticks)


def _is_in(gap: Span, ticks: Sequence[StallTick]) -> bool:
    return any(tick.start_seconds <= sum(gap) / 2 < tick.end_seconds for tick in ticks)
