"""Lock waits and last deadlock: the lock wait query of each flavour, parsers of its result and of InnoDB's
status.

The server reports the start of a wait in its own time zone, which may differ from the session's.

The deadlock comes from the section LATEST DETECTED DEADLOCK of SHOW ENGINE INNODB STATUS, in the formats of
MariaDB and MySQL.
"""

import re
from collections.abc import Sequence, Set

from tuibench.model.measurements.activity import Deadlock, DeadlockParty, LockWait
from tuibench.model.server import Flavour
from tuibench.mysql.connection import Row
from tuibench.observe.activity.normalize_sql import normalize_sql

MOST_WAITS = 100
"""Limit of the query: a hot row results in as many pairs as the square of its waiters."""

STATEMENT_CHARACTERS = 1000

_PARTIES = """
  TIMESTAMPDIFF(SECOND, w.trx_wait_started, CONVERT_TZ(NOW(), @@time_zone, 'SYSTEM')),
  LEFT(w.trx_query, {characters}), LEFT(b.trx_query, {characters})
"""

WAITS_SQL = {
    Flavour.MARIADB: """
SELECT w.trx_mysql_thread_id, b.trx_mysql_thread_id, l.lock_table, {parties}
FROM information_schema.INNODB_LOCK_WAITS p
JOIN information_schema.INNODB_TRX w ON w.trx_id = p.requesting_trx_id
JOIN information_schema.INNODB_TRX b ON b.trx_id = p.blocking_trx_id
LEFT JOIN information_schema.INNODB_LOCKS l ON l.lock_id = p.requested_lock_id
LIMIT {most}
""",
    Flavour.MYSQL: """
SELECT w.trx_mysql_thread_id, b.trx_mysql_thread_id, CONCAT(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME), {parties}
FROM performance_schema.data_lock_waits p
JOIN information_schema.INNODB_TRX w ON w.trx_id = p.REQUESTING_ENGINE_TRANSACTION_ID
JOIN information_schema.INNODB_TRX b ON b.trx_id = p.BLOCKING_ENGINE_TRANSACTION_ID
LEFT JOIN performance_schema.data_locks l
  ON l.ENGINE_LOCK_ID = p.REQUESTING_ENGINE_LOCK_ID AND l.ENGINE = 'INNODB'
LIMIT {most}
""",
}


def waits_sql(flavour: Flavour) -> str:
    """The query for lock waits. It needs the PROCESS privilege, on MySQL SELECT on performance_schema."""
    parties = _PARTIES.format(characters=STATEMENT_CHARACTERS)
    return WAITS_SQL[flavour].format(parties=parties, most=MOST_WAITS)


def lock_waits(rows: Sequence[Row], own_ids: Set[int]) -> tuple[LockWait, ...]:
    """The waits without duplicates, the longest first."""
    pairs = {(int(row[0]), int(row[1])): _wait(row, own_ids) for row in rows}
    return tuple(sorted(pairs.values(), key=lambda wait: (-wait.seconds, wait.waiting, wait.blocking)))


def _wait(row: Row, own_ids: Set[int]) -> LockWait:
    waiting, blocking, table, seconds, waiting_statement, blocking_statement = row
    return LockWait(
        waiting=int(waiting),
        blocking=int(blocking),
        waiting_is_ours=int(waiting) in own_ids,
        blocking_is_ours=int(blocking) in own_ids,
        table=str(table or "").replace("`", ""),
        seconds=max(0, int(seconds or 0)),
        waiting_statement=normalize_sql(waiting_statement or ""),
        blocking_statement=normalize_sql(blocking_statement or ""),
    )


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
    parties = tuple(
        _party(text, rolled_back=victim is not None and victim[1] == number)
        for number, text in zip(parts[::2], parts[1::2], strict=True)
    )
    return Deadlock(at=at[0], parties=parties)


def _party(text: str, *, rolled_back: bool) -> DeadlockParty:
    found = _STATEMENT.search(text)
    tables = dict.fromkeys(name.replace("`", "") for name in _TABLE.findall(text))
    return DeadlockParty(
        connection=int(found[1]) if found else 0,
        statement=normalize_sql(found[2]) if found else "",
        tables=tuple(tables),
        rolled_back=rolled_back,
    )
