"""The callers of a worker: which attempts have not ended in time, and when they are sent again.

`model.callers` explains what callers do. This is their state, without a clock and without I/O: the queue of
work passes what arrives and what has ended, and gets what comes due.

    arrival ──> attempt 1 ──ended in time──> answered
                    │ deadline
                    v
                  missed ──attempts, budget left──> pause ──> attempt 2 ──> …

A transaction that starts just before its deadline ends after it: with `QueueOrder.SHED`, one is started only
if it would still end in time, by the mean service time and four mean deviations (as RFC 6298 sets a timeout).

Only attempts that have not ended are kept, each by its intended start (ns), which no two of them share. All
of them have the present deadline, so that a change of the deadline applies to those that wait, too. The
native engine has the same in `native/src/callers.rs`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND
from tuibench.model.callers import Breaker, CallerPolicy, QueueOrder

NS_PER_US = 1000
NEVER_NS = 1 << 62

MOST_TOKENS = 10.0
"""Unused retry budget that is kept, in attempts."""

WINDOW_NS = NS_PER_SECOND
FEWEST_ENDED = 10
"""A breaker judges the attempts that were answered or missed within a window, once there are so many."""


class ServiceTime:
    """How long a transaction takes from its actual start, as RFC 6298 estimates a round trip. In ns."""

    def __init__(self) -> None:
        self._mean = self._deviation = 0.0

    def add(self, service_ns: int) -> None:
        if not self._mean:
            self._mean, self._deviation = float(service_ns), service_ns / 2
            return
        self._deviation += (abs(self._mean - service_ns) - self._deviation) / 4
        self._mean += (service_ns - self._mean) / 8

    @property
    def most_ns(self) -> int:
        """What few transactions exceed; 0 before the first one."""
        return int(self._mean + 4 * self._deviation)


class CircuitBreaker:
    """Opens when too many attempts are missed. Times are in ns."""

    def __init__(self, breaker: Breaker) -> None:
        self._share = breaker.percent / 100
        self._open_ns = round(breaker.seconds * NS_PER_SECOND)
        self._open_until_ns = 0
        self._window_end_ns = 0
        self._ended = self._missed = 0

    def is_open(self, now_ns: int) -> bool:
        return now_ns < self._open_until_ns

    def count(self, now_ns: int, *, is_missed: bool) -> None:
        """Counts an attempt that was answered or missed; while the breaker is open, none counts."""
        if self.is_open(now_ns):
            return
        if now_ns >= self._window_end_ns:
            self._window_end_ns = now_ns + WINDOW_NS
            self._ended = self._missed = 0
        self._ended += 1
        self._missed += is_missed
        if self._ended >= FEWEST_ENDED and self._missed >= self._share * self._ended:
            self._open_until_ns = now_ns + self._open_ns
            self._window_end_ns = 0


def patience_ns(policy: CallerPolicy) -> int:
    """How long after its intended start a transaction has not ended in time. Latencies are whole µs, and a
    latency that equals the deadline is in time.
    """
    return (round(policy.deadline_ms * NS_PER_MS) // NS_PER_US + 1) * NS_PER_US


class Callers:
    """The attempts of all callers of one worker."""

    def __init__(self, chance: Callable[[], float]) -> None:
        """`chance` is a random number in [0, 1), for the jitter of pauses."""
        self.policy = CallerPolicy()
        self.resent = 0
        """Attempts after the first ones, since the start."""
        self.refused = 0
        """First attempts that the open breaker has refused, since the start."""
        self._chance = chance
        self._patience_ns = NEVER_NS
        self._breaker: CircuitBreaker | None = None
        self._tokens = 0.0
        self._service = ServiceTime()
        self._numbers: dict[int, int] = {}
        self._sent: list[int] = []
        self._pauses: list[tuple[int, int]] = []

    def set_policy(self, policy: CallerPolicy) -> None:
        if policy.breaker != self.policy.breaker:
            self._breaker = None if policy.breaker is None else CircuitBreaker(policy.breaker)
        if policy.retry_budget != self.policy.retry_budget:
            self._tokens = 0.0
        self.policy = policy
        self._patience_ns = patience_ns(policy) if policy.deadline_ms else NEVER_NS
        if not policy.follows_attempts:
            self.forget()

    @property
    def follows_ends(self) -> bool:
        """True if `answered` must be called for each transaction that ends."""
        return self.policy.follows_attempts or self.policy.queue is QueueOrder.SHED

    @property
    def startable_ns(self) -> int:
        """How long after its intended start a transaction that starts would still end in time; at least half
        of the deadline.
        """
        return self._patience_ns - min(self._patience_ns // 2, self._service.most_ns)

    @property
    def waiting(self) -> int:
        """Attempts that have not ended, and whose deadline has not passed."""
        return len(self._numbers)

    def forget(self) -> None:
        """The present callers wait no longer, and send nothing again."""
        self._numbers.clear()
        self._sent.clear()
        self._pauses.clear()

    @property
    def next_ns(self) -> int | None:
        """When the next attempt is missed or comes due, if nothing ends before."""
        at_ns = min(self._next_missed_ns, self._pauses[0][0] if self._pauses else NEVER_NS)
        return None if at_ns == NEVER_NS else at_ns

    @property
    def _next_missed_ns(self) -> int:
        while self._sent and self._sent[0] not in self._numbers:
            heappop(self._sent)
        return self._sent[0] + self._patience_ns if self._sent else NEVER_NS

    def due(self, now_ns: int, arrived: Sequence[int], most: int | None = None) -> list[int]:
        """The intended starts of what comes due until now, in order: arrivals, and further attempts.

        Of `most` arrivals and attempts, those that are refused count, too; what is beyond is dropped.
        """
        if not self.policy.follows_attempts:
            return list(arrived[:most])
        arrivals, due, refused = deque(arrived), list[int](), self.refused
        while True:
            missed_ns = self._next_missed_ns
            again_ns = self._pauses[0][0] if self._pauses else NEVER_NS
            arrival_ns = arrivals[0] if arrivals else NEVER_NS
            if (at_ns := min(missed_ns, again_ns, arrival_ns)) > now_ns:
                return due
            if at_ns == missed_ns:
                self._miss(self._sent[0])
                continue
            number = heappop(self._pauses)[1] if at_ns == again_ns else 1
            if number == 1:
                self._arrive(arrivals.popleft())
            if most is None or len(due) + self.refused - refused < most:
                self._send(at_ns, number, due)

    def _arrive(self, at_ns: int) -> None:
        if self.policy.retry_budget is not None:
            self._tokens = min(MOST_TOKENS, self._tokens + self.policy.retry_budget / 100)

    def _send(self, at_ns: int, number: int, due: list[int]) -> None:
        """Makes an attempt come due, unless the breaker is open. The caller of a further attempt that is
        refused gives up.
        """
        if self._breaker is not None and self._breaker.is_open(at_ns):
            self.refused += number == 1
            return
        while at_ns in self._numbers:
            at_ns += 1
        self._numbers[at_ns] = number
        heappush(self._sent, at_ns)
        self.resent += number > 1
        due.append(at_ns)

    def answered(self, intended_ns: int, started_ns: int, ended_ns: int) -> None:
        """An attempt has ended: in time, or its caller has waited too long."""
        self._service.add(ended_ns - started_ns)
        if intended_ns not in self._numbers:
            return
        if ended_ns - intended_ns >= self._patience_ns:
            self._miss(intended_ns)
            return
        del self._numbers[intended_ns]
        if self._breaker is not None:
            self._breaker.count(ended_ns, is_missed=False)

    def _miss(self, intended_ns: int) -> None:
        """The deadline of an attempt has passed: its caller pauses before the next one, or gives up."""
        number, missed_ns = self._numbers.pop(intended_ns), intended_ns + self._patience_ns
        if self._breaker is not None:
            self._breaker.count(missed_ns, is_missed=True)
        if number >= self.policy.attempts:
            return
        if self.policy.retry_budget is not None:
            if self._tokens < 1:
                return
            self._tokens -= 1
        heappush(self._pauses, (missed_ns + self._pause_ns(number), number + 1))

    def _pause_ns(self, number: int) -> int:
        backoff = self.policy.backoff
        pause_ms = backoff.first_ms * backoff.factor ** (number - 1)
        return round(pause_ms * (self._chance() if backoff.jitter else 1.0) * NS_PER_MS)
