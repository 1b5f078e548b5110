"""How hard and how long to run: sysbench's options, and the profile's own behind them."""

import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from tuibench import paths
from tuibench.cli.planning import (
    PLAN_HELP,
    RAMP_HELP,
    RAMP_RATE_HELP,
    first_rate,
    first_threads,
    schedule_of,
    seconds_of,
    unused_threads,
)
from tuibench.errors import UsageError
from tuibench.model.duration import delay_ms_in
from tuibench.model.limits import MAX_RATE, MAX_THREADS
from tuibench.model.plan import IGNORED_ERRORS, Arrival, Backlog, OnError, OptionValue, Plan
from tuibench.model.target import Target
from tuibench.session.ranges import checked_delay_ms
from tuibench.session.spec import SessionSpec
from tuibench.workload import library

CONTEXT = {
    "help_option_names": ["--help"],
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": True,
}
"""Options the parser does not know are the profile's: --tables, --table-size, --point-selects, …"""

LARGEST_SEED = 2**31
MOST_CHECKPOINTS, LATEST_CHECKPOINT = 256, 2**31 - 1
"""sysbench's limits."""


def _option(*names: str, help: str, section: str | None = None) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help, rich_help_panel=section)
    return option


TRANSACTIONS, FIGURES = "Transactions", "What it prints and leaves"
"""Sections of the help beside that of the class."""


RUN_SECONDS = 10.0
"""How long `run` runs when nobody says, as sysbench; the live monitor goes on until it is told to stop."""

ALL = "all"
ISOLATION_LEVELS = ("read-uncommitted", "read-committed", "repeatable-read", "serializable")
SWITCH = {"auto": True, "disable": False}


