"""Preflight checks of server, host, disk and limits against the requirements of a run.

`CHECKS` lists them in display order; each is a function from facts to a finding. `read_server` reads the
facts about the server. `production_signs` determines whether a server looks like production, so that a change
of its settings needs a confirmation.
"""

import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from tuibench.base import numerals, units
from tuibench.base.units import binary_size, duration, percent, pluralize
from tuibench.model.counters import ROW_WRITES, Counter
from tuibench.model.findings import Finding, Severity, next_step, not_visible, note, ok, stop, warning
from tuibench.model.plan import RunPlan
from tuibench.model.server import DiskFacts, DiskSpeed, Flavour, HostConditions, ServerInfo, ServerSession
from tuibench.model.settings import PREFLIGHT_VARIABLES, ServerVariable
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import (
    READ_ONLY_BYPASS_WARNING,
    list_processes,
    query_if_allowed,
    read_only_bypass_privileges,
)
from tuibench.tuning import catalogue
from tuibench.tuning.catalogue import Grants
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program, flat_statements

STATEMENT_KINDS = ("SELECT", "INSERT", "UPDATE", "DELETE")
OWN_CONNECTIONS = 4
"""Connections in addition to the load: sampler, settings, their guardian, and the list of sessions."""

OWN_AT_ONCE = 2
"""Those that every run has from its beginning: sampler and settings."""

DISK_PER_ROW_BYTE = 1.4
"""Disk space of InnoDB per byte of a row: half-filled pages, the row's header, one secondary index."""


class LoadRequirements(msgspec.Struct, frozen=True, kw_only=True):
    """The needs of one run."""

    threads: int
    open_files: int | None
    """Those of a worker process; None if load hosts open the connections."""
    tables: int
    statements: int = 0
    """The number of statements that each connection prepares."""
    kinds: tuple[str, ...] = STATEMENT_KINDS
    """The privileges that the statements need."""
    stems: tuple[str, ...] = ()
    """The prefixes of the tables' names."""
    data_bytes: int = 0
    """The size of the data set on disk, indexes included."""
    rate: float = 0.0
    idle_connections: int = 0

    @property
    def writes(self) -> bool:
        return any(kind != "SELECT" for kind in self.kinds)

    @property
    def connections(self) -> int:
        """All connections that tuibench opens."""
        return self.threads + self.idle_connections + OWN_CONNECTIONS


def load_requirements(plan: RunPlan, program: Program, open_files: int | None) -> LoadRequirements:
    """The requirements of a plan; `open_files` are those of a worker process on this host."""
    spec = build_data_set(program)
    return LoadRequirements(
        threads=plan.most_threads,
        idle_connections=plan.idle_connections,
        open_files=open_files,
        tables=len(spec.table_names()),
        statements=count_prepared_statements(program) if plan.prepared else 0,
        kinds=statement_kinds(program),
        stems=tuple(sorted({name.rstrip("0123456789") for name in spec.table_names()})),
        data_bytes=int(spec.row_data_bytes * DISK_PER_ROW_BYTE),
        rate=plan.rate,
    )


def count_prepared_statements(program: Program) -> int:
    """The number of statements that each connection of the load prepares."""
    return sum(statement.prepared for statement in flat_statements(program))


def statement_kinds(program: Program) -> tuple[str, ...]:
    """The privileges that the program's statements need, in a fixed order."""
    found = {word for flat in flat_statements(program) if (word := flat.sql.split(None, 1)[0].upper())}
    found |= {"INSERT", "DELETE"} if "REPLACE" in found else set()
    return tuple(kind for kind in STATEMENT_KINDS if kind in found)


TRANSACTION_CONTROL = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK"})


def is_load(client: ServerSession, database: str, stems: Iterable[str]) -> bool:
    """True if a client seems to run another load: it works on a data set's tables.

    `stems` are the prefixes of the tables' names.
    """
    if client.database != database:
        return False
    words = client.statement.split(None, 1)
    if not words or words[0].strip(";").upper() in TRANSACTION_CONTROL:
        return True
    return any(stem in client.statement for stem in stems)


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the server; None if this login may not see them."""

    info: ServerInfo
    database: str
    variables: dict[str, str]
    status: dict[str, int]
    grants: Grants | None
    clients: tuple[ServerSession, ...] | None
    """The connections of others; without `sees_all`, only those of this user."""
    registered_replicas: int = 0
    clock_ahead_seconds: float | None = None
    writes: dict[str, int] = {}
    """The server's counts of data changes at the first reading."""
    writes_later: dict[str, int] = {}
    """The counts at the second reading, `watched_seconds` later."""
    read_at: float = 0.0
    """The time of the first reading, in seconds of a monotonic clock."""
    watched_seconds: float = 0.0
    user: str = ""
    """The login's user."""
    user_connections: int | None = None
    """The maximum number of connections of the account: its own limit, otherwise the server's; 0 for no
    limit.
    """

    @property
    def account(self) -> str:
        """The login in the notation of GRANT."""
        return self.grants.account if self.grants and self.grants.account else "CURRENT_USER()"

    @property
    def sees_all(self) -> bool:
        return self.grants is None or self.grants.may("PROCESS")

    @property
    def replicas(self) -> int:
        """The number of attached replicas: those that fetch the binary log now, or those that registered."""
        fetching = sum(client.is_replica for client in self.clients or ())
        return max(fetching, self.registered_replicas)

    @property
    def busy(self) -> tuple[ServerSession, ...]:
        return tuple(client for client in self.clients or () if client.is_busy)

    @property
    def written(self) -> int:
        """Statements that changed data between the two readings."""
        return sum(max(0, later - self.writes.get(name, later)) for name, later in self.writes_later.items())

    def number(self, name: str) -> int | None:
        """A variable as a whole number; None if it is missing or no number."""
        return numerals.whole(numerals.number(self.variables.get(name)))

    def is_on(self, name: str) -> bool:
        return self.variables.get(name, "").upper() in ("ON", "1")


class DataFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The data set, as this login sees it."""

    described: str
    """In words."""
    ready: bool
    is_creatable: bool = False
    """True if none of it exists yet, so that `prepare` creates it."""
    problem: str = ""
    """Why it is not ready; `remedy` is what to do."""
    remedy: str = ""
    refusal: str | None = None
    """The server's refusal of a statement; empty if it accepted all, None if that could not be tested."""
    text_only: str = ""
    """Why all statements are sent as text although they are to be prepared."""
    unused: str = ""
    """The part of it that the run does not use."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the checks need."""

    server: ServerFacts
    machine: HostConditions
    requirements: LoadRequirements
    data: DataFacts


STEADY_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", ""})
"""Clock sources that are read without a system call; the empty name is an unknown one."""

STEADY_GOVERNORS = frozenset({"performance"})
TOLERATED_OFFSET_SECONDS = 1.0
SWAP_SHARE = 0.05
BUSY_SHARE, STEAL_SHARE = 0.25, 0.02
"""Shares of all processor time above which figures are affected by more than the load."""

DISK_SHARE = 0.05
GROWTH_BYTES = 2 << 30
"""Growth of redo log, binary log and temporary tables while a load runs for minutes."""


def check_files(facts: Facts) -> Finding:
    """The limit of open files against the worker's need. A worker raises its soft limit to the hard one by
    itself.
    """
    name, machine, needed = "file_descriptors", facts.machine, facts.requirements.open_files
    if needed is None:
        return ok(name, "the load's hosts open its connections, each within its own limit of open files")
    fact = f"a worker needs {needed:,} open files, this account may have"
    if machine.files_hard is not None and machine.files_hard < needed:
        return stop(
            name,
            f"{fact} {machine.files_hard:,}",
            f"ulimit -Hn {needed}, or nofile in /etc/security/limits.conf, or more --workers",
        )
    most = "any number" if machine.files_hard is None else f"{machine.files_hard:,}"
    if machine.files_soft is not None and machine.files_soft < needed:
        return ok(name, f"{fact} {machine.files_soft:,}, raised to {most} automatically")
    return ok(name, f"{fact} {most}")


def check_disk(facts: Facts) -> Finding:
    """The free space for a data set that does not exist yet, and for the logs that a load writes."""
    name, machine = "disk", facts.machine
    if not facts.server.info.is_local:
        return note(name, "the server's disk cannot be examined from another host")
    if machine.disk_free_bytes is None or machine.disk_total_bytes is None:
        return not_visible(name, "the disk of the server's data directory")
    missing = 0 if facts.data.ready else facts.requirements.data_bytes
    needed = missing + (GROWTH_BYTES if facts.requirements.writes else 0)
    wanted = f", the data set needs about {binary_size(missing)}" if missing else ""
    fact = (
        f"{binary_size(machine.disk_free_bytes)} of {binary_size(machine.disk_total_bytes)} are free{wanted}"
    )
    if machine.disk_free_bytes < missing:
        return stop(name, fact, "free some space, or prepare a smaller --table-size")
    full = machine.disk_free_bytes < DISK_SHARE * machine.disk_total_bytes
    if machine.disk_free_bytes < needed or (full and facts.requirements.writes):
        return warning(
            name,
            f"{fact}: redo and binary log grow while the load writes",
            f"free some space in {facts.server.info.datadir}",
        )
    return ok(name, fact)


def check_clock_offset(facts: Facts) -> Finding:
    """The difference between the clocks. It affects only times in logs, because all figures come from one
    clock.
    """
    name, ahead = "clock", facts.server.clock_ahead_seconds
    if ahead is None:
        return not_visible(name, "the server's clock")
    if abs(ahead) <= TOLERATED_OFFSET_SECONDS:
        return ok(name, "the clocks of server and client agree to the second")
    way = "ahead of" if ahead > 0 else "behind"
    return note(
        name,
        f"the server's clock is {abs(ahead):,.1f} s {way} this host's: times in its logs differ from "
        "tuibench's",
        "timedatectl set-ntp true (on both hosts)",
    )


