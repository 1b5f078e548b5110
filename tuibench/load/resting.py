"""Waiting between transactions: keying and think times, which are no latency, and no work of anybody.

`Rest` is one connection's and decides; `Reveille` is a worker's and wakes.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.load.alarm import Alarm
from tuibench.load.arrivals import Idle
from tuibench.workload.generate import Generator


class Reveille:
    """Wakes connections when their rest is over. One exact alarm serves all of a worker."""

    def __init__(self, clock: Clock, alarm: Callable[[Callable[[], None]], Alarm]) -> None:
        self._clock = clock
        self._alarm = alarm(self._ring)
        self._order = count()
        self._resting: list[tuple[int, int, Idle]] = []

    def book(self, at_ns: int, user: Idle) -> None:
        """The user is woken at this time. One that is gone by then does not mind."""
        heappush(self._resting, (at_ns, next(self._order), user))
        self._alarm.set(self._resting[0][0])

    def close(self) -> None:
        self._alarm.close()

    def _ring(self) -> None:
        now_ns, due = self._clock.now_ns(), []
        while self._resting and self._resting[0][0] <= now_ns:
            due.append(heappop(self._resting)[2])
        self._alarm.set(self._resting[0][0] if self._resting else None)
        for user in due:
            user.wake()


class Rest:
    """One connection's rest between two transactions: thinking about the last, then keying the next one in.

    `following` is what comes next, None before that is drawn.
    """

    def __init__(self, values: Generator) -> None:
        self.following: int | None = None
        self._pauses = values.pauses
        self._values = values
        self._last: int | None = None
        self._until_ns = 0
        self._is_booked = False

    def is_over(self, now_ns: int) -> bool:
        """Whether the next transaction may start. The rest begins when this is asked first."""
        if self.following is None:
            self.following = self._values.draw()
            thinking = 0.0 if self._last is None else self._pauses.after(self._last)
            seconds = thinking + self._pauses.before(self.following)
            self._until_ns, self._is_booked = now_ns + int(seconds * NS_PER_SECOND), False
        return now_ns >= self._until_ns

    def to_book(self) -> int | None:
        """When to be woken (ns), told once for each rest."""
        if self._is_booked:
            return None
        self._is_booked = True
        return self._until_ns

    def take(self) -> int:
        """What is to be done now: what the rest was for, or (without a rest) what is drawn."""
        which = self._values.draw() if self.following is None else self.following
        self.following, self._last = None, which
        return which
