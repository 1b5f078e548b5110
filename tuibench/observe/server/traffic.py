"""The server's own traffic: the statements of its clients between two readings of the status.

All clients are counted together. The session's own statements are subtracted: all of them from the queries,
its SELECT statements from the reads.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tuibench.metrics.series.rates import CounterInterval
from tuibench.model.counters import COMMITS, READS, ROLLBACKS, WRITES, Counter
from tuibench.model.tick import RESPONSE, Tick
from tuibench.observe.server.statement_times import TimedInterval


class OwnStatements(NamedTuple):
    """Statements that the session had sent at a reading: all, and SELECT only."""

    statements: int = 0
    selects: int = 0


def traffic_in(interval: CounterInterval, own: OwnStatements, times: TimedInterval) -> Tick:
    """The clients' traffic of an interval; `own` is what the session itself sent in it.

    A commit counts as a completed transaction. `statement_ms` is the time of the `timed` statements.
    """
    deltas = interval.deltas
    commits, queries = _sum(COMMITS, deltas), max(0, deltas.get(Counter.QUESTIONS, 0) - own.statements)
    reads, writes = max(0, _sum(READS, deltas) - own.selects), _sum(WRITES, deltas)
    average = times.average_ms
    timed = {} if average is None or not queries else {"timed": queries, "statement_ms": queries * average}
    return Tick(
        seconds=interval.seconds,
        sums={
            "completed": commits,
            "commits": commits,
            "rollbacks": _sum(ROLLBACKS, deltas),
            "queries": queries,
            "questions": queries,
            "reads": reads,
            "writes": writes,
            "others": max(0, queries - reads - writes),
            **timed,
        },
        hists={} if times.histogram is None else {RESPONSE: times.histogram},
        missing={"latency": times.note} if times.note else {},
    )


def _sum(counters: tuple[Counter, ...], deltas: Mapping[str, int]) -> int:
    return sum(deltas.get(counter, 0) for counter in counters)
