"""Samples of the server: its status, variables that change, and the connection that reads them.

One SHOW GLOBAL STATUS per tick, over a separate connection. All other queries of a tick are sent before it,
so that the status has counted every statement of tuibench.

A job of the connection has a timeout shorter than a tick. A job that exceeds it stays in flight and is
collected by a later call, so a slow response costs a gap and not the connection: with max_connections
exhausted, a new login might fail.

MariaDB's status has the history list's length, deadlocks, and group commits and bytes of the binary log.
MySQL has the first two in information_schema.innodb_metrics only; reading that table takes about as long as
the whole status, so it is read every few ticks. For the binary log, MySQL's performance schema counts the
operations on its files; those that are neither reads nor writes are syncs, plus a few for each new file.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from tuibench.base import numerals, sanitize
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import MOMENTARY_ERRORS, ConnectionLostError, RunError, SQLError, TuibenchError
from tuibench.base.numerals import Readable
from tuibench.metrics.series import CounterInterval, counter_interval, growth
from tuibench.model.counters import (
    CUMULATIVE_NAMES,
    SAMPLED_NAMES,
    Counter,
)
from tuibench.model.server import ServerInfo, Target
from tuibench.model.settings import ServerVariable
from tuibench.model.tick import Tick
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.errors import MALFORMED, is_unsupported
from tuibench.mysql.info import (
    Manner,
    Queries,
    connect_with_defaults,
    query_if_allowed,
    server_info,
)
from tuibench.observe.statement_times import (
    OwnStatements,
    QueryTimer,
    StatementTimes,
    StatementTimesReader,
    timed,
    times_between,
    traffic_in,
)

INNODB = "Innodb_"
"""Prefix of InnoDB's counters."""

RESTART_SLACK_SECONDS = 2.0
"""Tolerated difference between Uptime and the monotonic clock: Uptime has whole seconds, and the server's
clock may be corrected.
"""


