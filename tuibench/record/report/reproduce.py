"""Commands that repeat a recorded run: tuibench's, and sysbench's if it has the same test.

Changes during the run are shown as the commands that repeat them, with their times.
"""

import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from tuibench.model.cluster.plan import AGENT_PROGRAM, LEASE_SECONDS, OnHostLoss
from tuibench.model.event import Event, EventKind
from tuibench.model.plan import EngineChoice, OptionValue, RunPlan
from tuibench.model.schedule import format_schedule
from tuibench.model.sql_errors import IGNORED_ERRORS
from tuibench.model.sysbench import SYSBENCH_TESTS
from tuibench.model.target import Target
from tuibench.record.files.run import Run
from tuibench.units import hms

PASSWORD = '"$MYSQL_PWD"'  # noqa: S105
"""The placeholder of a password, which is never printed."""


def server_arguments(target: Target, prefix: str) -> list[str]:
    """The options for server and login, in the notation of either program."""
    database = "mysql-db" if prefix else "database"
    place = (
        [f"--{prefix}socket={target.socket}"]
        if target.socket
        else [f"--{prefix}host={target.host}", f"--{prefix}port={target.port}"]
    )
    return [*place, f"--{prefix}user={target.user}", f"--{database}={target.database}"]


def load_arguments(plan: RunPlan) -> Sequence[str]:
    """The arguments for the load: a profile, or ad-hoc SQL."""
    return plan.sql_words or (plan.profile,)


def option_arguments(options: Mapping[str, OptionValue]) -> list[str]:
    """The options of a profile."""
    return [f"--{name.replace('_', '-')}={_value(value)}" for name, value in options.items()]


