"""Worker reports: cumulative counters, and latency histograms of the interval.

Counters are cumulative, so that a lost report loses no counts; readers subtract. Merging is associative.
"""

from typing import TypeVar

import msgspec

from tuibench.load.completion_gaps import CompletionGaps
from tuibench.metrics.histogram import Histogram
from tuibench.model.measurements.sample import SlowTransaction

Name = TypeVar("Name", int, str)


class Counters(msgspec.Struct):
    """Counters since the start of the worker.

    Invariant: scheduled = completed + failed + abandoned + in_flight + backlog; a closed loop schedules a
    transaction when it starts. Retries are separate. `questions` counts like the server's Questions:
    including failed statements, rollbacks and disconnects. `retried` and `rolled_back` (rollbacks by intent,
    which also count as completed) are counts per kind of transaction. `logins` are successful ones of
    --connect-rate and --reconnect, `missed_logins` those that were due but not started, because too many were
    in progress.
    """

    scheduled: int = 0
    backlog: int = 0
    completed: int = 0
    failed: int = 0
    abandoned: int = 0
    in_flight: int = 0
    reads: int = 0
    writes: int = 0
    others: int = 0
    commits: int = 0
    questions: int = 0
    retries: int = 0
    reconnects: int = 0
    logins: int = 0
    missed_logins: int = 0
    errors: dict[int, int] = {}
    refused: dict[int, int] = {}
    retried: dict[str, int] = {}
    rolled_back: dict[str, int] = {}

    @property
    def queries(self) -> int:
        """Statements that returned without an error."""
        return self.reads + self.writes + self.others

    @property
    def failures(self) -> int:
        """Failed statements, of all codes."""
        return sum(self.errors.values())

    def count_error(self, code: int) -> None:
        self.errors[code] = self.errors.get(code, 0) + 1

    def count_refusal(self, code: int) -> None:
        self.refused[code] = self.refused.get(code, 0) + 1

    def count_retry(self, transaction: str) -> None:
        self.retries += 1
        self.retried[transaction] = self.retried.get(transaction, 0) + 1

    def count_rollback(self, transaction: str) -> None:
        self.rolled_back[transaction] = self.rolled_back.get(transaction, 0) + 1

    def __add__(self, other: "Counters") -> "Counters":
        return self._with(other, 1)

    def __sub__(self, other: "Counters") -> "Counters":
        return self._with(other, -1)

    def _with(self, other: "Counters", sign: int) -> "Counters":
        plain = {name: getattr(self, name) + sign * getattr(other, name) for name in INTEGER_COUNTERS}
        return Counters(
            **plain,
            errors=_combine_counts(self.errors, other.errors, sign),
            refused=_combine_counts(self.refused, other.refused, sign),
            retried=_combine_counts(self.retried, other.retried, sign),
            rolled_back=_combine_counts(self.rolled_back, other.rolled_back, sign),
        )


INTEGER_COUNTERS = tuple(field.name for field in msgspec.structs.fields(Counters) if field.type is int)


def _combine_counts(ours: dict[Name, int], theirs: dict[Name, int], sign: int) -> dict[Name, int]:
    codes = {code: ours.get(code, 0) + sign * theirs.get(code, 0) for code in ours.keys() | theirs.keys()}
    return {code: times for code, times in sorted(codes.items()) if times}


class FairnessStats(msgspec.Struct, frozen=True):
    """Count, sum and sum of squares, for mean and standard deviation of merged values."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: list[float]) -> "FairnessStats":
        return cls(len(values), sum(values), sum(value * value for value in values))

    def __add__(self, other: "FairnessStats") -> "FairnessStats":
        return FairnessStats(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else 0.0

    @property
    def deviation(self) -> float:
        """Population standard deviation."""
        if not self.n:
            return 0.0
        return float(max(0.0, self.squares / self.n - self.mean**2) ** 0.5)


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """A worker has finished all transactions of its quota.

    `grants` is the number of quotas it had received: if another one is in transit, the message is outdated.
    """

    grants: int


class Reassign(msgspec.Struct, frozen=True, tag="hand over"):
    """Work that a worker without connections passes to another worker, through the session.

    `due_ns` are the intended starts of its backlog; `quota` is the number of transactions that it might still
    have scheduled.
    """

    due_ns: tuple[int, ...] = ()
    quota: int = 0

    def __bool__(self) -> bool:
        return bool(self.due_ns or self.quota)


class WorkerReport(msgspec.Struct, frozen=True, tag="report", kw_only=True):
    """One worker's report for a tick.

    `transactions` are response times from the intended start, `by_transaction` the same for each kind if
    there are several; `service` times, from the actual start, exist in an open loop only. `slowest` are
    the slowest transactions of the interval. `last_refusal` is
    the latest error of a login that is retried. `events_since` and `seconds_since` are each connection's
    figures since the last checkpoint. `seconds` is the length of the histograms' interval, `cpu_seconds` the
    process's CPU time in it, `core_seconds` that of its busiest thread (None: it has only one), `lag_p99_ms`
    the scheduling delay of its event loop or threads. `idle_connections` are open beside the load,
    `idle_refusal` is why there are not more of them; `logins` are the times of extra and planned logins,
    `waits` those of users for a connection, `gaps` the times without a completion. `failure` is the error
    that ended the worker, or empty; `failure_exit` its exit code.
    """

    worker: int
    seconds: float
    cpu_seconds: float
    lag_p99_ms: float
    connections: int
    counters: Counters
    transactions: Histogram
    service: Histogram
    statements: dict[str, Histogram]
    events_per_connection: FairnessStats
    seconds_per_connection: FairnessStats
    by_transaction: dict[str, Histogram] = {}
    events_since: FairnessStats = FairnessStats()
    seconds_since: FairnessStats = FairnessStats()
    core_seconds: float | None = None
    last_refusal: str = ""
    idle_connections: int = 0
    idle_refusal: str = ""
    logins: Histogram = msgspec.field(default_factory=Histogram)
    waits: Histogram = msgspec.field(default_factory=Histogram)
    slowest: tuple[SlowTransaction, ...] = ()
    gaps: CompletionGaps = CompletionGaps()
    failure: str = ""
    failure_hint: str = ""
    failure_exit: int = 0
