"""Samples this host: processor time split between the server, tuibench and the rest; memory, disks, network.

Rates are differences of the system's totals over the measured interval.
"""

from collections.abc import Callable, Iterable

import psutil
from msgspec.structs import replace

from tuibench.clock import Clock
from tuibench.model.tick import Tick
from tuibench.observe.host.figures import HostTotals, MemoryUse, host_tick
from tuibench.observe.host.limits import own_limits, throttled_seconds
from tuibench.observe.host.process_io import storage_bytes, thread_switches
from tuibench.observe.host.server_process import ServerProcess
from tuibench.observe.host.totals import ProcessTimes, core_cpu_times, cpu_time, disk_totals, net_bytes


class HostSampler:
    """Reads the host's figures. Synchronous: a sample takes about a millisecond.

    `server` is None if the server runs on another host. `own_pids` returns the pids of tuibench's current
    processes: session, workers, guardian, viewers. The first totals are read at once, so the first sample has
    rates.
    """

    def __init__(
        self, server: ServerProcess | None, own_pids: Callable[[], Iterable[int]], clock: Clock
    ) -> None:
        self._server = server
        self._own_pids = own_pids
        self._clock = clock
        self._times = ProcessTimes()
        self._cores = psutil.cpu_count() or 1
        self._limits = own_limits()
        self._last = self._totals(set(own_pids()))

    def follow(self, server: ServerProcess) -> None:
        """Replace the server's process, as after a restart."""
        self._server = server

    def sample(self) -> Tick | None:
        """The host since the last call; None if no processor time has passed since then."""
        own = set(self._own_pids())
        after = self._totals(own)
        found = host_tick(
            self._last,
            after,
            cores=self._cores,
            server_pid=self._pid,
            own_pids=own,
            note=self._note(after),
        )
        if found is not None:
            self._last = after
        return found

    @property
    def _pid(self) -> int | None:
        return self._server.pid if self._server is not None else None

    def _totals(self, own: set[int]) -> HostTotals:
        pid = self._pid
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
            group=replace(self._limits, throttled_seconds=throttled_seconds()),
            memory=self._memory(pid),
        )

    def _memory(self, pid: int | None) -> MemoryUse:
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        return MemoryUse(
            used=memory.total - memory.available,
            total=memory.total,
            swap_used=swap.used,
            swap_total=swap.total,
            server=None if pid is None else self._times.resident_bytes(pid),
        )

    def _note(self, totals: HostTotals) -> str:
        """Why the server's share is missing; empty if it is not."""
        if self._server is None:
            return ""
        if self._server.pid is None:
            return self._server.note
        if self._server.pid in totals.processes:
            return ""
        return f"the server's process {self._server.pid} has ended or cannot be read"
