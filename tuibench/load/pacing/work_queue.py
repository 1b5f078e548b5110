"""Work queue between what makes transactions due and a worker's connections.

In an open loop an arrival schedule makes them due, with a pool of users these do. Transactions that are due
and not started are the backlog. A backlog never aborts a run.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from tuibench.clock import Clock
from tuibench.load.pacing.arrival_schedule import ArrivalSchedule
from tuibench.load.pacing.timer import Timer
from tuibench.load.pacing.user_pool import UserPool
from tuibench.load.worker_report import Reassign

UNSCHEDULED = -1
"""In place of an intended start, for a transaction of a closed loop."""


class Waiter(Protocol):
    """A connection that waits for work."""

    def wake(self) -> None: ...


class WorkQueue:
    """The work of one worker, and its backlog. In a closed loop `is_open` is False.

    `scheduled` counts transactions that came due or were started in a closed loop; `limit` is its maximum
    (None: no limit).
    """

    def __init__(
        self,
        schedule: ArrivalSchedule,
        clock: Clock,
        timer: Callable[[Callable[[], None]], Timer],
        limit: int | None,
    ) -> None:
        self.is_open = False
        self.scheduled = 0
        self._schedule = schedule
        self._pool = UserPool()
        self._clock = clock
        self._limit = limit
        self._backlog: deque[int] = deque()
        self._waiters: dict[Waiter, None] = {}
        self._timer = timer(self._on_timer)

    @property
    def backlog(self) -> int:
        """The number of transactions that are due and not started."""
        return len(self._backlog)

    @property
    def rate(self) -> float:
        return self._schedule.rate

    def set_rate(self, rate_per_second: float) -> int:
        """Sets the rate per second from now on; 0 for a closed loop, which drops the backlog.

        Returns the size of the dropped backlog.
        """
        self._schedule.set_rate(rate_per_second, self._clock.now_ns())
        self.is_open = rate_per_second > 0 or self._pool.users > 0
        self._on_timer()
        if self.is_open:
            return 0
        self._wake_all()
        return self.forget()

    def set_users(self, users: int) -> None:
        """Sets the number of users that share the connections, instead of a rate.

        The users that leave are the last in the queue.
        """
        now_ns = self._clock.now_ns()
        self._pool.set_users(users, now_ns)
        self.is_open = users > 0 or self._schedule.rate > 0
        while self._pool.leaving and self._backlog:
            self._backlog.pop()
            self.scheduled -= 1
            self._pool.came_back(now_ns)
        self._on_timer()
        self._wake_all()

    def user_came_back(self, at_ns: int) -> None:
        """The user of a transaction that has ended requests its next one at this time."""
        if self._pool.is_used:
            self._pool.came_back(at_ns)
            self._on_timer()

    @property
    def users(self) -> int:
        """The number of users that share the connections; 0 without a pool."""
        return self._pool.users

    def grant_quota(self, more: int | None) -> None:
        """Sets the limit of scheduled transactions, None for no limit."""
        self._limit = None if more is None else self.scheduled + more

    def reassign(self) -> Reassign:
        """Removes and returns the backlog and the rest of the quota, as if this worker had never had them.

        Users stay, and request again.
        """
        due, left = tuple(self._backlog), 0
        self._backlog.clear()
        if self._pool.is_used:
            self.scheduled -= len(due)
            self._return_users(len(due))
            due = ()
        if self._limit is not None:
            left = max(0, self._limit - self.scheduled)
            self._limit -= left + len(due)
        self.scheduled -= len(due)
        return Reassign(due, left)

    def take_over(self, work: Reassign) -> None:
        """Takes over another worker's work; the oldest due transaction is still started first.

        In a closed loop nothing is due, and the work starts as soon as a connection is free.
        """
        self._on_timer()
        if self._limit is not None:
            self._limit += len(work.due_ns) + work.quota
        due = work.due_ns if self.is_open else ()
        self.scheduled += len(due)
        self._backlog = deque(sorted((*self._backlog, *due)))
        for _ in due:
            self._wake_one()
        self._on_timer()

    def hold(self) -> None:
        """Stops the schedule until `release`."""
        self._on_timer()
        self._schedule.hold(self._clock.now_ns())
        self._pool.hold()
        self._timer.set(None)

    def release(self) -> None:
        self._schedule.release(self._clock.now_ns())
        self._pool.release(self._clock.now_ns())
        self._on_timer()

    @property
    def is_finished(self) -> bool:
        """Whether there is no backlog and the limit is reached."""
        return self._limit is not None and self.scheduled >= self._limit and not self._backlog

    def start(self) -> int | None:
        """Starts the oldest due transaction, or the next one of a closed loop.

        Returns its intended start (ns), UNASKED in a closed loop, None if there is nothing to start.
        """
        if self.is_open:
            return self._take()
        if (limit := self._limit) is not None and self.scheduled >= limit:
            return None
        self.scheduled += 1
        return UNSCHEDULED

    def _take(self) -> int | None:
        if not self._backlog:
            return None
        intended_ns = self._backlog.popleft()
        if not self._backlog and self._is_exhausted():
            self._wake_all()
        return intended_ns

    def wait(self, user: Waiter) -> None:
        """Wakes the user when a transaction is due for it."""
        self._waiters[user] = None

    def withdraw(self, user: Waiter) -> None:
        """Removes a waiting user. If it was woken already, another user is woken for its work."""
        was_woken = user not in self._waiters
        self._waiters.pop(user, None)
        if was_woken and self._backlog:
            self._wake_one()

    def forget(self) -> int:
        """Drops the backlog and returns its size; waiting users request again."""
        dropped = len(self._backlog)
        self._backlog.clear()
        if self._pool.is_used:
            self._return_users(dropped)
        return dropped

    def _return_users(self, count: int) -> None:
        now_ns = self._clock.now_ns()
        for _ in range(count):
            self._pool.came_back(now_ns)
        self._timer.set(None if self._is_exhausted() else self._next_ns)

    def close(self) -> None:
        self._timer.close()

    def _on_timer(self) -> None:
        """Moves due arrivals into the backlog, and sets the timer for the next."""
        now_ns = self._clock.now_ns()
        left = None if self._limit is None else max(0, self._limit - self.scheduled)
        arrived = self._pool.due(now_ns, left) if self._pool.users else self._schedule.due(now_ns)[:left]
        self.scheduled += len(arrived)
        self._backlog.extend(arrived)
        for _ in range(min(len(arrived), len(self._waiters))):
            self._wake_one()
        self._timer.set(None if self._is_exhausted() else self._next_ns)

    @property
    def _next_ns(self) -> int | None:
        return self._pool.next_ns if self._pool.users else self._schedule.next_ns

    def _is_exhausted(self) -> bool:
        return self._limit is not None and self.scheduled >= self._limit

    def _wake_all(self) -> None:
        while self._waiters:
            self._wake_one()

    def _wake_one(self) -> None:
        """The user with the longest wait, for fairness between connections."""
        if self._waiters:
            user = next(iter(self._waiters))
            del self._waiters[user]
            user.wake()
