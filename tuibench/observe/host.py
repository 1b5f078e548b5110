"""Samples of this host: processor time of the server, tuibench and the rest; memory, disks, network.

Rates are differences of the system's totals over the measured interval; the totals may be from this host or
another one (`remote_host`).
"""

import os
import socket
import struct
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import psutil

from tuibench.base import numerals, sanitize
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.metrics.series import growth, ratio
from tuibench.model.server import ServerInfo
from tuibench.model.tick import Tick
from tuibench.observe.kept_files import KeptFiles

CGROUP = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")

CPU_MAX, MEMORY_MAX, CPU_STAT = "cpu.max", "memory.max", "cpu.stat"
UNLIMITED_BYTES = 1 << 60
"""Version 1 reports a number above this if memory has no limit."""


class GroupLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a control group.

    A group is limited by its ancestors as well: the minimum of all levels applies. Version 2 is fully
    supported; of version 1, only the limits that a container sees as its own.
    """

    cpu_cores: float | None = None
    """None without a limit."""
    memory_bytes: int | None = None
    """None without a limit."""
    throttled_seconds: float | None = None
    """None if unknown."""


CPU = "cpu"
"""The controller of version 1 that limits CPU time, and its folder."""


def group_path(lines: Iterable[str], controller: str = "") -> str:
    """The group's path of version 2, or of a controller of version 1; empty if there is none.

    `lines` are those of /proc/PID/cgroup.
    """
    groups = [line.split(":", 2) for line in lines]
    return next(
        (group[2].strip() for group in groups if len(group) == 3 and controller in group[1].split(",")), ""
    )


def group_levels(path: str) -> list[str]:
    """The path and those of all its ancestors, the root ("") last."""
    parts = [part for part in path.split("/") if part]
    return ["".join(f"/{part}" for part in parts[:count]) for count in range(len(parts), -1, -1)]


def parse_limits(files: Mapping[str, str], path: str, root: str = str(CGROUP)) -> GroupLimits:
    """The limits of the group at `path`; `files` maps paths to contents."""
    levels = [f"{root}{level}" for level in group_levels(path)]
    cpu = [_cores(files.get(f"{level}/{CPU_MAX}", "")) for level in levels]
    memory = [numerals.count(files.get(f"{level}/{MEMORY_MAX}", "")) for level in levels]
    return GroupLimits(
        cpu_cores=min((cores for cores in cpu if cores is not None), default=None),
        memory_bytes=min(
            (size for size in memory if size is not None and size < UNLIMITED_BYTES), default=None
        ),
        throttled_seconds=_most(_throttled(files.get(f"{level}/{CPU_STAT}", "")) for level in levels),
    )


def own_limits(own: Path = OWN_CGROUP, root: Path = CGROUP) -> GroupLimits:
    path = group_path(_text(own).splitlines())
    names = [f"{root}{level}/{name}" for level in group_levels(path) for name in (CPU_MAX, MEMORY_MAX)]
    found = parse_limits({name: _text(Path(name)) for name in names}, path, str(root))
    if found.cpu_cores is not None or found.memory_bytes is not None:
        return found
    quotas = [
        [numerals.count(_text(folder / f"cpu.cfs_{name}_us")) for name in ("quota", "period")]
        for folder in _cpu_folders(own, root)
    ]
    cores = min((quota / period for quota, period in quotas if quota and period), default=None)
    memory = numerals.count(_text(root / "memory" / "memory.limit_in_bytes"))
    return GroupLimits(
        cpu_cores=cores,
        memory_bytes=memory if memory is not None and memory < UNLIMITED_BYTES else None,
    )


def throttled_seconds(
    own: Path = OWN_CGROUP, root: Path = CGROUP, files: KeptFiles | None = None
) -> float | None:
    """The time for which a CPU limit of tuibench's control group, or of an ancestor, has stopped it; None if
    unknown.
    """
    files = files or KeptFiles(0)
    lines = files.text(str(own)).splitlines()
    folders = [
        *(f"{root}{level}" for level in group_levels(group_path(lines))),
        *(f"{root}/{CPU}{level}" for level in group_levels(group_path(lines, CPU))),
    ]
    return _most(_throttled(files.text(f"{folder}/{CPU_STAT}")) for folder in folders)


def _cpu_folders(own: Path, root: Path) -> list[Path]:
    """The folders of tuibench's group and its ancestors in version 1.

    In a container, the path may be the host's, which does not exist: the group is then the root.
    """
    path = group_path(_text(own).splitlines(), CPU)
    return [root / CPU / level.lstrip("/") for level in group_levels(path)]


def _most(seconds: Iterable[float | None]) -> float | None:
    return max((each for each in seconds if each is not None), default=None)


def _cores(text: str) -> float | None:
    """Parse `cpu.max`: quota and period, or `max` and period."""
    quota, period = map(numerals.count, text.strip().partition(" ")[::2])
    return quota / period if quota is not None and period else None


def _throttled(text: str) -> float | None:
    figures = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    micros, nanos = (numerals.count(figures.get(name, "")) for name in ("throttled_usec", "throttled_time"))
    return micros / 1e6 if micros is not None else None if nanos is None else nanos / NS_PER_SECOND


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


PROC = Path("/proc")
MOST_THREADS = 512
"""With more threads, the switches are not read: that costs more than the figure is worth."""

STATUS_BYTES = 8192

Switches = dict[int, tuple[int, int]]
"""Voluntary and involuntary switches so far, by thread."""


def thread_switches(pid: int, proc: Path = PROC, files: KeptFiles | None = None) -> Switches | None:
    """The switches of each thread of a process; None if they cannot be read.

    /proc/PID/status counts those of the main thread only, so all threads are read. The last switches of a
    thread that ended between two readings are lost.
    """
    tasks, files = proc / str(pid) / "task", files or KeptFiles(0)
    try:
        threads = os.listdir(tasks)
    except OSError:
        return None
    if len(threads) > MOST_THREADS:
        return None
    found = {numerals.count(thread): _switches(files, f"{tasks}/{thread}/status") for thread in threads}
    known = {
        thread: switches for thread, switches in found.items() if thread is not None and switches is not None
    }
    return known or None


def _switches(files: KeptFiles, status: str) -> tuple[int, int] | None:
    """The switches in the last two lines of the file."""
    try:
        tail = files.read(status, STATUS_BYTES).rsplit(b"voluntary_ctxt_switches:", 2)
    except OSError:
        return None
    if len(tail) != 3:
        return None
    return switches_of(tail[1].partition(b"\n")[0], tail[2])


def switches_of(voluntary: str | bytes, involuntary: str | bytes) -> tuple[int, int] | None:
    """The switches of a thread, from the two numbers of its file."""
    found = numerals.count(voluntary), numerals.count(involuntary)
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def storage_bytes(pid: int, proc: Path = PROC, files: KeptFiles | None = None) -> dict[str, float]:
    """The bytes that a process has read from storage and written to it; empty if they cannot be read.

    /proc/PID/io is readable for the process's own user and for root.
    """
    return stored_bytes((files or KeptFiles(0)).text(f"{proc}/{pid}/io").splitlines())


STORED = ("server_read_bytes", "server_written_bytes")


def stored_bytes(lines: Iterable[str]) -> dict[str, float]:
    """The bytes that a process has read from storage and written to it, from the lines of /proc/PID/io; empty
    if they cannot be read.
    """
    figures = dict(line.split(": ", 1) for line in lines if ": " in line)
    read, written = (numerals.count(figures.get(f"{name}_bytes")) for name in ("read", "write"))
    return {} if read is None or written is None else dict(zip(STORED, (read, written), strict=True))


def grown_switches(before: Switches | None, after: Switches | None) -> tuple[int | None, int | None]:
    """The switches between two readings; those of a new thread count in full."""
    if before is None or after is None:
        return None, None
    pairs = [(before.get(thread, (0, 0)), now) for thread, now in after.items()]
    return (
        sum(max(0, now[0] - old[0]) for old, now in pairs),
        sum(max(0, now[1] - old[1]) for old, now in pairs),
    )


class CpuTime(NamedTuple):
    """Seconds of all cores since boot."""

    busy: float
    """All except idle and iowait. Steal time is busy: it was not available to the machine."""
    total: float
    steal: float = 0.0


def cpu_time() -> CpuTime:
    return _time_of(psutil.cpu_times())


def core_cpu_times() -> tuple[CpuTime, ...]:
    return tuple(_time_of(core) for core in psutil.cpu_times(percpu=True))


def _time_of(read: Any) -> CpuTime:
    times = read._asdict()
    # Linux includes guest time in user and nice.
    total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
    busy = total - times["idle"] - times.get("iowait", 0.0)
    return CpuTime(busy, total, times.get("steal", 0.0))


class ProcessTimes:
    """Processor seconds and memory by pid. Linux's files are read from kept descriptors; other systems have
    handles of psutil, which are kept.
    """

    def __init__(self, files: KeptFiles | None = None) -> None:
        self._files = files or KeptFiles()
        self._handles: dict[int, psutil.Process] = {}

    def read(self, pids: Iterable[int]) -> dict[int, float]:
        """Seconds used so far by the processes that are alive and readable."""
        known = {pid: self._seconds(pid) for pid in set(pids)}
        self._handles = {pid: handle for pid, handle in self._handles.items() if known.get(pid) is not None}
        return {pid: seconds for pid, seconds in known.items() if seconds is not None}

    def resident_bytes(self, pid: int) -> int | None:
        """The resident set of a process; None if it has ended or cannot be read."""
        if _IS_LINUX:
            pages = numerals.count("".join(self._files.text(f"{PROC}/{pid}/statm").split()[1:2]))
            return None if pages is None else pages * _PAGE_BYTES
        try:
            return int((self._handles.get(pid) or psutil.Process(pid)).memory_info().rss)
        except (psutil.Error, OSError):
            return None

    def _seconds(self, pid: int) -> float | None:
        if _IS_LINUX:
            stat = self._files.text(f"{PROC}/{pid}/stat").rpartition(")")[2].split()
            user, system = (numerals.count("".join(stat[place : place + 1])) for place in (11, 12))
            return None if user is None or system is None else (user + system) / _CLOCK_TICKS
        try:
            handle = self._handles.get(pid) or psutil.Process(pid)
            times = handle.cpu_times()
        except (psutil.Error, OSError):
            return None
        self._handles[pid] = handle
        return float(times.user + times.system)


_IS_LINUX = sys.platform == "linux"
_PAGE_BYTES, _CLOCK_TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")

BLOCK = Path("/sys/block")

_LOOPBACKS = ("lo", "loop", "ram", "zram")


def disk_totals() -> dict[str, float]:
    """The totals of all counted disks since boot; empty if unavailable.

    The milliseconds are sums over all requests.
    """
    disks = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
    wanted = [disks[name] for name in counted_devices(disks, BLOCK)]
    if not wanted:
        return {}
    return {
        "read_bytes": sum(disk.read_bytes for disk in wanted),
        "written_bytes": sum(disk.write_bytes for disk in wanted),
        "reads": sum(disk.read_count for disk in wanted),
        "writes": sum(disk.write_count for disk in wanted),
        "read_ms": sum(disk.read_time for disk in wanted),
        "write_ms": sum(disk.write_time for disk in wanted),
    }


def net_bytes() -> dict[str, float]:
    """The totals of the counted network cards since boot; empty if unavailable.

    Loopback traffic is excluded: each byte counts as both sent and received, and a load over the Unix socket
    does not use it. The server's Bytes_sent and Bytes_received measure the load's traffic.
    """
    cards = psutil.net_io_counters(pernic=True, nowrap=False) or {}
    wanted = counted_devices(cards, Path("/sys/class/net"))
    if not wanted:
        return {}
    return {
        "received_bytes": sum(cards[name].bytes_recv for name in wanted),
        "sent_bytes": sum(cards[name].bytes_sent for name in wanted),
    }


def counted_devices(names: Iterable[str], folder: Path) -> list[str]:
    """The devices to count, so that no byte is counted twice. `folder` is the kernel's list of whole devices
    on Linux.

    A partition, a logical volume or a RAID array duplicates the I/O of its disks, a bridge that of its cards.
    So only devices with hardware are counted; if there are none (a container), all except loopbacks.
    """
    real = [name for name in names if name.rstrip("0123456789") not in _LOOPBACKS]
    if not folder.is_dir():
        return real
    whole = [name for name in real if (folder / name.replace("/", "!")).exists()]
    return [name for name in whole if (folder / name / "device").exists()] or whole


def counted_among(names: Iterable[str], whole: Collection[str], with_hardware: Collection[str]) -> list[str]:
    """The devices to count, from the whole devices and those with hardware; both may be empty."""
    real = [name for name in names if name.rstrip("0123456789") not in _LOOPBACKS]
    chosen = [name for name in real if name in whole] if whole else real
    return [name for name in chosen if name in with_hardware] or chosen


def known(values: Mapping[str, float | None]) -> dict[str, float]:
    """The values that are known, without those that are too large to be recorded."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and numerals.amount(value) is not None
    }


