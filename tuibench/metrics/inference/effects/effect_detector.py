"""Detection of effects during a run: from slots and changes to complete pairs of windows.

The history of a change ends at the change and does not extend before an earlier one, nor into the time that
the earlier one took to settle; its end is the window before. The window after is of the same length and
begins when the load has settled (see `settling`), at least one slot and at most half a minute later. A change
that comes before that is measured together with the previous one. The slot of a change belongs to neither
side.

After the effect is known, the load is watched as long as it may take to settle at most. If it moves once more
in that time (`compare_again`), because the change acts late or something else does, the effect is measured
again, with the end of that time as the second window.
"""

import math
from collections.abc import Sequence

from tuibench.metrics.inference.effects.attribution import MOST_BEFORE
from tuibench.metrics.inference.effects.effect import compare_again, compare_windows
from tuibench.metrics.series.operation_cost import window_cost
from tuibench.metrics.series.settling import settled_at
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.effect import Comparison, Effect, EffectProgress

WINDOW_SECONDS = 12.0
FEWEST_SLOTS, USUAL_SLOTS, MOST_SLOTS = 6, 12, 24
"""Slots of a window: at least the first; `WINDOW_SECONDS` if that is between the other two."""

LONGEST_SETTLING_SECONDS = 30.0
LEAST_SETTLING_SLOTS = 1


class PendingEffect:
    """A change whose effect is not complete yet, or may still change: `known` is the effect so far, from the
    first `used` slots after the change.
    """

    def __init__(self, before: list[Slot]) -> None:
        self.before = before
        self.markers: tuple[int, ...] = ()
        self.texts: list[str] = []
        self.at_seconds = 0.0
        self.after: list[Slot] = []
        self.known: Effect | None = None
        self.used = 0

    def add(self, marker: int, text: str, at_seconds: float) -> None:
        """Add a further change: the slots since the last one are discarded."""
        self.markers = (*self.markers, marker)
        self.texts.append(text)
        self.at_seconds = at_seconds
        self.after = []