def check_busy(facts: Facts) -> Finding:
    """Other work on this host takes processor time from the load, and adds noise to every figure."""
    name, machine = "host_busy", facts.machine
    busy, steal = machine.busy_share, machine.steal_share
    if busy is None or steal is None:
        return not_visible(name, "the CPU usage of this host")
    load = "" if machine.load_average is None else f", load average {machine.load_average:.1f}"
    fact = (
        f"{percent(100 * busy)} of {machine.cores} cores are in use before the load starts, "
        f"{percent(100 * steal)} steal{load}"
    )
    if steal > STEAL_SHARE:
        return warning(
            name,
            f"{fact}: the hypervisor gives CPU time to other guests, which affects all figures",
            "measure at another time, or on a dedicated host",
        )
    if busy > BUSY_SHARE:
        return warning(
            name,
            f"{fact}: other programs reduce throughput and widen intervals",
            "find the program with top, and stop it during the measurement",
        )
    return ok(name, fact)


def check_clocksource(facts: Facts) -> Finding:
    name, source = "clocksource", facts.machine.clocksource
    if source in STEADY_CLOCKS:
        return ok(name, f"reading this host's clock is fast ({source or 'source unknown'})")
    return note(
        name,
        f"this host's clock source is {source}: each reading is a system call and costs the client CPU time",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource (if it has one)",
    )


def check_timers(facts: Facts) -> Finding:
    if facts.machine.fine_timers or not facts.requirements.rate:
        return ok("timers", "transaction starts are timed precisely")
    return note(
        "timers", "timers of this system are up to 1 ms late, and so are transaction starts in an open loop"
    )


def check_swap(facts: Facts) -> Finding:
    name, used, total = "swap", facts.machine.swap_used_bytes, facts.machine.swap_total_bytes
    if used is None or total is None:
        return not_visible(name, "this host's swap")
    if not total:
        return ok(name, "this host has no swap")
    share = percent(100 * used / total)
    fact = f"{binary_size(used)} of {binary_size(total)} swap are in use on this host ({share})"
    if used > SWAP_SHARE * total:
        return note(
            name,
            f"{fact}: swapped-out memory is slow to access",
            "free memory, then swapoff -a && swapon -a",
        )
    return ok(name, fact)


def check_governor(facts: Facts) -> Finding:
    name, found = "cpu_governor", facts.machine.governors
    slow = [governor for governor in found if governor not in STEADY_GOVERNORS]
    if slow:
        return note(
            name,
            f"the CPU frequency governor is '{', '.join(slow)}': the frequency changes with the load",
            "cpupower frequency-set -g performance",
        )
    return ok(
        name,
        f"the CPU frequency governor is {found[0]}" if found else "the CPU frequency governor is unknown",
    )


NAME = ServerVariable.MAX_CONNECTIONS
ROOM_FOR_OPERATOR = 10
"""Connections that should stay free for administrators while the load runs."""

LARGEST_PREPARED_LIMIT = 4_194_304
"""The maximum of max_prepared_stmt_count on either flavour."""

SPREAD = 5
"""A random wait for work may well last this many times the mean."""

FILES_FOR_ITSELF = 100
"""Logs, system tables and temporary files of the server."""


def check_connections(facts: Facts) -> Finding:
    """Threads, and the connections of others and of tuibench itself, against max_connections."""
    limit = facts.server.number(ServerVariable.MAX_CONNECTIONS)
    if limit is None:
        return not_visible(NAME, ServerVariable.MAX_CONNECTIONS)
    if of_user := _of_user(facts, limit):
        return of_user
    others = max(0, facts.server.status.get(Counter.THREADS_CONNECTED, 1) - 1)
    needed = others + facts.requirements.connections
    fact = f"{_wanted(facts)}, plus {others:,} of other clients; the server accepts {limit:,}"
    remedy = f"SET GLOBAL max_connections = {needed + ROOM_FOR_OPERATOR}"
    if needed > limit:
        return warning(NAME, f"{fact}: {needed - limit:,} will be refused", remedy)
    if needed + ROOM_FOR_OPERATOR > limit:
        return note(NAME, f"{fact}: {limit - needed} are left for your own logins", remedy)
    return ok(NAME, fact)


