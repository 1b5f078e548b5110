"""The ticks of a run whose throughput counts for its steadiness: those without a pause."""

from tuibench.metrics.inference.steadiness import Tick, steadiness
from tuibench.metrics.series.slots import Slot
from tuibench.model.event import EventKind
from tuibench.model.steadiness import Steadiness


class SteadinessLog:
    """Slots and events in, in the order of time."""

    def __init__(self) -> None:
        self._ticks: list[Tick] = []
        self._is_paused = False
        self._is_partial = False

    def on_event(self, kind: EventKind) -> None:
        """A pause begins or ends, or the figures are reset."""
        if kind is EventKind.RESET:
            self._ticks = []
        if kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = kind is EventKind.PAUSE
            self._is_partial = True

    def tick(self, slot: Slot) -> None:
        """One more slot; one that a pause reaches into is left out."""
        if not self._is_paused and not self._is_partial:
            self._ticks.append(Tick(slot.end_seconds, slot.seconds, slot.transactions))
        self._is_partial = False

    @property
    def result(self) -> Steadiness | None:
        return steadiness(self._ticks)
