"""The samples of a session: at fixed intervals, until it is over."""

import asyncio
from collections.abc import AsyncIterator

from tuibench.clock import ScheduledTick


async def ticks_until(
    over: asyncio.Event, schedule: AsyncIterator[ScheduledTick]
) -> AsyncIterator[ScheduledTick]:
    """The times of the schedule until `over` is set; ends at once when it is set."""
    ending = asyncio.create_task(over.wait())
    try:
        while not over.is_set():
            tick = asyncio.ensure_future(anext(schedule, None))
            await asyncio.wait({tick, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not tick.done():
                tick.cancel()
                return
            if (due := tick.result()) is None:
                return
            yield due
    finally:
        ending.cancel()
