"""Samples of a run that count for its steadiness: all outside pauses.

A run may last for days, so a sample takes 32 bytes, and the number of samples is limited: beyond it,
neighbouring samples are merged.
"""

from array import array
from collections.abc import Iterator, Sequence

from tuibench.metrics.inference.steadiness import Tick, steadiness
from tuibench.metrics.series.slots import Slot
from tuibench.model.event import EventKind
from tuibench.model.measurements.steadiness import Stall, Steadiness

MOST_TICKS = 100_000
"""More than a day of seconds. An even number."""


class SteadinessLog:
    """Takes samples and events in chronological order."""

    def __init__(self, most: int = MOST_TICKS) -> None:
        self._most = most
        self._is_paused = False
        self._is_partial = False
        self._forget()

    def __len__(self) -> int:
        return len(self._ends)

    def on_event(self, kind: EventKind) -> None:
        """A pause begins or ends, or the figures are reset."""
        if kind is EventKind.RESET:
            self._forget()
        if kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = kind is EventKind.PAUSE
            self._is_partial = True

    def tick(self, slot: Slot) -> None:
        """One more slot; one that a pause reaches into is left out."""
        if not self._is_paused and not self._is_partial:
            self._ends.append(slot.end_seconds)
            self._seconds.append(slot.seconds)
            self._transactions.append(slot.transactions)
            if len(self) >= self._most:
                self._coarsen()
        self._is_partial = False

    def result(self, stalls: Sequence[Stall]) -> Steadiness | None:
        """The steadiness so far, with the stalls of the same time."""
        return steadiness(list(map(Tick, self._ends, self._seconds, self._transactions)), stalls)

    def _forget(self) -> None:
        self._ends, self._seconds, self._transactions = array("d"), array("d"), array("d")

    def _coarsen(self) -> None:
        """Merge each pair of samples."""
        self._ends = self._ends[1::2]
        self._seconds = array("d", _sums_of_pairs(self._seconds))
        self._transactions = array("d", _sums_of_pairs(self._transactions))


def _sums_of_pairs(values: Sequence[float]) -> Iterator[float]:
    return map(float.__add__, values[::2], values[1::2])
