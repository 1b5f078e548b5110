"""The server's sessions: the list, open transactions, the last deadlock, and with them the lock waits.

Other sessions are listed individually, tuibench's own by state. Both are limited in number: there may be
thousands of own ones, so the server filters and aggregates them, by ranges of their ids. The server reports
the start of a wait or a transaction in its own time zone, which may differ from the session's. The deadlock
comes from the section LATEST DETECTED DEADLOCK of SHOW ENGINE INNODB STATUS, in the formats of MariaDB and
MySQL.

The connection is open only while a viewer shows the sessions.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache, partial
from typing import Any

from tuibench.base import numerals
from tuibench.base.clock import Clock
from tuibench.base.errors import MOMENTARY_ERRORS, ServerUnavailableError, SQLError
from tuibench.model.server import (
    Activity,
    Deadlock,
    DeadlockParty,
    Flavour,
    OpenTransaction,
    OwnSessions,
    ServerSession,
    SessionDetail,
    Target,
)
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.info import KILL_PRIVILEGES, global_privileges
from tuibench.mysql.rows import Row
from tuibench.observe.lock_waits import STATEMENT_CHARACTERS, LockReader, seconds_of
from tuibench.observe.statements import MOST_FULL, normalize_sql
from tuibench.observe.status import Connect, MonitoringConnection, log_in

_SECTION = re.compile(
    r"^LATEST DETECTED DEADLOCK\n-+\n(.*?)(?=^-+\n[A-Z ]+\n-+$|\Z)", re.DOTALL | re.MULTILINE
)
_AT = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)
_PARTY = re.compile(r"^\*\*\* \((\d+)\) TRANSACTION:$", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:MariaDB|MySQL) thread id (\d+),.*\n((?:(?!^\*\*\* )[^\n]*\n)*)", re.MULTILINE)
_TABLE = re.compile(r"of table (\S+) trx id")
_VICTIM = re.compile(r"^\*\*\* WE ROLL BACK TRANSACTION \((\d+)\)", re.MULTILINE)


def last_deadlock(status: str) -> Deadlock | None:
    """The last deadlock in InnoDB's status; None without one, or if its format is unknown."""
    section = _SECTION.search(status)
    at = _AT.search(section[1]) if section else None
    if section is None or at is None:
        return None
    victim = _VICTIM.search(section[1])
    parts = _PARTY.split(section[1])[1:]
    parties = []
    for number, text in zip(parts[::2], parts[1::2], strict=True):
        found = _STATEMENT.search(text)
        tables = dict.fromkeys(name.replace("`", "") for name in _TABLE.findall(text))
        parties.append(
            DeadlockParty(
                connection=(numerals.count(found[1]) or 0) if found else 0,
                statement=normalize_sql(found[2]) if found else "",
                tables=tuple(tables),
                rolled_back=victim is not None and victim[1] == number,
            )
        )
    return Deadlock(at=at[0], parties=tuple(parties))


MOST_SESSIONS = 200
MOST_STATES = 20

SOURCES = {
    Flavour.MARIADB: ("information_schema.PROCESSLIST",),
    Flavour.MYSQL: ("performance_schema.processlist", "information_schema.PROCESSLIST"),
}
"""The tables with the list of sessions, by flavour, the cheaper source first."""

_OTHERS = """
SELECT ID, USER, HOST, DB, COMMAND, STATE, TIME, LEFT(INFO, {characters}) FROM {source}
WHERE COMMAND <> 'Daemon' AND NOT ({ours}) ORDER BY COMMAND = 'Sleep', TIME DESC, ID LIMIT {most}
"""
_COUNT = "SELECT COUNT(*) FROM {source} WHERE COMMAND <> 'Daemon' AND NOT ({ours})"
_OWN = """
SELECT COMMAND, STATE, COUNT(*), MAX(TIME) FROM {source} WHERE {ours}
GROUP BY COMMAND, STATE ORDER BY 3 DESC LIMIT {most}
"""


