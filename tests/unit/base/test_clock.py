"""Clocks and deadlines."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.clock import NS_PER_SECOND, ScheduledTick, SystemClock, ticks, wait_with_timeout

# The absolute schedule, on a clock that passes only when asked to.


START_NS = 7 * NS_PER_SECOND


async def beats(
    clock: FakeClock, interval_seconds: float, seconds: float, work: list[float]
) -> list[ScheduledTick]:
    """The ticks of a caller that takes `work[i]` seconds over tick i, then no time any more."""
    clock.ns = START_NS
    told = []
    schedule = ticks(
        clock, START_NS, round(interval_seconds * NS_PER_SECOND), START_NS + round(seconds * NS_PER_SECOND)
    )
    busy = iter(work)
    async for tick in schedule:
        told.append(tick)
        clock.advance(next(busy, 0.0))
    return told


def due_seconds(tick: ScheduledTick) -> float:
    return (tick.due_ns - START_NS) / NS_PER_SECOND


async def test_a_quick_caller_gets_every_beat_on_time() -> None:
    clock = FakeClock()
    told = await beats(clock, 1.0, 4.0, [0.3, 0.9, 0.01])
    assert [(tick.number, due_seconds(tick), tick.late_ns) for tick in told] == [
        (1, 1.0, 0),
        (2, 2.0, 0),
        (3, 3.0, 0),
        (4, 4.0, 0),
    ]


async def test_a_slow_caller_gets_a_late_tick_and_no_drift() -> None:
    told = await beats(FakeClock(), 1.0, 4.0, [1.4])
    assert [(tick.number, tick.late_ns / 1e9) for tick in told] == [(1, 0.0), (2, 0.4), (3, 0.0), (4, 0.0)]


async def test_beats_slept_through_are_skipped_and_not_made_up_for() -> None:
    told = await beats(FakeClock(), 1.0, 9.0, [5.5])
    assert [(tick.number, tick.late_ns / 1e9) for tick in told[:3]] == [(1, 0.0), (6, 0.5), (7, 0.0)]


async def test_a_clock_that_wakes_us_late_shows_in_the_tick() -> None:
    told = await beats(FakeClock(overshoot_seconds=0.002), 1.0, 3.0, [])
    assert [tick.late_ns for tick in told] == [2_000_000] * 3
    assert [due_seconds(tick) for tick in told] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("seconds", "count"), [(2.5, 2), (0.4, 0), (3.0, 3)])
async def test_it_ends_at_the_end_and_not_at_the_last_beat(seconds: float, count: int) -> None:
    clock = FakeClock()
    assert len(await beats(clock, 1.0, seconds, [])) == count
    assert clock.ns == START_NS + round(seconds * NS_PER_SECOND)


async def test_a_caller_that_outstays_the_end_is_not_asked_again() -> None:
    told = await beats(FakeClock(), 1.0, 3.0, [7.0])
    assert [tick.number for tick in told] == [1]


async def test_without_an_end_it_goes_on() -> None:
    clock = FakeClock()
    async for tick in ticks(clock, 0, NS_PER_SECOND):
        if tick.number == 1000:
            break
    assert clock.ns == 1000 * NS_PER_SECOND


@given(
    st.integers(1, 20),
    st.integers(0, 300),
    st.lists(st.integers(0, 50), max_size=40),
)
def test_ticks_are_on_the_grid_and_less_than_a_beat_late(
    interval_tenths: int, total_tenths: int, work_tenths: list[int]
) -> None:
    clock = FakeClock()
    interval, total = interval_tenths / 10, total_tenths / 10
    told = asyncio.run(beats(clock, interval, total, [tenths / 10 for tenths in work_tenths]))
    numbers = [tick.number for tick in told]
    interval_ns = round(interval * NS_PER_SECOND)
    assert numbers == sorted(set(numbers))
    assert all(tick.due_ns == START_NS + tick.number * interval_ns for tick in told)
    assert all(0 <= tick.late_ns < interval_ns for tick in told)
    assert clock.ns >= START_NS + round(total * NS_PER_SECOND)


async def test_the_machines_clock_goes_forward_in_nanoseconds() -> None:
    clock = SystemClock()
    before = clock.now_ns()
    await clock.sleep(0.001)
    assert clock.now_ns() > before
    assert clock.wall_seconds() > 1_700_000_000


@pytest.mark.parametrize(
    ("between", "order"),
    [
        ([1.5], [(1, 1.0, False), (0, 1.5, True), (2, 2.0, False), (3, 3.0, False)]),
        ([2.0, 1.0], [(1, 1.0, True), (2, 2.0, True), (3, 3.0, False)]),
        ([3.4, 0.5], [(0, 0.5, True), (1, 1.0, False), (2, 2.0, False), (3, 3.0, False), (0, 3.4, True)]),
        ([3.6, 60.0], [(1, 1.0, False), (2, 2.0, False), (3, 3.0, False)]),
    ],
)
async def test_times_between_the_beats_come_in_their_place(
    between: list[float], order: list[tuple[int, float, bool]]
) -> None:
    clock, second = FakeClock(), NS_PER_SECOND
    times = [round(seconds * second) for seconds in between]
    told = [tick async for tick in ticks(clock, 0, second, 7 * second // 2, times)]
    assert [(tick.number, tick.due_ns / second, tick.is_extra) for tick in told] == order


# Waiting with a deadline: neither the deadline nor a cancellation is lost.


async def _answer(after_seconds: float) -> str:
    await asyncio.sleep(after_seconds)
    return "answer"


def test_what_comes_in_time_is_returned() -> None:
    async def scenario(_: VirtualClock) -> str:
        return await wait_with_timeout(_answer(2), 3)

    assert in_no_time(scenario) == "answer"


def test_what_comes_too_late_is_not_waited_for() -> None:
    async def scenario(clock: VirtualClock) -> float:
        with pytest.raises(TimeoutError):
            await wait_with_timeout(_answer(5), 3)
        return clock.time()

    assert in_no_time(scenario) == 3


def test_a_cancellation_that_the_work_does_not_heed_is_heeded() -> None:
    """As that of a library which waits by `wait_for`, when the answer comes in the same turn."""

    async def deaf() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "answer"
        return "too late"

    async def scenario(clock: VirtualClock) -> float:
        task = asyncio.create_task(wait_with_timeout(deaf(), 60))
        await clock.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return clock.time()

    assert in_no_time(scenario) == 1


def test_work_after_a_cancellation_is_done() -> None:
    """What must be tidied up is waited for, too."""

    async def tidy() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return await wait_with_timeout(_answer(2), 3)
        return "too late"

    async def scenario(clock: VirtualClock) -> str:
        task = asyncio.create_task(tidy())
        await clock.sleep(1)
        task.cancel()
        return await task

    assert in_no_time(scenario) == "answer"
