"""The plan of a run: all that is needed to repeat it, apart from the server.

Each option is declared once, on the field of the plan that has its value. `PLAN_COMMANDS` has the commands
that make a plan, each with the options that it leaves out and its own defaults. `option_words` is the
inverse: the command line that makes a given plan.
"""

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import Annotated, Any

import msgspec

from tuibench.model.callers import (
    MOST_ATTEMPTS,
    Backoff,
    Breaker,
    CallerPolicy,
    OnDeadline,
    QueueOrder,
    check_policy,
    format_breaker,
    format_deadline,
    format_retry_budget,
    parse_backoff,
    parse_breaker,
    parse_deadline,
    parse_retry_budget,
)
from tuibench.model.cluster import ClusterPlan
from tuibench.model.effect import AbTestPlan
from tuibench.model.hardware import Hardware
from tuibench.model.option import (
    SWITCH,
    At,
    BoundOption,
    Option,
    bind_options,
    check_choice,
    plain_number,
)
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import (
    MAX_RATE,
    MAX_THREADS,
    Quantity,
    Schedule,
    first_level,
    format_delay,
    format_duration,
    format_error_numbers,
    format_percentiles,
    format_schedule,
    most_threads,
    parse_checkpoints,
    parse_client_delay,
    parse_error_numbers,
    parse_max_lag,
    parse_percentiles,
    parse_ramp,
    parse_schedule,
)
from tuibench.model.server import IGNORED_ERRORS
from tuibench.model.tune import TunePlan

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

ISOLATION_LEVELS = ("read-uncommitted", "read-committed", "repeatable-read", "serializable")

CALLERS = "Callers"
_load, _callers, _connections, _transactions = (
    partial(Option, section=section) for section in ("Load", CALLERS, "Connections", "Transactions")
)
_output, _server = (partial(Option, section=section, axis=False) for section in ("Output", "Server"))
"""Options in their sections of the help."""


def _always(plan: "RunPlan") -> bool:
    return True


