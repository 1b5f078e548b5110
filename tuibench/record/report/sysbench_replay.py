"""sysbench's output of a recorded run: interval lines and reports byte for byte, and CSV."""

from collections.abc import Iterator

from tuibench.model.histogram import Histogram
from tuibench.record import sysbench_report
from tuibench.record.files.hdr_log import decode_histogram
from tuibench.record.files.recorder import REPORTS
from tuibench.record.files.run import Run
from tuibench.record.files.schema import ReportLine
from tuibench.record.report.addenda import addenda
from tuibench.record.report.watch_report import watch_line, watch_text
from tuibench.record.sysbench_report import (
    THREADS_STARTED,
    FullReport,
    IntervalAggregator,
    checkpoint_text,
    further_lines,
    head_text,
    histogram_text,
    interval_line,
    report_text,
    summary_text,
)


def sysbench_text(run: Run) -> Iterator[str]:
    """All of stdout, piece by piece: head, interval lines, checkpoints, the summary.

    For a session without load, the output of `tuibench watch --format text`.
    """
    if run.plan.plan.is_watch:
        percentile = _first(run.plan.plan.percentiles)
        for tick in run.intervals():
            yield watch_line(tick, percentile) + "\n"
        yield final_report(run)
        return
    yield head_text(run.plan.version, run.plan.plan)
    yield THREADS_STARTED
    yield from _lines(run)
    yield final_report(run)


def final_report(run: Run) -> str:
    """The summary as printed on the terminal; for an interrupted run, the one made from its samples."""
    if run.plan.plan.is_watch or run.summary.watched is not None:
        return watch_text(run.summary)
    plan, last = run.plan.plan, next((line for line in run.reports if line.last), None)
    distribution = histogram_text(_report_latencies(run, last)) if plan.histogram else ""
    report = summary_text(run.summary) if last is None else report_text(last.report)
    return distribution + report + addenda(run.summary)


def csv_text(run: Run) -> Iterator[str]:
    """A row for each interval, after the header."""
    plan = run.plan.plan
    every, percentile = (
        IntervalAggregator(plan.report_seconds or plan.interval_seconds),
        _first(plan.percentiles),
    )
    yield sysbench_report.CSV_HEADER
    for tick in run.intervals():
        if (whole := every.add(tick)) is not None:
            yield sysbench_report.interval_csv_row(whole, percentile)


def _lines(run: Run) -> Iterator[str]:
    plan = run.plan.plan
    every, percentile = IntervalAggregator(plan.report_seconds), _first(plan.percentiles)
    made = [line.report for line in run.reports if not line.last]
    checkpoints = list(zip(plan.checkpoints, made, strict=False))
    for tick in run.intervals():
        yield from _reached(checkpoints, tick.end)
        if (whole := every.add(tick)) is not None:
            yield interval_line(whole, percentile) + "\n"
            yield from (line + "\n" for line in further_lines(whole))
    yield from (checkpoint_text(report) for _, report in checkpoints)


def _reached(checkpoints: list[tuple[int, FullReport]], elapsed_seconds: float) -> Iterator[str]:
    """The reports due by this time; they are printed before the line of the same time."""
    while checkpoints and checkpoints[0][0] <= elapsed_seconds:
        yield checkpoint_text(checkpoints.pop(0)[1])


def _report_latencies(run: Run, last: ReportLine | None) -> Histogram:
    """The latencies of the last report, which begins at the last checkpoint."""
    if last is None or not last.latency_histogram:
        return run.latencies()
    latency = last.report.latency
    return decode_histogram(
        last.latency_histogram,
        max_us=round(latency.max * 1e3) if latency else 0,
        where=str(run.directory / REPORTS),
    )


def _first(percentiles: tuple[float, ...]) -> float:
    """The percentile of the interval lines; 0 for none."""
    return percentiles[0] if percentiles else 0.0
