"""Conversion of two readings of a host's totals to a part of a tick: CPU time, bytes, requests.

The totals may be from this host or another one.
"""

from collections.abc import Set

import msgspec

from tuibench.clock import NS_PER_SECOND
from tuibench.metrics.series.rates import growth, ratio
from tuibench.model.tick import Tick
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


def host_tick(
    before: HostTotals,
    after: HostTotals,
    *,
    cores: int,
    server_pid: int | None,
    own_pids: Set[int] = frozenset(),
    note: str = "",
    origin: str = "",
) -> Tick | None:
    """The host between two readings, with keys without prefix; None if they are too close for any processor
    time to have passed.

    `note` is the reason why the server's process is not included, `origin` the source of another host.
    """
    seconds = (after.at_ns - before.at_ns) / NS_PER_SECOND
    whole = growth(before.machine.total, after.machine.total)
    if not whole or seconds <= 0:
        return None
    used = {pid: growth(before.processes.get(pid), cpu) for pid, cpu in after.processes.items()}
    own = [cpu for pid, cpu in used.items() if pid in own_pids and cpu is not None]
    voluntary, involuntary = grown_switches(before.switches, after.switches)
    stored_read, stored_written = grown_pair(before.storage, after.storage)
    received, sent = grown_pair(before.net, after.net)
    disk_before, disk_after = before.disk, after.disk
    disk = {
        name: growth(getattr(disk_before, name), getattr(disk_after, name))
        for name in DiskTotals._fields
        if disk_before is not None and disk_after is not None
    }
    sums = {
        "seconds": seconds,
        "core_seconds": seconds * cores,
        "total": whole,
        "busy": growth(before.machine.busy, after.machine.busy),
        "steal": growth(before.machine.steal, after.machine.steal),
        "throttled": growth(before.group.throttled_seconds, after.group.throttled_seconds),
        "server_cpu": None if server_pid is None else used.get(server_pid),
        "tuibench_cpu": sum(own),
        "voluntary_switches": voluntary,
        "involuntary_switches": involuntary,
        "server_read_bytes": stored_read,
        "server_written_bytes": stored_written,
        **disk,
        "received_bytes": received,
        "sent_bytes": sent,
        **core_seconds(before.cores, after.cores, seconds),
    }
    levels = {
        "cores": cores,
        "memory_used": after.memory.used,
        "memory_total": after.memory.total,
        "memory_server": after.memory.server,
        "swap_used": after.memory.swap_used,
        "swap_total": after.memory.swap_total,
        "cpu_limit": after.group.cpu_cores,
        "memory_limit": after.group.memory_bytes,
    }
    return Tick(
        sums={name: value for name, value in sums.items() if value is not None},
        levels={name: value for name, value in levels.items() if value is not None},
        missing={name: why for name, why in (("server_cpu", note), ("local", origin)) if why},
    )


def core_seconds(before: tuple[CpuTime, ...], after: tuple[CpuTime, ...], seconds: float) -> dict[str, float]:
    """The busy time of each core; empty if the number of cores changed."""
    if len(before) != len(after):
        return {}
    pairs = zip(before, after, strict=True)
    shares = [ratio(growth(old.busy, new.busy), growth(old.total, new.total)) or 0.0 for old, new in pairs]
    return {f"core.{core}": min(1.0, share) * seconds for core, share in enumerate(shares)}
