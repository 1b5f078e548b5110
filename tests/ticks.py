"""Ticks made of figures as a test wants to read them: rates, percentiles and percentages.

    sample(3, load=load_tick(threads=8, transactions_per_second=100.0), server=server_tick(threads_running=3))

Each function returns the part of one source; `joined` puts parts together as the session does.
"""

import math
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tuibench.metrics.figures import read
from tuibench.model.counters import Counter, Recording
from tuibench.model.tick import (
    CLIENT,
    ERROR,
    HOST,
    OWN,
    RESPONSE,
    SERVICE,
    STATEMENT,
    TRANSACTION,
    Histogram,
    Latency,
    Sample,
    Tick,
    bucket_index,
    prefixed,
    unseen_sums,
)

LEVELS = ("threads", "connections", "rate", "backlog", "in_flight", "client_delay_ms")
RATES = {
    "transactions_per_second": "completed",
    "queries_per_second": "queries",
    "reads_per_second": "reads",
    "writes_per_second": "writes",
    "others_per_second": "others",
    "reconnects_per_second": "reconnects",
    "rollbacks_per_second": "rollbacks",
    "headline": "headline",
}
"""Rates, and the sums that they are made from."""

GAUGE_NAMES = frozenset(str(counter) for counter in Counter if counter.facts.recording is Recording.GAUGE)
"""Server values that are recorded and are no counts."""


def histogram_with(latency: Latency | None) -> Histogram:
    """A histogram with these figures, as far as so many values can have them."""
    if latency is None or not latency.count:
        return Histogram()
    count = latency.count
    steps = (
        (0.5, latency.p50),
        (0.95, latency.p95),
        (0.99, latency.p99),
        (0.999, latency.p999),
        (1.0, latency.max),
    )
    counts: dict[int, int] = {}
    below = 0
    for share, ms in steps:
        rank = max(below, math.ceil(math.nextafter(share, 0) * count) if share < 1 else count)
        if rank > below:
            bucket = bucket_index(round(ms * 1000))
            counts[bucket] = counts.get(bucket, 0) + rank - below
        below = rank
    return Histogram(
        counts, count, round(latency.avg * count * 1000), round(latency.min * 1000), round(latency.max * 1000)
    )


def measured_tick(
    end: float,
    seconds: float,
    transactions: float,
    *,
    p95_ms: float | None = None,
    latency: Histogram | None = None,
    log_fsyncs: float | None = None,
    queries: float | None = None,
    foreign_cpu: float | None = None,
    threads: int = 8,
) -> Tick:
    """A tick of a load as comparisons see it; with `queries`, of a server's own traffic. All of its latencies
    are `p95_ms`, unless there is a histogram.
    """
    if p95_ms is not None and transactions:
        us, count = round(1000 * p95_ms), max(1, round(transactions))
        latency = Histogram({bucket_index(us): count}, count, us * count, us, us)
    sums = {"completed": transactions}
    if queries is not None:
        sums["queries"] = queries
    if log_fsyncs is not None:
        sums |= {
            Counter.OS_LOG_FSYNCS: log_fsyncs,
            "server.completed": transactions,
            "server.seconds": seconds,
        }
    if foreign_cpu is not None:
        sums |= {HOST + "seconds": seconds, HOST + "total": 100.0, HOST + "steal": foreign_cpu}
    return Tick(
        end=end,
        seconds=seconds,
        sums=sums,
        levels={"threads": threads} if queries is None else {},
        hists={RESPONSE: latency} if latency is not None else {},
    )


