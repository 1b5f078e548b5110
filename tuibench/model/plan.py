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
    """Distribution of the start times in an open loop: random (a Poisson process) or at even intervals."""

    POISSON = "poisson"
    CONSTANT = "constant"


class Backlog(StrEnum):
    """What happens to transactions that became due during an outage of the server: executed late, or
    discarded.
    """

    KEEP = "keep"
    DROP = "drop"


class OnError(StrEnum):
    """The consequence of an error that is not ignored: the run ends, or only the transaction fails."""

    STOP = "stop"
    CONTINUE = "continue"


class EngineChoice(StrEnum):
    """The engine that runs the transactions: native if it is available, always native, or always Python."""

    AUTO = "auto"
    NATIVE = "native"
    ASYNCIO = "asyncio"


WATCH = "watch"
"""The profile name of a session without load."""


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, with how much load, and for how long.

    `options` are the profile's options that were set, by their name with underscores; the others have the
    profile's defaults. `seconds` and `events` (transactions) are None without a limit. `rate` is in
    transactions per second, 0 for a closed loop; `arrival` and `backlog` apply only with a rate. The first of
    `percentiles` is printed in the interval lines; there may be none. `ignored_errors` is None to ignore all
    errors. `prepared` is False to send every statement as text. `isolation` is empty for the server's
    default. `workers` is None for a number that depends on the cores. `opening_seconds` is the time limit for
    opening all connections.

    `schedule` is the plan of threads and rate, from the start of the measurement. `client_delay_ms` is the
    simulated network delay of each response. A `trial` is an A/B test, a `tune` a screening of settings, a
    `probe` a search for the saturation point; the run ends with them. `checkpoints` are the seconds after
    which a full report since the previous checkpoint is printed. `report_seconds` (the time between interval
    lines, 0 for none) and `histogram` (whether the latency distribution is printed) control the text output.

    `profile_text` is the text of a profile that is not in a file; `sql_words` are the command-line options
    from which it was made (`--sql`). `engine` is the requested engine. `cluster` are the hosts that drive the
    load, None for this host. A session with `is_watch` has no load: it watches the server's own traffic, and
    most fields do not apply. `host_metrics` and `replicas` are further sources to read, as given on the
    command line; `max_lag_seconds` is the lag of a replica at which the load pauses, 0 for no limit.

    `idle_connections` are opened in addition to the load. Each connection logs in again after `reconnect`
    transactions (0: never). `connect_rate` is the number of additional logins per second. With `users`, the
    threads are a connection pool that these users share, each in a closed loop; 0 for one connection per
    user.
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
