"""Bottleneck of a run or of a probe's step: an ordered table of rules over the evidence. Throughput curves.

The first matching rule is the diagnosis. Distortions of the measurement come first (other programs on the
host, the load generator), because a server below its capacity shows no limit of its own. Then follow the
configured limits (connections, rate), the host's CPU, and the server's own resources.

scipy is imported only when a curve is fitted.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.base.errors import RunError
from tuibench.base.units import count, decimal, percent
from tuibench.metrics.inference import SymmetricEstimate
from tuibench.metrics.measurement_warnings import (
    COMMIT_FSYNCS,
    COMMIT_SHARE,
    CPU_LIMIT,
    DISK_READS,
    DOMINANT_SHARE,
    IDLE_PERCENT,
    TABLE_MISSES_PERCENT,
    is_delayed_by_host,
    is_dominant_share,
    is_host_saturated,
)
from tuibench.model.findings import Evidence, Finding, Severity
from tuibench.model.probe import UslFit

GAIN = 0.10
"""A doubling that gains less has no gain."""
LOG_GAIN = math.log1p(GAIN)
SMALLEST_WIDTH = 0.002
"""The least relative half-width of a level, even if its ticks agree more closely."""


class ThroughputPoint(NamedTuple):
    """Throughput at a level."""

    level: float
    tps: float
    half_width: float = 0.0
    """Half of its 95 % interval, as a share of it."""


def throughput_curve(points: Iterable[ThroughputPoint]) -> list[ThroughputPoint]:
    """The points by level, one for each: repeated measurements are averaged, weighted by their precision."""
    ordered = sorted((point for point in points if point.tps > 0), key=lambda point: point.level)
    return [_weighted_mean(list(same)) for _, same in groupby(ordered, key=lambda point: point.level)]


def throughput_gain(before: ThroughputPoint, after: ThroughputPoint) -> SymmetricEstimate:
    """The gain from one measured level to another, as a logarithm."""
    if before.tps <= 0 or after.tps <= 0:
        return SymmetricEstimate(-math.inf if after.tps <= 0 else math.inf, 0.0)
    margin = math.hypot(before.half_width, after.half_width)
    return SymmetricEstimate(math.log(after.tps / before.tps), margin)


def _weighted_mean(same: Sequence[ThroughputPoint]) -> ThroughputPoint:
    widths = [max(point.half_width, SMALLEST_WIDTH) for point in same]
    weights = [1 / width**2 for width in widths]
    if not math.isfinite(math.fsum(widths)):
        return min(same, key=lambda point: point.half_width)
    tps = math.fsum(w * point.tps for w, point in zip(weights, same, strict=True)) / math.fsum(weights)
    return ThroughputPoint(same[0].level, tps, 1 / math.sqrt(math.fsum(weights)))


FEWEST_LEVELS = 5
LEAST_R2 = 0.9
LARGEST_MISS = 0.15
"""The largest acceptable relative error at a measured level."""

FARTHEST_PEAK = 4.0
"""A peak beyond this multiple of the highest measured level is not reported, because it is a guess."""

CURVE_POINTS = 40
NO_LIMIT = 0.03
"""A curve that is nowhere further below a straight line than this share has no visible limit."""

NEGLIGIBLE = 1e-9
REMEDY = "pip install '.[analysis]' in the clone of tuibench"


class FitRefusedError(RunError):
    """There is no acceptable fit; the message is the reason."""


def fit_usl_curve(points: Sequence[ThroughputPoint]) -> UslFit:
    """The Universal Scalability Law fitted to points of different levels. Raises FitRefusedError if the
    points do not support a fit.

        X(N) = λ·N / (1 + σ·(N−1) + κ·N·(N−1))

    σ is the share of the work that queues (contention), κ the cost of keeping shared data consistent
    (coherency); N_max = √((1−σ)/κ) has the highest throughput (Gunther, Guerrilla Capacity Planning, 2007).
    The fit weights relative errors, within 0 ≤ σ < 1 and κ ≥ 0.
    """
    if len(points) < FEWEST_LEVELS:
        raise FitRefusedError(f"a fit needs {FEWEST_LEVELS} levels, {len(points)} were measured")
    found = _least_squares_fit(points)
    if reason := rejection_reason(found, points):
        raise FitRefusedError(reason)
    highest = points[-1].level
    peak = math.sqrt((1 - found.sigma) / found.kappa) if found.kappa > NEGLIGIBLE else math.inf
    is_known = peak <= FARTHEST_PEAK * highest
    return replace(
        found,
        peak_level=peak if is_known else None,
        peak_tps=found.tps(peak) if is_known else None,
        highest_fitted=highest,
        curve=curve_points(found, max(highest, peak if is_known else 0.0)),
    )


def rejection_reason(found: UslFit, points: Sequence[ThroughputPoint]) -> str:
    """Why a fitted curve must not be shown; empty if it may be shown."""
    worst = max(points, key=lambda point: abs(found.tps(point.level) / point.tps - 1))
    miss = found.tps(worst.level) / worst.tps - 1
    if found.r2 < LEAST_R2:
        return f"it explains only {max(0.0, found.r2):.0%} of the variance"
    if abs(miss) > LARGEST_MISS:
        return f"it misses the {worst.tps:,.0f}/s measured at {worst.level:g} by {abs(miss):.0%}"
    if points[-1].level * found.lam < (1 + NO_LIMIT) * found.tps(points[-1].level):
        return "throughput grew in proportion or faster: no limit was found"
    return ""


def curve_points(found: UslFit, highest: float) -> tuple[tuple[float, float], ...]:
    """Points of the curve for drawing, from one thread on, evenly spaced in logarithms."""
    span = math.log(max(highest, 2.0))
    levels = [math.exp(span * place / (CURVE_POINTS - 1)) for place in range(CURVE_POINTS)]
    return tuple((level, found.tps(level)) for level in levels)


def _least_squares_fit(points: Sequence[ThroughputPoint]) -> UslFit:
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise FitRefusedError(f"it needs numpy and scipy: {REMEDY}") from error

    def law(guess: Sequence[float]) -> UslFit:
        log_lam, sigma, kappa = map(float, guess)
        return UslFit(lam=math.exp(log_lam), sigma=sigma, kappa=kappa)

    def misses(guess: Sequence[float]) -> list[float]:
        return [math.log(law(guess).tps(point.level) / point.tps) for point in points]

    start = [math.log(max(point.tps / point.level for point in points)), 0.05, 1e-4]
    bounds = ([-math.inf, 0.0, 0.0], [math.inf, 0.999, 1.0])
    found = law(least_squares(misses, start, bounds=bounds, x_scale=[1.0, 0.1, 1e-3]).x)
    mean = math.fsum(point.tps for point in points) / len(points)
    whole = math.fsum((point.tps - mean) ** 2 for point in points)
    left = math.fsum((point.tps - found.tps(point.level)) ** 2 for point in points)
    return replace(found, r2=1 - left / whole if whole else 0.0)


MAJORITY, LIMITED_SHARE = 0.5, 0.5
IDLE_FSYNCS, TABLES_OPEN, LOG_WAITS = 0.2, 0.95, 1.0

FEWEST_IN_FLIGHT, INSIDE_SHARE = 2.0, 0.25
MIN_OUTSIDE_MS, LAGS_OUTSIDE = 1.0, 2.0
"""A query is queued outside if it is outside the server for more than this time, in ms, and this multiple of
the client's usual scheduling delay (p99), because server and client wait for a processor. A single long delay
does not delay all transactions all the time.
"""

HOST_CPU_OTHERS, CLIENT_LIMITED = "host_cpu_others", "client_limited"
QUEUE_OUTSIDE = "queue_outside"


class Rule(NamedTuple):
    """A possible bottleneck."""

    id: str
    holds: Callable[[Evidence], bool]
    found: str
    remedy: str
    figures: tuple[str, ...]
    """Names of the evidence that is shown for it."""
    severity: Severity = Severity.NOTE
    needs_headroom: bool = False
    """The rule does not apply if more load is known to give no more throughput."""


def is_queued_outside(evidence: Evidence) -> bool:
    """True if most transactions in flight are outside the server, for longer than known network delays and a
    client that waits for a processor explain: something between client and server delays them.
    """
    in_flight, running, outside_ms = evidence.in_flight, evidence.threads_running, evidence.outside_ms
    if in_flight is None or running is None or outside_ms is None or evidence.worker_cpu > CPU_LIMIT:
        return False
    return (
        in_flight >= FEWEST_IN_FLIGHT
        and running < INSIDE_SHARE * in_flight
        and outside_ms >= max(MIN_OUTSIDE_MS, LAGS_OUTSIDE * evidence.usual_lag_ms)
        and (evidence.cpu_server or 0.0) < 100 * MAJORITY
    )


def is_client_limited(evidence: Evidence) -> bool:
    """True if the client was the bottleneck in most ticks, unless the server's load, or something between
    client and server, only delayed it.
    """
    return (
        evidence.client_limited_share >= LIMITED_SHARE
        and not is_delayed_by_host(evidence.worker_cpu, evidence.cpu_total, evidence.cpu_others)
        and not is_queued_outside(evidence)
    )


def is_taken_by_others(evidence: Evidence) -> bool:
    """True if other programs use a quarter of a saturated host, or half of it if a worker is
    saturated, too.
    """
    is_worker_saturated = evidence.client_limited_share >= LIMITED_SHARE and evidence.worker_cpu > CPU_LIMIT
    return is_dominant_share(evidence.cpu_others, evidence.cpu_total) and (
        not is_worker_saturated or (evidence.cpu_others or 0.0) >= MAJORITY * (evidence.cpu_total or 0.0)
    )


def _is_on_network(evidence: Evidence) -> bool:
    return (evidence.network_share or 0.0) >= 2 * DOMINANT_SHARE


def _is_log_bound(evidence: Evidence) -> bool:
    """True if COMMIT dominates; without explicit transactions, if there are many fsyncs while the CPU is
    idle.
    """
    fsyncs = evidence.log_fsyncs_per_transaction or 0.0
    if evidence.commit_share is not None:
        return evidence.commit_share >= COMMIT_SHARE and fsyncs >= COMMIT_FSYNCS
    return fsyncs >= IDLE_FSYNCS and _is_server_host_idle(evidence)


def _is_server_host_idle(evidence: Evidence) -> bool:
    """False if the server's process is not monitored: then the CPU figures are not those of its host."""
    return evidence.cpu_server is not None and (evidence.cpu_total or 0.0) < IDLE_PERCENT


