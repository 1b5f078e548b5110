"""Reconstruction of the summary of an interrupted or running run from samples and latencies.

It lacks the session's own data: fairness of the connections, the server's last counters,
and transactions in flight. Its percentiles are exact, except those of single statements.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.metrics.series.rates import counter_interval
from tuibench.model.event import EventKind
from tuibench.model.experiments.effect import latest_effects
from tuibench.model.measurements.headline import Headline, HeadlineTotals
from tuibench.model.measurements.sample import Latency, LoadSample, Sample
from tuibench.model.results.summary import (
    ClientTotals,
    ErrorTotals,
    Fairness,
    QueryTotals,
    Reconciliation,
    ServerTotals,
    StatementTotals,
    Summary,
    TransactionTotals,
)
from tuibench.record.files import hdr_log
from tuibench.record.files.hdr_log import LogLine, encode_histogram, kind_totals
from tuibench.record.files.run import ROUNDING_SECONDS, Run
from tuibench.record.files.schema import PlanRecord, TickCounts

CUT_SHORT = "cut short: the session ended without a summary; this summary was computed from its samples"
STILL_RUNS = "the run is still in progress; these are the figures so far"
UNKNOWN = (
    "unknown in a summary computed from samples: fairness, reconciliation, transactions in flight at the end"
)


def empty_summary(plan: PlanRecord) -> Summary:
    """The summary of a run of which only the plan is known."""
    return Summary(
        session=plan.session,
        profile=plan.plan.profile,
        threads=plan.plan.threads,
        seconds=0.0,
        rate=plan.plan.rate,
        percentiles=dict.fromkeys(f"{each:g}" for each in plan.plan.percentiles),
        outcome="cut short",
        transactions=TransactionTotals(total=0, per_second=0.0),
        queries=QueryTotals(read=0, write=0, other=0, total=0, per_second=0.0),
        errors=ErrorTotals(total=0, by_code={}),
        retries=0,
        reconnects=0,
        scheduled=0,
        failed=0,
        abandoned=0,
        latency_ms=None,
        service_ms=None,
        latency_sum_ms=0.0,
        latency_histogram="",
        fairness=Fairness(events_avg=0.0, events_stddev=0.0, seconds_avg=0.0, seconds_stddev=0.0),
        statements={},
        server=ServerTotals(version=plan.server.version_text, flavour=plan.server.flavour, deltas={}),
        reconciliation=Reconciliation(
            questions_client=0,
            questions_server=None,
            own=0,
            foreign=None,
            commits_client=0,
            commits_server=None,
        ),
        client=ClientTotals(workers=0, cpu_share=0.0, cpu_seconds=0.0, limited=False),
        events=(),
        warnings=(),
    )


def summary_from_samples(run: Run) -> Summary:
    """The summary of a run, from its samples since the last reset."""
    since = max((event.elapsed_seconds for event in run.events if event.kind is EventKind.RESET), default=0.0)
    ticks = [
        (sample, counts)
        for sample, counts in zip(run.samples, run.counts, strict=True)
        if sample.elapsed_seconds > since
    ]
    blank = empty_summary(run.plan)
    warnings = run.states[-1].status.warnings if run.states else ()
    known = {"events": run.events, "warnings": (*warnings, STILL_RUNS if run.is_live else CUT_SHORT, UNKNOWN)}
    if not ticks:
        return _with(blank, **known)
    return _with(blank, **known, **_figures(run, ticks, since))


def _figures(run: Run, ticks: Sequence[tuple[Sample, TickCounts]], since: float) -> dict[str, object]:
    samples = [sample for sample, _ in ticks]
    counts = [each for _, each in ticks]
    loads = [sample.load for sample in samples if sample.load]
    merged = _merged(line for line in run.histograms() if line.start_seconds >= since - ROUNDING_SECONDS)
    response = merged.pop(hdr_log.RESPONSE, Histogram())
    service = merged.pop(hdr_log.SERVICE, Histogram())
    response.sum_us = sum(each.sum_us for each in counts)
    service.sum_us = sum(each.service_sum_us for each in counts)
    seconds = samples[-1].elapsed_seconds - since
    return {
        "seconds": seconds,
        **({"threads": loads[-1].threads, "rate": loads[-1].rate} if loads else {}),
        **_totals(counts, seconds),
        "percentiles": {
            f"{wanted:g}": us / US_PER_MS
            for wanted, us in zip(
                run.plan.plan.percentiles, response.percentiles(run.plan.plan.percentiles), strict=True
            )
        },
        "latency_ms": response.latency(),
        "service_ms": service.latency(),
        "latency_sum_ms": response.sum_us / US_PER_MS,
        "latency_histogram": encode_histogram(response),
        "statements": _statements(load.statements for load in loads),
        "by_transaction": {
            tag.removeprefix(hdr_log.TRANSACTION): kind_totals(each) for tag, each in merged.items()
        },
        "server": ServerTotals(
            version=run.plan.server.version_text,
            flavour=run.plan.server.flavour,
            deltas=_growth(samples),
        ),
        "client": _client(run, loads, seconds),
        "client_delay_ms": max((load.client_delay_ms for load in loads), default=0.0),
        "effects": latest_effects(event.effect for event in run.events if event.effect),
        "costs": run.costs[-1] if run.costs else (),
        "headline": _headline(run.plan.headline, merged, response, seconds),
    }


def _headline(
    headline: Headline | None, kinds: Mapping[str, Histogram], all_kinds: Histogram, seconds: float
) -> HeadlineTotals | None:
    if headline is None:
        return None
    kind = kinds.get(hdr_log.TRANSACTION + headline.transaction, Histogram()) if kinds else all_kinds
    return HeadlineTotals.of(headline, kind.count, seconds)


def _with(summary: Summary, **fields: object) -> Summary:
    return Summary(**{**{name: getattr(summary, name) for name in Summary.__struct_fields__}, **fields})


def _totals(counts: Sequence[TickCounts], seconds: float) -> dict[str, object]:
    def total(name: str) -> int:
        return sum(getattr(each, name) for each in counts)

    codes: dict[str, int] = {}
    for each in counts:
        for code, times in each.errors.items():
            codes[str(code)] = codes.get(str(code), 0) + times
    queries = total("reads") + total("writes") + total("others")
    return {
        "transactions": TransactionTotals(total=total("completed"), per_second=total("completed") / seconds),
        "queries": QueryTotals(
            read=total("reads"),
            write=total("writes"),
            other=total("others"),
            total=queries,
            per_second=queries / seconds,
        ),
        "errors": ErrorTotals(total=sum(codes.values()), by_code=codes),
        **{name: total(name) for name in ("retries", "reconnects", "scheduled", "failed", "abandoned")},
        "reconciliation": Reconciliation(
            questions_client=total("questions"),
            questions_server=None,
            own=0,
            foreign=None,
            commits_client=total("commits"),
            commits_server=None,
        ),
    }


def _merged(lines: Iterator[LogLine]) -> dict[str, Histogram]:
    """All latencies of each tag; their exact sums are in the samples."""
    found: dict[str, Histogram] = {}
    for line in lines:
        found.setdefault(line.tag, Histogram()).add(line.histogram(sum_us=0))
    return found


def _statements(ticks: Iterable[Mapping[str, Latency]]) -> dict[str, StatementTotals]:
    """Totals of each statement: counts and maxima are exact, percentiles are means of the samples', weighted
    by count.
    """
    found: dict[str, list[Latency]] = {}
    for tick in ticks:
        for name, latency in tick.items():
            found.setdefault(name, []).append(latency)
    return {name: _mean(each) for name, each in found.items()}


def _mean(ticks: Sequence[Latency]) -> StatementTotals:
    count = sum(each.count for each in ticks)
    return StatementTotals(
        count=count,
        p50=sum(each.p50 * each.count for each in ticks) / count,
        p95=sum(each.p95 * each.count for each in ticks) / count,
        p99=sum(each.p99 * each.count for each in ticks) / count,
        max=max(each.max for each in ticks),
    )


def _growth(samples: Sequence[Sample]) -> dict[str, int]:
    """The growth of the server's counters from the first sample to the last; empty after a restart."""
    readings = [sample.server.counters for sample in samples if sample.server]
    if not readings:
        return {}
    grown = counter_interval(readings[0], readings[-1], 1.0)
    return {} if grown.reset else grown.deltas


def _client(run: Run, loads: Sequence[LoadSample], seconds: float) -> ClientTotals:
    workers = run.states[-1].status.workers if run.states else 0
    busy = sum(load.worker_cpu * load.seconds for load in loads)
    return ClientTotals(
        workers=workers,
        cpu_share=busy / seconds,
        cpu_seconds=busy * workers,
        limited=any("client-limited" in text for state in run.states for text in state.status.warnings),
    )