@dataclass(frozen=True)
class RunOptions:
    """Options of every command that drives a load."""

    SECTION: ClassVar = "Load"

    threads: Annotated[
        int | None, _option("--threads", "--num-threads", help="Connections that work at a time [1].")
    ] = None
    time: Annotated[
        float | None,
        _option("--time", "--max-time", help="Seconds to run; 0 for no limit [run: 10, live: 0]."),
    ] = None
    events: Annotated[
        int, _option("--events", "--max-requests", help="Transactions to run; 0 for no limit.")
    ] = 0
    warmup_time: Annotated[float, _option("--warmup-time", help="Seconds to run before measuring.")] = 0
    rate: Annotated[
        float, _option("--rate", "--tx-rate", help="Transactions to start a second; 0 for as many as can be.")
    ] = 0
    plan_text: Annotated[str, _option("--plan", help=PLAN_HELP)] = ""
    ramp: Annotated[str, _option("--ramp", help=RAMP_HELP)] = ""
    ramp_rate: Annotated[str, _option("--ramp-rate", help=RAMP_RATE_HELP)] = ""
    arrival: Annotated[
        str, _option("--arrival", help="With a rate: poisson (at random) or constant (evenly spaced).")
    ] = Arrival.POISSON
    backlog: Annotated[
        str, _option("--backlog", help="What came due while the server was away: keep it, or drop it.")
    ] = Backlog.KEEP
    interval: Annotated[float, _option("--interval", help="Seconds between samples.", section=FIGURES)] = 1
    percentile: Annotated[
        str,
        _option(
            "--percentile",
            help="Percentiles of the summary, the first also of the lines; 0: none.",
            section=FIGURES,
        ),
    ] = "95"
    rand_seed: Annotated[
        int, _option("--rand-seed", help="Seed of all random values; 0 for a new one.", section=TRANSACTIONS)
    ] = 0
    mysql_ignore_errors: Annotated[
        str,
        _option(
            "--mysql-ignore-errors", help="Error numbers to try again after, or all.", section=TRANSACTIONS
        ),
    ] = ",".join(map(str, IGNORED_ERRORS))
    on_error: Annotated[
        str,
        _option(
            "--on-error",
            help="Any other error: stop the run, or continue with the next transaction.",
            section=TRANSACTIONS,
        ),
    ] = OnError.STOP
    max_retries: Annotated[
        int, _option("--max-retries", help="Tries of a transaction after its first.", section=TRANSACTIONS)
    ] = 100
    db_ps_mode: Annotated[
        str,
        _option(
            "--db-ps-mode",
            help="auto: statements are prepared; disable: they are sent as text.",
            section=TRANSACTIONS,
        ),
    ] = "auto"
    isolation: Annotated[
        str,
        _option(
            "--isolation",
            help=f"Isolation level of the load: {', '.join(ISOLATION_LEVELS)}.",
            section=TRANSACTIONS,
        ),
    ] = ""
    thread_init_timeout: Annotated[
        float, _option("--thread-init-timeout", help="Seconds the connections may take to open.")
    ] = 30
    workers: Annotated[int, _option("--workers", help="Worker processes; 0 to choose by cores.")] = 0
    client_delay: Annotated[
        str, _option("--client-delay", help="Simulate a network: 20ms more on each round trip (us, ms, s).")
    ] = "0"
    yes_this_server: Annotated[
        bool,
        _option(
            "--yes-this-server", help="Its settings may be changed though it looks like production; once."
        ),
    ] = False
    run_dir: Annotated[
        str, _option("--run-dir", help="Folder for everything written, instead of the usual ones.")
    ] = ""

    def plan(
        self, profile: str, profile_options: dict[str, OptionValue], default_seconds: float = 0.0
    ) -> Plan:
        """The plan meant. Raises UsageError for numbers out of range, and words that are no choice."""
        self._check_ranges()
        schedule = schedule_of(self.plan_text, self.ramp, self.ramp_rate)
        if note := unused_threads(schedule, self.threads):
            typer.echo(f"tuibench: {note}", err=True)
        if self.run_dir:
            os.environ["TUIBENCH_HOME"] = os.path.abspath(self.run_dir)
        return Plan(
            profile=profile,
            options=profile_options,
            threads=first_threads(schedule, self.threads),
            seconds=seconds_of(schedule, self.time, default_seconds),
            events=self.events or None,
            warmup_seconds=self.warmup_time,
            rate=first_rate(schedule, self.rate),
            schedule=schedule,
            arrival=Arrival(_choice("--arrival", self.arrival, tuple(Arrival))),
            backlog=Backlog(_choice("--backlog", self.backlog, tuple(Backlog))),
            interval_seconds=self.interval,
            opening_seconds=self.thread_init_timeout,
            seed=self.rand_seed or secrets.randbelow(LARGEST_SEED),
            percentiles=_percentiles(self.percentile),
            ignored_errors=None
            if self.mysql_ignore_errors == ALL
            else _numbers("--mysql-ignore-errors", self.mysql_ignore_errors),
            on_error=OnError(_choice("--on-error", self.on_error, tuple(OnError))),
            max_retries=self.max_retries,
            prepared=SWITCH[_choice("--db-ps-mode", self.db_ps_mode, tuple(SWITCH))],
            isolation=self.isolation and _choice("--isolation", self.isolation, ISOLATION_LEVELS),
            workers=self.workers or None,
            client_delay_ms=client_delay_ms(self.client_delay),
        )

    def _check_ranges(self) -> None:
        within("--threads", 1 if self.threads is None else self.threads, 1, MAX_THREADS)
        within("--time", self.time or 0, 0, 10**9)
        within("--events", self.events, 0, 10**15)
        within("--warmup-time", self.warmup_time, 0, 10**9)
        within("--rate", self.rate, 0, MAX_RATE)
        within("--interval", self.interval, 0.1, 3600)
        within("--max-retries", self.max_retries, 0, 10**9)
        within("--thread-init-timeout", self.thread_init_timeout, 0.1, 86_400)
        within("--workers", self.workers, 0, 1024)


