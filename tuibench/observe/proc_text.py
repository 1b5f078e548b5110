"""/proc of a remote Linux host over ssh: the shell command that prints it, and the parser of its output.

The command is one line of POSIX shell without single quotes, because it is quoted in them for any login
shell. It contains nothing that comes from a server: paths are sent to it as data, a line for each request.
The output of a request is the line `begin N`, then PATH:LINE for every line of every file, then `end N`.

The first output holds the constant facts: devices, units, candidate processes of the server.
"""

import msgspec

from tuibench.clock import NS_PER_SECOND
from tuibench.model.server import ServerInfo
from tuibench.observe.host import (
    AGE_TOLERANCE_SECONDS,
    CGROUP,
    CPU_MAX,
    CPU_STAT,
    MEMORY_MAX,
    MOST_THREADS,
    CpuTime,
    HostTotals,
    Switches,
    counted_among,
    group_levels,
    group_path,
    known,
    parse_limits,
    stored,
)

PROGRAMS = "mysqld|mariadbd|tidb-server"
"""Parts of a server's command line, including one started by a loader or a wrapper."""

COMMAND = (
    "LC_ALL=C; export LC_ALL; IFS= read -r pidfile; "
    "test -r /proc/stat || { echo error there is no /proc; exit 1; }; "
    "echo begin 0; "
    "echo clock: $(getconf CLK_TCK 2>/dev/null); echo page: $(getconf PAGESIZE 2>/dev/null); "
    "echo disks: $(ls /sys/block 2>/dev/null); echo disk hardware: $(echo /sys/block/*/device); "
    "echo cards: $(ls /sys/class/net 2>/dev/null); echo card hardware: $(echo /sys/class/net/*/device); "
    'pid=; test -r "$pidfile" && read -r pid < "$pidfile" && echo pid file: $pid; '
    f'for file in /proc/$pid/cmdline $(grep -lsaE "{PROGRAMS}" /proc/[0-9]*/cmdline); do '
    "folder=${file%/cmdline}; read -r name < $folder/comm || continue; case $name in *_safe) ;; *) "
    "echo candidate: ${folder#/proc/} $(readlink $folder/cwd); "
    'grep -sH "" $folder/stat $folder/cgroup ;; esac; done 2>/dev/null; '
    'grep -sH "" /proc/uptime; echo end 0; '
    "while read -r number threads files; do echo begin $number; "
    "set -f; grep -sHv ^intr $files; set +f; "
    f"set -- $threads/*/status; test $# -le {MOST_THREADS} && grep -sHE ctxt_switches $*; "
    "echo end $number; done"
)
"""Two small processes per request; thread files are read only if there are not too many."""

KIB = 1024
SECTOR_BYTES = 512
CPU_FIELDS = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; user and nice include guest time."""


class RemoteFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Constant facts of the host; `note` is the reason why the server's process is unknown."""

    ticks_per_second: int = 100
    page_bytes: int = 4096
    disks: tuple[str, ...] = ()
    disk_hardware: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    card_hardware: tuple[str, ...] = ()
    server_pid: int | None = None
    group: str = ""
    note: str = ""


class _Candidate(msgspec.Struct, frozen=True):
    pid: int
    folder: str
    age_seconds: float | None
    group: str


def by_file(lines: list[str]) -> dict[str, list[str]]:
    """The lines of each file, by path."""
    found: dict[str, list[str]] = {}
    for line in lines:
        path, _, text = line.partition(":")
        if path.startswith("/"):
            found.setdefault(path, []).append(text)
    return found


def parse_facts(lines: list[str], server: ServerInfo) -> RemoteFacts:
    """The facts of a host, including the server's process."""
    named = {
        name: value.strip()
        for name, _, value in (line.partition(":") for line in lines if not line.startswith("/"))
    }
    ticks = _number(named.get("clock", "")) or 100
    candidates = _candidates(lines, ticks)
    chosen, note = _choose(candidates, _number(named.get("pid file", "")), server)
    return RemoteFacts(
        ticks_per_second=ticks,
        page_bytes=_number(named.get("page", "")) or 4096,
        disks=tuple(named.get("disks", "").split()),
        disk_hardware=_devices(named.get("disk hardware", "")),
        cards=tuple(named.get("cards", "").split()),
        card_hardware=_devices(named.get("card hardware", "")),
        server_pid=chosen.pid if chosen else None,
        group=chosen.group if chosen else "",
        note=note,
    )


