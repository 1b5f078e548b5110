"""What the samples of a step show of client, server and host: means of gauges, differences of counters."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tuibench.metrics.rates import growth, ratio
from tuibench.model.probe import Evidence
from tuibench.model.sample import HostPart, LoadPart, Sample, ServerPart
from tuibench.session.honesty import is_limited

COMMIT = "commit"
"""The statement that every profile's transactions end with, by its name in the samples."""

MS_PER_SECOND = 1000.0
Part = TypeVar("Part", HostPart, ServerPart, LoadPart)


def evidence_of(samples: Sequence[Sample], connections: int) -> Evidence:
    """All that speaks for one limiter or another."""
    loads = [sample.load for sample in samples if sample.load is not None]
    servers = [sample.server for sample in samples if sample.server is not None]
    hosts = [sample.host for sample in samples if sample.host is not None]
    transactions = sum(round(load.transactions_per_second * load.seconds) for load in loads)
    grown = _grown(servers)
    newest = servers[-1] if servers else None
    return Evidence(
        connections=connections,
        limited_share=_share(is_limited(load) for load in loads),
        worker_cpu=max((load.worker_cpu for load in loads), default=0.0),
        lag_ms=max((load.lag_p99_ms for load in loads), default=0.0),
        backlog=loads[-1].backlog if loads else 0,
        cpu_total=_mean(hosts, lambda host: host.cpu_total),
        cpu_server=_mean(hosts, lambda host: host.cpu_server),
        cpu_tuibench=_mean(hosts, lambda host: host.cpu_tuibench),
        cpu_rest=_mean(hosts, lambda host: host.cpu_rest),
        threads_running=_mean(servers, lambda server: float(server.threads_running)),
        waiting_for_locks=_waiting(grown, _between(samples)),
        commit_share=_commit_share(loads),
        log_fsyncs_each=_mean(servers, lambda server: server.log_fsyncs_per_transaction),
        log_waits_per_second=ratio(grown.get("Innodb_log_waits"), _between(samples)),
        table_misses_percent=_table_misses(grown),
        open_tables=newest.open_tables if newest else None,
        table_open_cache=newest.table_open_cache if newest else None,
        buffer_pool_hit=_mean(servers, lambda server: server.buffer_pool_hit),
        disk_reads_each=ratio(grown.get("Innodb_buffer_pool_reads"), float(transactions)),
        foreign_percent=_foreign(loads, servers),
    )


def _grown(servers: Sequence[ServerPart]) -> dict[str, float]:
    """By how much each counter grew from the first sample to the last; those that did not go back."""
    if len(servers) < 2:
        return {}
    first, last = servers[0].counters, servers[-1].counters
    found = {name: growth(first.get(name), value) for name, value in last.items()}
    return {name: value for name, value in found.items() if value is not None}


def _between(samples: Sequence[Sample]) -> float:
    """Seconds from the first reading of the server to the last."""
    times = [sample.elapsed_seconds for sample in samples if sample.server is not None]
    return times[-1] - times[0] if times else 0.0


def _waiting(grown: Mapping[str, float], seconds: float) -> float | None:
    """How many threads waited for a row lock at a time, on average."""
    waited_ms = grown.get("Innodb_row_lock_time")
    return None if waited_ms is None else ratio(waited_ms / MS_PER_SECOND, seconds)


def _commit_share(loads: Sequence[LoadPart]) -> float | None:
    """COMMIT's part of the transactions' time; None for a profile whose statements commit themselves."""
    commits = [part.statements[COMMIT] for part in loads if COMMIT in part.statements]
    whole = math.fsum(
        latency.count * latency.avg
        for latency in (part.service or part.latency for part in loads)
        if latency is not None
    )
    return ratio(math.fsum(each.count * each.avg for each in commits), whole) if commits else None


def _table_misses(grown: Mapping[str, float]) -> float | None:
    misses, hits = grown.get("Table_open_cache_misses"), grown.get("Table_open_cache_hits")
    found = None if misses is None or hits is None else ratio(misses, misses + hits)
    return None if found is None else 100 * found


def _foreign(loads: Sequence[LoadPart], servers: Sequence[ServerPart]) -> float | None:
    """The share of the server's statements, in percent, that was not ours; about, the two are read apart."""
    ours = _mean(loads, lambda load: load.queries_per_second)
    theirs = _mean(servers, lambda server: server.questions_per_second)
    if ours is None or not theirs:
        return None
    return max(0.0, 100 * (1 - ours / theirs))


def _share(answers: Iterable[bool]) -> float:
    told = list(answers)
    return sum(told) / len(told) if told else 0.0


def _mean(parts: Sequence[Part], figure: Callable[[Part], float | None]) -> float | None:
    """The mean of a figure where it is known; None where it never is."""
    known = [value for value in map(figure, parts) if value is not None]
    return math.fsum(known) / len(known) if known else None
