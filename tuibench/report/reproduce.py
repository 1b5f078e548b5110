"""Command lines that repeat a recorded run: tuibench's, and sysbench's if it has the same test.

Changes during the run are listed with their times. The record may come from somebody else, so each word is
quoted for the shell, and options that do more than run the load are named.
"""

import shlex
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from tuibench.base.units import hms
from tuibench.model.event import EventKind
from tuibench.model.hardware import Hardware
from tuibench.model.plan import OptionValue, RunPlan, command_of, option_words, sysbench_words
from tuibench.model.server import Target, address_options, server_words
from tuibench.model.sysbench import SYSBENCH_TESTS
from tuibench.record.reader import Run

PASSWORD = '"$MYSQL_PWD"'  # noqa: S105
"""The placeholder of a password, which is never printed."""


SYSBENCH_PASSWORD = f"--mysql-password={PASSWORD}"
SYSBENCH_NAMES = {"database": "db"}


def option_arguments(options: Mapping[str, OptionValue]) -> list[str]:
    """Options of a profile as words of a command line."""
    return [f"--{name.replace('_', '-')}={_value(value)}" for name, value in options.items()]


def _value(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def shell_line(words: Sequence[str]) -> str:
    """A command line quoted for a shell, except for the variable that contains sysbench's password."""
    return " ".join(word if word == SYSBENCH_PASSWORD else shlex.quote(word) for word in words)


ACTING = {
    "--allow-script-io": 0, "--at": 2, "--cluster": 0, "--cluster-program": 0,
    "--defaults-extra-file": 0, "--defaults-file": 0, "--host-metrics": 0, "--password-command": 0,
    "--replica": 0,
}  # fmt: skip
"""Options that run commands, read files or connect to hosts, and the number of words that follow them."""


def acting_words(line: str) -> tuple[str, ...]:
    """The options in a command line of tuibench that do more than run the load."""
    words = shlex.split(line)
    found = []
    for place, word in enumerate(words):
        name = word.partition("=")[0].replace("_", "-")
        if name in ACTING:
            found.append(" ".join(words[place : place + 1 + ACTING[name]]))
    return tuple(found)


STEERED = frozenset(
    {
        EventKind.THREADS,
        EventKind.RATE,
        EventKind.SETTING,
        EventKind.WEIGHTS,
        EventKind.DELAY,
        EventKind.HARDWARE,
        EventKind.CALLERS,
        EventKind.PAUSE,
        EventKind.RESUME,
        EventKind.KILL,
    }
)
"""What changes a load, or what it runs on."""


class ReproductionCommands(NamedTuple):
    """The commands that repeat a run."""

    prepare: str | None
    """Creates the tables; None if there are none."""
    tuibench: str
    """Repeats the run."""
    sysbench: str | None
    """The same with sysbench; None if sysbench does not have the test."""
    by_hand: tuple[str, ...]
    """What the commands do not do: the simulated hardware, and changes during the run with their times."""
    acting: tuple[str, ...]
    """Options that do more than run the load."""


LEVEL_AND_TIME = frozenset(
    {"threads", "time", "events", "warmup_time", "rate", "plan", "rand_seed", "interval", "report_interval"}
)
"""Keys of the options that a formal run sets itself: the level of the load and its duration."""


def command_line(
    plan: RunPlan,
    target: Target,
    *given: str,
    command: str = "",
    without: Container[str] = frozenset(),
) -> str:
    """The command line of a plan on this server. The words `given` precede its options; options with the keys
    `without` are left out.
    """
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
    """The command line of sysbench, see `command_line`; None for a test or a schedule that it does not
    have.
    """
    if plan.profile not in SYSBENCH_TESTS or plan.schedule:
        return None
    # These are all options of sysbench for server and login.
    values = address_options(target) | {"user": target.user, "database": target.database}
    server = [
        *[f"--mysql-{SYSBENCH_NAMES.get(name, name)}={value}" for name, value in values.items()],
        *[SYSBENCH_PASSWORD] * has_password,
    ]
    options = [*sysbench_words(plan, without), *option_arguments(plan.options)]
    return shell_line(["sysbench", plan.profile, *given, *server, *options, "run"])


def prepare_line(plan: RunPlan, target: Target) -> str | None:
    """The command line that creates the tables; None if the load has none."""
    if plan.sql_words or plan.is_watch:
        return None
    words = [plan.profile, *server_words(target), *option_arguments(plan.options)]
    return shell_line(["tuibench", "prepare", *words])


def reproduction_commands(run: Run) -> ReproductionCommands:
    """The commands that repeat a recorded run."""
    plan, target = run.plan.plan, run.plan.target
    prepare, line = prepare_line(plan, target), command_line(plan, target)
    return ReproductionCommands(
        prepare=prepare,
        tuibench=line,
        sysbench=sysbench_command_line(plan, target),
        by_hand=(
            *(
                [f"from the start: simulated hardware {plan.hardware}"]
                if plan.hardware not in (None, Hardware())
                else []
            ),
            *(
                f"after {hms(event.elapsed_seconds)}: {event.text}"
                for event in run.events
                if event.kind in STEERED and event.elapsed_seconds > 0
                if event.marker is not None and not (event.experiment and plan.has_experiment)
            ),
        ),
        acting=tuple(dict.fromkeys(each for one in (prepare, line) if one for each in acting_words(one))),
    )
