"""`tuibench tune`: screens settings on a running server. Progress goes to stderr, the result to stdout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import click
import msgspec

from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.private_server_options import PrivateServerOptions
from tuibench.cli.options.profile_options import CONTEXT
from tuibench.cli.options.run_options import RunOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.options.session_options import SightOptions
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format
from tuibench.cli.output.log import info, timestamp
from tuibench.cli.parsing.declarations import Argument, Option
from tuibench.cli.parsing.option_values import check_range
from tuibench.errors import ExitCode, RunError, UsageError
from tuibench.model.event import Event, EventKind
from tuibench.model.message import SessionMessage
from tuibench.model.notation import parse_duration
from tuibench.model.plan import RunPlan
from tuibench.model.results.summary import Summary

if TYPE_CHECKING:
    from tuibench.demo.server import PrivateServer
    from tuibench.model.experiments.tune import TunePlan
    from tuibench.session.load_run import LoadRun
    from tuibench.session.spec import SessionSpec

MIN_BUDGET, MAX_BUDGET = 20.0, 7 * 86_400.0
MIN_WINDOW, MAX_WINDOW = 1.0, 600.0
SLOTS_PER_WINDOW = 10
WARMUP_SECONDS = 5.0
MEASURED = ("tps", "p95")
"""Figures of a window that an objective may refer to."""


@dataclass(frozen=True)
class TuneOptions:
    """Options of `tune`."""

    SECTION: ClassVar = "Screening"

    budget: Annotated[str, Option("--budget", help="Time limit of the screening: 90s, 30m, 2h.")] = "30m"
    only: Annotated[
        str,
        Option("--only", help="Settings or topics to test: durability,flushing,innodb_io_capacity. [all]"),
    ] = ""
    allow_risk: Annotated[
        bool,
        Option("--allow-risk", help="Also test values that can lose data or change results."),
    ] = False
    slo: Annotated[
        list[str] | None,
        Option("--slo", help='Objective that a winner must meet: "p95<20ms", "tps>500"; repeatable.'),
    ] = None
    values: Annotated[int, Option("--values", help="Number of values to test for each setting.")] = 2
    window: Annotated[float, Option("--window", help="Seconds of each window.")] = 5.0
    tolerance: Annotated[
        float, Option("--tolerance", help="A difference within this percentage counts as no effect.")
    ] = 2.0
    apply: Annotated[
        bool,
        Option(
            "--apply",
            help="Apply the best values and keep the load running until it is stopped; then restore.",
        ),
    ] = False
    resume: Annotated[str, Option("--resume", help="Continue the screening of this recorded run.")] = ""

    def plan(self, plan: RunPlan) -> RunPlan:
        """Plan of the run that screens settings. Raises UsageError for invalid options."""
        if plan.schedule:
            raise UsageError(
                "tune cannot be combined with a plan or a ramp", "its windows must have the same load"
            )
        order = self.order(plan)
        return msgspec.structs.replace(
            plan,
            tune=order,
            warmup_seconds=plan.warmup_seconds or WARMUP_SECONDS,
            interval_seconds=max(0.1, min(plan.interval_seconds, self.window / SLOTS_PER_WINDOW)),
        )

    def order(self, plan: RunPlan) -> TunePlan:
        from tuibench.model.experiments.effect import EffectFigure
        from tuibench.model.experiments.tune import TunePlan
        from tuibench.session.tune.candidates import wanted_settings

        seconds = parse_budget(self.budget)
        only = tuple(word.strip() for word in self.only.split(",") if word.strip())
        wanted_settings(only)
        check_range("--values", self.values, 1, 8)
        check_range("--window", self.window, MIN_WINDOW, MAX_WINDOW)
        check_range("--tolerance", self.tolerance, 0.1, 50)
        return TunePlan(
            budget_seconds=seconds,
            window_seconds=self.window,
            only=only,
            values=self.values,
            allow_risk=self.allow_risk,
            objectives=checked_objectives(tuple(self.slo or ())),
            tolerance_percent=self.tolerance,
            primary=EffectFigure.P95 if plan.rate else EffectFigure.TPS,
            apply=self.apply,
            seed=plan.seed,
            resume=recorded_run(self.resume) if self.resume else "",
        )


def parse_budget(text: str) -> float:
    """Parse `30m` to seconds. Raises UsageError for an invalid duration, or one out of range."""
    try:
        seconds = parse_duration(text.strip())
    except (UsageError, ValueError):
        raise UsageError(f"--budget takes a duration, not '{text}'", "for example --budget 30m") from None
    check_range("--budget (in seconds)", seconds, MIN_BUDGET, MAX_BUDGET)
    return seconds


def checked_objectives(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Validate the objectives. Raises UsageError for one that windows do not measure."""
    from tuibench.metrics.thresholds.absolute import parse_threshold

    for text in texts:
        if parse_threshold(text).figure not in MEASURED:
            raise UsageError(
                f"--slo: windows measure {' and '.join(MEASURED)}, not '{text}'", 'for example "p95<20ms"'
            )
    return texts