def load_tick(
    *,
    seconds: float = 1.0,
    latency: Latency | None = None,
    service: Latency | None = None,
    statements: Mapping[str, Latency] | None = None,
    by_transaction: Mapping[str, Latency] | None = None,
    errors_by_code: Mapping[str, int] | None = None,
    errors_per_second: float | None = None,
    worker_cpu: float = 0.0,
    lag_p99_ms: float = 0.0,
    **figures: Any,
) -> Tick:
    """A load's part, from its figures; missing rates are zero."""
    levels = {name: float(figures.pop(name, 0)) for name in LEVELS}
    sums = {
        name: seconds * figures.pop(rate, 0.0)
        for rate, name in RATES.items()
        if rate in figures or name in MAIN
    }
    sums = {name: round(value) if abs(value - round(value)) < 1e-6 else value for name, value in sums.items()}
    errors = dict(errors_by_code or {})
    if errors_per_second is not None and not errors and errors_per_second:
        errors = {"1213": round(errors_per_second * seconds)}
    hists = {
        RESPONSE: latency,
        SERVICE: service,
        **{STATEMENT + name: each for name, each in (statements or {}).items()},
        **{TRANSACTION + name: each for name, each in (by_transaction or {}).items()},
    }
    sums |= figures.pop("sums", {})
    assert not figures, f"no figures of a load: {figures}"
    return Tick(
        seconds=seconds,
        sums={**sums, **{ERROR + code: times for code, times in errors.items()}},
        levels=levels,
        peaks={"worker_cpu": worker_cpu, "lag_p99_ms": lag_p99_ms},
        hists={name: histogram_with(each) for name, each in hists.items() if each is not None},
    )


MAIN = frozenset({"completed", "queries", "reads", "writes", "others"})


def traffic_tick(
    *,
    seconds: float = 1.0,
    latency: Latency | None = None,
    latency_avg_ms: float | None = None,
    latency_note: str = "",
    **rates: Any,
) -> Tick:
    """The part of a server's own traffic, from its figures."""
    made = load_tick(seconds=seconds, latency=latency, **rates)
    timed = {} if latency_avg_ms is None else {"timed": 100, "statement_ms": 100 * latency_avg_ms}
    return Tick(
        seconds=seconds,
        sums={"rollbacks": 0, **made.sums, **timed},
        hists=made.hists,
        missing={"latency": latency_note} if latency_note else {},
    )


def server_tick(
    *,
    seconds: float = 1.0,
    uptime_seconds: int | None = 1_000,
    threads_running: int | None = 3,
    threads_connected: int | None = 9,
    max_connections: int = 100,
    open_tables: int | None = 10,
    table_open_cache: int = 100,
    questions_total: int | None = 1_000,
    slow_queries_total: int | None = 0,
    questions_per_second: float | None = None,
    slow_queries: int | None = None,
    commits_per_second: float | None = None,
    log_fsyncs_per_second: float | None = None,
    log_fsyncs_per_transaction: float | None = None,
    buffer_pool_hit: float | None = None,
    row_lock_waits_per_second: float | None = None,
    completed: float | None = None,
    counters: Mapping[str, int] | None = None,
    gauges: Mapping[str, int] | None = None,
    growth: Mapping[str, float] | None = None,
    unavailable: Mapping[str, str] | None = None,
) -> Tick:
    """A server's part, from its figures. Without a rate or growth there is no interval."""
    levels: dict[str, float | None] = {
        Counter.UPTIME: uptime_seconds,
        Counter.THREADS_RUNNING: threads_running,
        Counter.THREADS_CONNECTED: threads_connected,
        Counter.OPEN_TABLES: open_tables,
        Counter.QUESTIONS: questions_total,
        Counter.SLOW_QUERIES: slow_queries_total,
        "max_connections": max_connections,
        "table_open_cache": table_open_cache,
        **(counters or {}),
        **(gauges or {}),
    }
    grown: dict[str, float | None] = {
        Counter.QUESTIONS: _times(questions_per_second, seconds),
        Counter.SLOW_QUERIES: slow_queries,
        Counter.COM_COMMIT: _times(commits_per_second, seconds),
        Counter.OS_LOG_FSYNCS: _times(log_fsyncs_per_second, seconds),
        Counter.ROW_LOCK_WAITS: _times(row_lock_waits_per_second, seconds),
    }
    if buffer_pool_hit is not None:
        grown |= {Counter.POOL_READ_REQUESTS: 1e6, Counter.POOL_READS: 1e4 * (100 - buffer_pool_hit)}
    if log_fsyncs_per_transaction is not None:
        fsyncs = grown[Counter.OS_LOG_FSYNCS]
        if fsyncs is None:
            fsyncs = grown[Counter.OS_LOG_FSYNCS] = log_fsyncs_per_transaction * (completed or 100.0)
        completed = fsyncs / log_fsyncs_per_transaction if log_fsyncs_per_transaction else completed or 100.0
    sums = {name: value for name, value in grown.items() if value is not None} | dict(growth or {})
    if completed is not None:
        sums["server.completed"] = completed
    if sums:
        sums["server.seconds"] = seconds
    return Tick(
        sums=sums,
        levels={name: value for name, value in levels.items() if value is not None},
        missing=dict(unavailable or {}),
    )


