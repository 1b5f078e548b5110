"""Statement times measured by the server, and the traffic of its clients.

| server | source | gives |
|---|---|---|
| MySQL 8.0 or newer | events_statements_histogram_global | the distribution, in buckets 5 % wide |
| MariaDB with the plugin | QUERY_RESPONSE_TIME | the distribution, in buckets a factor of 10 wide |
| MariaDB with performance_schema | events_statements_summary_global_by_event_name | the average |

The best available source is read; its figures are cumulative. The server's configuration is not changed. A
source that refuses the login is not queried again; the reason is kept.

The traffic of all clients is counted together, between two readings of the status. The session's own
statements are subtracted: all of them from the queries, its SELECT statements from the reads.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from tuibench.base import numerals
from tuibench.base.errors import MOMENTARY_ERRORS, SQLError
from tuibench.base.numerals import MOST_TIMER
from tuibench.metrics.series import CounterInterval
from tuibench.model.counters import COMMITS, READS, ROLLBACKS, ROW_WRITES, Counter
from tuibench.model.settings import ServerVariable
from tuibench.model.tick import RESPONSE, Histogram, Tick, bucket_index
from tuibench.mysql.info import Queries
from tuibench.mysql.rows import Row

PS_PER_US, US_PER_SECOND = 1_000_000, 1_000_000
LONGEST_US = 10**10
"""The upper bound of each source's last bucket, which has none of its own."""

QUERY_RESPONSE_TIME_STATS = "query_response_time_stats"


class StatementTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Cumulative times at one moment."""

    count: int = 0
    total_us: float = 0.0
    buckets: dict[int, int] | None = None
    """Counts of statements by the upper bound of their bucket in µs; None without a distribution."""
    note: str = ""
    """The source, or the reason why there is none."""
    is_known: bool = True
    own_us: tuple[int, ...] = ()
    """The durations of the session's own statements since the last reading."""


class TimedInterval(NamedTuple):
    """The statements between two readings."""

    histogram: Histogram | None
    """None without buckets."""
    average_ms: float | None
    """None without times."""
    note: str


def times_between(before: StatementTimes | None, after: StatementTimes) -> TimedInterval:
    """The interval between two readings, without the session's own statements."""
    if before is None or not (before.is_known and after.is_known):
        return TimedInterval(None, None, after.note)
    count = after.count - before.count - len(after.own_us)
    total_us = after.total_us - before.total_us - sum(after.own_us)
    if after.buckets is None or before.buckets is None:
        average_ms = max(total_us, 0.0) / count / 1e3 if count > 0 else None
        return TimedInterval(None, average_ms, after.note)
    grown = {end: times - before.buckets.get(end, 0) for end, times in after.buckets.items()}
    if min(grown.values(), default=0) < 0:
        return TimedInterval(None, None, "the server's statement times were reset")
    histogram = _histogram(_without(grown, after.own_us), total_us)
    latency = histogram.latency()
    return TimedInterval(histogram, latency.avg if latency else None, after.note)


def _without(grown: dict[int, int], own_us: Iterable[int]) -> dict[int, int]:
    """The buckets without the session's own statements.

    The server measures a slightly shorter time than the client, so each is subtracted from the highest bucket
    that can hold it.
    """
    left = {end: times for end, times in grown.items() if times}
    for duration in sorted(own_us, reverse=True):
        ends = sorted(left)
        below = [end for end, lower in zip(ends, (0, *ends), strict=False) if lower < duration]
        if not below:
            continue
        left[below[-1]] -= 1
        if not left[below[-1]]:
            del left[below[-1]]
    return left


def _histogram(buckets: Mapping[int, int], total_us: float) -> Histogram:
    """The buckets as a histogram at their upper bounds. The sum is the server's own if it is consistent with
    the buckets.
    """
    if not buckets:
        return Histogram()
    counts: dict[int, int] = {}
    for end, times in buckets.items():
        counts[bucket_index(end)] = counts.get(bucket_index(end), 0) + times
    highest = sum(end * times for end, times in buckets.items())
    sum_us = total_us if 0 < total_us < highest else highest
    return Histogram(counts, sum(buckets.values()), round(sum_us), min(buckets), max(buckets))


