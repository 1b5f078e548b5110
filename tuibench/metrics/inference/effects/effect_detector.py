"""From slots and changes to effects, as the run goes: which windows are compared, and when they are complete.

What was measured before a change ends where the change begins and does not reach across an earlier one, nor
into the time that one took to settle; its end is the window before. The window after it is as long and begins
where the load has settled (see `settling`), at least one slot and at most half a minute later. A change that
comes before that is measured together with the one it follows. The slot in which a change falls belongs to
neither side.
"""

import math
from collections.abc import Sequence

from tuibench.metrics.inference.effects.attribution import MOST_BEFORE
from tuibench.metrics.inference.effects.effect import compare_windows
from tuibench.metrics.series.operation_cost import window_cost
from tuibench.metrics.series.settling import settled_at
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.effect import Effect

WINDOW_SECONDS = 12.0
FEWEST_SLOTS, USUAL_SLOTS, MOST_SLOTS = 6, 12, 24
"""A window: never below the first, and `WINDOW_SECONDS` if that is between the other two."""

LONGEST_SETTLING_SECONDS = 30.0
LEAST_SETTLING_SLOTS = 1


class PendingEffect:
    """A change whose effect is still being measured."""

    def __init__(self, before: list[Slot]) -> None:
        self.before = before
        self.markers: tuple[int, ...] = ()
        self.texts: list[str] = []
        self.at_seconds = 0.0
        self.after: list[Slot] = []

    def add(self, marker: int, text: str, at_seconds: float) -> None:
        """One more change: what came after the last one is no use."""
        self.markers = (*self.markers, marker)
        self.texts.append(text)
        self.at_seconds = at_seconds
        self.after = []


class EffectDetector:
    """Slots and changes in, in the order of time; effects out."""

    def __init__(self, interval_seconds: float) -> None:
        wanted = math.ceil(WINDOW_SECONDS / interval_seconds)
        self.window = min(max(wanted, USUAL_SLOTS), MOST_SLOTS)
        self.longest_settling = max(
            2 * LEAST_SETTLING_SLOTS, math.ceil(LONGEST_SETTLING_SECONDS / interval_seconds)
        )
        self._most_calm = MOST_BEFORE + self.longest_settling + self.window
        self._calm: list[Slot] = []
        self._pending: PendingEffect | None = None

    def slot(self, slot: Slot) -> Effect | None:
        """One more tick; the effect that it completes, if any."""
        pending = self._pending
        if pending is None:
            self._calm = [*self._calm[1 - self._most_calm :], slot]
            return None
        if slot.start_seconds < pending.at_seconds:
            return None
        pending.after.append(slot)
        window = min(len(pending.before), self.window)
        start = _settling_slots(pending.after, window, self.longest_settling)
        if start is None and len(pending.after) < self.longest_settling + window:
            return None
        return self._complete(pending, window, start)

    def change(self, marker: int, text: str, *, began_seconds: float, at_seconds: float) -> Effect | None:
        """Something changed between these two times; the effect of the one before, if it is complete now."""
        effect = self._complete_early()
        if self._pending is None:
            self._pending = PendingEffect(self._before(began_seconds))
        self._pending.add(marker, text, at_seconds)
        if len(self._pending.before) < FEWEST_SLOTS:
            self._pending = None
        self._calm = []
        return effect

    @property
    def pending(self) -> tuple[int, str] | None:
        """The change whose effect is being measured, by its last marker and its words."""
        pending = self._pending
        return (pending.markers[-1], "; ".join(pending.texts)) if pending is not None else None

    def boundary(self, since_seconds: float | None = None) -> Effect | None:
        """A pause, a restart: no window reaches across it.

        Slots that end after `since_seconds` may hold its beginning, and are left out.
        """
        if self._pending is not None and since_seconds is not None:
            self._pending.after = [slot for slot in self._pending.after if slot.end_seconds <= since_seconds]
        effect = self._complete_early()
        self._calm, self._pending = [], None
        return effect

    def _before(self, began_seconds: float) -> list[Slot]:
        """The newest slots before a time, from where they were first at rest."""
        calm = [slot for slot in self._calm if slot.end_seconds <= began_seconds]
        window = max(min(self.window, len(calm)), 1)
        start = _settling_slots(calm, window, len(calm), least=0)
        return calm[start or 0 :][-MOST_BEFORE:]

    def _complete_early(self) -> Effect | None:
        """What can be said already; None leaves a pending change as it is."""
        pending = self._pending
        if pending is None:
            return None
        window = min(len(pending.before), self.window, len(pending.after) - LEAST_SETTLING_SLOTS)
        if window < FEWEST_SLOTS:
            return None
        return self._complete(pending, window, _settling_slots(pending.after, window, self.longest_settling))

    def _complete(self, pending: PendingEffect, window: int, start: int | None) -> Effect:
        """`start` is where the second window begins; None if the load never came to rest."""
        self._pending = None
        first = len(pending.after) - window if start is None else start
        after = pending.after[first : first + window]
        self._calm = pending.after[first:]
        return Effect(
            markers=pending.markers,
            change="; ".join(pending.texts),
            at_seconds=pending.at_seconds,
            window_seconds=math.fsum(slot.seconds for slot in after),
            settling_seconds=max(0.0, after[0].start_seconds - pending.at_seconds),
            settled=start is not None,
            comparisons=compare_windows(pending.before, after),
            cost_before=window_cost(pending.before[-len(after) :]),
            cost_after=window_cost(after),
        )


def _settling_slots(
    slots: Sequence[Slot], window: int, most: int, least: int = LEAST_SETTLING_SLOTS
) -> int | None:
    """At rest are those slots in which neither throughput nor p95 is under way."""
    rates = [slot.throughput for slot in slots]
    latencies = [slot.own_p95_ms or 0.0 for slot in slots]
    return settled_at((rates, latencies), window, least=least, most=most)
