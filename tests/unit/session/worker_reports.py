"""What workers might report."""

from typing import Any

from tuibench.load.messages import Counters, FairnessStats, WorkerReport
from tuibench.model.tick import Histogram


def report(worker: int = 0, *latencies_us: int, **changes: Any) -> WorkerReport:
    """A report whose counters are given, of an interval with these latencies."""
    fields: dict[str, Any] = {
        "seconds": 1.0,
        "cpu_seconds": 0.25,
        "lag_p99_ms": 0.5,
        "connections": 4,
        "counters": Counters(),
        "service": Histogram(),
        "statements": {},
        "events_per_connection": FairnessStats(),
        "seconds_per_connection": FairnessStats(),
    }
    return WorkerReport(worker=worker, transactions=Histogram.of(latencies_us), **(fields | changes))
