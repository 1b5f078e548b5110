"""Sampling of server sessions over a connection that is open only while a viewer shows them."""

import asyncio
from collections.abc import Sequence, Set
from functools import partial

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, ServerUnavailableError, SQLError
from tuibench.model.measurements.activity import Activity, Deadlock
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, Row
from tuibench.observe.activity import locks, sessions
from tuibench.observe.activity.locks import last_deadlock
from tuibench.observe.server.monitoring_connection import Connect, MonitoringConnection, log_in

TIMEOUT_SECONDS = 2.0
GIVE_UP_SECONDS = 15.0
DEADLOCK_EVERY_SAMPLES = 10
"""Samples between two reads of the deadlock: InnoDB writes its whole status for this one section."""

NO_TABLE_CODES = frozenset({1109, 1146})


class ActivitySampler:
    """Samples sessions and kills queries, one operation at a time.

    Sampling never raises for server errors; data without a privilege is reported as a gap.
    """

    def __init__(self, target: Target, clock: Clock, flavour: Flavour, *, log_in: Connect = log_in) -> None:
        self._connection = MonitoringConnection(
            target, clock, timeout_seconds=TIMEOUT_SECONDS, give_up_seconds=GIVE_UP_SECONDS, log_in=log_in
        )
        self._flavour = flavour
        self._sources = list(sessions.SOURCES[flavour])
        self._lock = asyncio.Lock()
        self._looks = 0
        self._deadlock: Deadlock | None = None
        self._deadlock_gap = ""

    @property
    def statements(self) -> int:
        """The number of statements sent, for the reconciliation."""
        return self._connection.statements

    async def look(self, own_ids: Set[int]) -> Activity | None:
        """The server's current sessions; None without a response within the timeout."""
        async with self._lock:
            return await self._connection.run(partial(self._read, own_ids))

    async def kill(self, id: int) -> None:
        """Kill the current query of connection `id`. Raises SQLError for an error or a lost connection."""
        async with self._lock:
            refusal = await self._connection.run(partial(_kill, id))
            if refusal is None:
                raise ServerUnavailableError(f"the server does not answer: {self._connection.last_error}")
            if isinstance(refusal, SQLError):
                raise refusal

    async def close(self) -> None:
        """Log out; the next sample logs in again."""
        async with self._lock:
            self._looks = 0
            await self._connection.close()

    async def _read(self, own_ids: Set[int], connection: Connection) -> Activity:
        ids = own_ids | {connection.thread_id}
        listed, own = await self._listed(connection, ids)
        others = len(listed)
        if others == sessions.MOST_SESSIONS:
            others = int((await connection.query(sessions.count_sql(self._sources[0], ids)))[0][0])
        waits, waits_gap = await _query_or_reason(connection, locks.waits_sql(self._flavour), "lock waits")
        opened, opened_gap = await _query_or_reason(connection, sessions.OPEN_SQL, "open transactions")
        open_count = len(opened)
        if open_count == sessions.MOST_TRANSACTIONS:
            open_count = int((await connection.query(sessions.COUNT_SQL))[0][0])
        await self._look_for_deadlock(connection)
        return Activity(
            sessions=sessions.parse_server_sessions(listed),
            others=others,
            own=sessions.parse_own_sessions(own),
            waits=locks.lock_waits(waits, ids),
            deadlock=self._deadlock,
            gaps=tuple(gap for gap in (waits_gap, opened_gap, self._deadlock_gap) if gap),
            transactions=sessions.open_transactions(opened, ids),
            open_transactions=open_count,
        )

    async def _listed(self, connection: Connection, ids: Set[int]) -> tuple[Sequence[Row], Sequence[Row]]:
        """Other sessions and our own, from the cheapest source of this server.

        With performance_schema off, its list exists but is empty: it does not even contain this connection.
        """
        while True:
            source, is_last = self._sources[0], len(self._sources) == 1
            try:
                own = await connection.query(sessions.own_sql(source, ids))
                if own or is_last:
                    return await connection.query(sessions.others_sql(source, ids)), own
            except SQLError as error:
                if error.code not in NO_TABLE_CODES or is_last:
                    raise
            del self._sources[0]

    async def _look_for_deadlock(self, connection: Connection) -> None:
        self._looks += 1
        if self._looks % DEADLOCK_EVERY_SAMPLES == 1:
            rows, self._deadlock_gap = await _query_or_reason(
                connection, "SHOW ENGINE INNODB STATUS", "the last deadlock"
            )
            self._deadlock = last_deadlock(str(rows[0][2])) if rows else None


async def _kill(id: int, connection: Connection) -> SQLError | bool:
    try:
        await connection.query(f"KILL QUERY {id:d}")
    except ConnectionLostError:
        raise
    except SQLError as error:
        return error
    return True


async def _query_or_reason(connection: Connection, sql: str, what: str) -> tuple[Sequence[Row], str]:
    """The rows, or the reason why they cannot be read."""
    try:
        return await connection.query(sql), ""
    except ConnectionLostError:
        raise
    except SQLError as error:
        return (), f"{what}: {error.message}"
