"""Reports of a run, and of a session without load, as text.

The output of a recorded run in sysbench's form is equal to what the run printed, byte for byte. Notes below
the summary contain what sysbench's summary lacks.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tuibench.base import units
from tuibench.base.document import text_lines, write_text
from tuibench.base.units import binary_size, pluralize
from tuibench.metrics.costs import cost_lines, effect_cost_lines
from tuibench.metrics.series import slow_lines
from tuibench.model.counters import Counter
from tuibench.model.effect import CommitCost
from tuibench.model.event import EventKind
from tuibench.model.server import error_text
from tuibench.model.summary import ReplicationTotals, Summary, WatchedTotals, engine_text
from tuibench.model.tick import RESPONSE, Histogram, Tick
from tuibench.record import sysbench_report
from tuibench.record.hdr_log import decode_histogram
from tuibench.record.reader import Run
from tuibench.record.recorder import REPORTS, SUMMARY, ReportLine
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
from tuibench.report.anomalies import anomalies_sentence
from tuibench.report.effects import cost_table, effect_line, hot_rows_line, stalls_line, steadiness_line


def watch_text(summary: Summary) -> str:
    """The report of a session without load, ending in a newline."""
    experiments = write_text(experiment_blocks(summary))
    return "\n".join([*_watched_lines(summary), *[""] * bool(experiments), experiments])


def _watched_lines(summary: Summary) -> Iterator[str]:
    watched, queries, seconds = summary.watched or WatchedTotals(), summary.queries, summary.seconds
    yield f"The server's own traffic, {seconds:.1f} s:"
    totals = {
        "    queries": queries.total,
        "        read": queries.read,
        "        write": queries.write,
        "        other": queries.other,
        "    commits": summary.transactions.total,
        "    rollbacks": watched.rollbacks,
    }
    for name, total in totals.items():
        counted, rate = (total, total / seconds) if seconds else (None, None)
        yield f"{name + ':':<28}{units.count(counted):>14}  ({units.decimal(rate)} per sec.)"
    if watched.threads_running_avg is not None:
        average, most = watched.threads_running_avg, watched.threads_running_max
        yield f"{'    threads running:':<28}{average:>14.1f}  (at most {most})"
    note = f"  ({watched.latency_note})" if watched.latency_note else ""
    if watched.latency_avg_ms is not None:
        yield f"{'    latency avg (ms):':<28}{watched.latency_avg_ms:>14.3f}"
    if summary.latency_ms is None:
        yield f"{'    latency (ms):':<28}{units.DASH:>14}{note}"
        return
    for name, value in summary.percentiles.items():
        written = units.DASH if value is None else f"{value:.3f}"
        yield f"{f'    latency p{name} (ms):':<28}{written:>14}"
    yield f"{'    latency max (ms):':<28}{summary.latency_ms.max:>14.3f}{note}"


def watch_line(tick: Tick, percentile: float) -> str:
    """The line of an interval, similar to sysbench's; its threads are those running in the server."""
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
    """What the run printed on stdout, in pieces: head, interval lines, checkpoints, summary.

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
    """The summary as printed on the terminal; for an interrupted run, computed from its samples."""
    if run.plan.plan.is_watch or run.summary.watched is not None:
        return watch_text(run.summary)
    plan, last = run.plan.plan, next((line for line in run.reports if line.last), None)
    distribution = histogram_text(_report_latencies(run, last)) if plan.histogram else ""
    report = summary_text(run.summary) if last is None else report_text(last.report)
    return distribution + report + addenda(run.summary)


def csv_text(run: Run) -> Iterator[str]:
    """The header of the CSV, then a row for each interval."""
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
    """Remove and yield the checkpoint reports due by this time: they precede the line of the same time."""
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
    """The percentile of the interval lines; 0 if none was requested."""
    return percentiles[0] if percentiles else 0.0


def run_notes(summary: Summary, run_directory: str) -> list[str]:
    """Notes about the run that sysbench's summary lacks."""
    if summary.watched is not None:
        return watch_notes(summary, run_directory)
    lines = []
    if summary.failure:
        lines.append(f"failed: {summary.failure}")
    lines += [one.text for one in summary.not_restored]
    if summary.errors.by_code:
        codes = ", ".join(
            f"{_error_code_text(code)} × {times}" for code, times in summary.errors.by_code.items()
        )
        lines.append(f"errors by code: {codes}; transactions retried: {summary.retries}")
    if anomalies := anomalies_sentence(summary.figures):
        lines.append(f"anomalies: {anomalies}")
    if summary.service_ms is not None:
        service = summary.service_ms
        lines.append(
            f"of {summary.scheduled:,} due, {summary.transactions.total:,} done, {summary.failed:,} failed; "
            f"latency is response time, from the scheduled start; service time: "
            f"p50 {service.p50:.2f}, p95 {service.p95:.2f}, p99 {service.p99:.2f} ms"
        )
    if (goodput := summary.figures.get("goodput")) is not None:
        share, late = summary.figures["goodput_percent"], summary.figures["late"]
        lines.append(
            f"goodput: {goodput:,.1f} per second ended within the deadline, {share:.1f} % of what was due; "
            f"{late:,.0f} ended later"
        )
    if summary.abandoned:
        lines.append(f"abandoned, in flight or due: {summary.abandoned}")
    lines += [
        f"{name}: {each.count:,} transactions, p50 {each.p50:.2f}, p95 {each.p95:.2f}, p99 {each.p99:.2f} ms"
        for name, each in summary.by_transaction.items()
        if summary.headline is None
    ]
    if summary.steadiness is not None:
        lines += [steadiness_line(summary.steadiness), stalls_line(summary.steadiness)]
    lines.append(hot_rows_line(summary.hot_rows))
    lines += slow_lines(summary.slowest)
    lines += [
        line for effect in summary.effects for line in (effect_line(effect), *effect_cost_lines(effect))
    ]
    lines += cost_lines(summary.operation_cost)
    lines.append(replication_line(summary.replication))
    if summary.queries.write:
        lines += commit_cost_lines(summary.costs)
    if engine := engine_text(summary.client):
        lines.append(f"engine: {engine}")
    lines.append(_server_counters_note(summary))
    lines += [f"warning: {warning}" for warning in summary.warnings]
    lines += [_record_note(Path(run_directory)), _headline_note(summary), _answer(summary)]
    return [line for line in lines if line]


