"""Options of a load, named as in sysbench, and the plan made from them.

The options of a planned load are `--plan` and its short forms `--ramp` and `--ramp-rate`.
"""

import os
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from tuibench.cli.options.cluster_options import ClusterOptions
from tuibench.cli.output.log import info
from tuibench.cli.parsing.declarations import Option
from tuibench.cli.parsing.option_values import (
    check_choice,
    check_range,
    parse_client_delay,
    parse_error_numbers,
    parse_percentiles,
)
from tuibench.errors import UsageError
from tuibench.model.plan import Arrival, Backlog, EngineChoice, OnError, OptionValue, RunPlan
from tuibench.model.schedule import (
    MAX_RATE,
    MAX_THREADS,
    Quantity,
    RampStage,
    Schedule,
    first_level,
    parse_schedule,
    total_seconds,
)
from tuibench.model.sql_errors import IGNORED_ERRORS

PLAN_HELP = "Stages of THREADS:TIME, FIRST..LAST/TIME or rate N:TIME: 8:30s,16..64/1m. Instead of --threads."
RAMP_HELP = "A rising number of threads: 1..128/60s, or '1..128/60s doubling'."
RAMP_RATE_HELP = "A rising rate: 100..2000/60s."


def schedule_from_options(plan: str, ramp: str, ramp_rate: str) -> Schedule:
    """The schedule; empty without one. Raises UsageError for more than one option, or an invalid one."""
    given = {"--plan": plan, "--ramp": ramp, "--ramp-rate": ramp_rate}
    named = [name for name, text in given.items() if text]
    if not named:
        return ()
    if len(named) > 1:
        raise UsageError(
            f"{' and '.join(named)}: one plan at a time", "--plan takes any sequence: 1..64/1m,64:2m"
        )
    return _parse_schedule_option(named[0], given[named[0]])


THREAD_INIT_HELP = "Time limit for opening the connections in seconds."
WORKERS_HELP = "Worker processes (on each host); 0: by number of cores."
RUN_DIR_HELP = "Folder for records instead of the default."
OPENING_SECONDS = 30.0
ENGINE_HELP = "Load engine: native (Rust) or asyncio (Python); auto: native where it can run the load."


def run_seconds(schedule: Schedule, given: float | None, default: float) -> float | None:
    """Duration, None for no limit. A limited run lasts as long as its plan, unless `given`."""
    if given is not None:
        return given or None
    return total_seconds(schedule) if schedule and default else default or None


def initial_threads(schedule: Schedule, threads: int | None) -> int:
    """Initial threads: the plan's, if it sets threads."""
    return int(first_level(schedule, Quantity.THREADS) or (1 if threads is None else threads))


def unused_threads_note(schedule: Schedule, threads: int | None) -> str:
    """Note that the plan's threads replace the given ones; empty if there is no conflict."""
    planned = first_level(schedule, Quantity.THREADS)
    if not planned or threads is None or threads == planned:
        return ""
    return f"--threads={threads} is not used: the plan begins with {planned:g} threads"


def initial_rate(schedule: Schedule, rate: float) -> float:
    """Initial rate: the plan's, if it starts with one."""
    begins_with_rate = schedule and schedule[0].quantity is Quantity.RATE
    return first_level(schedule, Quantity.RATE) or 0.0 if begins_with_rate else rate


def _parse_schedule_option(name: str, text: str) -> Schedule:
    try:
        schedule = parse_schedule(text, Quantity.RATE if name == "--ramp-rate" else Quantity.THREADS)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from error
    if name != "--plan" and not (len(schedule) == 1 and isinstance(schedule[0], RampStage)):
        raise UsageError(f"{name} takes one ramp, not '{text}'", "FIRST..LAST/TIME, such as 1..128/60s")
    return schedule


def seed_or_random(given: int) -> int:
    """Seed of a run; 0 selects a random one. Avoids `secrets`, which is slow to import."""
    return given or int.from_bytes(os.urandom(4)) >> 1


