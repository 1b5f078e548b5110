"""What a preflight knows of server, host and data: gathered by `reader`, judged by the checks."""

from collections.abc import Iterable

import msgspec

from tuibench.model.machine import Machine
from tuibench.model.server import ServerInfo
from tuibench.tuning.preflight.demand import Demand
from tuibench.tuning.preflight.grants import Grants

ASLEEP = frozenset({"Sleep", "Daemon"})
DUMP = "Binlog Dump"
"""The command of a replica's connection (MySQL also says Binlog Dump GTID)."""

TRANSACTION_CONTROL = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK"})
OF_THE_SERVER = frozenset({"system user", "event_scheduler", ""})


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A connection of somebody else, as the process list shows it."""

    id: int
    user: str
    host: str
    database: str
    command: str
    seconds: int
    statement: str

    @property
    def is_replica(self) -> bool:
        return self.command.startswith(DUMP)

    @property
    def is_busy(self) -> bool:
        """True if it works now."""
        return self.command not in ASLEEP and not self.is_replica and self.user not in OF_THE_SERVER

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
    """What the server said. None stands for what this login may not see.

    `clients` are the connections of others; without `sees_all` only those of this user. `writes` are the
    server's counts of data changes at `read_at` (seconds of a monotonic clock), `writes_later` those of a
    second look, `watched_seconds` after it. `user` is who has logged in, `user_connections` how many
    connections the account may have at a time: its own limit, else the server's for each, 0 for any number.
    """

    info: ServerInfo
    database: str
    variables: dict[str, str]
    status: dict[str, int]
    grants: Grants | None
    clients: tuple[Client, ...] | None
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
    def busy(self) -> tuple[Client, ...]:
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

    `refusal` is empty when every statement of the program was accepted, None if that could not be tried.
    `unused` says what the run does not use although it was made for use.
    """

    described: str
    ready: bool
    problem: str = ""
    remedy: str = ""
    refusal: str | None = None
    unused: str = ""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the checks judge by."""

    server: ServerFacts
    machine: Machine
    demand: Demand
    data: DataFacts
