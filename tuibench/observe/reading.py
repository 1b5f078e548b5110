"""From two readings of the server's status to a sample: what happened between them, and how fast it counted.

Without I/O: readings in, an observation out.
"""

import msgspec

from tuibench.clock import NS_PER_SECOND
from tuibench.metrics.rates import Interval, between, growth, hit_percent, ratio
from tuibench.model.sample import ServerPart
from tuibench.observe import counters

RESTART_SLACK_SECONDS = 2.0
"""Uptime is in whole seconds on a clock that may be corrected: it may lag ours by this much."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What SHOW GLOBAL STATUS said at `at_ns` of the monotonic clock.

    `connection` numbers the connection it came over, `identity` names the server instance.
    `own_statements` and `transactions` are our own totals at that moment.
    """

    at_ns: int
    connection: int
    identity: str
    status: dict[str, int]
    max_connections: int
    table_open_cache: int
    own_statements: int
    transactions: int | None
    untold: dict[str, str] = {}


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of the server, and what was noticed while taking it.

    `part` is None for a gap; then `trouble` says why. `restarted` and `counters_reset` are True
    once, in the first sample after it. `own_statements` is the sampler's total that the counters of `part`
    include, for the reconciliation.
    """

    part: ServerPart | None
    trouble: str = ""
    restarted: bool = False
    counters_reset: bool = False
    own_statements: int = 0


def observe(before: Reading | None, after: Reading) -> Observation:
    """The sample that `after` makes, with rates since `before`."""
    restarted = before is not None and has_restarted(before, after)
    interval = None if before is None or restarted else _interval(before, after)
    reset = before is not None and interval is not None and was_reset(before, after, interval)
    return Observation(
        part=_part(before, after, None if reset else interval),
        restarted=restarted,
        counters_reset=reset,
        own_statements=after.own_statements,
    )


def has_restarted(before: Reading, after: Reading) -> bool:
    """True if this is another life of the server, or another server.

    One sign alone proves nothing: the server's clock may be set back, a connection may be killed, counters
    may be reset; and a proxy keeps our connection over a restart. Two signs do. A life shorter than the slack
    may show one only, and pass for counters that were reset.
    """
    if before.identity != after.identity:
        return True
    elapsed = (after.at_ns - before.at_ns) / NS_PER_SECOND
    signs = (
        after.status[counters.UPTIME] - before.status[counters.UPTIME] < elapsed - RESTART_SLACK_SECONDS,
        after.status[counters.QUESTIONS] < before.status[counters.QUESTIONS],
        after.connection != before.connection,
    )
    return sum(signs) >= 2


def was_reset(before: Reading, after: Reading, interval: Interval) -> bool:
    """True after FLUSH STATUS: it moves the flush age against the uptime, or a counter went back."""
    return interval.reset or _flushed_at(after) > _flushed_at(before)


def _flushed_at(reading: Reading) -> int:
    """When the counters were last reset, in seconds of the server's life. Both ages are of one moment."""
    uptime = reading.status[counters.UPTIME]
    return uptime - reading.status.get(counters.FLUSH_AGE, uptime)


def _interval(before: Reading, after: Reading) -> Interval:
    return between(_cumulative(before), _cumulative(after), (after.at_ns - before.at_ns) / NS_PER_SECOND)


def _cumulative(reading: Reading) -> dict[str, int]:
    return {name: value for name, value in reading.status.items() if name in counters.COUNTERS}


def _part(before: Reading | None, after: Reading, interval: Interval | None) -> ServerPart:
    status = after.status
    gauges = ServerPart(
        uptime_seconds=status[counters.UPTIME],
        threads_running=status[counters.THREADS_RUNNING],
        threads_connected=status[counters.THREADS_CONNECTED],
        max_connections=after.max_connections,
        open_tables=status[counters.OPEN_TABLES],
        table_open_cache=after.table_open_cache,
        questions_total=status[counters.QUESTIONS],
        slow_queries_total=status[counters.SLOW_QUERIES],
        counters=_cumulative(after),
        gauges={name: value for name, value in status.items() if name in counters.GAUGES},
        untold=after.untold,
    )
    if before is None or interval is None:
        return gauges
    return _with_rates(gauges, interval, growth(before.transactions, after.transactions))


def _with_rates(part: ServerPart, interval: Interval, transactions: float | None) -> ServerPart:
    def delta(figure: str) -> int | None:
        return interval.delta(counters.counter_of(figure, part.counters))

    def per_second(figure: str) -> float | None:
        return ratio(delta(figure), interval.seconds)

    return msgspec.structs.replace(
        part,
        questions_per_second=per_second("questions"),
        slow_queries=delta("slow_queries"),
        commits_per_second=per_second("commits"),
        log_fsyncs_per_second=per_second("log_fsyncs"),
        log_fsyncs_per_transaction=ratio(delta("log_fsyncs"), transactions),
        buffer_pool_hit=hit_percent(delta("buffer_pool_misses"), delta("buffer_pool_requests")),
        row_lock_waits_per_second=per_second("row_lock_waits"),
    )