def others_sql(source: str, own_ids: Iterable[int]) -> str:
    return _OTHERS.format(
        source=source, ours=among(frozenset(own_ids)), most=MOST_SESSIONS, characters=STATEMENT_CHARACTERS
    )


def count_sql(source: str, own_ids: Iterable[int]) -> str:
    return _COUNT.format(source=source, ours=among(frozenset(own_ids)))


def own_sql(source: str, own_ids: Iterable[int]) -> str:
    return _OWN.format(source=source, ours=among(frozenset(own_ids)), most=MOST_STATES)


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The numbers as contiguous ranges, both ends inclusive."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


@lru_cache(maxsize=4)
def among(ids: frozenset[int], name: str = "ID") -> str:
    """The condition that a column has one of these numbers, as ranges."""
    return " OR ".join(f"{name} BETWEEN {low} AND {high}" for low, high in ranges(ids)) or "FALSE"


MOST_TRANSACTIONS = 200

COUNT_SQL = "SELECT COUNT(*) FROM information_schema.INNODB_TRX"
_OPEN = """
SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(NOW(), @@time_zone, 'SYSTEM')),
  trx_rows_locked, trx_rows_modified
FROM information_schema.INNODB_TRX ORDER BY trx_started LIMIT {most}
"""
OPEN_SQL = _OPEN.format(most=MOST_TRANSACTIONS)
"""The query needs the PROCESS privilege. Locked rows are InnoDB's estimate."""


def open_transactions(rows: Sequence[Row], own_ids: Set[int]) -> tuple[OpenTransaction, ...]:
    return tuple(
        OpenTransaction(
            connection=numerals.count(connection) or 0,
            seconds=seconds_of(seconds),
            rows_locked=numerals.count(locked) or 0,
            rows_changed=numerals.count(changed) or 0,
            is_ours=(numerals.count(connection) or 0) in own_ids,
        )
        for connection, seconds, locked, changed in rows
    )


_FULL = "SELECT LEFT(INFO, {most}), DB FROM information_schema.PROCESSLIST WHERE ID = {id:d}"
EXPLAIN_RUNNING = {
    Flavour.MARIADB: "SHOW EXPLAIN FOR {id:d}",
    Flavour.MYSQL: "EXPLAIN FORMAT=TRADITIONAL FOR CONNECTION {id:d}",
}
PLANNED_ANEW = (
    "the plan is that of the same statement now; the server does not tell the plan of its execution"
)

TIMEOUT_SECONDS, PLAN_SECONDS = 2.0, 1.0
GIVE_UP_SECONDS = 15.0
DEADLOCK_EVERY_SAMPLES = 10
"""Samples between two reads of the deadlock: InnoDB writes its whole status for this one section."""

NO_TABLE_CODES = frozenset({1109, 1146})


