"""Callers with a deadline: their states, and whole loads against a queue that is computed independently."""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import msgspec
import pytest

from tests.unit.load.programs import SINGLE, begin
from tests.unit.load.virtual_runs import Run, ran
from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND
from tuibench.base.errors import UsageError
from tuibench.load.callers import FEWEST_ENDED, MOST_TOKENS, Callers, patience_ns
from tuibench.load.messages import Counters
from tuibench.model.callers import Backoff, Breaker, CallerPolicy, QueueOrder, check_policy
from tuibench.model.plan import Arrival, changed_policy, policy_texts

MS = NS_PER_MS
IMPATIENT = CallerPolicy(deadline_ms=100, attempts=3, backoff=Backoff(50, 2))
PATIENCE = patience_ns(IMPATIENT)


def callers(policy: CallerPolicy = IMPATIENT, chance: float = 0.25) -> Callers:
    made = Callers(lambda: chance)
    made.set_policy(policy)
    return made


# One caller


def test_what_does_not_end_in_time_is_sent_again_after_growing_pauses() -> None:
    them = callers()
    assert them.due(0, [0]) == [0]
    second = PATIENCE + 50 * MS
    third = second + PATIENCE + 100 * MS
    assert them.next_ns == PATIENCE
    assert them.due(second, []) == [second]
    assert them.due(100 * third, []) == [third]
    assert (them.resent, them.waiting) == (2, 0)


def test_jitter_is_a_random_share_of_the_pause() -> None:
    them = callers(msgspec.structs.replace(IMPATIENT, backoff=Backoff(80, 1, True)), chance=0.25)
    them.due(0, [0])
    assert them.due(NS_PER_SECOND, [])[0] == PATIENCE + 20 * MS


def test_what_ends_in_time_is_not_sent_again_and_what_ends_late_is() -> None:
    them = callers(CallerPolicy(deadline_ms=100, attempts=2))
    them.due(1, [0, 1])
    them.answered(0, 0, PATIENCE - 1)
    them.answered(1, 1, PATIENCE + 1)
    assert them.due(NS_PER_SECOND, []) == [PATIENCE + 1]


def test_an_answer_at_the_deadline_is_in_time() -> None:
    them = callers()
    them.due(0, [0])
    them.answered(0, 0, 100 * MS)
    assert them.due(NS_PER_SECOND, []) == []


def test_a_new_deadline_holds_for_those_that_wait() -> None:
    them = callers()
    them.due(0, [0])
    them.set_policy(msgspec.structs.replace(IMPATIENT, deadline_ms=30))
    assert them.next_ns == PATIENCE - 70 * MS
    them.set_policy(CallerPolicy(deadline_ms=30))
    assert them.due(NS_PER_SECOND, []) == []


def test_no_two_attempts_have_the_same_intended_start() -> None:
    assert callers().due(7, [5, 5, 6]) == [5, 6, 7]


def test_arrivals_and_further_attempts_come_due_in_order_up_to_a_number() -> None:
    for most in (None, 2):
        them = callers(CallerPolicy(deadline_ms=100, attempts=2))
        them.due(0, [0])
        assert them.due(2 * PATIENCE, [PATIENCE - 1, PATIENCE + 1], most) == [
            PATIENCE - 1, PATIENCE, PATIENCE + 1, 2 * PATIENCE - 1,
        ][:most]  # fmt: skip


def test_a_retry_budget_is_a_share_of_the_first_attempts() -> None:
    them = callers(msgspec.structs.replace(IMPATIENT, retry_budget=10))
    for number in range(1000):
        them.due(number * MS, [number * MS])
    assert 100 - MOST_TOKENS - 1 <= them.resent <= 100


def test_a_breaker_refuses_what_comes_due_until_its_time_is_over() -> None:
    them = callers(CallerPolicy(deadline_ms=100, breaker=Breaker(50, 2)))
    arrivals = [number * MS for number in range(FEWEST_ENDED)]
    opened = arrivals[-1] + PATIENCE
    them.due(opened - 1, arrivals)
    assert them.due(opened, []) == []
    late = [opened + NS_PER_SECOND, opened + 2 * NS_PER_SECOND]
    assert them.due(late[-1], late) == late[1:]
    assert them.refused == 1