class HostCounters(msgspec.Struct, frozen=True, kw_only=True):
    """The system at one moment.

    The limits of a control group are tuibench's on this host, those of the server's process on another one.
    """

    at_ns: int
    """The time of a monotonic clock."""
    sums: dict[str, float]
    """Totals since boot, by their names in a tick."""
    levels: dict[str, float]
    """Present values, by their names in a tick."""
    cores: tuple[CpuTime, ...] = ()
    processes: dict[int, float] = {}
    """Processor seconds by pid."""
    switches: Switches | None = None
    """The context switches of the server's threads."""
    server_pid: int | None = None
    note: str = ""
    """The reason why the server's process is not included."""
    missing: dict[str, str] = {}
    """The reasons why figures are missing, by their names."""


def host_tick(
    before: HostCounters,
    after: HostCounters,
    *,
    cores: int,
    own_pids: Set[int] = frozenset(),
    origin: str = "",
) -> Tick | None:
    """The host between two readings, with keys without prefix. `origin` is the source of another host.

    None if the total processor time did not grow: the readings are too close, the time decreased, or it
    cannot be read.
    """
    seconds = (after.at_ns - before.at_ns) / NS_PER_SECOND
    grown = {name: growth(before.sums.get(name), value) for name, value in after.sums.items()}
    if not grown.get("total") or seconds <= 0:
        return None
    if any(name in grown and grown[name] is None for name in STORED):
        # The totals are those of another process.
        grown |= dict.fromkeys(STORED)
    used = {pid: growth(before.processes.get(pid), cpu) for pid, cpu in after.processes.items()}
    own = [cpu for pid, cpu in used.items() if pid in own_pids and cpu is not None]
    voluntary, involuntary = grown_switches(before.switches, after.switches)
    sums = {
        "seconds": seconds,
        "core_seconds": seconds * cores,
        **grown,
        "server_cpu": None if after.server_pid is None else used.get(after.server_pid),
        "tuibench_cpu": sum(own),
        "voluntary_switches": voluntary,
        "involuntary_switches": involuntary,
        **core_seconds(before.cores, after.cores, seconds),
    }
    return Tick(
        sums=known(sums),
        levels={"cores": cores, **after.levels},
        missing={
            **after.missing,
            **{name: why for name, why in (("server_cpu", after.note), ("local", origin)) if why},
        },
    )