def _never(plan: "RunPlan") -> bool:
    return False


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, with how much load, and for how long.

    The help of an option documents its field. A text below a field adds what the help does not say.
    """

    profile: str
    options: dict[str, OptionValue] = {}
    """The profile's options that were set, by their name with underscores; the others have the profile's
    defaults.
    """
    threads: Annotated[
        int,
        _load(
            "--threads",
            "--num-threads",
            low=1,
            high=MAX_THREADS,
            help="Concurrent connections.",
            always=_always,
            when=lambda plan: (
                not first_level(plan.schedule, Quantity.THREADS)
                and not (plan.probe is not None and plan.probe.by is Quantity.THREADS)
            ),
            sysbench=True,
            axis=False,
        ),
    ] = 1
    seconds: Annotated[
        float | None,
        _load(
            "--time",
            "--max-time",
            metavar="SECONDS",
            help="Seconds to run; 0 for no limit.",
            always=_always,
            when=lambda plan: plan.trial is None or plan.trial.is_sequential,
            sysbench=True,
            axis=False,
            affects_load=False,
        ),
    ] = 10.0
    """None without a limit."""
    events: Annotated[
        int | None,
        _load(
            "--events",
            "--max-requests",
            high=10**15,
            help="Transactions to run; 0 for no limit.",
            sysbench=True,
            axis=False,
        ),
    ] = None
    """None without a limit."""
    warmup_seconds: Annotated[
        float,
        _load(
            "--warmup-time",
            metavar="SECONDS",
            help="Seconds to run before measuring.",
            always=lambda plan: plan.trial is not None or plan.tune is not None,
            axis=False,
            label="warm-up",
        ),
    ] = 0.0
    rate: Annotated[
        float,
        _load(
            "--rate",
            "--tx-rate",
            high=MAX_RATE,
            help="Target transactions per second; 0 for no limit.",
            when=lambda plan: not (plan.schedule and plan.schedule[0].quantity is Quantity.RATE),
            sysbench=True,
        ),
    ] = 0.0
    """0 for a closed loop."""
    schedule: Annotated[
        Schedule,
        _load(
            "--plan",
            metavar="STAGES",
            help="Stages of THREADS:TIME, FIRST..LAST/TIME or rate N:TIME: 8:30s,16..64/1m. Instead of "
            "--threads.",
            parse=parse_schedule,
            format=format_schedule,
            axis=False,
        ),
        _load(
            "--ramp",
            metavar="N..N/TIME",
            help="A rising number of threads: 1..128/60s, or '1..128/60s doubling'.",
            parse=parse_ramp,
            format=format_schedule,
            when=_never,
            axis=False,
        ),
        _load(
            "--ramp-rate",
            metavar="N..N/TIME",
            help="A rising rate: 100..2000/60s.",
            parse=lambda text: parse_ramp(text, Quantity.RATE),
            format=format_schedule,
            when=_never,
            axis=False,
        ),
    ] = ()
    """Threads and rate, from the start of the measurement."""
    arrival: Annotated[
        Arrival, _load(help="With a rate: poisson (at random) or constant (evenly spaced).")
    ] = Arrival.POISSON
    """Applies only with a rate."""
    backlog: Annotated[Backlog, _load(help="Transactions due during an outage: keep or drop.")] = Backlog.KEEP
    """Applies only with a rate."""
    deadline_ms: Annotated[
        float,
        _callers(
            "--deadline",
            metavar="TIME",
            help="A transaction is good if it ends in this time, counted from its intended start: 200ms; 0: "
            "none.",
            parse=parse_deadline,
            format=format_deadline,
        ),
    ] = 0.0
    """0 without a deadline."""
    attempts: Annotated[
        int,
        _callers(
            low=1,
            high=MOST_ATTEMPTS,
            help="With a rate: how often a caller sends a transaction that does not end in time, in all.",
        ),
    ] = 1
    backoff: Annotated[
        Backoff,
        _callers(
            metavar="TIME[,xN][,jitter]",
            help="The pause before a further attempt: 50ms,x2,jitter is 50 ms, then 100 ms, … or less.",
            parse=parse_backoff,
            format=str,
            axis=False,
        ),
    ] = Backoff()
    queue: Annotated[
        QueueOrder,
        _callers(
            help="What starts next of what waits: the oldest, the newest, or the oldest that can end in time."
        ),
    ] = QueueOrder.FIFO
    retry_budget: Annotated[
        float | None,
        _callers(
            metavar="N%",
            help="Further attempts are at most this share of the first ones: 10%; off.",
            parse=parse_retry_budget,
            format=format_retry_budget,
        ),
    ] = None
    """Percent; None without a limit."""
    breaker: Annotated[
        Breaker | None,
        _callers(
            metavar="N%,TIME",
            help="If at least this share of the attempts of a second does not end in time, nothing is sent "
            "for a while: 50%,5s; off.",
            parse=parse_breaker,
            format=format_breaker,
            axis=False,
        ),
    ] = None
    on_deadline: Annotated[
        OnDeadline,
        _callers(
            help="A statement that runs for longer than the deadline: leave it, or kill: the server ends it "
            "(max_statement_time of MariaDB, max_execution_time of MySQL, which ends SELECT only)."
        ),
    ] = OnDeadline.LEAVE
    client_delay_ms: Annotated[
        float,
        _load(
            "--client-delay",
            metavar="TIME",
            help="Simulate a network delay: 20ms on each round trip (us, ms, s).",
            parse=parse_client_delay,
            format=lambda delay: format_delay(delay) if delay else "0",
            label="simulated network",
        ),
    ] = 0.0
    """The delay of each response, in milliseconds."""
    interval_seconds: Annotated[
        float, _output("--interval", metavar="SECONDS", low=0.1, high=3600, help="Seconds between samples.")
    ] = 1.0
    opening_seconds: Annotated[
        float,
        _load(
            "--thread-init-timeout",
            metavar="SECONDS",
            low=0.1,
            high=86_400,
            help="Time limit for opening the connections in seconds.",
            axis=False,
        ),
    ] = 30.0
    seed: Annotated[
        int,
        _transactions(
            "--rand-seed",
            high=2**63 - 1,
            low=-(2**63),
            help="Seed of all random values; 0 for a new one.",
            always=_always,
            sysbench=True,
            axis=False,
            affects_load=False,
            label="seed",
        ),
    ] = 0
    percentiles: Annotated[
        tuple[float, ...],
        _output(
            "--percentile",
            metavar="N,…",
            help="Percentiles of the summary, the first also of the lines; 0: none.",
            parse=parse_percentiles,
            format=format_percentiles,
            sysbench=lambda percentiles: f"{percentiles[0]:.0f}" if percentiles else "0",
            affects_load=False,
        ),
    ] = (95.0,)
    ignored_errors: Annotated[
        tuple[int, ...] | None,
        _transactions(
            "--mysql-ignore-errors",
            metavar="N,…|all",
            help="Error numbers to retry after, or all.",
            parse=parse_error_numbers,
            format=format_error_numbers,
            sysbench=True,
            axis=False,
            label="retried errors",
        ),
    ] = IGNORED_ERRORS
    """None to ignore all errors."""
    on_error: Annotated[
        OnError, _transactions(help="Any other error: stop the run, or continue with the next transaction.")
    ] = OnError.STOP
    max_retries: Annotated[int, _transactions(help="Retries of a transaction.")] = 100
    isolation: Annotated[
        str,
        _transactions(
            metavar="LEVEL",
            words={level: level for level in ISOLATION_LEVELS},
            help=f"Isolation level of the load: {', '.join(ISOLATION_LEVELS)}.",
        ),
    ] = ""
    """Empty for the server's default."""
    prepared: Annotated[
        bool,
        _transactions(
            "--db-ps-mode",
            words={"auto": True, "disable": False},
            help="auto: statements are prepared; disable: they are sent as text.",
            sysbench=True,
            label="statements",
        ),
    ] = True
    workers: Annotated[
        int | None, _load(high=1024, help="Worker processes (on each host); 0: by number of cores.")
    ] = None
    """None for a number that depends on the cores."""
    trial: AbTestPlan | None = None
    """An A/B test; the run ends with it."""
    hardware: Hardware | None = None
    """The simulated disk of the run's private server at the start; None if it has none."""
    tune: TunePlan | None = None
    """A screening of settings; the run ends with it."""
    probe: ProbeOrder | None = None
    """A search for the saturation point; the run ends with it."""
    report_seconds: Annotated[
        float,
        _output(
            "--report-interval",
            metavar="SECONDS",
            help="Seconds between interval lines; 0 for none.",
            sysbench=True,
            affects_load=False,
        ),
    ] = 1.0
    checkpoints: Annotated[
        tuple[int, ...],
        _output(
            "--report-checkpoints",
            metavar="SECONDS,…",
            help="Seconds (10,60,…) at which to print a full report and reset the counters.",
            parse=parse_checkpoints,
            format=lambda seconds: ",".join(map(str, seconds)),
            sysbench=True,
            affects_load=False,
        ),
    ] = ()
    """Each report covers the time since the previous checkpoint."""
    histogram: Annotated[
        bool,
        _output(
            metavar="on|off",
            words=SWITCH,
            help="on: print the distribution of the latencies.",
            sysbench=True,
            affects_load=False,
        ),
    ] = False
    figure: Annotated[
        str,
        _output(
            metavar="FIGURE",
            help="The figure that decides A/B tests and screenings, and is compared in effects of changes. "
            "[tps; p95 with --rate]",
            show_default=False,
            affects_load=False,
        ),
    ] = ""
    """Empty for the usual one."""
    interventions: Annotated[
        tuple[At, ...],
        _load(
            "--at",
            metavar="TIME SQL",
            help="Execute this statement so long after the start, or a shell command: --at 30s exec:'…'. Its "
            "effects during and after it are reported.",
            axis=False,
        ),
    ] = ()
    guard: Annotated[
        tuple[str, ...],
        _server(
            metavar="CONDITION",
            help="End what an experiment tries at once if it breaks this: p95<50ms, tps>80% of the level "
            "before; repeatable, or off. [on own traffic: qps>70%, p95<300%]",
            show_default=False,
            affects_load=False,
        ),
    ] = ()
    """Empty for the usual conditions."""
    profile_text: str = ""
    """The text of a profile that is not in a file."""
    sql_words: tuple[str, ...] = ()
    """The command-line options from which `profile_text` was made (`--sql`)."""
    engine: Annotated[
        EngineChoice,
        _load(help="Load engine: native (Rust) or asyncio (Python); auto: native where it can run the load."),
    ] = EngineChoice.AUTO
    cluster: ClusterPlan | None = None
    """The hosts that drive the load; None for this host."""
    is_watch: bool = False
    """True for a session without load: it watches the server's own traffic, and most fields do not apply."""
    users: Annotated[
        int,
        _connections(
            high=1_000_000,
            help="Users who share the --threads connections like a pool; their wait counts as latency.",
        ),
    ] = 0
    """Each user works in a closed loop. 0 for one connection per user."""
    idle_connections: Annotated[int, _connections(high=MAX_THREADS, help="Additional idle connections.")] = 0
    reconnect: Annotated[
        int, _connections(help="Each connection logs in again after this many transactions; 0: never.")
    ] = 0
    connect_rate: Annotated[
        float, _connections(high=10_000, help="Additional logins per second, each followed by a logout.")
    ] = 0.0
    host_metrics: Annotated[
        str,
        _server(
            metavar="SOURCE",
            help="Read the server's host: ssh:USER@HOST, or http://HOST:9100/metrics of a node_exporter; "
            "https with #ca=FILE, its login from ~/.netrc or with #login=FILE.",
        ),
    ] = ""
    no_waits: Annotated[
        bool, _server(help="Do not sample what the connections wait for: no account of the time.")
    ] = False
    no_black_box: Annotated[
        bool, _server(help="Do not keep the last minute of the server for tuibench blackbox.")
    ] = False
    no_keys: Annotated[
        bool, _server(help="Do not read the keys of the rows that transactions wait for: private data.")
    ] = False
    cpu_profile: Annotated[
        bool,
        _server(help="Record with perf which functions of the server use the processor, for tuibench flame."),
    ] = False
    replicas: Annotated[
        tuple[str, ...],
        _server(
            "--replica",
            metavar="ADDRESS",
            help="Monitor this replica: [USER@]HOST[:PORT] or a socket; auto: all replicas of the server.",
        ),
    ] = ()
    max_lag_seconds: Annotated[
        float,
        _server(
            "--max-lag",
            metavar="SECONDS",
            help="Pause the load while a replica lags by more than this: 5s.",
            parse=parse_max_lag,
            format=lambda seconds: f"{plain_number(seconds)}s" if seconds else "",
        ),
    ] = 0.0
    """0 for no limit."""

    deviations: tuple[str, ...] = ()
    """How the run of a sysbench command line differs from sysbench's."""

    @property
    def callers(self) -> CallerPolicy:
        """What the callers of the load do."""
        fields = (each.field for each in caller_options().values())
        return CallerPolicy(**{field: getattr(self, field) for field in fields})

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
    def has_experiment(self) -> bool:
        """True if it contains an A/B test, a probe or a screening of settings."""
        return not (self.trial is None and self.probe is None and self.tune is None)

    @property
    def shows_traffic(self) -> bool:
        """True if charts and effects show the traffic of all the server's clients."""
        return self.is_watch or self.starts_idle

    @property
    def most_threads(self) -> int:
        """The maximum number of threads planned."""
        return max(self.threads, most_threads(self.schedule))


