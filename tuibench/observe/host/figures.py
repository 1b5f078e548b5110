"""Conversion of two readings of a host's totals to a sample: CPU shares, rates, times of disk requests.

The totals may be from this host or another one.
"""

from collections.abc import Set

import msgspec

from tuibench.clock import NS_PER_SECOND
from tuibench.metrics.series.rates import growth, ratio
from tuibench.model.measurements.sample import HostSample
from tuibench.observe.host.limits import GroupLimits
from tuibench.observe.host.process_io import Switches, grown_pair, grown_switches
from tuibench.observe.host.totals import CpuTime, DiskTotals


class MemoryUse(msgspec.Struct, frozen=True, kw_only=True):
    """Memory and swap space in bytes; `server` is the resident set of the server's process."""

    used: int
    total: int
    swap_used: int | None = None
    swap_total: int | None = None
    server: int | None = None


class HostTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The system's totals at `at_ns` of a monotonic clock; processor seconds by pid.

    `group` are the limits of a control group: tuibench's on this host, the server process's on
    another one.
    """

    at_ns: int
    machine: CpuTime
    cores: tuple[CpuTime, ...] = ()
    processes: dict[int, float] = {}
    disk: DiskTotals | None = None
    net: tuple[int, int] | None = None
    group: GroupLimits = GroupLimits()
    switches: Switches | None = None
    storage: tuple[int, int] | None = None
    memory: MemoryUse


def host_sample(
    before: HostTotals,
    after: HostTotals,
    *,
    cores: int,
    server_pid: int | None,
    own_pids: Set[int] = frozenset(),
    note: str = "",
    origin: str = "",
) -> HostSample | None:
    """The sample between two readings; None if they are too close for any processor time to have passed."""
    seconds = (after.at_ns - before.at_ns) / NS_PER_SECOND
    total = share_percent(before.machine, after.machine)
    if total is None or seconds <= 0:
        return None
    used = cpu_percents(before, after, seconds * cores)
    server = None if server_pid is None else used.get(server_pid)
    tuibench = sum(percent for pid, percent in used.items() if pid in own_pids)
    read, written = pair_per_second(_bytes(before.disk), _bytes(after.disk), seconds)
    read_ms, write_ms = request_ms(before.disk, after.disk)
    received, sent = pair_per_second(before.net, after.net, seconds)
    voluntary, involuntary = grown_switches(before.switches, after.switches)
    stored = grown_pair(before.storage, after.storage)
    memory = after.memory
    return HostSample(
        seconds=seconds,
        server_voluntary_switches=voluntary,
        server_involuntary_switches=involuntary,
        server_read_bytes=stored[0],
        server_written_bytes=stored[1],
        cores=cores,
        cpu_total=total,
        cpu_server=server,
        cpu_tuibench=tuibench,
        cpu_rest=max(0.0, total - (server or 0.0) - tuibench),
        memory_used_bytes=memory.used,
        memory_total_bytes=memory.total,
        disk_read_bytes_per_second=read,
        disk_write_bytes_per_second=written,
        net_received_bytes_per_second=received,
        net_sent_bytes_per_second=sent,
        cpu_by_core=core_percents(before.cores, after.cores),
        swap_used_bytes=memory.swap_used,
        swap_total_bytes=memory.swap_total,
        disk_read_ms=read_ms,
        disk_write_ms=write_ms,
        cpu_steal=steal_percent(before.machine, after.machine),
        cpu_throttled=throttled_percent(before.group, after.group, seconds),
        note=note,
        memory_server_bytes=memory.server,
        cpu_limit=after.group.cpu_cores,
        memory_limit_bytes=after.group.memory_bytes,
        origin=origin,
    )


def _bytes(disk: DiskTotals | None) -> tuple[int, int] | None:
    return None if disk is None else (disk.read_bytes, disk.written_bytes)


def request_ms(before: DiskTotals | None, after: DiskTotals | None) -> tuple[float | None, float | None]:
    """The mean time of a read and of a write; None if there was none, or it is unknown."""
    if before is None or after is None:
        return None, None
    reads, writes = growth(before.reads, after.reads), growth(before.writes, after.writes)
    return (
        ratio(growth(before.read_ms, after.read_ms), reads),
        ratio(growth(before.write_ms, after.write_ms), writes),
    )


def core_percents(before: tuple[CpuTime, ...], after: tuple[CpuTime, ...]) -> tuple[float, ...]:
    """The usage of each core; empty if the number of cores changed."""
    if len(before) != len(after):
        return ()
    shares = [share_percent(old, new) for old, new in zip(before, after, strict=True)]
    return tuple(round(share, 1) if share is not None else 0.0 for share in shares)


def share_percent(before: CpuTime, after: CpuTime) -> float | None:
    """Usage of the machine, 0 to 100."""
    share = ratio(growth(before.busy, after.busy), growth(before.total, after.total))
    return None if share is None else min(100.0, 100.0 * share)


def steal_percent(before: CpuTime, after: CpuTime) -> float:
    """Share of the machine that the hypervisor gave to other guests, 0 to 100."""
    share = ratio(growth(before.steal, after.steal), growth(before.total, after.total))
    return 100.0 * (share or 0.0)


def throttled_percent(before: GroupLimits, after: GroupLimits, seconds: float) -> float:
    """Share of the time that the control group was throttled, 0 to 100; 0 if unknown."""
    if before.throttled_seconds is None or after.throttled_seconds is None:
        return 0.0
    share = ratio(growth(before.throttled_seconds, after.throttled_seconds), seconds)
    return min(100.0, 100.0 * (share or 0.0))


def cpu_percents(before: HostTotals, after: HostTotals, core_seconds: float) -> dict[int, float]:
    """Each process's share of the whole machine. A process that is new in the interval is omitted."""
    grown = {pid: growth(before.processes.get(pid), used) for pid, used in after.processes.items()}
    return {
        pid: min(100.0, 100.0 * seconds / core_seconds)
        for pid, seconds in grown.items()
        if seconds is not None
    }


def pair_per_second(
    before: tuple[int, int] | None, after: tuple[int, int] | None, seconds: float
) -> tuple[float | None, float | None]:
    """Rates of two counters that are read together."""
    if before is None or after is None:
        return None, None
    first, second = (growth(old, new) for old, new in zip(before, after, strict=True))
    return ratio(first, seconds), ratio(second, seconds)
