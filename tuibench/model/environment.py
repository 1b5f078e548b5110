"""Environment and activity: host, server, sessions, locks, statements.

Server activity at one moment: sessions, lock waits, and the last deadlock.

Statements are digests: their values are replaced by `?`.

Environment of a run: both hosts, the server and its variables, the network between them.
"""

from typing import Literal

import msgspec


class ServerSession(msgspec.Struct, frozen=True, kw_only=True):
    """A connection of another client. `seconds` is the time it has been in its state."""

    id: int
    user: str
    host: str
    database: str
    command: str
    state: str
    seconds: int
    statement: str


class OwnSessions(msgspec.Struct, frozen=True, kw_only=True):
    """The session's own connections in one state: their number, and the time of the oldest one."""

    command: str
    state: str
    count: int
    seconds: int


class LockWait(msgspec.Struct, frozen=True, kw_only=True):
    """One connection waits for a lock that another one holds. An idle blocker has no statement."""

    waiting: int
    blocking: int
    waiting_is_ours: bool
    blocking_is_ours: bool
    table: str
    seconds: int
    waiting_statement: str
    blocking_statement: str


class OpenTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that has neither committed nor rolled back, and the time it has been open.

    Its connection is 0 if it has none: prepared by XA, or found at the server's start.
    """

    connection: int
    seconds: int
    rows_locked: int
    rows_changed: int
    is_ours: bool = False


class DeadlockParty(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction of a deadlock: its connection, and the tables it waited for or held locks on."""

    connection: int
    statement: str
    tables: tuple[str, ...]
    rolled_back: bool


class Deadlock(msgspec.Struct, frozen=True, kw_only=True):
    """The last deadlock; `at` is the server's own time, as the server formats it."""

    at: str
    parties: tuple[DeadlockParty, ...]


class Activity(msgspec.Struct, frozen=True, tag="activity", kw_only=True):
    """The server's sessions at one moment, active ones first, then by duration.

    `others` is the number of other clients' sessions, of which at most a few hundred are listed. `gaps`
    describes what the login has no privilege to read. `transactions` are the oldest of all the
    `open_transactions`.
    """

    sessions: tuple[ServerSession, ...]
    others: int
    own: tuple[OwnSessions, ...]
    waits: tuple[LockWait, ...] = ()
    deadlock: Deadlock | None = None
    gaps: tuple[str, ...] = ()
    transactions: tuple[OpenTransaction, ...] = ()
    open_transactions: int = 0


class StatementFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a statement in a period. Times are milliseconds; a figure that the source does not provide
    is None.

    `total_ms` is the execution time on the server; `rows_examined`, `lock_ms` and `cpu_ms` are also sums.
    """

    calls: int
    total_ms: float
    p95_ms: float | None = None
    rows_examined: int | None = None
    lock_ms: float | None = None
    cpu_ms: float | None = None

    @property
    def avg_ms(self) -> float:
        return self.total_ms / self.calls if self.calls else 0.0


class StatementRow(msgspec.Struct, frozen=True, kw_only=True):
    """One statement now, and `before` the last change; `source` is the source of its figures."""

    text: str
    source: str
    now: StatementFigures
    before: StatementFigures | None = None


class StatementReport(msgspec.Struct, frozen=True, tag="statements", kw_only=True):
    """The statements with the most execution time on the server in a period of the run.

    The period has `seconds`: since the first reading, or since the last change (`change`). `before_seconds`
    is the length of the period before it, 0 without one. `gaps` describe what could not be read.
    """

    seconds: float
    rows: tuple[StatementRow, ...]
    before_seconds: float = 0.0
    change: str = ""
    gaps: tuple[str, ...] = ()


class HostConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and settings of this host that affect a measurement; None or empty if unknown.

    `files_soft` and `files_hard` are the limits of open files per process, None for no limit. Disk figures
    describe the file system of the server's data directory. `busy_share` is the share of all cores in use
    before tuibench's load, `steal_share` the share that the hypervisor gave to other guests (both 0 to 1);
    `load_average` is that of one minute.
    """

    files_soft: int | None = None
    files_hard: int | None = None
    swap_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    disk_total_bytes: int | None = None
    governors: tuple[str, ...] = ()
    clocksource: str = ""
    fine_timers: bool = True
    cores: int = 0
    load_average: float | None = None
    busy_share: float | None = None
    steal_share: float | None = None


class DiskFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The file system of the server's data directory.

    `kind` is the storage medium as far as it is known: NVMe SSD, SSD, HDD, virtual disk, memory, network,
    overlay; otherwise empty. `device` is the kernel's name of the block device, empty if there is none.
    """

    mount: str
    file_system: str
    device: str = ""
    kind: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None


class DiskSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """Measured performance of the disk below a folder; reads are None if they could not be measured.

    A flush is a write of 4 KiB with its fdatasync, sequentially; a read is of 16 KiB at a random position.
    """

    folder: str
    flushes_per_second: float
    flush_p50_us: float
    flush_p95_us: float
    flush_p99_us: float
    flush_max_us: float
    reads_per_second: float | None = None
    reads_per_second_parallel: float | None = None
    readers: int = 1


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The host that generated the load. Unknown values are empty or None.

    `cpu_limit` (cores) and `memory_limit_bytes` are the limits of a control group, None for no limit.
    `virtualisation` is the hypervisor, "none" on bare metal; `container` is the kind of container.
    """

    name: str = ""
    os: str = ""
    kernel: str = ""
    architecture: str = ""
    cpu_model: str = ""
    cores: int = 0
    physical_cores: int | None = None
    cpu_limit: float | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    virtualisation: str = ""
    container: str = ""
    conditions: HostConditions = HostConditions()


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """Time of a trivial statement before the load, from a number of repetitions."""

    tries: int
    min_ms: float
    median_ms: float
    max_ms: float


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """`environment.json`. `location` is the client's location relative to the server: local or remote.

    `variables` are the server's global variables that affect speed or durability, before the load. `disk`,
    and what `host` contains about the server, are known only if the server runs on the client's host. `gaps`
    lists the information that was not available.
    """

    schema: Literal["tuibench.environment/1"] = "tuibench.environment/1"
    tuibench: str
    python: str = ""
    location: Literal["local", "remote"]
    host: HostFacts
    round_trip: RoundTrip | None = None
    disk: DiskFacts | None = None
    variables: dict[str, str] = {}
    gaps: tuple[str, ...] = ()