def _value(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def shell_line(words: Sequence[str]) -> str:
    """A command line quoted for a shell; a variable is not quoted."""
    return " ".join(word if PASSWORD in word else shlex.quote(word) for word in words)


STEERED = frozenset(
    {EventKind.THREADS, EventKind.RATE, EventKind.SETTING, EventKind.WEIGHTS, EventKind.DELAY}
)


class ReproductionCommands(NamedTuple):
    """`prepare` is None without tables to create, `sysbench` if it does not have the test.

    `by_hand` describes changes during the run.
    """

    prepare: str | None
    tuibench: str
    sysbench: str | None
    by_hand: tuple[str, ...]


def _of_cluster(field: str, default: object) -> Callable[[RunPlan], str | None]:
    """The value of an option of several hosts; None without them or if it is the default."""

    def value(plan: RunPlan) -> str | None:
        given = getattr(plan.cluster, field) if plan.cluster else default
        return None if given == default else f"{given:g}" if isinstance(given, float) else str(given)

    return value


class RunOption(NamedTuple):
    """One option of `run`: its value in a plan, None for the default."""

    name: str
    value: Callable[[RunPlan], str | None]
    in_sysbench: bool = False


OPTIONS = (
    RunOption("threads", lambda plan: None if plan.schedule else str(plan.threads), True),
    RunOption("time", lambda plan: None if plan.schedule else f"{plan.seconds or 0:g}", True),
    RunOption("events", lambda plan: str(plan.events) if plan.events else None, True),
    RunOption("warmup-time", lambda plan: f"{plan.warmup_seconds:g}" if plan.warmup_seconds else None, True),
    RunOption("rate", lambda plan: f"{plan.rate:g}" if plan.rate and not plan.schedule else None, True),
    RunOption("plan", lambda plan: format_schedule(plan.schedule) if plan.schedule else None),
    RunOption("rand-seed", lambda plan: str(plan.seed), True),
    RunOption("arrival", lambda plan: str(plan.arrival) if plan.rate and plan.arrival != "poisson" else None),
    RunOption("backlog", lambda plan: str(plan.backlog) if plan.rate and plan.backlog != "keep" else None),
    RunOption("interval", lambda plan: f"{plan.interval_seconds:g}" if plan.interval_seconds != 1 else None),
    RunOption("mysql-ignore-errors", lambda plan: _ignored(plan), True),
    RunOption("on-error", lambda plan: str(plan.on_error) if plan.on_error != "stop" else None),
    RunOption("db-ps-mode", lambda plan: None if plan.prepared else "disable", True),
    RunOption("isolation", lambda plan: plan.isolation or None),
    RunOption("workers", lambda plan: str(plan.workers) if plan.workers else None),
    RunOption("engine", lambda plan: str(plan.engine) if plan.engine is not EngineChoice.AUTO else None),
    RunOption("users", lambda plan: str(plan.users) if plan.users else None),
    RunOption("idle-connections", lambda plan: str(plan.idle_connections) if plan.idle_connections else None),
    RunOption("reconnect", lambda plan: str(plan.reconnect) if plan.reconnect else None),
    RunOption("connect-rate", lambda plan: f"{plan.connect_rate:g}" if plan.connect_rate else None),
    RunOption("cluster-program", _of_cluster("program", AGENT_PROGRAM)),
    RunOption("cluster-lease", _of_cluster("lease_seconds", LEASE_SECONDS)),
    RunOption("cluster-hosts", _of_cluster("hosts", None)),
    RunOption("cluster-ca", _of_cluster("ca", "")),
    RunOption("cluster-cert", _of_cluster("cert", "")),
    RunOption("cluster-key", _of_cluster("key", "")),
    RunOption("on-host-loss", _of_cluster("on_host_loss", OnHostLoss.CONTINUE)),
    RunOption("host-metrics", lambda plan: plan.host_metrics or None),
    RunOption("max-lag", lambda plan: f"{plan.max_lag_seconds:g}s" if plan.max_lag_seconds else None),
    RunOption("client-delay", lambda plan: f"{plan.client_delay_ms:g}ms" if plan.client_delay_ms else None),
)


LEVEL_AND_TIME = frozenset(
    {"threads", "time", "events", "warmup-time", "rate", "plan", "rand-seed", "interval"}
)
"""The options that differ in a formal run: the load and its duration."""


def run_arguments(
    plan: RunPlan, *, of_sysbench: bool = False, without: Container[str] = frozenset()
) -> list[str]:
    """The options of `run`, or of sysbench, that differ from the defaults, hosts included."""
    given = [
        f"--{option.name}={value}"
        for option in OPTIONS
        if option.name not in without
        and (option.in_sysbench or not of_sysbench)
        and (value := option.value(plan)) is not None
    ]
    if plan.cluster is not None and not of_sysbench:
        given += [f"--cluster={place}" for place in plan.cluster.places]
        given += ["--cluster-insecure"] if plan.cluster.insecure else []
    return given if of_sysbench else [*given, *(f"--replica={place}" for place in plan.replicas)]


def reproduction_commands(run: Run) -> ReproductionCommands:
    """The commands that repeat this run."""
    plan, target = run.plan.plan, run.plan.target
    ours, theirs = run_arguments(plan), run_arguments(plan, of_sysbench=True)
    own = option_arguments(plan.options)
    sysbench = ["sysbench", plan.profile, *server_arguments(target, "mysql-"), f"--mysql-password={PASSWORD}"]
    return ReproductionCommands(
        prepare=None
        if plan.sql_words
        else shell_line(["tuibench", "prepare", plan.profile, *server_arguments(target, ""), *own]),
        tuibench=shell_line(
            [
                "tuibench",
                "live" if plan.starts_idle else "run",
                *load_arguments(plan),
                *server_arguments(target, ""),
                *ours,
                *own,
            ]
        ),
        sysbench=shell_line([*sysbench, *theirs, *own, "run"]) if plan.profile in SYSBENCH_TESTS else None,
        by_hand=tuple(_change_text(event) for event in run.events if _is_steered(event)),
    )


def _is_steered(event: Event) -> bool:
    return event.kind in STEERED and event.elapsed_seconds > 0 and event.marker is not None


def _change_text(event: Event) -> str:
    return f"after {hms(event.elapsed_seconds)}: {event.text}"


def _ignored(plan: RunPlan) -> str | None:
    if plan.ignored_errors == IGNORED_ERRORS:
        return None
    return "all" if plan.ignored_errors is None else ",".join(map(str, plan.ignored_errors))
