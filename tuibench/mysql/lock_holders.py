"""The lock that a statement waits for, and the session that holds it.

MySQL lists metadata locks in performance_schema, and so does MariaDB where performance_schema is on.
Elsewhere the process list says what is waited for, and which other sessions use the same database.
"""

from collections.abc import Sequence

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.connection import Connection, Row

MOST_NAMED = 3
"""Maximum number of sessions that a message names."""

WAITING = "Waiting for "
"""How the state of a process begins that waits for a lock."""

IDLE = "Sleep"

PROCESSES_SQL = "SHOW PROCESSLIST"

HOLDERS_SQL = """
SELECT h.PROCESSLIST_ID, MAX(h.PROCESSLIST_USER), MAX(h.PROCESSLIST_HOST), MAX(h.PROCESSLIST_COMMAND),
  MAX(h.PROCESSLIST_TIME)
FROM performance_schema.metadata_locks wanted
JOIN performance_schema.threads w ON w.THREAD_ID = wanted.OWNER_THREAD_ID
JOIN performance_schema.metadata_locks held
  ON held.OBJECT_TYPE = wanted.OBJECT_TYPE AND held.OBJECT_SCHEMA <=> wanted.OBJECT_SCHEMA
  AND held.OBJECT_NAME <=> wanted.OBJECT_NAME AND held.LOCK_STATUS = 'GRANTED'
  AND held.OWNER_THREAD_ID <> wanted.OWNER_THREAD_ID
JOIN performance_schema.threads h ON h.THREAD_ID = held.OWNER_THREAD_ID
WHERE wanted.LOCK_STATUS = 'PENDING' AND w.PROCESSLIST_ID = {waiting}
GROUP BY h.PROCESSLIST_ID
ORDER BY MAX(held.LOCK_TYPE LIKE '%WRITE' OR held.LOCK_TYPE = 'EXCLUSIVE') DESC
LIMIT {most}
"""


async def lock_wait(connection: Connection, waiting: int) -> str:
    """The lock that the session `waiting` waits for and its holder, queried over another `connection`.

    Empty if it waits for no lock, or the server does not report it. Raises ConnectionLostError.
    """
    processes = await _rows(connection, PROCESSES_SQL)
    own = next((row for row in processes if int(row[0]) == waiting), None)
    if own is None or not str(own[6] or "").startswith(WAITING):
        return ""
    lock = str(own[6]).removeprefix(WAITING)
    holders = await _rows(connection, HOLDERS_SQL.format(waiting=waiting, most=MOST_NAMED))
    if holders:
        return f"it waits for a {lock}, which is held by {_sessions(holders)}"
    others = candidates(processes, own, {waiting, connection.thread_id})
    text = f"it waits for a {lock}; the server does not say which session holds it"
    return f"{text} (others in this database: {_sessions(others)})" if others else text


def candidates(processes: Sequence[Row], own: Row, ours: set[int]) -> list[Row]:
    """Sessions in the same database that do not wait themselves, the longest idle first."""
    found = [
        (row[0], row[1], row[2], row[4], row[5])
        for row in processes
        if int(row[0]) not in ours and row[3] == own[3] and not str(row[6] or "").startswith(WAITING)
    ]
    found.sort(key=lambda row: (row[3] != IDLE, -int(row[4] or 0)))
    return found[:MOST_NAMED]


def _sessions(rows: Sequence[Row]) -> str:
    return ", ".join(_session(*row) for row in rows)


def _session(number: int, user: object, host: object, command: object, seconds: object) -> str:
    state = "idle" if command == IDLE else f"in {command}"
    return f"session {number} ({user}@{host}, {state} for {int(str(seconds or 0))} s)"


async def _rows(connection: Connection, sql: str) -> Sequence[Row]:
    """The answer; none where the server refuses it to this login or does not know the table."""
    try:
        return await connection.query(sql)
    except ConnectionLostError:
        raise
    except SQLError:
        return ()
