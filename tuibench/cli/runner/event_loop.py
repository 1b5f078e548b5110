"""Runs a command's coroutine so that Ctrl-C, SIGTERM and SIGHUP end it after cleanup."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from tuibench.cli.output.log import info
from tuibench.deadline import listener
from tuibench.errors import ExitCode

T = TypeVar("T")

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedExit(SystemExit):
    """The user or the system interrupted the command; cleanup is complete."""

    def __init__(self) -> None:
        super().__init__(ExitCode.INTERRUPTED)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run to completion. A signal cancels the coroutine; after its cleanup InterruptedExit is raised."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_until_signal(work))
    return uvloop.run(_until_signal(work))


async def _until_signal(work: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    listener.set(_say_waiting)
    task = asyncio.ensure_future(work)
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        raise InterruptedExit from None
    finally:
        for number in ENDING_SIGNALS:
            loop.remove_signal_handler(number)


def _say_waiting(text: str) -> None:
    info(f"tuibench: {text}")
