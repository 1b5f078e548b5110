"""Headless session without load: lines and summary as text, or as JSON."""

import asyncio
from functools import partial

import msgspec

from tuibench.cli.options.run_options import ab_test_announcement
from tuibench.cli.output.formats import JSON, TEXT, echo_json
from tuibench.cli.output.log import info, timestamp
from tuibench.cli.output.run_notes import watch_notes
from tuibench.cli.output.stdio import PipeSafeStdout, Write
from tuibench.cli.runner.event_loop import ENDING_SIGNALS
from tuibench.cli.runner.headless import REPORTED_EVENTS
from tuibench.errors import ExitCode
from tuibench.model.event import Event, EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import SessionMessage
from tuibench.model.results.summary import Summary
from tuibench.model.tick import Tick
from tuibench.record.report.watch_report import watch_line, watch_report
from tuibench.session.service.metrics_endpoint import serve_metrics
from tuibench.session.spec import SessionSpec
from tuibench.session.watch_run import WatchRun


async def run_headless_watch(spec: SessionSpec, form: str) -> ExitCode:
    """Watch until the time limit or a signal, and print in this format."""
    run = WatchRun(spec)
    stdout = PipeSafeStdout(partial(run.request_stop, "interrupted"))
    bus = run.watcher.bus
    bus.listeners.append(_report_event)
    if form == TEXT:
        bus.interval_listeners.append(partial(_print_interval, stdout.write, spec.plan.percentiles))
    elif form != JSON:
        bus.listeners.append(partial(_print_line, stdout.write))
    async with serve_metrics(run) as metrics, run:
        if metrics:
            info(f"metrics at {metrics}")
        loop = asyncio.get_running_loop()
        for number in ENDING_SIGNALS:
            loop.add_signal_handler(number, run.request_stop, "interrupted")
        bus.event_listeners.append(partial(_report_start, run))
        if spec.plan.trial is not None:
            info(ab_test_announcement(spec.plan))
        summary = await run.run()
    if run.watcher.lifecycle.error is not None and not summary.seconds:
        raise run.watcher.lifecycle.error
    _print_summary(form, run, summary, stdout.write)
    return stdout.judged(run.watcher.lifecycle.exit_code)


def _print_summary(form: str, run: WatchRun, summary: Summary, write: Write) -> None:
    if form == TEXT:
        write(run.text(summary))
    elif form == JSON:
        echo_json(watch_report(summary))
    else:
        write(msgspec.json.encode(watch_report(summary)).decode() + "\n")
    for line in watch_notes(summary, run.spec.run_directory):
        info(line)


def _report_start(run: WatchRun, event: Event) -> None:
    """Report the watched server, after the first reading."""
    if event.kind is EventKind.START:
        server = run.watcher.server
        info(f"watching {server.version_text} at {server.where}")


def _report_event(message: SessionMessage) -> None:
    if isinstance(message, Event) and message.kind in REPORTED_EVENTS:
        info(f"{timestamp(message.elapsed_seconds)} {message.text}")


def _print_line(write: Write, message: SessionMessage) -> None:
    """Print a sample or an event as a line of JSON."""
    if isinstance(message, Sample | Event):
        write(msgspec.json.encode(message).decode() + "\n")


def _print_interval(write: Write, percentiles: tuple[float, ...], tick: Tick) -> None:
    write(watch_line(tick, percentiles[0] if percentiles else 0.0) + "\n")