def _candidates(lines: list[str], ticks: int) -> list[_Candidate]:
    files = by_file(lines)
    uptime = _first_number(files.get("/proc/uptime", [""])[0])
    found: dict[int, _Candidate] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        pid, _, folder = value.partition(" ")
        if name != "candidate" or not pid.isdecimal():
            continue
        fields = _stat_fields(files.get(f"/proc/{pid}/stat", [""])[0])
        started = int(fields[19]) / ticks if len(fields) > 19 else None
        age = uptime - started if uptime is not None and started is not None else None
        group = group_path(files.get(f"/proc/{pid}/cgroup", []))
        found[int(pid)] = _Candidate(int(pid), folder, age, group)
    return list(found.values())


def _choose(
    candidates: list[_Candidate], pid_file: int | None, server: ServerInfo
) -> tuple[_Candidate | None, str]:
    """Selects the server among the candidates: the process whose working directory is the data directory, or
    whose age is the server's uptime.
    """
    datadir = server.datadir.rstrip("/")
    by_folder = [each for each in candidates if datadir and each.folder.rstrip("/") == datadir]
    by_age = [
        each
        for each in candidates
        if each.age_seconds is not None
        and server.uptime_seconds is not None
        and (not each.folder or each.pid == pid_file)
        and abs(each.age_seconds - server.uptime_seconds) <= AGE_TOLERANCE_SECONDS
    ]
    for found in (by_folder, by_age):
        named = [each for each in found if each.pid == pid_file]
        if named or len(found) == 1:
            return (named or found)[0], ""
        if found:
            return None, f"{len(found)} processes of that host may be the server"
    return None, "the server's process was not found on that host"


def request_line(number: int, facts: RemoteFacts) -> str:
    """The request: the threads' folder, then the files."""
    files = ["/proc/uptime", "/proc/stat", "/proc/meminfo", "/proc/diskstats", "/proc/net/dev"]
    threads = "/nowhere"
    if facts.server_pid is not None:
        own = f"/proc/{facts.server_pid}"
        threads = f"{own}/task"
        files += [f"{own}/stat", f"{own}/statm", f"{own}/io"]
        if facts.group and not set(facts.group) & set(" \t*?["):
            levels = [f"{CGROUP}{level}" for level in group_levels(facts.group)]
            files += [f"{level}/{name}" for level in levels for name in (CPU_MAX, MEMORY_MAX)]
            files.append(f"{levels[0]}/{CPU_STAT}")
    return f"{number} {threads} {' '.join(files)}\n"


def parse_totals(lines: list[str], facts: RemoteFacts) -> HostTotals | None:
    """The totals of a response, by that host's own clock; None if it is incomplete."""
    files = by_file(lines)
    uptime = _first_number(files.get("/proc/uptime", [""])[0])
    machine, cores = _cpu_times(files.get("/proc/stat", []), facts.ticks_per_second)
    memory = _memory(files.get("/proc/meminfo", []))
    if uptime is None or machine is None or memory is None:
        return None
    pid = facts.server_pid
    own = f"/proc/{pid}"
    fields = _stat_fields(files.get(f"{own}/stat", [""])[0])
    seconds = (int(fields[11]) + int(fields[12])) / facts.ticks_per_second if len(fields) > 12 else None
    resident = files.get(f"{own}/statm", [""])[0].split()
    limits = parse_limits({path: "\n".join(text) for path, text in files.items()}, facts.group)
    has_ended = pid is not None and seconds is None
    return HostTotals(
        at_ns=round(uptime * NS_PER_SECOND),
        sums=known(
            {
                **machine._asdict(),
                **_disks(files.get("/proc/diskstats", []), facts),
                **_network(files.get("/proc/net/dev", []), facts),
                **_storage(files.get(f"{own}/io", [])),
                "throttled": limits.throttled_seconds,
            }
        ),
        levels=known(
            {
                **memory,
                "memory_server": int(resident[1]) * facts.page_bytes if len(resident) > 1 else None,
                "cpu_limit": limits.cpu_cores,
                "memory_limit": limits.memory_bytes,
            }
        ),
        cores=cores,
        processes={} if pid is None or seconds is None else {pid: seconds},
        switches=_switches(files, own),
        server_pid=pid,
        note=f"the server's process {pid} has ended" if has_ended else facts.note,
    )


