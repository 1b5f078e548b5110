"""The server and its host: address, login, flavour, version, and what a run's environment says of both hosts.

SQL errors of a normal load have their plain names here; these are retried by default.

Server activity at one moment: sessions, lock waits, and the last deadlock. Statements are digests: their
values are replaced by `?`.
"""

import shlex
from enum import StrEnum
from typing import Any, Literal

import msgspec

from tuibench.model.option import plain_number


class Flavour(StrEnum):
    MARIADB = "MariaDB"
    MYSQL = "MySQL"


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """How the connections to a server travel. `tls` are their protocol and cipher, empty without TLS;
    `is_compressed` is True if packets are compressed.
    """

    tls: str = ""
    is_compressed: bool = False

    @property
    def transport_facts(self) -> list[tuple[str, str]]:
        """What is not as on a plain connection: the name of each property, and its value."""
        facts = [("encryption", self.tls), ("compression", "zlib" * self.is_compressed)]
        return [(name, value) for name, value in facts if value]

    @property
    def transport_words(self) -> list[str]:
        """The same in a list of facts."""
        return ["compressed" if name == "compression" else value for name, value in self.transport_facts]

    @property
    def transport_fields(self) -> dict[str, Any]:
        """These fields alone, for another struct that has them."""
        return {name: getattr(self, name) for name in Transport.__struct_fields__}


class ServerInfo(Transport, frozen=True, kw_only=True):
    """Flavour, version and identity. `version` is plain (10.11.19), `version_text` is the server's own
    string.

    `pid_file` and `socket` are used to find its process; `is_local` is True if it runs on this host.
    `identity` identifies the server instance across connections (host, port, data directory). `is_encrypted`
    is True if connections to it use TLS, which `tls` names.
    """

    flavour: Flavour
    version: str
    version_text: str
    where: str
    identity: str
    datadir: str
    pid_file: str
    socket: str
    port: int
    is_local: bool
    uptime_seconds: int | None
    is_encrypted: bool = False

    @property
    def version_tuple(self) -> tuple[int, ...]:
        """The version as a tuple of numbers, for comparison: (10, 11, 19)."""
        return tuple(int(part) for part in self.version.split("."))


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a private server: CPUs, and memory in bytes; None for no limit."""

    cpus: float | None = None
    memory_bytes: int | None = None


SslMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]

VERIFYING: tuple[SslMode, ...] = ("verify-ca", "verify-identity")
"""The modes that look at the server's certificate."""

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

    A non-empty `socket` takes precedence over `host` and `port`. `further` are more servers among which the
    connections of a load are distributed round-robin; sampling, changes of settings and `prepare` use the
    first server only. `failover` are other addresses of the same service: a login that the last working
    address does not answer is tried at the next one. `password_command` is a shell command that prints the
    current password; it replaces `password`.

    `login` are the words of a command line that give the password again, without the password itself: `-p`,
    or an option file.

    The whole password leaves this program only over TLS or a Unix socket, or encrypted with the server's RSA
    key: the one in the file `server_public_key_path`, or with `get_server_public_key` the one that the server
    sends. `enable_cleartext_plugin` allows the plugins that send the password as it is.

    `ssl_server_name` is the name in the server's certificate, if it is not `host`: behind a tunnel.
    `compress` has the packets compressed (zlib).

    `connect_timeout` limits a login and `query_timeout` a query of tuibench itself, both in seconds;
    `net_timeout` is how long a peer may be unreachable, or the rest of a response may take, before a
    connection is considered lost.
    """

    host: str = "localhost"
    port: int = 3306
    socket: str = ""
    further: tuple[Endpoint, ...] = ()
    failover: tuple[Endpoint, ...] = ()
    user: str = ""
    password: str = ""
    password_command: str = ""
    database: str = "sbtest"
    ssl_mode: SslMode = "preferred"
    ssl_ca: str = ""
    ssl_cert: str = ""
    ssl_key: str = ""
    ssl_server_name: str = ""
    compress: bool = False
    get_server_public_key: bool = False
    server_public_key_path: str = ""
    enable_cleartext_plugin: bool = False
    connect_timeout: float = 10.0
    query_timeout: float = 15.0
    net_timeout: float = 30.0
    login: tuple[str, ...] = ()

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
"""The options that a target's login may consist of: that of a record may have any words."""
OWN_WORDS = ("host", "port", "socket", "further", "failover", "password", "password_command", "login")
"""Fields of a target that are not one option of their own, or are never written."""


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
"""By code: the error's plain name, and the label of its rate."""

