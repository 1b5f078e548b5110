"""What `tuibench sweep` is asked for: the axes of the matrix, and how its results are shown."""

from dataclasses import dataclass
from typing import Annotated

import typer

from tuibench.cli.own_sql import OwnSql
from tuibench.cli.run_options import RunOptions
from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.model.sweep import Order, SweepPlan
from tuibench.session.ranges import checked_threads
from tuibench.session.sweeping.planning import cases_of, profiles_of, threads_of, variants_of
from tuibench.workload import nearest

CELL_SECONDS = 10.0
WARMUP_SECONDS = 2.0
MOST_REPEATS = 1000
MOST_CELLS = 10_000


@dataclass(frozen=True)
class SweepOptions:
    """The axes, and what happens around them."""

    threads: Annotated[
        str, typer.Option("--threads", "--num-threads", help="Connections that work at a time: 4,8,16,32.")
    ] = "1"
    preset: Annotated[
        str, typer.Option("--preset", help="Settings by name, one after another: durable,relaxed,unsafe.")
    ] = ""
    setting: Annotated[
        list[str] | None,
        typer.Option("--setting", help="A setting and its values: sync_binlog=0,1; may be given again."),
    ] = None
    repeat: Annotated[int, typer.Option("--repeat", help="Runs of each combination.")] = 1
    order: Annotated[
        str,
        typer.Option(
            "--order",
            help="interleaved: settings side by side, rounds to and fro, against drift; "
            "random: shuffled rounds; given.",
        ),
    ] = Order.INTERLEAVED
    time: Annotated[
        float, typer.Option("--time", "--max-time", help="Seconds that each cell is measured.")
    ] = CELL_SECONDS
    warmup_time: Annotated[
        float, typer.Option("--warmup-time", help="Seconds each cell runs before it is measured.")
    ] = WARMUP_SECONDS
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Make the tables, once for each size of them.")
    ] = False
    create_database: Annotated[
        bool, typer.Option("--create-database", help="With --prepare: make the database if it is missing.")
    ] = False
    cleanup: Annotated[
        bool, typer.Option("--cleanup", help="Drop the tables that were made with --prepare, in the end.")
    ] = False

    def plan(
        self, profiles: str, given: dict[str, OptionValue], options: RunOptions, own: OwnSql | None = None
    ) -> SweepPlan:
        """The matrix meant. Raises UsageError for what cannot be."""
        self._check()
        threads = threads_of(self.threads)
        for each in threads:
            checked_threads(each)
        load = RunOptions(**{**vars(options), "time": self.time, "warmup_time": self.warmup_time})
        names = profiles_of(profiles)
        base = (own or OwnSql()).into(load.plan(names[0], {}, CELL_SECONDS))
        if base.seconds is None:
            raise UsageError("each cell of a sweep must come to an end", "give --time, in seconds")
        if self.prepare and base.profile_text:
            raise UsageError("SQL of one's own has no tables to --prepare", "tuibench prepare makes some")
        plan = SweepPlan(
            cases=cases_of(names, given, max(threads), base.profile_text),
            variants=variants_of(self.preset, self.setting or ()),
            threads=threads,
            repeats=self.repeat,
            order=Order(self.order),
            base=base,
            prepare=self.prepare,
            cleanup=self.cleanup,
        )
        if plan.cell_count > MOST_CELLS:
            raise UsageError(f"a sweep has {MOST_CELLS:,} cells at most, this one {plan.cell_count:,}")
        return plan

    def _check(self) -> None:
        if not 1 <= self.repeat <= MOST_REPEATS:
            raise UsageError(f"--repeat must be between 1 and {MOST_REPEATS:,}, not {self.repeat:,}")
        if self.order not in tuple(Order):
            raise UsageError(f"--order: '{self.order}' is unknown", nearest.hint(self.order, tuple(Order)))
        if self.create_database and not self.prepare:
            raise UsageError("--create-database is for the tables of --prepare", "give that, too")
        if self.cleanup and not self.prepare:
            raise UsageError(
                "--cleanup drops what --prepare has made, and nothing else", "see tuibench cleanup"
            )
