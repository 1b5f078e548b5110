"""A run in figures, and in sentences."""

from collections.abc import Mapping

from tuibench.model.sample import Latency
from tuibench.model.summary import StatementTotals
from tuibench.mysql.names import error_name
from tuibench.record.analysis import analysis
from tuibench.record.html.markup import Markup, joined, tag
from tuibench.record.html.tables import figures
from tuibench.record.run import Run
from tuibench.units import count, decimal


def results(run: Run) -> Markup:
    """The run in figures."""
    summary = run.summary
    seconds = summary.seconds or 1.0
    totals = [
        ("transactions", summary.transactions.total),
        ("queries", summary.queries.total),
        ("· reads", summary.queries.read),
        ("· writes", summary.queries.write),
        ("· others", summary.queries.other),
        ("errors", summary.errors.total),
        ("retries", summary.retries),
        ("reconnects", summary.reconnects),
    ]
    latencies = [("response time", summary.latency_ms), ("service time", summary.service_ms)]
    return joined(
        figures(
            ("", "total", "a second"),
            [(name, count(total), decimal(total / seconds)) for name, total in totals],
            wide=False,
        ),
        tag("h3", "Latency, ms"),
        figures(
            ("", "count", "min", "avg", "p50", "p95", "p99", "p99.9", "max"),
            [(name, *_latency(each)) for name, each in latencies if each is not None],
        ),
        _totals("Kinds of transactions, ms", "transaction", summary.by_transaction),
        _totals("Statements, ms", "statement", summary.statements),
        _errors(run),
    )


def _latency(each: Latency) -> list[str]:
    told = (each.min, each.avg, each.p50, each.p95, each.p99, each.p999, each.max)
    return [count(each.count), *(decimal(ms) for ms in told)]


def _totals(title: str, name: str, kinds: Mapping[str, StatementTotals]) -> Markup | None:
    if not kinds:
        return None
    rows = [
        (kind, count(each.count), *(decimal(ms) for ms in (each.p50, each.p95, each.p99, each.max)))
        for kind, each in kinds.items()
    ]
    return joined(tag("h3", title), figures((name, "count", "p50", "p95", "p99", "max"), rows))


def _errors(run: Run) -> Markup | None:
    codes = run.summary.errors.by_code
    if not codes:
        return None
    rows = [(code, error_name(int(code)), count(times)) for code, times in codes.items()]
    return joined(tag("h3", "Errors"), figures(("code", "name", "times"), rows, words=2, wide=False))


def analysed(run: Run) -> Markup:
    """The analysis, chapter by chapter."""
    return joined(
        [
            joined(tag("h3", chapter.heading), tag("p", " ".join(chapter.sentences)))
            for chapter in analysis(run)
        ]
    )
