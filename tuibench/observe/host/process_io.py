"""Context switches and storage I/O of one process.

/proc/PID/status counts the switches of the main thread only, so those of all threads are read and added up.
The last switches of a thread that ended between two readings are lost. /proc/PID/io is readable for the
process's own user and for root.
"""

import os
from pathlib import Path

PROC = Path("/proc")
MOST_THREADS = 512
"""With more threads, reading them costs more than the figure is worth."""

STATUS_BYTES = 8192

Switches = dict[int, tuple[int, int]]
"""Voluntary and involuntary switches so far, by thread."""


def thread_switches(pid: int, proc: Path = PROC) -> Switches | None:
    """The switches of each thread of a process; None if they cannot be read."""
    tasks = proc / str(pid) / "task"
    try:
        threads = os.listdir(tasks)
    except OSError:
        return None
    if len(threads) > MOST_THREADS:
        return None
    found = {int(thread): _switches(f"{tasks}/{thread}/status") for thread in threads}
    known = {thread: switches for thread, switches in found.items() if switches is not None}
    return known or None


def _switches(status: str) -> tuple[int, int] | None:
    """The switches in the last two lines of the file."""
    try:
        file = os.open(status, os.O_RDONLY)
    except OSError:
        return None
    try:
        tail = os.read(file, STATUS_BYTES).rsplit(b"voluntary_ctxt_switches:", 2)
    except OSError:
        return None
    finally:
        os.close(file)
    if len(tail) != 3:
        return None
    return int(tail[1].split(None, 1)[0]), int(tail[2])


def storage_bytes(pid: int, proc: Path = PROC) -> tuple[int, int] | None:
    """Bytes that a process has read from storage and written to it; None if they cannot be read."""
    try:
        lines = (proc / str(pid) / "io").read_text().splitlines()
        figures = dict(line.split(": ", 1) for line in lines)
        return int(figures["read_bytes"]), int(figures["write_bytes"])
    except (OSError, KeyError, ValueError):
        return None


def grown_switches(before: Switches | None, after: Switches | None) -> tuple[int | None, int | None]:
    """The switches between two readings; those of a new thread count in full."""
    if before is None or after is None:
        return None, None
    pairs = [(before.get(thread, (0, 0)), now) for thread, now in after.items()]
    return (
        sum(max(0, now[0] - old[0]) for old, now in pairs),
        sum(max(0, now[1] - old[1]) for old, now in pairs),
    )


def grown_pair(
    before: tuple[int, int] | None, after: tuple[int, int] | None
) -> tuple[int | None, int | None]:
    """The increase of two totals; None if one is missing or decreased."""
    if before is None or after is None or after[0] < before[0] or after[1] < before[1]:
        return None, None
    return after[0] - before[0], after[1] - before[1]
