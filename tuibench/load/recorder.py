"""What the virtual users of one worker note down while they work, at the least possible cost.

The hot path appends raw microseconds to plain lists; they become histograms when a report is taken.
"""

from collections.abc import Sequence

from tuibench.load.report import Counters
from tuibench.metrics.histogram import Histogram
from tuibench.workload.program import FlatStatement, StatementClass

READ, WRITE, OTHER = 0, 1, 2
_KINDS = {StatementClass.READ: READ, StatementClass.WRITE: WRITE, StatementClass.OTHER: OTHER}


class Recorder:
    """Shared by all connections of a worker; everything runs on one event loop, so nothing is locked.

    `tally` counts returned statements as reads, writes and others. `latencies_us[i]` collects the latencies
    of flat statement i; statements of one name share a list. `rejected` counts statements that the server
    answered with an error, `unanswered` those it heard beside the work: cut off ones, goodbyes, and what a
    login takes.
    """

    def __init__(self, statements: Sequence[FlatStatement]) -> None:
        self.counters = Counters()
        self.tally = [0, 0, 0]
        self.unanswered = 0
        self.rejected = 0
        self.transactions_us: list[int] = []
        self._by_name: dict[str, list[int]] = {statement.name: [] for statement in statements}
        self.latencies_us = [self._by_name[statement.name] for statement in statements]
        self.kinds = [_KINDS[statement.cls] for statement in statements]

    def failed(self, code: int, *, answered: bool) -> None:
        """A statement that ended in an error, which the server `answered` or the network swallowed."""
        self.counters.count_error(code)
        if answered:
            self.rejected += 1

    def totals(self) -> Counters:
        """The counters as they stand, a copy."""
        reads, writes, others = self.tally
        now = self.counters + Counters()
        now.reads, now.writes, now.others = reads, writes, others
        now.questions = reads + writes + others + self.rejected + self.unanswered
        return now

    def take(self) -> tuple[Histogram, dict[str, Histogram]]:
        """The latencies since the last call, as histograms: of transactions, and of statements by name."""
        transactions = Histogram.of(self.transactions_us)
        self.transactions_us.clear()
        statements = {name: Histogram.of(values) for name, values in self._by_name.items() if values}
        for values in self._by_name.values():
            values.clear()
        return transactions, statements
