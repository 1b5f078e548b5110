"""Pacing of a load: arrivals, users, the queue of due work, think times, delays, timers.

`ArrivalSchedule` has the intended starts of an open loop, independent of the server's speed. `UserPool` has
users that share the connections of a worker, as with a connection pool: each asks for a connection, waits
until one is free, has its transaction run, thinks, and asks again. The intended start of a transaction is the
time at which its user asked: the response time contains the wait for a connection, the service time does not.
There are never more transactions in flight or due than users. Both classes have no clock: time is an
argument, in nanoseconds.

`WorkQueue` passes their work to a worker's connections. Transactions that are due and not started are the
backlog. A backlog never aborts a run.
"""

import asyncio
import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Generator
from heapq import heapify, heappop, heappush
from itertools import count
from random import Random
from typing import Any, Protocol

from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import ConnectionLostError, SQLError
from tuibench.load.callers import Callers
from tuibench.load.messages import Reassign
from tuibench.model.callers import CallerPolicy, QueueOrder
from tuibench.model.plan import Arrival
from tuibench.mysql.statements import CaptureResponse, Request
from tuibench.workload.generator import TransactionGenerator


class ArrivalSchedule:
    """Generates arrivals: with exponential gaps (a Poisson process) or evenly spaced. All times are in ns.

    Several schedules with parts of a rate add up to the total rate: Poisson processes are additive, and even
    spacing is preserved by a different `phase` of each schedule (a share of the gap, 0 to 1).
    """

    def __init__(self, numbers: Random, arrival: Arrival, phase: float = 0.0) -> None:
        self.rate = 0.0
        self.next_ns: int | None = None
        self._numbers = numbers
        self._arrival = arrival
        self._phase = phase
        self._held_ns: int | None = None
        self._passed: list[int] = []

    def set_rate(self, rate_per_second: float, now_ns: int) -> None:
        """Sets the rate from now on; arrivals that are due stay due.

        The rest of the gap to the next arrival is scaled with the rate, so that a rate that changes
        continuously (a ramp) neither adds nor loses arrivals.
        """
        if rate_per_second == self.rate:
            return
        self._passed = self.due(now_ns)
        before, self.rate = self.rate, rate_per_second
        if self.next_ns is not None and self.rate > 0:
            self.next_ns = now_ns + int((self.next_ns - now_ns) * before / self.rate)
        elif self._held_ns is None:
            self._begin(now_ns)

    def hold(self, now_ns: int) -> None:
        """Stops the schedule until `release`; arrivals that are due stay due."""
        self._passed = self.due(now_ns)
        self._held_ns = now_ns
        self.next_ns = None

    def release(self, now_ns: int) -> None:
        """Resumes the schedule."""
        if self._held_ns is not None:
            self._held_ns = None
            self._begin(now_ns)

    def due(self, now_ns: int) -> list[int]:
        """The intended starts since the last call, in order."""
        arrived, self._passed = self._passed, []
        while self.next_ns is not None and self.next_ns <= now_ns:
            arrived.append(self.next_ns)
            self.next_ns += self._gap_ns()
        return arrived

    def _begin(self, now_ns: int) -> None:
        if self.rate <= 0:
            self.next_ns = None
            return
        even = self._arrival is Arrival.CONSTANT
        first_ns = int(self._phase * NS_PER_SECOND / self.rate) if even else self._gap_ns()
        self.next_ns = now_ns + first_ns

    def _gap_ns(self) -> int:
        if self._arrival is Arrival.CONSTANT:
            return max(1, int(NS_PER_SECOND / self.rate))
        return max(1, int(self._numbers.expovariate(self.rate) * NS_PER_SECOND))


HAS_TIMERFD = sys.platform.startswith("linux")
CLOCK_MONOTONIC = 1
TIMER_ABSOLUTE = 1
TIMER_FLAGS = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
TICK_BYTES = 8


class Timer(Protocol):
    """Calls a function once, at or shortly after a time of the monotonic clock."""

    def set(self, at_ns: int | None) -> None:
        """Sets the time, instead of any earlier one; None disables the timer."""

    def close(self) -> None: ...


def system_timer(callback: Callable[[], None]) -> Timer:
    """The most precise timer on this system. Requires a running event loop.

    Event loops round their timers to milliseconds, which would distort the latencies of an open loop. On
    Linux a timer descriptor (timerfd) is used; elsewhere the event loop's timer.
    """
    return TimerFd(callback) if HAS_TIMERFD else LoopTimer(callback)


