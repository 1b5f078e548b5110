"""A run without a screen: interval lines to stdout as they come, then the summary; notes to stderr."""

import asyncio
from functools import partial
from pathlib import Path
from typing import NamedTuple

import typer

from tuibench.cli.csv_file import csv_file
from tuibench.cli.loop import ENDING_SIGNALS
from tuibench.cli.notes import notes
from tuibench.cli.outlet import Outlet, Write, to_stdout
from tuibench.cli.talk import moment, say, to_stderr
from tuibench.cli.trial_options import announcement
from tuibench.errors import ExitCode, UsageError
from tuibench.metrics.histogram import Histogram
from tuibench.metrics.threshold import Threshold, crossings, figures_of
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Downward
from tuibench.model.summary import Summary
from tuibench.record.distribution import histogram_text
from tuibench.record.every import Every
from tuibench.record.recorder import pretty_json
from tuibench.record.text import FullReport, Interval, checkpoint_text, interval_line, queue_line
from tuibench.session.core import Session
from tuibench.session.exporting import exporting
from tuibench.session.spec import SessionSpec
from tuibench.tuning.restore import leftovers

NOTED = frozenset(
    {
        EventKind.WARNING,
        EventKind.RESTART,
        EventKind.FOREIGN,
        EventKind.RESTORE,
        EventKind.ERRORS,
        EventKind.RECONNECT,
        EventKind.EFFECT,
    }
)
"""Events that a headless user is told of."""


REPORT_VERBOSITY = 3
"""sysbench's level from which lines and summary are printed; below 1 there is not even talk."""


class Output(NamedTuple):
    """What a headless run prints, where its rows go as CSV and how often, and what it fails for.

    Where stdout is taken by data, lines and summary go to stderr.
    """

    report_interval_seconds: float = 1.0
    histogram: bool = False
    verbosity: int = REPORT_VERBOSITY
    csv: str = ""
    csv_seconds: float = 1.0
    thresholds: tuple[Threshold, ...] = ()
    is_stdout_taken: bool = False

    @property
    def is_reporting(self) -> bool:
        return self.verbosity >= REPORT_VERBOSITY


class Printer:
    """Prints an interval line every so many seconds, adding up the ticks in between."""

    def __init__(
        self, every_seconds: float, percentiles: tuple[float, ...], write: Write = to_stdout
    ) -> None:
        self._every = Every(every_seconds)
        self._percentile = percentiles[0] if percentiles else 0.0
        self._write = write

    def tick(self, elapsed_seconds: float, interval: Interval) -> None:
        whole = self._every.take(elapsed_seconds, interval)
        if whole is None:
            return
        self._write(interval_line(elapsed_seconds, whole, self._percentile) + "\n")
        if whole.rate:
            self._write(queue_line(elapsed_seconds, whole) + "\n")

    def checkpoint(self, report: FullReport) -> None:
        self._write(checkpoint_text(report))

    def note(self, message: Downward) -> None:
        if isinstance(message, Event) and message.kind in NOTED:
            say(f"{moment(message.elapsed_seconds)} {message.text}")


async def drive(spec: SessionSpec, output: Output) -> tuple[Summary, ExitCode]:
    """Runs a session in this process. A signal ends it early, with its summary.

    Raises what kept the load from ever beginning: there is nothing to sum up then.
    """
    session = Session(spec)
    async with exporting(session) as metrics:
        if metrics and output.verbosity:
            say(f"metrics at {metrics}")
        return await _driven(session, output)


async def _driven(session: Session, output: Output) -> tuple[Summary, ExitCode]:
    spec = session.spec
    reader = Outlet(partial(session.request_stop, "interrupted"))
    words = to_stderr if output.is_stdout_taken else reader.write
    printer = Printer(output.report_interval_seconds, spec.plan.percentiles, words)
    if output.is_reporting:
        session.interval_listeners.append(printer.tick)
    if output.verbosity:
        session.listeners.append(printer.note)
    await session.open()
    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, session.request_stop, "interrupted")
    if output.is_reporting:
        session.load.checkpoint_listeners.append(printer.checkpoint)
        say(f"{session.server.version_text} at {session.server.where}, {session.data_set}")
    if output.verbosity and spec.plan.trial is not None:
        say(announcement(spec.plan))
    with csv_file(output.csv, output.csv_seconds, spec.plan.percentiles, reader.write) as rows:
        if rows is not None:
            session.interval_listeners.append(rows.tick)
        summary = await session.run()
    if session.error is not None and not summary.seconds:
        raise session.error
    if output.is_reporting:
        since = session.load.accounting.since_checkpoint
        distribution = histogram_text(since.transactions) if output.histogram else ""
        words(distribution + session.text(summary))
        for line in notes(summary, spec.run_directory):
            say(line)
    latencies = session.load.accounting.transactions
    code = reader.judged(judged(session.exit_code, output.thresholds, summary, latencies))
    is_cut = rows is not None and rows.is_cut
    return summary, ExitCode.RUN_FAILED if is_cut and code is ExitCode.DONE else code


def judged(
    code: ExitCode, thresholds: tuple[Threshold, ...], summary: Summary, latencies: Histogram
) -> ExitCode:
    """The exit code, after each crossed threshold was told; a run that failed keeps its own."""
    crossed = crossings(thresholds, figures_of(summary, latencies))
    for line in crossed:
        say(f"tuibench: {line}")
    return ExitCode.THRESHOLD_CROSSED if crossed and code is ExitCode.DONE else code


def write_json(path: str, summary: Summary) -> None:
    """The summary as `tuibench.summary/1`; `-` is stdout. Raises UsageError if it cannot be written."""
    if path == "-":
        typer.echo(pretty_json(summary).decode(), nl=False)
        return
    try:
        Path(path).write_bytes(pretty_json(summary))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def demand_writable(path: str) -> None:
    """Raises UsageError when the summary could not be written there: better before the run than after it."""
    if path in ("", "-"):
        return
    try:
        Path(path).open("ab").close()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def announce_leftovers() -> None:
    """Tells of settings that a crashed session left changed, before anything new is begun."""
    for leftover in leftovers():
        remedy = "; `tuibench restore` puts it back" if leftover.settings else ""
        say(f"tuibench: {leftover.warning}{remedy}")