class QueryTimer:
    """Measures the session's own statements, which a reader of the server's statement times subtracts."""

    def __init__(self) -> None:
        self._durations_us: list[int] = []

    async def measure(self, connection: Queries, sql: str) -> Sequence[Row]:
        """Send one statement and record its duration."""
        since_ns = time.perf_counter_ns()
        try:
            return await connection.query(sql)
        finally:
            self._durations_us.append((time.perf_counter_ns() - since_ns) // 1000)

    def take(self) -> tuple[int, ...]:
        """The durations since the last call."""
        taken, self._durations_us = self._durations_us, []
        return tuple(taken)


class _TimedQueries(NamedTuple):
    """A connection with timed statements."""

    connection: Queries
    timer: QueryTimer

    async def query(self, sql: str) -> Sequence[Row]:
        return await self.timer.measure(self.connection, sql)


def timed(connection: Queries, timer: QueryTimer | None) -> Queries:
    """The connection, with its statements measured by `timer`, if there is one."""
    return connection if timer is None else _TimedQueries(connection, timer)


class TimesSource(Protocol):
    """A server table of statement times."""

    sql: str
    note: str

    def times(self, rows: Sequence[Row]) -> StatementTimes: ...


class HistogramSource:
    """MySQL's global statement histogram. It has no sum, so that of the buckets' midpoints is used."""

    sql = (
        "SELECT BUCKET_TIMER_LOW, BUCKET_TIMER_HIGH, COUNT_BUCKET "
        "FROM performance_schema.events_statements_histogram_global WHERE COUNT_BUCKET > 0"
    )
    note = "statements, by performance_schema"

    def times(self, rows: Sequence[Row]) -> StatementTimes:
        buckets: dict[int, int] = {}
        total_us = 0.0
        for low, high, count in rows:
            low_ps, high_ps = (numerals.amount(each, MOST_TIMER) for each in (low, high))
            times = numerals.count(count)
            if low_ps is None or high_ps is None or times is None:
                continue
            end = min(int(high_ps // PS_PER_US), LONGEST_US)
            buckets[end] = buckets.get(end, 0) + times
            total_us += times * (low_ps / PS_PER_US + end) / 2
        return StatementTimes(count=sum(buckets.values()), total_us=total_us, buckets=buckets, note=self.note)


class ResponseTimeSource:
    """The plugin QUERY_RESPONSE_TIME of MariaDB and Percona Server."""

    sql = "SELECT TIME, COUNT, TOTAL FROM information_schema.QUERY_RESPONSE_TIME"
    note = "statements, by QUERY_RESPONSE_TIME: upper ends of wide buckets"

    def times(self, rows: Sequence[Row]) -> StatementTimes:
        buckets: dict[int, int] = {}
        total_us = 0.0
        for end, count, total in rows:
            # The last bucket is TOO LONG.
            seconds, times = numerals.amount(end), numerals.count(count)
            last = LONGEST_US if seconds is None else min(round(seconds * US_PER_SECOND), LONGEST_US)
            buckets[last] = buckets.get(last, 0) + (times or 0)
            total_us += (numerals.amount(total) or 0.0) * US_PER_SECOND
        return StatementTimes(count=sum(buckets.values()), total_us=total_us, buckets=buckets, note=self.note)


class AverageSource:
    """MariaDB's performance_schema, which has sums but no histograms."""

    sql = (
        "SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) "
        "FROM performance_schema.events_statements_summary_global_by_event_name"
    )
    note = "MariaDB's performance_schema has averages only; the plugin QUERY_RESPONSE_TIME has percentiles"

    def times(self, rows: Sequence[Row]) -> StatementTimes:
        count, total_ps = rows[0]
        times, picoseconds = numerals.count(count or 0), numerals.amount(total_ps or 0, MOST_TIMER)
        if times is None or picoseconds is None:
            why = numerals.unreadable(count if times is None else total_ps)
            return StatementTimes(note=why, is_known=False)
        return StatementTimes(count=times, total_us=picoseconds / PS_PER_US, note=self.note)


def choose_source(variables: Mapping[str, str]) -> TimesSource | str:
    """The best source of a server with these variables, or the reason why there is none."""
    has_schema = variables.get(ServerVariable.PERFORMANCE_SCHEMA) == "ON"
    if variables.get(QUERY_RESPONSE_TIME_STATS) == "ON":
        return ResponseTimeSource()
    if "mariadb" not in variables.get("version", "").lower():
        return HistogramSource() if has_schema else "performance_schema is OFF"
    if has_schema:
        return AverageSource()
    if QUERY_RESPONSE_TIME_STATS in variables:
        return "query_response_time_stats is OFF, and so is performance_schema"
    return "performance_schema is OFF, and the plugin QUERY_RESPONSE_TIME is not loaded"


class StatementTimesReader:
    """Reads the times of one server over a timed connection; `timer` is that of the connection."""

    def __init__(self, timer: QueryTimer) -> None:
        self._timer = timer
        self._refusal = ""

    async def read(self, connection: Queries, variables: Mapping[str, str]) -> StatementTimes:
        """The current times; `note` describes what is unknown."""
        own_us = self._timer.take()
        source = self._refusal or choose_source(variables)
        if isinstance(source, str):
            return StatementTimes(note=source, is_known=False)
        try:
            rows = await connection.query(source.sql)
        except MOMENTARY_ERRORS:
            raise
        except SQLError as error:
            self._refusal = refusal_reason(error)
            return StatementTimes(note=self._refusal, is_known=False)
        return msgspec.structs.replace(source.times(rows), own_us=own_us)


NO_SUCH_TABLE, UNKNOWN_TABLE = 1146, 1109


def refusal_reason(error: SQLError) -> str:
    """Why a source cannot be read: it does not exist, or the login has no privilege."""
    if error.code in (NO_SUCH_TABLE, UNKNOWN_TABLE):
        return "this server has no statement histograms"
    return "statement times need SELECT on performance_schema"


class OwnStatements(NamedTuple):
    """Statements that the session had sent at a reading: all, and SELECT only."""

    statements: int = 0
    selects: int = 0


def traffic_in(interval: CounterInterval, own: OwnStatements, times: TimedInterval) -> Tick:
    """The clients' traffic of an interval; `own` are the statements of the session in it.

    A commit counts as a completed transaction. `statement_ms` is the time of the `timed` statements.
    """
    deltas = interval.deltas
    commits, queries = _sum(COMMITS, deltas), max(0, deltas.get(Counter.QUESTIONS, 0) - own.statements)
    reads, writes = max(0, _sum(READS, deltas) - own.selects), _sum(ROW_WRITES, deltas)
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
