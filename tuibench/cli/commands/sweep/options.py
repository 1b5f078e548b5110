"""Options of `tuibench sweep`: the axes of the matrix, and the output of its results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import msgspec

from tuibench import suggestions
from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.run_options import RunOptions
from tuibench.cli.output.files import write_output
from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model.plan import EngineChoice, OptionValue
from tuibench.model.results.sweep import SUMMARY, CellOrder, SweepPlan

CELL_SECONDS = 10.0
WARMUP_SECONDS = 2.0
MAX_REPEATS = 1000
MAX_CELLS = 10_000


LOAD_AXES = {
    "rate": "rate",
    "client_delay": "client_delay_ms",
    "isolation": "isolation",
    "db_ps_mode": "prepared",
    "engine": "engine",
    "users": "users",
    "idle_connections": "idle_connections",
    "reconnect": "reconnect",
    "connect_rate": "connect_rate",
}
"""Options of a load that take several values in a sweep, and the plan field of each."""

NUMBERS: dict[str, type[int] | type[float]] = {
    "rate": float,
    "users": int,
    "idle_connections": int,
    "reconnect": int,
    "connect_rate": float,
}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class SweepOptions:
    """Axes of the matrix, and options of its execution."""

    threads: Annotated[
        str, Option("--threads", "--num-threads", help="Concurrent connections: 4,8,16,32.")
    ] = "1"
    preset: Annotated[str, Option("--preset", help="Presets to compare: durable,relaxed,unsafe.")] = ""
    setting: Annotated[
        list[str] | None,
        Option("--setting", help="A setting and its values: sync_binlog=0,1; repeatable."),
    ] = None
    rate: Annotated[
        str,
        Option("--rate", "--tx-rate", help="Transactions per second: 100,200; 0: no limit."),
    ] = "0"
    client_delay: Annotated[
        str, Option("--client-delay", help="Simulated network delays per round trip: 0,5ms,20ms.")
    ] = "0"
    isolation: Annotated[
        str, Option("--isolation", help="Isolation levels: read-committed,repeatable-read.")
    ] = ""
    db_ps_mode: Annotated[
        str, Option("--db-ps-mode", help="auto: statements are prepared; disable: sent as text; or both.")
    ] = "auto"
    engine: Annotated[str, Option("--engine", help="Load engines: native,asyncio.")] = EngineChoice.AUTO
    users: Annotated[str, Option("--users", help="Users who share the connections: 50,200.")] = "0"
    idle_connections: Annotated[
        str, Option("--idle-connections", help="Additional idle connections: 0,1000.")
    ] = "0"
    reconnect: Annotated[
        str, Option("--reconnect", help="Log in again after this many transactions: 0,10,1.")
    ] = "0"
    connect_rate: Annotated[str, Option("--connect-rate", help="Additional logins per second: 0,50.")] = "0"
    server_programs: Annotated[
        str,
        Option(
            "--server",
            help="Private servers: programs, such as mariadbd,/opt/mysql/bin/mysqld, or NAME:FILE,NAME:FILE.",
        ),
    ] = ""
    repeat: Annotated[int, Option("--repeat", help="Runs of each combination.")] = 1
    order: Annotated[
        str,
        Option(
            "--order",
            help="interleaved: settings in turn, in alternating order, so that drift cancels; random: "
            "shuffled rounds; given: as specified.",
        ),
    ] = CellOrder.INTERLEAVED
    time: Annotated[float, Option("--time", "--max-time", help="Measured seconds of each cell.")] = (
        CELL_SECONDS
    )
    warmup_time: Annotated[float, Option("--warmup-time", help="Warm-up seconds of each cell.")] = (
        WARMUP_SECONDS
    )
    prepare: Annotated[bool, Option("--prepare", help="Create the tables, once for each table size.")] = False
    create_database: Annotated[
        bool, Option("--create-database", help="With --prepare: create the database if it does not exist.")
    ] = False
    cleanup: Annotated[
        bool, Option("--cleanup", help="At the end, drop the tables that --prepare created.")
    ] = False

    def plan(
        self,
        profiles: str,
        given: dict[str, OptionValue],
        options: RunOptions,
        adhoc: AdhocSqlOptions | None = None,
    ) -> SweepPlan:
        """Plan of the sweep. Raises UsageError for invalid options."""
        from tuibench.session.control.limits import checked_threads
        from tuibench.session.sweep.planning import (
            build_cases,
            build_variants,
            parse_profiles,
            parse_threads,
            parse_words,
            with_loads,
        )

        self._check()
        threads = parse_threads(self.threads)
        for each in threads:
            checked_threads(each)
        names = parse_profiles(profiles)
        texts = {name: str(getattr(self, name)) for name in LOAD_AXES}
        axes = {name: parse_words(_option(name), text) for name, text in texts.items() if text}
        first = {name: words[0] for name, words in axes.items()}
        load = self._load(options, first)
        base = (adhoc or AdhocSqlOptions()).apply_to(load.plan(names[0], {}, CELL_SECONDS))
        if base.seconds is None:
            raise UsageError("each cell of a sweep needs a time limit", "give --time, in seconds")
        if self.prepare and base.profile_text:
            raise UsageError(
                "--prepare needs a profile: --sql has no tables to create",
                "create tables with tuibench prepare",
            )
        plan = SweepPlan(
            cases=build_cases(names, given, max(threads), base.profile_text),
            variants=with_loads(
                build_variants(self.preset, self.setting or ()), self._loads(options, axes, names[0])
            ),
            threads=threads,
            repeats=self.repeat,
            order=CellOrder(self.order),
            base=base,
            prepare=self.prepare,
            cleanup=self.cleanup,
        )
        if plan.cell_count > MAX_CELLS:
            raise UsageError(f"a sweep has {MAX_CELLS:,} cells at most, this one {plan.cell_count:,}")
        return plan

    def _load(self, options: RunOptions, words: Mapping[str, str]) -> RunOptions:
        """Options of a load with these values of its axes."""
        chosen: dict[str, Any] = dict(words)
        for name, number in NUMBERS.items():
            if name in chosen:
                chosen[name] = self._number(name, number, chosen[name])
        return RunOptions(**{**vars(options), **chosen, "time": self.time, "warmup_time": self.warmup_time})

    def _number(self, name: str, number: type[int] | type[float], word: str) -> int | float:
        try:
            return number(word)
        except ValueError:
            raise UsageError(
                f"{_option(name)} takes numbers separated by commas, not '{getattr(self, name)}'",
                "for example 100,200",
            ) from None

    def _loads(
        self, options: RunOptions, axes: Mapping[str, Sequence[str]], profile: str
    ) -> list[tuple[str, dict[str, OptionValue]]]:
        """Each combination of the axes with several values: name, and plan fields."""
        varied = {name: words for name, words in axes.items() if len(words) > 1}
        found = []
        for combination in product(*varied.values()):
            words = dict(zip(varied, combination, strict=True))
            first = {name: each[0] for name, each in axes.items()}
            plan = self._load(options, {**first, **words}).plan(profile, {}, CELL_SECONDS)
            fields = msgspec.to_builtins(plan)
            name = ", ".join(f"{axis.replace('_', '-')}={word}" for axis, word in words.items())
            found.append((name, {LOAD_AXES[axis]: fields[LOAD_AXES[axis]] for axis in words}))
        return found

    def _check(self) -> None:
        if not 1 <= self.repeat <= MAX_REPEATS:
            raise UsageError(f"--repeat must be between 1 and {MAX_REPEATS:,}, not {self.repeat:,}")
        if self.order not in tuple(CellOrder):
            raise UsageError(
                f"--order: '{self.order}' is unknown", suggestions.did_you_mean(self.order, tuple(CellOrder))
            )
        if self.create_database and not self.prepare:
            raise UsageError("--create-database is for the tables of --prepare", "give that, too")
        if self.cleanup and not self.prepare:
            raise UsageError("--cleanup drops only the tables that --prepare created", "see tuibench cleanup")


@dataclass(frozen=True)
class ResultOptions:
    """Destination of the results, and selection of a sweep."""

    resume: Annotated[str, Option("--resume", help="Continue the sweep in this folder with its plan.")] = ""
    show: Annotated[bool, Option("--show", help="Print the results of a recorded sweep: --show DIR.")] = False
    compare: Annotated[
        bool,
        Option("--compare", help="Print sweeps of several servers, relative to the first: DIR DIR …"),
    ] = False
    table: Annotated[
        str,
        Option("--table", help="summary, runs (one row per run), or relative (to the first settings)."),
    ] = SUMMARY
    form: Annotated[str, Option("--format", help="text, markdown, csv, json, or html with charts.")] = "text"
    out: Annotated[str, Option("--out", help="Write the results to this file, not to stdout.")] = ""

    def write(self, text: str) -> None:
        """Print or write the results. Raises UsageError if the file cannot be written."""
        write_output(self.out, (text,))