def recorded_run(name: str) -> str:
    """Folder of a recorded run."""
    from tuibench.record.files.store import find_run

    return str(find_run(name))


__all__ = ["CONTEXT", "tune"]

DETAILS = (
    "Each value alternates with the current settings, in windows of random order, and gets a verdict with "
    "an interval: better, worse, no effect within ±2 %. Undecided values then share windows, a random half "
    "of them in each. On average at most 10 % of the verdicts are false. At the end the best values are "
    "tested together, and their lines for my.cnf are printed. Every setting is restored, also after kill -9. "
    "All options of the profile are accepted, too: --tables=4 --table-size=100000 …; "
    "tuibench profiles show PROFILE lists them."
)
REPORTED = frozenset(
    {
        EventKind.WARNING,
        EventKind.RESTART,
        EventKind.FOREIGN,
        EventKind.RESTORE,
        EventKind.ERRORS,
        EventKind.EFFECT,
    }
)


def tune(
    context: click.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    sight: SightOptions,
    options: RunOptions,
    screening: TuneOptions,
    private: PrivateServerOptions,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
    output: TextOrJson = TEXT,
    json_file: Annotated[str, Option("--json", help="Write the summary of the run to this file.")] = "",
    server_program: Annotated[
        str,
        Option(
            "--server",
            help="Screen on a private server of this program, with new tables: mariadbd, …/mysqld.",
        ),
    ] = "",
) -> None:
    from tuibench.cli.output.files import check_writable
    from tuibench.cli.runner.headless import warn_leftovers
    from tuibench.cli.runner.new_session import new_session_spec, spec_on_private_server

    check_format(output)
    plan = adhoc.apply_to(options.plan(*adhoc.profile_and_options(profile, context.args)))
    plan = screening.plan(plan)
    check_writable(json_file)
    if private.is_given and not server_program:
        raise UsageError(
            "--cpus, --memory, --my-cnf and --mysqld-option are for a private server",
            "--server=mariadbd starts one",
        )
    warn_leftovers()
    if server_program:
        with _prepared_server(server_program, private, plan) as made:
            code = _screen(spec_on_private_server(plan, made), sight, output, json_file)
    else:
        spec = new_session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
        code = _screen(spec, sight, output, json_file)
    raise click.exceptions.Exit(code)


@contextmanager
def _prepared_server(program: str, private: PrivateServerOptions, plan: RunPlan) -> Iterator[PrivateServer]:
    """A private server that has the tables of the profile."""
    from tuibench.cli.commands.prepare import make_tables
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.cli.runner.private_server import private_server
    from tuibench.load.tables.loader import LoadOptions
    from tuibench.workload import library

    made = library.load_program(plan.profile, plan.profile_options, plan.profile_text)
    with private_server(program, private) as server:
        run_async(make_tables(server.target, made, LoadOptions()))
        yield server


def _screen(spec: SessionSpec, sight: SightOptions, output: str, json_file: str) -> ExitCode:
    """Run the screening, and print its result."""
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.cli.runner.headless import write_summary_json
    from tuibench.cli.runner.in_process import run_in_process

    spec = sight.spec(spec)
    summary, code = run_async(run_in_process(spec, on_message, announce))
    click.echo(tune_output(summary, output), nl=False)
    info(f"recorded in {spec.run_directory}")
    if json_file:
        write_summary_json(json_file, summary)
    return code


def tune_output(summary: Summary, output: str) -> str:
    """Output on stdout. Raises RunError if the run ended without a result."""
    from tuibench.record.report.tune_text import tune_text

    if summary.tune is None:
        raise RunError(summary.failure or "the screening ended before its first window")
    if output == JSON:
        from tuibench.record.files.recorder import pretty_json

        return pretty_json(summary.tune).decode()
    return tune_text(summary.tune)


def announce(run: LoadRun) -> None:
    """Report the number of candidates, and the duration."""
    from tuibench import units

    result = run.effect_tracker.tune
    if result is None:
        return
    settings = len({one.candidate.setting for one in result.results})
    server = run.watcher.server
    info(f"{server.version_text} at {server.where}, {run.data_set}")
    info(
        f"{units.pluralize(len(result.results), 'value')} of {units.pluralize(settings, 'setting')}, "
        f"at most {units.duration(result.plan.budget_seconds)}; {len(result.left_out)} left out"
    )


def on_message(message: SessionMessage) -> None:
    if isinstance(message, Event) and message.kind in REPORTED:
        info(f"{timestamp(message.elapsed_seconds)} {message.text}")
