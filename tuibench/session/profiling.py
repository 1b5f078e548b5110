"""CPU profiles of a session: of all of it, or of the next window, as the operator wants it."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tuibench.clock import Clock
from tuibench.errors import RunError, UsageError
from tuibench.flame.profile import Profiler
from tuibench.model.event import EventKind
from tuibench.model.schedule import format_duration


class CpuProfiling:
    """Records the server's process, whose id `server_pid` returns. If it cannot, the run goes on without."""

    def __init__(
        self,
        folder: Path,
        server_pid: Callable[[], int | None],
        emit: Callable[[EventKind, str], object],
        start_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        clock: Clock,
    ) -> None:
        self._profiler = Profiler(folder)
        self._server_pid = server_pid
        self._emit = emit
        self._start_task = start_task
        self._clock = clock
        self._lock = asyncio.Lock()
        self._end: asyncio.Task[None] | None = None

    async def record_all(self) -> None:
        """Begin with the run; the reason why that is not possible is an event."""
        try:
            await self._profiler.start(self._server_pid())
        except RunError as error:
            self._emit(EventKind.WARNING, f"no CPU profile: {error.message}: {error.hint}")

    async def record(self, seconds: float) -> str:
        """Record from now on for so long, also if a window is under way; 0 ends it. Raises a TuibenchError
        with the reason and the remedy.
        """
        async with self._lock:
            is_recording = self._profiler.is_recording
            if is_recording and self._end is None and seconds:
                raise UsageError("the CPU profile of the whole run is being recorded")
            if not is_recording and not seconds:
                return "no CPU profile is being recorded"
            if self._end is not None:
                self._end.cancel()
                self._end = None
            if not seconds:
                await self._stop()
                return "the CPU profile ends"
            if not is_recording:
                await self._profiler.start(self._server_pid())
                self._emit(EventKind.MARK, "CPU profile begins")
            self._end = self._start_task(self._stop_after(seconds), "CPU profile")
            return (
                f"CPU profile of the next {format_duration(seconds)}: tuibench flame shows it after the run"
            )

    async def close(self) -> None:
        async with self._lock:
            if text := await self._profiler.finish():
                self._emit(EventKind.WARNING, text)

    async def _stop_after(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        async with self._lock:
            self._end = None
            await self._stop()

    async def _stop(self) -> None:
        await self._profiler.stop()
        self._emit(EventKind.MARK, "CPU profile ends")
