"""What `tuibench sweep` is asked for: the axes of the matrix, and how its results are shown."""

from dataclasses import dataclass
from typing import Annotated

from tuibench import suggestions
from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.run_options import RunOptions
from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.model.sweep import CellOrder, SweepPlan
from tuibench.session.control.limits import checked_threads
from tuibench.session.sweep.planning import build_cases, build_variants, parse_profiles, parse_threads

CELL_SECONDS = 10.0
WARMUP_SECONDS = 2.0
MAX_REPEATS = 1000
MAX_CELLS = 10_000


@dataclass(frozen=True)
class SweepOptions:
    """The axes, and what happens around them."""

    threads: Annotated[
        str, Option("--threads", "--num-threads", help="Connections that work at a time: 4,8,16,32.")
    ] = "1"
    preset: Annotated[
        str, Option("--preset", help="Settings by name, one after another: durable,relaxed,unsafe.")
    ] = ""
    setting: Annotated[
        list[str] | None,
        Option("--setting", help="A setting and its values: sync_binlog=0,1; may be given again."),
    ] = None
    repeat: Annotated[int, Option("--repeat", help="Runs of each combination.")] = 1
    order: Annotated[
        str,
        Option(
            "--order",
            help="interleaved: settings side by side, rounds to and fro, against drift; "
            "random: shuffled rounds; given.",
        ),
    ] = CellOrder.INTERLEAVED
    time: Annotated[float, Option("--time", "--max-time", help="Seconds that each cell is measured.")] = (
        CELL_SECONDS
    )
    warmup_time: Annotated[
        float, Option("--warmup-time", help="Seconds each cell runs before it is measured.")
    ] = WARMUP_SECONDS
    prepare: Annotated[bool, Option("--prepare", help="Make the tables, once for each size of them.")] = False
    create_database: Annotated[
        bool, Option("--create-database", help="With --prepare: make the database if it is missing.")
    ] = False
    cleanup: Annotated[
        bool, Option("--cleanup", help="Drop the tables that were made with --prepare, in the end.")
    ] = False

    def plan(
        self,
        profiles: str,
        given: dict[str, OptionValue],
        options: RunOptions,
        adhoc: AdhocSqlOptions | None = None,
    ) -> SweepPlan:
        """The matrix meant. Raises UsageError for what cannot be."""
        self._check()
        threads = parse_threads(self.threads)
        for each in threads:
            checked_threads(each)
        load = RunOptions(**{**vars(options), "time": self.time, "warmup_time": self.warmup_time})
        names = parse_profiles(profiles)
        base = (adhoc or AdhocSqlOptions()).apply_to(load.plan(names[0], {}, CELL_SECONDS))
        if base.seconds is None:
            raise UsageError("each cell of a sweep must come to an end", "give --time, in seconds")
        if self.prepare and base.profile_text:
            raise UsageError("SQL of one's own has no tables to --prepare", "tuibench prepare makes some")
        plan = SweepPlan(
            cases=build_cases(names, given, max(threads), base.profile_text),
            variants=build_variants(self.preset, self.setting or ()),
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
            raise UsageError(
                "--cleanup drops what --prepare has made, and nothing else", "see tuibench cleanup"
            )
