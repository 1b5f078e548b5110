"""Disk benchmark of a folder: flushes per second with their latency, and random reads.

A flush is what a commit waits for: 4 KiB overwritten in a preallocated file, then fdatasync, sequentially, as
a server writes its redo log. Reads are of 16 KiB, an InnoDB page, with O_DIRECT past the page cache, by one
reader and by several. The files are temporary.
"""

import contextlib
import mmap
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tuibench.errors import RunError
from tuibench.model.measurements.environment import DiskSpeed

KIB, MIB = 1024, 1024 * 1024
LOG_BYTES, WRITE_BYTES = 16 * MIB, 4 * KIB
READ_FILE_BYTES, PAGE_BYTES = 256 * MIB, 16 * KIB
FREE_BYTES = 2 * (LOG_BYTES + READ_FILE_BYTES)
"""The least free space; with less, nothing is written."""

FLUSH_SECONDS, READ_SECONDS = 3.0, 2.0
READERS = 16
SEED = 7

Clock = Callable[[], float]


def measure_disk(
    folder: str, *, seconds: float = FLUSH_SECONDS, clock: Clock = time.perf_counter
) -> DiskSpeed:
    """Measure the file system of a folder for about seven seconds. Raises RunError if that is impossible."""
    with _working_folder(folder) as place:
        flushes = _flushes(place / "log", seconds, clock)
        reads = _reads(place / "pages", READ_SECONDS * seconds / FLUSH_SECONDS, clock)
    flushes.sort()
    return DiskSpeed(
        folder=folder,
        flushes_per_second=len(flushes) / sum(flushes),
        flush_p50_us=1e6 * _rank(flushes, 0.5),
        flush_p95_us=1e6 * _rank(flushes, 0.95),
        flush_p99_us=1e6 * _rank(flushes, 0.99),
        flush_max_us=1e6 * flushes[-1],
        reads_per_second=reads[0] if reads else None,
        reads_per_second_parallel=reads[1] if reads else None,
        readers=READERS,
    )


@contextlib.contextmanager
def _working_folder(folder: str) -> Iterator[Path]:
    """A folder for temporary files on the same file system, beside the data directory if possible."""
    where = Path(folder)
    try:
        device = where.stat().st_dev
        room = os.statvfs(where)
    except OSError as error:
        raise RunError(f"{folder} cannot be read: {error.strerror}", "choose a folder: --disk-dir") from error
    if room.f_bavail * room.f_frsize < FREE_BYTES:
        raise RunError(
            f"too little space is free in {folder} to measure its disk", "free some space, or use --disk-dir"
        )
    for parent in (where.parent, where):
        if parent.stat().st_dev != device or not os.access(parent, os.W_OK | os.X_OK):
            continue
        with tempfile.TemporaryDirectory(prefix="tuibench-disk-", dir=parent) as name:
            yield Path(name)
            return
    raise RunError(
        f"this user may not write beside {folder}, so its disk cannot be measured",
        "choose a folder on the same file system: --disk-dir=/path",
    )


def _flushes(path: Path, seconds: float, clock: Clock) -> list[float]:
    """Seconds of each write with its flush."""
    block = os.urandom(WRITE_BYTES)
    taken: list[float] = []
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, os.urandom(LOG_BYTES))
        os.fsync(file)
        flush = getattr(os, "fdatasync", os.fsync)
        end, at = clock() + seconds, 0
        while not taken or clock() < end:
            begun = clock()
            os.pwrite(file, block, at)
            flush(file)
            taken.append(clock() - begun)
            at = (at + WRITE_BYTES) % LOG_BYTES
    finally:
        os.close(file)
    return taken


def _reads(path: Path, seconds: float, clock: Clock) -> tuple[float, float] | None:
    """Reads per second of one reader and of several; None if the file system does not support O_DIRECT."""
    direct = getattr(os, "O_DIRECT", 0)
    if not direct:
        return None
    with path.open("wb") as stream:
        for _ in range(READ_FILE_BYTES // MIB):
            stream.write(os.urandom(MIB))
        os.fsync(stream.fileno())
    try:
        file = os.open(path, os.O_RDONLY | direct)
    except OSError:
        return None
    try:
        one = _reader(file, seconds, clock, SEED)
        with ThreadPoolExecutor(READERS) as pool:
            many = list(pool.map(lambda seed: _reader(file, seconds, clock, seed), range(READERS)))
    except OSError:
        return None
    finally:
        os.close(file)
    return one, sum(many)


def _reader(file: int, seconds: float, clock: Clock, seed: int) -> float:
    """Pages per second of one reader. A mapping is page-aligned, as O_DIRECT requires."""
    rng = random.Random(seed)
    with mmap.mmap(-1, PAGE_BYTES) as buffer:
        begun, done = clock(), 0
        while not done or clock() < begun + seconds:
            os.preadv(file, [buffer], PAGE_BYTES * rng.randrange(READ_FILE_BYTES // PAGE_BYTES))
            done += 1
        return done / max(clock() - begun, 1e-9)


def _rank(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
