"""Evidence of a diagnosis, collected from samples: means of gauges, growth of counters."""

import math
from collections.abc import Callable, Sequence

from tuibench.diagnosis.indicators import (
    COMMIT,
    is_rate_met,
    lock_waiters,
    table_misses_percent,
)
from tuibench.diagnosis.measurement_warnings import is_client_limited
from tuibench.metrics.series.rates import ratio
from tuibench.model.counters import Counter
from tuibench.model.histogram import US_PER_MS
from tuibench.model.measurements.finding import Evidence
from tuibench.model.measurements.sample import HostSample, LoadSample, Sample, ServerSample
from tuibench.model.tick import HOST, RESPONSE, SERVICE, STATEMENT, Tick, total_tick


def collect_evidence(
    samples: Sequence[Sample], *, is_local: bool = True, round_trip_ms: float | None = None
) -> Evidence:
    """Collect the evidence from the measured samples.

    `is_local` is True if the server runs on this host, `round_trip_ms` is that of an idle network.
    """
    loads = [sample.load for sample in samples if sample.load is not None]
    servers = [sample.server for sample in samples if sample.server is not None]
    hosts = [sample.host for sample in samples if sample.host is not None]
    whole = total_tick(sample.tick for sample in samples)
    load, server, host = LoadSample(whole), ServerSample(whole), HostSample(whole, HOST)
    sums, has_host = whole.sums, bool(hosts)
    found = [sample.tick for sample in samples if HOST + "server_cpu" in sample.tick.sums]
    # Where the server's process was not found, its CPU time is not that of other programs.
    process = host if len(found) in (0, len(hosts)) else HostSample(total_tick(found), HOST)
    attempted = load.transactions_per_second + load.errors_per_second
    rate = _mean(samples, lambda sample: sample.load.rate if sample.load else None) or 0.0
    backlog = loads[-1].backlog if loads else 0
    newest = servers[-1] if servers else None
    in_flight = ratio(_latency_us(whole), 1e6 * whole.seconds)
    running = _mean(samples, lambda sample: _threads_at_work(sample.server) if sample.server else None)
    limited = _mean(samples, lambda sample: is_client_limited(sample.load) if sample.load else None)
    return Evidence(
        threads=_mean(samples, lambda sample: sample.load.threads if sample.load else None) or 0.0,
        connections=max((load.connections for load in loads), default=0),
        rate=rate,
        is_rate_met=bool(rate) and is_rate_met(attempted, rate, backlog),
        backlog=backlog,
        client_limited_share=limited or 0.0,
        worker_cpu=max((load.worker_cpu for load in loads), default=0.0),
        lag_ms=max((load.lag_p99_ms for load in loads), default=0.0),
        network_share=_network_share(whole, round_trip_ms),
        cpu_total=host.cpu_total if has_host else None,
        cpu_server=process.cpu_server,
        cpu_tuibench=host.cpu_tuibench if has_host else None,
        cpu_others=others_percent(process, is_local=is_local) if has_host else None,
        threads_running=running,
        in_flight=in_flight,
        outside_ms=_outside_ms(load, in_flight, running, round_trip_ms or 0.0),
        lock_waiters=lock_waiters(sums, server.seconds),
        commit_share=_commit_share(whole),
        log_fsyncs_per_transaction=server.log_fsyncs_per_transaction,
        log_waits_per_second=server.per_second(Counter.LOG_WAITS),
        table_misses_percent=table_misses_percent(sums),
        open_tables=newest.open_tables if newest else None,
        table_open_cache=newest.table_open_cache if newest else None,
        buffer_pool_hit=server.buffer_pool_hit,
        disk_reads_per_transaction=ratio(sums.get(Counter.POOL_READS), sums.get("server.completed")),
        foreign_percent=_foreign_percent(load, server),
    )


def others_percent(host: HostSample, *, is_local: bool) -> float | None:
    """The CPU share of other programs; None if the process of a server on this host was not found."""
    return host.cpu_rest if host.cpu_server is not None or not (is_local or host.origin) else None


def _latency_us(whole: Tick) -> float:
    """The time of all transactions together, without the wait for a free connection."""
    return (whole.hists.get(SERVICE) or whole.hist(RESPONSE)).sum_us


def _commit_share(whole: Tick) -> float | None:
    """COMMIT's share of the transactions' time; None for a profile without explicit transactions."""
    commits = whole.hists.get(STATEMENT + COMMIT)
    return None if commits is None else ratio(commits.sum_us, _latency_us(whole))


def _network_share(whole: Tick, round_trip_ms: float | None) -> float | None:
    """The share of the transactions' time in which a query or its response is on the network."""
    if round_trip_ms is None:
        return None
    trip_us = US_PER_MS * (round_trip_ms + whole.levels.get("client_delay_ms", 0.0))
    share = ratio(whole.sums.get("queries", 0.0) * trip_us, _latency_us(whole))
    return None if share is None else min(1.0, share)


def _mean(samples: Sequence[Sample], figure: Callable[[Sample], float | None]) -> float | None:
    """The mean of what is known, by the lengths of the ticks."""
    known = [(value, sample.tick.seconds) for sample in samples if (value := figure(sample)) is not None]
    return ratio(math.fsum(value * seconds for value, seconds in known), math.fsum(each for _, each in known))


def _threads_at_work(server: ServerSample) -> float | None:
    """The threads that run, without the one that reads this figure."""
    return None if server.threads_running is None else max(0.0, server.threads_running - 1.0)


def _outside_ms(
    load: LoadSample, in_flight: float | None, running: float | None, round_trip_ms: float
) -> float | None:
    """The mean time of a query outside the server, by Little's law, without known network delays."""
    qps = load.queries_per_second
    if in_flight is None or running is None or not qps:
        return None
    return max(0.0, 1000 * (in_flight - running) / qps - round_trip_ms - load.client_delay_ms)


def _foreign_percent(load: LoadSample, server: ServerSample) -> float | None:
    """The approximate share of other clients' statements: client and server are read at different moments."""
    theirs = server.questions_per_second
    return max(0.0, 100 * (1 - load.queries_per_second / theirs)) if theirs else None