def _of_user(facts: Facts, limit: int) -> Finding | None:
    """The account's own limit, or the server's for each account, if it is too low and lower than
    max_connections.
    """
    server = facts.server
    most = server.user_connections
    if not most or not 0 < most < limit:
        return None
    others = sum(client.user == server.user for client in server.clients or ())
    needed = others + facts.requirements.connections
    of_all = server.number(ServerVariable.MAX_USER_CONNECTIONS) == most
    which, remedy = (
        (ServerVariable.MAX_USER_CONNECTIONS, f"SET GLOBAL max_user_connections = {needed}")
        if of_all
        else ("its MAX_USER_CONNECTIONS", f"ALTER USER {server.account} WITH MAX_USER_CONNECTIONS {needed}")
    )
    may = f"the account may have {most:,} ({which})"
    if most <= OWN_AT_ONCE:
        return stop(NAME, f"a run takes {OWN_AT_ONCE} connections in addition to its load, {may}", remedy)
    if needed <= most:
        return None
    beside = f", plus {others:,} of the same user" if others else ""
    return warning(NAME, f"{_wanted(facts)}{beside}, {may}: up to {needed - most:,} will be refused", remedy)


def _wanted(facts: Facts) -> str:
    wanted = facts.requirements
    idle = f", {wanted.idle_connections:,} idle" if wanted.idle_connections else ""
    return f"{pluralize(wanted.threads, 'thread')}{idle} and {OWN_CONNECTIONS} connections of tuibench"


def check_prepared_statements(facts: Facts) -> Finding:
    """Threads times statements, against max_prepared_stmt_count, which counts those of all clients."""
    name, limit = (
        ServerVariable.MAX_PREPARED_STATEMENTS,
        facts.server.number(ServerVariable.MAX_PREPARED_STATEMENTS),
    )
    in_use = facts.server.status.get(Counter.PREPARED_STMT_COUNT)
    threads, statements = facts.requirements.threads, facts.requirements.statements
    if facts.data.text_only:
        return warning(name, facts.data.text_only, "--db-ps-mode=disable says so, and does not try")
    if limit is None or in_use is None:
        return not_visible(name, ServerVariable.MAX_PREPARED_STATEMENTS)
    needed = threads * statements
    used = f", {in_use:,} are in use" if in_use else ""
    product = f"{pluralize(threads, 'connection')} × {statements} prepared statements are {needed:,}"
    fact = f"{product}, the server keeps {limit:,}{used}"
    if needed <= max(0, limit - in_use):
        return ok(name, fact)
    instead = "run with --db-ps-mode=disable"
    enough = in_use + needed
    raised = f"SET GLOBAL max_prepared_stmt_count={enough}, or {instead}"
    return warning(
        name,
        f"{fact}: the others will be sent as text, which is slower",
        raised if enough <= LARGEST_PREPARED_LIMIT else instead,
    )


def check_open_tables(facts: Facts) -> Finding:
    """The table cache. A thread holds one table open at a time; with fewer than threads × tables, some are
    opened again.
    """
    name, cache = ServerVariable.TABLE_OPEN_CACHE, facts.server.number(ServerVariable.TABLE_OPEN_CACHE)
    if cache is None:
        return not_visible(name, ServerVariable.TABLE_OPEN_CACHE)
    threads, tables = facts.requirements.threads, facts.requirements.tables
    product = f"{pluralize(threads, 'thread')} × {pluralize(tables, 'table')} are {threads * tables:,}"
    fact = f"{product} open tables, the server keeps {cache:,}"
    remedy = f"SET GLOBAL table_open_cache = {threads * tables}"
    if max(threads, tables) > cache:
        return warning(name, f"{fact}: tables are closed and reopened all the time", remedy)
    if threads * tables > cache:
        return note(name, f"{fact}: some will be reopened", remedy)
    return ok(name, fact)


def check_table_definitions(facts: Facts) -> Finding:
    """The definition cache. A definition that is not cached is read from the dictionary whenever its table is
    opened.
    """
    name = ServerVariable.TABLE_DEFINITION_CACHE
    cache, tables = facts.server.number(name), facts.requirements.tables
    if cache is None:
        return not_visible(name, name)
    fact = f"the run uses {pluralize(tables, 'table')}, the server keeps {cache:,} definitions"
    if tables <= cache:
        return ok(name, fact)
    remedy = f"SET GLOBAL table_definition_cache = {2 * tables}"
    return warning(name, f"{fact}: they are read again and again", remedy)


def check_open_files(facts: Facts) -> Finding:
    """The server's own file descriptors: one per connection, some for the tables."""
    name, limit = ServerVariable.OPEN_FILES_LIMIT, facts.server.number(ServerVariable.OPEN_FILES_LIMIT)
    if not limit:
        return not_visible(name, ServerVariable.OPEN_FILES_LIMIT)
    needed = facts.requirements.connections + facts.requirements.tables + FILES_FOR_ITSELF
    fact = f"the server may open {limit:,} files, connections and tables need about {needed:,}"
    if needed <= limit:
        return ok(name, fact)
    return warning(name, fact, f"open_files_limit={2 * needed} in the server's option file, and a restart")


