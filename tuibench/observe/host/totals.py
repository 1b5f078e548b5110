"""Cumulative totals of this host: processor time of the machine and of processes, memory, disks, network.

Disks and network cards are selected so that no byte is counted twice.

A partition, a logical volume or a RAID array duplicates the I/O of its disks; a bridge that of its cards.
Only devices with hardware behind them are counted; if there are none (a container), all except loopbacks.

Loopback traffic is excluded: each byte counts as both sent and received, and a load over the unix socket does
not use it at all. The server's Bytes_sent and Bytes_received measure the load's traffic.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import psutil


class CpuTime(NamedTuple):
    """Seconds of all cores since boot. `busy` is all except idle and iowait.

    Steal time is busy: it was not available to the machine.
    """

    busy: float
    total: float
    steal: float = 0.0


def cpu_time() -> CpuTime:
    return _time_of(psutil.cpu_times())


def core_cpu_times() -> tuple[CpuTime, ...]:
    """The processor time of each core."""
    return tuple(_time_of(core) for core in psutil.cpu_times(percpu=True))


def _time_of(read: Any) -> CpuTime:
    times = read._asdict()
    # Linux includes guest time in user and nice.
    total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
    busy = total - times["idle"] - times.get("iowait", 0.0)
    return CpuTime(busy, total, times.get("steal", 0.0))


class ProcessTimes:
    """Processor seconds by pid. Handles are kept, so that a reading costs one small read per process."""

    def __init__(self) -> None:
        self._handles: dict[int, psutil.Process] = {}

    def read(self, pids: Iterable[int]) -> dict[int, float]:
        """Seconds used so far by those of the processes that are alive and readable."""
        known = {pid: self._seconds(pid) for pid in set(pids)}
        self._handles = {pid: handle for pid, handle in self._handles.items() if known.get(pid) is not None}
        return {pid: seconds for pid, seconds in known.items() if seconds is not None}

    def resident_bytes(self, pid: int) -> int | None:
        """The resident set of a process; None if it has ended or cannot be read."""
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
    """Disk totals since boot; the milliseconds are sums over all requests."""

    read_bytes: int
    written_bytes: int
    reads: int
    writes: int
    read_ms: int
    write_ms: int


def disk_totals() -> DiskTotals | None:
    """The totals of all counted disks; None if unavailable."""
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
    """The counted devices. `folder` is the kernel's list of whole devices on Linux."""
    real = [name for name in names if name.rstrip("0123456789") not in _LOOPBACKS]
    if not folder.is_dir():
        return real
    whole = [name for name in real if (folder / name.replace("/", "!")).exists()]
    return [name for name in whole if (folder / name / "device").exists()] or whole


def counted_among(names: Iterable[str], whole: Collection[str], with_hardware: Collection[str]) -> list[str]:
    """The counted devices, from the whole devices and those with hardware behind them; both may be empty."""
    real = [name for name in names if name.rstrip("0123456789") not in _LOOPBACKS]
    chosen = [name for name in real if name in whole] if whole else real
    return [name for name in chosen if name in with_hardware] or chosen
