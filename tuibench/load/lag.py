"""How late this process's event loop runs: the sign that a worker, not the server, is the bottleneck."""

import asyncio
import math

from tuibench.clock import Clock

EVERY_SECONDS = 0.02


class LagProbe:
    """Asks to be woken at short intervals and notes how late the loop came round."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lags_ms: list[float] = []
        self._task = asyncio.create_task(self._probe(), name="lag probe")

    def take_p99_ms(self) -> float:
        """The 99th percentile (nearest rank) since the last call, in milliseconds; 0 without a reading."""
        lags, self._lags_ms = sorted(self._lags_ms), []
        return lags[math.ceil(len(lags) * 0.99) - 1] if lags else 0.0

    def close(self) -> None:
        self._task.cancel()

    async def _probe(self) -> None:
        while True:
            due_ns = self._clock.now_ns() + int(EVERY_SECONDS * 1e9)
            await self._clock.sleep(EVERY_SECONDS)
            self._lags_ms.append(max(0, self._clock.now_ns() - due_ns) / 1e6)
