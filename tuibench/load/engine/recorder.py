"""Counters and latencies of a worker's connections, and the lag of its event loop.

The hot path appends raw microseconds to plain lists; they become histograms when a report is taken. A large
lag of the event loop means that the worker, not the server, is the bottleneck.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.completion_gaps import GapRecorder
from tuibench.load.pacing.timer import Timer
from tuibench.load.worker_report import Counters
from tuibench.metrics.histogram import Histogram, merge_histograms
from tuibench.model.measurements.sample import MOST_SLOW, SlowTransaction, grouped_statements, slowest_of
from tuibench.workload.program.program import FlatStatement, StatementClass

Timed = tuple[int, int, int]
"""A statement of a transaction: its place in the flat list, microseconds, and the code of its error, or 0."""

MOST_TIMED = 256
"""Statements kept of one transaction."""

READ, WRITE, OTHER = 0, 1, 2
_KINDS = {StatementClass.READ: READ, StatementClass.WRITE: WRITE, StatementClass.OTHER: OTHER}


class Latencies(NamedTuple):
    """Histograms of an interval. `service` is empty in a closed loop: there it is the response.

    `by_transaction` are the responses of each kind of transaction, empty if there is only one kind.
    """

    response: Histogram
    service: Histogram
    statements: dict[str, Histogram]
    by_transaction: dict[str, Histogram]
    slowest: tuple[SlowTransaction, ...] = ()

    @classmethod
    def of_kinds(
        cls,
        responses: Mapping[str, Histogram],
        service: Histogram,
        statements: dict[str, Histogram],
        slowest: tuple[SlowTransaction, ...],
    ) -> "Latencies":
        """The latencies of an interval from the responses of each kind of transaction."""
        kinds = list(responses.values())
        return cls(
            response=kinds[0] if len(kinds) == 1 else merge_histograms(kinds),
            service=service,
            statements=statements,
            by_transaction={name: each for name, each in responses.items() if each.count}
            if len(kinds) > 1
            else {},
            slowest=slowest,
        )


class LatencyRecorder:
    """Records for all connections of a worker; all run on one event loop, so nothing is locked.

    Figures that change with every transaction and statement are kept outside `counters`; `totals` includes
    them. `tally` counts returned statements as reads, writes and others. `latencies_us[i]` collects the
    latencies of flat statement i; statements of one name share a list. `response_us[i]` collects those of the
    program's transaction i from its intended start, `service_us` those from the actual start, in an open
    loop. `login_us` collects the times of extra and planned logins, `wait_us` those of users for a
    connection. `rejected` counts statements that the server answered with an error, `other_questions` those
    it received in addition to the load: aborted ones, disconnects, and those of logins. Transactions that
    take longer than `slow_us` are passed to `keep_slow`.
    """

    def __init__(self, statements: Sequence[FlatStatement], transactions: Sequence[str]) -> None:
        self.counters = Counters()
        self.gaps = GapRecorder()
        self.in_flight = self.completed = self.commits = 0
        self.tally = [0, 0, 0]
        self.other_questions = 0
        self.rejected = 0
        self.response_us: list[list[int]] = [[] for _ in transactions]
        self.service_us: list[int] = []
        self.login_us: list[int] = []
        self.wait_us: list[int] = []
        self.slow_us = -1
        self._slowest: list[SlowTransaction] = []
        self._transactions = transactions
        self._statements = statements
        self._by_name: dict[str, list[int]] = {statement.name: [] for statement in statements}
        self.latencies_us = [self._by_name[statement.name] for statement in statements]
        self.kinds = [_KINDS[statement.cls] for statement in statements]

    def answered(self, which: int, response_us: int | None, busy_us: int, timed: Sequence[Timed]) -> None:
        """Records the end of a transaction. In a closed loop `response_us` is None: it equals the service
        time.
        """
        if response_us is None:
            response_us = busy_us
        else:
            self.service_us.append(busy_us)
        self.response_us[which].append(response_us)
        if response_us > self.slow_us:
            self.keep_slow(which, response_us, busy_us, timed)

    def keep_slow(self, which: int, response_us: int, busy_us: int, timed: Sequence[Timed]) -> None:
        """Keeps a transaction that took longer than `slow_us`, with its statements."""
        statements = ((self._statements[index].name, us, error) for index, us, error in timed[:MOST_TIMED])
        slow = SlowTransaction(
            transaction=self._transactions[which],
            response_ms=response_us / 1000,
            service_ms=busy_us / 1000,
            statements=grouped_statements(statements),
        )
        self._slowest = list(slowest_of([*self._slowest, slow]))
        if len(self._slowest) == MOST_SLOW:
            self.slow_us = round(self._slowest[-1].response_ms * 1000)

    def failed(self, error: SQLError) -> None:
        """Counts a failed statement: with an error of the server, or one whose response was lost."""
        self.counters.count_error(error.code)
        if not isinstance(error, ConnectionLostError):
            self.rejected += 1

    def totals(self) -> Counters:
        """A copy of the present counters."""
        reads, writes, others = self.tally
        now = self.counters + Counters()
        now.in_flight, now.completed, now.commits = self.in_flight, self.completed, self.commits
        now.reads, now.writes, now.others = reads, writes, others
        now.questions = reads + writes + others + self.rejected + self.other_questions
        return now

    def take(self) -> Latencies:
        """The latencies since the last call."""
        names = zip(self._transactions, self.response_us, strict=True)
        taken = Latencies.of_kinds(
            {name: Histogram.of(values) for name, values in names},
            Histogram.of(self.service_us),
            {name: Histogram.of(values) for name, values in self._by_name.items() if values},
            tuple(self._slowest),
        )
        self._slowest, self.slow_us = [], -1
        for values in (*self.response_us, self.service_us, *self._by_name.values()):
            values.clear()
        return taken

    def take_logins(self) -> Histogram:
        """The login times since the last call."""
        taken, self.login_us = Histogram.of(self.login_us), []
        return taken

    def take_waits(self) -> Histogram:
        """The times that users waited for a connection, since the last call."""
        taken = Histogram.of(self.wait_us)
        self.wait_us.clear()
        return taken


LAG_INTERVAL_NS = 5_000_000


class EventLoopLagProbe:
    """Measures the lag of the event loop: sets an exact timer at short intervals and records its delay."""

    def __init__(self, clock: Clock, timer: Callable[[Callable[[], None]], Timer]) -> None:
        self._clock = clock
        self._lags_ms: list[float] = []
        self._due_ns = 0
        self._timer = timer(self._on_timer)
        self._set()

    def take_p99_ms(self) -> float:
        """The 99th percentile (nearest rank) since the last call, in milliseconds; 0 without a reading."""
        lags, self._lags_ms = sorted(self._lags_ms), []
        return lags[-(-len(lags) * 99 // 100) - 1] if lags else 0.0

    def close(self) -> None:
        self._timer.close()

    def _set(self) -> None:
        self._due_ns = self._clock.now_ns() + LAG_INTERVAL_NS
        self._timer.set(self._due_ns)

    def _on_timer(self) -> None:
        self._lags_ms.append(max(0, self._clock.now_ns() - self._due_ns) / 1e6)
        self._set()
