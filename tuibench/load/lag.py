"""How late this process's event loop runs: the sign that a worker, not the server, is the bottleneck."""

from collections.abc import Callable

from tuibench.clock import Clock
from tuibench.load.alarm import Alarm

EVERY_NS = 5_000_000


class LagProbe:
    """Asks to be woken at short intervals, by an exact alarm, and notes how late the loop came round."""

    def __init__(self, clock: Clock, alarm: Callable[[Callable[[], None]], Alarm]) -> None:
        self._clock = clock
        self._lags_ms: list[float] = []
        self._due_ns = 0
        self._alarm = alarm(self._ring)
        self._set()

    def take_p99_ms(self) -> float:
        """The 99th percentile (nearest rank) since the last call, in milliseconds; 0 without a reading."""
        lags, self._lags_ms = sorted(self._lags_ms), []
        return lags[-(-len(lags) * 99 // 100) - 1] if lags else 0.0

    def close(self) -> None:
        self._alarm.close()

    def _set(self) -> None:
        self._due_ns = self._clock.now_ns() + EVERY_NS
        self._alarm.set(self._due_ns)

    def _ring(self) -> None:
        self._lags_ms.append(max(0, self._clock.now_ns() - self._due_ns) / 1e6)
        self._set()
