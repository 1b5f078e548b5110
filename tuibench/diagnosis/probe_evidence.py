"""What the samples of a step show of client, server and host: means of gauges, differences of counters."""

import math
from collections.abc import Iterable, Sequence

from tuibench.diagnosis.indicators import (
    COMMIT,
    counter_growth,
    lock_waiters,
    mean_of_known,
    seconds_between,
    table_misses_percent,
)
from tuibench.diagnosis.measurement_warnings import is_client_limited
from tuibench.metrics.series.rates import ratio
from tuibench.model.counters import Counter
from tuibench.model.probe import StepEvidence
from tuibench.model.sample import LoadSample, Sample, ServerSample


def step_evidence(samples: Sequence[Sample], connections: int) -> StepEvidence:
    """All that speaks for one limiter or another."""
    loads = [sample.load for sample in samples if sample.load is not None]
    servers = [sample.server for sample in samples if sample.server is not None]
    hosts = [sample.host for sample in samples if sample.host is not None]
    transactions = sum(round(load.transactions_per_second * load.seconds) for load in loads)
    growths, seconds = counter_growth(servers), seconds_between(samples)
    newest = servers[-1] if servers else None
    return StepEvidence(
        connections=connections,
        limited_share=_share(is_client_limited(load) for load in loads),
        worker_cpu=max((load.worker_cpu for load in loads), default=0.0),
        lag_ms=max((load.lag_p99_ms for load in loads), default=0.0),
        backlog=loads[-1].backlog if loads else 0,
        cpu_total=mean_of_known(hosts, lambda host: host.cpu_total),
        cpu_server=mean_of_known(hosts, lambda host: host.cpu_server),
        cpu_tuibench=mean_of_known(hosts, lambda host: host.cpu_tuibench),
        cpu_rest=mean_of_known(hosts, lambda host: host.cpu_rest),
        threads_running=mean_of_known(servers, lambda server: float(server.threads_running)),
        waiting_for_locks=lock_waiters(growths, seconds),
        commit_share=_commit_share(loads),
        log_fsyncs_each=mean_of_known(servers, lambda server: server.log_fsyncs_per_transaction),
        log_waits_per_second=ratio(growths.get(Counter.LOG_WAITS), seconds),
        table_misses_percent=table_misses_percent(growths),
        open_tables=newest.open_tables if newest else None,
        table_open_cache=newest.table_open_cache if newest else None,
        buffer_pool_hit=mean_of_known(servers, lambda server: server.buffer_pool_hit),
        disk_reads_each=ratio(growths.get(Counter.POOL_READS), float(transactions)),
        foreign_percent=_foreign(loads, servers),
    )


def _commit_share(loads: Sequence[LoadSample]) -> float | None:
    """COMMIT's part of the transactions' time; None for a profile whose statements commit themselves."""
    commits = [part.statements[COMMIT] for part in loads if COMMIT in part.statements]
    whole = math.fsum(
        latency.count * latency.avg
        for latency in (part.service or part.latency for part in loads)
        if latency is not None
    )
    return ratio(math.fsum(each.count * each.avg for each in commits), whole) if commits else None


def _foreign(loads: Sequence[LoadSample], servers: Sequence[ServerSample]) -> float | None:
    """The share of the server's statements, in percent, that was not ours; about, the two are read apart."""
    ours = mean_of_known(loads, lambda load: load.queries_per_second)
    theirs = mean_of_known(servers, lambda server: server.questions_per_second)
    if ours is None or not theirs:
        return None
    return max(0.0, 100 * (1 - ours / theirs))


def _share(answers: Iterable[bool]) -> float:
    told = list(answers)
    return sum(told) / len(told) if told else 0.0
