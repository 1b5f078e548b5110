"""A longer way to the server, make-believe: answers are handed on as much later as the network would take.

Only statements of the load go this way. Logins do not, nor does what is sent once the load has ended. Nobody
waits busily, and one exact alarm serves all connections of a worker.
"""

import asyncio
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.alarm import Alarm
from tuibench.mysql.exchange import Said, Whole


class Delay:
    """The delay of a worker's connections. A change holds for the round trips that begin after it."""

    def __init__(self, clock: Clock, alarm: Callable[[Callable[[], None]], Alarm]) -> None:
        self.ns = 0
        self._clock = clock
        self._alarm = alarm(self._ring)
        self._order = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    async def passed(self) -> None:
        """Returns when the delay has passed since now."""
        if not self.ns:
            return
        due_ns = self._clock.now_ns() + self.ns
        arrived = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (due_ns, next(self._order), arrived))
        if self._waiting[0][2] is arrived:
            self._alarm.set(due_ns)
        await arrived

    def answer(self, said: bytes | Whole) -> Generator[Said, Any, Any]:
        """Part of a script: says something, and hands on the answer late, or the error.

        A lost connection gives no answer.
        """
        try:
            answer = yield said
        except ConnectionLostError:
            raise
        except SQLError:
            if self.ns:
                yield self.passed
            raise
        if self.ns:
            yield self.passed
        return answer

    def close(self) -> None:
        self._alarm.close()

    def _ring(self) -> None:
        """Hands on every answer that is due. Those of cut off connections are nobody's."""
        now_ns = self._clock.now_ns()
        while self._waiting and self._waiting[0][0] <= now_ns:
            _, _, arrived = heappop(self._waiting)
            if not arrived.done():
                arrived.set_result(None)
        self._alarm.set(self._waiting[0][0] if self._waiting else None)
