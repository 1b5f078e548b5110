"""Conversion of two readings of the server's status to a sample.

Without I/O: readings in, an observation out.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tuibench.clock import NS_PER_SECOND
from tuibench.metrics.series.rates import CounterInterval, counter_interval, growth
from tuibench.model.counters import (
    CUMULATIVE_NAMES,
    SAMPLED_NAMES,
    Counter,
)
from tuibench.model.tick import Tick
from tuibench.observe.server.statement_times import StatementTimes, times_between
from tuibench.observe.server.traffic import OwnStatements, traffic_in

INNODB = "Innodb_"
"""Prefix of InnoDB's counters."""

RESTART_SLACK_SECONDS = 2.0
"""Tolerated lag of Uptime behind our clock: it has whole seconds, and the server's clock may be corrected."""


class StatusReading(msgspec.Struct, frozen=True, kw_only=True):
    """Result of SHOW GLOBAL STATUS at `at_ns` of the monotonic clock.

    `connection` is the number of the connection used, `identity` names the server instance.
    `own_statements` and `transactions` are our own totals at that moment. For a session without load `own`
    is all that the session has sent, and `times` are the server's statement times; None with a load.
    """

    at_ns: int
    connection: int
    identity: str
    status: dict[str, int]
    max_connections: int
    table_open_cache: int
    own_statements: int
    transactions: int | None
    unavailable: dict[str, str] = {}
    own: OwnStatements = OwnStatements()
    times: StatementTimes | None = None


class ServerObservation(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of the server, and events detected with it.

    `tick` is the server's part of a tick, None for a gap; then `last_error` is the reason. `counters` are the
    cumulative counters, `uptime_seconds` is None if the server does not report it. `restarted` and
    `counters_reset` are True once, in the first sample after it. `own_statements` is the sampler's total that
    the counters include, for the reconciliation. `traffic` is that of the server's clients since the previous
    sample, None if a load is measured instead, if there are no rates, and if the server does not count its
    statements.
    """

    tick: Tick | None
    counters: dict[str, int] = {}
    uptime_seconds: int | None = None
    last_error: str = ""
    restarted: bool = False
    counters_reset: bool = False
    own_statements: int = 0
    traffic: Tick | None = None


def observation_between(before: StatusReading | None, after: StatusReading) -> ServerObservation:
    """The sample of `after`, with the growth of the counters since `before`."""
    restarted = before is not None and has_restarted(before, after)
    interval = None if before is None or restarted else _interval(before, after)
    reset = before is not None and interval is not None and was_reset(before, after, interval)
    interval = None if reset else interval
    traffic = _traffic(before, after, interval)
    return ServerObservation(
        tick=_server_tick(before, after, interval, traffic),
        counters=_cumulative(after),
        uptime_seconds=after.status.get(Counter.UPTIME),
        restarted=restarted,
        counters_reset=reset,
        own_statements=after.own_statements,
        traffic=traffic,
    )


def _traffic(
    before: StatusReading | None, after: StatusReading, interval: CounterInterval | None
) -> Tick | None:
    if before is None or interval is None or after.times is None or Counter.QUESTIONS not in interval.deltas:
        return None
    own = OwnStatements(*(now - then for now, then in zip(after.own, before.own, strict=True)))
    return traffic_in(interval, own, times_between(before.times, after.times))


def has_restarted(before: StatusReading, after: StatusReading) -> bool:
    """True after a restart, or if it is another server.

    One sign alone is not proof: the server's clock may be set back, a connection may be killed, counters may
    be reset; and a proxy keeps our connection over a restart. Two signs are. An uptime shorter than the slack
    may show only one, and be taken for a reset of the counters. A server of another make may not report its
    uptime: then both other signs are needed.
    """
    if before.identity != after.identity:
        return True
    elapsed = (after.at_ns - before.at_ns) / NS_PER_SECOND
    aged = _grown(Counter.UPTIME, before, after)
    signs = (
        aged is not None and aged < elapsed - RESTART_SLACK_SECONDS,
        _has_fewer_counted(before, after),
        after.connection != before.connection,
    )
    return sum(signs) >= 2


def _has_fewer_counted(before: StatusReading, after: StatusReading) -> bool:
    """True if the number of statements decreased; on a server that does not count them, any counter."""
    grown = _grown(Counter.QUESTIONS, before, after)
    return grown < 0 if grown is not None else _interval(before, after).reset


def _grown(counter: Counter, before: StatusReading, after: StatusReading) -> int | None:
    """The difference between the readings; None if the server does not report the counter."""
    then, now = before.status.get(counter), after.status.get(counter)
    return now - then if then is not None and now is not None else None


def was_reset(before: StatusReading, after: StatusReading, interval: CounterInterval) -> bool:
    """True after FLUSH STATUS: the time since the flush is shorter than the uptime, or a counter
    decreased.
    """
    return interval.reset or _flushed_at(after) > _flushed_at(before)


def _flushed_at(reading: StatusReading) -> int:
    """The time of the last reset of the counters, in seconds of uptime. Both values are of one moment."""
    uptime = reading.status.get(Counter.UPTIME, 0)
    return uptime - reading.status.get(Counter.FLUSH_AGE, uptime)


def _interval(before: StatusReading, after: StatusReading) -> CounterInterval:
    return counter_interval(
        _cumulative(before), _cumulative(after), (after.at_ns - before.at_ns) / NS_PER_SECOND
    )


def _cumulative(reading: StatusReading) -> dict[str, int]:
    return {name: value for name, value in reading.status.items() if name in CUMULATIVE_NAMES}


def kept_status(rows: Iterable[Sequence[str]]) -> dict[str, int]:
    """The rows of SHOW GLOBAL STATUS that samples are made of, as numbers.

    Counters of InnoDB are left out where its page size is 0: some servers of another make list them without
    having an InnoDB.
    """
    status = {name: int(value) for name, value in rows if name in SAMPLED_NAMES and value.isdigit()}
    if status.get(Counter.PAGE_SIZE) != 0:
        return status
    return {name: value for name, value in status.items() if not name.startswith(INNODB)}


def _server_tick(
    before: StatusReading | None,
    after: StatusReading,
    interval: CounterInterval | None,
    traffic: Tick | None,
) -> Tick:
    """Without an interval there are values, and no growth."""
    status = after.status
    levels: dict[str, float] = {
        "max_connections": after.max_connections,
        "table_open_cache": after.table_open_cache,
        **status,
    }
    if before is None or interval is None:
        return Tick(levels=levels, missing=after.unavailable)
    done = traffic.sums["completed"] if traffic else growth(before.transactions, after.transactions)
    completed = {} if done is None else {"server.completed": done}
    return Tick(
        sums={**interval.deltas, "server.seconds": interval.seconds, **completed},
        levels=levels,
        missing=after.unavailable,
    )
