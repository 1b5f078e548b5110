"""Runs and watches without a screen: interval lines on stdout, then the summary; notes on stderr.

`--csv` writes each row immediately, so that an interrupted run keeps its rows.

The report hooks of a Lua script replace sysbench's interval lines and report by what they print. As in
sysbench, they have separate Lua states: one for the intervals, one for each checkpoint and the end. They are
called one after the other on a separate thread, so that a slow hook does not delay the run.
"""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tuibench import __version__
from tuibench.base import sanitize
from tuibench.base.errors import ConnectionLostError, ExitCode
from tuibench.base.installation import native_module
from tuibench.cli.arguments import STDOUT
from tuibench.cli.options import ab_test_announcement
from tuibench.cli.output import (
    JSON,
    TEXT,
    PipeSafeStdout,
    Write,
    echo_json,
    info,
    timestamp,
    write_output,
    write_stderr,
    write_stdout,
    writing_to,
)
from tuibench.cli.runner import on_ending_signals
from tuibench.metrics.measurement_warnings import warning_name
from tuibench.metrics.thresholds import NOT_OF_A_STEP, Threshold, crossed_thresholds
from tuibench.model.event import REPORTED_KINDS, Event, EventKind, Trouble, TroubleKind
from tuibench.model.message import RunState, SessionMessage, SessionSpec, Status
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.model.tick import RESPONSE, Sample, Tick
from tuibench.mysql.connection import Connection, connect, detach_socket
from tuibench.record import sysbench_report
from tuibench.record.recorder import pretty_json
from tuibench.record.sysbench_report import (
    THREADS_STARTED,
    FullReport,
    IntervalAggregator,
    checkpoint_text,
    checkpoint_title,
    further_lines,
    head_text,
    histogram_text,
    interval_line,
    interval_stat,
    report_stat,
    without_labels,
)
from tuibench.report.analysis import addenda
from tuibench.report.text import run_notes, watch_line, watch_notes
from tuibench.session.events import EventLog
from tuibench.session.load_run import LoadRun
from tuibench.session.metrics_endpoint import serve_metrics
from tuibench.session.run import WatchRun
from tuibench.tuning.restore import leftover_warnings
from tuibench.workload import script
from tuibench.workload.options import THREADS
from tuibench.workload.program import Program


def note(text: str) -> None:
    """Write a message beside sysbench's report, which logs often hold together."""
    info(without_labels(text))


class ScriptReporter:
    """Calls the report hooks of a script. `write` is called with what they print."""

    def __init__(self, program: Program, plan: RunPlan, target: Target, write: Write) -> None:
        own = program.script
        self.has_failed = False
        self._target = target
        self._loop = asyncio.get_running_loop()
        self._sessions: list[Connection] = []
        self._hooks = script.declared(own).hooks if own is not None else ()
        self._write = write
        self._threads = plan.threads
        self._percentile = plan.percentiles[0] if plan.percentiles else 0.0
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="report hook")
        self._calls: set[asyncio.Future[str]] = set()
        self._intervals: Any = None
        self._ends = False
        if own is not None:
            options = {**program.options, THREADS: plan.threads}
            self._settings = script.native_settings(own, options)

    @property
    def reports_intervals(self) -> bool:
        return script.REPORT_INTERMEDIATE in self._hooks

    @property
    def reports_totals(self) -> bool:
        return script.REPORT_CUMULATIVE in self._hooks

    def interval(self, tick: Tick) -> None:
        stat = interval_stat(tick, self._percentile)
        self._call(self._report_interval, script.REPORT_INTERMEDIATE, stat)

    def checkpoint(self, report: FullReport) -> None:
        """Call the hook with the report since the last checkpoint."""
        stat = report_stat(report, self._threads)
        self._call(self._report_totals, script.REPORT_CUMULATIVE, stat, self._threads)

    async def end(self, report: FullReport | None = None) -> None:
        """Wait for the hooks of the intervals, then call the hook with the last report, if there is one."""
        self._call(self._report_interval, None, {})
        self._ends = True
        if report is not None and self.reports_totals:
            self._call(self._report_totals, script.REPORT_CUMULATIVE, report_stat(report, 0), 0)
        await asyncio.gather(*self._calls, return_exceptions=True)
        self._pool.shutdown()
        for session in self._sessions:
            session.abort()

    def _call(self, call: Any, *arguments: object) -> None:
        called = asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)
        self._calls.add(called)
        called.add_done_callback(self._called)

    def _called(self, call: "asyncio.Future[str]") -> None:
        self._calls.discard(call)
        error = call.exception()
        if error is None:
            self._write(call.result())
        else:
            self.has_failed |= self._ends
            note(f"tuibench: a report hook: {sanitize.excerpt(str(error))}")

    def _report_interval(self, hook: str | None, stat: Mapping[str, float]) -> str:
        if hook is None and self._intervals is None:
            return ""
        if self._intervals is None:
            self._intervals = native_module().ScriptReport(self._settings, self._threads, self._connect)
        return str(self._intervals.call(hook, list(stat.items())))

    def _report_totals(self, hook: str, stat: Mapping[str, float], tid: int) -> str:
        report = native_module().ScriptReport(self._settings, tid, self._connect)
        return str(report.call(hook, list(stat.items())))

    def _connect(self, _: int) -> tuple[Any, ...]:
        """Open a connection for a hook; called on the thread of the hooks."""
        return asyncio.run_coroutine_threadsafe(self._login(), self._loop).result()

    async def _login(self) -> tuple[Any, ...]:
        opened = await connect(self._target, records=native_module().TlsRecords)
        self._sessions.append(opened)
        socket = detach_socket(opened)
        if socket is None:
            raise ConnectionLostError(2013, "the connection was lost")
        return tuple(socket)


