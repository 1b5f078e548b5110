"""Reads the slow query log of MySQL and MariaDB: statements by connection, grouped to transactions.

With `long_query_time=0` the log has all statements, including BEGIN and COMMIT, and the values of prepared
ones. A transaction is what a connection sent from BEGIN to COMMIT; every other statement is a transaction of
its own.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_CONNECTION = re.compile(r"\bId:\s*(\d+)|^# Thread_id:\s*(\d+)")
_TIMESTAMP = re.compile(r"SET timestamp=(\d+)(?:\.\d+)?;?\s*$", re.IGNORECASE)
_USE = re.compile(r"use\s+`?([^`;]+)`?;?\s*$", re.IGNORECASE)
_BEGIN = re.compile(r"(begin(\s+work)?|start\s+transaction\b.*)$", re.IGNORECASE | re.DOTALL)
_COMMIT = re.compile(r"commit(\s+work)?$", re.IGNORECASE)
_ROLLBACK = re.compile(r"rollback(\s+work)?$", re.IGNORECASE)
_SERVER_START = re.compile(r".*, Version: .* started with:|Tcp port: |Time\s+Id\s+Command")


class LoggedStatement(NamedTuple):
    """One statement of the log. `connection` is 0 and `at` is None if the log does not contain it."""

    connection: int
    at: int | None
    database: str
    sql: str


class LoggedTransaction(NamedTuple):
    """Statements of one connection; `explicit` if BEGIN and COMMIT enclosed them."""

    statements: tuple[str, ...]
    explicit: bool


def statements(lines: Iterable[str]) -> Iterator[LoggedStatement]:
    """The statements of a log, in its order; none if it is not a slow query log."""
    connection, at, database = 0, None, ""
    sql: list[str] = []
    has_begun = False
    for line in lines:
        line = line.rstrip("\n")
        if line.startswith(("# Time:", "# User@Host:")) or _SERVER_START.match(line):
            if sql:
                yield LoggedStatement(connection, at, database, _joined(sql))
                sql = []
            has_begun = line.startswith("#")
        if line.startswith("#") and not sql:
            found = _CONNECTION.search(line)
            connection = int(found[1] or found[2]) if found else connection
        elif has_begun and (found := _TIMESTAMP.match(line)) and not sql:
            at = int(found[1])
        elif has_begun and (found := _USE.match(line)) and not sql:
            database = found[1]
        elif has_begun:
            sql.append(line)
    if sql:
        yield LoggedStatement(connection, at, database, _joined(sql))


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip().rstrip(";").strip()


class TransactionGrouper:
    """Groups statements to transactions. Those that end in ROLLBACK are omitted; `rolled_back` counts
    them.
    """

    def __init__(self) -> None:
        self.rolled_back = 0
        self._open: dict[int, list[str]] = {}

    def add(self, statement: LoggedStatement) -> LoggedTransaction | None:
        """The transaction that this statement completes, if any."""
        connection, sql = statement.connection, statement.sql
        if _BEGIN.match(sql):
            self._open[connection] = []
            return None
        if _COMMIT.match(sql) or _ROLLBACK.match(sql):
            done = self._open.pop(connection, None)
            if _ROLLBACK.match(sql):
                self.rolled_back += done is not None
                return None
            return LoggedTransaction(tuple(done), explicit=True) if done else None
        if connection in self._open:
            self._open[connection].append(sql)
            return None
        return LoggedTransaction((sql,), explicit=False)
