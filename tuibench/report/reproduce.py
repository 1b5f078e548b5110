"""Commands that repeat a recorded run: tuibench's, and sysbench's if it has the same test.

Changes during the run are shown as the commands that repeat them, with their times. The record may be
somebody else's: each word is quoted, and what the line would run beside the load is named.
"""

import shlex
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from tuibench.model.event import EventKind
from tuibench.model.plan import OptionValue, RunPlan, command_of, option_words, sysbench_words
from tuibench.model.server import Target, address_options, server_words
from tuibench.model.sysbench import SYSBENCH_TESTS
from tuibench.record.reader import Run
from tuibench.units import hms

PASSWORD = '"$MYSQL_PWD"'  # noqa: S105
"""The placeholder of a password, which is never printed."""


SYSBENCH_PASSWORD = f"--mysql-password={PASSWORD}"
SYSBENCH_NAMES = {"database": "db"}


def option_arguments(options: Mapping[str, OptionValue]) -> list[str]:
    return [f"--{name.replace('_', '-')}={_value(value)}" for name, value in options.items()]


def _value(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def shell_line(words: Sequence[str]) -> str:
    """A command line quoted for a shell, apart from sysbench's password, which a variable has."""
    return " ".join(word if word == SYSBENCH_PASSWORD else shlex.quote(word) for word in words)


ACTING = {
    "--allow-script-io": 0, "--at": 2, "--cluster": 0, "--cluster-program": 0,
    "--defaults-extra-file": 0, "--defaults-file": 0, "--host-metrics": 0, "--password-command": 0,
}  # fmt: skip
"""Options that run commands, read files or reach hosts, and how many words follow them."""


def acting_words(line: str) -> tuple[str, ...]:
    """What a line of tuibench does beside its load, wherever in the record it was."""
    words = shlex.split(line)
    found = []
    for place, word in enumerate(words):
        name = word.partition("=")[0].replace("_", "-")
        if name in ACTING:
            found.append(" ".join(words[place : place + 1 + ACTING[name]]))
    return tuple(found)


STEERED = frozenset(
    {EventKind.THREADS, EventKind.RATE, EventKind.SETTING, EventKind.WEIGHTS, EventKind.DELAY}
)


class ReproductionCommands(NamedTuple):
    """`prepare` is None without tables to create, `sysbench` if it does not have the test.

    `by_hand` describes changes during the run, `acting` what the lines run beside the load.
    """

    prepare: str | None
    tuibench: str
    sysbench: str | None
    by_hand: tuple[str, ...]
    acting: tuple[str, ...]


LEVEL_AND_TIME = frozenset(
    {"threads", "time", "events", "warmup_time", "rate", "plan", "rand_seed", "interval", "report_interval"}
)
"""The options that differ in a formal run: the load and its duration."""


def command_line(
    plan: RunPlan,
    target: Target,
    *given: str,
    command: str = "",
    without: Container[str] = frozenset(),
) -> str:
    """The line that makes the plan again on this server; `given` come first, in place of those `without`."""
    name = command or command_of(plan)
    load = [] if plan.is_watch else plan.sql_words or (plan.profile,)
    options = [*option_words(plan, name, without), *option_arguments(plan.options)]
    return shell_line(["tuibench", name, *load, *given, *server_words(target), *options])


def sysbench_command_line(
    plan: RunPlan,
    target: Target,
    *given: str,
    has_password: bool = True,
    without: Container[str] = frozenset(),
) -> str | None:
    """The same for sysbench; None if it does not have the test, or cannot follow a plan."""
    if plan.profile not in SYSBENCH_TESTS or plan.schedule:
        return None
    # sysbench has no other options for server and login.
    values = address_options(target) | {"user": target.user, "database": target.database}
    server = [
        *[f"--mysql-{SYSBENCH_NAMES.get(name, name)}={value}" for name, value in values.items()],
        *[SYSBENCH_PASSWORD] * has_password,
    ]
    options = [*sysbench_words(plan, without), *option_arguments(plan.options)]
    return shell_line(["sysbench", plan.profile, *given, *server, *options, "run"])


def prepare_line(plan: RunPlan, target: Target) -> str | None:
    """The line that creates the tables; None if the load has none."""
    if plan.sql_words or plan.is_watch:
        return None
    words = [plan.profile, *server_words(target), *option_arguments(plan.options)]
    return shell_line(["tuibench", "prepare", *words])


def reproduction_commands(run: Run) -> ReproductionCommands:
    plan, target = run.plan.plan, run.plan.target
    prepare, line = prepare_line(plan, target), command_line(plan, target)
    return ReproductionCommands(
        prepare=prepare,
        tuibench=line,
        sysbench=sysbench_command_line(plan, target),
        by_hand=tuple(
            f"after {hms(event.elapsed_seconds)}: {event.text}"
            for event in run.events
            if event.kind in STEERED and event.elapsed_seconds > 0
            if event.marker is not None and not event.experiment
        ),
        acting=tuple(dict.fromkeys(each for one in (prepare, line) if one for each in acting_words(one))),
    )