class CsvWriter:
    """Writes header and rows of a run. A write error is reported, and ends the output (`is_cut`)."""

    def __init__(self, write: Write, every_seconds: float, percentiles: tuple[float, ...]) -> None:
        self.is_cut = False
        self._write = write
        self._every = IntervalAggregator(every_seconds)
        self._percentile = percentiles[0] if percentiles else 0.0
        self._write(sysbench_report.CSV_HEADER)

    def tick(self, tick: Tick) -> None:
        whole = self._every.add(tick)
        if whole is None or self.is_cut:
            return
        try:
            self._write(sysbench_report.interval_csv_row(whole, self._percentile))
        except OSError as error:
            self.is_cut = True
            note(f"tuibench: no more rows of CSV can be written: {error.strerror}")


@contextmanager
def open_csv(
    path: str, every_seconds: float, percentiles: tuple[float, ...], stdout: Write = write_stdout
) -> Iterator[CsvWriter | None]:
    """A writer to the file, or to stdout for `-`; None if the path is empty.

    Raises UsageError if the file cannot be written.
    """
    if path in ("", STDOUT):
        yield CsvWriter(stdout, every_seconds, percentiles) if path else None
        return
    with ExitStack() as stack:
        with writing_to(path):
            stream = stack.enter_context(Path(path).open("wb", buffering=0))
            file = CsvWriter(partial(_write_bytes, stream), every_seconds, percentiles)
        yield file


def _write_bytes(stream: FileIO, text: str) -> None:
    stream.write(text.encode())


REPORT_VERBOSITY = 3
"""sysbench's verbosity from which interval lines and summary are printed."""


class HeadlessOutput(NamedTuple):
    """The output of a headless run."""

    report_interval_seconds: float = 1.0
    """The interval of the printed lines; 0 for none."""
    histogram: bool = False
    """Whether to print the latency histogram."""
    verbosity: int = REPORT_VERBOSITY
    csv: str = ""
    """The path of the CSV, `-` for stdout; empty for none."""
    csv_seconds: float = 1.0
    """The interval of the CSV's rows."""
    thresholds: tuple[Threshold, ...] = ()
    is_stdout_taken: bool = False
    """Whether data is written to stdout; lines and summary then go to stderr."""

    @property
    def is_reporting(self) -> bool:
        return self.verbosity >= REPORT_VERBOSITY


