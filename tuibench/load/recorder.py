"""What the virtual users of one worker note down while they work, at the least possible cost.

The hot path appends raw microseconds to plain lists; they become histograms when a report is taken.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.report import Counters
from tuibench.metrics.histogram import Histogram, merged
from tuibench.workload.program import FlatStatement, StatementClass

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


class Recorder:
    """Shared by all connections of a worker; everything runs on one event loop, so nothing is locked.

    What changes with every transaction and statement is kept outside the `counters`, which are complete as
    `totals`. `tally` counts returned statements as reads, writes and others. `latencies_us[i]` collects the
    latencies of flat statement i; statements of one name share a list. `response_us[i]` collects those of the
    program's transaction i from its intended start, `service_us` those from the real one, in an open loop.
    `rejected` counts statements that the server answered with an error, `unanswered` those it heard beside
    the work: cut off ones, goodbyes, and what a login takes.
    """

    def __init__(self, statements: Sequence[FlatStatement], transactions: Sequence[str]) -> None:
        self.counters = Counters()
        self.in_flight = self.completed = self.commits = 0
        self.tally = [0, 0, 0]
        self.unanswered = 0
        self.rejected = 0
        self.response_us: list[list[int]] = [[] for _ in transactions]
        self.service_us: list[int] = []
        self._transactions = transactions
        self._by_name: dict[str, list[int]] = {statement.name: [] for statement in statements}
        self.latencies_us = [self._by_name[statement.name] for statement in statements]
        self.kinds = [_KINDS[statement.cls] for statement in statements]

    def failed(self, error: SQLError) -> None:
        """A statement that ended in an error: the server answered with it, or the network swallowed it."""
        self.counters.count_error(error.code)
        if not isinstance(error, ConnectionLostError):
            self.rejected += 1

    def totals(self) -> Counters:
        """The counters as they stand, a copy."""
        reads, writes, others = self.tally
        now = self.counters + Counters()
        now.in_flight, now.completed, now.commits = self.in_flight, self.completed, self.commits
        now.reads, now.writes, now.others = reads, writes, others
        now.questions = reads + writes + others + self.rejected + self.unanswered
        return now

    def take(self) -> Latencies:
        """The latencies since the last call."""
        kinds = [Histogram.of(values) for values in self.response_us]
        names = zip(self._transactions, kinds, strict=True)
        taken = Latencies(
            response=kinds[0] if len(kinds) == 1 else merged(kinds),
            service=Histogram.of(self.service_us),
            statements={name: Histogram.of(values) for name, values in self._by_name.items() if values},
            by_transaction={name: each for name, each in names if each.count} if len(kinds) > 1 else {},
        )
        for values in (*self.response_us, self.service_us, *self._by_name.values()):
            values.clear()
        return taken
