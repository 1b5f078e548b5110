"""How hard and how long to run: sysbench's options, and the Plan they make."""

import os
import secrets
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from tuibench.cli.option_words import client_delay_ms, error_numbers, one_of, percentiles, within
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
from tuibench.cli.talk import say
from tuibench.model.limits import MAX_RATE, MAX_THREADS
from tuibench.model.plan import IGNORED_ERRORS, Arrival, Backlog, OnError, OptionValue, Plan

LARGEST_SEED = 2**31


def _option(*names: str, help: str, section: str | None = None) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help, rich_help_panel=section)
    return option


TRANSACTIONS, FIGURES = "Transactions", "What it prints and leaves"
"""Sections of the help beside that of the class."""


RUN_SECONDS = 10.0
"""How long `run` runs when nobody says, as sysbench; the live monitor goes on until it is told to stop."""

ALL = "all"
ISOLATION_LEVELS = ("read-uncommitted", "read-committed", "repeatable-read", "serializable")
PREPARED = {"auto": True, "disable": False}


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
            say(f"tuibench: {note}")
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
            arrival=one_of("--arrival", self.arrival, Arrival),
            backlog=one_of("--backlog", self.backlog, Backlog),
            interval_seconds=self.interval,
            opening_seconds=self.thread_init_timeout,
            seed=self.rand_seed or secrets.randbelow(LARGEST_SEED),
            percentiles=percentiles(self.percentile),
            ignored_errors=None
            if self.mysql_ignore_errors == ALL
            else error_numbers("--mysql-ignore-errors", self.mysql_ignore_errors),
            on_error=one_of("--on-error", self.on_error, OnError),
            max_retries=self.max_retries,
            prepared=PREPARED[one_of("--db-ps-mode", self.db_ps_mode, PREPARED)],
            isolation=self.isolation and one_of("--isolation", self.isolation, ISOLATION_LEVELS),
            workers=self.workers or None,
            client_delay_ms=client_delay_ms(self.client_delay),
        )

    def _check_ranges(self) -> None:
        within("--threads", 1 if self.threads is None else self.threads, 1, MAX_THREADS)
        within("--time", self.time or 0, 0)
        within("--events", self.events, 0, 10**15)
        within("--warmup-time", self.warmup_time, 0)
        within("--rate", self.rate, 0, MAX_RATE)
        within("--interval", self.interval, 0.1, 3600)
        within("--max-retries", self.max_retries, 0)
        within("--thread-init-timeout", self.thread_init_timeout, 0.1, 86_400)
        within("--workers", self.workers, 0, 1024)
