"""The ticks of a session: all of them, or none after its end."""

import asyncio

from tests.fakes import FakeClock
from tuibench.clock import ticks
from tuibench.session.lifecycle.ticking import ticks_until


async def test_all_ticks_come_until_the_schedule_ends() -> None:
    clock = FakeClock()
    seen = [tick.number async for tick in ticks_until(asyncio.Event(), ticks(clock, 0, 10**9, 3 * 10**9))]
    assert seen == [1, 2, 3]


async def test_a_session_that_is_over_has_no_next_tick() -> None:
    over, seen = asyncio.Event(), []
    async for tick in ticks_until(over, ticks(FakeClock(), 0, 10**9)):
        seen.append(tick.number)
        if tick.number == 2:
            over.set()
    assert seen == [1, 2]


async def test_the_end_does_not_wait_for_the_next_tick() -> None:
    class Stuck(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    over = asyncio.Event()
    asyncio.get_running_loop().call_soon(over.set)
    async with asyncio.timeout(30):
        assert [tick async for tick in ticks_until(over, ticks(Stuck(), 0, 10**9))] == []