class ActivitySampler:
    """Samples sessions and kills queries, one operation at a time.

    Sampling never raises for server errors; data without a privilege is reported as a gap.
    """

    def __init__(
        self,
        target: Target,
        clock: Clock,
        flavour: Flavour,
        own: OwnConnections | None = None,
        *,
        log_in: Connect = log_in,
    ) -> None:
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=TIMEOUT_SECONDS,
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=log_in,
            own=own,
        )
        self._plans = MonitoringConnection(
            target,
            clock,
            timeout_seconds=PLAN_SECONDS,
            give_up_seconds=PLAN_SECONDS,
            log_in=log_in,
            own=own,
        )
        """A connection of its own: SHOW EXPLAIN waits until the statement that it explains responds."""
        self._flavour = flavour
        self._own = own or OwnConnections()
        self._locks = LockReader(flavour)
        self._seen: dict[int, str] = {}
        self._sources = list(SOURCES[flavour])
        self._lock = asyncio.Lock()
        self._looks = 0
        self._deadlock: Deadlock | None = None
        self._deadlock_gap = ""
        self._ends_only: str | None = None

    async def look(self, own_ids: Set[int], details: Set[int] = frozenset()) -> Activity | None:
        """The server's current sessions; None without a response within the timeout. The statements of the
        connections in `details` are read in full, with their plans.
        """
        async with self._lock:
            return await self._connection.run(partial(self._read, own_ids, details))

    async def kill(self, id: int, *, whole: bool = False) -> None:
        """Kill the current query of connection `id`, or the `whole` connection. Raises SQLError for an error
        or a lost connection.
        """
        async with self._lock:
            refusal = await self._connection.run(partial(_kill, id, whole))
            if refusal is None:
                raise ServerUnavailableError(f"the server does not answer: {self._connection.last_error}")
            if isinstance(refusal, SQLError):
                raise refusal

    async def close(self) -> None:
        """Log out; the next sample logs in again."""
        async with self._lock:
            self._looks = 0
            await self._connection.close()
            await self._plans.close()

    async def _read(self, own_ids: Set[int], wanted: Set[int], connection: Connection) -> Activity:
        ids = own_ids | {connection.thread_id}
        listed, own = await self._listed(connection, ids)
        others = len(listed)
        if others == MOST_SESSIONS:
            rows = await connection.query(count_sql(self._sources[0], ids))
            others = max(others, numerals.count(rows[0][0]) or 0)
        self._remember(listed)
        locks = await self._locks.read(connection.query, ids, self._own.ids | {connection.thread_id})
        opened, opened_gap = await _query_or_reason(connection, OPEN_SQL, "open transactions")
        open_count = len(opened)
        if open_count == MOST_TRANSACTIONS:
            rows = await connection.query(COUNT_SQL)
            open_count = max(open_count, numerals.count(rows[0][0]) or 0)
        if self._ends_only is None:
            self._ends_only = await _only_user(connection)
        self._looks += 1
        if self._looks % DEADLOCK_EVERY_SAMPLES == 1:
            rows, self._deadlock_gap = await _query_or_reason(
                connection, "SHOW ENGINE INNODB STATUS", "the last deadlock"
            )
            self._deadlock = last_deadlock(str(rows[0][2])) if rows else None
        return Activity(
            sessions=tuple(
                ServerSession(
                    id=number,
                    user=str(user or ""),
                    host=str(host or ""),
                    database=str(database or ""),
                    command=str(command or ""),
                    state=str(state or ""),
                    seconds=seconds_of(seconds),
                    statement=normalize_sql(str(statement or "")),
                )
                for id, user, host, database, command, state, seconds, statement in listed
                if (number := numerals.count(id)) is not None
            ),
            others=others,
            own=tuple(
                OwnSessions(
                    command=str(command or ""),
                    state=str(state or ""),
                    count=numerals.count(count) or 0,
                    seconds=seconds_of(seconds),
                )
                for command, state, count, seconds in own
            ),
            waits=locks.waits,
            blockers=locks.blockers,
            blocked=locks.blocked,
            deadlock=self._deadlock,
            gaps=tuple(gap for gap in (*locks.gaps, opened_gap, self._deadlock_gap) if gap),
            transactions=open_transactions(opened, ids),
            open_transactions=open_count,
            ends_only=self._ends_only,
            details=tuple([await self._detail(connection, id) for id in sorted(wanted)]),
        )

    async def _detail(self, connection: Connection, id: int) -> SessionDetail:
        """The statement of a session, and its plan: that of its execution, if the server tells it now, else a
        new one.
        """
        rows = await connection.query(_FULL.format(id=id, most=MOST_FULL))
        text, database = (str(rows[0][0] or ""), str(rows[0][1] or "")) if rows else ("", "")
        if not text:
            known = next((each.statement for each in self._locks.last_blockers if each.id == id), "")
            earlier = self._seen.get(id, "")
            idle = "it executes no statement now" if rows else "it has ended"
            plan, why = await self._plan_anew(earlier, database) if rows and earlier else ((), "")
            note = f"{idle}: {why or 'this is its last one'}" if plan or why else idle
            return SessionDetail(
                id=id, statement=normalize_sql(earlier or known, MOST_FULL), plan=plan, note=note
            )
        statement = normalize_sql(text, MOST_FULL)
        running = EXPLAIN_RUNNING[self._flavour].format(id=id)
        # MariaDB answers when the statement does, which may wait for a lock.
        is_waiting = self._flavour is Flavour.MARIADB and any(
            wait.waiting == id for wait in self._locks.last_waits
        )
        own_plan = None if is_waiting else await self._plans.run(partial(_explain, running))
        if own_plan:
            from tuibench.observe.plans import plan_rows

            return SessionDetail(id=id, statement=statement, plan=plan_rows(own_plan))
        plan, why = await self._plan_anew(text, database)
        note = why or (PLANNED_ANEW if plan else "")
        return SessionDetail(id=id, statement=statement, plan=plan, note=note)

    async def _plan_anew(self, statement: str, database: str) -> tuple[tuple[tuple[str, ...], ...], str]:
        """The rows of a new plan, and the note beside it."""
        found = await self._plans.run(partial(_plan, self._flavour, statement, database))
        return found or ((), f"no plan: {self._plans.last_error}")

    def _remember(self, listed: Sequence[Row]) -> None:
        """Remember the last statement of each listed session, which an idle one no longer shows."""
        present: dict[int, str] = {}
        for id, *_, statement in listed:
            if (number := numerals.count(id)) is not None:
                present[number] = str(statement or "") or self._seen.get(number, "")
        self._seen = self._locks.seen = present

    async def _listed(self, connection: Connection, ids: Set[int]) -> tuple[Sequence[Row], Sequence[Row]]:
        """Other sessions and tuibench's own, from the cheapest source of this server.

        With performance_schema off, its list exists but is empty: it does not even contain this connection.
        """
        while True:
            source, is_last = self._sources[0], len(self._sources) == 1
            try:
                own = await connection.query(own_sql(source, ids))
                if own or is_last:
                    return await connection.query(others_sql(source, ids)), own
            except SQLError as error:
                if error.code not in NO_TABLE_CODES or is_last:
                    raise
            del self._sources[0]


