"""Seeing that a process has ended, or goes on: polled with a deadline, as nothing tells us of strangers."""

import time
from collections.abc import Callable, Iterator
from typing import IO

import psutil

DEADLINE_SECONDS = 60.0
STAYS_SECONDS = 0.3
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.01, 0.2


def gone(pid: int) -> bool:
    """True if the process has ended, also if nobody has asked for its exit code yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def until(condition: Callable[[], bool], seconds: float = DEADLINE_SECONDS) -> bool:
    """Waits until the condition holds; False if it does not in time."""
    deadline = time.monotonic() + seconds
    pauses = poll_pauses()
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(next(pauses))
    return True


def poll_pauses() -> Iterator[float]:
    """Seconds between looks: longer each time, as looking often takes the processor from what is awaited."""
    pause = FIRST_POLL_SECONDS
    while True:
        yield pause
        pause = min(1.5 * pause, LAST_POLL_SECONDS)


def stays(pid: int) -> bool:
    """True if the process has not ended shortly after."""
    return not until(lambda: gone(pid), STAYS_SECONDS)


def first_interval_line(stdout: IO[str]) -> str:
    """The line after the head, which ends with the start of the threads; empty if there is none."""
    lines = iter(stdout.readline, "")
    return next((line for line in lines if line.startswith("[ ")), "")
