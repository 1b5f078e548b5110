"""Reconstruction of the summary of an interrupted or running run from samples and latencies.

It lacks the session's own data: fairness of the connections, the server's last counters,
and transactions in flight.
"""

from collections.abc import Mapping, Sequence

from tuibench.metrics.figures import read
from tuibench.model.counters import CUMULATIVE_NAMES
from tuibench.model.event import EventKind
from tuibench.model.experiments.effect import latest_effects
from tuibench.model.histogram import US_PER_MS, Histogram
from tuibench.model.measurements.headline import Headline, HeadlineTotals
from tuibench.model.measurements.sample import Sample
from tuibench.model.results.summary import (
    ClientTotals,
    ErrorTotals,
    Fairness,
    QueryTotals,
    Reconciliation,
    ServerTotals,
    Summary,
    TransactionTotals,
)
from tuibench.model.tick import ERROR, RESPONSE, SERVICE, STATEMENT, TRANSACTION, Tick, total_tick
from tuibench.record.files.hdr_log import encode_histogram, kind_totals, statement_totals
from tuibench.record.files.run import Run
from tuibench.record.files.schema import PlanRecord

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
    samples = [sample for sample in run.samples if sample.elapsed_seconds > since]
    blank = empty_summary(run.plan)
    warnings = run.states[-1].status.warnings if run.states else ()
    known = {"events": run.events, "warnings": (*warnings, STILL_RUNS if run.is_live else CUT_SHORT, UNKNOWN)}
    if not samples:
        return _with(blank, **known)
    return _with(blank, **known, **_figures(run, samples, since))


def _figures(run: Run, samples: Sequence[Sample], since: float) -> dict[str, object]:
    loads = [sample.load for sample in samples if sample.load]
    whole = total_tick(sample.tick for sample in samples)
    response, service, kinds = whole.hist(RESPONSE), whole.hist(SERVICE), whole.named(TRANSACTION)
    seconds = whole.end - since
    return {
        "seconds": seconds,
        **({"threads": int(loads[-1].levels["threads"]), "rate": loads[-1].levels["rate"]} if loads else {}),
        **_totals(whole, seconds),
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
        "statements": {name: statement_totals(each) for name, each in sorted(whole.named(STATEMENT).items())},
        "by_transaction": {name: kind_totals(each) for name, each in kinds.items()},
        "server": ServerTotals(
            version=run.plan.server.version_text,
            flavour=run.plan.server.flavour,
            deltas=_growth(run, whole),
        ),
        "client": _client(run, loads, seconds),
        "client_delay_ms": max((load.levels.get("client_delay_ms", 0.0) for load in loads), default=0.0),
        "effects": latest_effects(event.effect for event in run.events if event.effect),
        "costs": run.costs[-1] if run.costs else (),
        "headline": _headline(run.plan.headline, kinds, response, seconds),
    }


def _headline(
    headline: Headline | None, kinds: Mapping[str, Histogram], all_kinds: Histogram, seconds: float
) -> HeadlineTotals | None:
    if headline is None:
        return None
    kind = kinds.get(headline.transaction, Histogram()) if kinds else all_kinds
    return HeadlineTotals.of(headline, kind.count, seconds)


def _with(summary: Summary, **fields: object) -> Summary:
    return Summary(**{**{name: getattr(summary, name) for name in Summary.__struct_fields__}, **fields})


def _totals(whole: Tick, seconds: float) -> dict[str, object]:
    def total(name: str) -> int:
        return round(whole.sums.get(name, 0))

    codes = {code: round(times) for code, times in whole.counts(ERROR).items()}
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


def _growth(run: Run, whole: Tick) -> dict[str, int]:
    """The growth of the server's counters; empty after a restart."""
    if any(event.kind is EventKind.RESTART for event in run.events):
        return {}
    return {name: int(value) for name, value in whole.sums.items() if name in CUMULATIVE_NAMES}


def _client(run: Run, loads: Sequence[Tick], seconds: float) -> ClientTotals:
    workers = run.states[-1].status.workers if run.states else 0
    busy = sum((read("worker_cpu", load) or 0.0) * load.seconds for load in loads)
    return ClientTotals(
        workers=workers,
        cpu_share=busy / seconds,
        cpu_seconds=busy * workers,
        limited=any("client-limited" in text for state in run.states for text in state.status.warnings),
    )
