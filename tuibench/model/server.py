"""The server and its host: address, login, version, activity, and the environment of a run.

Statements are digests: their values are replaced by `?`.
"""

import shlex
from enum import StrEnum
from functools import cache
from typing import Any, Literal

import msgspec

from tuibench.model.option import plain_number


@cache
def version_numbers(version: str) -> tuple[int, ...]:
    """A version as a tuple of numbers, for comparison: (10, 11, 19)."""
    return tuple(int(part) for part in version.split("."))


class Flavour(StrEnum):
    MARIADB = "MariaDB"
    MYSQL = "MySQL"


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """TLS and compression of the connections to a server."""

    tls: str = ""
    """Protocol and cipher; empty without TLS."""
    is_compressed: bool = False
    """True if packets are compressed."""

    @property
    def transport_facts(self) -> list[tuple[str, str]]:
        """Each property that differs from a plain connection: its name and its value."""
        facts = [("encryption", self.tls), ("compression", "zlib" * self.is_compressed)]
        return [(name, value) for name, value in facts if value]

    @property
    def transport_words(self) -> list[str]:
        """The same as words for a list of facts."""
        return ["compressed" if name == "compression" else value for name, value in self.transport_facts]

    @property
    def transport_fields(self) -> dict[str, Any]:
        """These fields alone, for another struct that has them."""
        return {name: getattr(self, name) for name in Transport.__struct_fields__}


class ServerInfo(Transport, frozen=True, kw_only=True):
    """Flavour, version and identity of a server."""

    flavour: Flavour
    version: str
    """The plain version: 10.11.19."""
    version_text: str
    """The server's own string."""
    where: str
    identity: str
    """Identifies the server instance across connections: host, port, data directory."""
    datadir: str
    pid_file: str
    """Used, as `socket`, to find the server's process."""
    socket: str
    port: int
    is_local: bool
    """True if the server runs on this host."""
    uptime_seconds: int | None
    is_encrypted: bool = False
    """True if connections to it use TLS."""

    @property
    def version_tuple(self) -> tuple[int, ...]:
        return version_numbers(self.version)


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a private server: CPUs, and memory in bytes; None for no limit."""

    cpus: float | None = None
    memory_bytes: int | None = None


SslMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]

VERIFYING: tuple[SslMode, ...] = ("verify-ca", "verify-identity")
"""The modes that verify the server's certificate."""

SHORTEST_TIMEOUT_SECONDS, LONGEST_TIMEOUT_SECONDS = 0.1, 86_400.0
"""The range of the timeouts of a Target."""

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One address of a server. A non-empty `socket` takes precedence over `host` and `port`."""

    host: str = "localhost"
    port: int = 3306
    socket: str = ""

    @property
    def where(self) -> str:
        """As on the command line: db2:3307, or the socket's path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.socket or f"{host}:{self.port}"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A server and a login. The password never appears in a repr, a log, a record or an argv.

    The whole password leaves this program only over TLS or a Unix socket, or encrypted with the server's RSA
    key.
    """

    host: str = "localhost"
    port: int = 3306
    socket: str = ""
    """Takes precedence over `host` and `port` unless empty."""
    further: tuple[Endpoint, ...] = ()
    """More servers among which the connections of a load are distributed round-robin. Sampling, changes of
    settings and `prepare` use the first server only.
    """
    failover: tuple[Endpoint, ...] = ()
    """Other addresses of the same service. A login that the last working address does not answer is tried at
    the next one.
    """
    user: str = ""
    password: str = ""
    password_command: str = ""
    """A shell command that prints the current password; it replaces `password`."""
    database: str = "sbtest"
    ssl_mode: SslMode = "preferred"
    ssl_ca: str = ""
    ssl_cert: str = ""
    ssl_key: str = ""
    ssl_server_name: str = ""
    """The name in the server's certificate, if it is not `host`, as with a tunnel."""
    compress: bool = False
    """True to compress the packets (zlib)."""
    get_server_public_key: bool = False
    """True to encrypt the password with the RSA key that the server sends."""
    server_public_key_path: str = ""
    """A file with the server's RSA key."""
    enable_cleartext_plugin: bool = False
    """True to allow the plugins that send the password as it is."""
    connect_timeout: float = 10.0
    """Limit of a login, in seconds."""
    query_timeout: float = 15.0
    """Limit of a query of tuibench itself, in seconds."""
    net_timeout: float = 30.0
    """Seconds for which a peer may be unreachable, or the rest of a response may take, before a connection is
    considered lost.
    """
    login: tuple[str, ...] = ()
    """The words of a command line that give the password again, without the password itself: `-p`, or an
    option file.
    """

    def __repr__(self) -> str:
        return f"Target({self.user}@{self.where}/{self.database})"

    @property
    def where(self) -> str:
        """The address in a few characters, for screen and messages."""
        first = f"socket {self.socket}" if self.socket else Endpoint(host=self.host, port=self.port).where
        return f"{first} and {len(self.further)} more" if self.further else first

    @property
    def is_local(self) -> bool:
        """True if the (first) server runs on this host, so that host figures apply to it."""
        return bool(self.socket) or self.host in LOOPBACK_HOSTS

    def for_connection(self, number: int) -> "Target":
        """The server for connection `number` (from 0) of a load."""
        if not self.further:
            return self
        place = number % (len(self.further) + 1)
        return self.at(self.further[place - 1] if place else self)

    @property
    def addresses(self) -> tuple["Target", ...]:
        """The addresses of the service, each as a target of its own."""
        return self.at(self), *map(self.at, self.failover)

    def at(self, place: "Endpoint | Target") -> "Target":
        """The same login at another address."""
        return msgspec.structs.replace(
            self, host=place.host, port=place.port, socket=place.socket, further=(), failover=()
        )

    def without_password(self) -> "Target":
        """The same target without the password, for a record."""
        return msgspec.structs.replace(self, password="", password_command="")