def checkpoints(text: str) -> tuple[int, ...]:
    """`10,60`: seconds after the start, in any order. Raises UsageError for what sysbench refuses, too."""
    try:
        wanted = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError as error:
        raise UsageError(
            f"--report-checkpoints takes whole seconds separated by commas, not '{text}'",
            "for example 10,60,300",
        ) from error
    for seconds in wanted:
        within("--report-checkpoints", seconds, 0, LATEST_CHECKPOINT)
    if len(wanted) > MOST_CHECKPOINTS:
        raise UsageError(f"--report-checkpoints takes {MOST_CHECKPOINTS} checkpoints at most")
    return tuple(seconds for seconds in wanted if seconds)


def session_spec(
    plan: Plan, target: Target, inherit_fds: tuple[int, ...] = (), *, yes_this_server: bool = False
) -> SessionSpec:
    """A session that starts now, named after its time and profile."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.path.basename(plan.profile).removesuffix('.toml')}"
    directory = paths.runs_dir() / stem
    number = 2
    while directory.exists():
        directory = paths.runs_dir() / f"{stem}-{number}"
        number += 1
    return SessionSpec(
        session=directory.name,
        plan=plan,
        target=target,
        run_directory=str(directory),
        inherit_fds=inherit_fds,
        yes_this_server=yes_this_server,
    )


def profile_and_options(first: str, arguments: Sequence[str]) -> tuple[str, dict[str, OptionValue]]:
    """The profile's name and its options, wherever the name stands among them, as sysbench allows.

    `first` is what the parser took for the name: an option of the profile, if those come first.
    """
    if not first.startswith("--"):
        return first, profile_options(arguments)
    words = [first, *arguments]
    for place, word in enumerate(words):
        follows_option = place > 0 and words[place - 1].startswith("--") and "=" not in words[place - 1]
        if not word.startswith("--") and (not follows_option or word in library.available()):
            return word, profile_options(words[:place] + words[place + 1 :])
    raise UsageError("no profile is named", "give one, such as oltp_read_write")


def profile_options(arguments: Sequence[str]) -> dict[str, OptionValue]:
    """The profile's options in what the parser left over: `--name=value`, `--name value`, `--flag`."""
    options: dict[str, OptionValue] = {}
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if not argument.startswith("--"):
            raise UsageError(f"'{argument}' is not an option", "options look like --table-size=1000")
        name, equals, value = argument[2:].partition("=")
        if not equals and left and not left[0].startswith("--"):
            value = left.pop(0)
        options[name.replace("-", "_")] = value
    return options


def within(name: str, value: float, low: float, high: float) -> None:
    """Raises UsageError for a value of the option `name` out of range."""
    if not low <= value <= high:
        raise UsageError(f"{name} must be between {low:,.12g} and {high:,.12g}, not {value:,.12g}")


def _numbers(name: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise UsageError(f"{name} takes error numbers separated by commas, not '{text}'") from error


def _choice(name: str, word: str, choices: Sequence[str]) -> str:
    if word not in choices:
        raise UsageError(f"{name} is one of {', '.join(choices)}, not '{word}'")
    return word


def _percentiles(text: str) -> tuple[float, ...]:
    """`95`, or several: `50,95,99.9`. `0` is none."""
    try:
        wanted = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"--percentile takes numbers separated by commas, not '{text}'") from error
    for percentile in wanted:
        within("--percentile", percentile, 0, 100)
    return tuple(percentile for percentile in wanted if percentile)


def client_delay_ms(text: str) -> float:
    """The delay of `--client-delay`. Raises UsageError for one that is none, or too long."""
    try:
        return checked_delay_ms(delay_ms_in(text))
    except UsageError as error:
        raise UsageError(f"--client-delay: {error.message}", error.hint) from error


def switch(name: str, text: str) -> bool:
    """`on` or `off`, and their kin. Raises UsageError for anything else."""
    words = {"on": True, "off": False, "1": True, "0": False, "true": True, "false": False}
    return words[_choice(name, text.lower(), tuple(words))]
