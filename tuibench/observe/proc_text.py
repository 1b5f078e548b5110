"""/proc of a remote Linux host over ssh: the shell command that prints it, and the parser of its output.

The command is one line of POSIX shell without single quotes, because it is quoted in them for any login
shell. It contains nothing that comes from a server: paths are sent to it as data, a line for each request.
The output of a request is the line `begin N`, then PATH:LINE for every line of every file, then `end N`.

The first output holds the constant facts: devices, units, candidate processes of the server.
"""

from collections.abc import Sequence

import msgspec

from tuibench.base import numerals
from tuibench.base.clock import NS_PER_SECOND
from tuibench.metrics.series import growth
from tuibench.model.server import ServerInfo
from tuibench.observe.host import (
    AGE_TOLERANCE_SECONDS,
    CGROUP,
    CPU_MAX,
    CPU_STAT,
    MEMORY_MAX,
    MOST_THREADS,
    CpuTime,
    HostCounters,
    Switches,
    counted_among,
    group_levels,
    group_path,
    known,
    parse_limits,
    stored_bytes,
    switches_of,
)

PROGRAMS = "mysqld|mariadbd|tidb-server"
"""Parts of a server's command line; a loader or a wrapper may precede them."""

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
"""It starts two small processes per request. Files of threads are read only if there are not too many."""

KIB = 1024
SECTOR_BYTES = 512
DISK_FIELDS = {
    "read_bytes": (2, SECTOR_BYTES),
    "written_bytes": (6, SECTOR_BYTES),
    "reads": (0, 1),
    "writes": (4, 1),
    "read_ms": (3, 1),
    "write_ms": (7, 1),
}
"""Fields of /proc/diskstats after a disk's name, and their units."""
NO_NUMBER = "its file on that host has no number that can be read"
CPU_FIELDS = 8
LEAST_CPU_FIELDS = 5
"""user, nice, system, idle, iowait, irq, softirq, steal; user and nice include guest time."""


class RemoteFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Constant facts of the host."""

    ticks_per_second: int = 100
    page_bytes: int = 4096
    disks: tuple[str, ...] = ()
    disk_hardware: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    card_hardware: tuple[str, ...] = ()
    server_pid: int | None = None
    group: str = ""
    note: str = ""
    """The reason why the server's process is unknown."""


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
    ticks = numerals.count(named.get("clock", "")) or 100
    candidates = _candidates(lines, ticks)
    chosen, note = _choose(candidates, numerals.count(named.get("pid file", "")), server)
    return RemoteFacts(
        ticks_per_second=ticks,
        page_bytes=numerals.count(named.get("page", "")) or 4096,
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
        text, _, folder = value.partition(" ")
        pid = numerals.count(text)
        if name != "candidate" or pid is None:
            continue
        fields = _stat_fields(files.get(f"/proc/{pid}/stat", [""])[0])
        started = numerals.count(fields[19]) if len(fields) > 19 else None
        age = uptime - started / ticks if uptime is not None and started is not None else None
        group = group_path(files.get(f"/proc/{pid}/cgroup", []))
        found[pid] = _Candidate(pid, folder, age, group)
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
            files += [f"{level}/{name}" for level in levels for name in (CPU_MAX, MEMORY_MAX, CPU_STAT)]
    return f"{number} {threads} {' '.join(files)}\n"


def parse_totals(lines: list[str], facts: RemoteFacts) -> HostCounters | None:
    """The totals of a response, by the clock of that host; None if it is incomplete."""
    files = by_file(lines)
    uptime = _first_number(files.get("/proc/uptime", [""])[0])
    machine, cores = _cpu_times(files.get("/proc/stat", []), facts.ticks_per_second)
    memory = _memory(files.get("/proc/meminfo", []))
    if uptime is None or machine is None or memory is None:
        return None
    pid = facts.server_pid
    own = f"/proc/{pid}"
    devices = _disks(files.get("/proc/diskstats", []), facts) | _network(
        files.get("/proc/net/dev", []), facts
    )
    fields = _stat_fields(files.get(f"{own}/stat", [""])[0])
    used = [numerals.count(each) for each in fields[11:13]]
    known_ticks = [each for each in used if each is not None]
    seconds = sum(known_ticks) / facts.ticks_per_second if len(known_ticks) == 2 else None
    pages = numerals.count("".join(files.get(f"{own}/statm", [""])[0].split()[1:2]))
    limits = parse_limits({path: "\n".join(text) for path, text in files.items()}, facts.group)
    has_ended = pid is not None and seconds is None
    return HostCounters(
        at_ns=round(uptime * NS_PER_SECOND),
        sums=known(
            {
                **machine._asdict(),
                **devices,
                **stored_bytes(files.get(f"{own}/io", [])),
                "throttled": limits.throttled_seconds,
            }
        ),
        levels=known(
            {
                **memory,
                "memory_server": None if pages is None else numerals.count(pages * facts.page_bytes),
                "cpu_limit": limits.cpu_cores,
                "memory_limit": limits.memory_bytes,
            }
        ),
        cores=cores,
        processes={} if pid is None or seconds is None else {pid: seconds},
        switches=_switches(files, own),
        server_pid=pid,
        note=f"the server's process {pid} has ended" if has_ended else facts.note,
        missing={name: NO_NUMBER for name, value in (memory | devices).items() if value is None},
    )


def _cpu_times(lines: list[str], ticks: int) -> tuple[CpuTime | None, tuple[CpuTime, ...]]:
    found: dict[str, CpuTime] = {}
    for fields in map(str.split, lines):
        if fields and fields[0].startswith("cpu"):
            counts = [numerals.count(field) for field in fields[1 : 1 + CPU_FIELDS]]
            values = [each / ticks for each in counts if each is not None]
            if len(values) == len(counts) >= LEAST_CPU_FIELDS:
                found[fields[0]] = _cpu_time(values)
    return found.pop("cpu", None), tuple(found.values())


def _cpu_time(values: list[float]) -> CpuTime:
    total = sum(values)
    return CpuTime(total - values[3] - values[4], total, values[7] if len(values) > 7 else 0.0)


def _memory(lines: list[str]) -> dict[str, float | None] | None:
    """Memory in use. Older kernels do not report available memory: then it is free memory plus caches."""
    kib = {name: _first_number(value) for name, _, value in (line.partition(":") for line in lines)}
    if "MemTotal" not in kib:
        return None
    parts = [kib.get(name, 0.0) for name in ("MemFree", "Buffers", "Cached")]
    older = None if None in parts else sum(part for part in parts if part is not None)
    in_kib = {
        "memory_used": growth(kib.get("MemAvailable", older), kib["MemTotal"]),
        "memory_total": kib["MemTotal"],
    }
    if "SwapTotal" in kib:
        in_kib |= {
            "swap_used": growth(kib.get("SwapFree", 0.0), kib["SwapTotal"]),
            "swap_total": kib["SwapTotal"],
        }
    return {name: None if value is None else int(value * KIB) for name, value in in_kib.items()}


def _disks(lines: list[str], facts: RemoteFacts) -> dict[str, float | None]:
    """Totals of the disks; None if a disk's number cannot be read."""
    rows = {fields[2]: fields[3:] for fields in map(str.split, lines) if len(fields) >= 11}
    wanted = [rows[name] for name in counted_among(rows, facts.disks, facts.disk_hardware)]
    return {name: _sum_of(wanted, place, unit) for name, (place, unit) in DISK_FIELDS.items() if wanted}


def _sum_of(rows: Sequence[Sequence[str]], place: int, unit: int = 1) -> float | None:
    """The sum of a column; None if one of its numbers cannot be read."""
    counts = [numerals.count(row[place]) for row in rows]
    known_counts = [each for each in counts if each is not None]
    return unit * sum(known_counts) if len(known_counts) == len(counts) else None


def _network(lines: list[str], facts: RemoteFacts) -> dict[str, float | None]:
    rows = {
        name.strip(): values.split()
        for name, colon, values in (line.partition(":") for line in lines)
        if colon and len(values.split()) >= 9
    }
    wanted = [rows[name] for name in counted_among(rows, facts.cards, facts.card_hardware)]
    return {"received_bytes": _sum_of(wanted, 0), "sent_bytes": _sum_of(wanted, 8)} if wanted else {}


def _stat_fields(stat: str) -> list[str]:
    """The fields after the name, which may contain spaces and parentheses."""
    return stat.rpartition(")")[2].split()


def _switches(files: dict[str, list[str]], own: str) -> Switches | None:
    found: Switches = {}
    for path, lines in files.items():
        if path.startswith(f"{own}/task/") and len(lines) == 2:
            both = switches_of(*(line.rpartition(":")[2] for line in lines))
            thread = numerals.count(path.split("/")[4])
            if thread is not None and both is not None:
                found[thread] = both
    return found or None


def _devices(paths: str) -> tuple[str, ...]:
    """The names in /sys/block/sda/device; an unmatched pattern stays unexpanded."""
    names = (path.split("/")[-2] for path in paths.split() if path.count("/") >= 3)
    return tuple(name for name in names if name != "*")


def _first_number(text: str) -> float | None:
    """The number that a line begins with."""
    return numerals.amount("".join(text.split(None, 1)[:1]))