class IntervalPrinter:
    """Prints the lines of each interval, into which ticks are merged, unless a script's hook reports it."""

    def __init__(
        self,
        every_seconds: float,
        percentiles: tuple[float, ...],
        write: Write = write_stdout,
        hooks: ScriptReporter | None = None,
    ) -> None:
        self._every = IntervalAggregator(every_seconds)
        self._hooks = hooks
        self._percentile = percentiles[0] if percentiles else 0.0
        self._write = write
        self._has_started = False

    def tick(self, tick: Tick) -> None:
        whole = self._every.add(tick)
        if whole is None:
            return
        if self._hooks is not None and self._hooks.reports_intervals:
            self._hooks.interval(whole)
            return
        self._write(interval_line(whole, self._percentile) + "\n")
        for line in further_lines(whole):
            self._write(line + "\n")

    def checkpoint(self, report: FullReport) -> None:
        if self._hooks is not None and self._hooks.reports_totals:
            self._write(checkpoint_title(report))
            self._hooks.checkpoint(report)
            return
        self._write(checkpoint_text(report))

    def state(self, message: SessionMessage) -> None:
        """Print once that the threads have started."""
        if isinstance(message, Status) and message.state is not RunState.STARTING and not self._has_started:
            self._has_started = True
            if message.state is not RunState.STOPPING:
                self._write(THREADS_STARTED)


