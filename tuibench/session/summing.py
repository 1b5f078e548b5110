"""Builds the summary of a run from its accounting and from the server's own counters."""

from collections.abc import Mapping

import msgspec

from tuibench.load.report import Counters
from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.model.summary import (
    ClientTotals,
    ErrorTotals,
    Fairness,
    QueryTotals,
    Reconciliation,
    ServerTotals,
    StatementTotals,
    TransactionTotals,
)
from tuibench.session.accounting import Accounting


class ServerReading(msgspec.Struct, frozen=True, kw_only=True):
    """The server's cumulative counters at one moment, and how many statements we had sent it by then.

    `own` counts sampling and steering, the reading itself included; `uptime_seconds` tells a restart.
    """

    counters: Mapping[str, int]
    own: int
    uptime_seconds: int


def deltas(before: ServerReading | None, after: ServerReading | None) -> dict[str, int] | None:
    """How much each counter grew; None if a reading is missing or the counters began anew in between."""
    if before is None or after is None or after.uptime_seconds < before.uptime_seconds:
        return None
    grown = {
        name: value - before.counters[name]
        for name, value in after.counters.items()
        if name in before.counters
    }
    return None if grown.get("Questions", 0) < 0 else grown


def reconciliation(
    totals: Counters, before: ServerReading | None, after: ServerReading | None
) -> Reconciliation:
    """Client against server: what is left over was sent by others."""
    grown = deltas(before, after)
    own = after.own - before.own if before and after else 0
    questions = grown.get("Questions") if grown is not None else None
    return Reconciliation(
        questions_client=totals.questions,
        questions_server=questions,
        own=own,
        foreign=None if questions is None else questions - own - totals.questions,
        commits_client=totals.commits,
        commits_server=grown.get("Com_commit") if grown is not None else None,
    )


def query_totals(totals: Counters, seconds: float) -> QueryTotals:
    return QueryTotals(
        read=totals.reads,
        write=totals.writes,
        other=totals.others,
        total=totals.queries,
        per_second=totals.queries / seconds,
    )


def transaction_totals(totals: Counters, seconds: float) -> TransactionTotals:
    return TransactionTotals(total=totals.completed, per_second=totals.completed / seconds)


def error_totals(totals: Counters) -> ErrorTotals:
    return ErrorTotals(
        total=sum(totals.errors.values()),
        by_code={str(code): times for code, times in totals.errors.items()},
    )


def statement_totals(histogram: Histogram) -> StatementTotals:
    p50, p95, p99 = (us / US_PER_MS for us in histogram.percentiles((50, 95, 99)))
    return StatementTotals(count=histogram.count, p50=p50, p95=p95, p99=p99, max=histogram.max_us / US_PER_MS)


def fairness(accounting: Accounting) -> Fairness:
    events, seconds = accounting.events_per_connection, accounting.seconds_per_connection
    return Fairness(
        events_avg=events.mean,
        events_stddev=events.deviation,
        seconds_avg=seconds.mean,
        seconds_stddev=seconds.deviation,
    )


def client_totals(accounting: Accounting, workers: int, seconds: float, *, limited: bool) -> ClientTotals:
    return ClientTotals(
        workers=workers,
        cpu_share=accounting.cpu_seconds / seconds / max(1, workers),
        cpu_seconds=accounting.cpu_seconds,
        limited=limited,
    )


def server_totals(version: str, flavour: str, grown: dict[str, int] | None) -> ServerTotals:
    return ServerTotals(version=version, flavour=flavour, deltas=grown or {})
