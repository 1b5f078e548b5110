"""The server's session list: other sessions individually, our own by state, both limited in number.

Our own may be thousands: the server filters and aggregates them itself, by ranges of their ids.

Open InnoDB transactions: the query and the parser of its result, the oldest first.

The server reports their start in its own time zone, which may differ from the session's.
"""

from collections.abc import Iterable, Sequence, Set

from tuibench.model.measurements.activity import OpenTransaction, OwnSessions, ServerSession
from tuibench.model.server import Flavour
from tuibench.mysql.connection import Row
from tuibench.observe.activity.normalize_sql import normalize_sql

MOST_SESSIONS = 200
MOST_STATES = 20
STATEMENT_CHARACTERS = 1000
LONGEST_SECONDS = 10 * 365 * 86_400
"""A time above this is the server's -1 read as unsigned."""

SOURCES = {
    Flavour.MARIADB: ("information_schema.PROCESSLIST",),
    Flavour.MYSQL: ("performance_schema.processlist", "information_schema.PROCESSLIST"),
}
"""Where each flavour has the list, the cheaper source first."""

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
        source=source, ours=_among(own_ids), most=MOST_SESSIONS, characters=STATEMENT_CHARACTERS
    )


def count_sql(source: str, own_ids: Iterable[int]) -> str:
    return _COUNT.format(source=source, ours=_among(own_ids))


def own_sql(source: str, own_ids: Iterable[int]) -> str:
    return _OWN.format(source=source, ours=_among(own_ids), most=MOST_STATES)


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The numbers as contiguous ranges, both ends inclusive."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _among(ids: Iterable[int]) -> str:
    return " OR ".join(f"ID BETWEEN {low} AND {high}" for low, high in ranges(ids)) or "FALSE"


def parse_server_sessions(rows: Sequence[Row]) -> tuple[ServerSession, ...]:
    return tuple(
        ServerSession(
            id=int(id),
            user=str(user or ""),
            host=str(host or ""),
            database=str(database or ""),
            command=str(command or ""),
            state=str(state or ""),
            seconds=_seconds(seconds),
            statement=normalize_sql(statement or ""),
        )
        for id, user, host, database, command, state, seconds, statement in rows
    )


def parse_own_sessions(rows: Sequence[Row]) -> tuple[OwnSessions, ...]:
    return tuple(
        OwnSessions(
            command=str(command or ""), state=str(state or ""), count=int(count), seconds=_seconds(seconds)
        )
        for command, state, count, seconds in rows
    )


def _seconds(value: object) -> int:
    seconds = int(str(value or 0))
    return seconds if 0 <= seconds < LONGEST_SECONDS else 0


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
            connection=int(connection or 0),
            seconds=max(0, int(seconds or 0)),
            rows_locked=int(locked or 0),
            rows_changed=int(changed or 0),
            is_ours=int(connection or 0) in own_ids,
        )
        for connection, seconds, locked, changed in rows
    )