def core_seconds(before: tuple[CpuTime, ...], after: tuple[CpuTime, ...], seconds: float) -> dict[str, float]:
    """The busy time of each core; empty if the number of cores changed."""
    if len(before) != len(after):
        return {}
    pairs = zip(before, after, strict=True)
    shares = [ratio(growth(old.busy, new.busy), growth(old.total, new.total)) or 0.0 for old, new in pairs]
    return {f"core.{core}": min(1.0, share) * seconds for core, share in enumerate(shares)}


READING_ERRORS = (psutil.Error, OSError, NotImplementedError, RuntimeError, ValueError, LookupError)
"""Errors of psutil for files of /proc that a container or a sandbox lacks, or fills otherwise."""

Found = TypeVar("Found")


def read_system(read: Callable[[], Found]) -> tuple[Found | None, str]:
    """The result of a function of psutil, or the reason why it failed. Its warnings about single figures are
    suppressed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return read(), ""
    except READING_ERRORS as error:
        words = sanitize.excerpt(" ".join(str(error).split())) or type(error).__name__
        return None, f"this system does not tell: {words}"


AGE_TOLERANCE_SECONDS = 30.0
"""Tolerated difference between a process's age and the server's uptime: slow starts, clock corrections."""

_CREDENTIALS = struct.Struct("3i")
_PEER_TIMEOUT_SECONDS = 0.5


class ServerProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The server's process."""

    pid: int | None
    """None if it was not found."""
    note: str = ""
    """The reason why it was not found."""