class EventNotes:
    """Prints events when they happen. The notes at the end do not repeat a warning that was printed."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._warned: set[str] = set()

    def hear(self, message: SessionMessage) -> None:
        if isinstance(message, Event) and message.kind in REPORTED_KINDS:
            self._write(f"{timestamp(message.elapsed_seconds)} {message.text}")
            if message.kind is EventKind.WARNING:
                self._warned.add(warning_name(message.text))

    def of_end(self, summary: Summary) -> Summary:
        """The summary without the warnings that were printed."""
        left = tuple(each for each in summary.warnings if warning_name(each) not in self._warned)
        return msgspec.structs.replace(summary, warnings=left)


async def run_headless(spec: SessionSpec, output: HeadlessOutput) -> tuple[Summary, ExitCode]:
    """Run a session in this process. A signal ends it early, with a summary.

    Raises TuibenchError if the load could not be started; then there is no summary.
    """
    run = LoadRun(spec)
    async with serve_metrics(run) as metrics:
        if metrics and output.verbosity:
            note(f"metrics at {metrics}")
        return await _run_load(run, output)


async def _run_load(run: LoadRun, output: HeadlessOutput) -> tuple[Summary, ExitCode]:
    spec, bus, lifecycle = run.spec, run.watcher.bus, run.watcher.lifecycle
    reader = PipeSafeStdout(partial(run.request_stop, "interrupted"))
    words = write_stderr if output.is_stdout_taken else reader.write
    hooks = ScriptReporter(run.program, spec.plan, spec.target, words)
    printer = IntervalPrinter(output.report_interval_seconds, spec.plan.percentiles, words, hooks)
    if output.is_reporting or hooks.reports_intervals:
        bus.interval_listeners.append(printer.tick)
    notes = EventNotes(note)
    if output.verbosity:
        bus.listeners.append(notes.hear)
    async with run:
        on_ending_signals(run.request_stop, "interrupted")
        if output.is_reporting:
            run.measuring.checkpoint_listeners.append(printer.checkpoint)
            words(head_text(__version__, spec.plan))
            bus.listeners.append(printer.state)
            server = run.watcher.server
            note(f"{server.flavour} {server.version} at {server.where}, {run.data_set}")
        if output.thresholds:
            bus.interval_listeners.append(ThresholdWatch(output.thresholds, run.watcher.log).tick)
        if output.verbosity and spec.plan.trial is not None:
            note(ab_test_announcement(spec.plan))
        with open_csv(output.csv, output.csv_seconds, spec.plan.percentiles, reader.write) as rows:
            if rows is not None:
                bus.interval_listeners.append(rows.tick)
            summary = await run.run()
    if lifecycle.error is not None and not summary.seconds:
        raise lifecycle.error
    if output.is_reporting and output.histogram:
        words(histogram_text(run.measuring.since_checkpoint.hist(RESPONSE)))
    await hooks.end(run.measuring.full_report())
    if output.is_reporting:
        words(addenda(summary) if hooks.reports_totals and not hooks.has_failed else run.text(summary))
        for line in run_notes(notes.of_end(summary), spec.run_directory):
            note(line)
    code = reader.judged(final_exit_code(lifecycle.exit_code, output.thresholds, run.total))
    is_cut = hooks.has_failed or (rows is not None and rows.is_cut)
    return summary, ExitCode.RUN_FAILED if is_cut and code is ExitCode.DONE else code


CROSSED_TICKS = 3
"""Ticks in a row that cross a threshold before it is reported."""


class ThresholdWatch:
    """Reports a threshold that several ticks in a row cross, once until it is kept again: the black box keeps
    that time. The exit code depends on the whole run alone.
    """

    def __init__(self, thresholds: tuple[Threshold, ...], log: EventLog) -> None:
        self._log = log
        self._crossed_since: dict[Threshold, list[float]] = {
            each: [] for each in thresholds if each.figure not in NOT_OF_A_STEP
        }

    def tick(self, tick: Tick) -> None:
        for threshold, starts in self._crossed_since.items():
            if threshold.holds(tick) is not True:
                starts.clear()
                continue
            starts.append(tick.end - tick.seconds)
            if len(starts) == CROSSED_TICKS:
                text = (
                    f"{threshold.text} in {CROSSED_TICKS} intervals in a row: {threshold.measured_text(tick)}"
                )
                trouble = Trouble(TroubleKind.LIMIT, starts[0], tick.end)
                self._log.emit(EventKind.WARNING, text, trouble=trouble)


def final_exit_code(code: ExitCode, thresholds: tuple[Threshold, ...], run: Tick) -> ExitCode:
    """Report each threshold that was crossed; returns the exit code, which is `code` for a failed run."""
    crossed = crossed_thresholds(thresholds, run)
    for line in crossed:
        note(f"tuibench: {line}")
    return ExitCode.THRESHOLD_CROSSED if crossed and code is ExitCode.DONE else code


def write_summary_json(path: str, summary: Summary) -> None:
    """Write the summary as `tuibench.summary/1`; `-` is stdout. Raises UsageError if it cannot be written."""
    write_output(path, (pretty_json(summary).decode(),))


def warn_leftovers() -> None:
    """Warn about settings that a crashed session left changed, before a new session starts."""
    for warning in leftover_warnings():
        note(f"tuibench: {warning}; `tuibench restore` restores it")


async def run_headless_watch(spec: SessionSpec, form: str) -> ExitCode:
    """Watch a server until the time limit or a signal, and print in this format."""
    run = WatchRun(spec)
    stdout = PipeSafeStdout(partial(run.request_stop, "interrupted"))
    bus = run.watcher.bus
    notes = EventNotes(info)
    bus.listeners.append(notes.hear)
    if form == TEXT:
        bus.interval_listeners.append(partial(_print_interval, stdout.write, spec.plan.percentiles))
    elif form != JSON:
        bus.listeners.append(partial(_print_line, stdout.write))
    async with serve_metrics(run) as metrics, run:
        if metrics:
            info(f"metrics at {metrics}")
        on_ending_signals(run.request_stop, "interrupted")
        bus.event_listeners.append(partial(_report_start, run))
        if spec.plan.trial is not None:
            info(ab_test_announcement(spec.plan))
        summary = await run.run()
    if run.watcher.lifecycle.error is not None and not summary.seconds:
        raise run.watcher.lifecycle.error
    if form == TEXT:
        stdout.write(run.text(summary))
    elif form == JSON:
        echo_json(summary)
    else:
        stdout.write(msgspec.json.encode(summary).decode() + "\n")
    for line in watch_notes(notes.of_end(summary), run.spec.run_directory):
        info(line)
    return stdout.judged(run.watcher.lifecycle.exit_code)


def _report_start(run: WatchRun, event: Event) -> None:
    """Report the watched server, after the first reading."""
    if event.kind is EventKind.START:
        server = run.watcher.server
        info(f"watching {server.version_text} at {server.where}")


def _print_line(write: Write, message: SessionMessage) -> None:
    """Print a sample or an event as a line of JSON."""
    if isinstance(message, Sample | Event):
        write(msgspec.json.encode(message).decode() + "\n")


def _print_interval(write: Write, percentiles: tuple[float, ...], tick: Tick) -> None:
    write(watch_line(tick, percentiles[0] if percentiles else 0.0) + "\n")
