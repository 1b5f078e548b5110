"""Ticks added up to intervals, for what is printed and what is written."""

from tuibench.record.text import Interval

ROUNDING_SECONDS = 1e-6


class Every:
    """Hands on an interval every so many seconds; with 0 never."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._gathered = Interval()
        self._taken_at = 0.0

    def take(self, elapsed_seconds: float, interval: Interval) -> Interval | None:
        """Takes a tick in; the whole, once it is complete."""
        self._gathered.add(interval)
        if not self._seconds or elapsed_seconds - self._taken_at < self._seconds - ROUNDING_SECONDS:
            return None
        whole, self._gathered, self._taken_at = self._gathered, Interval(), elapsed_seconds
        return whole
