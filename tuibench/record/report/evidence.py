"""What a recorded run shows of client, server and host, taken together: what analysis argues with."""

import collections
import math
from collections.abc import Iterable
from typing import NamedTuple

from tuibench.diagnosis.indicators import (
    COMMIT,
    counter_growth,
    lock_waiters,
    mean_of_known,
    seconds_between,
    table_misses_percent,
)
from tuibench.metrics.series.rates import ratio
from tuibench.model.counters import Counter
from tuibench.model.sample import LoadSample
from tuibench.record.files.run import Run


class RunEvidence(NamedTuple):
    """Means over the measured time, unless said otherwise; None where nobody could tell.

    CPU figures are percent of the whole host. `waiting_for_locks` is how many threads waited for a row lock
    at a time. `statement_shares` is each statement's part (0 to 1) of the time that all of them took,
    `disk_reads_each` and `log_fsyncs_each` are for one transaction, `network_share` what the road to the
    server made of a transaction's time.
    """

    rates: tuple[float, ...]
    threads: float
    cpu_total: float | None
    cpu_server: float | None
    cpu_tuibench: float | None
    cpu_rest: float | None
    worker_cpu: float
    threads_running: float | None
    waiting_for_locks: float | None
    statement_shares: dict[str, float]
    log_fsyncs_each: float | None
    disk_reads_each: float | None
    buffer_pool_hit: float | None
    table_misses_percent: float | None
    network_share: float | None

    @property
    def commit_share(self) -> float | None:
        return self.statement_shares.get(COMMIT)


def run_evidence(run: Run) -> RunEvidence:
    """All of it."""
    loads = [sample.load for sample in run.measured if sample.load is not None]
    servers = [sample.server for sample in run.measured if sample.server is not None]
    hosts = [sample.host for sample in run.measured if sample.host is not None]
    growths = counter_growth(servers)
    transactions = float(run.summary.transactions.total) or None
    return RunEvidence(
        rates=tuple(load.transactions_per_second for load in loads),
        threads=mean_of_known(loads, lambda load: load.threads) or 0.0,
        cpu_total=mean_of_known(hosts, lambda host: host.cpu_total),
        cpu_server=mean_of_known(hosts, lambda host: host.cpu_server),
        cpu_tuibench=mean_of_known(hosts, lambda host: host.cpu_tuibench),
        cpu_rest=mean_of_known(hosts, lambda host: host.cpu_rest),
        worker_cpu=max((load.worker_cpu for load in loads), default=0.0),
        threads_running=mean_of_known(servers, lambda server: float(server.threads_running)),
        waiting_for_locks=lock_waiters(growths, seconds_between(run.measured)),
        statement_shares=statement_shares(loads),
        log_fsyncs_each=mean_of_known(servers, lambda server: server.log_fsyncs_per_transaction),
        disk_reads_each=ratio(growths.get(Counter.POOL_READS), transactions),
        buffer_pool_hit=mean_of_known(servers, lambda server: server.buffer_pool_hit),
        table_misses_percent=table_misses_percent(growths),
        network_share=_network(run),
    )


def statement_shares(loads: Iterable[LoadSample]) -> dict[str, float]:
    """Each statement's part of the time that all of them took, the greatest first."""
    times: collections.Counter[str] = collections.Counter()
    for load in loads:
        for name, latency in load.statements.items():
            times[name] += latency.count * latency.avg  # type: ignore[assignment]
    whole = math.fsum(times.values())
    return {name: time / whole for name, time in times.most_common()} if whole else {}


def _network(run: Run) -> float | None:
    """Round trips of a transaction, each as long as before the load plus what was pretended, of its time."""
    figures, trip = run.summary, run.environment.round_trip if run.environment else None
    if trip is None or figures.latency_ms is None or not figures.transactions.total:
        return None
    each = figures.queries.total / figures.transactions.total
    return min(1.0, each * (trip.median_ms + figures.client_delay_ms) / figures.latency_ms.avg)
