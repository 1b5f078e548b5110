"""Samples of a run that count for its steadiness: all outside pauses.

A run may last for days, so a sample takes 32 bytes, and the number of samples is limited: beyond it,
neighbouring samples are merged.
"""

from array import array
from collections.abc import Iterator, Sequence

from tuibench.metrics.inference.steadiness import Tick, steadiness
from tuibench.metrics.series.slots import Slot
from tuibench.model.event import EventKind
from tuibench.model.measurements.steadiness import Steadiness

MOST_TICKS = 100_000
"""More than a day of seconds. An even number."""

LEVEL_CHANGES = frozenset(
    {
        EventKind.THREADS,
        EventKind.RATE,
        EventKind.WEIGHTS,
        EventKind.DELAY,
        EventKind.SETTING,
        EventKind.FOREIGN,
        EventKind.RESTART,
    }
)
"""Events that may change the throughput permanently."""


class SteadinessLog:
    """Takes samples and events in chronological order."""

    def __init__(self, most: int = MOST_TICKS) -> None:
        self._most = most
        self._is_paused = False
        self._is_partial = False
        self._level = 0
        self._load: tuple[int, float] | None = None
        self._forget()

    def __len__(self) -> int:
        return len(self._ends)

    def on_event(self, kind: EventKind) -> None:
        """A pause begins or ends, the level changes, or the figures are reset."""
        if kind is EventKind.RESET:
            self._forget()
        if kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = kind is EventKind.PAUSE
            self._is_partial = True
        if kind in LEVEL_CHANGES:
            self._level += 1

    def tick(self, slot: Slot, load: tuple[int, float] | None = None) -> None:
        """One more slot; one that a pause reaches into is left out.

        `load` is the threads and the rate asked for: the steps of a ramp and of a probe are no events.
        """
        if load != self._load:
            self._load = load
            self._level += 1
        if not self._is_paused and not self._is_partial:
            self._ends.append(slot.end_seconds)
            self._seconds.append(slot.seconds)
            self._transactions.append(slot.transactions)
            self._levels.append(self._level)
            if len(self) >= self._most:
                self._coarsen()
        self._is_partial = False

    @property
    def result(self) -> Steadiness | None:
        return steadiness(list(map(Tick, self._ends, self._seconds, self._transactions, self._levels)))

    def _forget(self) -> None:
        self._ends, self._seconds, self._transactions = array("d"), array("d"), array("d")
        self._levels = array("q")

    def _coarsen(self) -> None:
        """Merge each pair of samples."""
        self._ends = self._ends[1::2]
        self._seconds = array("d", _sums_of_pairs(self._seconds))
        self._transactions = array("d", _sums_of_pairs(self._transactions))
        self._levels = self._levels[1::2]


def _sums_of_pairs(values: Sequence[float]) -> Iterator[float]:
    return map(float.__add__, values[::2], values[1::2])