def test_a_breaker_stays_closed_while_enough_is_answered() -> None:
    them = callers(CallerPolicy(deadline_ms=100, breaker=Breaker(50, 2)))
    for number in range(200):
        at_ns = number * MS
        them.due(at_ns, [at_ns])
        if number % 5 < 3:
            them.answered(at_ns, at_ns, at_ns + 1)
    assert them.refused == 0


# The notation


@pytest.mark.parametrize(
    ("option", "text", "shown"),
    [
        ("attempts", "3", "3"),
        ("backoff", "50ms,x2,jitter", "50ms,x2,jitter"),
        ("backoff", "0.1s", "100ms"),
        ("backoff", "5ms, jitter", "5ms,jitter"),
        ("queue", "shed", "shed"),
        ("retry-budget", "10%", "10%"),
        ("retry-budget", "off", "off"),
        ("breaker", "50%,5s", "50%,5s"),
        ("breaker", "off", "off"),
    ],
)
def test_an_option_is_shown_as_it_is_written(option: str, text: str, shown: str) -> None:
    changed = changed_policy(CallerPolicy(deadline_ms=200), option, text)
    assert policy_texts(changed)[option] == shown
    assert changed_policy(changed, option, shown) == changed


@pytest.mark.parametrize(
    ("option", "text", "reason"),
    [
        ("attempts", "0", "between 1 and 100"),
        ("backoff", "50", "not a duration"),
        ("backoff", "50ms,2", "'2' is no part"),
        ("queue", "random", "one of fifo, lifo, shed"),
        ("retry-budget", "10", "not a percentage"),
        ("breaker", "50%", "not a breaker"),
        ("breaker", "0%,5s", "between 1 and 100"),
        ("deadline", "0", "--attempts needs a deadline"),
        ("dead line", "1s", "an option of the callers is one of"),
    ],
)
def test_a_wrong_value_is_refused_with_its_reason(option: str, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        changed_policy(CallerPolicy(deadline_ms=200, attempts=2), option, text)


def test_users_wait_for_their_transaction() -> None:
    check_policy(CallerPolicy(deadline_ms=200, queue=QueueOrder.LIFO), users=3)
    with pytest.raises(UsageError, match="--users excludes"):
        check_policy(CallerPolicy(deadline_ms=200, attempts=2), users=3)


# Whole loads in virtual time, on a server that serves `SERVERS` at a time


SERVICE_SECONDS = 0.02
SERVERS = 2
CAPACITY = SERVERS / SERVICE_SECONDS
STALL = (1.003, 1.6037)
DEADLINE_MS = 91.0


@dataclass
class Computed:
    """The same load, event by event: arrivals at even intervals until `seconds`, all times in ns."""

    policy: CallerPolicy
    rate: float
    seconds: float
    good: int = 0
    late: int = 0
    abandoned: int = 0
    resent: int = 0
    _events: list[tuple[int, int, str, int]] = field(default_factory=list)
    _order: "count[int]" = field(default_factory=count)
    _numbers: dict[int, int] = field(default_factory=dict)
    _queue: list[int] = field(default_factory=list)
    _service: dict[int, int] = field(default_factory=dict)
    _free: int = SERVERS
    _mean: float = 0.0
    _deviation: float = 0.0

    def run(self) -> "Computed":
        gap = NS_PER_SECOND / self.rate
        for number in range(int(self.seconds * self.rate)):
            self._at(int(number * gap), "send", 1)
        while self._events and self._events[0][0] < self.seconds * NS_PER_SECOND:
            now, _, what, which = heappop(self._events)
            if what == "send":
                self.resent += which > 1
                self._numbers[now] = which
                self._queue.append(now)
                self._at(now + patience_ns(self.policy), "miss", now)
            elif what == "miss":
                number = self._numbers.pop(which, self.policy.attempts)
                if number < self.policy.attempts:
                    pause = self.policy.backoff.first_ms * self.policy.backoff.factor ** (number - 1)
                    self._at(now + int(pause * MS), "send", number + 1)
            else:
                self._free += 1
                self._learn(self._service[which])
                is_good = now - which <= self.policy.deadline_ms * MS
                self.good += is_good
                self.late += not is_good
                self._numbers.pop(which, None)
            self._serve(now)
        return self

    def _serve(self, now: int) -> None:
        if self.policy.queue is QueueOrder.SHED:
            patience = patience_ns(self.policy)
            margin = min(patience // 2, int(self._mean + 4 * self._deviation))
            kept = [each for each in self._queue if now - each < patience - margin]
            self.abandoned += len(self._queue) - len(kept)
            self._queue = kept
        while self._free and self._queue:
            self._free -= 1
            intended = self._queue.pop(-1 if self.policy.queue is QueueOrder.LIFO else 0)
            end = now + int(SERVICE_SECONDS * NS_PER_SECOND)
            begun, over = (int(each * NS_PER_SECOND) for each in STALL)
            end = over if begun <= end < over else end
            self._service[intended] = end - now
            self._at(end, "end", intended)

    def _learn(self, service: int) -> None:
        if self._mean:
            self._deviation = 0.75 * self._deviation + 0.25 * abs(self._mean - service)
            self._mean = 0.875 * self._mean + 0.125 * service
        else:
            self._mean, self._deviation = service, service / 2

    def _at(self, at: int, what: str, which: int) -> None:
        heappush(self._events, (at, next(self._order), what, which))


def driven(policy: CallerPolicy, rate: float, seconds: float) -> Counters:
    seen: list[Counters] = []

    async def scenario(run: Run) -> None:
        await run.wait_until(seconds)
        seen.append(run.counters)

    ran(
        scenario, begin(SINGLE, arrival=Arrival.CONSTANT), connections=SERVERS, rate=rate,
        service_seconds=SERVICE_SECONDS, stall=STALL, policy=policy,
    )  # fmt: skip
    return seen[0]


@pytest.mark.parametrize("queue", QueueOrder)
@pytest.mark.parametrize("attempts", [1, 3])
def test_the_counts_are_those_of_a_queue_with_a_known_service_time(queue: QueueOrder, attempts: int) -> None:
    policy = CallerPolicy(deadline_ms=DEADLINE_MS, attempts=attempts, backoff=Backoff(17.3, 2), queue=queue)
    for rate in (79.0, 103.0):
        seen, computed = driven(policy, rate, 3.0), Computed(policy, rate, 3.0).run()
        expected = (computed.good, computed.late, computed.abandoned, computed.resent)
        assert (seen.good, seen.late, seen.abandoned, seen.resent) == expected
        assert seen.late + seen.abandoned > 1
        assert (seen.resent > 20) is (attempts > 1)


# The tipping point: the highest rate from which the load comes back after a stall by itself


TRIALS = 20
SLOW_SERVICE_SECONDS = 0.04
SLOW_CAPACITY = SERVERS / SLOW_SERVICE_SECONDS


def comes_back(policy: CallerPolicy, rate: float, seed: int) -> bool:
    """Whether 90 % of what comes due 40 s after a stall of 3 s ends in time."""
    seen: list[Counters] = []

    async def scenario(run: Run) -> None:
        for second in (46.0, 50.0):
            await run.wait_until(second)
            seen.append(run.counters)

    how = msgspec.structs.replace(begin(SINGLE, arrival=Arrival.POISSON), seed=seed)
    ran(
        scenario, how, connections=SERVERS, rate=rate, service_seconds=SLOW_SERVICE_SECONDS, stall=(2, 5),
        policy=policy,
    )  # fmt: skip
    grown = seen[1] - seen[0]
    return grown.good >= 0.9 * (grown.scheduled - grown.resent)


@pytest.mark.whole
@pytest.mark.parametrize("further", [0, 1, 3])
def test_with_further_attempts_the_load_comes_back_below_capacity_over_all_attempts(further: int) -> None:
    policy = CallerPolicy(deadline_ms=600, attempts=1 + further, backoff=Backoff(20, 1, True))
    tipping = SLOW_CAPACITY / (1 + further)
    assert all(comes_back(policy, 0.9 * tipping, seed) for seed in range(TRIALS))
    if further:
        assert not any(comes_back(policy, 1.1 * tipping, seed) for seed in range(TRIALS))


@pytest.mark.whole
@pytest.mark.parametrize("queue", [QueueOrder.LIFO, QueueOrder.SHED])
def test_newest_first_and_shedding_come_back_at_every_rate_below_capacity(queue: QueueOrder) -> None:
    policy = CallerPolicy(deadline_ms=600, attempts=4, backoff=Backoff(20, 1, True), queue=queue)
    assert all(comes_back(policy, 0.9 * SLOW_CAPACITY, seed) for seed in range(TRIALS))