async def _only_user(connection: Connection) -> str:
    """The user whose sessions alone this login may end; empty if it may end all, or if that is not known."""
    try:
        grants = await connection.query("SHOW GRANTS")
        if KILL_PRIVILEGES & global_privileges(str(row[0]) for row in grants):
            return ""
        rows = await connection.query("SELECT SUBSTRING_INDEX(USER(), '@', 1)")
    except MOMENTARY_ERRORS:
        raise
    except SQLError:
        return ""
    return str(rows[0][0]) if rows else ""


async def _kill(id: int, whole: bool, connection: Connection) -> SQLError | bool:
    try:
        await connection.query(f"KILL {'CONNECTION' if whole else 'QUERY'} {id:d}")
    except MOMENTARY_ERRORS:
        raise
    except SQLError as error:
        return error
    return True


async def _plan(
    flavour: Flavour, sql: str, database: str, connection: Connection
) -> tuple[tuple[tuple[str, ...], ...], str]:
    from tuibench.observe.plans import explain  # only if somebody asks for a plan

    # A list of sessions has the beginning of a statement.
    cut = f"{sql}…" if len(sql) == STATEMENT_CHARACTERS else sql
    return await explain(connection, flavour, cut, database)


async def _explain(sql: str, connection: Connection) -> list[dict[str, Any]]:
    return await connection.query_named(sql)


async def _query_or_reason(connection: Connection, sql: str, what: str) -> tuple[Sequence[Row], str]:
    """The rows, or the reason why they cannot be read."""
    try:
        return await connection.query(sql), ""
    except MOMENTARY_ERRORS:
        raise
    except SQLError as error:
        return (), f"{what}: {error.message}"
