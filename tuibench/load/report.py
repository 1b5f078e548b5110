"""What a worker says of its work: cumulative counters and the histograms of the interval.

Counters are cumulative so that a lost report costs nothing; readers subtract. Merging is associative.
"""

from typing import TypeVar

import msgspec

from tuibench.metrics.histogram import Histogram

Name = TypeVar("Name", int, str)


class Counters(msgspec.Struct):
    """Everything since the worker began.

    Identity: scheduled = completed + failed + abandoned + in_flight + backlog, where a closed loop schedules
    a transaction when it starts. Retries are counted apart. `questions` is what the server has been asked, as
    it counts itself: failed statements, rollbacks and goodbyes included. `retried` and `rolled_back` (by
    intent: they are completed, too) are counts by the kind of transaction.
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
        plain = {name: getattr(self, name) + sign * getattr(other, name) for name in PLAIN_COUNTERS}
        return Counters(
            **plain,
            errors=_combined(self.errors, other.errors, sign),
            refused=_combined(self.refused, other.refused, sign),
            retried=_combined(self.retried, other.retried, sign),
            rolled_back=_combined(self.rolled_back, other.rolled_back, sign),
        )


PLAIN_COUNTERS = tuple(field.name for field in msgspec.structs.fields(Counters) if field.type is int)


def _combined(ours: dict[Name, int], theirs: dict[Name, int], sign: int) -> dict[Name, int]:
    codes = {code: ours.get(code, 0) + sign * theirs.get(code, 0) for code in ours.keys() | theirs.keys()}
    return {code: times for code, times in sorted(codes.items()) if times}


class Moments(msgspec.Struct, frozen=True):
    """Count, sum and sum of squares: enough for the mean and the population deviation of what is merged."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: list[float]) -> "Moments":
        return cls(len(values), sum(values), sum(value * value for value in values))

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.n + other.n, self.total + other.total, self.squares + other.squares)

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
    """A worker has ended all the transactions it was allowed to start.

    `allowances` is how often it had been allowed some: with more on the way to it, this is no news.
    """

    allowances: int


class HandOver(msgspec.Struct, frozen=True, tag="hand over"):
    """Work that a worker without connections leaves to another one, by way of the session.

    `due_ns` are the intended starts of its backlog, `allowed` is how many transactions more it might have
    scheduled.
    """

    due_ns: tuple[int, ...] = ()
    allowed: int = 0

    def __bool__(self) -> bool:
        return bool(self.due_ns or self.allowed)


class WorkerReport(msgspec.Struct, frozen=True, tag="report", kw_only=True):
    """One worker's answer to a tick.

    `transactions` are response times, from the intended start, `by_transaction` the same for each kind if
    there are several; `service` times, from the real one, are kept in an open loop only. `last_refusal` is
    the latest reason why a login is being tried again. `events_since` and `seconds_since` are each
    connection's figures since the last checkpoint. `seconds` is the interval the histograms cover,
    `cpu_seconds` what the process burnt in it, `lag_p99_ms` how late its event loop ran. `failure` is why the
    worker cannot go on, else empty; `failure_exit` the exit code that goes with it.
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
    events_per_connection: Moments
    seconds_per_connection: Moments
    by_transaction: dict[str, Histogram] = {}
    events_since: Moments = Moments()
    seconds_since: Moments = Moments()
    last_refusal: str = ""
    failure: str = ""
    failure_hint: str = ""
    failure_exit: int = 0