def find_server_process(info: ServerInfo) -> ServerProcess:
    """Find the server's process by its pid file, its Unix socket, or its listening port.

    The name is not used, because packages wrap the program. A found process is verified if possible: a pid
    file may contain the pid of another container, and a proxy may listen on a port. `info` must be fresh,
    because its uptime is compared with the process's age.

    Takes milliseconds, or tens of them with thousands of processes: for use at a start and a restart, not in
    every tick.
    """
    if not info.is_local:
        return ServerProcess(pid=None, note="the server runs on another host")
    doubts: list[str] = []
    for road, candidates in _SEARCHES.items():
        for pid in candidates(info):
            if is_server_process(pid, info):
                return ServerProcess(pid=pid)
            what = "cannot be seen: /proc hides it (hidepid)" if _is_hidden(pid) else "is another one"
            doubts.append(f"the process of its {road} ({pid}) {what}")
    return ServerProcess(pid=None, note=doubts[0] if doubts else "the server's process was not found")


def _is_hidden(pid: int, proc: Path = PROC) -> bool:
    """True for a process of another user whose files in /proc cannot be read."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not os.access(proc / str(pid) / "stat", os.R_OK)
    except (OSError, OverflowError):
        pass
    return False


def is_server_process(pid: int, info: ServerInfo) -> bool:
    """True if the process works in the server's data directory, as every server does from its start.

    The working directory of another user's process cannot be read; then its age must match the uptime.
    """
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return False
    try:
        return os.path.realpath(process.cwd()) == os.path.realpath(info.datadir)
    except (psutil.Error, OSError):
        if info.uptime_seconds is None:
            return False
        try:
            age_seconds = time.time() - process.create_time()
        except psutil.Error:
            return False
        return abs(age_seconds - info.uptime_seconds) <= AGE_TOLERANCE_SECONDS


def _by_pid_file(info: ServerInfo) -> Iterator[int]:
    try:
        text = Path(info.pid_file).read_text("ascii", errors="replace")
    except (OSError, ValueError):  # a path with a null character
        return
    if pid := numerals.count(text):
        yield pid


def _by_socket(info: ServerInfo) -> Iterator[int]:
    """The listener of the socket: from the kernel's tables, otherwise from the socket itself."""
    if not info.socket:
        return
    owners = {found.pid for found in _connections("unix") if found.pid and found.laddr == info.socket}
    if owners:
        yield from owners
    elif sys.platform == "linux":
        yield from _socket_peer(info.socket)