PARTS: Mapping[str, type] = {
    "": RunPlan,
    "cluster": ClusterPlan,
    "trial": AbTestPlan,
    "probe": ProbeOrder,
    "tune": TunePlan,
}
"""Structs with options, by the field of the plan that has them."""

REPORT = ("report_interval", "report_checkpoints", "histogram")
REPLICAS = ("replica", "max_lag")
SCHEDULE = ("plan", "ramp", "ramp_rate", "at")
IDLE_THREADS = 0
PROBE_THREADS = 64
"""Connections of a probe by rate."""
DEMO_THREADS = min(max(os.cpu_count() or 1, 2), 8)
"""One thread per processor, 2 to 8. With few threads, commits wait for the disk rather than for a processor,
so a setting of commits shows most.
"""


@cache
def part_options(part: str) -> tuple[BoundOption, ...]:
    return tuple(bind_options(PARTS[part]))


@cache
def caller_options() -> dict[str, BoundOption]:
    """The options of what the callers do, by name. They can be changed during a run."""
    found = (each for each in part_options("") if each.option.section == CALLERS)
    return {each.name.removeprefix("--"): each for each in found}


def changed_policy(policy: CallerPolicy, option: str, text: str, *, users: int = 0) -> CallerPolicy:
    """The policy with one option changed; `text` is written as on the command line. Raises UsageError for an
    invalid name or value, and for one that needs another option.
    """
    each = caller_options()[check_choice("an option of the callers", option, caller_options())]
    changed = msgspec.structs.replace(policy, **{each.field: each.parse(text)})
    check_policy(changed, users=users)
    return changed


