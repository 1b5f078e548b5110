"""The ring of the last minute, and the decision which time is kept.

    readings ──> Ring ──────────────┐
    samples, events ──> Keeper ─────┴──> Request: from a minute before until ten seconds after

A stall is certain only after its end, and may have lasted longer than a minute. So while the load does
nothing or the server does not answer, the ring is held: the minute before that time stays, and readings in
the middle of a long standstill are thinned.
"""

from collections import deque
from typing import NamedTuple

from tuibench.model.event import Trouble, TroubleKind

BEFORE_SECONDS, AFTER_SECONDS = 60.0, 10.0
"""What is kept before and after a trouble."""
EDGE_SECONDS = 15.0
"""At the beginning and the end of a standstill, no reading is left out."""
MIDDLE_READINGS = 240
"""About the number of readings that stay of the middle of a long standstill."""
CERTAIN_SECONDS = 15.0
"""How long after a standstill its event may come: `metrics.stalls` waits for up to ten seconds."""
OUTAGE_SECONDS = 2.0
"""A server that does not answer for so long is out."""
LONGEST_SECONDS = 300.0
"""Troubles that follow each other are kept together for at most so long."""


class Encoded(NamedTuple):
    """An encoded reading."""

    at_seconds: float
    data: bytes


class Ring:
    """The latest readings, at most `most_bytes`."""

    def __init__(self, most_bytes: int = 12 << 20) -> None:
        self._readings: deque[Encoded] = deque()
        self._bytes = 0
        self._most_bytes = most_bytes
        self._thinned_at = 0.0
        self.held_since: float | None = None

    def __len__(self) -> int:
        return len(self._readings)

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def add(self, reading: Encoded) -> None:
        """Adds the newest reading, and drops what is too old."""
        self._readings.append(reading)
        self._bytes += len(reading.data)
        first = (reading.at_seconds if self.held_since is None else self.held_since) - BEFORE_SECONDS
        while self._readings and self._readings[0].at_seconds < first:
            self._bytes -= len(self._readings.popleft().data)
        if self.held_since is not None and reading.at_seconds - self._thinned_at >= EDGE_SECONDS:
            self._thinned_at = reading.at_seconds
            self._thin(self.held_since + EDGE_SECONDS, reading.at_seconds - EDGE_SECONDS)
        while self._bytes > self._most_bytes and len(self._readings) > 1:
            # Every other reading goes: a coarse minute says more than a fine half.
            self._readings = deque(each for place, each in enumerate(self._readings) if place % 2)
            self._bytes = sum(len(each.data) for each in self._readings)

    def within(self, start: float, end: float) -> list[Encoded]:
        return [each for each in self._readings if start <= each.at_seconds <= end]

    def _thin(self, start: float, end: float) -> None:
        step = max(0.5, (end - start) / MIDDLE_READINGS)
        kept: deque[Encoded] = deque()
        last = -step
        for each in self._readings:
            if start < each.at_seconds < end:
                if each.at_seconds - last < step:
                    self._bytes -= len(each.data)
                    continue
                last = each.at_seconds
            kept.append(each)
        self._readings = kept


class Request(NamedTuple):
    """A time to be kept."""

    reasons: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    start_seconds: float
    """When what went wrong began."""
    end_seconds: float

    @property
    def from_seconds(self) -> float:
        return self.start_seconds - BEFORE_SECONDS

    @property
    def until_seconds(self) -> float:
        return self.end_seconds + AFTER_SECONDS


class Keeper:
    """Decides what is kept. It has no clock: each call says the time in seconds."""

    def __init__(self) -> None:
        self.held_since: float | None = None
        """Since when the ring is held."""
        self._pending: Request | None = None
        self._ready: list[Request] = []
        self._normal_since: float | None = None
        self._silent_since: float | None = None
        self._is_outage_known = False

    def sample(self, start: float, end: float, *, is_still: bool, is_answered: bool) -> None:
        """A sample of the session. It `is_still` if a load that has work completed nothing in it."""
        if is_answered:
            if self._silent_since is not None and start - self._silent_since >= OUTAGE_SECONDS:
                self._tell_outage(start)
            self._silent_since, self._is_outage_known = None, False
        elif self._silent_since is None:
            self._silent_since = start
        elif end - self._silent_since >= BEFORE_SECONDS and not self._is_outage_known:
            self._tell_outage(end)
        if is_still or not is_answered:
            self.held_since = start if self.held_since is None else self.held_since
            self._normal_since = None
        elif self.held_since is not None:
            self._normal_since = start if self._normal_since is None else self._normal_since
            if end - self._normal_since >= CERTAIN_SECONDS and self._pending is None:
                self.held_since = None

    def _tell_outage(self, end: float) -> None:
        since = self._silent_since or 0.0
        self._is_outage_known = True
        trouble = Trouble(TroubleKind.OUTAGE, since, end)
        self.keep(f"no answer of the server for {end - since:.1f} s", since, end, trouble)

    def keep(self, reason: str, start: float, end: float, trouble: Trouble | None = None) -> None:
        """Keep this time; together with a time that is still open, if it touches that."""
        more = (trouble,) if trouble is not None else ()
        open_one = self._pending
        if open_one is not None:
            first, last = min(open_one.start_seconds, start), max(open_one.end_seconds, end)
            if start <= open_one.until_seconds and last - first <= LONGEST_SECONDS:
                self._pending = Request((*open_one.reasons, reason), (*open_one.troubles, *more), first, last)
                return
            self._ready.append(open_one)
        self._pending = Request((reason,), more, start, end)

    def due(self, now: float, *, is_over: bool = False) -> list[Request]:
        """The times whose last second has passed; all of them if the session `is_over`."""
        if self._pending is not None and (is_over or now >= self._pending.until_seconds):
            self._ready.append(self._pending)
            self._pending = None
        ready, self._ready = self._ready, []
        return ready
