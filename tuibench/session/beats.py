"""The beats of a run, which ends between two of them as soon as it is told to."""

import asyncio
from collections.abc import AsyncIterator

from tuibench.clock import Tick


async def until(over: asyncio.Event, beats: AsyncIterator[Tick]) -> AsyncIterator[Tick]:
    """The beats as they come, as long as it is not over; nobody waits for the next one then."""
    ending = asyncio.create_task(over.wait())
    try:
        while not over.is_set():
            beat = asyncio.ensure_future(anext(beats, None))
            await asyncio.wait({beat, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not beat.done():
                beat.cancel()
                return
            if (tick := beat.result()) is None:
                return
            yield tick
    finally:
        ending.cancel()
