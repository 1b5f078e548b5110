"""Offset of a host's clocks by round trips, as NTP measures it.

A reply contains the host's clock at some time between sending and receiving: its offset to the middle of the
round trip is wrong by at most half of it. The shortest round trip of a window holds; the window follows
drift.
"""

from collections import deque
from statistics import median
from typing import NamedTuple

WINDOW = 64
"""Maximum number of readings kept: half a minute of beats. Clocks drift apart by less than 100 µs a second.
"""

RECENT = 8


class ClockReading(NamedTuple):
    """One round trip: the offsets of the host's monotonic and wall clock, ± half of it."""

    round_trip_ns: int
    offset_ns: int
    wall_offset_seconds: float


class ClockOffset:
    """The offset of one host, from readings."""

    def __init__(self) -> None:
        self._readings: deque[ClockReading] = deque(maxlen=WINDOW)

    def add(
        self,
        sent_ns: int,
        received_ns: int,
        host_ns: int,
        wall_seconds: float,
        host_wall_seconds: float,
    ) -> None:
        """A round trip; `wall_seconds` is the session's wall clock when the reply was received."""
        round_trip_ns = max(0, received_ns - sent_ns)
        middle_ns = sent_ns + round_trip_ns // 2
        wall_at_middle = wall_seconds - round_trip_ns / 2e9
        reading = ClockReading(round_trip_ns, host_ns - middle_ns, host_wall_seconds - wall_at_middle)
        self._readings.append(reading)

    @property
    def is_known(self) -> bool:
        return bool(self._readings)

    @property
    def best(self) -> ClockReading:
        """The reading with the shortest round trip. There must be one."""
        return min(self._readings, key=lambda reading: reading.round_trip_ns)

    @property
    def offset_ns(self) -> int:
        """Nanoseconds that the host's monotonic clock is ahead of this host's; 0 if unknown."""
        return self.best.offset_ns if self._readings else 0

    @property
    def recent_round_trip_ns(self) -> int:
        """The median of the last round trips, 0 without one."""
        recent = list(self._readings)[-RECENT:]
        return int(median(reading.round_trip_ns for reading in recent)) if recent else 0
