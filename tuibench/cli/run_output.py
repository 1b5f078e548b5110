"""Notes below the summary of a run: what sysbench's summary does not contain."""

import os
from collections.abc import Sequence
from pathlib import Path

from tuibench.document import text_lines
from tuibench.effects.text import cost_table, effect_line, stalls_line, steadiness_line
from tuibench.metrics.costs import cost_lines, effect_cost_lines
from tuibench.metrics.series import slow_lines
from tuibench.model.effect import CommitCost
from tuibench.model.event import EventKind
from tuibench.model.server import error_text
from tuibench.model.summary import ReplicationTotals, Summary, engine_text
from tuibench.record.recorder import SUMMARY
from tuibench.units import binary_size, pluralize


def run_notes(summary: Summary, run_directory: str) -> list[str]:
    """Notes on facts missing from sysbench's summary."""
    if summary.watched is not None:
        return watch_notes(summary, run_directory)
    lines = []
    if summary.failure:
        lines.append(f"failed: {summary.failure}")
    if summary.errors.by_code:
        codes = ", ".join(
            f"{_error_code_text(code)} × {times}" for code, times in summary.errors.by_code.items()
        )
        lines.append(f"errors by code: {codes}; transactions retried: {summary.retries}")
    if summary.service_ms is not None:
        service = summary.service_ms
        lines.append(
            f"of {summary.scheduled:,} due, {summary.transactions.total:,} done, {summary.failed:,} failed; "
            f"latency is response time, from the scheduled start; service time: "
            f"p50 {service.p50:.2f}, p95 {service.p95:.2f}, p99 {service.p99:.2f} ms"
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
    lines += [_record_note(Path(run_directory)), _headline_note(summary)]
    return [line for line in lines if line]


def replication_line(totals: ReplicationTotals | None) -> str:
    """The replicas and their maximum lag; empty without any."""
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
        *((steadiness_line(steadiness), stalls_line(steadiness)) if steadiness is not None else ()),
        *(line for effect in summary.effects for line in (effect_line(effect), *effect_cost_lines(effect))),
        *cost_lines(summary.operation_cost),
        replication_line(summary.replication),
        *commit_cost_lines(summary.costs),
        *(f"warning: {warning}" for warning in summary.warnings),
        _record_note(Path(run_directory)),
    ]
    return [line for line in lines if line]


def commit_cost_lines(costs: Sequence[CommitCost]) -> list[str]:
    """The table of the cost of a commit, a line for each value."""
    table = cost_table(costs)
    return [] if table is None else list(text_lines(table))


def _headline_note(summary: Summary) -> str:
    """The most important figures, as the last lines on the terminal."""
    if not summary.transactions.total:
        return ""
    latency = summary.latency_ms
    p95 = f", p95 {latency.p95:,.2f} ms" if latency is not None else ""
    known = summary.headline
    first = f"{known.title} {known.value:,.1f}, " if known is not None else ""
    return f"{first}{summary.transactions.per_second:,.1f} TPS{p95}"


def _record_note(directory: Path) -> str:
    """Location of the record. A missing summary, its last file, means a full disk or a killed session."""
    if os.path.exists(directory / SUMMARY):
        return f"recorded in {directory}"
    return f"recorded partially, without a summary, in {directory}"


def _error_code_text(code: str) -> str:
    """An error number with its description or the server's symbol, if any.

    The list of symbols is slow to import.
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
