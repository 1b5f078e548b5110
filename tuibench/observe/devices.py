"""Which disks and network cards are counted, so that no byte is counted twice.

A partition, a logical volume or a RAID array passes on what its disks do; a bridge what its cards do. Counted
are the devices with hardware behind them; where there are none (a container), all that are no loopback.

The loopback's own traffic is left out: it counts each byte as sent and as received, and a load over the unix
socket is not in it at all. The server's Bytes_sent and Bytes_received say what the load moves.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import psutil

BLOCK = Path("/sys/block")
NET = Path("/sys/class/net")

_LOOPBACKS = ("lo", "loop", "ram", "zram")


class DiskTotals(NamedTuple):
    """What the disks have done since boot; the milliseconds are those of all requests together."""

    read_bytes: int
    written_bytes: int
    reads: int
    writes: int
    read_ms: int
    write_ms: int


def disk_totals() -> DiskTotals | None:
    """Of all disks that count; None where the system does not say."""
    disks = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
    wanted = [disks[name] for name in physical(disks, BLOCK)]
    if not wanted:
        return None
    return DiskTotals(
        read_bytes=sum(disk.read_bytes for disk in wanted),
        written_bytes=sum(disk.write_bytes for disk in wanted),
        reads=sum(disk.read_count for disk in wanted),
        writes=sum(disk.write_count for disk in wanted),
        read_ms=sum(disk.read_time for disk in wanted),
        write_ms=sum(disk.write_time for disk in wanted),
    )


def net_bytes() -> tuple[int, int] | None:
    """Bytes received and sent by the network cards since boot."""
    cards = psutil.net_io_counters(pernic=True, nowrap=False) or {}
    wanted = physical(cards, NET)
    if not wanted:
        return None
    return sum(cards[name].bytes_recv for name in wanted), sum(cards[name].bytes_sent for name in wanted)


def physical(names: Iterable[str], folder: Path) -> list[str]:
    """Those of the devices that count. `folder` is where the kernel lists whole devices, if it is Linux."""
    real = [name for name in names if name.rstrip("0123456789") not in _LOOPBACKS]
    if not folder.is_dir():
        return real
    whole = [name for name in real if (folder / name.replace("/", "!")).exists()]
    return [name for name in whole if (folder / name / "device").exists()] or whole