def check_idle_connections(facts: Facts) -> Finding:
    """How long connections wait for work at the run's rate, against the server's wait_timeout."""
    name, limit = ServerVariable.WAIT_TIMEOUT, facts.server.number(ServerVariable.WAIT_TIMEOUT)
    if limit is None:
        return not_visible(name, ServerVariable.WAIT_TIMEOUT)
    rate, threads = facts.requirements.rate, facts.requirements.threads
    if not rate or (idle := SPREAD * threads / rate) < limit:
        return ok(name, f"the server allows idle connections for {limit:,} s")
    return warning(
        name,
        f"at {rate:g} transactions/s {pluralize(threads, 'connection')} may be idle for {idle:.0f} s, "
        f"the server closes them after {limit:,} s: transactions will fail",
        f"SET GLOBAL wait_timeout={math.ceil(idle * 2)}, or run with fewer --threads",
    )


SLOW_SECONDS = 0.1
"""With a threshold below this, a slow log is written at nearly every statement under load."""

NAMED = 3
DAY_SECONDS = 86_400


def check_server(facts: Facts) -> Finding:
    info = facts.server.info
    up = "" if info.uptime_seconds is None else f", up {duration(info.uptime_seconds)}"
    where = ", ".join((info.where, *info.transport_words))
    return ok("server", f"{info.flavour} {info.version} at {where}{up}")


def check_data_set(facts: Facts) -> Finding:
    data = facts.data
    if data.ready and data.unused:
        return warning("data_set", data.unused)
    if data.ready:
        return ok("data_set", f"{data.described} in the database '{facts.server.database}'")
    if data.is_creatable:
        return next_step("data_set", data.problem, data.remedy)
    return stop("data_set", data.problem, data.remedy)


def check_read_only(facts: Facts) -> Finding:
    """A server that refuses writes, unless the login is exempt."""
    name, server = ServerVariable.READ_ONLY, facts.server
    if ServerVariable.READ_ONLY not in server.variables:
        return not_visible(name, ServerVariable.READ_ONLY)
    if not server.is_on(ServerVariable.READ_ONLY) and not server.is_on(ServerVariable.INNODB_READ_ONLY):
        return ok(name, "the server accepts writes")
    kinds = ", ".join(kind for kind in facts.requirements.kinds if kind != "SELECT")
    if not facts.requirements.writes:
        return note(name, "the server is read-only, and so is the load")
    above = server.grants is not None and server.grants.may(*read_only_bypass_privileges(server.info))
    if above and not (
        server.is_on(ServerVariable.SUPER_READ_ONLY) or server.is_on(ServerVariable.INNODB_READ_ONLY)
    ):
        return warning(
            name,
            READ_ONLY_BYPASS_WARNING,
            "run on the primary, or SET GLOBAL read_only = OFF",
        )
    return stop(
        name,
        f"the server is read-only, the load does {kinds}",
        "run on the primary, or SET GLOBAL read_only = OFF",
    )


def check_slow_log(facts: Facts) -> Finding:
    name, server = ServerVariable.LONG_QUERY_TIME, facts.server
    text = server.variables.get(ServerVariable.LONG_QUERY_TIME)
    if text is None:
        return not_visible(name, ServerVariable.LONG_QUERY_TIME)
    seconds = numerals.amount(text)
    if seconds is None:
        return warning(name, f"{ServerVariable.LONG_QUERY_TIME} is {numerals.unreadable(text)}")
    if not server.is_on(ServerVariable.SLOW_QUERY_LOG):
        return ok(name, f"the slow query log is off (long_query_time {seconds:g} s)")
    if seconds >= SLOW_SECONDS:
        return ok(name, f"the slow query log contains statements over {seconds:g} s")
    return warning(
        name,
        f"the slow query log contains statements over {seconds:g} s: nearly all statements of the load, "
        "which costs time",
        "SET GLOBAL long_query_time = 1",
    )


def check_general_log(facts: Facts) -> Finding:
    if facts.server.is_on(ServerVariable.GENERAL_LOG):
        return warning(
            ServerVariable.GENERAL_LOG,
            "the general log contains every statement, which costs time",
            "SET GLOBAL general_log = OFF",
        )
    return ok(ServerVariable.GENERAL_LOG, "the general log is off")


def check_performance_schema(facts: Facts) -> Finding:
    name, server = ServerVariable.PERFORMANCE_SCHEMA, facts.server
    if ServerVariable.PERFORMANCE_SCHEMA not in server.variables:
        return not_visible(name, ServerVariable.PERFORMANCE_SCHEMA)
    if server.is_on(name):
        return note(name, "performance_schema is on: compare only with servers where it is on, too")
    if server.info.flavour == Flavour.MYSQL:
        return note(
            name,
            "performance_schema is off: lock waits cannot be shown",
            "performance_schema=ON in the server's option file, and a restart",
        )
    return ok(name, "performance_schema is off")


