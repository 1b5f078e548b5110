"""A server that knows only the statements of the control connection, and loses connections on request."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from tests.examples import SERVER
from tuibench.base.clock import Clock
from tuibench.base.errors import ConnectionLostError, ServerUnavailableError, SQLError
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.tuning.journal import Journal, JournalHeader
from tuibench.tuning.server_lock import LOCK_NAME

IDENTITY = {"hostname": "box", "port": "3306", "datadir": "/data/"}
DURABLE = {
    "innodb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
    "innodb_flush_log_at_timeout": "1",
}
TARGET = Target(socket="/run/s.sock", user="u", password="secret")
INFO = msgspec.structs.replace(SERVER, pid_file="", uptime_seconds=1)


class FakeServer:
    """`settings` are its variables, `running` are statements of other connections.

    `on_set` is called with each SET GLOBAL and may raise or change the settings.
    """

    def __init__(self, **settings: str) -> None:
        self.settings = {**DURABLE, **settings}
        self.configured = dict(self.settings)
        self.identity = dict(IDENTITY)
        self.grants = ["GRANT ALL PRIVILEGES ON *.* TO `u`@`localhost`"]
        self.session = {"sql_log_bin": "ON", "tx_isolation": "REPEATABLE-READ"}
        self.status: dict[str, str] = {"Innodb_page_size": "16384"}
        self.read_only: set[str] = set()
        self.refuses_session: SQLError | None = None
        self.sent: list[str] = []
        self.running: list[str] = []
        self.away = False
        self.breaks = 0
        self.refuses_login: SQLError | None = None
        self.on_set: Callable[[str, str], None] | None = None
        self.started_at = 1_700_000_000
        self.has_locks = True
        self.locks: dict[str, int] = {}
        self.logins = 0

    async def connect(self) -> Connection:
        if self.refuses_login:
            raise self.refuses_login
        if self.away:
            raise ServerUnavailableError("cannot reach a server")
        return cast("Connection", FakeConnection(self))

    def restart(self) -> None:
        """Starts again as it is configured; its locks are gone."""
        self.settings |= self.configured
        self.started_at += 60
        self.locks.clear()

    def lock(self, sql: str, connection: int) -> Sequence[Row]:
        self.sent.append(sql)
        if self.away:
            raise ConnectionLostError(2013, "connection lost")
        if not self.has_locks:
            raise SQLError(1305, "FUNCTION GET_LOCK does not exist")
        holder = self.locks.get(LOCK_NAME, 0)
        if "IS_USED_LOCK" in sql:
            return [(holder or None, connection)]
        if "GET_LOCK" in sql:
            self.locks.setdefault(LOCK_NAME, connection)
            return [(int(self.locks[LOCK_NAME] == connection),)]
        if holder == connection:
            del self.locks[LOCK_NAME]
        return []

    def answer(self, sql: str) -> Sequence[Row]:
        self.sent.append(sql)
        if self.away or self.breaks:
            self.breaks = max(0, self.breaks - 1)
            raise ConnectionLostError(2013, "connection lost")
        if sql.startswith("SELECT UNIX_TIMESTAMP()"):
            return [(self.started_at,)] if self.started_at else []
        if sql == "SHOW PROCESSLIST":
            return [(each, "u", "box:1") for each in range(self.logins + 1)]
        if sql.startswith("SET SESSION"):
            return self._set_session(sql)
        if sql.startswith("SHOW SESSION VARIABLES"):
            return list(self.session.items())
        if sql.startswith("SHOW GLOBAL STATUS"):
            return list(self.status.items())
        if sql == "SHOW GRANTS":
            return [(line,) for line in self.grants]
        if sql == "SHOW FULL PROCESSLIST":
            return [(each, "u", "box", None, "Query", 0, "", sql) for each, sql in enumerate(self.running)]
        if "READ_ONLY" in sql:
            return [(name.upper(),) for name in self.read_only]
        if sql.startswith("SHOW GLOBAL VARIABLES"):
            known = self.settings | self.identity
            return [(name, known[name]) for name in re.findall(r"'(\w+)'", sql) if name in known]
        return self._set(sql)

    def _set_session(self, sql: str) -> Sequence[Row]:
        if self.refuses_session:
            raise self.refuses_session
        return []

    def _set(self, sql: str) -> Sequence[Row]:
        match = re.fullmatch(r"SET GLOBAL (\w+) = '?([^']+)'?", sql)
        if match is None:
            match = re.fullmatch(r"ALTER INSTANCE (EN|DIS)ABLE INNODB REDO_LOG", sql)
            assert match, sql
            name, value = "innodb_redo_log_enabled", "ON" if match[1] == "EN" else "OFF"
            self.status["Innodb_redo_log_enabled"] = value
            return []
        name, value = match.groups()
        self.settings[name] = value
        if self.on_set:
            self.on_set(name, value)
        return []


class FakeConnection:
    thread_id = 8

    def __init__(self, server: FakeServer) -> None:
        server.logins += 1
        self._server = server
        self._number = server.logins
        self.target = Target()
        self.statements = self.selects = 0

    async def query(self, sql: str) -> Sequence[Row]:
        self.statements += 1
        if "_LOCK('" in sql:
            return self._server.lock(sql, self._number)
        return self._server.answer(sql)

    def quote(self, value: Any) -> str:
        return f"'{value}'"

    async def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        """The end of the connection releases its lock."""
        if self._server.locks.get(LOCK_NAME) == self._number:
            del self._server.locks[LOCK_NAME]


class FakeClock(Clock):
    """Time passes only by sleeping; `at_sleep` is called then."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.at_sleep: Callable[[], None] = lambda: None

    def now_ns(self) -> int:
        return int(self.seconds * 1e9)

    def wall_seconds(self) -> float:
        return 1_700_000_000.0 + self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.at_sleep()


def header(session: str = "s1") -> JournalHeader:
    return JournalHeader(
        session=session,
        pid=1,
        started=1.0,
        target=TARGET.without_password(),
        identity=INFO.identity,
        flavour=Flavour.MARIADB,
    )


def journal_in(folder: Path, session: str = "s1") -> Journal:
    return Journal(folder / "journal" / f"{session}.jsonl", header(session))