def _is_table_cache_full(evidence: Evidence) -> bool:
    open_tables, room = evidence.open_tables or 0, evidence.table_open_cache
    is_full = bool(room) and open_tables >= TABLES_OPEN * (room or 0)
    return is_full and (evidence.table_misses_percent or 0.0) >= TABLE_MISSES_PERCENT


RULES = (
    Rule(
        QUEUE_OUTSIDE,
        lambda e: is_queued_outside(e) and not e.is_rate_met and not _is_on_network(e),
        "a queue in front of the server: transactions spend most of their time outside it",
        "examine what is between client and server: proxy, connection pool, limits of the network",
        ("outside", "cpu"),
    ),
    Rule(
        HOST_CPU_OTHERS,
        is_taken_by_others,
        "other programs use a large share of this host's CPU",
        "stop them or use another host, then measure again",
        ("cpu", "running"),
        Severity.WARNING,
    ),
    Rule(
        CLIENT_LIMITED,
        is_client_limited,
        "the load generator, not the server: the server may do more",
        "use more worker processes (--workers) or another host for the client, then measure again",
        ("worker", "cpu"),
        Severity.WARNING,
    ),
    Rule(
        "connections",
        lambda e: 0 < e.connections < e.threads,
        "the server accepts no more connections",
        "raise max_connections",
        ("connections",),
    ),
    Rule(
        "rate",
        lambda e: e.is_rate_met,
        "the target rate, which was reached: the server may do more",
        "raise the rate, or run without one, to find the server's limit",
        ("cpu", "running"),
    ),
    Rule(
        "network",
        _is_on_network,
        "network round trips take most of a transaction's time",
        "use more threads, fewer statements in a transaction, or a client closer to the server",
        ("network", "cpu"),
        needs_headroom=True,
    ),
    Rule(
        "host_cpu_tuibench",
        lambda e: is_dominant_share(e.cpu_tuibench, e.cpu_total),
        "this host's CPU, of which tuibench itself uses a large share",
        "run the load from another host to find the server's own limit",
        ("cpu", "running", "late"),
        Severity.WARNING,
    ),
    Rule(
        "server_cpu",
        lambda e: is_host_saturated(e.cpu_total) and (e.cpu_server or 0.0) >= MAJORITY * (e.cpu_total or 0.0),
        "the server's CPU",
        "more or faster cores, or less work for each transaction",
        ("cpu", "running", "late"),
    ),
    Rule(
        "row_locks",
        lambda e: (e.lock_waiters or 0.0) >= DOMINANT_SHARE * max(e.threads, 1.0),
        "row locks: threads wait for each other",
        "more rows or tables, another key distribution, or shorter transactions",
        ("locks", "cpu"),
    ),
    Rule(
        "redo_log",
        _is_log_bound,
        "the redo log: commits wait for the disk",
        "a faster log device; the same run with --ab preset=durable,relaxed shows the cost of durability",
        ("commit", "fsyncs", "log waits", "cpu"),
    ),
    Rule(
        "log_buffer",
        lambda e: (e.log_waits_per_second or 0.0) >= LOG_WAITS,
        "the log buffer: transactions wait for space in it",
        "raise innodb_log_buffer_size",
        ("log waits", "cpu"),
    ),
    Rule(
        "table_cache",
        _is_table_cache_full,
        "the table cache: tables are opened again and again",
        "raise table_open_cache",
        ("tables", "cpu"),
    ),
    Rule(
        "disk_reads",
        lambda e: (e.disk_reads_per_transaction or 0.0) >= DISK_READS,
        "reads from disk: the data does not fit into the buffer pool",
        "raise innodb_buffer_pool_size",
        ("reads", "cpu"),
    ),
    Rule(
        "threads",
        _is_server_host_idle,
        "the number of threads: no resource was exhausted",
        "use more threads; tuibench probe finds the number at which throughput stops growing",
        ("cpu", "running", "commit"),
        needs_headroom=True,
    ),
)

