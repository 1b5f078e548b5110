"""The summary of a run: what it has measured, computed from the sum of its ticks.

A session adds what only it knows: its outcome, the server's last counters, the results of experiments.
"""

from tuibench.metrics.figures import all_values
from tuibench.metrics.series import ratio
from tuibench.model.summary import (
    ClientTotals,
    ConnectionTotals,
    Fairness,
    Reconciliation,
    ServerTotals,
    Summary,
    WatchedTotals,
)
from tuibench.model.tick import LOGIN, WAIT, Tick
from tuibench.record.recorder import PlanRecord
from tuibench.record.sysbench_report import load_fields

NO_FAIRNESS = Fairness(events_avg=0.0, events_stddev=0.0, seconds_avg=0.0, seconds_stddev=0.0)


def summary_of(
    record: PlanRecord,
    total: Tick,
    *,
    is_traffic: bool = False,
    workers: int = 0,
    kinds: tuple[str, ...] = (),
) -> Summary:
    """The summary of a run with this total; its outcome is "cut short".

    If it `is_traffic`, the figures are those of the server's clients, and there are none of a load. `kinds`
    are the profile's transactions, in its order.
    """
    plan, server, headline = record.plan, record.server, None if is_traffic else record.headline
    seconds, client = total.seconds, Tick() if is_traffic else total
    cpu_seconds = client.sums.get("worker_cpu_seconds", 0.0)
    return Summary(
        session=record.session,
        profile=plan.profile,
        threads=int(total.levels.get("threads", plan.threads)),
        seconds=seconds,
        rate=total.levels.get("rate", plan.rate),
        outcome="cut short",
        deviations=plan.deviations,
        **load_fields(total, plan.percentiles, kinds),
        fairness=NO_FAIRNESS,
        server=ServerTotals(version=server.version_text, flavour=server.flavour, deltas={}),
        reconciliation=Reconciliation(
            questions_client=round(client.sums.get("questions", 0)),
            questions_server=None,
            own=0,
            foreign=None,
            commits_client=round(client.sums.get("commits", 0)),
            commits_server=None,
        ),
        client=ClientTotals(
            workers=workers,
            cpu_share=(ratio(cpu_seconds, seconds) or 0.0) / max(1, workers),
            cpu_seconds=cpu_seconds,
            limited=False,
            **server.transport_fields,
        ),
        events=(),
        warnings=(),
        figures=all_values(total),
        headline=headline and headline.measured(total.of_kind(headline.transaction).count, seconds),
        watched=watched_totals(total) if is_traffic else None,
        connection_load=_connection_totals(record, client) if plan.has_connection_load else None,
    )


def watched_totals(total: Tick) -> WatchedTotals:
    """What only the summary of a server's traffic has."""
    sums, most = total.sums, total.peaks.get("threads_running")
    return WatchedTotals(
        rollbacks=round(sums.get("rollbacks", 0)),
        threads_running_avg=ratio(sums.get("thread_seconds"), total.seconds),
        threads_running_max=None if most is None else int(most),
        latency_avg_ms=ratio(sums.get("statement_ms"), sums.get("timed")),
        latency_note=total.missing.get("latency", ""),
    )


def _connection_totals(record: PlanRecord, total: Tick) -> ConnectionTotals:
    logins = round(total.sums.get("logins", 0))
    return ConnectionTotals(
        idle=round(total.levels.get("idle", 0)),
        idle_wanted=record.plan.idle_connections,
        logins=logins,
        logins_per_second=ratio(logins, total.seconds) or 0.0,
        missed_logins=round(total.sums.get("missed_logins", 0)),
        login_ms=total.hist(LOGIN).latency(),
        users=record.plan.users,
        wait_ms=total.hist(WAIT).latency(),
    )
