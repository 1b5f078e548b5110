"""Reports of a watched server, and sysbench's text of a recorded run.

Report and text of a session without load, as printed by `tuibench watch`.

sysbench's output of a recorded run: interval lines and reports byte for byte, and CSV.
"""

from collections.abc import Iterator

from tuibench import units
from tuibench.document import write_text
from tuibench.model.counters import Counter
from tuibench.model.summary import Summary, WatchedRate, WatchedTotals, WatchReport
from tuibench.model.tick import RESPONSE, Histogram, Tick
from tuibench.record import sysbench_report
from tuibench.record.hdr_log import decode_histogram
from tuibench.record.reader import Run
from tuibench.record.recorder import REPORTS, ReportLine
from tuibench.record.sysbench_report import (
    THREADS_STARTED,
    FullReport,
    IntervalAggregator,
    checkpoint_text,
    further_lines,
    head_text,
    histogram_text,
    interval_line,
    latency_ms,
    per_second,
    report_text,
    summary_text,
)
from tuibench.report.analysis import addenda, experiment_blocks


def watch_report(summary: Summary) -> WatchReport:
    """The report of a session without load. The summary must be that of such a session."""
    seconds = summary.seconds
    queries, watched = summary.queries, watched_totals(summary)

    def rate(total: int) -> WatchedRate:
        if not seconds:
            return WatchedRate(total=None, per_second=None)
        return WatchedRate(total=total, per_second=total / seconds)

    return WatchReport(
        session=summary.session,
        seconds=summary.seconds,
        outcome=summary.outcome,
        failure=summary.failure,
        queries=rate(queries.total),
        reads=rate(queries.read),
        writes=rate(queries.write),
        others=rate(queries.other),
        transactions=rate(summary.transactions.total),
        rollbacks=rate(watched.rollbacks),
        latency_ms=summary.latency_ms,
        latency_avg_ms=watched.latency_avg_ms,
        latency_note=watched.latency_note,
        percentiles=summary.percentiles,
        threads_running_avg=watched.threads_running_avg,
        threads_running_max=watched.threads_running_max,
        server=summary.server,
        own_statements=summary.reconciliation.own,
        effects=summary.effects,
        costs=summary.costs,
        ab=summary.ab,
        earlier_ab_tests=summary.earlier_ab_tests,
        events=summary.events,
        warnings=summary.warnings,
    )


def watched_totals(summary: Summary) -> WatchedTotals:
    """The totals of the traffic; empty in a summary made from samples."""
    return summary.watched or WatchedTotals(
        rollbacks=0,
        threads_running_avg=None,
        threads_running_max=None,
        latency_avg_ms=None,
        latency_note="",
    )


def watch_text(summary: Summary) -> str:
    """The text, ending in a newline."""
    experiments = write_text(experiment_blocks(summary))
    return "\n".join([*_lines(watch_report(summary)), *[""] * bool(experiments), experiments])


def _lines(report: WatchReport) -> Iterator[str]:
    yield f"The server's own traffic, {report.seconds:.1f} s:"
    rates = {
        "queries": report.queries,
        "read": report.reads,
        "write": report.writes,
        "other": report.others,
        "commits": report.transactions,
        "rollbacks": report.rollbacks,
    }
    for name, rate in rates.items():
        indent = "        " if name in ("read", "write", "other") else "    "
        counted = units.count(rate.total)
        yield f"{indent + name + ':':<28}{counted:>14}  ({units.decimal(rate.per_second)} per sec.)"
    average, most = report.threads_running_avg, report.threads_running_max
    if average is not None:
        yield f"{'    threads running:':<28}{average:>14.1f}  (at most {most})"
    yield from _latency_lines(report)


def _latency_lines(report: WatchReport) -> Iterator[str]:
    """The percentiles, or why there are none."""
    note = f"  ({report.latency_note})" if report.latency_note else ""
    if report.latency_avg_ms is not None:
        yield f"{'    latency avg (ms):':<28}{report.latency_avg_ms:>14.3f}"
    if report.latency_ms is None:
        yield f"{'    latency (ms):':<28}{units.DASH:>14}{note}"
        return
    for name, value in report.percentiles.items():
        written = units.DASH if value is None else f"{value:.3f}"
        yield f"{f'    latency p{name} (ms):':<28}{written:>14}"
    yield f"{'    latency max (ms):':<28}{report.latency_ms.max:>14.3f}{note}"


def watch_line(tick: Tick, percentile: float) -> str:
    """The line of an interval, similar to sysbench's: threads are those that run in the server."""
    latency = units.DASH
    if percentile and tick.hist(RESPONSE).count:
        latency = f"{latency_ms(tick, percentile):4.2f}"
    return (
        f"[ {tick.end:.0f}s ] running: {units.count(tick.levels.get(Counter.THREADS_RUNNING))} "
        f"commits/s: {per_second(tick, 'completed'):4.2f} qps: {per_second(tick, 'queries'):4.2f} "
        f"(r/w/o: {per_second(tick, 'reads'):4.2f}/{per_second(tick, 'writes'):4.2f}/"
        f"{per_second(tick, 'others'):4.2f}) lat (ms,{percentile:g}%): {latency}"
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
    yield from _sysbench_replay_lines(run)
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


def _sysbench_replay_lines(run: Run) -> Iterator[str]:
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
