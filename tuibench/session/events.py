"""The run's log: gives events their time and their marker number, and hands them on."""

from collections.abc import Callable

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.model.event import CHANGES, Event, EventKind


class EventLog:
    """All events of a run, in order."""

    def __init__(self, clock: Clock, publish: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self._clock = clock
        self._publish = publish
        self._zero_ns: int | None = None
        self._markers = 0

    def start(self, at_ns: int) -> None:
        """Elapsed time counts from here."""
        self._zero_ns = at_ns

    def elapsed_seconds(self) -> float:
        """Seconds since the load started; 0 before."""
        return 0.0 if self._zero_ns is None else (self._clock.now_ns() - self._zero_ns) / NS_PER_SECOND

    def tell(self, kind: EventKind, text: str) -> Event:
        """Something happened now."""
        if kind in CHANGES:
            self._markers += 1
        event = Event(
            at=self._clock.wall_seconds(),
            elapsed_seconds=self.elapsed_seconds(),
            kind=kind,
            text=text,
            marker=self._markers if kind in CHANGES else None,
        )
        self.events.append(event)
        self._publish(event)
        return event