def check_replicas(facts: Facts) -> Finding:
    name, count = "replicas", facts.server.replicas
    if count:
        found = f"{pluralize(count, 'replica')} attached: everything that the load writes is replicated"
        return (warning if facts.requirements.writes else note)(
            name, found, "run on a server without replicas"
        )
    if not facts.server.sees_all:
        return not_visible(
            name, "whether replicas are attached", f"GRANT PROCESS ON *.* TO {facts.server.account}"
        )
    if facts.server.clients is None:
        return not_visible(name, "whether replicas are attached (the server does not list its sessions)")
    return ok(name, "no replica is attached")


KEPT_BINARY_LOGS = (
    "watch the free space; where neither a replica nor a point-in-time recovery needs them, delete the run's "
    "logs afterwards: PURGE BINARY LOGS TO 'the first one to keep'"
)


def check_binary_log(facts: Facts) -> Finding:
    """How long the binary log is kept: a load writes gigabytes an hour."""
    name, server = "binary_log", facts.server
    if ServerVariable.LOG_BIN not in server.variables:
        return not_visible(name, ServerVariable.LOG_BIN)
    if not server.is_on(ServerVariable.LOG_BIN):
        return ok(name, "the binary log is off")
    if not facts.requirements.writes:
        return ok(name, "the binary log is on, the load writes nothing")
    # Zero means never. On MariaDB, both variables have the same value.
    seconds: float | None = facts.server.number(ServerVariable.BINLOG_EXPIRE_SECONDS)
    if seconds is None:
        days = facts.server.variables.get(ServerVariable.BINLOG_EXPIRE_DAYS, "0")
        seconds = (numerals.amount(days) or 0.0) * DAY_SECONDS
    if not seconds:
        return note(
            name,
            "the binary log is on and never purged: a load with writes fills the disk",
            KEPT_BINARY_LOGS,
        )
    if seconds < DAY_SECONDS:
        return ok(name, f"the binary log is on and kept for {seconds:,.0f} s")
    return note(
        name,
        f"the binary log is on and kept for {seconds / DAY_SECONDS:,.3g} days: a load with writes increases "
        "it",
        KEPT_BINARY_LOGS,
    )


def check_clients(facts: Facts) -> Finding:
    """Activity of other clients, which distorts the figures."""
    name, busy = "other_clients", facts.server.busy
    if facts.server.clients is None:
        return not_visible(name, "other clients")
    if busy:
        named = "; ".join(
            dict.fromkeys(
                f"{client.user}@{client.host.partition(':')[0]} in {client.database or 'no database'}"
                for client in busy[:NAMED]
            )
        )
        return warning(
            name,
            f"{pluralize(len(busy), 'active connection')} of other users ({named})",
            "SHOW PROCESSLIST",
        )
    if not facts.server.sees_all:
        return not_visible(
            name, "the connections of other users", f"GRANT PROCESS ON *.* TO {facts.server.account}"
        )
    if facts.server.written:
        return warning(
            name,
            f"other clients changed data {facts.server.written:,} times in "
            f"{facts.server.watched_seconds:.1f} s",
            "SHOW PROCESSLIST",
        )
    return ok(name, f"{pluralize(len(facts.server.clients), 'other connection')}, none of them active")


def check_load_privileges(facts: Facts) -> Finding:
    """The privileges for the load: the server's response to the statements or, without tables to test them
    on, its grants.
    """
    name, grants, kinds = "privileges_load", facts.server.grants, facts.requirements.kinds
    wanted = ", ".join(kinds)
    if facts.data.refusal:
        return stop(name, f"the load's statements are refused: {facts.data.refusal}", _grant(facts, kinds))
    if facts.data.refusal == "":
        return ok(name, f"the server accepts every statement of the load ({wanted})")
    if grants is None:
        return not_visible(name, "its own privileges (SHOW GRANTS)")
    missing = grants.lacks(kinds)
    if not missing:
        return ok(name, f"this login has {wanted} on the database")
    found = f"this login has no {', '.join(missing)} privilege on the whole database"
    return (note if grants.partly else stop)(name, found, _grant(facts, missing))


def check_setting_privileges(facts: Facts) -> Finding:
    """The settings of the catalogue that this login may change."""
    name, grants, info = "privileges_settings", facts.server.grants, facts.server.info
    if grants is None:
        return not_visible(name, "its own privileges (SHOW GRANTS)")
    settings = [setting for setting in catalogue.SETTINGS if not catalogue.unsupported_reason(setting, info)]
    refused = [
        setting for setting in settings if catalogue.missing_privilege(setting, info, grants.everywhere)
    ]
    if not refused:
        return ok(name, f"this login can change all {len(settings)} settings")
    needed = dict.fromkeys(setting.privileges(info.flavour, info.version_tuple)[0] for setting in refused)
    return note(
        name,
        f"this login cannot change {len(refused)} of {len(settings)} settings "
        f"({', '.join(setting.name for setting in refused[:3])}{', …' if len(refused) > 3 else ''})",
        f"GRANT {', '.join(needed)} ON *.* TO {facts.server.account}",
    )