class StatusReading(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one SHOW GLOBAL STATUS."""

    at_ns: int
    """The time of the monotonic clock."""
    connection: int
    """The number of the connection used."""
    identity: str
    """Names the server that answered."""
    status: dict[str, int]
    max_connections: int
    """0 if the server does not report the limit."""
    table_open_cache: int
    """0 if the server does not report the limit."""
    transactions: int | None
    """The load's transactions up to then."""
    unavailable: dict[str, str] = {}
    """Why a figure is missing, by name."""
    own: OwnStatements = OwnStatements()
    """The session's statements up to then, apart from its load."""
    times: StatementTimes | None = None
    """The server's statement times, for a session without load; None with one."""


class ServerObservation(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of the server, and events detected with it."""

    tick: Tick | None
    """The server's part of a tick; None for a gap."""
    counters: dict[str, int] = {}
    """The cumulative counters."""
    uptime_seconds: int | None = None
    """None if the server does not report it."""
    last_error: str = ""
    """The reason for a gap."""
    restarted: bool = False
    """True in the first sample after a restart, or if another server answers."""
    replaced_by: str = ""
    """The identity of the other server."""
    counters_reset: bool = False
    """True in the first sample after a reset of the counters."""
    own_statements: int = 0
    """The session's statements that the counters include, for the reconciliation."""
    traffic: Tick | None = None
    """The traffic of the server's clients since the previous sample; None if a load is measured instead,
    without rates, or if the server does not count its statements.
    """


def observation_between(before: StatusReading | None, after: StatusReading) -> ServerObservation:
    """The sample of `after`, with the growth of the counters since `before`."""
    restarted = before is not None and has_restarted(before, after)
    interval = None
    if before is not None and not restarted and not _is_ahead(before, after):
        interval = _interval(before, after)
    # After FLUSH STATUS, the time since the flush is shorter than the uptime, or a counter decreased.
    reset = (
        before is not None
        and interval is not None
        and (interval.reset or _flushed_at(after) > _flushed_at(before))
    )
    interval = None if reset else interval
    if before is None or interval is None or after.times is None or Counter.QUESTIONS not in interval.deltas:
        traffic = None
    else:
        own = OwnStatements(*(now - then for now, then in zip(after.own, before.own, strict=True)))
        traffic = traffic_in(interval, own, times_between(before.times, after.times))
    return ServerObservation(
        tick=_server_tick(before, after, interval, traffic),
        counters=_cumulative(after),
        uptime_seconds=after.status.get(Counter.UPTIME),
        restarted=restarted,
        replaced_by=after.identity if before is not None and before.identity != after.identity else "",
        counters_reset=reset,
        own_statements=after.own.statements,
        traffic=traffic,
    )


def has_restarted(before: StatusReading, after: StatusReading) -> bool:
    """True after a restart, or if another server answers.

    A single sign is not proof: the server's clock may be set back, a connection may be killed, counters may
    be reset, and a proxy keeps the connection over a restart. Two signs are. If the uptime was shorter than
    the slack, there may be only one sign, which is taken for a reset of the counters. A server of another
    make may not report its uptime: then both other signs are needed.
    """
    if before.identity != after.identity:
        return True
    elapsed = (after.at_ns - before.at_ns) / NS_PER_SECOND
    aged = _grown(Counter.UPTIME, before, after)
    # The number of statements; on a server that does not count them, any counter.
    grown = _grown(Counter.QUESTIONS, before, after)
    signs = (
        aged is not None and aged < elapsed - RESTART_SLACK_SECONDS,
        grown < 0 if grown is not None else _interval(before, after).reset,
        after.connection != before.connection,
    )
    return sum(signs) >= 2


def _is_ahead(before: StatusReading, after: StatusReading) -> bool:
    """True if the uptime grew by more than the time between the readings: the counters may be those of an
    older server.

    The server's clock may have been set forward, so this is a gap and no restart.
    """
    aged = _grown(Counter.UPTIME, before, after)
    elapsed = (after.at_ns - before.at_ns) / NS_PER_SECOND
    return aged is not None and aged > elapsed + RESTART_SLACK_SECONDS


def _grown(counter: Counter, before: StatusReading, after: StatusReading) -> int | None:
    """The difference between the readings; None if the server does not report the counter."""
    then, now = before.status.get(counter), after.status.get(counter)
    return now - then if then is not None and now is not None else None


def _flushed_at(reading: StatusReading) -> int:
    """The time of the last reset of the counters, in seconds of uptime. Both values are read at the same
    moment.
    """
    uptime = reading.status.get(Counter.UPTIME, 0)
    return uptime - reading.status.get(Counter.FLUSH_AGE, uptime)


def _interval(before: StatusReading, after: StatusReading) -> CounterInterval:
    return counter_interval(
        _cumulative(before), _cumulative(after), (after.at_ns - before.at_ns) / NS_PER_SECOND
    )


def _cumulative(reading: StatusReading) -> dict[str, int]:
    return {name: value for name, value in reading.status.items() if name in CUMULATIVE_NAMES}


def kept_status(rows: Iterable[Sequence[object]]) -> Readable:
    """The rows of SHOW GLOBAL STATUS that samples use, as numbers.

    Counters of InnoDB are left out if its page size is 0: some servers of another make list them without
    having InnoDB.
    """
    status = numerals.readable((str(name), value) for name, value in rows if name in SAMPLED_NAMES)
    if status.found.get(Counter.PAGE_SIZE) != 0:
        return status
    found = {name: value for name, value in status.found.items() if not name.startswith(INNODB)}
    return status._replace(found=found)


def _server_tick(
    before: StatusReading | None,
    after: StatusReading,
    interval: CounterInterval | None,
    traffic: Tick | None,
) -> Tick:
    """The server's part of a tick. Without an interval it has values, and no growth."""
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


T = TypeVar("T")
Job = Callable[[Connection], Awaitable[T]]
Connect = Callable[[Target], Awaitable[Connection]]

CONNECT_TIMEOUT_SECONDS = 5.0


async def log_in(target: Target) -> Connection:
    seconds = min(target.connect_timeout, CONNECT_TIMEOUT_SECONDS)
    return await connect_with_defaults(
        target, use_database=False, timeout_seconds=seconds, manner=Manner.IS_TIMED
    )


class MonitoringConnection:
    """A connection that reconnects by itself, one of `own`."""

    def __init__(
        self,
        target: Target,
        clock: Clock,
        *,
        timeout_seconds: float,
        give_up_seconds: float,
        log_in: Connect = log_in,
        own: OwnConnections | None = None,
    ) -> None:
        self._target = target
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._give_up_ns = int(give_up_seconds * NS_PER_SECOND)
        self._log_in = log_in
        self._own = own or OwnConnections()
        self._connection: Connection | None = None
        self._job: Job[Any] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._since_ns = 0
        self.logins = 0
        """The connections made so far."""
        self.last_error = ""
        """The reason why the last job failed; empty after a success."""

    async def run(self, job: Job[T]) -> T | None:
        """The job's result; None if it failed or timed out (see `last_error`).

        A job still in flight from an earlier call is waited for first; its result is returned
        if it is the same job.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_seconds
        while True:
            # The task in flight and its job; without one, the given job is started.
            if self._task is None or self._job is None:
                self._task = asyncio.create_task(self._perform(job))
                self._job, self._since_ns = job, self._clock.now_ns()
            task, running = self._task, self._job
            await asyncio.wait({task}, timeout=max(0.0, deadline - loop.time()))
            if not task.done():
                waited_ns = self._clock.now_ns() - self._since_ns
                self.last_error = f"no answer for {waited_ns / NS_PER_SECOND:.1f} s"
                if waited_ns >= self._give_up_ns:
                    self._cancel()
                    self._drop()
                return None
            self._task = None
            result: T | None = task.result()
            if running == job:
                return result

    async def close(self) -> None:
        """Quit, and discard the job in flight."""
        if self._task:
            self._cancel()
            self._drop()
        if self._connection:
            connection, self._connection = self._connection, None
            try:
                await connection.close()
            finally:
                self._own.discard(connection)

    async def _perform(self, job: Job[T]) -> T | None:
        try:
            if self._connection is None:
                self._connection = await self._log_in(self._target)
                self._own.add(self._connection)
                self.logins += 1
            result = await job(self._connection)
        except ConnectionLostError as error:
            self._drop()
            self.last_error = error.message
        except TuibenchError as error:
            self.last_error = error.message
        except MALFORMED as error:
            # A server may have sent rows of another width, or texts of another type.
            self.last_error = (
                f"an answer cannot be read: {sanitize.excerpt(str(error)) or type(error).__name__}"
            )
        else:
            self.last_error = ""
            return result
        return None

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None

    def _drop(self) -> None:
        """Discard a connection that is no longer usable."""
        if self._connection:
            self._connection.abort()
            self._own.discard(self._connection)
            self._connection = None


INNODB_METRICS = {
    "trx_rseg_history_len": str(Counter.METRICS_HISTORY_LIST_LENGTH),
    "lock_deadlocks": str(Counter.METRICS_DEADLOCKS),
}
INNODB_METRICS_SQL = (
    f"SELECT name, count FROM information_schema.innodb_metrics "  # noqa: S608 (names of our own)
    f"WHERE name IN {tuple(INNODB_METRICS)}"
)
INNODB_EVERY_TICKS = 5
"""Ticks between two queries; the last values are used meanwhile."""

NOTHING = Readable({}, {})
PROCESS_NEEDED = "needs the PROCESS privilege"
NOT_KNOWN = "not known here"


class InnodbMetrics:
    """Queries a MySQL server; not again after a missing privilege."""

    def __init__(self) -> None:
        self._is_refused = False
        self._known = NOTHING
        self._ticks = 0

    async def read(self, connection: Queries, variables: Mapping[str, str]) -> Readable:
        """Both figures, by tuibench's own names, or why they are missing."""
        if "mariadb" in variables.get("version", "").lower():
            return NOTHING
        if not self._is_refused and self._ticks % INNODB_EVERY_TICKS == 0:
            await self._ask(connection)
        self._ticks += 1
        return self._known

    async def _ask(self, connection: Queries) -> None:
        try:
            rows = await connection.query(INNODB_METRICS_SQL)
        except MOMENTARY_ERRORS:
            raise
        except SQLError as error:
            why = NOT_KNOWN if is_unsupported(error) else PROCESS_NEEDED
            self._known, self._is_refused = Readable({}, dict.fromkeys(INNODB_METRICS.values(), why)), True
        else:
            self._known = innodb_figures(rows)


def innodb_figures(rows: Iterable[Sequence[object]]) -> Readable:
    """The rows of `INNODB_METRICS_SQL`, by tuibench's own names."""
    return numerals.readable(
        (INNODB_METRICS[str(name)], count) for name, count in rows if name in INNODB_METRICS
    )


BINLOG_SQL = (
    "SELECT COUNT_MISC, SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.file_summary_by_event_name "
    "WHERE EVENT_NAME = 'wait/io/file/sql/binlog'"
)
BINLOG_REQUIRES = {ServerVariable.PERFORMANCE_SCHEMA: "ON", ServerVariable.LOG_BIN: "ON"}

GROUP_SQL = (
    "SELECT COUNT_TRANSACTIONS_IN_QUEUE, COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE "
    "FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid"
)


class OptionalFigures:
    """Reads a row of figures if the server has them; not again after a missing privilege."""

    def __init__(self, sql: str, *names: Counter) -> None:
        self._sql = sql
        self._names = names
        self._is_refused = False

    async def read(self, connection: Queries) -> Readable:
        """The figures, by tuibench's own names; empty if unavailable."""
        if self._is_refused:
            return NOTHING
        rows = await query_if_allowed(connection, self._sql)
        self._is_refused = rows is None
        return numerals.readable(zip(map(str, self._names), rows[0], strict=True)) if rows else NOTHING


LIMITS = (ServerVariable.MAX_CONNECTIONS, ServerVariable.TABLE_OPEN_CACHE)
STATUS_SQL = "SHOW GLOBAL STATUS"
NO_STATUS = "SHOW GLOBAL STATUS has none of the counters of MySQL and MariaDB"

TIMEOUT_SHARE = 0.8
MAX_TIMEOUT_SECONDS = 2.0
"""Limits of a call's wait for the server: share of a tick, and seconds."""

GIVE_UP_SECONDS = 15.0
"""Seconds without a response after which the connection is replaced."""


IDENTITY_VARIABLES = ("hostname", "port", "server_id", "server_uuid")


class StatusSampler:
    """Reads status and variables. Its methods never raise for server errors, and never wait for long.

    `interval_seconds` is the tick. Nothing is sent before the first call. With a `timer` of the session's own
    statements, the traffic of the server's clients is measured, for a session without load. `own` are all
    connections of the session apart from its load, including this one.
    """

    def __init__(
        self,
        target: Target,
        clock: Clock,
        *,
        interval_seconds: float = 1.0,
        log_in: Connect = log_in,
        timer: QueryTimer | None = None,
        own: OwnConnections | None = None,
    ) -> None:
        self._clock = clock
        self._own = own or OwnConnections()
        self._timer = timer
        self._times = StatementTimesReader(timer) if timer is not None else None
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=min(TIMEOUT_SHARE * interval_seconds, MAX_TIMEOUT_SECONDS),
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=log_in,
            own=self._own,
        )
        self._variables: dict[str, str] = {}
        self._variables_of = 0
        self._binlog = OptionalFigures(
            BINLOG_SQL, Counter.PERFORMANCE_BINLOG_SYNCS, Counter.PERFORMANCE_BINLOG_BYTES
        )
        self._innodb = InnodbMetrics()
        self._group = OptionalFigures(GROUP_SQL, Counter.GROUP_QUEUE, Counter.GROUP_APPLIER_QUEUE)
        self._last: StatusReading | None = None

    @property
    def last_error(self) -> str:
        """Why the last call got no response; empty if it got one."""
        return self._connection.last_error

    async def sample(self, transactions_total: int | None = None) -> ServerObservation:
        """The current status, with rates since the last reading, however long ago.

        `transactions_total` is the number of transactions that the load has committed so far; without it
        there is no figure per transaction.
        """
        reading = await self._connection.run(self._read)
        if reading is None:
            return ServerObservation(
                tick=None, last_error=self.last_error, own_statements=self._own.statements
            )
        reading = msgspec.structs.replace(reading, transactions=transactions_total)
        before, self._last = self._last, reading
        return observation_between(before, reading)

    async def variables(self) -> dict[str, str] | None:
        """All global variables; None without a response."""
        return await self._connection.run(self._read_variables)

    async def info(self) -> ServerInfo | None:
        """The server's identity, to be read again after a restart; None without a response."""
        return await self._connection.run(server_info)

    async def close(self) -> None:
        await self._connection.close()

    async def _read(self, connection: Connection) -> StatusReading:
        if self._variables_of != self._connection.logins:
            await self._read_variables(connection)
        queries = timed(connection, self._timer)
        innodb = await self._innodb.read(queries, self._variables)
        binlog = (
            await self._binlog.read(queries)
            if BINLOG_REQUIRES.items() <= self._variables.items()
            else NOTHING
        )
        group = await self._group.read(queries) if self._variables.get(ServerVariable.GROUP_NAME) else NOTHING
        times = await self._times.read(queries, self._variables) if self._times is not None else None
        identity = await self._read_identity(queries)
        sent_ns = self._clock.now_ns()
        status = kept_status(await queries.query(STATUS_SQL))
        received_ns = self._clock.now_ns()
        if not status.found:
            raise RunError(NO_STATUS)
        limits = numerals.readable(
            (name, self._variables[name]) for name in LIMITS if name in self._variables
        )
        parts = (status, binlog, innodb, group, limits)
        return StatusReading(
            at_ns=(sent_ns + received_ns) // 2,
            connection=self._connection.logins,
            identity=identity,
            status=status.found | binlog.found | innodb.found | group.found,
            unavailable={name: why for part in parts for name, why in part.missing.items()},
            max_connections=limits.found.get(ServerVariable.MAX_CONNECTIONS, 0),
            table_open_cache=limits.found.get(ServerVariable.TABLE_OPEN_CACHE, 0),
            transactions=None,
            own=OwnStatements(self._own.statements, self._own.selects),
            times=times,
        )

    async def _read_variables(self, connection: Connection) -> dict[str, str]:
        """All global variables; empty for a server that does not support the statement."""
        try:
            rows = await timed(connection, self._timer).query("SHOW GLOBAL VARIABLES")
        except SQLError as error:
            if not is_unsupported(error):
                raise
            rows = ()
        variables = {str(name): "" if value is None else str(value) for name, value in rows}
        self._variables, self._variables_of = variables, self._connection.logins
        return dict(variables)

    async def _read_identity(self, connection: Queries) -> str:
        """The server that answers now: a proxy may send each statement to another one.

        Empty if the server reports none of `IDENTITY_VARIABLES`.
        """
        names = [name for name in IDENTITY_VARIABLES if name in self._variables]
        values: Sequence[object] = [self._variables[name] for name in names]
        if "server_id" in names:
            sql = f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in names)}"
            values = next(iter(await query_if_allowed(connection, sql) or ()), values)
        named = zip(names, values, strict=True)
        return ", ".join(f"{name} {sanitize.excerpt(str(value))}" for name, value in named)


