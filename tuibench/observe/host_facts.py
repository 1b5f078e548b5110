"""Facts about host, disk, server and network, read before the load starts; the disk benchmark.

Unknown properties stay empty. `root` replaces `/` in tests.
"""

import asyncio
import contextlib
import hashlib
import mmap
import os
import platform
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from tuibench import __version__
from tuibench.base import numerals
from tuibench.base.clock import NS_PER_MS
from tuibench.base.errors import RunError, TuibenchError
from tuibench.model.counters import Counter
from tuibench.model.server import (
    DiskFacts,
    DiskSpeed,
    Environment,
    Flavour,
    HostConditions,
    HostFacts,
    RoundTrip,
    ServerInfo,
    Target,
)
from tuibench.model.settings import ServerVariable
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import connect_with_defaults, query_if_allowed
from tuibench.observe.host import cpu_time, own_limits, read_system
from tuibench.observe.status import is_volatile, matches_any

GOVERNORS = "devices/system/cpu/cpu*/cpufreq/scaling_governor"
HUGE_PAGES = "kernel/mm/transparent_hugepage/enabled"
CLOCKSOURCE = "devices/system/clocksource/clocksource0/current_clocksource"


def host_conditions(datadir: str = "", sys_folder: Path = Path("/sys")) -> HostConditions:
    """The current conditions. `datadir` is the server's data directory, if the server is on this host."""
    soft, hard = (
        None if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    disk = load_average = None
    swap, _ = read_system(psutil.swap_memory)
    # The data directory's file system, if this account may read it.
    with contextlib.suppress(OSError):
        disk = shutil.disk_usage(datadir) if datadir else None
    with contextlib.suppress(OSError, AttributeError):
        load_average = os.getloadavg()[0]
    return HostConditions(
        files_soft=soft,
        files_hard=hard,
        swap_used_bytes=swap.used if swap else None,
        swap_total_bytes=swap.total if swap else None,
        disk_free_bytes=disk.free if disk else None,
        disk_total_bytes=disk.total if disk else None,
        governors=tuple(sorted({_first_line(path) for path in sys_folder.glob(GOVERNORS)} - {""})),
        huge_pages=_first_line(sys_folder / HUGE_PAGES).partition("[")[2].partition("]")[0],
        clocksource=_first_line(sys_folder / CLOCKSOURCE),
        fine_timers=sys.platform.startswith("linux"),
        cores=os.cpu_count() or 0,
        load_average=load_average,
    )


def _first_line(path: Path) -> str:
    """The content of a one-line file; empty if it cannot be read."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


ROOT = Path("/")
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "lustre", "9p", "virtiofs"}
)
VIRTUAL_DISKS = ("vd", "xvd", "sr")
CONTAINER_FILES = {"/run/.containerenv": "podman", "/.dockerenv": "docker"}
CONTAINER_MARK = "container"
CONTAINER_GROUPS = ("kubepods", "docker", "lxc", "containerd", "libpod", "garden")
HYPERVISORS = {
    "kvm": "KVM",
    "qemu": "KVM",
    "vmware": "VMware",
    "virtualbox": "VirtualBox",
    "innotek": "VirtualBox",
    "xen": "Xen",
    "microsoft corporation": "Hyper-V",
    "amazon ec2": "Amazon EC2",
    "google": "Google Cloud",
    "firecracker": "Firecracker",
    "digitalocean": "DigitalOcean",
    "openstack": "OpenStack",
    "parallels": "Parallels",
}
"""Strings in the vendor and product name of a virtual machine, with the hypervisor that they indicate."""


def host_facts(datadir: str = "", root: Path = ROOT) -> HostFacts:
    """The constant properties of this host. `datadir` is the server's, if the server is on this host."""
    system = platform.uname()
    memory_bytes = _memory_bytes("total")
    limits = own_limits(root / "proc/self/cgroup", root / "sys/fs/cgroup")
    is_limited = limits.memory_bytes and not (memory_bytes and limits.memory_bytes >= memory_bytes)
    memory_limit = limits.memory_bytes if is_limited else None
    return HostFacts(
        name=system.node,
        os=_os(root) or f"{system.system} {system.release}",
        kernel=f"{system.system} {system.release}",
        architecture=system.machine,
        cpu_model=_cpu_model(root),
        cores=os.cpu_count() or 0,
        physical_cores=read_system(lambda: psutil.cpu_count(logical=False))[0],
        cpu_limit=limits.cpu_cores,
        memory_bytes=memory_bytes,
        memory_limit_bytes=memory_limit,
        virtualisation=_virtualisation(root),
        container=_container(root),
        conditions=host_conditions(datadir),
    )


def disk_facts(folder: str, root: Path = ROOT) -> DiskFacts | None:
    """The file system of a folder and its storage medium; None if unknown."""
    found = _mount_of(os.path.realpath(folder), root) if folder else None
    if found is None:
        return None
    number, mount, file_system, options = found
    device, kind = _medium(number, file_system, root)
    try:
        room = psutil.disk_usage(folder)
    except OSError:
        return DiskFacts(mount=mount, file_system=file_system, device=device, kind=kind, options=options)
    return DiskFacts(
        mount=mount,
        file_system=file_system,
        device=device,
        kind=kind,
        options=options,
        total_bytes=room.total,
        free_bytes=room.free,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _os(root: Path) -> str:
    """The distribution's name."""
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    for line in _text(root / "etc/os-release").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip('"')
    return ""


def _cpu_model(root: Path) -> str:
    if sys.platform == "darwin":
        try:
            asked = subprocess.run(
                ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"],
                capture_output=True,
                text=True,
                timeout=2,
            )
        except (OSError, subprocess.TimeoutExpired):
            return platform.processor()
        return asked.stdout.strip() or platform.processor()
    for line in _text(root / "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "Hardware", "cpu model"):
            return " ".join(value.split())
    return platform.processor()


def _virtualisation(root: Path) -> str:
    """The hypervisor's name; "none" on bare metal, empty if unknown."""
    named = " ".join(
        _text(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name", "bios_vendor")
    ).lower()
    for mark, name in HYPERVISORS.items():
        if mark in named:
            return name
    if kind := _text(root / "sys/hypervisor/type"):
        return HYPERVISORS.get(kind, kind)
    cpuinfo = _text(root / "proc/cpuinfo")
    if " hypervisor" in cpuinfo:
        return "a hypervisor"
    return "none" if cpuinfo and named.strip() else ""


def _container(root: Path) -> str:
    for file, kind in CONTAINER_FILES.items():
        if (root / file.lstrip("/")).exists():
            return kind
    if container := os.environ.get(CONTAINER_MARK, ""):
        return container
    groups = _text(root / "proc/1/cgroup")
    return next((kind for kind in CONTAINER_GROUPS if kind in groups), "")


def _mount_of(path: str, root: Path) -> tuple[str, str, str, tuple[str, ...]] | None:
    """The mount that holds a path; of several mounts on one mount point, the last one."""
    found, longest = None, -1
    for each in _mounts(root):
        mount = each[1]
        inside = path == mount or path.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= longest:
            found, longest = each, len(mount)
    return found


def _mounts(root: Path) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Device number, mount point, file system and options of each mount; macOS has no device numbers."""
    if sys.platform == "darwin" and root == ROOT:
        for each in psutil.disk_partitions(all=True):
            yield "", each.mountpoint, each.fstype, tuple(each.opts.split(","))
        return
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) >= 6 and kind:
            options = dict.fromkeys(",".join((fields[5], *kind[2:3])).split(","))
            yield fields[2], fields[4].replace("\\040", " "), kind[0], tuple(options)


def _medium(number: str, file_system: str, root: Path) -> tuple[str, str]:
    """The block device's name and kind."""
    if file_system in ("tmpfs", "ramfs"):
        return "", "memory"
    if file_system in NETWORK_FILE_SYSTEMS or file_system.startswith("fuse."):
        return "", "network"
    if file_system == "overlay":
        return "", "overlay"
    link = root / "sys/dev/block" / number
    if not number or not link.exists():
        return "", ""
    place = link.resolve()
    disk = place if (place / "queue").is_dir() else place.parent
    if disk.name.startswith("nvme"):
        kind = "NVMe SSD"
    elif disk.name.startswith(VIRTUAL_DISKS):
        kind = "virtual disk"
    else:
        kind = {"0": "SSD", "1": "HDD"}.get(_text(disk / "queue/rotational"), "")
    return place.name, kind


def _memory_bytes(what: str) -> int | None:
    memory, _ = read_system(psutil.virtual_memory)
    return None if memory is None else int(getattr(memory, what))


def free_memory_bytes() -> int | None:
    """Memory that is available to programs without swapping; None if unknown."""
    return _memory_bytes("available")


class CpuWatch:
    """Processor usage since the creation of this object."""

    def __init__(self) -> None:
        self._before, _ = read_system(cpu_time)

    def shares(self) -> tuple[float, float] | None:
        """The shares in use and stolen, 0 to 1; None if no time has passed, or it is unknown."""
        before, (now, _) = self._before, read_system(cpu_time)
        if before is None or now is None:
            return None
        total, steal = now.total - before.total, max(0.0, now.steal - before.steal)
        return (max(0.0, now.busy - before.busy - steal) / total, steal / total) if total > 0 else None


ROUND_TRIPS = 20
NOTHING_SQL = "DO 0"

RECORDED_VARIABLES = (
    "aria_pagecache_buffer_size",
    "autocommit",
    "back_log",
    "binlog_*",
    "character_set_server",
    "collation_server",
    "default_storage_engine",
    "enforce_gtid_consistency",
    "flush*",
    "general_log",
    "gtid_mode",
    "have_ssl",
    "innodb_*",
    "interactive_timeout",
    "join_buffer_size",
    "key_buffer_size",
    "large_pages",
    "log_bin",
    "log_output",
    "log_replica_updates",
    "log_slave_updates",
    "long_query_time",
    "lower_case_table_names",
    "max_connections",
    "max_heap_table_size",
    "max_prepared_stmt_count",
    "net_buffer_length",
    "open_files_limit",
    "performance_schema",
    "query_cache_size",
    "query_cache_type",
    "read_buffer_size",
    "read_only",
    "read_rnd_buffer_size",
    "require_secure_transport",
    "rpl_semi_sync_*",
    "skip_name_resolve",
    "slow_query_log",
    "sort_buffer_size",
    "sql_mode",
    "super_read_only",
    "sync_*",
    "table_definition_cache",
    "table_open_cache*",
    "thread_*",
    "tmp_table_size",
    "transaction_isolation",
    "tx_isolation",
    "userstat",
    "version*",
    "wsrep_on",
)
"""Patterns of the variables that matter to speed or durability."""

EXCLUDED_VARIABLES = ("innodb_*_dir*", "innodb_ft_*", "innodb_monitor_*", "innodb_tmpdir", "innodb_version")
"""Recorded variables to exclude: file names and variables without effect on a load."""


async def read_environment(
    target: Target, server: ServerInfo, now_ns: Callable[[], int], tables: Sequence[str] = ()
) -> Environment:
    """Read the environment; `tables` are those of the load.

    Data that cannot be read becomes a gap and does not fail the run.
    """
    variables: dict[str, str] = {}
    in_effect: dict[str, str] = {}
    trip, gaps = None, []
    try:
        connection = await connect_with_defaults(target, use_database=False)
        try:
            rows = await connection.query("SHOW GLOBAL VARIABLES")
            variables = {
                str(name): str(value) for name, value in sorted(rows) if is_recorded_variable(str(name))
            }
            in_effect = await read_in_effect(connection, server, variables, tables)
            trip = await _round_trip(connection, now_ns)
        finally:
            await connection.close()
    except TuibenchError as error:
        gaps.append(f"the server's variables and the round trip: {error.message}")
    datadir = server.datadir if server.is_local else ""
    host, disk = await asyncio.to_thread(lambda: (host_facts(datadir), disk_facts(datadir)))
    if disk is None and server.is_local and server.datadir:
        gaps.append(f"the disk: this system lists no file system that holds {server.datadir}")
    return Environment(
        tuibench=__version__,
        python=platform.python_version(),
        location="local" if server.is_local else "remote",
        host=host,
        round_trip=trip,
        disk=disk,
        variables=variables,
        in_effect=in_effect,
        gaps=tuple(gaps),
    )


def is_recorded_variable(name: str) -> bool:
    return (
        matches_any(name, RECORDED_VARIABLES)
        and not is_volatile(name)
        and not matches_any(name, EXCLUDED_VARIABLES)
    )


async def _round_trip(connection: Connection, now_ns: Callable[[], int]) -> RoundTrip:
    """The round trip of a trivial statement; the first one is a warm-up and does not count."""
    await connection.query(NOTHING_SQL)
    took_ms = []
    for _ in range(ROUND_TRIPS):
        sent_ns = now_ns()
        await connection.query(NOTHING_SQL)
        took_ms.append((now_ns() - sent_ns) / NS_PER_MS)
    return RoundTrip(
        tries=ROUND_TRIPS,
        min_ms=min(took_ms),
        median_ms=statistics.median(took_ms),
        max_ms=max(took_ms),
    )


KIB, MIB = 1024, 1024 * 1024
LOG_BYTES, WRITE_BYTES = 16 * MIB, 4 * KIB
READ_FILE_BYTES, PAGE_BYTES = 256 * MIB, 16 * KIB
FREE_BYTES = 2 * (LOG_BYTES + READ_FILE_BYTES)
"""Minimum free space; with less, nothing is written."""

FLUSH_SECONDS, READ_SECONDS = 3.0, 2.0
READERS = 16
SEED = 7

Clock = Callable[[], float]


def measure_disk(
    folder: str, *, seconds: float = FLUSH_SECONDS, clock: Clock = time.perf_counter
) -> DiskSpeed:
    """Measure the file system of a folder, with temporary files, for about seven seconds.

    A flush is what a commit waits for: 4 KiB overwritten in a preallocated file, then fdatasync,
    sequentially, as a server writes its redo log. Reads are of 16 KiB, an InnoDB page, with O_DIRECT to
    bypass the page cache, by one reader and by several. Raises RunError if the measurement is impossible.
    """
    with _working_folder(folder) as place:
        flushes = _flushes(place / "log", seconds, clock)
        reads = _reads(place / "pages", READ_SECONDS * seconds / FLUSH_SECONDS, clock)
    flushes.sort()
    return DiskSpeed(
        folder=folder,
        flushes_per_second=len(flushes) / sum(flushes),
        flush_p50_us=1e6 * _rank(flushes, 0.5),
        flush_p95_us=1e6 * _rank(flushes, 0.95),
        flush_p99_us=1e6 * _rank(flushes, 0.99),
        flush_max_us=1e6 * flushes[-1],
        reads_per_second=reads[0] if reads else None,
        reads_per_second_parallel=reads[1] if reads else None,
        readers=READERS,
    )


@contextlib.contextmanager
def _working_folder(folder: str) -> Iterator[Path]:
    """A folder for temporary files on the same file system, beside the data directory if possible."""
    where = Path(folder)
    try:
        device = where.stat().st_dev
        room = os.statvfs(where)
    except OSError as error:
        raise RunError(f"{folder} cannot be read: {error.strerror}", "choose a folder: --disk-dir") from error
    if room.f_bavail * room.f_frsize < FREE_BYTES:
        raise RunError(
            f"too little space is free in {folder} to measure its disk", "free some space, or use --disk-dir"
        )
    for parent in (where.parent, where):
        if parent.stat().st_dev != device or not os.access(parent, os.W_OK | os.X_OK):
            continue
        with tempfile.TemporaryDirectory(prefix="tuibench-disk-", dir=parent) as name:
            yield Path(name)
            return
    raise RunError(
        f"this user may not write beside {folder}, so its disk cannot be measured",
        "choose a folder on the same file system: --disk-dir=/path",
    )


def _flushes(path: Path, seconds: float, clock: Clock) -> list[float]:
    """Seconds of each write with its flush."""
    block = os.urandom(WRITE_BYTES)
    taken: list[float] = []
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, os.urandom(LOG_BYTES))
        os.fsync(file)
        flush = getattr(os, "fdatasync", os.fsync)
        end, at = clock() + seconds, 0
        while not taken or clock() < end:
            begun = clock()
            os.pwrite(file, block, at)
            flush(file)
            taken.append(clock() - begun)
            at = (at + WRITE_BYTES) % LOG_BYTES
    finally:
        os.close(file)
    return taken


def _reads(path: Path, seconds: float, clock: Clock) -> tuple[float, float] | None:
    """Reads per second of one reader and of several; None if the file system does not support O_DIRECT."""
    direct = getattr(os, "O_DIRECT", 0)
    if not direct:
        return None
    with path.open("wb") as stream:
        for _ in range(READ_FILE_BYTES // MIB):
            stream.write(os.urandom(MIB))
        os.fsync(stream.fileno())
    try:
        file = os.open(path, os.O_RDONLY | direct)
    except OSError:
        return None
    try:
        one = _reader(file, seconds, clock, SEED)
        with ThreadPoolExecutor(READERS) as pool:
            many = list(pool.map(lambda seed: _reader(file, seconds, clock, seed), range(READERS)))
    except OSError:
        return None
    finally:
        os.close(file)
    return one, sum(many)


def _reader(file: int, seconds: float, clock: Clock, seed: int) -> float:
    """Pages per second of one reader. A mapping is page-aligned, as O_DIRECT requires."""
    rng = random.Random(seed)
    with mmap.mmap(-1, PAGE_BYTES) as buffer:
        begun, done = clock(), 0
        while not done or clock() < begun + seconds:
            os.preadv(file, [buffer], PAGE_BYTES * rng.randrange(READ_FILE_BYTES // PAGE_BYTES))
            done += 1
        return done / max(clock() - begun, 1e-9)


def _rank(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


MOST_DEFINITIONS, MOST_TABLES = 20, 500
"""Maximum number of tables whose definition is read, and of tables whose rows are."""

_REDO = (str(Counter.REDO_LOG_CAPACITY), str(ServerVariable.REDO_LOG_ENABLED))
_REDO_SQL = f"SHOW GLOBAL STATUS WHERE Variable_name IN {_REDO}"
_CONSUMERS_SQL = "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' ORDER BY NAME"
_INSTRUMENTS_SQL = """
SELECT DISTINCT SUBSTRING_INDEX(NAME, '/', IF(NAME LIKE 'wait/%', 2, 1)) AS kind
FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' ORDER BY kind
"""
_COLLATIONS_SQL = """
SELECT DISTINCT COLLATION_NAME FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME IN ({names}) AND COLLATION_NAME IS NOT NULL ORDER BY 1
"""
_ROWS_SQL = """
SELECT TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES
WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME IN ({names})
"""
_STATISTICS_SQL = """
SELECT table_name, n_rows, UNIX_TIMESTAMP() - UNIX_TIMESTAMP(last_update) FROM mysql.innodb_table_stats
WHERE database_name = {schema} AND table_name IN ({names})
"""


async def read_in_effect(
    connection: Connection, server: ServerInfo, variables: Mapping[str, str], tables: Sequence[str] = ()
) -> dict[str, str]:
    """What is in effect on a server in addition to its variables, by name; absent if the server lacks it, or
    refuses it to this login.

    It is read once per start: redo log, performance_schema, the connection's character set, and the tables of
    a load with their statistics. `compare.audit` decides which of these make a comparison unfair.
    """
    found = {
        str(name).lower(): str(value) for name, value in await query_if_allowed(connection, _REDO_SQL) or ()
    }
    for row in await query_if_allowed(connection, "SELECT @@SESSION.collation_connection") or ():
        found["connection_collation"] = str(row[0])
    if variables.get("performance_schema", "").upper() == "ON":
        for name, sql in (("consumers", _CONSUMERS_SQL), ("instruments", _INSTRUMENTS_SQL)):
            if (rows := await query_if_allowed(connection, sql)) is not None:
                found[name] = ", ".join(str(row[0]) for row in rows)
    return found | (await _tables(connection, server, tables[:MOST_TABLES]) if tables else {})


async def _tables(connection: Connection, server: ServerInfo, tables: Sequence[str]) -> dict[str, str]:
    """Definitions, collations, rows and statistics of the tables that exist."""
    if server.flavour is Flavour.MYSQL:
        # MySQL's information_schema may return cached statistics of up to a day ago.
        await query_if_allowed(connection, "SET SESSION information_schema_stats_expiry = 0")
    chosen = {
        "schema": connection.quote(connection.target.database),
        "names": ", ".join(map(connection.quote, tables)),
    }
    rows = await query_if_allowed(connection, _ROWS_SQL.format(**chosen))
    known = {str(name): numerals.count(count) or 0 for name, count in rows or ()}
    if not known:
        return {}
    found = {
        "rows": str(sum(known.values())),
        "tables": str(len(known)),
        "definitions": await _definitions(connection, [name for name in tables if name in known]),
    }
    if collations := await query_if_allowed(connection, _COLLATIONS_SQL.format(**chosen)):
        found["table_collations"] = ", ".join(str(row[0]) for row in collations)
    statistics = await query_if_allowed(connection, _STATISTICS_SQL.format(**chosen))
    if statistics is not None:
        found["tables_with_statistics"] = str(len(statistics))
        found["rows_in_statistics"] = str(sum(numerals.count(count) or 0 for _, count, _ in statistics))
        if statistics:
            found["statistics_age_seconds"] = str(max(numerals.whole(age) or 0 for *_, age in statistics))
    return found


async def _definitions(connection: Connection, tables: Sequence[str]) -> str:
    """A digest of the tables' definitions, independent of how the server writes them."""
    digest = hashlib.sha256()
    for table in tables[:MOST_DEFINITIONS]:
        name = f"{_quoted(connection.target.database)}.{_quoted(table)}"
        for row in await query_if_allowed(connection, f"SHOW CREATE TABLE {name}") or ():
            digest.update(plain_definition(str(row[1])).encode())
    return digest.hexdigest()[:12]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


_SPELLING = (
    (re.compile(r" (?:auto_increment|stats_\w+)=\d+"), ""),
    (re.compile(r"\b((?:tiny|small|medium|big)?int)\(\d+\)"), r"\1"),
    (re.compile(r" (?:default )?(?:charset|collate|character set)[= ]\w+"), ""),
    (re.compile(r"'(-?\d+(?:\.\d+)?)'"), r"\1"),
    (re.compile(r"current_timestamp\(\)"), "current_timestamp"),
    (re.compile(r" default null\b"), ""),
    (re.compile(r"\s+"), " "),
)
"""What servers write differently about the same table. Character sets are recorded separately."""


def plain_definition(statement: str) -> str:
    """SHOW CREATE TABLE, without what servers write differently about the same table."""
    text = statement.lower()
    for pattern, plain in _SPELLING:
        text = pattern.sub(plain, text)
    return text