def check_process_privilege(facts: Facts) -> Finding:
    name = "privileges_process"
    if facts.server.grants is None:
        return not_visible(name, "its own privileges (SHOW GRANTS)")
    if facts.server.sees_all:
        return ok(name, "this login can see all sessions and locks (PROCESS)")
    return note(
        name,
        "without the PROCESS privilege, other users' sessions, replicas and lock waits are not visible",
        f"GRANT PROCESS ON *.* TO {facts.server.account}",
    )


def _grant(facts: Facts, kinds: tuple[str, ...]) -> str:
    return f"GRANT {', '.join(kinds)} ON `{facts.server.database}`.* TO {facts.server.account}"


class Check(NamedTuple):
    """A function from facts to a finding."""

    run: Callable[[Facts], Finding]
    before_run: bool = False
    """True if its warnings are shown before every run, too."""


CHECKS = (
    Check(check_server),
    Check(check_data_set, before_run=True),
    Check(check_load_privileges, before_run=True),
    Check(check_setting_privileges),
    Check(check_process_privilege),
    Check(check_connections, before_run=True),
    Check(check_prepared_statements, before_run=True),
    Check(check_open_tables, before_run=True),
    Check(check_table_definitions, before_run=True),
    Check(check_open_files, before_run=True),
    Check(check_idle_connections, before_run=True),
    Check(check_read_only, before_run=True),
    Check(check_replicas, before_run=True),
    Check(check_clients, before_run=True),
    Check(check_slow_log, before_run=True),
    Check(check_general_log, before_run=True),
    Check(check_performance_schema),
    Check(check_binary_log),
    Check(check_disk, before_run=True),
    Check(check_files, before_run=True),
    Check(check_clock_offset),
    Check(check_clocksource),
    Check(check_timers),
    Check(check_busy),
    Check(check_swap),
    Check(check_governor),
)


def run_all_checks(facts: Facts) -> tuple[Finding, ...]:
    return tuple(check.run(facts) for check in CHECKS)


def run_checks_before_run(facts: Facts) -> tuple[Finding, ...]:
    """The results that are shown before a run."""
    found = (check.run(facts) for check in CHECKS if check.before_run)
    return tuple(finding for finding in found if finding.severity in (Severity.WARNING, Severity.STOP))


def production_signs(server: ServerFacts, stems: tuple[str, ...]) -> tuple[str, ...]:
    """Each sign in a few words; empty for a server that is idle, or has other loads only.

    `stems` are the prefixes of the names of a load's own tables.
    """
    found = []
    if server.replicas:
        found.append(f"{pluralize(server.replicas, 'replica')} attached")
    loads = [c for c in server.clients or () if is_load(c, server.database, stems)]
    if others := [client for client in server.busy if client not in loads]:
        users = ", ".join(dict.fromkeys(client.user for client in others))
        found.append(f"{pluralize(len(others), 'active connection')} of other users ({users})")
    if server.written and not loads:
        found.append(f"other clients changed data {server.written:,} times in {server.watched_seconds:.1f} s")
    return tuple(found)


FASTEST_FLUSH_US = {"HDD": 1_000.0, "NVMe SSD": 4.0, "SSD": 15.0, "virtual disk": 15.0, "": 4.0}
"""A faster flush has not reached the medium. A turn of a disk takes 4 ms and more; SSDs with a capacitor
answer from their protected memory, within some microseconds.
"""

UNEVEN = 20.0
"""Flushes whose p99 is this many times the median are stalls."""

SHARING = 16
"""Number of transactions that group commit is assumed to flush together."""


def disk_findings(facts: DiskFacts | None, speed: DiskSpeed) -> tuple[Finding, ...]:
    """Flushes, the commits that they allow, reads, and whether flushes reach the disk."""
    # A commit with a binary log takes two flushes, of the binary log and of the redo log.
    flushes = speed.flushes_per_second
    fact = (
        f"{units.count(flushes)} flushes/s of 4 KiB in sequence, each "
        f"{_time(speed.flush_p50_us)} (p95 {_time(speed.flush_p95_us)}, p99 {_time(speed.flush_p99_us)}, "
        f"max {_time(speed.flush_max_us)})"
    )
    return (
        (
            note(
                "disk_flush",
                f"{fact}: some flushes, and commits that wait for them, take {UNEVEN:g} times as long as "
                "usual",
            )
            if speed.flush_p99_us > UNEVEN * speed.flush_p50_us
            else ok("disk_flush", fact)
        ),
        ok(
            "disk_commits",
            f"with innodb_flush_log_at_trx_commit=1 one connection commits at most "
            f"{units.count(flushes / 2)} times/s with a binary log (sync_binlog=1) and "
            f"{units.count(flushes)} without; {SHARING} connections that group commit flushes together, "
            f"{units.count(SHARING * flushes / 2)} and {units.count(SHARING * flushes)}",
        ),
        (
            note("disk_reads", "this file system does not support direct reads: they were not measured")
            if speed.reads_per_second is None or speed.reads_per_second_parallel is None
            else ok(
                "disk_reads",
                f"{units.count(speed.reads_per_second)} random reads/s of 16 KiB, and "
                f"{units.count(speed.reads_per_second_parallel)} with {speed.readers} readers",
            )
        ),
        _truth(facts, speed),
    )