CONNECTIONS = "Connections"
TRANSACTIONS, FIGURES = "Transactions", "Output"
"""Further sections of the help, beside that of the class."""

_connection_option = partial(Option, section=CONNECTIONS)
_transaction_option = partial(Option, section=TRANSACTIONS)
_output_option = partial(Option, section=FIGURES)


RUN_SECONDS = 10.0
"""Default duration of `run`, as in sysbench; the live screen runs until it is stopped."""

MAX_USERS = 1_000_000
MAX_CONNECT_RATE = 10_000.0
ALL_ERRORS = "all"
ISOLATION_LEVELS = ("read-uncommitted", "read-committed", "repeatable-read", "serializable")
PREPARED_MODES = {"auto": True, "disable": False}


@dataclass(frozen=True)
class RunOptions(ClusterOptions):
    """Options of every command that drives a load."""

    SECTION: ClassVar = "Load"
    LEAST_THREADS: ClassVar = 1

    threads: Annotated[
        int | None, Option("--threads", "--num-threads", help="Concurrent connections [1].")
    ] = None
    time: Annotated[
        float | None,
        Option("--time", "--max-time", help="Seconds to run; 0 for no limit [run: 10, live: 0]."),
    ] = None
    events: Annotated[
        int, Option("--events", "--max-requests", help="Transactions to run; 0 for no limit.")
    ] = 0
    warmup_time: Annotated[float, Option("--warmup-time", help="Seconds to run before measuring.")] = 0
    rate: Annotated[
        float, Option("--rate", "--tx-rate", help="Target transactions per second; 0 for no limit.")
    ] = 0
    plan_text: Annotated[str, Option("--plan", help=PLAN_HELP)] = ""
    ramp: Annotated[str, Option("--ramp", help=RAMP_HELP)] = ""
    ramp_rate: Annotated[str, Option("--ramp-rate", help=RAMP_RATE_HELP)] = ""
    arrival: Annotated[
        str, Option("--arrival", help="With a rate: poisson (at random) or constant (evenly spaced).")
    ] = Arrival.POISSON
    backlog: Annotated[str, Option("--backlog", help="Transactions due during an outage: keep or drop.")] = (
        Backlog.KEEP
    )
    interval: Annotated[float, _output_option("--interval", help="Seconds between samples.")] = 1
    percentile: Annotated[
        str,
        _output_option(
            "--percentile", help="Percentiles of the summary, the first also of the lines; 0: none."
        ),
    ] = "95"
    rand_seed: Annotated[
        int, _transaction_option("--rand-seed", help="Seed of all random values; 0 for a new one.")
    ] = 0
    mysql_ignore_errors: Annotated[
        str, _transaction_option("--mysql-ignore-errors", help="Error numbers to retry after, or all.")
    ] = ",".join(map(str, IGNORED_ERRORS))
    on_error: Annotated[
        str,
        _transaction_option(
            "--on-error", help="Any other error: stop the run, or continue with the next transaction."
        ),
    ] = OnError.STOP
    max_retries: Annotated[int, _transaction_option("--max-retries", help="Retries of a transaction.")] = 100
    db_ps_mode: Annotated[
        str,
        _transaction_option(
            "--db-ps-mode", help="auto: statements are prepared; disable: they are sent as text."
        ),
    ] = "auto"
    isolation: Annotated[
        str,
        _transaction_option(
            "--isolation", help=f"Isolation level of the load: {', '.join(ISOLATION_LEVELS)}."
        ),
    ] = ""
    users: Annotated[
        int,
        _connection_option(
            "--users",
            help="Users who share the --threads connections like a pool; their wait counts as latency.",
        ),
    ] = 0
    idle_connections: Annotated[
        int, _connection_option("--idle-connections", help="Additional idle connections.")
    ] = 0
    reconnect: Annotated[
        int,
        _connection_option(
            "--reconnect", help="Each connection logs in again after this many transactions; 0: never."
        ),
    ] = 0
    connect_rate: Annotated[
        float,
        _connection_option("--connect-rate", help="Additional logins per second, each followed by a logout."),
    ] = 0
    thread_init_timeout: Annotated[float, Option("--thread-init-timeout", help=THREAD_INIT_HELP)] = (
        OPENING_SECONDS
    )
    workers: Annotated[int, Option("--workers", help=WORKERS_HELP)] = 0
    engine: Annotated[str, Option("--engine", help=ENGINE_HELP)] = EngineChoice.AUTO
    client_delay: Annotated[
        str, Option("--client-delay", help="Simulate a network delay: 20ms on each round trip (us, ms, s).")
    ] = "0"
    yes_this_server: Annotated[
        bool,
        Option(
            "--yes-this-server",
            help="Allow setting changes although the server looks like production.",
        ),
    ] = False
    run_dir: Annotated[str, Option("--run-dir", help=RUN_DIR_HELP)] = ""

    def plan(
        self, profile: str, profile_options: dict[str, OptionValue], default_seconds: float = 0.0
    ) -> RunPlan:
        """The plan. Raises UsageError for numbers out of range, and unknown choices."""
        self._check_ranges()
        schedule = schedule_from_options(self.plan_text, self.ramp, self.ramp_rate)
        if note := unused_threads_note(schedule, self.threads):
            info(f"tuibench: {note}")
        from tuibench import paths

        paths.keep_records_in(self.run_dir)
        return RunPlan(
            profile=profile,
            options=profile_options,
            threads=initial_threads(schedule, self.threads),
            seconds=run_seconds(schedule, self.time, default_seconds),
            events=self.events or None,
            warmup_seconds=self.warmup_time,
            rate=initial_rate(schedule, self.rate),
            schedule=schedule,
            arrival=check_choice("--arrival", self.arrival, Arrival),
            backlog=check_choice("--backlog", self.backlog, Backlog),
            interval_seconds=self.interval,
            opening_seconds=self.thread_init_timeout,
            seed=seed_or_random(self.rand_seed),
            percentiles=parse_percentiles(self.percentile),
            ignored_errors=None
            if self.mysql_ignore_errors == ALL_ERRORS
            else parse_error_numbers("--mysql-ignore-errors", self.mysql_ignore_errors),
            on_error=check_choice("--on-error", self.on_error, OnError),
            max_retries=self.max_retries,
            prepared=PREPARED_MODES[check_choice("--db-ps-mode", self.db_ps_mode, PREPARED_MODES)],
            isolation=self.isolation and check_choice("--isolation", self.isolation, ISOLATION_LEVELS),
            workers=self.workers or None,
            engine=check_choice("--engine", self.engine, EngineChoice),
            client_delay_ms=parse_client_delay(self.client_delay),
            idle_connections=self.idle_connections,
            reconnect=self.reconnect,
            connect_rate=self.connect_rate,
            users=self.users,
            cluster=self.cluster_plan(),
        )

    def _check_ranges(self) -> None:
        check_range("--threads", 1 if self.threads is None else self.threads, self.LEAST_THREADS, MAX_THREADS)
        check_range("--time", self.time or 0, 0)
        check_range("--events", self.events, 0, 10**15)
        check_range("--warmup-time", self.warmup_time, 0)
        check_range("--rate", self.rate, 0, MAX_RATE)
        check_range("--interval", self.interval, 0.1, 3600)
        check_range("--max-retries", self.max_retries, 0)
        check_range("--thread-init-timeout", self.thread_init_timeout, 0.1, 86_400)
        check_range("--workers", self.workers, 0, 1024)
        check_range("--users", self.users, 0, MAX_USERS)
        check_range("--idle-connections", self.idle_connections, 0, MAX_THREADS)
        check_range("--reconnect", self.reconnect, 0, 10**9)
        check_range("--connect-rate", self.connect_rate, 0, MAX_CONNECT_RATE)
        if self.users and (self.rate or self.ramp_rate or "rate" in self.plan_text):
            raise UsageError(
                "--users and a rate exclude each other",
                "use only one of them",
            )