LOGIN_WORDS = frozenset(
    {
        "-p", "--defaults-extra-file", "--defaults-file", "--defaults-group-suffix", "--login-path",
        "--no-defaults", "--no-login-paths",
    }
)  # fmt: skip
"""The options that the login of a target may consist of. A recorded target may have any words."""
OWN_WORDS = ("host", "port", "socket", "further", "failover", "password", "password_command", "login")
"""Fields of a target that are not written as one option, or never written."""


def address_options(target: Target) -> dict[str, str]:
    """Host and port, or socket, of a target's servers as values of options."""
    endpoints: tuple[Target | Endpoint, ...] = (target, *target.further)
    if target.socket:
        return {"socket": ",".join(each.socket for each in endpoints)}
    hosts = dict.fromkeys(each.host for each in endpoints)
    ports = dict.fromkeys(str(each.port) for each in endpoints)
    return {"host": ",".join(hosts), "port": ",".join(ports)}


def server_words(target: Target) -> list[str]:
    """The words of a command line for server and login: each field of a target is an option of that name."""
    values: dict[str, Any] = address_options(target)
    if target.failover:
        values["failover"] = ",".join(each.where for each in target.failover)
    values |= {"user": target.user, "database": target.database}
    defaults = Target()
    for name in Target.__struct_fields__:
        if name not in OWN_WORDS and (value := getattr(target, name)) != getattr(defaults, name):
            values[name] = plain_number(value) if isinstance(value, float) else value
    words = {f"--{name.replace('_', '-')}": value for name, value in values.items()}
    login = (word for word in target.login if word.partition("=")[0] in LOGIN_WORDS)
    return [*(name if value is True else f"{name}={value}" for name, value in words.items()), *login]


def for_server(command: str, target: Target) -> str:
    """A command for this server, complete with address and login."""
    return f"{command} {shlex.join(server_words(target))}"


ERROR_NAMES = {
    0: ("error counted by the script", "errors/s"),
    1213: ("deadlock", "deadlocks/s"),
    1020: ("snapshot conflict", "conflicts/s"),
    1205: ("lock wait timeout", "timeouts/s"),
    1412: ("table definition changed", "errors/s"),
}
"""The plain name of each error code, and the label of its rate."""

IGNORED_ERRORS = tuple(code for code in ERROR_NAMES if code)
"""The default of --mysql-ignore-errors: sysbench's, and the errors that a transaction gets while a table is
altered.
"""


def error_text(code: str) -> str:
    """An error code with its plain name: "1213 deadlock"; the code alone without one."""
    name = ERROR_NAMES.get(int(code))
    return f"{code} {name[0]}" if name else code


IDLE_COMMANDS = frozenset({"Sleep", "Daemon"})
BINLOG_DUMP = "Binlog Dump"
"""The command of a replica's connection (MySQL also says Binlog Dump GTID)."""

SERVER_USERS = frozenset({"system user", "event_scheduler", ""})


class ServerSession(msgspec.Struct, frozen=True, kw_only=True):
    """A connection of another client."""

    id: int
    user: str
    host: str
    database: str
    command: str
    state: str = ""
    seconds: int
    """The time it has been in its state."""
    statement: str

    @property
    def is_replica(self) -> bool:
        return self.command.startswith(BINLOG_DUMP)

    @property
    def is_busy(self) -> bool:
        """True if it executes a statement."""
        return self.command not in IDLE_COMMANDS and not self.is_replica and self.user not in SERVER_USERS


class OwnSessions(msgspec.Struct, frozen=True, kw_only=True):
    """The session's own connections in one state: their number, and the time of the oldest one."""

    command: str
    state: str
    count: int
    seconds: int