def _truth(facts: DiskFacts | None, speed: DiskSpeed) -> Finding:
    kind = facts.kind if facts else ""
    name, medium = "disk_truth", kind or "medium unknown"
    if kind == "memory":
        return warning(
            name,
            f"{speed.folder} is in memory: a flush costs nothing, and a restart of the host loses all data",
            "put the data directory on a disk",
        )
    least = FASTEST_FLUSH_US.get(kind, FASTEST_FLUSH_US[""])
    if speed.flush_p50_us < least:
        return warning(
            name,
            f"this disk confirms flushes too early: a flush takes {_time(speed.flush_p50_us)}, and {medium} "
            "cannot do it in "
            f"less than {_time(least)}; a power failure loses commits, and durable settings appear to cost "
            "nothing",
            "disable its write cache (hdparm -W0), or check the virtual machine for cache=unsafe",
        )
    return ok(name, f"the time of a flush is plausible for this medium ({medium})")


def _time(us: float) -> str:
    return units.milliseconds(us / 1000) if us >= 1000 else f"{us:.0f} µs"


GAUGES = (Counter.PREPARED_STMT_COUNT, Counter.THREADS_CONNECTED)

_VARIABLES_SQL = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN {tuple(map(str, PREFLIGHT_VARIABLES))}"


def _status_sql(counters: Iterable[Counter]) -> str:
    return f"SHOW GLOBAL STATUS WHERE Variable_name IN {tuple(map(str, counters))}"


_STATUS_SQL = _status_sql(GAUGES + ROW_WRITES)
_WRITES_SQL = _status_sql(ROW_WRITES)


async def read_server(
    connection: Connection,
    info: ServerInfo,
    *,
    wall_seconds: Callable[[], float] = time.time,
    monotonic_seconds: Callable[[], float] = time.monotonic,
) -> ServerFacts:
    """The server's facts as this login may see them. Raises only ConnectionLostError."""
    begun = monotonic_seconds()
    status = await _status(connection, _STATUS_SQL)
    granted = await query_if_allowed(connection, "SHOW GRANTS")
    listed = await list_processes(connection)
    database = connection.target.database
    rows = await query_if_allowed(connection, "SELECT @@SESSION.max_user_connections")
    # MySQL 8.0.22 has the new words; MariaDB keeps the old ones in all versions.
    new = info.flavour == Flavour.MYSQL and info.version_tuple >= (8, 0, 22)
    return ServerFacts(
        info=info,
        database=database,
        variables={
            str(name): str(value) for name, value in await query_if_allowed(connection, _VARIABLES_SQL) or ()
        },
        status={name: value for name, value in status.items() if name in GAUGES},
        grants=None
        if granted is None
        else catalogue.parse_grants((str(row[0]) for row in granted), database),
        clients=None
        if listed is None
        else tuple(client for client in listed if client.id != connection.thread_id),
        registered_replicas=len(
            await query_if_allowed(connection, "SHOW REPLICAS" if new else "SHOW SLAVE HOSTS") or ()
        ),
        clock_ahead_seconds=await _clock_ahead(connection, wall_seconds),
        user=connection.target.user,
        user_connections=numerals.count(rows[0][0]) if rows else None,
        writes={name: value for name, value in status.items() if name in ROW_WRITES},
        read_at=begun,
    )


async def read_writes_again(
    connection: Connection,
    facts: ServerFacts,
    *,
    monotonic_seconds: Callable[[], float] = time.monotonic,
) -> ServerFacts:
    """The same facts, with the writes since they were read, and the clients. May be called once."""
    later = await _status(connection, _WRITES_SQL)
    listed = await list_processes(connection)
    known = {client.id: client for client in listed or () if client.id != connection.thread_id}
    busy_before = {client.id: client for client in facts.busy}
    return msgspec.structs.replace(
        facts,
        writes_later=later,
        watched_seconds=max(0.0, monotonic_seconds() - facts.read_at),
        clients=None if facts.clients is None else tuple({**known, **busy_before}.values()),
    )


async def _status(connection: Connection, sql: str) -> dict[str, int]:
    rows = await query_if_allowed(connection, sql) or ()
    return numerals.readable((str(name), value) for name, value in rows).found


async def _clock_ahead(connection: Connection, wall_seconds: Callable[[], float]) -> float | None:
    """How far the server's clock is ahead of this host's, within half the round trip."""
    sent = wall_seconds()
    rows = await query_if_allowed(connection, "SELECT UNIX_TIMESTAMP(SYSDATE(6))")
    received = wall_seconds()
    at = numerals.amount(rows[0][0]) if rows else None
    return None if at is None else at - (sent + received) / 2