VOLATILE_VARIABLES = (
    "error_count",
    "external_user",
    "gtid_*_pos",
    "gtid_*_state",
    "gtid_executed",
    "gtid_owned",
    "gtid_purged",
    "gtid_seq_no",
    "identity",
    "in_transaction",
    "innodb_thread_sleep_delay",
    "insert_id",
    "last_*",
    "proxy_user",
    "pseudo_thread_id",
    "rand_seed*",
    "timestamp",
    "warning_count",
    "wsrep_last_*",
)
"""Patterns of variables that report the server's activity, not its configuration."""

ALIASES = {
    "log_slow_min_examined_row_limit": "min_examined_row_limit",
    "log_slow_query": "slow_query_log",
    "log_slow_query_file": "slow_query_log_file",
    "log_slow_query_time": "long_query_time",
    "tmp_memory_table_size": "tmp_table_size",
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
}
"""Second names of variables on some servers: a change is reported once, by the first name."""


def variable_changes(
    before: Mapping[str, str], after: Mapping[str, str], ours: Mapping[str, str] | None = None
) -> tuple[tuple[str, str, str], ...]:
    """The settings that differ, by name, with their values before and after.

    A variable that was added or removed (a plugin) is ignored. `ours` are values that tuibench has set
    meanwhile, as the server reads them back: they are not reported.
    """
    known = ours or {}
    return tuple(
        (name, before[name], value)
        for name, value in sorted(after.items())
        if before.get(name, value) != value
        and known.get(name) != value
        and not is_volatile(name)
        and ALIASES.get(name) not in after
    )


def is_volatile(name: str) -> bool:
    """True for a variable that changes by itself."""
    return matches_any(name, VOLATILE_VARIABLES)


def matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    """True for a name that matches one of some shell patterns."""
    exact, beginnings, others = _kinds_of(patterns)
    return name in exact or name.startswith(beginnings) or any(fnmatchcase(name, each) for each in others)


class _Patterns(NamedTuple):
    """Shell patterns, by what finds their names fast: few need a regular expression, which takes long to
    compile.
    """

    exact: frozenset[str]
    beginnings: tuple[str, ...]
    others: tuple[str, ...]


@cache
def _kinds_of(patterns: tuple[str, ...]) -> _Patterns:
    inner = [each for each in patterns if "*" in each.removesuffix("*")]
    rest = [each for each in patterns if each not in inner]
    return _Patterns(
        frozenset(each for each in rest if not each.endswith("*")),
        tuple(each.removesuffix("*") for each in rest if each.endswith("*")),
        tuple(inner),
    )
