"""Plan of a run: everything needed to repeat it, apart from the server."""

from enum import StrEnum

import msgspec

from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.experiments.effect import AbTestPlan
from tuibench.model.experiments.probe import ProbeOrder
from tuibench.model.experiments.tune import TunePlan
from tuibench.model.schedule import Schedule, most_threads
from tuibench.model.sql_errors import IGNORED_ERRORS

OptionValue = bool | int | float | str


GRACE_SECONDS = 60.0
"""Seconds that a session continues without a viewer."""


class Arrival(StrEnum):
    """How the starts of an open loop are spread: at random (a Poisson process) or evenly."""

    POISSON = "poisson"
    CONSTANT = "constant"


class Backlog(StrEnum):
    """What becomes of work that came due while the server was away: done late, or forgotten."""

    KEEP = "keep"
    DROP = "drop"


class OnError(StrEnum):
    """What an error does that is not ignored: end the run, or fail the one transaction."""

    STOP = "stop"
    CONTINUE = "continue"


class EngineChoice(StrEnum):
    """What runs the transactions: the native engine where it can, always it, or always Python."""

    AUTO = "auto"
    NATIVE = "native"
    ASYNCIO = "asyncio"


WATCH = "watch"
"""The profile name of a session without load."""


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, how hard, and for how long.

    `options` holds the profile's options that were set, by their name with underscores; the rest have the
    profile's defaults. `seconds` and `events` (transactions) are None without a limit. `rate` is transactions
    per second, 0 for a closed loop; `arrival` and `backlog` matter with a rate only. The first of
    `percentiles` is the one of the interval lines; there may be none. `ignored_errors` is None to ignore all.
    `prepared` is False to send every statement as text. `isolation` is empty for the server's own. `workers`
    is None to choose by cores. `opening_seconds` is how long the connections may take to open.
    `schedule` is how threads and rate are to change on the way, from the start of measuring on.
    `client_delay_ms` is a make-believe network: how much later the answer to each statement is handed on.
    A `trial` alternates two values by itself, a `tune` many of them. `checkpoints` are the seconds after
    which a full report is made of the time since the one before. With a `probe` the run is one, and ends
    with it. `report_seconds` and `histogram` are how it is told as text: the time between interval lines,
    0 for none, and whether the distribution of latencies is part of it.
    `profile_text` is the profile itself where it is in no file; `sql_words` are the options of a command line
    that made it of SQL. `engine` is what is to run the transactions, `cluster` the hosts that do, None for
    this host alone. A session that `is_watch` has no load:
    it watches the server's own traffic, and most of this is of no account. `host_metrics` and `replicas` are
    what is read beside the server, as it was asked for; `max_lag_seconds` is how far behind a replica may be,
    0 for no limit.

    Connections: `idle_connections` are open beside the load, each connection logs in again after `reconnect`
    transactions (0: never), `connect_rate` is of extra logins per second. With `users` the threads are a
    pool of connections that these users share, each of them in a closed loop; 0 for a connection each.
    """

    profile: str
    options: dict[str, OptionValue] = {}
    threads: int = 1
    seconds: float | None = 10.0
    events: int | None = None
    warmup_seconds: float = 0.0
    rate: float = 0.0
    arrival: Arrival = Arrival.POISSON
    backlog: Backlog = Backlog.KEEP
    interval_seconds: float = 1.0
    opening_seconds: float = 30.0
    seed: int = 0
    percentiles: tuple[float, ...] = (95.0,)
    ignored_errors: tuple[int, ...] | None = IGNORED_ERRORS
    on_error: OnError = OnError.STOP
    max_retries: int = 100
    prepared: bool = True
    isolation: str = ""
    workers: int | None = None
    client_delay_ms: float = 0.0
    trial: AbTestPlan | None = None
    tune: TunePlan | None = None
    checkpoints: tuple[int, ...] = ()
    schedule: Schedule = ()
    probe: ProbeOrder | None = None
    report_seconds: float = 1.0
    histogram: bool = False
    profile_text: str = ""
    sql_words: tuple[str, ...] = ()
    engine: EngineChoice = EngineChoice.AUTO
    cluster: ClusterPlan | None = None
    is_watch: bool = False
    idle_connections: int = 0
    reconnect: int = 0
    connect_rate: float = 0.0
    users: int = 0
    host_metrics: str = ""
    replicas: tuple[str, ...] = ()
    max_lag_seconds: float = 0.0

    @property
    def has_connection_load(self) -> bool:
        """True if connections are themselves part of the load."""
        return bool(self.idle_connections or self.reconnect or self.connect_rate or self.users)

    @property
    def profile_options(self) -> dict[str, OptionValue]:
        """The options passed to the profile, with the number of connections to distribute."""
        return {**self.options, "threads": max(self.most_threads, 1)}

    @property
    def starts_idle(self) -> bool:
        """True for a load that starts with no threads, on a server whose own traffic is shown."""
        return not self.is_watch and not self.threads and not self.schedule

    @property
    def shows_traffic(self) -> bool:
        """True if charts and effects show the traffic of all the server's clients."""
        return self.is_watch or self.starts_idle

    @property
    def most_threads(self) -> int:
        """The maximum number of threads planned."""
        return max(self.threads, most_threads(self.schedule))