IGNORED_ERRORS = tuple(code for code in ERROR_NAMES if code)
"""The default of --mysql-ignore-errors: sysbench's, and what a transaction meets while a table is altered."""


def error_text(code: str) -> str:
    """An error code with its plain name: "1213 deadlock"; the code alone without one."""
    name = ERROR_NAMES.get(int(code))
    return f"{code} {name[0]}" if name else code


IDLE_COMMANDS = frozenset({"Sleep", "Daemon"})
BINLOG_DUMP = "Binlog Dump"
"""The command of a replica's connection (MySQL also says Binlog Dump GTID)."""

SERVER_USERS = frozenset({"system user", "event_scheduler", ""})


class ServerSession(msgspec.Struct, frozen=True, kw_only=True):
    """A connection of another client. `seconds` is the time it has been in its state."""

    id: int
    user: str
    host: str
    database: str
    command: str
    state: str = ""
    seconds: int
    statement: str

    @property
    def is_replica(self) -> bool:
        return self.command.startswith(BINLOG_DUMP)

    @property
    def is_busy(self) -> bool:
        """True if it works now."""
        return self.command not in IDLE_COMMANDS and not self.is_replica and self.user not in SERVER_USERS


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


class TimePart(msgspec.Struct, frozen=True, kw_only=True):
    """A statement, an object (table, lock, file), a connection or a transaction that waits: the mean number
    of its connections in the wait class.
    """

    wait: str
    kind: str
    name: str
    connections: float


class TimeReport(msgspec.Struct, frozen=True, tag="time", kw_only=True):
    """Who waited in each wait class over the last samples of the waits, the most first; `gaps` say by class
    what is not known.
    """

    samples: int
    parts: tuple[TimePart, ...]
    gaps: dict[str, str] = {}


class HostConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and settings of this host that affect a measurement; None or empty if unknown.

    `files_soft` and `files_hard` are the limits of open files per process, None for no limit. Disk figures
    describe the file system of the server's data directory. `busy_share` is the share of all cores in use
    before tuibench's load, `steal_share` the share that the hypervisor gave to other guests (both 0 to 1);
    `load_average` is that of one minute. `huge_pages` is the kernel's use of transparent ones:
    always, madvise or never.
    """

    files_soft: int | None = None
    files_hard: int | None = None
    swap_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    disk_total_bytes: int | None = None
    governors: tuple[str, ...] = ()
    huge_pages: str = ""
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
    `options` are those of its mount.
    """

    mount: str
    file_system: str
    device: str = ""
    kind: str = ""
    options: tuple[str, ...] = ()
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

    `variables` are the server's global variables that affect speed or durability, before the load,
    `in_effect` is what they do not say: see `observe.host_facts`. `disk`, and what `host` contains about the
    server, are known only if the server runs on the client's host. `gaps` lists the information that was not
    available.
    """

    schema: Literal["tuibench.environment/1"] = "tuibench.environment/1"
    tuibench: str
    python: str = ""
    location: Literal["local", "remote"]
    host: HostFacts
    round_trip: RoundTrip | None = None
    disk: DiskFacts | None = None
    variables: dict[str, str] = {}
    in_effect: dict[str, str] = {}
    gaps: tuple[str, ...] = ()
