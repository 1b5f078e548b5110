"""Event log of a run: assigns time and marker number to each event.

The history for viewers that join later: limited in number, and reduced to what charts need.
"""

from collections import deque
from collections.abc import Callable
from itertools import islice

import msgspec
from msgspec.structs import replace

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.model.counters import LOG_FSYNCS, SAMPLED_NAMES, Counter
from tuibench.model.effect import Effect
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.sample import Sample
from tuibench.model.tick import STATEMENT


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
        """Set the start of elapsed time; it is negative before a start in the future."""
        self.zero_ns = at_ns
        self._is_started = True

    def elapsed_seconds(self) -> float:
        """Seconds since the start; 0 while it is unknown."""
        return self.elapsed_at(self._clock.now_ns())

    def elapsed_at(self, at_ns: int) -> float:
        """Seconds from the start to a time."""
        return (at_ns - self.zero_ns) / NS_PER_SECOND if self._is_started else 0.0

    def emit(self, kind: EventKind, text: str, effect: Effect | None = None) -> Event:
        """Emit an event that happens now."""
        if kind in CHANGE_KINDS:
            self._markers += 1
        marker = self._markers if kind in CHANGE_KINDS else None
        event = Event(
            at=self._clock.wall_seconds(),
            elapsed_seconds=self.elapsed_seconds(),
            kind=kind,
            text=text,
            marker=effect.markers[-1] if effect else marker,
            effect=effect,
        )
        return self._add(event)

    def emit_not_measured(self, marker: int, change: str, why: str) -> Event:
        """Emit the reason why the effect of a change could not be measured."""
        return self._add(
            Event(
                at=self._clock.wall_seconds(),
                elapsed_seconds=self.elapsed_seconds(),
                kind=EventKind.EFFECT,
                text=f"effect of {change} not measured: {why}",
                marker=marker,
                not_measured=why,
            )
        )

    def _add(self, event: Event) -> Event:
        self.events.append(event)
        self._publish(event)
        return event


MOST_SAMPLES = 3600


class SampleHistory:
    """The newest samples. Only the last one is kept completely, the others as JSON with what charts need."""

    def __init__(self, most: int = MOST_SAMPLES) -> None:
        self._slim: deque[msgspec.Raw] = deque(maxlen=most - 1)
        self._last: Sample | None = None

    def add(self, sample: Sample) -> None:
        if self._last is not None:
            self._slim.append(msgspec.Raw(msgspec.json.encode(slim(self._last))))
        self._last = sample

    def newest(self, count: int) -> tuple[Sample | msgspec.Raw, ...]:
        """The newest samples, up to a maximum, oldest first; to be encoded as they are."""
        if self._last is None or count <= 0:
            return ()
        return (*islice(self._slim, max(0, len(self._slim) - count + 1), None), self._last)


KEPT_SUMS = frozenset({*LOG_FSYNCS, Counter.POOL_READS, Counter.POOL_READ_REQUESTS})
KEPT_LEVELS = frozenset({Counter.THREADS_RUNNING, Counter.THREADS_CONNECTED, Counter.OPEN_TABLES})
"""Of the server's counters, those of charts."""


def slim(sample: Sample) -> Sample:
    """The sample without what is only looked at while it is new: counters, gauges, and all latencies but
    those of the transactions.
    """
    tick = sample.tick
    return replace(
        sample,
        tick=replace(
            tick,
            sums={name: value for name, value in tick.sums.items() if _is_kept(name, KEPT_SUMS)},
            levels={name: value for name, value in tick.levels.items() if _is_kept(name, KEPT_LEVELS)},
            hists={name: each for name, each in tick.hists.items() if not name.startswith(STATEMENT)},
            missing={},
        ),
    )


def _is_kept(name: str, of_server: frozenset[Counter]) -> bool:
    return name in of_server or (name not in SAMPLED_NAMES and not name.startswith("host.core."))
