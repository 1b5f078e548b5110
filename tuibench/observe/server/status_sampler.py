"""Sampling of the server: one SHOW GLOBAL STATUS per tick, over a separate connection.

All other queries of a tick are sent before it, so that the status has counted every statement of ours.

InnoDB: MySQL has the history list's length and deadlocks in information_schema.innodb_metrics only. Reading
that table takes about as long as the whole status, so it is read every few ticks. MariaDB has both in its
status.

Binary log: MySQL's status has no counter of its syncs and bytes. The performance schema counts the operations
on the binary log's files; those that are neither reads nor writes are syncs, plus a few for each new file.
MariaDB has group commits and bytes in its status.
"""

from collections.abc import Mapping

import msgspec

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, RunError, SQLError
from tuibench.model.counters import Counter
from tuibench.model.server import ServerInfo
from tuibench.model.settings import ServerVariable
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import UNSUPPORTED_CODES
from tuibench.mysql.info import instance_identity, server_info
from tuibench.observe.server.monitoring_connection import Connect, MonitoringConnection, log_in
from tuibench.observe.server.statement_times import Queries, QueryTimer, StatementTimesReader
from tuibench.observe.server.status_reading import (
    ServerObservation,
    StatusReading,
    kept_status,
    observation_between,
)
from tuibench.observe.server.traffic import OwnStatements

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

PROCESS_NEEDED = "needs the PROCESS privilege"
NOT_KNOWN = "not known here"


class InnodbMetrics:
    """Queries a MySQL server; not again after a missing privilege, with the reason in `unavailable`."""

    def __init__(self) -> None:
        self.unavailable: dict[str, str] = {}
        self._known: dict[str, int] = {}
        self._ticks = 0

    async def read(self, connection: Queries, variables: Mapping[str, str]) -> dict[str, int]:
        """Both figures, under tuibench's own names; empty if unavailable."""
        if self.unavailable or "mariadb" in variables.get("version", "").lower():
            return {}
        if self._ticks % INNODB_EVERY_TICKS == 0:
            await self._ask(connection)
        self._ticks += 1
        return dict(self._known)

    async def _ask(self, connection: Queries) -> None:
        try:
            rows = await connection.query(INNODB_METRICS_SQL)
        except ConnectionLostError:
            raise
        except SQLError as error:
            why = NOT_KNOWN if error.code in UNSUPPORTED_CODES else PROCESS_NEEDED
            self._known, self.unavailable = {}, dict.fromkeys(INNODB_METRICS.values(), why)
        else:
            self._known = {INNODB_METRICS[name]: int(count) for name, count in rows}


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

    async def read(self, connection: Queries) -> dict[str, int]:
        """The figures, under tuibench's own names; empty if unavailable."""
        if self._is_refused:
            return {}
        try:
            rows = await connection.query(self._sql)
        except ConnectionLostError:
            raise
        except SQLError:
            self._is_refused = True
            return {}
        return dict(zip(map(str, self._names), map(int, rows[0]), strict=True)) if rows else {}


STATUS_SQL = "SHOW GLOBAL STATUS"
VARIABLES_SQL = "SHOW GLOBAL VARIABLES"
NO_STATUS = "SHOW GLOBAL STATUS has none of the counters of MySQL and MariaDB"

TIMEOUT_SHARE = 0.8
MAX_TIMEOUT_SECONDS = 2.0
"""Limits of a call's wait for the server: share of a tick, and seconds."""

GIVE_UP_SECONDS = 15.0
"""Seconds without a response after which the connection is replaced."""


class StatusSampler:
    """Reads status and variables. Its methods never raise for server errors, and never wait for long.

    `interval_seconds` is the tick. Nothing is sent before the first call. `with_traffic` also measures the
    server's own traffic, for a session without load.
    """

    def __init__(
        self,
        target: Target,
        clock: Clock,
        *,
        interval_seconds: float = 1.0,
        log_in: Connect = log_in,
        with_traffic: bool = False,
    ) -> None:
        self._clock = clock
        self._timer = QueryTimer()
        self._times = StatementTimesReader(self._timer) if with_traffic else None
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=min(TIMEOUT_SHARE * interval_seconds, MAX_TIMEOUT_SECONDS),
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=log_in,
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
    def own_statements(self) -> int:
        """The number of statements sent over all connections of this sampler."""
        return self._connection.statements

    @property
    def connection_ids(self) -> set[int]:
        """The server's id of the sampler's connection, if it has one."""
        return self._connection.connection_ids

    @property
    def last_error(self) -> str:
        """Why the last call got no response; empty if it got one."""
        return self._connection.last_error

    async def sample(
        self, transactions_total: int | None = None, other_statements: int = 0
    ) -> ServerObservation:
        """The current status, with rates since the last reading, however long ago.

        `transactions_total` is the number of transactions that the load has committed so far; without it
        there is no figure per transaction. `other_statements` are those that the session sent over other
        connections.
        """
        reading = await self._connection.run(self._read)
        if reading is None:
            return ServerObservation(
                tick=None, last_error=self.last_error, own_statements=self.own_statements
            )
        own = OwnStatements(reading.own_statements + other_statements, reading.own.selects)
        reading = msgspec.structs.replace(reading, transactions=transactions_total, own=own)
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
        timed = self._timer.on(connection)
        innodb = await self._innodb.read(timed, self._variables)
        binlog = await self._binlog.read(timed) if BINLOG_REQUIRES.items() <= self._variables.items() else {}
        group = await self._group.read(timed) if self._variables.get(ServerVariable.GROUP_NAME) else {}
        times = await self._times.read(timed, self._variables) if self._times is not None else None
        sent_ns = self._clock.now_ns()
        status = kept_status(await timed.query(STATUS_SQL))
        received_ns = self._clock.now_ns()
        if not status:
            raise RunError(NO_STATUS)
        return StatusReading(
            at_ns=(sent_ns + received_ns) // 2,
            connection=self._connection.logins,
            identity=instance_identity(self._variables),
            status=status | binlog | innodb | group,
            unavailable=dict(self._innodb.unavailable),
            max_connections=_whole_number(self._variables.get(ServerVariable.MAX_CONNECTIONS, "")),
            table_open_cache=_whole_number(self._variables.get(ServerVariable.TABLE_OPEN_CACHE, "")),
            own_statements=self.own_statements,
            transactions=None,
            own=OwnStatements(self.own_statements, self._timer.selects),
            times=times,
        )

    async def _read_variables(self, connection: Connection) -> dict[str, str]:
        """All of them; empty for a server that does not support the statement."""
        try:
            variables: dict[str, str] = dict(await self._timer.on(connection).query(VARIABLES_SQL))
        except SQLError as error:
            if error.code not in UNSUPPORTED_CODES:
                raise
            variables = {}
        self._variables, self._variables_of = variables, self._connection.logins
        return dict(variables)


def _whole_number(text: str) -> int:
    """The number of a variable; 0 if the server does not report it."""
    return int(text) if text.isdigit() else 0
