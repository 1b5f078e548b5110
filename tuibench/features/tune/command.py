"""`tuibench tune`: screens settings on a running server. Progress goes to stderr, the result to stdout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from tuibench.base.errors import ExitCode, RunError, UsageError
from tuibench.cli import candidates
from tuibench.cli.options import (
    CONTEXT,
    AdhocSqlOptions,
    PrivateServerOptions,
    SessionOptions,
    TextOrJson,
    make_plan,
)
from tuibench.cli.output import JSON, TEXT, check_format, info, timestamp
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.model.event import REPORTED_KINDS, Event, EventKind
from tuibench.model.message import SessionMessage
from tuibench.model.plan import RunPlan
from tuibench.model.summary import Summary
from tuibench.model.tune import TunePlan

if TYPE_CHECKING:
    from tuibench.model.message import SessionSpec
    from tuibench.servers.server import PrivateServer
    from tuibench.session.load_run import LoadRun

__all__ = ["CONTEXT", "tune"]


def tune(
    context: typer.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("tune")],
    session: SessionOptions,
    private: PrivateServerOptions,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ] = "",
    output: TextOrJson = TEXT,
    json_file: Annotated[
        str, typer.Option("--json", metavar="FILE", help="Write the summary of the run to this file.")
    ] = "",
    server_program: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="FILE",
            help="Screen on a private server of this program, with new tables: mariadbd, …/mysqld.",
        ),
    ] = "",
    with_restarts: Annotated[
        bool,
        typer.Option(
            "--with-restarts",
            help="With --server: also screen settings that need a restart, each value on starts of its own; "
            "half of the budget is for each.",
        ),
    ] = False,
) -> None:
    """Each value alternates with the current settings, in windows of random order, and gets a verdict with
    an interval: better, worse, no effect within ±2 %. Undecided values then share windows, a random half
    of them in each. On average at most 10 % of the verdicts are false. At the end the best values are
    tested together, and their lines for my.cnf are printed. Every setting is restored, also after kill
    -9. All options of the profile are accepted, too: --tables=4 --table-size=100000 …; tuibench profiles
    show PROFILE lists them.
    """
    from tuibench.cli.headless import warn_leftovers
    from tuibench.cli.output import check_writable
    from tuibench.cli.runner import new_session_spec, spec_on_private_server

    check_format(output)
    session.keep_records()
    plan = adhoc.apply_to(make_plan(options, *adhoc.profile_and_options(profile, context.args)))
    check_writable(json_file)
    if private.is_given and not server_program:
        raise UsageError(
            "--cpus, --memory, --my-cnf and --mysqld-option are for a private server",
            "--server=mariadbd starts one",
        )
    warn_leftovers()
    if with_restarts:
        raise typer.Exit(_with_restarts(plan, server_program, private, output, json_file))
    if server_program:
        with _prepared_server(server_program, private, plan) as made:
            code = _screen(spec_on_private_server(plan, made), output, json_file)
    else:
        spec = new_session_spec(plan, server.target(), yes_this_server=session.yes_this_server)
        code = _screen(spec, output, json_file)
    raise typer.Exit(code)


def _with_restarts(
    plan: RunPlan, program: str, private: PrivateServerOptions, output: str, json_file: str
) -> ExitCode:
    """Screen on one running server, then over starts. Raises UsageError if an option does not fit a private
    server.
    """
    from tuibench.cli.runner import spec_on_private_server
    from tuibench.features.sweep.execution import one_build
    from tuibench.features.tune.starts import has_live_candidates, screen_over_starts

    if not program:
        raise UsageError(
            "--with-restarts restarts the server with other options, which only a private one allows",
            "--server=mariadbd; tuibench never edits the option file of a server that is not its own",
        )
    tune = plan.tune or TunePlan()
    if output == JSON or json_file or tune.apply or tune.resume:
        raise UsageError(
            "--with-restarts has no --format=json, --json, --apply and --resume",
            "tuibench versions --show DIR --format=json has the starts as JSON",
        )
    if not has_live_candidates(tune, one_build(program, private)):
        return screen_over_starts(plan, program, private)
    plan = replace(plan, tune=replace(tune, budget_seconds=tune.budget_seconds / 2))
    with _prepared_server(program, private, plan) as made:
        code = _screen(spec_on_private_server(plan, made), output, json_file)
    return max(code, screen_over_starts(plan, program, private))


@contextmanager
def _prepared_server(program: str, private: PrivateServerOptions, plan: RunPlan) -> Iterator[PrivateServer]:
    """A private server with the tables of the profile."""
    from tuibench.cli.runner import private_server, run_async
    from tuibench.cli.tables import make_tables
    from tuibench.load.tables import LoadOptions
    from tuibench.workload import library

    made = library.load_program(plan.profile, plan.profile_options, plan.profile_text)
    with private_server(program, private) as server:
        run_async(make_tables(server.target, made, LoadOptions()))
        yield server


def _screen(spec: SessionSpec, output: str, json_file: str) -> ExitCode:
    """Run the screening and print its result."""
    from tuibench.cli.headless import write_summary_json
    from tuibench.cli.runner import run_async, run_in_process

    summary, code = run_async(run_in_process(spec, on_message, announce))
    typer.echo(tune_output(summary, output), nl=False)
    info(f"recorded in {spec.run_directory}")
    if json_file:
        write_summary_json(json_file, summary)
    return code


def tune_output(summary: Summary, output: str) -> str:
    """Output on stdout. Raises RunError if the run ended before a result."""
    from tuibench.features.tune.text import tune_text

    if summary.tune is None:
        raise RunError(summary.failure or "the screening ended before its first window")
    if output == JSON:
        from tuibench.record.recorder import pretty_json

        return pretty_json(summary.tune).decode()
    return tune_text(summary.tune)


async def announce(run: LoadRun) -> None:
    """Report the number of candidates, and the duration."""
    from tuibench.base import units
    from tuibench.features.tune.experiment import TuneRun

    if (screening := run.laboratory.last(TuneRun)) is None:
        return
    result = screening.result
    settings = len({one.candidate.setting for one in result.results})
    server = run.watcher.server
    info(f"{server.version_text} at {server.where}, {run.data_set}")
    info(
        f"{units.pluralize(len(result.results), 'value')} of {units.pluralize(settings, 'setting')}, "
        f"at most {units.duration(result.plan.budget_seconds)}; {len(result.left_out)} left out"
    )


def on_message(message: SessionMessage) -> None:
    if isinstance(message, Event) and message.kind in REPORTED_KINDS - {EventKind.RECONNECT}:
        info(f"{timestamp(message.elapsed_seconds)} {message.text}")
