"""`tuibench probe`: finds the saturation point. Progress goes to stderr, the result to stdout.

Also the options of a probe, including those of the run's options that apply to it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec

from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.cluster_options import ClusterOptions
from tuibench.cli.options.profile_options import CONTEXT
from tuibench.cli.options.run_options import ENGINE_HELP, OPENING_SECONDS, THREAD_INIT_HELP, RunOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.options.session_options import SightOptions
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format
from tuibench.cli.output.log import info, timestamp
from tuibench.cli.parsing.declarations import Argument, Option
from tuibench.cli.parsing.option_values import check_choice, check_range
from tuibench.errors import ExitCode, RunError, UsageError
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder, ProbeState
from tuibench.model.message import SessionMessage
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.results.summary import Summary
from tuibench.model.schedule import MAX_RATE, MAX_THREADS, Quantity
from tuibench.model.sql_errors import IGNORED_ERRORS

if TYPE_CHECKING:
    from tuibench.session.load_run import LoadRun

MAX_STEP_SECONDS, MAX_SECONDS = 600.0, 86_400.0
MIN_STEP_SECONDS, MIN_SECONDS = 2.0, 10.0
WARMUP_SECONDS, INTERVAL_SECONDS = 3.0, 0.5
RATE_THREADS = 64


@dataclass(frozen=True)
class ProbeOptions(ClusterOptions):
    """Options of `probe`."""

    by: Annotated[
        str, Option("--by", help="What to increase: threads, or rate (with --threads connections).")
    ] = Quantity.THREADS
    slo: Annotated[
        list[str] | None,
        Option("--slo", help='Objective: "p95<20ms", "errors<1%", "tps>500"; repeatable.'),
    ] = None
    max_step_time: Annotated[float, Option("--max-step-time", help="Time limit of a step in seconds.")] = 8
    max_time: Annotated[float, Option("--max-time", help="Time limit of the probe in seconds.")] = 85
    min_threads: Annotated[int, Option("--min-threads", help="Lowest number of threads.")] = 1
    max_threads: Annotated[
        int, Option("--max-threads", help="Highest number of threads; 0: up to 1,024, or the server's limit.")
    ] = 0
    min_rate: Annotated[float, Option("--min-rate", help="With --by rate: the lowest rate.")] = 0
    max_rate: Annotated[float, Option("--max-rate", help="With --by rate: the highest rate.")] = 0
    threads: Annotated[int, Option("--threads", help="With --by rate: concurrent connections.")] = (
        RATE_THREADS
    )
    warmup_time: Annotated[float, Option("--warmup-time", help="Seconds to run before the first step.")] = (
        WARMUP_SECONDS
    )
    interval: Annotated[float, Option("--interval", help="Seconds between samples.")] = INTERVAL_SECONDS
    rand_seed: Annotated[int, Option("--rand-seed", help="Seed of all random values; 0 for a new one.")] = 0
    mysql_ignore_errors: Annotated[
        str,
        Option("--mysql-ignore-errors", help="Error numbers to retry after, or all."),
    ] = ",".join(map(str, IGNORED_ERRORS))
    on_error: Annotated[
        str, Option("--on-error", help="Any other error: stop, or continue with the next transaction.")
    ] = "stop"
    db_ps_mode: Annotated[
        str, Option("--db-ps-mode", help="auto: statements are prepared; disable: they are sent as text.")
    ] = "auto"
    isolation: Annotated[str, Option("--isolation", help="Isolation level of the load.")] = ""
    workers: Annotated[int, Option("--workers", help="Worker processes; 0: by number of cores.")] = 0
    thread_init_timeout: Annotated[float, Option("--thread-init-timeout", help=THREAD_INIT_HELP)] = (
        OPENING_SECONDS
    )
    engine: Annotated[str, Option("--engine", help=ENGINE_HELP)] = "auto"
    client_delay: Annotated[str, Option("--client-delay", help="Simulate a network: 20ms, …")] = "0"
    run_dir: Annotated[str, Option("--run-dir", help="Folder for records instead of the default.")] = ""

    def plan(self, profile: str, profile_options: dict[str, OptionValue]) -> RunPlan:
        """Plan of a run that is a probe. Raises UsageError for invalid options."""
        order = self.order()
        by_threads = order.by is Quantity.THREADS
        given: dict[str, Any] = vars(self)
        options = {field.name: given[field.name] for field in fields(RunOptions) if field.name in given}
        threads = self.min_threads if by_threads else self.threads
        plan = RunOptions(**{**options, "threads": threads, "time": 0}).plan(profile, profile_options)
        return msgspec.structs.replace(plan, probe=order)

    def order(self) -> ProbeOrder:
        """Probe parameters."""
        from tuibench.metrics.thresholds.absolute import parse_objectives

        by = check_choice("--by", self.by, Quantity)
        check_range("--max-step-time", self.max_step_time, MIN_STEP_SECONDS, MAX_STEP_SECONDS)
        check_range("--warmup-time", self.warmup_time, 0)
        check_range(
            "--max-time",
            self.max_time,
            MIN_SECONDS + self.warmup_time,
            MAX_SECONDS + self.warmup_time,
        )
        check_range("--min-threads", self.min_threads, 1, MAX_THREADS)
        check_range("--max-threads", self.max_threads, 0, MAX_THREADS)
        check_range("--min-rate", self.min_rate, 0, MAX_RATE)
        check_range("--max-rate", self.max_rate, 0, MAX_RATE)
        least, most = (
            (float(self.min_threads), float(self.max_threads))
            if by is Quantity.THREADS
            else (self.min_rate, self.max_rate)
        )
        if most and most < least:
            raise UsageError(f"--max-{by} is below --min-{by}")
        parse_objectives(tuple(self.slo or ()))
        return ProbeOrder(
            by=by,
            slo=tuple(self.slo or ()),
            least=least,
            most=most,
            step_seconds=self.max_step_time,
            seconds=self.max_time - self.warmup_time,
        )


__all__ = ["CONTEXT", "probe"]

DETAILS = (
    "Doubles the threads until a doubling gains less than 10 %, an objective (--slo) is missed, throughput "
    "collapses or the limit is reached; then measures levels in between, and an earlier level again. Each "
    "step lasts until its throughput is known to ±3 %, at most --max-step-time. The result is the "
    "saturation point, the bottleneck, and the commands for the formal test. "
    "All options of the profile are accepted, too: --tables=4 --table-size=100000 …; "
    "tuibench profiles show PROFILE lists them."
)
REPORTED_PROBE_EVENTS = frozenset(
    {EventKind.WARNING, EventKind.RESTART, EventKind.FOREIGN, EventKind.RESTORE, EventKind.ERRORS}
)


def probe(
    context: click.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    sight: SightOptions,
    options: ProbeOptions,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
    json_file: Annotated[
        str, Option("--json", help="Write the summary with the probe's result to this file; - for stdout.")
    ] = "",
    output: TextOrJson = TEXT,
    yes_this_server: Annotated[
        bool, Option("--yes-this-server", help="Allow the load although the server looks like production.")
    ] = False,
) -> None:
    from tuibench.cli.output.files import check_writable
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.cli.runner.headless import warn_leftovers, write_summary_json
    from tuibench.cli.runner.in_process import run_in_process
    from tuibench.cli.runner.new_session import new_session_spec

    check_format(output)
    plan = adhoc.apply_to(options.plan(*adhoc.profile_and_options(profile, context.args)))
    check_writable(json_file)
    sight.check_thresholds(options.slo or ())
    warn_leftovers()
    spec = sight.spec(new_session_spec(plan, server.target(), yes_this_server=yes_this_server))
    summary, code = run_async(run_in_process(spec, ProbePrinter().on_message, announce))
    code = probe_exit_code(code, summary)
    click.echo(probe_output(summary, output), nl=False)
    info(f"recorded in {spec.run_directory}")
    if json_file:
        write_summary_json(json_file, summary)
    raise click.exceptions.Exit(code)


def probe_output(summary: Summary, output: str) -> str:
    """Output on stdout. Raises RunError if the run ended without a result."""
    from tuibench.record.report.probe_text import probe_text

    if summary.probe is None:
        raise RunError(summary.failure or "the probe ended before its first step")
    if output == JSON:
        from tuibench.record.files.recorder import pretty_json

        return pretty_json(summary.probe).decode()
    return probe_text(summary.probe)


def announce(run: LoadRun) -> None:
    """Report the server and the data of the probe."""
    info(f"{run.watcher.server.version_text} at {run.watcher.server.where}, {run.data_set}")


def probe_exit_code(code: ExitCode, summary: Summary) -> ExitCode:
    """Exit code of a probe: failed if it was ended early, even with a result."""
    is_whole = summary.probe is not None and summary.probe.end is not ProbeEnd.ABORTED
    return code if code is not ExitCode.DONE or is_whole else ExitCode.RUN_FAILED


class ProbePrinter:
    """Reports each finished step, and events of interest to the operator."""

    def __init__(self) -> None:
        self._printed = 0

    def on_message(self, message: SessionMessage) -> None:
        from tuibench.record.report.probe_text import step_line

        match message:
            case ProbeState():
                for step in message.steps[self._printed :]:
                    info(f"{timestamp(message.elapsed_seconds)} {step_line(message.order, step)}")
                self._printed = len(message.steps)
            case Event() if message.kind in REPORTED_PROBE_EVENTS:
                info(f"{timestamp(message.elapsed_seconds)} {message.text}")
