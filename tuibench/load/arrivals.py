"""Due work and who does it: the queue between the schedule of an open loop and the connections of a worker.

Work that is due and not started is the backlog. It never aborts anything; it is shown.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from tuibench.clock import Clock
from tuibench.load.alarm import Alarm
from tuibench.load.pacing import Pacer
from tuibench.load.report import HandOver

UNASKED = -1
"""The intended start of what a closed loop starts as soon as it can."""


class Idle(Protocol):
    """A connection that waits for work."""

    def wake(self) -> None: ...


class Arrivals:
    """What one worker is to do, and how much of it waits. In a closed loop `is_open` is False.

    `scheduled` counts all that has come due or was started unasked, `limit` is how much that may be in all
    (None: no limit).
    """

    def __init__(
        self, pacer: Pacer, clock: Clock, alarm: Callable[[Callable[[], None]], Alarm], limit: int | None
    ) -> None:
        self.is_open = False
        self.scheduled = 0
        self._pacer = pacer
        self._clock = clock
        self._limit = limit
        self._backlog: deque[int] = deque()
        self._idle: dict[Idle, None] = {}
        self._alarm = alarm(self._ring)

    @property
    def backlog(self) -> int:
        """How much is due and not started."""
        return len(self._backlog)

    @property
    def rate(self) -> float:
        return self._pacer.rate

    def set_rate(self, rate_per_second: float) -> int:
        """From now on this many a second, or a closed loop for 0; that forgets the backlog.

        Returns how much was forgotten.
        """
        self._pacer.set_rate(rate_per_second, self._clock.now_ns())
        self.is_open = rate_per_second > 0
        self._ring()
        if self.is_open:
            return 0
        self._wake_all()
        return self.forget()

    def allow(self, more: int | None) -> None:
        """From now on so much may be scheduled, None for no limit."""
        self._limit = None if more is None else self.scheduled + more

    def hand_over(self) -> HandOver:
        """Gives away what is due and what may still be scheduled: it was never this worker's."""
        due, left = tuple(self._backlog), 0
        self._backlog.clear()
        if self._limit is not None:
            left = max(0, self._limit - self.scheduled)
            self._limit -= left + len(due)
        self.scheduled -= len(due)
        return HandOver(due, left)

    def take_over(self, work: HandOver) -> None:
        """Makes another worker's work its own; what is due longest is still done first.

        In a closed loop nothing is due, and all of it is started when there is time for it.
        """
        self._ring()
        if self._limit is not None:
            self._limit += len(work.due_ns) + work.allowed
        due = work.due_ns if self.is_open else ()
        self.scheduled += len(due)
        self._backlog = deque(sorted((*self._backlog, *due)))
        for _ in due:
            self._wake_one()
        self._ring()

    def hold(self) -> None:
        """Nothing comes due until `release`."""
        self._ring()
        self._pacer.hold(self._clock.now_ns())
        self._alarm.set(None)

    def release(self) -> None:
        self._pacer.release(self._clock.now_ns())
        self._ring()

    @property
    def is_finished(self) -> bool:
        """True when nothing waits, and nothing may come any more."""
        return self._limit is not None and self.scheduled >= self._limit and not self._backlog

    def start(self) -> int | None:
        """Begins the oldest due work, or what a closed loop may: its intended start (ns), or UNASKED.

        None if there is nothing to begin.
        """
        if self.is_open:
            return self._take()
        if (limit := self._limit) is not None and self.scheduled >= limit:
            return None
        self.scheduled += 1
        return UNASKED

    def _take(self) -> int | None:
        if not self._backlog:
            return None
        intended_ns = self._backlog.popleft()
        if not self._backlog and self._is_exhausted():
            self._wake_all()
        return intended_ns

    def wait(self, user: Idle) -> None:
        """The user is woken when something is due for it."""
        self._idle[user] = None

    def withdraw(self, user: Idle) -> None:
        """The user waits no longer. If it was woken for work that it will not do, another one is."""
        was_woken = user not in self._idle
        self._idle.pop(user, None)
        if was_woken and self._backlog:
            self._wake_one()

    def forget(self) -> int:
        """Drops the backlog; how much that was."""
        dropped = len(self._backlog)
        self._backlog.clear()
        return dropped

    def close(self) -> None:
        self._alarm.close()

    def _ring(self) -> None:
        """Moves what has come due into the backlog, and sets the alarm for the next."""
        arrived = self._pacer.due(self._clock.now_ns())
        if self._limit is not None:
            arrived = arrived[: max(0, self._limit - self.scheduled)]
        self.scheduled += len(arrived)
        self._backlog.extend(arrived)
        for _ in range(min(len(arrived), len(self._idle))):
            self._wake_one()
        self._alarm.set(None if self._is_exhausted() else self._pacer.next_ns)

    def _is_exhausted(self) -> bool:
        return self._limit is not None and self.scheduled >= self._limit

    def _wake_all(self) -> None:
        while self._idle:
            self._wake_one()

    def _wake_one(self) -> None:
        """The one that has waited longest, so that all connections get their share."""
        if self._idle:
            user = next(iter(self._idle))
            del self._idle[user]
            user.wake()