class LoopTimer:
    """The event loop's timer: up to a millisecond late."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None

    def set(self, at_ns: int | None) -> None:
        if self._handle is not None:
            self._handle.cancel()
        loop = asyncio.get_running_loop()
        self._handle = None if at_ns is None else loop.call_at(at_ns / NS_PER_SECOND, self._callback)

    def close(self) -> None:
        self.set(None)


class _ITimerSpec(ctypes.Structure):
    """struct itimerspec: no interval, then the expiry time."""

    _fields_ = (
        ("every_s", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("at_s", ctypes.c_long),
        ("at_ns", ctypes.c_long),
    )


class TimerFd:
    """A timerfd on the monotonic clock: about ten microseconds late."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.timerfd_create(CLOCK_MONOTONIC, TIMER_FLAGS)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "timerfd")
        self._callback = callback
        self._spec = _ITimerSpec()
        asyncio.get_running_loop().add_reader(self._fd, self._expired)

    def set(self, at_ns: int | None) -> None:
        at_ns = 0 if at_ns is None else max(1, at_ns)
        self._spec.at_s, self._spec.at_ns = divmod(at_ns, NS_PER_SECOND)
        self._libc.timerfd_settime(self._fd, TIMER_ABSOLUTE, ctypes.byref(self._spec), None)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)

    def _expired(self) -> None:
        try:
            os.read(self._fd, TICK_BYTES)
        except BlockingIOError:
            return
        self._callback()


class NetworkDelay:
    """Delivers the responses of a worker's connections later. A change applies to round trips that start
    after it.

    Logins are not delayed, and neither are statements after the end of the load.
    """

    def __init__(self, clock: Clock, timer: Callable[[Callable[[], None]], Timer]) -> None:
        self.ns = 0
        self._clock = clock
        self._timer = timer(self._on_timer)
        self._order = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    async def wait(self) -> None:
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


class UserPool:
    """The users that neither wait for a connection nor have one, by the time of their next request."""

    def __init__(self) -> None:
        self.users = 0
        self._leaving = 0
        self._next_ns: list[int] = []
        self._is_held = False

    @property
    def is_used(self) -> bool:
        """True if there are users, including those that still have to leave."""
        return self.users > 0 or self._leaving > 0

    @property
    def leaving(self) -> int:
        """The number of users that leave at the end of their transaction."""
        return self._leaving

    @property
    def next_ns(self) -> int | None:
        """The time of the next request; None while held, or if every user waits or is served."""
        return self._next_ns[0] if self._next_ns and not self._is_held else None

    def set_users(self, users: int, now_ns: int) -> None:
        """Sets the number of users: new ones ask immediately; others leave, some after their transaction."""
        more, self.users = users - self.users, users
        returning = min(self._leaving, max(0, more))
        self._leaving -= returning
        for _ in range(more - returning):
            heappush(self._next_ns, now_ns)
        for _ in range(-more):
            if self._next_ns:
                self._next_ns.remove(max(self._next_ns))
                heapify(self._next_ns)
            else:
                self._leaving += 1

    def hold(self) -> None:
        """Stops all requests until `release`."""
        self._is_held = True

    def release(self, now_ns: int) -> None:
        """Resumes requests; users whose time has passed request a connection now."""
        if self._is_held:
            self._is_held = False
            self._next_ns = [max(at_ns, now_ns) for at_ns in self._next_ns]
            heapify(self._next_ns)

    def due(self, now_ns: int, most: int | None) -> list[int]:
        """The times of the requests since the last call, in order, at most `most` (None: all)."""
        asked: list[int] = []
        while (at_ns := self.next_ns) is not None and at_ns <= now_ns and (most is None or len(asked) < most):
            asked.append(heappop(self._next_ns))
        return asked

    def came_back(self, at_ns: int) -> None:
        """A user's transaction has ended; it requests the next one at this time, unless it must leave."""
        if self._leaving:
            self._leaving -= 1
        else:
            heappush(self._next_ns, at_ns)


UNSCHEDULED = -1
"""Takes the place of an intended start for a transaction of a closed loop."""


class Waiter(Protocol):
    """A connection that waits for work."""

    def wake(self) -> None: ...