def _times(rate: float | None, seconds: float) -> float | None:
    return None if rate is None else rate * seconds


def host_tick(
    *,
    seconds: float = 1.0,
    cores: int = 2,
    cpu_total: float = 50.0,
    cpu_server: float | None = 30.0,
    cpu_tuibench: float = 10.0,
    cpu_steal: float = 0.0,
    cpu_throttled: float = 0.0,
    cpu_by_core: tuple[float, ...] = (),
    memory_used_bytes: int = 2**31,
    memory_total_bytes: int = 2**33,
    memory_server_bytes: int | None = None,
    swap_used_bytes: int | None = None,
    swap_total_bytes: int | None = None,
    disk_read_bytes_per_second: float | None = None,
    disk_write_bytes_per_second: float | None = None,
    disk_read_ms: float | None = None,
    disk_write_ms: float | None = None,
    net_received_bytes_per_second: float | None = None,
    net_sent_bytes_per_second: float | None = None,
    server_voluntary_switches: int | None = None,
    server_involuntary_switches: int | None = None,
    server_read_bytes: int | None = None,
    server_written_bytes: int | None = None,
    cpu_limit: float | None = None,
    memory_limit_bytes: int | None = None,
    note: str = "",
    origin: str = "",
) -> Tick:
    """A host's part, from its figures, without the prefix of its source."""
    whole = seconds * cores
    sums = {
        "seconds": seconds,
        "core_seconds": whole,
        "total": whole,
        "busy": whole * cpu_total / 100,
        "steal": whole * cpu_steal / 100,
        "throttled": seconds * cpu_throttled / 100,
        "server_cpu": None if cpu_server is None else whole * cpu_server / 100,
        "tuibench_cpu": whole * cpu_tuibench / 100,
        "read_bytes": _times(disk_read_bytes_per_second, seconds),
        "written_bytes": _times(disk_write_bytes_per_second, seconds),
        "reads": None if disk_read_ms is None else 100.0,
        "read_ms": None if disk_read_ms is None else 100 * disk_read_ms,
        "writes": None if disk_write_ms is None else 100.0,
        "write_ms": None if disk_write_ms is None else 100 * disk_write_ms,
        "received_bytes": _times(net_received_bytes_per_second, seconds),
        "sent_bytes": _times(net_sent_bytes_per_second, seconds),
        "voluntary_switches": server_voluntary_switches,
        "involuntary_switches": server_involuntary_switches,
        "server_read_bytes": server_read_bytes,
        "server_written_bytes": server_written_bytes,
        **{f"core.{core}": seconds * share / 100 for core, share in enumerate(cpu_by_core)},
    }
    levels = {
        "cores": cores,
        "memory_used": memory_used_bytes,
        "memory_total": memory_total_bytes,
        "memory_server": memory_server_bytes,
        "swap_used": swap_used_bytes,
        "swap_total": swap_total_bytes,
        "cpu_limit": cpu_limit,
        "memory_limit": memory_limit_bytes,
    }
    return Tick(
        sums={name: value for name, value in sums.items() if value is not None},
        levels={name: value for name, value in levels.items() if value is not None},
        missing={name: why for name, why in (("server_cpu", note), ("local", origin)) if why},
    )


