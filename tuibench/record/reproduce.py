"""The commands that repeat a recorded run: ours, and sysbench's where it has the same test.

What was steered on the way is told as the commands that would do it again, after so many seconds.
"""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.model.event import Event, EventKind
from tuibench.model.plan import IGNORED_ERRORS, Plan
from tuibench.model.schedule_text import schedule_text
from tuibench.record.command_line import (
    PASSWORD,
    SYSBENCH_TESTS,
    line_of,
    load_words,
    option_words,
    server_words,
)
from tuibench.record.run import Run
from tuibench.units import clock

STEERED = frozenset(
    {EventKind.THREADS, EventKind.RATE, EventKind.SETTING, EventKind.WEIGHTS, EventKind.DELAY}
)


class Commands(NamedTuple):
    """`prepare` is None without tables to make, `sysbench` for what it has no test of.

    `by_hand` are changes on the way, in words.
    """

    prepare: str | None
    tuibench: str
    sysbench: str | None
    by_hand: tuple[str, ...]


class Option(NamedTuple):
    """One option of `run`: its value in a plan, None where that is the default."""

    name: str
    value: Callable[[Plan], str | None]
    in_sysbench: bool = False


OPTIONS = (
    Option("threads", lambda plan: None if plan.schedule else str(plan.threads), True),
    Option("time", lambda plan: None if plan.schedule else f"{plan.seconds or 0:g}", True),
    Option("events", lambda plan: str(plan.events) if plan.events else None, True),
    Option("warmup-time", lambda plan: f"{plan.warmup_seconds:g}" if plan.warmup_seconds else None, True),
    Option("rate", lambda plan: f"{plan.rate:g}" if plan.rate and not plan.schedule else None, True),
    Option("plan", lambda plan: schedule_text(plan.schedule) if plan.schedule else None),
    Option("rand-seed", lambda plan: str(plan.seed), True),
    Option("arrival", lambda plan: str(plan.arrival) if plan.rate and plan.arrival != "poisson" else None),
    Option("backlog", lambda plan: str(plan.backlog) if plan.rate and plan.backlog != "keep" else None),
    Option("interval", lambda plan: f"{plan.interval_seconds:g}" if plan.interval_seconds != 1 else None),
    Option("mysql-ignore-errors", lambda plan: _ignored(plan), True),
    Option("on-error", lambda plan: str(plan.on_error) if plan.on_error != "stop" else None),
    Option("db-ps-mode", lambda plan: None if plan.prepared else "disable", True),
    Option("isolation", lambda plan: plan.isolation or None),
    Option("workers", lambda plan: str(plan.workers) if plan.workers else None),
    Option("client-delay", lambda plan: f"{plan.client_delay_ms:g}ms" if plan.client_delay_ms else None),
)


def commands(run: Run) -> Commands:
    """What to type to have this run again."""
    plan, target = run.plan.plan, run.plan.target
    words = [(option, value) for option in OPTIONS if (value := option.value(plan)) is not None]
    ours = [f"--{option.name}={value}" for option, value in words]
    theirs = [f"--{option.name}={value}" for option, value in words if option.in_sysbench]
    own = option_words(plan.options)
    sysbench = ["sysbench", plan.profile, *server_words(target, "mysql-"), f"--mysql-password={PASSWORD}"]
    return Commands(
        prepare=None
        if plan.sql_words
        else line_of(["tuibench", "prepare", plan.profile, *server_words(target, ""), *own]),
        tuibench=line_of(["tuibench", "run", *load_words(plan), *server_words(target, ""), *ours, *own]),
        sysbench=line_of([*sysbench, *theirs, *own, "run"]) if plan.profile in SYSBENCH_TESTS else None,
        by_hand=tuple(_told(event) for event in run.events if _is_steered(event)),
    )


def _is_steered(event: Event) -> bool:
    return event.kind in STEERED and event.elapsed_seconds > 0 and event.marker is not None


def _told(event: Event) -> str:
    return f"after {clock(event.elapsed_seconds)}: {event.text}"


def _ignored(plan: Plan) -> str | None:
    if plan.ignored_errors == IGNORED_ERRORS:
        return None
    return "all" if plan.ignored_errors is None else ",".join(map(str, plan.ignored_errors))