FIGURES: dict[str, Callable[[Evidence], str]] = {
    "worker": lambda e: (
        f"busiest worker {percent(100 * e.worker_cpu)} of a core, scheduling delay up to "
        f"{decimal(e.lag_ms, 1)} ms; over the limit in {percent(100 * e.client_limited_share)} of the samples"
    ),
    "late": lambda e: (
        f"the client, too, waited for a processor: scheduling delay up to {decimal(e.lag_ms, 1)} ms, "
        "which the latencies include"
        if e.client_limited_share >= LIMITED_SHARE
        else ""
    ),
    "connections": lambda e: f"{count(e.connections)} connections for {decimal(e.threads, 0)} threads",
    "cpu": lambda e: (
        f"host CPU {percent(e.cpu_total)}: server {percent(e.cpu_server)}, tuibench "
        f"{percent(e.cpu_tuibench)}, others {percent(e.cpu_others)}"
        if e.cpu_total is not None
        else ""
    ),
    "running": lambda e: (
        f"{decimal(e.threads_running, 1)} threads running besides tuibench's own"
        if e.threads_running is not None
        else ""
    ),
    "outside": lambda e: (
        f"{decimal(e.in_flight, 1)} transactions in flight, {decimal(e.threads_running, 1)} threads running "
        f"in the server; a query spends {decimal(e.outside_ms, 1)} ms outside it"
        if e.in_flight is not None and e.outside_ms is not None
        else ""
    ),
    "locks": lambda e: (
        f"on average {decimal(e.lock_waiters, 1)} threads wait for a row lock"
        if e.lock_waiters is not None
        else ""
    ),
    "commit": lambda e: (
        f"COMMIT takes {percent(100 * e.commit_share)} of the transactions' time"
        if e.commit_share is not None
        else ""
    ),
    "fsyncs": lambda e: (
        f"{decimal(e.log_fsyncs_per_transaction)} log fsyncs per transaction"
        if e.log_fsyncs_per_transaction is not None
        else ""
    ),
    "log waits": lambda e: (
        f"{decimal(e.log_waits_per_second, 1)} waits per second for space in the log buffer"
        if e.log_waits_per_second
        else ""
    ),
    "tables": lambda e: (
        f"{count(e.open_tables)} of {count(e.table_open_cache or None)} tables open, "
        f"{decimal(e.table_misses_percent, 1)} % of the lookups miss"
        if e.table_misses_percent is not None
        else ""
    ),
    "reads": lambda e: (
        f"{decimal(e.disk_reads_per_transaction)} pages read from disk per transaction, "
        f"buffer pool hit rate {percent(e.buffer_pool_hit, 2)}"
        if e.disk_reads_per_transaction is not None
        else ""
    ),
    "network": lambda e: (
        f"network round trips take {percent(100 * e.network_share)} of a transaction's time"
        if e.network_share is not None
        else ""
    ),
}
"""Texts of the evidence, by name; empty if it was not measured."""