class WorkQueue:
    """The work of one worker, and its backlog."""

    def __init__(
        self,
        schedule: ArrivalSchedule,
        clock: Clock,
        timer: Callable[[Callable[[], None]], Timer],
        limit: int | None,
        chance: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """`limit` is the maximum of `scheduled`; None for no limit. `chance` spreads callers' pauses."""
        self.is_open = False
        """False in a closed loop."""
        self.scheduled = 0
        """Transactions that came due, or were started in a closed loop."""
        self.abandoned = 0
        """Transactions that were due, and whose caller did not let them start."""
        self._callers = Callers(chance)
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

    @property
    def resent(self) -> int:
        """How many of the scheduled ones are further attempts."""
        return self._callers.resent

    @property
    def follows_ends(self) -> bool:
        """True if `answered` must be called for each transaction that ends."""
        return self._callers.follows_ends

    def set_callers(self, policy: CallerPolicy) -> None:
        self._on_timer()
        self._callers.set_policy(policy)
        self._on_timer()

    def answered(self, intended_ns: int, started_ns: int, ended_ns: int) -> None:
        """A transaction with this intended start has succeeded."""
        self._callers.answered(intended_ns, started_ns, ended_ns)

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

        The last users in the queue leave first.
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
        self._callers.forget()
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
        self._callers.forget()
        self._schedule.hold(self._clock.now_ns())
        self._pool.hold()
        self._timer.set(None)

    def release(self) -> None:
        self._schedule.release(self._clock.now_ns())
        self._pool.release(self._clock.now_ns())
        self._on_timer()

    @property
    def is_finished(self) -> bool:
        """True if there is no backlog and the limit is reached."""
        return self._limit is not None and self.scheduled >= self._limit and not self._backlog

    def start(self) -> int | None:
        """Starts a due transaction, the oldest one unless the callers have another order, or the next one of
        a closed loop.

        Returns its intended start (ns), `UNSCHEDULED` in a closed loop, None if there is nothing to start.
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
        order = self._callers.policy.queue
        if order is QueueOrder.SHED:
            self._shed(self._clock.now_ns())
        intended_ns = None
        if self._backlog:
            intended_ns = self._backlog.pop() if order is QueueOrder.LIFO else self._backlog.popleft()
        if not self._backlog and self._is_exhausted():
            self._wake_all()
        return intended_ns

    def _shed(self, now_ns: int) -> None:
        """Abandons what would not end in time any more."""
        last_ns, before = now_ns - self._callers.startable_ns, len(self._backlog)
        while self._backlog and self._backlog[0] <= last_ns:
            self._backlog.popleft()
        shed = before - len(self._backlog)
        self.abandoned += shed
        if shed and self._pool.is_used:
            self._return_users(shed)

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
        self._callers.forget()
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
        if self._pool.users:
            arrived = self._pool.due(now_ns, left)
        else:
            refused = self._callers.refused
            arrived = self._callers.due(now_ns, self._schedule.due(now_ns), left)
            refused = self._callers.refused - refused
            self.scheduled += refused
            self.abandoned += refused
        self.scheduled += len(arrived)
        self._backlog.extend(arrived)
        if self._callers.policy.queue is QueueOrder.SHED:
            self._shed(now_ns)
        for _ in range(min(len(arrived), len(self._waiters))):
            self._wake_one()
        self._timer.set(None if self._is_exhausted() else self._next_ns)

    @property
    def _next_ns(self) -> int | None:
        if self._pool.users:
            return self._pool.next_ns
        times = (self._schedule.next_ns, self._callers.next_ns)
        return min((at_ns for at_ns in times if at_ns is not None), default=None)

    def _is_exhausted(self) -> bool:
        return self._limit is not None and self.scheduled >= self._limit

    def _wake_all(self) -> None:
        while self._waiters:
            self._wake_one()

    def _wake_one(self) -> None:
        """Wakes the user with the longest wait, for fairness between connections."""
        if self._waiters:
            user = next(iter(self._waiters))
            del self._waiters[user]
            user.wake()


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
    It does not count as latency.
    """

    def __init__(self, values: TransactionGenerator) -> None:
        self.next_transaction: int | None = None
        """None until it is selected."""
        self._pauses = values.pauses
        self._values = values
        self._last: int | None = None
        self._until_ns = 0
        self._is_scheduled = False

    def is_over(self, now_ns: int) -> bool:
        """True if the next transaction may start. The first call starts the wait."""
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
