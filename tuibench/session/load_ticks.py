"""Ticks of a load from the reports of its workers.

Most workers report at every tick. The report of a worker that was silent covers more than the tick, that of a
new worker covers less. So the length of a tick is taken from the workers that reported at both of its ends,
if there are any, and the work of a silent worker is spread over its silence.
"""

from collections.abc import Mapping, Sequence

import msgspec

from tuibench.load.messages import CompletionGaps, Counters, FairnessStats, GapsOfWorkers, WorkerReport
from tuibench.model.tick import (
    ERROR,
    ROLLED_BACK,
    Histogram,
    SlowTransaction,
    Tick,
    fold_histograms,
    slowest_of,
)

NO_TIME = 1e-9
ROUNDING = 1.05
"""Reports that cover up to this many times the tick were not late: the workers are asked one by one."""

WORKER_CPU = "worker_cpu_seconds"
"""The sum of a tick with the CPU time of all workers."""


class WorkerShare(msgspec.Struct):
    """One worker's part of a tick."""

    grown: Counters
    """The increase of its counters."""
    seconds: float = 0.0
    """The time that its reports cover."""
    steady_seconds: float = 0.0
    """The time covered by reports that followed a report in the previous round."""
    cpu_seconds: float = 0.0
    """CPU time of its busiest thread."""


class _OpenTick:
    """What was reported since the last tick."""

    def __init__(self) -> None:
        self.shares: dict[int, WorkerShare] = {}
        self.hists: dict[str, Histogram] = {}
        self.slowest: tuple[SlowTransaction, ...] = ()
        self.cpu_seconds = self.lag_p99_ms = 0.0


class WorkerTotals(msgspec.Struct):
    """One worker's part of a run, since its figures began."""

    transactions: int = 0
    cpu_seconds: float = 0.0
    """CPU time of all of its threads."""


class LoadTicks:
    """Makes ticks of reports, whose counters are cumulative and whose histograms are those of an interval."""

    def __init__(self) -> None:
        self.transactions = 0
        """Those completed since `begin`."""
        self.slowest: tuple[SlowTransaction, ...] = ()
        """The slowest transactions of the last tick."""
        self.of_worker: dict[int, WorkerTotals] = {}
        """By the number of the worker."""
        self._last: dict[int, WorkerReport] = {}
        self._latest_round: frozenset[int] = frozenset()
        self._gaps = GapsOfWorkers()
        self._carried = 0
        self._open = _OpenTick()

    def begin(self, reports: Sequence[WorkerReport]) -> None:
        """Start counting: what was reported before, such as logins, is in no tick."""
        self._last = {report.worker: report for report in reports}
        self._latest_round = frozenset(self._last)
        for report in reports:
            self._gaps.add(report.worker, report.gaps)
        self.begin_again()

    def begin_again(self) -> None:
        """The run's figures begin again, after a tick. Transactions in flight end in the new figures, so they
        count as scheduled in them.
        """
        self._carried = self.in_flight + self.backlog
        self.of_worker = {}

    def add(self, reports: Sequence[WorkerReport]) -> None:
        """Add the reports of all workers at one time to the present tick."""
        tick = self._open
        for report in reports:
            worker = report.worker
            before = self._last.get(worker)
            grown = report.counters if before is None else report.counters - before.counters
            share = tick.shares.setdefault(worker, WorkerShare(Counters()))
            share.grown = share.grown + grown
            share.seconds += report.seconds
            share.steady_seconds += report.seconds * (worker in self._latest_round)
            share.cpu_seconds += report.cpu_seconds if report.core_seconds is None else report.core_seconds
            totals = self.of_worker.setdefault(worker, WorkerTotals())
            totals.transactions += grown.completed
            totals.cpu_seconds += report.cpu_seconds
            fold_histograms(tick.hists, report.hists)
            tick.slowest = slowest_of((*tick.slowest, *report.slowest))
            tick.cpu_seconds += report.cpu_seconds
            tick.lag_p99_ms = max(tick.lag_p99_ms, report.lag_p99_ms)
            self._last[worker] = report
            self._gaps.add(worker, report.gaps)
            self.transactions += grown.completed
        self._latest_round = frozenset(report.worker for report in reports)

    def take(self) -> Tick | None:
        """The tick since the last one, without its end; None without a report. The next tick begins."""
        shares = self._open.shares.values()
        if not shares:
            return None
        ended, self._open = self._open, _OpenTick()
        seconds = max(share.steady_seconds for share in shares)
        seconds = seconds or max(share.seconds for share in shares) or NO_TIME
        sums: dict[str, float] = {}
        arrears: dict[str, float] = {}
        for share in shares:
            # The work of a silent worker before this tick is in arrears.
            now = min(1.0, seconds / share.seconds) if share.seconds > ROUNDING * seconds else 1.0
            for name, count in counter_sums(share.grown).items():
                sums[name] = sums.get(name, 0) + now * count
                if now < 1.0:
                    arrears[name] = arrears.get(name, 0) + (1.0 - now) * count
        sums[WORKER_CPU] = ended.cpu_seconds
        if self._carried:
            sums["scheduled"] = sums.get("scheduled", 0) + self._carried
        worker_cpu = max(
            (share.cpu_seconds / share.seconds for share in shares if share.seconds), default=0.0
        )
        self.slowest, self._carried = ended.slowest, 0
        return Tick(
            seconds=seconds,
            sums=sums,
            arrears=arrears,
            levels={"connections": self.connections, "backlog": self.backlog, "in_flight": self.in_flight},
            peaks={"worker_cpu": worker_cpu, "lag_p99_ms": ended.lag_p99_ms},
            hists={name: each for name, each in ended.hists.items() if each.count},
        )

    @property
    def completion_gaps(self) -> CompletionGaps:
        """The times in which no worker completed a transaction."""
        return self._gaps.common

    @property
    def connections(self) -> int:
        return sum(report.connections for report in self._last.values())

    @property
    def idle_connections(self) -> int:
        """Open connections in addition to the load."""
        return sum(report.idle_connections for report in self._last.values())

    @property
    def in_flight(self) -> int:
        return sum(report.counters.in_flight for report in self._last.values())

    @property
    def backlog(self) -> int:
        return sum(report.counters.backlog for report in self._last.values())

    @property
    def fairness(self) -> FairnessStats:
        """How the work was distributed among the connections, since the figures began."""
        return sum((report.fairness for report in self._last.values()), FairnessStats())

    @property
    def fairness_since_checkpoint(self) -> FairnessStats:
        return sum((report.fairness_since for report in self._last.values()), FairnessStats())


def counter_sums(grown: Counters) -> dict[str, float]:
    """The counts of a tick by name. Zeros are left out, except for the counts that every load has."""
    plain = {name: getattr(grown, name) for name in COUNTED}
    named: dict[str, Mapping[int, int] | Mapping[str, int]] = {
        ERROR: grown.errors,
        "retried.": grown.retried,
        ROLLED_BACK: grown.rolled_back,
    }
    return {
        "completed": grown.completed,
        "queries": grown.queries,
        "reads": grown.reads,
        "writes": grown.writes,
        "others": grown.others,
        **{name: value for name, value in plain.items() if value},
        **{f"{prefix}{key}": times for prefix, counts in named.items() for key, times in counts.items()},
    }


COUNTED = (
    "scheduled", "resent", "good", "late", "failed", "abandoned", "unknown_commits", "commits", "questions",
    "retries", "reconnects", "logins", "missed_logins",
)  # fmt: skip
