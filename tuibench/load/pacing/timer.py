"""Precise timer for one absolute time.

Event loops round timers to milliseconds, which would distort the latencies of an open loop. On Linux a timer
descriptor (timerfd) is used; elsewhere the event loop's timer.
"""

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable
from typing import Protocol

from tuibench.clock import NS_PER_SECOND

HAS_TIMERFD = sys.platform.startswith("linux")
CLOCK_MONOTONIC = 1
TIMER_ABSOLUTE = 1
TIMER_FLAGS = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
TICK_BYTES = 8


class Timer(Protocol):
    """Calls a function once, at or shortly after a time of the monotonic clock."""

    def set(self, at_ns: int | None) -> None:
        """Sets the time, instead of any earlier one; None disables the timer."""

    def close(self) -> None: ...


def system_timer(callback: Callable[[], None]) -> Timer:
    """The most precise timer on this system. Requires a running event loop."""
    return TimerFd(callback) if HAS_TIMERFD else LoopTimer(callback)


class LoopTimer:
    """The event loop's timer: up to a millisecond late."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None

    def set(self, at_ns: int | None) -> None:
        if self._handle is not None:
            self._handle.cancel()
        loop = asyncio.get_running_loop()
        self._handle = None if at_ns is None else loop.call_at(at_ns / NS_PER_SECOND, self._callback)

    def close(self) -> None:
        self.set(None)


class _ITimerSpec(ctypes.Structure):
    """struct itimerspec: no interval, then the expiry time."""

    _fields_ = (
        ("every_s", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("at_s", ctypes.c_long),
        ("at_ns", ctypes.c_long),
    )


class TimerFd:
    """A timerfd on the monotonic clock: about ten microseconds late."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.timerfd_create(CLOCK_MONOTONIC, TIMER_FLAGS)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "timerfd")
        self._callback = callback
        self._spec = _ITimerSpec()
        asyncio.get_running_loop().add_reader(self._fd, self._expired)

    def set(self, at_ns: int | None) -> None:
        at_ns = 0 if at_ns is None else max(1, at_ns)
        self._spec.at_s, self._spec.at_ns = divmod(at_ns, NS_PER_SECOND)
        self._libc.timerfd_settime(self._fd, TIMER_ABSOLUTE, ctypes.byref(self._spec), None)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)

    def _expired(self) -> None:
        try:
            os.read(self._fd, TICK_BYTES)
        except BlockingIOError:
            return
        self._callback()
