"""When this host gave tuibench no processor time, so that a tick's figures are those of the host."""

from tuibench.model.sample import Sample

LATE_SHARE = 0.5
LEAST_LATE_MS = 500.0
"""A tick that is later than this part of its interval, and at least so late: this process had no time."""

STARVED_LAG_MS = 250.0
"""A worker's event loop with this scheduling delay (p99) waited for a processor."""


def is_host_starved(sample: Sample, interval_seconds: float) -> bool:
    """Whether this process or a worker waited for a processor during the tick."""
    is_late = sample.late_ms > max(LEAST_LATE_MS, 1000 * LATE_SHARE * interval_seconds)
    return is_late or (sample.load is not None and sample.load.lag_p99_ms > STARVED_LAG_MS)
