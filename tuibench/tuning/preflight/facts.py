"""Facts about server, host and data, gathered by `reader` and judged by the checks.

What a run requires of server and host, by its plan and its program.
"""

from collections.abc import Iterable

import msgspec

from tuibench.model.measurements.environment import HostConditions
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.tuning.catalogue.access import Grants
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program.program import Program, flat_statements

STATEMENT_KINDS = ("SELECT", "INSERT", "UPDATE", "DELETE")
OWN_CONNECTIONS = 4
"""Besides the load: sampler, settings, their guardian, and the list of sessions."""

OWN_AT_ONCE = 2
"""Those of them that every run has from its beginning: sampler and settings."""

DISK_PER_ROW_BYTE = 1.4
"""Disk space of InnoDB per byte of a row: half-filled pages, the row's header, one secondary index."""


class LoadRequirements(msgspec.Struct, frozen=True, kw_only=True):
    """The needs of one run.

    `open_files` are those of a worker process, None if load hosts open the connections, `statements` is how
    many each connection prepares, `kinds` which privileges its statements take, `stems` are the beginnings
    of its tables' names, `data_bytes` what the data set takes on disk, indexes included.
    """

    threads: int
    open_files: int | None
    tables: int
    statements: int = 0
    kinds: tuple[str, ...] = STATEMENT_KINDS
    stems: tuple[str, ...] = ()
    data_bytes: int = 0
    rate: float = 0.0
    idle_connections: int = 0

    @property
    def writes(self) -> bool:
        return any(kind != "SELECT" for kind in self.kinds)

    @property
    def connections(self) -> int:
        """All that tuibench opens."""
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
    """How many statements each connection of the load prepares."""
    return sum(statement.prepared for statement in flat_statements(program))


def statement_kinds(program: Program) -> tuple[str, ...]:
    """The privileges that the program's statements take, in a fixed order."""
    found = {word for flat in flat_statements(program) if (word := flat.sql.split(None, 1)[0].upper())}
    found |= {"INSERT", "DELETE"} if "REPLACE" in found else set()
    return tuple(kind for kind in STATEMENT_KINDS if kind in found)


IDLE_COMMANDS = frozenset({"Sleep", "Daemon"})
BINLOG_DUMP = "Binlog Dump"
"""The command of a replica's connection (MySQL also says Binlog Dump GTID)."""

TRANSACTION_CONTROL = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK"})
SERVER_USERS = frozenset({"system user", "event_scheduler", ""})


class ClientConnection(msgspec.Struct, frozen=True, kw_only=True):
    """A connection of another client, as the process list shows it."""

    id: int
    user: str
    host: str
    database: str
    command: str
    seconds: int
    statement: str

    @property
    def is_replica(self) -> bool:
        return self.command.startswith(BINLOG_DUMP)

    @property
    def is_busy(self) -> bool:
        """True if it works now."""
        return self.command not in IDLE_COMMANDS and not self.is_replica and self.user not in SERVER_USERS

    def benchmarks(self, database: str, stems: Iterable[str]) -> bool:
        """True if it does what another load would, as far as can be seen: it works on a data set's tables.

        `stems` are the beginnings of the tables' names.
        """
        if self.database != database:
            return False
        words = self.statement.split(None, 1)
        if not words or words[0].strip(";").upper() in TRANSACTION_CONTROL:
            return True
        return any(stem in self.statement for stem in stems)


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the server. None is not visible to this login.

    `clients` are the connections of others; without `sees_all` only those of this user. `writes` are the
    server's counts of data changes at `read_at` (seconds of a monotonic clock), `writes_later` those of the
    second reading, `watched_seconds` later. `user` is the login's user, `user_connections` the maximum number
    of connections of the account: its own limit, otherwise the server's, 0 for no limit.
    """

    info: ServerInfo
    database: str
    variables: dict[str, str]
    status: dict[str, int]
    grants: Grants | None
    clients: tuple[ClientConnection, ...] | None
    registered_replicas: int = 0
    clock_ahead_seconds: float | None = None
    writes: dict[str, int] = {}
    writes_later: dict[str, int] = {}
    read_at: float = 0.0
    watched_seconds: float = 0.0
    user: str = ""
    user_connections: int | None = None

    @property
    def account(self) -> str:
        """The login, as GRANT wants it."""
        return self.grants.account if self.grants and self.grants.account else "CURRENT_USER()"

    @property
    def sees_all(self) -> bool:
        return self.grants is None or self.grants.may("PROCESS")

    @property
    def replicas(self) -> int:
        """How many are attached: those that fetch the binary log now, or those that registered."""
        fetching = sum(client.is_replica for client in self.clients or ())
        return max(fetching, self.registered_replicas)

    @property
    def busy(self) -> tuple[ClientConnection, ...]:
        return tuple(client for client in self.clients or () if client.is_busy)

    @property
    def written(self) -> int:
        """Statements that changed data between the two looks."""
        return sum(max(0, later - self.writes.get(name, later)) for name, later in self.writes_later.items())

    def number(self, name: str) -> int | None:
        """A variable as a whole number; None where it is missing or none."""
        try:
            return int(float(self.variables[name]))
        except (KeyError, ValueError):
            return None

    def is_on(self, name: str) -> bool:
        return self.variables.get(name, "").upper() in ("ON", "1")


class DataFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The data set: `described` in words; why it is not `ready` and what to do; what the server refused.

    `is_creatable` if none of it exists yet, so that `prepare` creates it.
    `refusal` is empty when every statement of the program was accepted, None if that could not be tried.
    `unused` says what the run does not use although it was made for use.
    """

    described: str
    ready: bool
    is_creatable: bool = False
    problem: str = ""
    remedy: str = ""
    refusal: str | None = None
    unused: str = ""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the checks judge by."""

    server: ServerFacts
    machine: HostConditions
    requirements: LoadRequirements
    data: DataFacts
