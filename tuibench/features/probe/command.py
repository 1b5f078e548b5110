"""`tuibench probe`: finds the saturation point. Progress goes to stderr, the result to stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tuibench.base.errors import ExitCode, RunError
from tuibench.cli import candidates
from tuibench.cli.options import (
    CONTEXT,
    AdhocSqlOptions,
    SessionOptions,
    TextOrJson,
    check_lag_objectives,
    make_plan,
)
from tuibench.cli.output import JSON, TEXT, check_format, info, timestamp
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.model.event import Event, EventKind
from tuibench.model.message import SessionMessage
from tuibench.model.probe import ProbeEnd, ProbeState
from tuibench.model.summary import Summary

if TYPE_CHECKING:
    from tuibench.session.load_run import LoadRun

__all__ = ["CONTEXT", "probe"]

REPORTED_PROBE_EVENTS = frozenset(
    {EventKind.WARNING, EventKind.RESTART, EventKind.FOREIGN, EventKind.RESTORE, EventKind.ERRORS}
)


def probe(
    context: typer.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("probe")],
    session: SessionOptions,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ] = "",
    json_file: Annotated[
        str,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write the summary with the probe's result to this file; - for stdout.",
        ),
    ] = "",
    output: TextOrJson = TEXT,
) -> None:
    """Doubles the threads until a doubling gains less than 10 % and p95 doubles, an objective (--slo) is
    missed, throughput collapses or the limit is reached; then measures levels in between, and the
    recommended level once more beside its neighbours. Each step lasts until its throughput is known to
    ±3 %, at most --max-step-time. The result is the saturation point, the bottleneck, and the commands for
    the formal test; in too much noise, the sweep that decides. All options of the profile
    are accepted, too: --tables=4 --table-size=100000 …; tuibench profiles show PROFILE lists them.
    """
    from tuibench.cli.headless import warn_leftovers, write_summary_json
    from tuibench.cli.output import check_writable
    from tuibench.cli.runner import new_session_spec, run_async, run_in_process

    check_format(output)
    session.keep_records()
    plan = adhoc.apply_to(make_plan(options, *adhoc.profile_and_options(profile, context.args)))
    check_writable(json_file)
    check_lag_objectives(plan, options["slo"])
    warn_leftovers()
    spec = new_session_spec(plan, server.target(), yes_this_server=session.yes_this_server)
    summary, code = run_async(run_in_process(spec, ProbePrinter().on_message, announce))
    code = probe_exit_code(code, summary)
    typer.echo(probe_output(summary, output), nl=False)
    info(f"recorded in {spec.run_directory}")
    if json_file:
        write_summary_json(json_file, summary)
    raise typer.Exit(code)


def probe_output(summary: Summary, output: str) -> str:
    """Output on stdout. Raises RunError if the run ended without a result."""
    from tuibench.features.probe.text import probe_text

    if summary.probe is None:
        raise RunError(summary.failure or "the probe ended before its first step")
    if output == JSON:
        from tuibench.record.recorder import pretty_json

        return pretty_json(summary.probe).decode()
    return probe_text(summary.probe)


async def announce(run: LoadRun) -> None:
    """Report the server and the data of the probe."""
    info(f"{run.watcher.server.version_text} at {run.watcher.server.where}, {run.data_set}")


def probe_exit_code(code: ExitCode, summary: Summary) -> ExitCode:
    """Exit code of a probe: failed if it was ended early, even with a result."""
    is_whole = summary.probe is not None and summary.probe.end is not ProbeEnd.ABORTED
    return code if code is not ExitCode.DONE or is_whole else ExitCode.RUN_FAILED


class ProbePrinter:
    """Prints each finished step, and events that matter to the operator."""

    def __init__(self) -> None:
        self._printed = self._checked = self._tried = 0
        self._is_told_busy = False

    def on_message(self, message: SessionMessage) -> None:
        from tuibench.features.probe.text import arrival_line, step_line, trial_line

        match message:
            case ProbeState():
                if message.busy and not self._is_told_busy:
                    self._is_told_busy = True
                    info(f"{timestamp(message.elapsed_seconds)} measured on a busy host: {message.busy}")
                for step in message.steps[self._printed :]:
                    info(f"{timestamp(message.elapsed_seconds)} {step_line(message.order, step)}")
                self._printed = len(message.steps)
                for step in message.arrivals[self._checked :]:
                    info(f"{timestamp(message.elapsed_seconds)} {arrival_line(step)}")
                self._checked = len(message.arrivals)
                trials = message.vulnerable.trials if message.vulnerable is not None else ()
                for trial in trials[self._tried :]:
                    info(f"{timestamp(message.elapsed_seconds)} {trial_line(trial)}")
                self._tried = len(trials)
            case Event() if message.kind in REPORTED_PROBE_EVENTS:
                info(f"{timestamp(message.elapsed_seconds)} {message.text}")
