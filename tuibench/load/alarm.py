"""One wake-up at an absolute time, as exact as the system allows.

Event loops round their timers to milliseconds, which would blur the latencies of an open loop. Linux has
timer descriptors for that; elsewhere the loop's own timer has to do.
"""

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable
from typing import Protocol

from tuibench.clock import NS_PER_SECOND

HAS_TIMER_DESCRIPTORS = sys.platform.startswith("linux")
CLOCK_MONOTONIC = 1
TIMER_ABSOLUTE = 1
TIMER_FLAGS = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
TICK_BYTES = 8


class Alarm(Protocol):
    """Calls back once, at or shortly after a time of the monotonic clock."""

    def set(self, at_ns: int | None) -> None:
        """Rings at this time instead of any earlier set one; None for never."""

    def close(self) -> None: ...


def system_alarm(ring: Callable[[], None]) -> Alarm:
    """The best alarm there is on this system. Call it within a running event loop."""
    return TimerDescriptor(ring) if HAS_TIMER_DESCRIPTORS else LoopTimer(ring)


class LoopTimer:
    """The event loop's own timer: up to a millisecond late."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, at_ns: int | None) -> None:
        if self._handle is not None:
            self._handle.cancel()
        loop = asyncio.get_running_loop()
        self._handle = None if at_ns is None else loop.call_at(at_ns / NS_PER_SECOND, self._ring)

    def close(self) -> None:
        self.set(None)


class _Spec(ctypes.Structure):
    """struct itimerspec: no interval, then the time of the only expiry."""

    _fields_ = (
        ("every_s", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("at_s", ctypes.c_long),
        ("at_ns", ctypes.c_long),
    )


class TimerDescriptor:
    """A timerfd on the monotonic clock: some ten microseconds late."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.timerfd_create(CLOCK_MONOTONIC, TIMER_FLAGS)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "timerfd")
        self._ring = ring
        self._spec = _Spec()
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
        self._ring()
