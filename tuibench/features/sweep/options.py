"""Options of `tuibench sweep`: the axes of the matrix, and the output of its results."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated

import msgspec
import typer

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.cli import candidates
from tuibench.cli.options import AdhocSqlOptions, make_plan
from tuibench.cli.output import write_output
from tuibench.cli.typer_command import AxisValue, PlanValues
from tuibench.model.plan import OptionValue
from tuibench.model.schedule import checked_threads
from tuibench.model.sweep import SUMMARY, CellOrder, SweepPlan

MAX_REPEATS = 1000
MAX_CELLS = 10_000


class SweepOptions(msgspec.Struct, frozen=True):
    """Axes of the matrix, and options of its execution."""

    threads: Annotated[
        str, typer.Option("--threads", "--num-threads", help="Concurrent connections: 4,8,16,32.")
    ] = "1"
    preset: Annotated[
        str,
        typer.Option(
            autocompletion=candidates.presets,
            metavar="NAME,…",
            help="Presets to compare: durable,relaxed,unsafe.",
        ),
    ] = ""
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            "--set",
            autocompletion=candidates.settings,
            metavar="NAME=V,…",
            help="A setting and its values: sync_binlog=0,1; repeatable.",
        ),
    ] = None
    server_programs: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="FILE",
            help="Private servers: programs, such as mariadbd,/opt/mysql/bin/mysqld, or NAME:FILE,NAME:FILE.",
        ),
    ] = ""
    repeat: Annotated[int, typer.Option(help="Runs of each combination.")] = 1
    order: Annotated[
        str,
        typer.Option(
            metavar="ORDER",
            help="interleaved: settings in turn, in alternating order, so that drift cancels; random: "
            "shuffled rounds; given: as specified.",
        ),
    ] = CellOrder.INTERLEAVED
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Create the tables, once for each table size.")
    ] = False
    create_database: Annotated[
        bool,
        typer.Option("--create-database", help="With --prepare: create the database if it does not exist."),
    ] = False
    cleanup: Annotated[
        bool, typer.Option("--cleanup", help="At the end, drop the tables that --prepare created.")
    ] = False

    def plan(
        self,
        profiles: str,
        given: dict[str, OptionValue],
        options: PlanValues,
        adhoc: AdhocSqlOptions | None = None,
    ) -> SweepPlan:
        """The plan of the sweep. Raises UsageError for invalid options."""
        from tuibench.features.sweep.planning import (
            build_cases,
            build_variants,
            parse_profiles,
            parse_threads,
            with_loads,
        )

        if not 1 <= self.repeat <= MAX_REPEATS:
            raise UsageError(f"--repeat must be between 1 and {MAX_REPEATS:,}, not {self.repeat:,}")
        if self.order not in tuple(CellOrder):
            raise UsageError(
                f"--order: '{self.order}' is unknown", did_you_mean(self.order, tuple(CellOrder))
            )
        if self.create_database and not self.prepare:
            raise UsageError("--create-database is for the tables of --prepare", "give that, too")
        if self.cleanup and not self.prepare:
            raise UsageError("--cleanup drops only the tables that --prepare created", "see tuibench cleanup")
        threads = parse_threads(self.threads)
        for each in threads:
            checked_threads(each)
        names = parse_profiles(profiles)
        axes = {key: options.axis(key) for key in options.command.options if options.command.is_axis(key)}
        load = options.replaced(**{key: values[0].value for key, values in axes.items()})
        base = (adhoc or AdhocSqlOptions()).apply_to(make_plan(load, names[0], {}))
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
                build_variants(self.preset, self.setting or ()), _loads(load, axes, names[0])
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


def _loads(
    options: PlanValues, axes: Mapping[str, Sequence[AxisValue]], profile: str
) -> list[tuple[str, dict[str, OptionValue]]]:
    """The combinations of the axes with several values: the name of each, and its fields of the plan."""
    varied = {key: values for key, values in axes.items() if len(values) > 1}
    found = []
    for combination in product(*varied.values()):
        chosen = dict(zip(varied, combination, strict=True))
        plan = make_plan(options.replaced(**{key: one.value for key, one in chosen.items()}), profile, {})
        fields = msgspec.to_builtins(plan)
        bound = {key: options.command.options[key][1] for key in chosen}
        name = ", ".join(f"{bound[key].name.removeprefix('--')}={one.word}" for key, one in chosen.items())
        found.append((name, {each.field: fields[each.field] for each in bound.values()}))
    return found


AllowCommands = Annotated[
    bool,
    typer.Option(
        "--allow-commands",
        help="With --resume: also a plan that this account has not recorded; without it, listed.",
    ),
]


class ResultOptions(msgspec.Struct, frozen=True):
    """Destination of the results, and selection of a sweep."""

    resume: Annotated[
        str, typer.Option(metavar="DIR", help="Continue the sweep in this folder with its plan.")
    ] = ""
    allow_commands: AllowCommands = False
    show: Annotated[
        bool, typer.Option("--show", help="Print the results of a recorded sweep: --show DIR.")
    ] = False
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Print sweeps of several servers, relative to the first: DIR DIR …"),
    ] = False
    table: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="summary, runs (one row per run), or relative (to the first settings)."
        ),
    ] = SUMMARY
    form: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="text, markdown, csv, json, or html with charts."),
    ] = "text"
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Write the results to this file, not to stdout.")
    ] = ""

    def write(self, text: str) -> None:
        """Print or write the results. Raises UsageError if the file cannot be written."""
        write_output(self.out, (text,))