class LockKind(StrEnum):
    """What is locked."""

    ROW = "row lock"
    METADATA = "metadata lock"
    """A table's definition: DDL, LOCK TABLES, or any open transaction that has used the table."""
    TABLE = "table lock"
    """A table without row locks: MyISAM, Aria, MEMORY."""
    FLUSH = "table flush"
    """FLUSH TABLES and DDL wait until a table is closed by those who use it."""
    GLOBAL = "global lock"
    """FLUSH TABLES WITH READ LOCK, BACKUP STAGE, LOCK INSTANCE FOR BACKUP."""
    USER = "user lock"
    """GET_LOCK."""


class LockWait(msgspec.Struct, frozen=True, kw_only=True):
    """One connection waits for a lock that another one holds. An idle blocker has no statement."""

    waiting: int
    blocking: int
    waiting_is_ours: bool
    blocking_is_ours: bool
    table: str
    """The table, or the name of the user lock; empty if unknown."""
    seconds: int
    waiting_statement: str
    blocking_statement: str
    kind: LockKind = LockKind.ROW
    is_probable: bool = False
    """True if the server does not name the holder, so that it was inferred from the list of sessions."""


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """A connection for which others wait, and which waits for nobody itself."""

    id: int
    user: str = ""
    host: str = ""
    command: str = ""
    state: str = ""
    seconds: int = 0
    """The time it has been in its state."""
    open_seconds: int | None = None
    """The age of its transaction; None without one."""
    rows_locked: int = 0
    rows_changed: int = 0
    statement: str = ""
    """The statement that it executes, or the last one."""
    is_earlier: bool = False
    """True if the statement was seen some time ago: it has perhaps executed others since."""
    is_ours: bool = False

    @property
    def is_idle(self) -> bool:
        return self.command in IDLE_COMMANDS

    @property
    def doing(self) -> str:
        """What it does, in words."""
        if not self.is_idle:
            return "executing" if self.command in ("", "Query", "Execute") else self.command
        return "idle" if self.open_seconds is None else "idle in transaction"


class StatementDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A statement in full, and its plan."""

    key: str = ""
    """The key of its row in a report of statements; empty for the statement of a session."""
    statement: str = ""
    """Empty if a session executes none."""
    plan: tuple[tuple[str, ...], ...] = ()
    """The rows of EXPLAIN, the names of the columns first; empty if unknown."""
    note: str = ""
    """Why there is no plan, or for which values it is."""


class SessionDetail(StatementDetail, frozen=True, kw_only=True):
    """The statement of one session in full, and its plan."""

    id: int


class OpenTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that has neither committed nor rolled back."""

    connection: int
    """0 without a connection: prepared by XA, or found at the server's start."""
    seconds: int
    """The time it has been open."""
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
    """The last deadlock."""

    at: str
    """The server's own time, as the server formats it."""
    parties: tuple[DeadlockParty, ...]


KILL_NEEDS = "CONNECTION ADMIN (MariaDB), CONNECTION_ADMIN (MySQL) or SUPER"
"""The privilege to end sessions of other users."""


