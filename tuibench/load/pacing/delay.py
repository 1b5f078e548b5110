"""Simulated network delay: responses are delivered later by a given time.

It applies to statements of the load only, not to logins, nor to statements after the end of the load. One
precise timer serves all connections of a worker.
"""

import asyncio
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.pacing.timer import Timer
from tuibench.mysql.protocol.statement_protocol import CaptureResponse, Request


class NetworkDelay:
    """The delay of a worker's connections. A change applies to round trips that start after it."""

    def __init__(self, clock: Clock, timer: Callable[[Callable[[], None]], Timer]) -> None:
        self.ns = 0
        self._clock = clock
        self._timer = timer(self._on_timer)
        self._order = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    async def wait(self) -> None:
        """Waits for the delay."""
        if not self.ns:
            return
        due_ns = self._clock.now_ns() + self.ns
        arrived = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (due_ns, next(self._order), arrived))
        if self._waiting[0][2] is arrived:
            self._timer.set(due_ns)
        await arrived

    def answer(self, request: bytes | CaptureResponse) -> Generator[Request, Any, Any]:
        """A step of a transaction loop: sends a request and delivers the response or error after the delay.

        A lost connection delivers no response.
        """
        try:
            answer = yield request
        except ConnectionLostError:
            raise
        except SQLError:
            if self.ns:
                yield self.wait
            raise
        if self.ns:
            yield self.wait
        return answer

    def close(self) -> None:
        self._timer.close()

    def _on_timer(self) -> None:
        """Delivers every response that is due; drops those of closed connections."""
        now_ns = self._clock.now_ns()
        while self._waiting and self._waiting[0][0] <= now_ns:
            _, _, arrived = heappop(self._waiting)
            if not arrived.done():
                arrived.set_result(None)
        self._timer.set(self._waiting[0][0] if self._waiting else None)