UNSEEN_HOST = "; the CPU of the server is not monitored"
MONITOR_HOST = "run tuibench on the server's host to include its CPU and disks"
INSTRUMENTS = "examine performance_schema and SHOW ENGINE INNODB STATUS"
CLIENT_FIGURES = frozenset({"worker", "late", "connections", "outside"})


def diagnose(evidence: Evidence, *, is_saturated: bool = False) -> Finding:
    """The bottleneck. `is_saturated` is True if more load is known to give no more throughput, as after a
    probe.
    """
    for rule in RULES:
        if rule.holds(evidence) and not (is_saturated and rule.needs_headroom):
            return Finding(
                id=rule.id,
                severity=rule.severity,
                found=rule.found,
                remedy=rule.remedy,
                evidence=_figures(evidence, rule.figures),
            )
    is_host_seen = evidence.cpu_server is not None
    return Finding(
        id="unknown",
        severity=Severity.NOTE,
        found=f"none of the usual bottlenecks{'' if is_host_seen else UNSEEN_HOST}",
        remedy=INSTRUMENTS if is_host_seen else MONITOR_HOST,
        evidence=_figures(evidence, tuple(name for name in FIGURES if name not in CLIENT_FIGURES)),
    )


def _figures(evidence: Evidence, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in (FIGURES[name](evidence) for name in names) if text)