def replication_line(totals: ReplicationTotals | None) -> str:
    """A line about the replicas and their maximum lag; empty without replicas."""
    if totals is None:
        return ""
    seconds = "–" if totals.lag_max_seconds is None else f"{totals.lag_max_seconds:g} s"
    stopped = f", stopped or unread in {pluralize(totals.stopped_ticks, 'sample')}"
    return (
        f"{pluralize(len(totals.replicas), 'replica')}: lag at most {seconds}, "
        f"{binary_size(totals.lag_max_bytes)} of binary log{stopped if totals.stopped_ticks else ''}"
    )


def watch_notes(summary: Summary, run_directory: str) -> list[str]:
    """Notes below the summary of a session without load."""
    steadiness = summary.steadiness
    lines = [
        f"failed: {summary.failure}" if summary.failure else "",
        *(one.text for one in summary.not_restored),
        *((steadiness_line(steadiness), stalls_line(steadiness)) if steadiness is not None else ()),
        hot_rows_line(summary.hot_rows),
        *(line for effect in summary.effects for line in (effect_line(effect), *effect_cost_lines(effect))),
        *cost_lines(summary.operation_cost),
        replication_line(summary.replication),
        *commit_cost_lines(summary.costs),
        *(f"warning: {warning}" for warning in summary.warnings),
        _record_note(Path(run_directory)),
        _answer(summary),
    ]
    return [line for line in lines if line]


def commit_cost_lines(costs: Sequence[CommitCost]) -> list[str]:
    """A table of the cost of a commit with each value of the durability settings."""
    table = cost_table(costs)
    return [] if table is None else list(text_lines(table))


def _headline_note(summary: Summary) -> str:
    """A note with the most important figures."""
    if not summary.transactions.total:
        return ""
    latency = summary.latency_ms
    p95 = f", p95 {latency.p95:,.2f} ms" if latency is not None else ""
    known = summary.headline
    first = f"{known.title} {known.value:,.1f}, " if known is not None else ""
    return f"{first}{summary.transactions.per_second:,.1f} TPS{p95}"


def _answer(summary: Summary) -> str:
    """The answer of the run, printed last; that it failed is the first note."""
    from tuibench.report.answer import answer_sentence

    return "" if summary.failure else answer_sentence(summary)


def _record_note(directory: Path) -> str:
    """A note with the location of the record, or that its summary is missing: a full disk, a killed
    session.
    """
    if os.path.exists(directory / SUMMARY):
        return f"recorded in {directory}"
    return f"recorded partially, without a summary, in {directory}"


def _error_code_text(code: str) -> str:
    """An error number with its description or the server's symbol, if it has one.

    The list of symbols is imported on use, as importing it is slow.
    """
    if (text := error_text(code)) != code:
        return text
    from tuibench.mysql.errors import error_name

    return f"{code} {error_name(int(code))}".rstrip()


def _server_counters_note(summary: Summary) -> str:
    counted = summary.reconciliation
    if summary.outcome == "cut short":
        return "the server's counters cannot be compared: the run was cut short"
    if counted.questions_server is not None and counted.foreign is None:
        return "the server's counters cannot be compared: a worker ended without its last report"
    if counted.questions_server is None or counted.foreign is None:
        was_restarted = any(event.kind is EventKind.RESTART for event in summary.events)
        why = "it was restarted" if was_restarted else "they were reset, not read, or not reported"
        return f"the server's counters cannot be compared: {why}"
    if counted.foreign == 0:
        return f"the server counted the same {counted.questions_client:,} statements"
    counts = f"the server counted {counted.questions_server - counted.own:,} statements"
    if counted.foreign < 0:
        return f"{counts}, {-counted.foreign:,} fewer than tuibench sent: it did not receive all of them"
    return f"{counts}, {counted.foreign:,} more than tuibench sent: other clients are active"
