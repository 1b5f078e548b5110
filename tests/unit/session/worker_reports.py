"""What workers might report."""

from collections.abc import Mapping
from typing import Any

from tuibench.load.messages import Counters, WorkerReport
from tuibench.model.tick import RESPONSE, SERVICE, STATEMENT, TRANSACTION, Histogram


def report(
    worker: int = 0,
    *latencies_us: int,
    service: Histogram | None = None,
    statements: Mapping[str, Histogram] | None = None,
    by_transaction: Mapping[str, Histogram] | None = None,
    **changes: Any,
) -> WorkerReport:
    """A report whose counters are given, of an interval with these latencies."""
    hists = {RESPONSE: Histogram.of(latencies_us), SERVICE: service or Histogram()}
    hists |= {STATEMENT + name: each for name, each in (statements or {}).items()}
    hists |= {TRANSACTION + name: each for name, each in (by_transaction or {}).items()}
    fields: dict[str, Any] = {
        "seconds": 1.0,
        "cpu_seconds": 0.25,
        "lag_p99_ms": 0.5,
        "connections": 4,
        "counters": Counters(),
    }
    return WorkerReport(
        worker=worker, hists={name: each for name, each in hists.items() if each.count}, **(fields | changes)
    )
