"""What the viewer costs and how quick it is: `python -m tests.bench.screen`, beside a demo with 64 threads.

Measured on a pseudo-terminal: the time to the first picture, from a key to its picture, bytes a second on the
Live screen, and the viewer's share of a core. On a busy machine the times say little; beside each stands what
it took of a processor, which says more.
"""

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from typing import NamedTuple

import psutil

from tests.bench.compiled import COMPILED, compile_modules

SIZES = ((120, 36), (80, 24))
KEYS = ((b"3", b"COMMANDS"), (b"2", b"LATENCIES"), (b"h", b"MEMORY"), (b"1", b"DURABILITY"))
IDLE_SECONDS = 8.0
"""Until the other screens are made."""
STEADY_SECONDS = 15.0
DEADLINE_SECONDS = 30.0


HEAD = """\
| size | first picture (CPU) | slowest key (CPU) | once more (CPU) | a second on Live | of a core |
|---|---:|---:|---:|---:|---:|"""


class Taken(NamedTuple):
    """How long something took, and how much of it the viewer had a processor."""

    wall_ms: float
    cpu_ms: float


class Screen:
    """A viewer on a terminal of its own; what it writes is counted and searched."""

    def __init__(self, session: str, width: int, height: int) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.began = time.perf_counter()
        self._viewer = subprocess.Popen(
            [sys.executable, "-m", "tuibench", "attach", session],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=COMPILED | {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
        )
        os.close(slave)

    def until(self, text: bytes) -> Taken:
        """From now until the text is written."""
        start, used, seen = time.perf_counter(), self._used(), b""
        while text not in seen:
            if time.perf_counter() - start > DEADLINE_SECONDS:
                raise SystemExit(f"{text!r} was not painted within {DEADLINE_SECONDS:.0f} s")
            seen = seen[-4096:] + self._read(0.5)
        return Taken(1000 * (time.perf_counter() - start), 1000 * (self._used() - used))

    def press(self, key: bytes, painted: bytes) -> Taken:
        """From a key to its picture."""
        os.write(self._master, key)
        return self.until(painted)

    def steady(self, seconds: float) -> tuple[float, float]:
        """Bytes a second, and the share of a core in percent, while nothing is pressed."""
        used, start, written = self._used(), time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            written += len(self._read(0.2))
        passed = time.perf_counter() - start
        return written / passed, 100 * (self._used() - used) / passed

    def close(self) -> None:
        os.write(self._master, b"x")
        self._viewer.wait(DEADLINE_SECONDS)
        os.close(self._master)

    def _used(self) -> float:
        """Seconds of a processor that the viewer has had until now."""
        times = psutil.Process(self._viewer.pid).cpu_times()
        return float(times.user + times.system)

    def _read(self, patience: float) -> bytes:
        ready, _, _ = select.select([self._master], [], [], patience)
        return os.read(self._master, 1 << 16) if ready else b""


def longest(taken: Sequence[Taken]) -> str:
    """The slowest and the dearest of some."""
    return f"{max(one.wall_ms for one in taken):.0f} ms ({max(one.cpu_ms for one in taken):.0f})"


def measure(session: str, width: int, height: int) -> str:
    """A row of the table."""
    screen = Screen(session, width, height)
    try:
        first = screen.until(b"DURABILITY")
        screen.steady(IDLE_SECONDS)
        keys = [screen.press(key, painted) for key, painted in KEYS]
        screen.steady(2.0)
        again = [screen.press(key, painted) for key, painted in KEYS]
        screen.steady(2.0)
        written, share = screen.steady(STEADY_SECONDS)
    finally:
        screen.close()
    return (
        f"| {width}×{height} | {longest([first])} | {longest(keys)} | {longest(again)} | "
        f"{written / 1000:.1f} kB | {share:.1f} % |"
    )


def _tuibench(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tuibench", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=64)
    options = parser.parse_args(arguments)
    session = _tuibench("demo", "--detach", f"--threads={options.threads}").split()[-1]
    try:
        compile_modules()
        print(HEAD)
        for width, height in SIZES:
            print(measure(session, width, height))
        print("load average (1 minute):", round(os.getloadavg()[0], 1))
    finally:
        _tuibench("ctl", session, "stop")


if __name__ == "__main__":
    main()