def joined(
    end: float,
    *,
    load: Tick | None = None,
    traffic: Tick | None = None,
    server: Tick | None = None,
    host: Tick | None = None,
    client_host: Tick | None = None,
    host_note: str = "",
) -> Tick:
    """A whole tick of these parts."""
    shown = traffic or load or Tick()
    server, host, client = server or Tick(), host or Tick(), client_host or Tick()
    done: dict[str, float] = {
        name: shown.sums[name] for name in ("completed", "queries") if name in shown.sums
    }
    of_host = {**done, **host.sums} if host.sums else {}
    own = load if load is not None and traffic is not None else Tick()
    missing = {**shown.missing, **server.missing, **({"host": host_note} if host_note else {})}
    for prefix, part in ((HOST, host), (CLIENT, client)):
        missing |= {prefix + name: why for name, why in part.missing.items()}
    return replace(
        shown,
        end=end,
        sums={
            **shown.sums,
            **prefixed(OWN, own.sums | ({"seconds": own.seconds} if own.seconds else {})),
            **{name: value for name, value in own.sums.items() if name.startswith(ERROR)},
            **({"server." + name: value for name, value in done.items()} if server.sums else {}),
            **server.sums,
            **prefixed(HOST, of_host | unseen_sums(of_host)),
            **prefixed(CLIENT, client.sums),
        },
        levels={
            **(load.levels if load else {}),
            **server.levels,
            **prefixed(HOST, host.levels),
            **prefixed(CLIENT, client.levels),
        },
        peaks=load.peaks if load else {},
        hists={**shown.hists, **{OWN + name: each for name, each in own.hists.items()}},
        missing=missing,
    )


COUNTED = frozenset(map(str, Counter)) | {"max_connections", "table_open_cache"}


def _source(name: str) -> str:
    if name.startswith((HOST, CLIENT)):
        return "host" if name.startswith(HOST) else "client_host"
    return "server" if name in COUNTED or name.startswith("server.") else "load"


def parts_of(sample: Sample) -> dict[str, Tick | None]:
    """The parts that a sample of a load was joined from."""
    tick = sample.tick
    found: dict[str, Tick | None] = {}
    for source, prefix in (("load", ""), ("server", ""), ("host", HOST), ("client_host", CLIENT)):

        def own(values: Mapping[str, Any], source: str = source, prefix: str = prefix) -> dict[str, Any]:
            return {name[len(prefix) :]: each for name, each in values.items() if _source(name) == source}

        part = Tick(
            seconds=tick.seconds if source == "load" else 0.0,
            sums=own(tick.sums),
            levels=own(tick.levels),
            peaks=own(tick.peaks),
            hists=own(tick.hists),
            missing=own(tick.missing),
        )
        found[source] = part if part.sums or part.levels else None
    return found


def changed(sample: Sample, *, elapsed_seconds: float | None = None, **changes: Any) -> Sample:
    """A sample of a load with other parts (`load`, `server`, `host`, `client_host`, `host_note`), another
    time, or other fields. A part of None is left out.
    """
    names = ("load", "server", "host", "client_host", "host_note", "traffic")
    parts: dict[str, Any] = parts_of(sample) | {name: changes.pop(name) for name in names if name in changes}
    end = sample.tick.end if elapsed_seconds is None else elapsed_seconds
    is_traffic = parts.get("traffic") is not None
    return replace(sample, tick=joined(end, **parts), shows_traffic=is_traffic, **changes)


def figures(tick: Tick | None, *names: str) -> tuple[float | None, ...]:
    """Figures of a tick, by their names."""
    return tuple(read(name, tick) for name in names)


def known(name: str, tick: Tick | None) -> float:
    """A figure that was measured."""
    value = read(name, tick)
    assert value is not None, name
    return value
