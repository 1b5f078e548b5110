"""Keying and think times: waits between transactions, which do not count as latency.

`ThinkTime` decides about the waits of a connection; `WakeupTimer` wakes the connections of a worker.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.load.pacing.timer import Timer
from tuibench.load.pacing.work_queue import Waiter
from tuibench.workload.generate.generator import Generator


class WakeupTimer:
    """Wakes connections at the end of their waits. One precise timer serves all connections of a worker."""

    def __init__(self, clock: Clock, timer: Callable[[Callable[[], None]], Timer]) -> None:
        self._clock = clock
        self._timer = timer(self._on_timer)
        self._order = count()
        self._sleeping: list[tuple[int, int, Waiter]] = []

    def schedule(self, at_ns: int, user: Waiter) -> None:
        """Wakes the user at this time. A user that has ended ignores it."""
        heappush(self._sleeping, (at_ns, next(self._order), user))
        self._timer.set(self._sleeping[0][0])

    def close(self) -> None:
        self._timer.close()

    def _on_timer(self) -> None:
        now_ns, due = self._clock.now_ns(), []
        while self._sleeping and self._sleeping[0][0] <= now_ns:
            due.append(heappop(self._sleeping)[2])
        self._timer.set(self._sleeping[0][0] if self._sleeping else None)
        for user in due:
            user.wake()


class ThinkTime:
    """One connection's wait between two transactions: think time of the last, then keying time of the next.

    `next_transaction` is None until it is selected.
    """

    def __init__(self, values: Generator) -> None:
        self.next_transaction: int | None = None
        self._pauses = values.pauses
        self._values = values
        self._last: int | None = None
        self._until_ns = 0
        self._is_scheduled = False

    def is_over(self, now_ns: int) -> bool:
        """Whether the next transaction may start. The first call starts the wait."""
        if self.next_transaction is None:
            self.next_transaction = self._values.draw()
            thinking = 0.0 if self._last is None else self._pauses.after(self._last)
            seconds = thinking + self._pauses.before(self.next_transaction)
            self._until_ns, self._is_scheduled = now_ns + int(seconds * NS_PER_SECOND), False
        return now_ns >= self._until_ns

    def take_wakeup_ns(self) -> int | None:
        """The end of the wait (ns), returned once per wait."""
        if self._is_scheduled:
            return None
        self._is_scheduled = True
        return self._until_ns

    def take(self) -> int:
        """The transaction to run: the one selected before the wait or, without a wait, a new one."""
        which = self._values.draw() if self.next_transaction is None else self.next_transaction
        self.next_transaction, self._last = None, which
        return which
