"""Evidence of a diagnosis, collected from samples: means of gauges, growth of counters."""

import math
from collections.abc import Callable, Sequence

from tuibench.diagnosis.indicators import (
    COMMIT,
    counter_growth,
    is_rate_met,
    lock_waiters,
    mean_of_known,
    seconds_between,
    table_misses_percent,
)
from tuibench.diagnosis.measurement_warnings import is_client_limited
from tuibench.metrics.series.rates import ratio
from tuibench.model.counters import Counter
from tuibench.model.measurements.finding import Evidence
from tuibench.model.measurements.sample import HostSample, LoadSample, Sample, ServerSample


def collect_evidence(
    samples: Sequence[Sample], *, is_local: bool = True, round_trip_ms: float | None = None
) -> Evidence:
    """Collect the evidence from the measured samples.

    `is_local` is True if the server runs on this host, `round_trip_ms` is that of an idle network.
    """
    loads = [sample.load for sample in samples if sample.load is not None]
    servers = [sample.server for sample in samples if sample.server is not None]
    hosts = [sample.host for sample in samples if sample.host is not None]
    seconds = math.fsum(load.seconds for load in loads)
    tps = _per_second(loads, seconds, lambda load: load.transactions_per_second)
    attempted = tps + _per_second(loads, seconds, lambda load: load.errors_per_second)
    rate = mean_of_known(loads, lambda load: load.rate) or 0.0
    backlog = loads[-1].backlog if loads else 0
    growths, server_seconds = counter_growth(servers), seconds_between(samples)
    newest = servers[-1] if servers else None
    in_flight = ratio(_latency_ms(loads), 1000 * seconds)
    running = mean_of_known(servers, _threads_at_work)
    return Evidence(
        threads=mean_of_known(loads, lambda load: load.threads) or 0.0,
        connections=max((load.connections for load in loads), default=0),
        rate=rate,
        is_rate_met=bool(rate) and is_rate_met(attempted, rate, backlog),
        backlog=backlog,
        client_limited_share=mean_of_known(loads, is_client_limited) or 0.0,
        worker_cpu=max((load.worker_cpu for load in loads), default=0.0),
        lag_ms=max((load.lag_p99_ms for load in loads), default=0.0),
        network_share=_network_share(loads, round_trip_ms),
        cpu_total=mean_of_known(hosts, lambda host: host.cpu_total),
        cpu_server=mean_of_known(hosts, lambda host: host.cpu_server),
        cpu_tuibench=mean_of_known(hosts, lambda host: host.cpu_tuibench),
        cpu_others=others_percent(hosts, is_local=is_local),
        threads_running=running,
        in_flight=in_flight,
        outside_ms=_outside_ms(loads, seconds, in_flight, running, round_trip_ms or 0.0),
        lock_waiters=lock_waiters(growths, server_seconds),
        commit_share=_commit_share(loads),
        log_fsyncs_per_transaction=mean_of_known(servers, lambda server: server.log_fsyncs_per_transaction),
        log_waits_per_second=ratio(growths.get(Counter.LOG_WAITS), server_seconds),
        table_misses_percent=table_misses_percent(growths),
        open_tables=newest.open_tables if newest else None,
        table_open_cache=newest.table_open_cache if newest else None,
        buffer_pool_hit=mean_of_known(servers, lambda server: server.buffer_pool_hit),
        disk_reads_per_transaction=ratio(growths.get(Counter.POOL_READS), round(tps * seconds) or None),
        foreign_percent=_foreign_percent(loads, servers),
    )


def others_percent(hosts: Sequence[HostSample], *, is_local: bool) -> float | None:
    """The CPU share of other programs; None if the process of a server on this host was not found."""
    known = [host for host in hosts if host.cpu_server is not None or not (is_local or host.origin)]
    return mean_of_known(known, lambda host: host.cpu_rest)


def _per_second(loads: Sequence[LoadSample], seconds: float, rate: Callable[[LoadSample], float]) -> float:
    return math.fsum(rate(load) * load.seconds for load in loads) / seconds if seconds else 0.0


def _latency_ms(loads: Sequence[LoadSample]) -> float:
    """The time of all transactions together, without the wait for a free connection."""
    known = [latency for load in loads if (latency := load.service or load.latency) is not None]
    return math.fsum(latency.count * latency.avg for latency in known)


def _commit_share(loads: Sequence[LoadSample]) -> float | None:
    """COMMIT's share of the transactions' time; None for a profile without explicit transactions."""
    commits = [load.statements[COMMIT] for load in loads if COMMIT in load.statements]
    return (
        ratio(math.fsum(each.count * each.avg for each in commits), _latency_ms(loads)) if commits else None
    )


def _network_share(loads: Sequence[LoadSample], round_trip_ms: float | None) -> float | None:
    """The share of the transactions' time in which a query or its response is on the network."""
    if round_trip_ms is None:
        return None
    trips_ms = math.fsum(
        load.queries_per_second * load.seconds * (round_trip_ms + load.client_delay_ms) for load in loads
    )
    share = ratio(trips_ms, _latency_ms(loads))
    return None if share is None else min(1.0, share)


def _threads_at_work(server: ServerSample) -> float | None:
    """The threads that run, without the one that reads this figure."""
    return None if server.threads_running is None else max(0.0, server.threads_running - 1.0)


def _outside_ms(
    loads: Sequence[LoadSample],
    seconds: float,
    in_flight: float | None,
    running: float | None,
    round_trip_ms: float,
) -> float | None:
    """The mean time of a query outside the server, by Little's law, without known network delays."""
    qps = _per_second(loads, seconds, lambda load: load.queries_per_second)
    if in_flight is None or running is None or not qps:
        return None
    delay_ms = mean_of_known(loads, lambda load: load.client_delay_ms) or 0.0
    return max(0.0, 1000 * (in_flight - running) / qps - round_trip_ms - delay_ms)


def _foreign_percent(loads: Sequence[LoadSample], servers: Sequence[ServerSample]) -> float | None:
    """The approximate share of other clients' statements: client and server are read at different moments."""
    ours = mean_of_known(loads, lambda load: load.queries_per_second)
    theirs = mean_of_known(servers, lambda server: server.questions_per_second)
    if ours is None or not theirs:
        return None
    return max(0.0, 100 * (1 - ours / theirs))