def _cpu_times(lines: list[str], ticks: int) -> tuple[CpuTime | None, tuple[CpuTime, ...]]:
    times = [
        (fields[0], [int(field) / ticks for field in fields[1 : 1 + CPU_FIELDS]])
        for fields in map(str.split, lines)
        if fields and fields[0].startswith("cpu")
    ]
    found = {name: _cpu_time(values) for name, values in times if len(values) >= 5}
    return found.pop("cpu", None), tuple(found.values())


def _cpu_time(values: list[float]) -> CpuTime:
    total = sum(values)
    return CpuTime(total - values[3] - values[4], total, values[7] if len(values) > 7 else 0.0)


def _memory(lines: list[str]) -> dict[str, float | None] | None:
    """Memory in use. Older kernels do not report available memory: then it is free memory plus caches."""
    kib = {name: _first_number(value) or 0.0 for name, _, value in (line.partition(":") for line in lines)}
    if "MemTotal" not in kib:
        return None
    free = kib.get("MemAvailable", kib.get("MemFree", 0.0) + kib.get("Buffers", 0.0) + kib.get("Cached", 0.0))
    total, swap = kib["MemTotal"], kib.get("SwapTotal")
    return {
        "memory_used": int((total - free) * KIB),
        "memory_total": int(total * KIB),
        "swap_used": None if swap is None else int((swap - kib.get("SwapFree", 0.0)) * KIB),
        "swap_total": None if swap is None else int(swap * KIB),
    }


def _disks(lines: list[str], facts: RemoteFacts) -> dict[str, float]:
    """Disk totals. Fields of diskstats: reads, -, sectors, ms, then the same for writes."""
    rows = {fields[2]: fields[3:] for fields in map(str.split, lines) if len(fields) >= 11}
    wanted = [
        [int(value) for value in rows[name][:8]]
        for name in counted_among(rows, facts.disks, facts.disk_hardware)
    ]
    if not wanted:
        return {}
    reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms = map(
        sum, zip(*wanted, strict=True)
    )
    return {
        "read_bytes": read_sectors * SECTOR_BYTES,
        "written_bytes": written_sectors * SECTOR_BYTES,
        "reads": reads,
        "writes": writes,
        "read_ms": read_ms,
        "write_ms": write_ms,
    }


def _network(lines: list[str], facts: RemoteFacts) -> dict[str, float]:
    rows = {
        name.strip(): values.split()
        for name, colon, values in (line.partition(":") for line in lines)
        if colon and len(values.split()) >= 9
    }
    wanted = [rows[name] for name in counted_among(rows, facts.cards, facts.card_hardware)]
    if not wanted:
        return {}
    return {
        "received_bytes": sum(int(row[0]) for row in wanted),
        "sent_bytes": sum(int(row[8]) for row in wanted),
    }


def _stat_fields(stat: str) -> list[str]:
    """The fields after the name, which may contain spaces and parentheses."""
    return stat.rpartition(")")[2].split()


def _switches(files: dict[str, list[str]], own: str) -> Switches | None:
    found: Switches = {}
    for path, lines in files.items():
        if path.startswith(f"{own}/task/") and len(lines) == 2:
            voluntary, involuntary = (_number(line.rpartition(":")[2].strip()) for line in lines)
            thread = _number(path.split("/")[4])
            if thread is not None and voluntary is not None and involuntary is not None:
                found[thread] = (voluntary, involuntary)
    return found or None


def _storage(lines: list[str]) -> dict[str, float]:
    figures = dict(line.split(": ", 1) for line in lines if ": " in line)
    read, written = _number(figures.get("read_bytes", "")), _number(figures.get("write_bytes", ""))
    return stored(read, written) if read is not None and written is not None else {}


def _devices(paths: str) -> tuple[str, ...]:
    """The names in /sys/block/sda/device; an unmatched pattern stays unexpanded."""
    names = (path.split("/")[-2] for path in paths.split() if path.count("/") >= 3)
    return tuple(name for name in names if name != "*")


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _first_number(text: str) -> float | None:
    first = text.split()[:1]
    try:
        return float(first[0]) if first else None
    except ValueError:
        return None
