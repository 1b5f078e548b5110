"""Report and text of a session without load, as printed by `tuibench watch`."""

from collections.abc import Iterator

from tuibench import units
from tuibench.document import write_text
from tuibench.model.counters import Counter
from tuibench.model.results.summary import Summary, WatchedTotals
from tuibench.model.results.watch import WatchedRate, WatchReport
from tuibench.model.tick import RESPONSE, Tick
from tuibench.record.report.addenda import experiment_blocks
from tuibench.record.sysbench_report import latency_ms, per_second


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
