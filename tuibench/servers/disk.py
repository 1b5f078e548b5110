"""The disk of a private server that can be made slow.

The server is started with a library before its C library (`native/disk`), which adds delays to reads, writes
and flushes of files, and counts them. Both sides share a page of memory, a file in the server's directory:
`native/disk/src/page.rs` has its layout. A change acts at once, and ends with its lease: whoever sets delays
renews it, so that a session that dies leaves no slow server behind.

Asynchronous I/O of the kernel does not pass through the C library, so such a server runs without it.
"""

import math
import mmap
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from tuibench.base.clock import NS_PER_SECOND
from tuibench.base.errors import UsageError
from tuibench.base.installation import disk_library, engine_remedy
from tuibench.model.hardware import FILE_KINDS, OPERATIONS, Hardware

PAGE_BYTES = 4096
MAGIC = 0x7475_6964_6973_6B31
GENERATION, LEASE, JITTER, INTERVAL, NEXT_SLOT, RANDOM = 1, 2, 3, 4, 5, 6
DELAYS, COUNTS = 8, 26
"""Places in words of 8 bytes; those of kinds begin with other files, which are never slow."""
BINLOG, TMPDIR = (640, 128), (768, 512)
"""Places of texts: first byte, and bytes."""

NS_PER_MS, PPM_PER_PERCENT = 1_000_000, 10_000
LEASE_SECONDS = 5.0
ENVIRONMENT, PRELOAD = "TUIBENCH_DISK", "LD_PRELOAD"

SERVER_OPTIONS = ("--innodb-use-native-aio=OFF",)


class IoCount(NamedTuple):
    """Calls on one kind of file, with their own time and that of the delays."""

    calls: int
    real_ns: int
    delayed_ns: int

    def since(self, before: "IoCount") -> "IoCount":
        return IoCount(*(now - then for now, then in zip(self, before, strict=True)))


IoCounts = Mapping[tuple[str, str], IoCount]
"""By kind of file and operation."""


def library() -> str:
    """The path of the library. Raises UsageError if there is none here."""
    if sys.platform != "linux":
        raise UsageError("--disk needs Linux", "leave it out")
    found = disk_library()
    if found is None:
        raise UsageError(
            "--disk needs a library that is built with the native engine, and it is not installed",
            engine_remedy(),
        )
    return str(found)


def environment(preloaded: str, page: Path) -> dict[str, str]:
    """What a server's environment has in addition: the library precedes those of the user."""
    others = os.environ.get(PRELOAD, "")
    return {PRELOAD: f"{preloaded}:{others}" if others else preloaded, ENVIRONMENT: str(page)}


def binlog_name(options: Sequence[str], default: str) -> str:
    """The base name of the binary log by the server's options, of which the last one counts."""
    for option in reversed(options):
        name, _, value = option.partition("=")
        if name.replace("_", "-") in ("--log-bin", "--loose-log-bin") and value:
            return os.path.basename(value).partition(".")[0]
    return default


class DiskPage:
    """The page that a server shares."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if the file cannot be mapped."""
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), PAGE_BYTES)
        # Aligned words of 8 bytes are written at once.
        self._words = memoryview(self._bytes).cast("Q")

    @classmethod
    def create(cls, path: Path, *, binlog: str, tmpdir: Path) -> Self:
        path.write_bytes(bytes(PAGE_BYTES))
        path.chmod(0o600)
        page = cls(path)
        for (place, size), text in ((BINLOG, binlog), (TMPDIR, os.path.realpath(tmpdir))):
            encoded = os.fsencode(text)
            if len(encoded) < size:
                page._bytes[place : place + len(encoded)] = encoded
        page._words[0] = MAGIC
        return page

    def set(self, disk: Hardware, now_ns: int) -> None:
        """Set all delays; `now_ns` is the time of the monotonic clock."""
        words = self._words
        for kind_number, kind in enumerate(FILE_KINDS, 1):
            for number, operation in enumerate(OPERATIONS):
                place = DELAYS + kind_number * len(OPERATIONS) + number
                words[place] = round(disk.delay_ms(kind, operation) * NS_PER_MS)
        words[JITTER] = round(disk.jitter_percent * PPM_PER_PERCENT)
        words[INTERVAL] = round(NS_PER_SECOND / disk.iops) if disk.iops else 0
        words[NEXT_SLOT] = 0
        self.renew(now_ns)
        words[GENERATION] = (words[GENERATION] + 1) % 2**64

    def renew(self, now_ns: int) -> None:
        self._words[LEASE] = now_ns + int(LEASE_SECONDS * NS_PER_SECOND)

    @property
    def counts(self) -> IoCounts:
        """What the server has done so far."""
        found = {}
        for kind_number, kind in enumerate(FILE_KINDS, 1):
            for number, operation in enumerate(OPERATIONS):
                place = COUNTS + (kind_number * len(OPERATIONS) + number) * 3
                found[kind, operation] = IoCount(*self._words[place : place + 3])
        return found

    @property
    def is_attached(self) -> bool:
        """True if a server's I/O passes through the library: every server reads its tables at its start."""
        return self.counts["data", "read"].calls > 0

    def close(self) -> None:
        self._words.release()
        self._bytes.close()


def mean_ms(count: IoCount) -> float:
    """The mean time of a call, its delay included; NaN without calls."""
    return (count.real_ns + count.delayed_ns) / count.calls / NS_PER_MS if count.calls else math.nan
