"""How late this process's event loop runs: the sign that a worker, not the server, is the bottleneck."""

import asyncio
import time

EVERY_SECONDS = 0.02


class LagProbe:
    """Asks to be woken at short intervals and notes how late the loop came round."""

    def __init__(self) -> None:
        self._lags_ms: list[float] = []
        self._task = asyncio.create_task(self._probe(), name="lag probe")

    def take_p99_ms(self) -> float:
        """The 99th percentile since the last call, in milliseconds; 0 without a reading."""
        lags, self._lags_ms = sorted(self._lags_ms), []
        return lags[min(len(lags) - 1, int(len(lags) * 0.99))] if lags else 0.0

    def close(self) -> None:
        self._task.cancel()

    async def _probe(self) -> None:
        while True:
            due = time.monotonic() + EVERY_SECONDS
            await asyncio.sleep(EVERY_SECONDS)
            self._lags_ms.append(max(0.0, time.monotonic() - due) * 1000)
