"""Indicators of client, server and host over several samples, and the limits of the diagnosis."""

from tuibench.metrics.figures import read
from tuibench.model.measurements.sample import Sample

COMMIT = "commit"
"""The last statement of explicit transactions, by its name in the samples."""

CPU_LIMIT = 0.85
"""A worker that uses more of a core than this limits the load."""

BUSY_PERCENT = 88.0
"""A host with a higher CPU usage is saturated: schedulers and samples need the rest."""

IDLE_PERCENT = 75.0
DOMINANT_SHARE = 0.25
COMMIT_SHARE, COMMIT_FSYNCS = 0.35, 0.02
TABLE_MISSES_PERCENT, DISK_READS = 1.0, 1.0

RATE_MET = 0.95
MAX_BACKLOG_SECONDS = 0.5

LATE_SHARE, MIN_LATE_MS = 0.5, 500.0
"""A tick later than both this share of its interval and this time indicates a lack of CPU time."""

STARVED_LAG_MS = 250.0
"""Scheduling delay (p99) of a worker's event loop from which the worker lacks CPU time."""


def is_rate_met(tps: float, rate: float, backlog: int, half_width: float = 0.0) -> bool:
    """True if the server reached a target rate, within the random variation of arrivals."""
    is_short = tps < (RATE_MET - half_width / 2) * rate
    return not is_short and backlog <= max(5.0, MAX_BACKLOG_SECONDS * rate)


def is_host_saturated(cpu_total: float | None) -> bool:
    """True if a host has no CPU time left; False if its CPU usage is unknown."""
    return (cpu_total or 0.0) >= BUSY_PERCENT


def is_dominant_share(part: float | None, cpu_total: float | None) -> bool:
    """True if one part uses a quarter or more of a saturated host's CPU time."""
    return is_host_saturated(cpu_total) and (part or 0.0) >= DOMINANT_SHARE * (cpu_total or 0.0)


def is_delayed_by_host(worker_cpu: float, cpu_total: float | None, cpu_others: float | None) -> bool:
    """True if workers are late only because the server saturates the host that they share with it.

    They could send more; only the latencies include their delay. `worker_cpu` is a share of a core, the
    host's figures are percent.
    """
    return (
        worker_cpu <= CPU_LIMIT
        and is_host_saturated(cpu_total)
        and not is_dominant_share(cpu_others, cpu_total)
    )


def is_host_starved(sample: Sample, interval_seconds: float) -> bool:
    """True if this process or a worker waited for a processor during the tick."""
    is_late = sample.late_ms > max(MIN_LATE_MS, 1000 * LATE_SHARE * interval_seconds)
    return is_late or (read("scheduling_delay", sample.load) or 0.0) > STARVED_LAG_MS
