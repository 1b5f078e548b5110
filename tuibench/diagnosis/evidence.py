"""Evidence of a diagnosis, collected from samples: means of gauges, growth of counters."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from tuibench.diagnosis.indicators import COMMIT, is_rate_met
from tuibench.diagnosis.measurement_warnings import is_client_limited
from tuibench.metrics.figures import read
from tuibench.metrics.series.rates import ratio
from tuibench.model.counters import Counter
from tuibench.model.histogram import US_PER_MS
from tuibench.model.measurements.finding import Evidence
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import HOST, RESPONSE, SERVICE, STATEMENT, Tick, total_tick

OWN_THREAD = 1.0
"""The server's thread that reads its figures is one of those that run."""


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
    host = whole if hosts else None
    found = [tick for tick in hosts if HOST + "server_cpu" in tick.sums]
    # Where the server's process was not found, its CPU time is not that of other programs.
    process = host if len(found) in (0, len(hosts)) else total_tick(found)
    attempted = (read("tps", whole) or 0.0) + (read("errors_per_second", whole) or 0.0)
    rate = _mean(samples, "target_rate") or 0.0
    backlog = int(read("backlog", loads[-1]) or 0) if loads else 0
    newest = servers[-1] if servers else None
    in_flight = ratio(_latency_us(whole), 1e6 * whole.seconds)
    running = _mean(samples, "threads_running", less=OWN_THREAD)
    return Evidence(
        threads=_mean(samples, "requested_threads") or 0.0,
        connections=int(max((read("open_connections", load) or 0 for load in loads), default=0)),
        rate=rate,
        is_rate_met=bool(rate) and is_rate_met(attempted, rate, backlog),
        backlog=backlog,
        client_limited_share=_weighted_mean((is_client_limited(load), load.seconds) for load in loads) or 0.0,
        worker_cpu=read("worker_cpu", whole) or 0.0,
        lag_ms=read("scheduling_delay", whole) or 0.0,
        usual_lag_ms=median(read("scheduling_delay", load) or 0.0 for load in loads) if loads else 0.0,
        network_share=_network_share(whole, round_trip_ms),
        cpu_total=read("cpu_total", host),
        cpu_server=read("cpu_server", process),
        cpu_tuibench=read("cpu_tuibench", host),
        cpu_others=others_percent(process, is_local=is_local) if process else None,
        threads_running=running,
        in_flight=in_flight,
        outside_ms=_outside_ms(whole, in_flight, running, round_trip_ms or 0.0),
        lock_waiters=read("lock_waiters", whole),
        commit_share=_commit_share(whole),
        log_fsyncs_per_transaction=read("fsyncs", whole),
        log_waits_per_second=read("innodb_log_waits", whole),
        table_misses_percent=read("table_misses", whole),
        open_tables=_level(newest, Counter.OPEN_TABLES),
        table_open_cache=_level(newest, "table_open_cache"),
        buffer_pool_hit=read("pool_hit", whole),
        disk_reads_per_transaction=read("disk_reads", whole),
        foreign_percent=_foreign_percent(whole),
    )


def _level(tick: Tick | None, name: str) -> int | None:
    return None if tick is None or name not in tick.levels else int(tick.levels[name])


def others_percent(host: Tick, *, is_local: bool) -> float | None:
    """The CPU share of other programs; None if the process of a server on this host was not found."""
    is_known = HOST + "server_cpu" in host.sums or not (is_local or HOST + "local" in host.missing)
    return read("cpu_rest", host) if is_known else None


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


def _mean(samples: Sequence[Sample], figure: str, less: float = 0.0) -> float | None:
    """The mean of a figure `less` a number, by the lengths of the ticks; never below 0."""
    values = ((read(figure, sample.tick), sample.tick.seconds) for sample in samples)
    return _weighted_mean((None if value is None else max(0.0, value - less), each) for value, each in values)


def _weighted_mean(values: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean of the known values, by the lengths of their ticks in seconds."""
    known = [(value, seconds) for value, seconds in values if value is not None]
    return ratio(math.fsum(value * seconds for value, seconds in known), math.fsum(each for _, each in known))


def _outside_ms(
    whole: Tick, in_flight: float | None, running: float | None, round_trip_ms: float
) -> float | None:
    """The mean time of a query outside the server, by Little's law, without known network delays."""
    qps = read("qps", whole)
    if in_flight is None or running is None or not qps:
        return None
    delay_ms = round_trip_ms + whole.levels.get("client_delay_ms", 0.0)
    return max(0.0, 1000 * (in_flight - running) / qps - delay_ms)


def _foreign_percent(whole: Tick) -> float | None:
    """The approximate share of other clients' statements: client and server are read at different moments."""
    theirs = read("questions", whole)
    return max(0.0, 100 * (1 - (read("qps", whole) or 0.0) / theirs)) if theirs else None
