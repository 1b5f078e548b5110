"""Processor time, cumulative: of the machine, and of processes that come and go; the memory of one.

Which disks and network cards are counted, so that no byte is counted twice.

A partition, a logical volume or a RAID array passes on what its disks do; a bridge what its cards do. Counted
are the devices with hardware behind them; where there are none (a container), all that are no loopback.

The loopback's own traffic is left out: it counts each byte as sent and as received, and a load over the unix
socket is not in it at all. The server's Bytes_sent and Bytes_received say what the load moves.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import psutil


class CpuTime(NamedTuple):
    """Seconds of all cores since boot. `busy` is all but idle and waiting for disks.

    Time stolen by a hypervisor is busy: the machine did not have it.
    """

    busy: float
    total: float
    steal: float = 0.0


def cpu_time() -> CpuTime:
    return _time_of(psutil.cpu_times())


def core_cpu_times() -> tuple[CpuTime, ...]:
    """The same of each core."""
    return tuple(_time_of(core) for core in psutil.cpu_times(percpu=True))


def _time_of(read: Any) -> CpuTime:
    times = read._asdict()
    # Linux counts guests' time in user and nice as well.
    total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
    busy = total - times["idle"] - times.get("iowait", 0.0)
    return CpuTime(busy, total, times.get("steal", 0.0))


class ProcessTimes:
    """Processor seconds by pid. Handles are kept, so that a look at a process costs one small read."""

    def __init__(self) -> None:
        self._handles: dict[int, psutil.Process] = {}

    def read(self, pids: Iterable[int]) -> dict[int, float]:
        """Seconds used so far by those of the processes that live and can be read."""
        known = {pid: self._seconds(pid) for pid in set(pids)}
        self._handles = {pid: handle for pid, handle in self._handles.items() if known.get(pid) is not None}
        return {pid: seconds for pid, seconds in known.items() if seconds is not None}

    def resident_bytes(self, pid: int) -> int | None:
        """The memory that a process holds now; None if it has ended or cannot be read."""
        try:
            return int((self._handles.get(pid) or psutil.Process(pid)).memory_info().rss)
        except (psutil.Error, OSError):
            return None

    def _seconds(self, pid: int) -> float | None:
        try:
            handle = self._handles.get(pid) or psutil.Process(pid)
            times = handle.cpu_times()
        except (psutil.Error, OSError):
            return None
        self._handles[pid] = handle
        return float(times.user + times.system)


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
    wanted = [disks[name] for name in counted_devices(disks, BLOCK)]
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
    wanted = counted_devices(cards, NET)
    if not wanted:
        return None
    return sum(cards[name].bytes_recv for name in wanted), sum(cards[name].bytes_sent for name in wanted)


def counted_devices(names: Iterable[str], folder: Path) -> list[str]:
    """Those of the devices that count. `folder` is where the kernel lists whole devices, if it is Linux."""
    real = [name for name in names if name.rstrip("0123456789") not in _LOOPBACKS]
    if not folder.is_dir():
        return real
    whole = [name for name in real if (folder / name.replace("/", "!")).exists()]
    return [name for name in whole if (folder / name / "device").exists()] or whole


def counted_among(names: Iterable[str], whole: Collection[str], with_hardware: Collection[str]) -> list[str]:
    """The same from lists of the whole devices and of those with hardware behind them; both may be empty."""
    real = [name for name in names if name.rstrip("0123456789") not in _LOOPBACKS]
    chosen = [name for name in real if name in whole] if whole else real
    return [name for name in chosen if name in with_hardware] or chosen
