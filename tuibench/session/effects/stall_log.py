"""Log of stalls with the conditions during each."""

from collections import deque
from statistics import median

from msgspec.structs import replace

from tuibench.metrics.inference.steadiness import STALLED
from tuibench.metrics.series.slots import Slot
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.measurements.steadiness import Stall, StallConditions, Steadiness
from tuibench.session.effects.stall_conditions import conditions_of, worst_of
from tuibench.session.effects.steadiness_log import LEVEL_CHANGES

RECENT_TICKS = 120
FEWEST_TICKS = 10
"""Number of samples whose median a stall is compared with."""

SLOW = 0.5
"""Fraction of that median: slower samples may turn out to be part of a stall, so their conditions are kept.
"""

MOST_SLOW_TICKS = 5_000
"""For runs that last for days, only the newest are kept."""


class StallLog:
    """Takes samples and events in chronological order."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RECENT_TICKS)
        self._conditions: deque[tuple[float, StallConditions]] = deque(maxlen=MOST_SLOW_TICKS)
        self._stalled: list[Slot] = []
        self._is_paused = False
        self._is_partial = False

    def on_event(self, kind: EventKind) -> None:
        """A pause begins or ends: its ticks are no stall. After another change the usual level is another."""
        if kind in LEVEL_CHANGES:
            self._recent.clear()
            self._stalled = []
        if kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = kind is EventKind.PAUSE
            self._is_partial = True
            self._stalled = []

    def tick(self, slot: Slot, sample: Sample) -> Stall | None:
        """Process one sample; returns the stall that it ends, if any."""
        if self._is_paused or self._is_partial:
            self._is_partial = False
            return None
        usual = median(self._recent) if len(self._recent) >= FEWEST_TICKS else None
        if usual is None or slot.tps < SLOW * usual:
            self._conditions.append((slot.end_seconds, conditions_of(sample)))
        if usual is not None and slot.tps < STALLED * usual:
            self._stalled.append(slot)
            return None
        self._recent.append(slot.tps)
        return self._end_of_stall()

    def with_conditions(self, found: Steadiness | None) -> Steadiness | None:
        """The steadiness of the run, each of its stalls with what happened then."""
        return found and replace(found, stalls=tuple(map(self._explained, found.stalls)))

    def _end_of_stall(self) -> Stall | None:
        slots, self._stalled = self._stalled, []
        if not slots:
            return None
        tps = sum(slot.transactions for slot in slots) / sum(slot.seconds for slot in slots)
        return self._explained(Stall(slots[0].start_seconds, slots[-1].end_seconds, tps))

    def _explained(self, stall: Stall) -> Stall:
        known = (
            conditions
            for end_seconds, conditions in self._conditions
            if stall.start_seconds < end_seconds <= stall.end_seconds
        )
        return replace(stall, conditions=worst_of(known))
