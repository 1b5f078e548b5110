"""A longer way to the server, make-believe: answers are handed on as much later as the network would take.

Only statements of the load go this way. Logins do not, nor does what is sent once the load has ended. Nobody
waits busily, and one exact alarm serves all connections of a worker.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.alarm import Alarm

Execute = Callable[[tuple[Any, ...]], Awaitable[Any]]
"""Runs a statement: the rows it affected, as a number, or those it captures, as rows."""


class Executors(Protocol):
    """How each flat statement is run, by its index."""

    def __getitem__(self, index: int, /) -> Execute: ...


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

    async def after(self, execute: Execute, values: tuple[Any, ...]) -> Any:
        """Runs a statement; its answer comes late, and so does an error. A lost connection has none."""
        try:
            answer = await execute(values)
        except ConnectionLostError:
            raise
        except SQLError:
            await self.passed()
            raise
        await self.passed()
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


class FarAway:
    """The executors of one connection, seen from the other end of the delay."""

    __slots__ = ("_delay", "_near")

    def __init__(self, near: Executors, delay: Delay) -> None:
        self._near = near
        self._delay = delay

    def __getitem__(self, index: int) -> Execute:
        return partial(self._delay.after, self._near[index])
