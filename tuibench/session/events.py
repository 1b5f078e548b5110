"""The run's log: gives events their time and their marker number, and hands them on."""

from collections.abc import Callable

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.model.effect import Effect
from tuibench.model.event import CHANGES, Event, EventKind


class EventLog:
    """All events of a run, in order."""

    def __init__(self, clock: Clock, publish: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self._clock = clock
        self._publish = publish
        self.zero_ns = 0
        self._is_started = False
        self._markers = 0

    def start(self, at_ns: int) -> None:
        """Elapsed time counts from here; before a time that is still to come it is negative."""
        self.zero_ns = at_ns
        self._is_started = True

    def elapsed_seconds(self) -> float:
        """Seconds since the start; 0 as long as it is not known."""
        return self.elapsed_at(self._clock.now_ns())

    def elapsed_at(self, at_ns: int) -> float:
        """Seconds from the start to a time."""
        return (at_ns - self.zero_ns) / NS_PER_SECOND if self._is_started else 0.0

    def tell(self, kind: EventKind, text: str, effect: Effect | None = None) -> Event:
        """Something happened now."""
        if kind in CHANGES:
            self._markers += 1
        marker = self._markers if kind in CHANGES else None
        event = Event(
            at=self._clock.wall_seconds(),
            elapsed_seconds=self.elapsed_seconds(),
            kind=kind,
            text=text,
            marker=effect.markers[-1] if effect else marker,
            effect=effect,
        )
        self.events.append(event)
        self._publish(event)
        return event