def policy_texts(policy: CallerPolicy) -> dict[str, str]:
    """The values of the options, by name, as on the command line."""
    return {name: each.format(getattr(policy, each.field)) for name, each in caller_options().items()}


class PlanCommand:
    """A command that makes a plan: the options it takes, by key, and its own defaults."""

    def __init__(
        self,
        *parts: str,
        without: Container[str] = (),
        only: Container[str] | None = None,
        defaults: Mapping[str, Any] | None = None,
        low: Mapping[str, float] | None = None,
        helps: Mapping[str, str] | None = None,
        has_axes: bool = False,
    ) -> None:
        """`only` names the options of the run that the command takes, instead of all but `without`. `low` is
        the lower limit of an option where it differs, `helps` the text of an option that means something else
        here.
        """
        self.parts = parts
        self.defaults = defaults or {}
        self.low = low or {}
        self.helps = helps or {}
        self.has_axes = has_axes
        self._without = without
        self._only = only

    @cached_property
    def options(self) -> dict[str, tuple[str, BoundOption]]:
        """Each option by its key, with the part of the plan that has its field."""
        return {
            each.key: (part, each)
            for part in self.parts
            for each in part_options(part)
            if each.key not in self._without and (part or self._only is None or each.key in self._only)
        }

    def default(self, key: str) -> Any:
        """The value of an option that is not given."""
        return self.defaults[key] if key in self.defaults else self.options[key][1].default

    def is_axis(self, key: str) -> bool:
        """True if the option takes several values."""
        part, each = self.options[key]
        return self.has_axes and not part and each.option.axis


