"""Screens in make-believe time: what is due is done, in its order, and nobody waits for it.

Textual's pilot takes a process that gets no processor for a while to be at rest, so on a busy machine it
would look too early. Here the loop's time passes only when nobody has anything to do: to have slept is to
have seen everything done that was due by then. Threads and other processes do not know of it: screens under
test have none.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import textual.app
import textual.pilot
from textual import _time
from textual.pilot import Pilot

from tests.virtual import VirtualClock

SLICE_SECONDS = 1 / 50
"""Longer than a frame of the screen."""


async def at_rest(min_sleep: float = SLICE_SECONDS, max_sleep: float = 1.0) -> None:
    """Until all is done that is due within a slice of time: the pilot's `wait_for_idle`."""
    await asyncio.sleep(SLICE_SECONDS)


async def no_round(_pilot: "Pilot[object]", timeout: float = 0.0) -> bool:
    """The pilot's `_wait_for_screen`, a message to each widget and back: `at_rest` waits for all of them."""
    return True


def loop_seconds() -> float:
    """The time of the running loop, for timers and animations; messages are made without a loop, too."""
    loop = asyncio._get_running_loop()
    return loop.time() if loop is not None else 0.0


@contextmanager
def instant() -> Iterator[None]:
    """Event loops that are made in the meantime, and screens that run in them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.events, "new_event_loop", VirtualClock)
        patch.setattr(_time, "get_time", loop_seconds)
        patch.setattr(textual.app, "wait_for_idle", at_rest)
        patch.setattr(textual.pilot, "wait_for_idle", at_rest)
        patch.setattr(Pilot, "_wait_for_screen", no_round)
        yield
