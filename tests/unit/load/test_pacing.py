"""Pacing: timers, think time, delays, arrivals."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.load.programs import ASKING, EXPLICIT, EXPLICIT_SQL, SINGLE, begin
from tests.unit.load.virtual_runs import Run, ran
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND
from tuibench.base.errors import ConnectionLostError, SQLError
from tuibench.load.pacing import (
    HAS_TIMERFD,
    ArrivalSchedule,
    LoopTimer,
    NetworkDelay,
    Timer,
    TimerFd,
    system_timer,
)
from tuibench.model.plan import Arrival
from tuibench.mysql.statements import TransactionLoop
from tuibench.workload.program import Transaction

# Both kinds of alarm ring once, not before their time, and not after they were taken back.


MS = 1_000_000
PATIENCE_SECONDS = 30.0

Make = Callable[[Callable[[], None]], Timer]

KINDS = [
    LoopTimer,
    pytest.param(
        TimerFd,
        marks=pytest.mark.skipif(not HAS_TIMERFD, reason="timer descriptors are Linux's"),
    ),
]


class Ringing:
    """An alarm, and when it rang."""

    def __init__(self, make: Make) -> None:
        self.rang_ns: list[int] = []
        self._rang = asyncio.Event()
        self.timer = make(self._ring)

    def _ring(self) -> None:
        self.rang_ns.append(time.monotonic_ns())
        self._rang.set()

    async def next(self) -> int:
        await asyncio.wait_for(self._rang.wait(), PATIENCE_SECONDS)
        self._rang.clear()
        return self.rang_ns[-1]


@pytest.mark.parametrize("make", KINDS)
async def test_it_rings_once_and_not_before_its_time(make: Make) -> None:
    ringing = Ringing(make)
    for wait_ms in (3, 0, 1):
        at_ns = time.monotonic_ns() + wait_ms * MS
        ringing.timer.set(at_ns)
        # The loop's own timer may come up to its clock's resolution early.
        assert await ringing.next() >= at_ns - 1000
    await nothing_for(5 * MS)
    assert len(ringing.rang_ns) == 3
    ringing.timer.close()


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("past_ns", [-5, 0, 1])
async def test_a_time_that_is_past_rings_at_once(make: Make, past_ns: int) -> None:
    ringing = Ringing(make)
    ringing.timer.set(past_ns)
    await ringing.next()
    ringing.timer.close()


@pytest.mark.parametrize("make", KINDS)
async def test_a_new_time_takes_the_place_of_the_old_one(make: Make) -> None:
    ringing = Ringing(make)
    now_ns = time.monotonic_ns()
    ringing.timer.set(now_ns + 2 * MS)
    ringing.timer.set(now_ns + 3600 * 1000 * MS)
    ringing.timer.set(now_ns + 6 * MS)
    assert await ringing.next() >= now_ns + 6 * MS - 1000
    assert len(ringing.rang_ns) == 1
    ringing.timer.close()


@pytest.mark.parametrize("make", KINDS)
async def test_taken_back_it_does_not_ring(make: Make) -> None:
    ringing = Ringing(make)
    ringing.timer.set(time.monotonic_ns() + 2 * MS)
    ringing.timer.set(None)
    await nothing_for(6 * MS)
    ringing.timer.set(time.monotonic_ns() + 2 * MS)
    ringing.timer.close()
    await nothing_for(6 * MS)
    assert ringing.rang_ns == []


async def nothing_for(ns: int) -> None:
    """Waits until another alarm rings."""
    other = Ringing(LoopTimer)
    other.timer.set(time.monotonic_ns() + ns)
    await other.next()


async def test_the_system_has_the_best_there_is() -> None:
    timer = system_timer(lambda: None)
    assert isinstance(timer, TimerFd) is HAS_TIMERFD
    timer.close()


# Connections that rest between transactions: how long, what counts, and what wakes them.


KEYING, THINKING = 3.0, 2.0
RESTING = msgspec.structs.replace(SINGLE, keying_seconds=KEYING)
THINKING_TOO = msgspec.structs.replace(RESTING, think_seconds=THINKING)


async def for_a_minute(run: Run) -> None:
    await run.wait_until(60)


def rested(transaction: Transaction, connections: int = 1, limit: int | None = None) -> Run:
    return ran(for_a_minute, begin(transaction, limit=limit), connections=connections, rate=0.0)


def test_each_transaction_is_keyed_in_first() -> None:
    """Each takes 3 s of keying and 2 ms of work; only the work is latency."""
    run = rested(RESTING)
    assert run.server.started[:3] == pytest.approx([3.0, 6.002, 9.004])
    assert run.last.completed == 19
    assert run.transactions.max_us == 2_000
    assert run.engine.report().fairness.moments["seconds_avg"] == pytest.approx(19 * 0.002)


def test_thinking_is_drawn_for_each() -> None:
    run = rested(THINKING_TOO, connections=50)
    gaps = 50 * 60 / run.last.completed
    assert gaps == pytest.approx(KEYING + THINKING, rel=0.15)
    assert run.last.scheduled == run.last.completed


def test_an_open_loop_does_not_wait_for_people() -> None:
    run = ran(for_a_minute, begin(RESTING), connections=2, rate=10.0)
    assert run.last.completed == pytest.approx(600, abs=100)


def test_think_time_ends_when_all_work_is_done() -> None:
    """Five connections wait for their three seconds to pass; two may still start something."""

    async def until_finished(run: Run) -> None:
        await asyncio.wait_for(run.engine.finished.wait(), 60)
        assert run.clock.time() == pytest.approx(KEYING + 0.002)

    long = msgspec.structs.replace(THINKING_TOO, think_seconds=3000.0)
    run = ran(until_finished, begin(long, limit=5), connections=5, rate=0.0)
    assert run.last.completed == 5


def test_whoever_leaves_does_not_rest_first() -> None:
    async def leave(run: Run) -> None:
        await run.wait_until(1)
        await asyncio.wait_for(run.engine.stop(10), 0.5)

    assert ran(leave, begin(RESTING), connections=3, rate=0.0).last.scheduled == 0


def test_a_pause_of_the_load_outlasts_the_rest() -> None:
    async def pause(run: Run) -> None:
        await run.wait_until(1)
        run.engine.pause()
        await run.wait_until(10)
        assert run.counters.scheduled == 0
        run.engine.resume()
        await run.wait_until(10.1)
        assert run.counters.completed == 1

    ran(pause, begin(RESTING), connections=1, rate=0.0)


def test_being_woken_early_changes_nothing() -> None:
    async def wake(run: Run) -> None:
        for second in (0.5, 1.0, 2.5):
            await run.wait_until(second)
            run.engine.set_session(())
        await run.wait_until(7)
        assert run.server.started == pytest.approx([3.0, 6.002])

    ran(wake, begin(RESTING), connections=1, rate=0.0)


# A make-believe network in make-believe time: what each round trip takes, and who waits.


ROUND_TRIPS = len(EXPLICIT_SQL)
SERVICE_MS = 2
US_PER_MS = 1000

Patience = Callable[[VirtualClock, NetworkDelay], Awaitable[None]]


def with_delay(scenario: Patience, milliseconds: float = 20) -> None:
    async def played(clock: VirtualClock) -> None:
        delay = NetworkDelay(clock, clock.timer)
        delay.ns = round(milliseconds * NS_PER_MS)
        await scenario(clock, delay)
        delay.close()

    in_no_time(played)


# One round trip


@given(st.floats(0.001, 10_000))
def test_waiting_takes_the_delay_and_nothing_else(milliseconds: float) -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        await delay.wait()
        assert 0 <= clock.now_ns() - delay.ns < 2

    with_delay(scenario, milliseconds)


def test_thousands_wait_at_a_time_and_each_is_woken_when_its_own_time_has_come() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        async def arrive(number: int) -> int:
            await clock.sleep(number / 1_000_000)
            begun_ns = clock.now_ns()
            await delay.wait()
            return clock.now_ns() - begun_ns

        took = await asyncio.gather(*(arrive(number) for number in range(5000)))
        assert min(took) >= delay.ns
        assert max(took) < delay.ns + 0.01 * NS_PER_MS

    with_delay(scenario)


def test_a_shorter_delay_overtakes_those_that_wait_already() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        first = asyncio.create_task(delay.wait())
        await asyncio.sleep(0)
        delay.ns = 5 * NS_PER_MS
        await delay.wait()
        assert (clock.now_ns() // NS_PER_MS, first.done()) == (5, False)
        await first
        assert clock.now_ns() // NS_PER_MS == 20

    with_delay(scenario)


def test_no_delay_does_not_even_let_others_have_a_turn() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        other = asyncio.create_task(asyncio.sleep(0))
        await delay.wait()
        assert not other.done()
        await other

    with_delay(scenario, 0)


def test_a_cancelled_wait_does_not_delay_the_others() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        cut_off, stays = (asyncio.create_task(delay.wait()) for _ in range(2))
        await asyncio.sleep(0)
        cut_off.cancel()
        await stays
        assert clock.now_ns() // NS_PER_MS == 20

    with_delay(scenario)


@pytest.mark.parametrize(
    ("result", "took_ms"),
    [(7, 20), (SQLError(1213, "deadlock"), 20), (ConnectionLostError(2013, "lost"), 0)],
)
def test_an_error_is_an_answer_too_but_a_lost_connection_is_not(
    result: int | Exception, took_ms: int
) -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        told: list[object] = []

        def script() -> TransactionLoop:
            try:
                told.append((yield from delay.answer(b"SELECT 1")))
            except SQLError as error:
                told.append(error)

        playing = script()
        assert next(playing) == b"SELECT 1"
        with contextlib.suppress(StopIteration):
            wish = playing.throw(result) if isinstance(result, Exception) else playing.send(result)
            assert callable(wish)
            playing.send(await wish())
        assert told == [result]
        assert clock.now_ns() // NS_PER_MS == took_ms

    with_delay(scenario)


# Whole runs


@pytest.mark.parametrize("transaction", [EXPLICIT, ASKING], ids=["explicit", "asking"])
@given(delay_us=st.integers(1, 200_000))
def test_the_latency_of_a_transaction_is_its_round_trips_times_server_and_network(
    transaction: Transaction, delay_us: int
) -> None:
    """Closed loop, one thread: BEGIN, two SELECTs, UPDATE and COMMIT each pay once."""

    async def script(run: Run) -> None:
        run.engine.set_delay(delay_us * 1000)
        await run.wait_until(5)

    run = ran(script, begin(transaction), connections=1, rate=0, service_seconds=SERVICE_MS / 1000)
    expected_us = ROUND_TRIPS * (delay_us + SERVICE_MS * US_PER_MS)
    assert run.transactions.count >= 1
    assert expected_us <= run.transactions.min_us <= run.transactions.max_us <= expected_us + ROUND_TRIPS
    for histogram in run.statements.values():
        assert histogram.min_us >= delay_us + SERVICE_MS * US_PER_MS


def test_a_delay_comes_changes_and_goes_while_the_load_runs() -> None:
    """Ten connections for a second each: without, with 8 ms, with 18 ms, and without again."""

    async def script(run: Run) -> None:
        done = []
        for second, delay_ms in enumerate((0, 8, 18, 0), 1):
            run.engine.set_delay(delay_ms * NS_PER_MS)
            await run.wait_until(second)
            done.append(run.counters.completed)
        phases = [after - before for before, after in zip([0, *done], done, strict=False)]
        assert phases == [pytest.approx(10 / (SERVICE_MS + ms) * 1000, rel=0.03) for ms in (0, 8, 18, 0)]

    ran(script, begin(SINGLE), connections=10, rate=0, service_seconds=SERVICE_MS / 1000)


def test_transactions_cancelled_in_the_delay_count_as_sent_and_abandoned() -> None:
    async def script(run: Run) -> None:
        run.engine.set_delay(1000 * NS_PER_MS)
        await run.wait_until(0.5)
        await run.engine.stop(0.1)

    run = ran(script, begin(EXPLICIT), connections=3, rate=0)
    assert (run.last.abandoned, run.last.completed) == (3, 0)
    assert run.last.questions == run.server.questions


# The schedule of an open loop: how many arrivals, when, and in what order.


arrivals = st.sampled_from(Arrival)
rates = st.floats(0.5, 2000)
looks = st.lists(st.integers(0, NS_PER_SECOND), max_size=20)
"""Gaps in ns between two looks at what is due."""


def pacer(arrival: Arrival = Arrival.POISSON, seed: int = 1, phase: float = 0.0) -> ArrivalSchedule:
    return ArrivalSchedule(Random(seed), arrival, phase)


def started(
    arrival: Arrival, rate: float, now_ns: int = 0, seed: int = 1, phase: float = 0.0
) -> ArrivalSchedule:
    made = pacer(arrival, seed, phase)
    made.set_rate(rate, now_ns)
    return made


def gathered(of: ArrivalSchedule, times_ns: Iterable[int]) -> list[int]:
    return [intended for now_ns in times_ns for intended in of.due(now_ns)]


def sums(gaps: Sequence[int]) -> list[int]:
    return [sum(gaps[: place + 1]) for place in range(len(gaps))]


def test_without_a_rate_nothing_comes() -> None:
    for made in (pacer(), started(Arrival.CONSTANT, 0)):
        assert (made.due(10**12), made.next_ns) == ([], None)


@given(arrivals, rates, looks, st.integers(0, 2**32))
def test_arrivals_come_in_order_and_never_early(
    arrival: Arrival, rate: float, gaps: list[int], seed: int
) -> None:
    made, seen = started(arrival, rate, seed=seed), list[int]()
    for now_ns in sums(gaps):
        new = made.due(now_ns)
        assert all(intended <= now_ns for intended in new)
        assert made.next_ns is not None
        assert made.next_ns > now_ns
        seen += new
    assert all(before < after for before, after in pairwise(seen))


@given(arrivals, rates, looks, st.integers(0, 2**32))
def test_the_schedule_does_not_depend_on_how_often_it_is_looked_at(
    arrival: Arrival, rate: float, gaps: list[int], seed: int
) -> None:
    """That is what makes it absolute: lateness is reported, not handed on."""
    end_ns = sum(gaps)
    often = gathered(started(arrival, rate, seed=seed), [0, *sums(gaps)])
    assert often == started(arrival, rate, seed=seed).due(end_ns)


@pytest.mark.parametrize("rate", [7.0, 100.0, 3333.3])
def test_constant_arrivals_are_evenly_spaced_and_exact(rate: float) -> None:
    arrived = started(Arrival.CONSTANT, rate).due(10 * NS_PER_SECOND)
    assert abs(len(arrived) - 10 * rate) <= 1
    assert {after - before for before, after in pairwise(arrived)} == {int(NS_PER_SECOND / rate)}


@pytest.mark.parametrize("seed", range(5))
def test_poisson_arrivals_have_the_count_and_the_spread_of_a_poisson_process(seed: int) -> None:
    rate, seconds = 100.0, 100
    arrived = started(Arrival.POISSON, rate, seed=seed).due(seconds * NS_PER_SECOND)
    expected = rate * seconds
    assert abs(len(arrived) - expected) < 5 * expected**0.5
    gaps = [(after - before) / NS_PER_SECOND for before, after in pairwise(arrived)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert variance**0.5 == pytest.approx(mean, rel=0.06)


def test_different_streams_have_different_arrivals() -> None:
    schedules = {tuple(started(Arrival.POISSON, 50, seed=seed).due(NS_PER_SECOND)) for seed in range(5)}
    assert len(schedules) == 5


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_several_constant_pacers_make_one_evenly_spaced_schedule(workers: int) -> None:
    rate = 240.0
    pacers = [started(Arrival.CONSTANT, rate / workers, phase=n / workers) for n in range(workers)]
    together = sorted(intended for each in pacers for intended in each.due(NS_PER_SECOND))
    assert abs(len(together) - rate) <= 1
    assert all(
        abs(after - before - NS_PER_SECOND / rate) <= len(together) for before, after in pairwise(together)
    )


@given(arrivals, rates, st.integers(1, 5 * NS_PER_SECOND), st.integers(1, 3600 * NS_PER_SECOND))
def test_while_held_nothing_comes_and_afterwards_there_is_no_burst(
    arrival: Arrival, rate: float, before_ns: int, held_ns: int
) -> None:
    made = started(arrival, rate)
    made.due(before_ns)
    made.hold(before_ns)
    assert (made.due(before_ns + held_ns), made.next_ns) == ([], None)
    made.release(before_ns + held_ns)
    assert made.next_ns is not None
    assert made.next_ns >= before_ns + held_ns


def test_releasing_what_is_not_held_changes_nothing() -> None:
    made = started(Arrival.POISSON, 10)
    planned = made.next_ns
    made.release(1)
    assert made.next_ns == planned


def test_a_rate_that_is_set_while_held_comes_with_the_release() -> None:
    made = pacer(Arrival.CONSTANT)
    made.hold(0)
    made.set_rate(10, 5)
    assert made.due(NS_PER_SECOND) == []
    made.release(NS_PER_SECOND)
    assert len(made.due(2 * NS_PER_SECOND)) == 11


@given(arrivals, rates, rates, st.integers(0, 2 * NS_PER_SECOND))
def test_a_new_rate_counts_from_now(arrival: Arrival, before: float, after: float, at_ns: int) -> None:
    made = started(arrival, before)
    made.due(at_ns)
    made.set_rate(after, at_ns)
    assert made.rate == after
    assert made.next_ns is not None
    assert made.next_ns >= at_ns


def test_setting_the_same_rate_again_does_not_restart_the_schedule() -> None:
    """Each change of the threads tells every worker its rate, often the one it has."""
    made, undisturbed = (started(Arrival.CONSTANT, 1) for _ in range(2))
    seen: list[int] = []
    for now_ns in range(0, 10 * NS_PER_SECOND, NS_PER_SECOND // 10):
        made.set_rate(1, now_ns)
        seen += made.due(now_ns)
    assert seen == undisturbed.due(10 * NS_PER_SECOND - NS_PER_SECOND // 10)


@given(arrivals, rates, st.integers(0, 2 * NS_PER_SECOND))
def test_what_has_come_due_stays_due_whatever_happens_to_the_rate(
    arrival: Arrival, rate: float, at_ns: int
) -> None:
    due = started(arrival, rate).due(at_ns)
    changed, stopped, held = (started(arrival, rate) for _ in range(3))
    changed.set_rate(2 * rate, at_ns)
    stopped.set_rate(0, at_ns)
    held.hold(at_ns)
    for made in (changed, stopped, held):
        assert made.due(at_ns)[: len(due)] == due


@pytest.mark.parametrize("steps", [1, 10, 1000])
def test_a_rising_rate_brings_as_many_arrivals_in_one_step_or_in_many(steps: int) -> None:
    """From 10 to 210 a second in 10 s: the area under the ramp, to within one arrival and the last step."""
    made = started(Arrival.CONSTANT, 10)
    seen = []
    for step in range(1, steps + 1):
        now_ns = step * 10 * NS_PER_SECOND // steps
        seen += made.due(now_ns)
        made.set_rate(10 + 200 * step / steps, now_ns)
    area = sum(10 + 200 * step / steps for step in range(steps)) * 10 / steps
    assert abs(len(seen) - area) <= 1
    assert all(before < after for before, after in pairwise(seen))


@given(arrivals, rates, rates, st.integers(0, NS_PER_SECOND))
def test_what_is_left_of_a_gap_changes_with_the_rate(
    arrival: Arrival, before: float, after: float, now_ns: int
) -> None:
    made = started(arrival, before)
    made.due(now_ns)
    assert made.next_ns is not None
    left_ns = made.next_ns - now_ns
    made.set_rate(after, now_ns)
    assert made.next_ns == pytest.approx(now_ns + left_ns * before / after, abs=1)
