"""What the workers reported over a stretch of time, added up: counts, histograms, and the rates of it.

Most workers report in every round. One that was silent covers more than the stretch when it answers, one that
is new covers less: neither says how long the stretch was, as long as there are others.
"""

from collections.abc import Callable, Mapping

import msgspec

from tuibench.load.report import Counters, WorkerReport
from tuibench.metrics.histogram import Histogram

NO_TIME = 1e-9


class Share(msgspec.Struct):
    """One worker's part: what its counters grew by, the seconds that took, and what its process burnt.

    `steady_seconds` are those of the reports that followed on one in the round before.
    """

    grown: Counters
    seconds: float = 0.0
    steady_seconds: float = 0.0
    cpu_seconds: float = 0.0


class Gathering:
    """Reports in, in any number and order; figures out."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.transactions = Histogram()
        self.service = Histogram()
        self.statements: dict[str, Histogram] = {}
        self.by_transaction: dict[str, Histogram] = {}
        self.cpu_seconds = 0.0
        self.lag_p99_ms = 0.0
        self._shares: dict[int, Share] = {}

    def add(self, report: WorkerReport, grown: Counters, *, is_steady: bool = True) -> None:
        """Takes a report in; `grown` is what its counters grew by since this worker's last one."""
        self.counters = self.counters + grown
        self.transactions.add(report.transactions)
        self.service.add(report.service)
        _add(self.statements, report.statements)
        _add(self.by_transaction, report.by_transaction)
        self.cpu_seconds += report.cpu_seconds
        self.lag_p99_ms = max(self.lag_p99_ms, report.lag_p99_ms)
        share = self._shares.setdefault(report.worker, Share(Counters()))
        share.grown = share.grown + grown
        share.seconds += report.seconds
        share.steady_seconds += report.seconds * is_steady
        share.cpu_seconds += report.cpu_seconds

    def include(self, other: "Gathering") -> None:
        """Takes in what another one has counted; not how long that took, or what it cost."""
        self.counters = self.counters + other.counters
        self.transactions.add(other.transactions)
        self.service.add(other.service)
        _add(self.statements, other.statements)
        _add(self.by_transaction, other.by_transaction)

    def of_kind(self, name: str) -> Histogram:
        """The latencies of one kind of transaction; of all, where there is only one kind."""
        return self.by_transaction.get(name, Histogram()) if self.by_transaction else self.transactions

    @property
    def is_empty(self) -> bool:
        """True when nobody has reported."""
        return not self._shares

    @property
    def seconds(self) -> float:
        """How long the stretch was; never zero."""
        shares = self._shares.values()
        steady = max((share.steady_seconds for share in shares), default=0.0)
        return steady or max((share.seconds for share in shares), default=0.0) or NO_TIME

    @property
    def worker_cpu(self) -> float:
        """The busiest worker's share of a core."""
        shares = self._shares.values()
        return max((share.cpu_seconds / share.seconds for share in shares if share.seconds), default=0.0)

    def per_second(self, count: Callable[[Counters], int]) -> float:
        """How fast a count grew: what a silent worker did is spread over its silence."""
        seconds = self.seconds
        return sum(count(share.grown) / max(share.seconds, seconds) for share in self._shares.values())


def _add(totals: dict[str, Histogram], more: Mapping[str, Histogram]) -> None:
    for name, histogram in more.items():
        totals.setdefault(name, Histogram()).add(histogram)
