"""An event loop whose time is make-believe: when nobody has anything to do, it is already later.

Scenarios of many seconds run in an instant, in the order they would have, and the same each time.
"""

import asyncio
import math
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tuibench.base.clock import NS_PER_SECOND
from tuibench.load.pacing import LoopTimer, Timer

ROUNDING_NS = 1e-3
"""Times of the loop are floating-point seconds; this is more than they lose, and less than a nanosecond."""

Result = TypeVar("Result")


class _Impatient(selectors.DefaultSelector):
    """Instead of waiting, it lets the time pass."""

    passed_ns = 0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise AssertionError("everybody waits, and nothing will ever happen")
            self.passed_ns += math.ceil(timeout * NS_PER_SECOND - ROUNDING_NS)
        return ready


class VirtualClock(asyncio.SelectorEventLoop):
    """The loop itself, and a `Clock` on it."""

    def __init__(self) -> None:
        self._impatient = _Impatient()
        super().__init__(self._impatient)
        self._clock_resolution = 0.5 / NS_PER_SECOND

    def time(self) -> float:
        return self._impatient.passed_ns / NS_PER_SECOND

    def now_ns(self) -> int:
        return self._impatient.passed_ns

    def wall_seconds(self) -> float:
        return 1_700_000_000.0 + self.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timer(self, callback: Callable[[], None]) -> Timer:
        return LoopTimer(callback)


def in_no_time(scenario: Callable[[VirtualClock], Coroutine[Any, Any, Result]]) -> Result:
    """Runs a scenario from second 0; it gets the clock."""
    with asyncio.Runner(loop_factory=VirtualClock) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualClock)
        return runner.run(scenario(loop))
