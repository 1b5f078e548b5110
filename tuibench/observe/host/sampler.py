"""Samples this host: processor time split between the server, tuibench and the rest; memory, disks, network.

Rates are differences of the system's own totals over the measured interval.
"""

from collections.abc import Callable, Iterable

import msgspec
import psutil

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.metrics.series.rates import growth, ratio
from tuibench.model.sample import HostSample
from tuibench.observe.host.process_io import grown_pair, grown_switches, storage_bytes, thread_switches
from tuibench.observe.host.server_process import ServerProcess
from tuibench.observe.host.totals import (
    CpuTime,
    DiskTotals,
    ProcessTimes,
    core_cpu_times,
    cpu_time,
    disk_totals,
    net_bytes,
    throttled_seconds,
)


class HostTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What the system has counted up to `at_ns` of the monotonic clock; processor seconds by pid."""

    at_ns: int
    machine: CpuTime
    cores: tuple[CpuTime, ...] = ()
    processes: dict[int, float]
    disk: DiskTotals | None
    net: tuple[int, int] | None
    throttled_seconds: float | None = None
    switches: dict[int, tuple[int, int]] | None = None
    storage: tuple[int, int] | None = None


class HostSampler:
    """Reads the host's figures. Synchronous: a sample takes about a millisecond.

    `own_pids` names tuibench's processes at the moment: session, workers, guardian, viewers.
    The first totals are taken at once, so the first sample has rates since then.
    """

    def __init__(self, server: ServerProcess, own_pids: Callable[[], Iterable[int]], clock: Clock) -> None:
        self._server = server
        self._own_pids = own_pids
        self._clock = clock
        self._times = ProcessTimes()
        self._cores = psutil.cpu_count() or 1
        self._last = self._totals(set(own_pids()))

    def follow(self, server: ServerProcess) -> None:
        """Takes this for the server's process from now on, as after a restart."""
        self._server = server

    def sample(self) -> HostSample | None:
        """The host since the last call; None if that was so recent that no processor time has passed."""
        own = set(self._own_pids())
        before, after = self._last, self._totals(own)
        seconds = (after.at_ns - before.at_ns) / NS_PER_SECOND
        total = share_percent(before.machine, after.machine)
        if total is None or seconds <= 0:
            return None
        self._last = after
        return self._part(before, after, own, seconds, total)

    def _part(
        self, before: HostTotals, after: HostTotals, own: set[int], seconds: float, total: float
    ) -> HostSample:
        used = cpu_percents(before, after, seconds * self._cores)
        pid = self._server.pid
        server = None if pid is None else used.get(pid)
        tuibench = sum(percent for pid, percent in used.items() if pid in own)
        memory = psutil.virtual_memory()
        swap = psutil.swap_memory()
        read, written = pair_per_second(_bytes(before.disk), _bytes(after.disk), seconds)
        read_ms, write_ms = request_ms(before.disk, after.disk)
        received, sent = pair_per_second(before.net, after.net, seconds)
        voluntary, involuntary = grown_switches(before.switches, after.switches)
        stored = grown_pair(before.storage, after.storage)
        return HostSample(
            seconds=seconds,
            server_voluntary_switches=voluntary,
            server_involuntary_switches=involuntary,
            server_read_bytes=stored[0],
            server_written_bytes=stored[1],
            cores=self._cores,
            cpu_total=total,
            cpu_server=server,
            cpu_tuibench=tuibench,
            cpu_rest=max(0.0, total - (server or 0.0) - tuibench),
            memory_used_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            disk_read_bytes_per_second=read,
            disk_write_bytes_per_second=written,
            net_received_bytes_per_second=received,
            net_sent_bytes_per_second=sent,
            cpu_by_core=core_percents(before.cores, after.cores),
            swap_used_bytes=swap.used,
            swap_total_bytes=swap.total,
            disk_read_ms=read_ms,
            disk_write_ms=write_ms,
            cpu_steal=steal_percent(before.machine, after.machine),
            cpu_throttled=throttled_percent(before, after, seconds),
            note=self._note(after),
            memory_server_bytes=None if pid is None else self._times.resident_bytes(pid),
        )

    def _totals(self, own: set[int]) -> HostTotals:
        pid = self._server.pid
        watched = own if pid is None else own | {pid}
        return HostTotals(
            switches=None if pid is None else thread_switches(pid),
            storage=None if pid is None else storage_bytes(pid),
            at_ns=self._clock.now_ns(),
            machine=cpu_time(),
            cores=core_cpu_times(),
            processes=self._times.read(watched),
            disk=disk_totals(),
            net=net_bytes(),
            throttled_seconds=throttled_seconds(),
        )

    def _note(self, totals: HostTotals) -> str:
        """Why the server's share is missing; empty if it is not."""
        if self._server.pid is None:
            return self._server.note
        if self._server.pid in totals.processes:
            return ""
        return f"the server's process {self._server.pid} has ended or cannot be read"


def _bytes(disk: DiskTotals | None) -> tuple[int, int] | None:
    return None if disk is None else (disk.read_bytes, disk.written_bytes)


def request_ms(before: DiskTotals | None, after: DiskTotals | None) -> tuple[float | None, float | None]:
    """How long a read and a write took, on the mean; None where there was none, or nothing is known."""
    if before is None or after is None:
        return None, None
    reads, writes = growth(before.reads, after.reads), growth(before.writes, after.writes)
    return (
        ratio(growth(before.read_ms, after.read_ms), reads),
        ratio(growth(before.write_ms, after.write_ms), writes),
    )


def core_percents(before: tuple[CpuTime, ...], after: tuple[CpuTime, ...]) -> tuple[float, ...]:
    """How busy each core was; nothing while cores come and go."""
    if len(before) != len(after):
        return ()
    shares = [share_percent(old, new) for old, new in zip(before, after, strict=True)]
    return tuple(round(share, 1) if share is not None else 0.0 for share in shares)


def share_percent(before: CpuTime, after: CpuTime) -> float | None:
    """How much of the machine was busy, 0 to 100."""
    share = ratio(growth(before.busy, after.busy), growth(before.total, after.total))
    return None if share is None else min(100.0, 100.0 * share)


def steal_percent(before: CpuTime, after: CpuTime) -> float:
    """How much of the machine the hypervisor gave to other guests, 0 to 100."""
    share = ratio(growth(before.steal, after.steal), growth(before.total, after.total))
    return 100.0 * (share or 0.0)


def throttled_percent(before: HostTotals, after: HostTotals, seconds: float) -> float:
    """How much of the time our control group was held back, 0 to 100; 0 where it is not known."""
    if before.throttled_seconds is None or after.throttled_seconds is None:
        return 0.0
    share = ratio(growth(before.throttled_seconds, after.throttled_seconds), seconds)
    return min(100.0, 100.0 * (share or 0.0))


def cpu_percents(before: HostTotals, after: HostTotals, core_seconds: float) -> dict[int, float]:
    """The share of the whole machine each process had. One that was not there before is left out."""
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
