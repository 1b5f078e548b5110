"""Processor time, cumulative: of the machine, and of processes that come and go; the memory of one."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import psutil


class MachineTime(NamedTuple):
    """Seconds of all cores since boot. `busy` is all but idle and waiting for disks.

    Time stolen by a hypervisor is busy: the machine did not have it.
    """

    busy: float
    total: float


def machine_time() -> MachineTime:
    return _time_of(psutil.cpu_times())


def core_times() -> tuple[MachineTime, ...]:
    """The same of each core."""
    return tuple(_time_of(core) for core in psutil.cpu_times(percpu=True))


def _time_of(read: Any) -> MachineTime:
    times = read._asdict()
    # Linux counts guests' time in user and nice as well.
    total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
    return MachineTime(busy=total - times["idle"] - times.get("iowait", 0.0), total=total)


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