class Activity(msgspec.Struct, frozen=True, tag="activity", kw_only=True):
    """The server's sessions at one moment, active ones first, then by duration."""

    sessions: tuple[ServerSession, ...]
    others: int
    """The number of other clients' sessions, of which at most a few hundred are listed."""
    own: tuple[OwnSessions, ...]
    waits: tuple[LockWait, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    """The roots of the waits, as far as they could be read."""
    blocked: int = 0
    """The number of sessions that wait for a lock; `waits` has at most a hundred of them."""
    deadlock: Deadlock | None = None
    gaps: tuple[str, ...] = ()
    """What the login has no privilege to read."""
    transactions: tuple[OpenTransaction, ...] = ()
    """The oldest ones."""
    open_transactions: int = 0
    """The number of all open transactions."""
    ends_only: str = ""
    """The user whose sessions alone this login may end; empty if it may end those of every user."""
    details: tuple[SessionDetail, ...] = ()
    """The sessions whose statement was asked for."""

    def rows_changed(self, id: int) -> int:
        """How many rows the open transaction of a connection has changed, as far as that is listed."""
        known = [each.rows_changed for each in self.blockers if each.id == id]
        known += [each.rows_changed for each in self.transactions if each.connection == id]
        return max(known, default=0)


class StatementFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a statement in a period. Times are sums in milliseconds, except `p95_ms`; a figure that the
    source does not provide is None.
    """

    calls: int
    total_ms: float
    """The execution time on the server."""
    p95_ms: float | None = None
    rows_examined: int | None = None
    lock_ms: float | None = None
    cpu_ms: float | None = None

    @property
    def avg_ms(self) -> float:
        return self.total_ms / self.calls if self.calls else 0.0


class StatementRow(msgspec.Struct, frozen=True, kw_only=True):
    """One statement."""

    key: str = ""
    """What names it among the statements of the server; empty in reports of older versions."""
    text: str
    source: str
    """The source of its figures."""
    now: StatementFigures
    before: StatementFigures | None = None
    """Its figures before the last change."""


class StatementReport(msgspec.Struct, frozen=True, tag="statements", kw_only=True):
    """The statements with the most execution time on the server in a period of the run."""

    seconds: float
    """The length of the period: since the first reading, or since the last change."""
    rows: tuple[StatementRow, ...]
    before_seconds: float = 0.0
    """The length of the period before the change; 0 without one."""
    change: str = ""
    """The last change in words."""
    gaps: tuple[str, ...] = ()
    """What could not be read."""
    detail: StatementDetail | None = None
    """The statement that was asked for last, in full."""


class TimePart(msgspec.Struct, frozen=True, kw_only=True):
    """A statement, an object (table, lock, file), a connection or a transaction that waits."""

    wait: str
    """The wait class."""
    kind: str
    name: str
    connections: float
    """The mean number of its connections in the wait class."""


class HotRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row, or a gap between rows, for which transactions waited."""

    table: str
    index: str
    """The index whose record was locked."""
    key: str = ""
    """The columns of the record as the server prints them; empty with `--no-keys`, or if unknown."""
    share: float = 0.0
    """Its share of the time that transactions waited for rows, 0 to 1."""
    holder: str = ""
    """The statement that its holder executed when it was last read; empty if it was idle."""

    @property
    def name(self) -> str:
        """Table, index and key in a few words."""
        key = f" = {self.key}" if self.key else ""
        return f"{self.table} {self.index}{key}"


class TimeReport(msgspec.Struct, frozen=True, tag="time", kw_only=True):
    """Who waited in each wait class over the last samples of the waits, the most first."""

    samples: int
    parts: tuple[TimePart, ...]
    gaps: dict[str, str] = {}
    """What is not known, by wait class."""
    hot_rows: tuple[HotRow, ...] = ()
    """The rows for which transactions have waited the longest since the run began."""


class HostConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and settings of this host that affect a measurement; None or empty if unknown.

    Disk figures describe the file system of the server's data directory.
    """

    files_soft: int | None = None
    """The soft limit of open files per process; None for no limit."""
    files_hard: int | None = None
    """The hard limit of open files per process; None for no limit."""
    swap_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    disk_total_bytes: int | None = None
    governors: tuple[str, ...] = ()
    huge_pages: str = ""
    """The kernel's use of transparent huge pages: always, madvise or never."""
    clocksource: str = ""
    fine_timers: bool = True
    cores: int = 0
    load_average: float | None = None
    """That of one minute."""
    busy_share: float | None = None
    """The share of all cores in use before tuibench's load, 0 to 1."""
    steal_share: float | None = None
    """The share of CPU time that the hypervisor gave to other guests, 0 to 1."""


class DiskFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The file system of the server's data directory."""

    mount: str
    file_system: str
    device: str = ""
    """The kernel's name of the block device; empty without one."""
    kind: str = ""
    """The storage medium: NVMe SSD, SSD, HDD, virtual disk, memory, network, overlay; empty if unknown."""
    options: tuple[str, ...] = ()
    """The mount options."""
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
    """The host that generated the load. Unknown values are empty or None."""

    name: str = ""
    os: str = ""
    kernel: str = ""
    architecture: str = ""
    cpu_model: str = ""
    cores: int = 0
    physical_cores: int | None = None
    cpu_limit: float | None = None
    """Cores that a control group allows; None for no limit."""
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """The limit of a control group; None for no limit."""
    virtualisation: str = ""
    """The hypervisor; "none" on bare metal."""
    container: str = ""
    """The kind of container."""
    conditions: HostConditions = HostConditions()


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """Time of a trivial statement before the load, from a number of repetitions."""

    tries: int
    min_ms: float
    median_ms: float
    max_ms: float


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """`environment.json`: the client's host, and what affects the speed of the server."""

    schema: Literal["tuibench.environment/1"] = "tuibench.environment/1"
    tuibench: str
    python: str = ""
    location: Literal["local", "remote"]
    """The client's location relative to the server."""
    host: HostFacts
    """Facts about the server are known only if it runs on this host."""
    round_trip: RoundTrip | None = None
    disk: DiskFacts | None = None
    """Known only if the server runs on the client's host."""
    variables: dict[str, str] = {}
    """The server's global variables that affect speed or durability, before the load."""
    in_effect: dict[str, str] = {}
    """What the variables do not say: see `observe.host_facts`."""
    gaps: tuple[str, ...] = ()
    """The information that was not available."""