def _socket_peer(path: str) -> Iterator[int]:
    """The pid of a socket's listener, which the kernel reports to every peer of it.

    The server counts this as one aborted connect.
    """
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_PEER_TIMEOUT_SECONDS)
            probe.connect(path)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return
    pid = _CREDENTIALS.unpack(credentials)[0]
    if pid:
        yield pid


def _by_port(info: ServerInfo) -> Iterator[int]:
    for found in _connections("tcp"):
        if found.pid and found.status == psutil.CONN_LISTEN and found.laddr.port == info.port:
            yield found.pid


def _connections(kind: str) -> Sequence[Any]:
    """All connections of a kind; those of other users have no pid, or are missing."""
    try:
        return psutil.net_connections(kind)
    except (psutil.Error, OSError):
        return []


_SEARCHES: dict[str, Callable[[ServerInfo], Iterator[int]]] = {
    "pid file": _by_pid_file,
    "socket": _by_socket,
    "port": _by_port,
}


def _memory() -> dict[str, float]:
    memory = psutil.virtual_memory()
    return {"memory_used": memory.total - memory.available, "memory_total": memory.total}


def _swap() -> dict[str, float]:
    swap = psutil.swap_memory()
    return {"swap_used": swap.used, "swap_total": swap.total}


_LEVELS = ("memory_used", "memory_total", "swap_used", "swap_total")