class EffectDetector:
    """Converts slots and changes, in time order, to effects."""

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        wanted = math.ceil(WINDOW_SECONDS / interval_seconds)
        self.window = min(max(wanted, USUAL_SLOTS), MOST_SLOTS)
        self.longest_settling = max(
            2 * LEAST_SETTLING_SLOTS, math.ceil(LONGEST_SETTLING_SECONDS / interval_seconds)
        )
        self._most_calm = MOST_BEFORE + self.longest_settling + self.window
        self._calm: list[Slot] = []
        self._pending: PendingEffect | None = None
        self._watched: PendingEffect | None = None

    def slot(self, slot: Slot) -> Effect | None:
        """Add a tick; returns the effect that it completes, if any."""
        pending = self._pending
        if pending is None:
            self._calm = [*self._calm[1 - self._most_calm :], slot]
            return self._watch(slot)
        if slot.start_seconds < pending.at_seconds:
            return None
        pending.after.append(slot)
        window = min(len(pending.before), self.window)
        start = _settling_slots(pending.after, window, self.longest_settling)
        if start is None and len(pending.after) < self.longest_settling + window:
            return None
        return self._complete(pending, window, start)

    def change(self, marker: int, text: str, *, began_seconds: float, at_seconds: float) -> Effect | None:
        """Add a change between these two times; returns the effect of the previous one, if it is complete."""
        effect = self._complete_early() or self._measured_again()
        if self._pending is None:
            self._pending = PendingEffect(self._before(began_seconds))
        self._pending.add(marker, text, at_seconds)
        if len(self._pending.before) < FEWEST_SLOTS:
            self._pending = None
        self._calm = []
        return effect

    @property
    def progress(self) -> EffectProgress | None:
        """The change whose effect is being measured, and when it will be known."""
        pending = self._pending
        if pending is None:
            return None
        window = min(len(pending.before), self.window)
        earliest, latest = (
            pending.at_seconds + self._interval_seconds * (1 + settling + window)
            for settling in (LEAST_SETTLING_SLOTS, self.longest_settling)
        )
        return EffectProgress(
            markers=pending.markers,
            change="; ".join(pending.texts),
            at_seconds=pending.at_seconds,
            earliest_seconds=earliest,
            latest_seconds=latest,
        )

    def boundary(self, since_seconds: float | None = None) -> Effect | None:
        """Add a boundary, such as a pause or a restart, that no window crosses.

        Slots that end after `since_seconds` may contain its beginning, and are discarded.
        """
        for pending in (self._pending, self._watched):
            if pending is not None and since_seconds is not None:
                pending.after = [slot for slot in pending.after if slot.end_seconds <= since_seconds]
        effect = self._complete_early() or self._measured_again()
        self._calm, self._pending = [], None
        return effect

    def _before(self, began_seconds: float) -> list[Slot]:
        """The newest slots before a time, from the first settled one on."""
        calm = [slot for slot in self._calm if slot.end_seconds <= began_seconds]
        window = max(min(self.window, len(calm)), 1)
        start = _settling_slots(calm, window, len(calm), least=0)
        return calm[start or 0 :][-MOST_BEFORE:]

    def _complete_early(self) -> Effect | None:
        """The effect as far as it is known; None if the pending change remains pending."""
        pending = self._pending
        if pending is None:
            return None
        window = min(len(pending.before), self.window, len(pending.after) - LEAST_SETTLING_SLOTS)
        if window < FEWEST_SLOTS:
            return None
        return self._complete(pending, window, _settling_slots(pending.after, window, self.longest_settling))

    def _complete(self, pending: PendingEffect, window: int, start: int | None) -> Effect:
        """`start` is the beginning of the second window; None if the load never settled."""
        first = len(pending.after) - window if start is None else start
        self._pending, self._watched = None, pending
        self._calm = pending.after[first:]
        pending.used = first + window
        settling, after = pending.after[:first], pending.after[first : pending.used]
        found = compare_windows(pending.before, after, settling)
        pending.known = _effect(pending, after, found, settled=start is not None)
        return pending.known

    def _watch(self, slot: Slot) -> Effect | None:
        """Watch the load after its effect is known; returns the effect if it has become another one."""
        pending = self._watched
        if pending is None:
            return None
        pending.after.append(slot)
        if len(pending.after) < self.longest_settling + self.window:
            return None
        return self._measured_again()

    def _measured_again(self) -> Effect | None:
        """The effect with the newest slots as second window, if the load has left the known one."""
        pending, self._watched = self._watched, None
        if pending is None or pending.known is None:
            return None
        window = min(len(pending.before), self.window, len(pending.after) - pending.used)
        if window < FEWEST_SLOTS:
            return None
        settling, after = pending.after[:-window], pending.after[-window:]
        found = compare_again(pending.known.comparisons, pending.before, after, settling)
        is_settled = _settling_slots(after, window, 0, least=0) is not None
        return _effect(pending, after, found, settled=is_settled) if found else None


def _effect(
    pending: PendingEffect, after: Sequence[Slot], comparisons: tuple[Comparison, ...], *, settled: bool
) -> Effect:
    return Effect(
        markers=pending.markers,
        change="; ".join(pending.texts),
        at_seconds=pending.at_seconds,
        window_seconds=math.fsum(slot.seconds for slot in after),
        settling_seconds=max(0.0, after[0].start_seconds - pending.at_seconds),
        settled=settled,
        comparisons=comparisons,
        cost_before=window_cost(pending.before[-len(after) :]),
        cost_after=window_cost(after),
    )


def _settling_slots(
    slots: Sequence[Slot], window: int, most: int, least: int = LEAST_SETTLING_SLOTS
) -> int | None:
    """The slots to discard, until neither throughput nor p95 has a trend."""
    rates = [slot.throughput for slot in slots]
    latencies = [slot.own_p95_ms or 0.0 for slot in slots]
    return settled_at((rates, latencies), window, least=least, most=most)