PLAN_COMMANDS = {
    "run": PlanCommand("", "cluster", "trial"),
    "live": PlanCommand(
        "",
        "cluster",
        "trial",
        without=REPORT,
        defaults={"time": None},
        low={"threads": IDLE_THREADS},
    ),
    "demo": PlanCommand(
        "",
        "cluster",
        "trial",
        without=(*REPORT, *REPLICAS, "host_metrics"),
        defaults={"threads": DEMO_THREADS},
        helps={"threads": "Concurrent connections [one for each processor, 2 to 8]."},
    ),
    "probe": PlanCommand(
        "",
        "cluster",
        "probe",
        without=(*REPORT, *SCHEDULE, "guard", "time", "events", "rate", "users"),
        defaults={
            "threads": PROBE_THREADS,
            "warmup_time": 3.0,
            "interval": 0.5,
            "min_threads": 1.0,
            "max_time": 180.0,
        },
        helps={
            "threads": "With --by rate: concurrent connections.",
            "warmup_time": "Seconds to run before the first step.",
        },
    ),
    "tune": PlanCommand("", "cluster", "tune", without=REPORT, defaults={"time": None}),
    "sweep": PlanCommand(
        "",
        "cluster",
        without=(*REPORT, *REPLICAS, *SCHEDULE, "guard", "threads", "events"),
        defaults={"time": 10.0, "warmup_time": 2.0},
        helps={
            "time": "Measured seconds of each cell.",
            "warmup_time": "Warm-up seconds of each cell.",
        },
        has_axes=True,
    ),
    "versions": PlanCommand(
        "",
        "cluster",
        without=(*REPORT, *REPLICAS, *SCHEDULE, "guard", "threads", "events", "host_metrics"),
        defaults={"time": 8.0, "warmup_time": 2.0},
        helps={"time": "Measured seconds of each run.", "warmup_time": "Warm-up seconds of each run."},
    ),
    "crash": PlanCommand(
        "",
        only=(
            "threads",
            "time",
            "warmup_time",
            "rate",
            "arrival",
            "rand_seed",
            "mysql_ignore_errors",
            "max_retries",
            "isolation",
            "db_ps_mode",
        ),
        defaults={"threads": 8, "time": 5.0, "warmup_time": 2.0},
        helps={"time": "Seconds of load before each kill, and up to 1 s more at random."},
    ),
    "prices": PlanCommand(
        "",
        only=(
            "threads",
            "warmup_time",
            "interval",
            "client_delay",
            "rand_seed",
            "mysql_ignore_errors",
            "max_retries",
            "isolation",
            "db_ps_mode",
        ),
        defaults={"threads": 8, "warmup_time": 5.0},
    ),
    "failover": PlanCommand(
        "",
        only=(
            "threads",
            "time",
            "warmup_time",
            "rate",
            "arrival",
            "rand_seed",
            "mysql_ignore_errors",
            "max_retries",
            "isolation",
            "db_ps_mode",
        ),
        defaults={"threads": 8, "time": 5.0, "warmup_time": 2.0},
        helps={"time": "Seconds of load before each kill, and up to 1 s more at random."},
    ),
    "watch": PlanCommand(
        "",
        "trial",
        only=(
            "at",
            "guard",
            "time",
            "interval",
            "percentile",
            "rand_seed",
            "host_metrics",
            "no_waits",
            "no_black_box",
            "no_keys",
            *REPLICAS,
        ),
        defaults={"time": None},
        helps={"time": "Seconds to watch; 0 for no limit."},
    ),
    "doctor": PlanCommand("", only=("threads", "rate")),
    "cluster": PlanCommand("cluster", without=("on_host_loss",)),
}