_SYSTEM_FIGURES: dict[tuple[str, ...], Callable[[], dict[str, float]]] = {
    ("busy", "total", "steal"): lambda: cpu_time()._asdict(),
    ("read_bytes", "written_bytes", "reads", "writes", "read_ms", "write_ms"): lambda: disk_totals(),
    ("received_bytes", "sent_bytes"): lambda: net_bytes(),
    _LEVELS[:2]: _memory,
    _LEVELS[2:]: _swap,
}
"""The functions that read figures of this system, by the names of the figures."""


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
        self._files = KeptFiles()
        self._times = ProcessTimes(self._files)
        self._cores = psutil.cpu_count() or 1
        self._limits = own_limits()
        self._last = self._totals(set(own_pids()))
        self.note = ""
        """Why the last sample is missing, unless it was too close to the one before."""

    def follow(self, server: ServerProcess) -> None:
        """Replace the server's process, as after a restart."""
        self._server = server

    def sample(self) -> Tick | None:
        """The host since the last call; None if no processor time has passed since then or it is unknown."""
        own = set(self._own_pids())
        before, after = self._last, self._totals(own)
        found = host_tick(before, after, cores=self._cores, own_pids=own)
        self.note = after.missing.get("total", "")
        if "total" in before.sums and after.sums.get("total", 0.0) < before.sums["total"]:
            self.note = self.note or "the system's processor time went back"
        if found is not None or self.note or "total" not in before.sums:
            self._last = after
        return found

    @property
    def server_pid(self) -> int | None:
        """The server's process; None if it was not found."""
        return self._server.pid if self._server is not None else None

    def _totals(self, own: set[int]) -> HostCounters:
        pid = self.server_pid
        watched = own if pid is None else own | {pid}
        figures: dict[str, float] = {}
        missing: dict[str, str] = {}
        for names, read in _SYSTEM_FIGURES.items():
            found, why = read_system(read)
            figures |= found or {}
            missing |= dict.fromkeys(names, why) if why else {}
        cores, _ = read_system(core_cpu_times)
        processes = self._times.read(watched)
        levels = {name: figures.pop(name, None) for name in _LEVELS}
        return HostCounters(
            switches=None if pid is None else thread_switches(pid, files=self._files),
            at_ns=self._clock.now_ns(),
            sums=known(
                {
                    **({} if pid is None else storage_bytes(pid, files=self._files)),
                    **figures,
                    "throttled": throttled_seconds(files=self._files),
                }
            ),
            levels=known(
                {
                    **levels,
                    "memory_server": None if pid is None else self._times.resident_bytes(pid),
                    "cpu_limit": self._limits.cpu_cores,
                    "memory_limit": self._limits.memory_bytes,
                }
            ),
            cores=cores or (),
            processes=processes,
            server_pid=pid,
            note=self._note(processes),
            missing=missing,
        )

    def _note(self, processes: Collection[int]) -> str:
        """Why the server's share is missing; empty if it is known."""
        if self._server is None:
            return ""
        if self._server.pid is None:
            return self._server.note
        if self._server.pid in processes:
            return ""
        return f"the server's process {self._server.pid} has ended or cannot be read"