def command_of(plan: RunPlan) -> str:
    if plan.is_watch:
        return "watch"
    if plan.probe is not None:
        return "probe"
    if plan.tune is not None:
        return "tune"
    return "live" if plan.starts_idle else "run"


def given_options(plan: RunPlan, command: str) -> Iterator[tuple[BoundOption, Any]]:
    """The options that the command needs for this plan, with their values."""
    known = PLAN_COMMANDS[command]
    for key, (part, each) in known.options.items():
        holder = getattr(plan, part) if part else plan
        if holder is None or (each.option.when is not None and not each.option.when(plan)):
            continue
        value = each.value(holder, plan)
        if value != known.default(key) or (each.option.always is not None and each.option.always(plan)):
            yield each, value


def option_words(plan: RunPlan, command: str = "", without: Container[str] = ()) -> list[str]:
    """The words of the command line that makes the plan again; `without` are keys of options to leave out."""
    return [
        word
        for each, value in given_options(plan, command or command_of(plan))
        if each.key not in without
        for word in each.words(value)
    ]


def sysbench_words(plan: RunPlan, without: Container[str] = ()) -> list[str]:
    """The words of sysbench's command line for the plan, without the options that sysbench does not have."""
    words = []
    for _, each in PLAN_COMMANDS["run"].options.values():
        if not each.option.sysbench or each.key in without:
            continue
        is_default = getattr(plan, each.field) == SYSBENCH_DEFAULTS.get(each.key, each.default)
        if is_default and not (each.option.always and each.option.always(plan)):
            continue
        value = getattr(plan, each.field)
        text = each.option.sysbench(value) if callable(each.option.sysbench) else each.format(value)
        words.append(f"{each.name}={text}")
    return words


SYSBENCH_DEFAULTS = {"report_interval": 0.0}
"""Defaults of sysbench that differ from ours."""


def setup_rows(plan: RunPlan) -> Sequence[tuple[str, str]]:
    """Label and value of each option of the load that a reader of the report needs: those with another value
    than the default, and those that every command line has.
    """
    rows = []
    for each, value in given_options(plan, command_of(plan)):
        if value is True and each.is_switch:
            text = "on"
        elif value is None and each.is_number:
            text = "no limit"
        elif each.is_timed:
            text = ", ".join(f"{format_duration(seconds)} {what}" for seconds, what in value)
        else:
            text = ", ".join(value) if each.is_repeatable else each.format(value)
        if text:
            rows.append((each.option.label or each.name.removeprefix("--").replace("-", " "), text))
    return rows
