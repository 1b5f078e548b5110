"""What a server is, and tuibench's own connections to it: session defaults, deadlines, locks.

Each of tuibench's own statements has a deadline, and long waits are reported:

    asked ──2 s──> notice: what is asked, which lock it waits for, which session holds it
          ──query timeout──> NoAnswerError, and the connection is dropped
          ──lock timeout, on the server──> LockedError

The server ends a wait for a lock by itself (`lock_wait_timeout`), somewhat before the deadline, so that no
statement of tuibench stays in its queue. Work that may take hours, such as creating an index, has no
deadline, but the same limit for locks. MySQL lists metadata locks in performance_schema, and so does MariaDB
if performance_schema is on. Otherwise the process list shows what a session waits for, and which other
sessions use the same database.

The load accepts the server's session variables, because it measures the server with its settings. The other
connections set their own defaults: statements that count rows, create tables and read settings must not
depend on a server that truncates results (sql_select_limit), ends long statements (max_statement_time),
closes idle connections (wait_timeout), or parses SQL differently (sql_mode=ORACLE).
"""

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from tuibench.base import numerals, sanitize
from tuibench.base.clock import NOTICE_SECONDS, wait_with_timeout, with_notice
from tuibench.base.errors import (
    MOMENTARY_ERRORS,
    ConnectionLostError,
    LockedError,
    NoAnswerError,
    ProtocolError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
)
from tuibench.model.server import Flavour, ServerInfo, ServerSession, Target
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.errors import EXPIRED_CODES, is_unsupported, password_expired_error
from tuibench.mysql.rows import Row

VARIABLES = ("version", "version_comment", "hostname", "port", "datadir", "pid_file", "socket")

_VARIABLES_SQL = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN {VARIABLES}"
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_REPLICATION_PREFIX = "5.5.5-"
"""MariaDB's greeting has this before the version, for clients that expect MySQL."""


async def server_info(connection: Connection) -> ServerInfo:
    """Reads the server's identity, with two statements. A variable that the server hides leaves its field
    empty.

    Raises ConnectionLostError if the connection is lost meanwhile, ServerUnavailableError if the server
    answers nothing.
    """
    variables = await _show(connection, _VARIABLES_SQL)
    uptime = await _show(connection, "SHOW GLOBAL STATUS LIKE 'Uptime'")
    if "version" not in variables:
        variables["version"] = connection.version_text
    target, seconds = connection.target, uptime.get("Uptime", "")
    is_local = await is_on_this_host(target)
    info = build_server_info(target, variables, numerals.count(seconds), is_local)
    return replace(info, is_encrypted=connection.is_encrypted, **connection.transport.transport_fields)


def build_server_info(
    target: Target, variables: Mapping[str, str], uptime_seconds: int | None, is_local: bool
) -> ServerInfo:
    """The identity from variables read before."""
    text = sanitize.excerpt(variables.get("version", "").removeprefix(_REPLICATION_PREFIX))
    number = _NUMBER.search(text)
    datadir = variables.get("datadir", "")
    return ServerInfo(
        flavour=detect_flavour(text, variables.get("version_comment", "")),
        version=number.group() if number else "0",
        version_text=text,
        where=target.where,
        identity=instance_identity(variables) or target.where,
        datadir=datadir,
        pid_file=_absolute(variables.get("pid_file", ""), datadir),
        socket=_absolute(variables.get("socket", ""), datadir),
        port=numerals.count(variables.get("port")) or target.port,
        is_local=is_local,
        uptime_seconds=uptime_seconds,
    )


def detect_flavour(version: str, comment: str = "") -> Flavour:
    """MariaDB if the server names it in its version or its comment; any other server has MySQL's dialect."""
    return Flavour.MARIADB if "mariadb" in f"{version} {comment}".lower() else Flavour.MYSQL


def instance_identity(variables: Mapping[str, str]) -> str:
    """A name of the instance that does not depend on the address and survives a restart; empty if unknown."""
    host, port, datadir = (variables.get(name, "") for name in ("hostname", "port", "datadir"))
    return f"{host}:{port}:{datadir}" if host or datadir else ""


async def is_on_this_host(target: Target) -> bool:
    """True if the server's address is one of this host's own, which is the case if it can be bound to."""
    if target.is_local:
        return True
    try:
        found = await asyncio.get_running_loop().getaddrinfo(target.host, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    return any(_can_bind(family, address) for family, _, _, _, address in found)


def _can_bind(family: int, address: tuple[object, ...]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True


def _absolute(path: str, datadir: str) -> str:
    """The absolute path of a file. A relative path is relative to the server's data directory. The server's
    host may have another operating system.
    """
    if not path or path.startswith("/") or not datadir:
        return path
    return f"{datadir.rstrip('/')}/{path.removeprefix('./')}"


async def _show(connection: Connection, sql: str) -> dict[str, str]:
    """Name and value of a SHOW statement; empty if the server refuses it.

    Raises ServerUnavailableError if the server refuses all statements because the password has expired.
    """
    try:
        return {str(name): str(value) for name, value in await connection.query(sql)}
    except MOMENTARY_ERRORS:
        raise
    except SQLError as error:
        if error.code in EXPIRED_CODES:
            raise password_expired_error(error, connection.target) from error
        return {}


async def server_value(connection: Connection, variable: str) -> str | None:
    """A variable's value for this connection; None from a server of another make that lacks it."""
    try:
        rows = await connection.query(f"SELECT @@{variable}")
    except SQLError as error:
        if not is_unsupported(error):
            raise
        return None
    return str(rows[0][0]) if rows else None


READ_ONLY_BYPASS_WARNING = "the server is read-only, but not for this login: it may be a replica"

_READ_ONLY_ADMIN_SINCE = (10, 11)
"""From this version of MariaDB on, SUPER does not include READ_ONLY ADMIN."""


async def is_read_only(connection: Connection) -> bool:
    """True if only logins with one of the `read_only_bypass_privileges` may write."""
    shown = await _show(connection, "SHOW GLOBAL VARIABLES LIKE 'read\\_only'")
    return any(value.upper() not in ("OFF", "0") for value in shown.values())


def read_only_bypass_privileges(server: ServerInfo) -> tuple[str, ...]:
    """Privileges, each of which allows a login to write on a server that is read-only (but not
    super_read_only).
    """
    if server.flavour == Flavour.MYSQL:
        return ("SUPER", "CONNECTION_ADMIN")
    old = server.version_tuple < _READ_ONLY_ADMIN_SINCE
    return ("READ_ONLY ADMIN", "SUPER") if old else ("READ_ONLY ADMIN",)


MOST_NAMED = 3
"""Maximum number of sessions that a message names."""

WAITING = "Waiting for "
"""The beginning of the state of a process that waits for a lock."""

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


PROCESS_COLUMNS = {
    "id": ("id", "conn_id"),
    "user": ("user",),
    "host": ("client_host", "host"),
    "database": ("db", "database"),
    "command": ("command",),
    "state": ("state",),
    "seconds": ("time",),
    "statement": ("info",),
}
"""The lower-case names of the columns of SHOW PROCESSLIST, by the field that is read from them.

Other makes have further columns in between (Doris, StarRocks), or other names (MatrixOne).
"""


class NamedQueries(Protocol):
    """A connection whose queries return rows by column name."""

    async def query_named(self, sql: str) -> list[dict[str, Any]]: ...


async def list_processes(connection: NamedQueries) -> list[ServerSession] | None:
    """The sessions that this login may see; None if the server refuses the statement."""
    try:
        rows = await connection.query_named(PROCESSES_SQL)
    except MOMENTARY_ERRORS:
        raise
    except SQLError:
        return None
    return processes_of(rows)


def processes_of(rows: Iterable[Mapping[str, object]]) -> list[ServerSession]:
    """The rows of SHOW PROCESSLIST, without those that have no number."""
    found = []
    for row in rows:
        columns = {name.lower(): value for name, value in row.items()}
        fields = {
            field: next((columns[name] for name in names if name in columns), None)
            for field, names in PROCESS_COLUMNS.items()
        }
        if (number := numerals.count(fields.pop("id"))) is not None:
            seconds = numerals.count(fields.pop("seconds")) or 0
            texts = {field: str(value or "") for field, value in fields.items()}
            found.append(ServerSession(id=number, seconds=seconds, **texts))
    return found


async def lock_wait(connection: Connection, waiting: int) -> str:
    """The lock that the session `waiting` waits for and its holder, queried over another `connection`.

    Empty if it waits for no lock, or the server does not report it. Raises ConnectionLostError.
    """
    processes = await list_processes(connection) or ()
    own = next((each for each in processes if each.id == waiting), None)
    if own is None or not own.state.startswith(WAITING):
        return ""
    lock = own.state.removeprefix(WAITING)
    holders = await query_if_allowed(connection, HOLDERS_SQL.format(waiting=waiting, most=MOST_NAMED))
    if holders:
        held = (
            ServerSession(
                id=numerals.count(id) or 0,
                user=str(user),
                host=str(host),
                database="",
                command=str(command),
                seconds=numerals.count(seconds) or 0,
                statement="",
            )
            for id, user, host, command, seconds in holders
        )
        return f"it waits for a {lock}, which is held by {_sessions(held)}"
    others = candidates(processes, own, {waiting, connection.thread_id})
    text = f"it waits for a {lock}; the server does not say which session holds it"
    return f"{text} (others in this database: {_sessions(others)})" if others else text


def candidates(processes: Iterable[ServerSession], own: ServerSession, ours: set[int]) -> list[ServerSession]:
    """Sessions in the same database that do not wait themselves, the longest idle first."""
    found = [
        each
        for each in processes
        if each.id not in ours and each.database == own.database and not each.state.startswith(WAITING)
    ]
    found.sort(key=lambda each: (each.command != IDLE, -each.seconds))
    return found[:MOST_NAMED]


def _sessions(sessions: Iterable[ServerSession]) -> str:
    return ", ".join(
        f"session {each.id} ({each.user}@{each.host}, "
        f"{'idle' if each.command == IDLE else f'in {each.command}'} for {each.seconds} s)"
        for each in sessions
    )


class Queries(Protocol):
    """A connection that executes queries."""

    async def query(self, sql: str) -> Sequence[Row]: ...


async def query_if_allowed(connection: Queries, sql: str) -> Sequence[Row] | None:
    """The rows; None if the server refuses the statement to this login, or does not know the table."""
    try:
        return await connection.query(sql)
    except MOMENTARY_ERRORS:
        raise
    except SQLError:
        return None


T = TypeVar("T")

LOOK_SECONDS = 2.0
"""Timeout of the second connection, which queries the holder of a lock."""

LOCK_SHARE = 2 / 3
"""The maximum time that a statement waits for a lock, as a share of the timeout."""

LOCK_WAIT_TIMEOUT = 1205
SQL_CHARACTERS = 60
"""Maximum length of a statement quoted in a message."""


class Questions:
    """The time limits of the statements of one connection."""

    def __init__(self, connection: Connection, seconds: float | None) -> None:
        """`seconds` limits each answer; None for work of any length."""
        self._target = connection.target
        self._thread_id = connection.thread_id
        self._seconds = seconds
        self._lock = ""

    async def answer(self, connection: Connection, sql: str, work: Awaitable[T]) -> T:
        """The result of the work. Raises NoAnswerError or LockedError if it waits for too long."""
        self._lock = ""
        watched = with_notice(work, partial(self._notice, sql))
        try:
            return await (watched if self._seconds is None else wait_with_timeout(watched, self._seconds))
        except TimeoutError as error:
            connection.abort()
            await self._find_lock(ends_query=True)
            text = f"{self._target.where} has not answered {shortened(sql)} for {self._seconds:g} s"
            lock = f"; {self._lock}" if self._lock else ""
            raise NoAnswerError(2013, text + lock, "increase --query-timeout to wait longer") from error
        except SQLError as error:
            if error.code == LOCK_WAIT_TIMEOUT:
                raise self._locked(sql, error) from error
            raise

    async def _notice(self, sql: str) -> str:
        """The notice of a long wait. Work without a deadline is reported only if it waits for a lock."""
        await self._find_lock()
        if self._seconds is None and not self._lock:
            return ""
        text = f"waiting for {self._target.where}: no answer to {shortened(sql)} for {NOTICE_SECONDS:g} s"
        return f"{text}; {self._lock}" if self._lock else text

    def _locked(self, sql: str, error: SQLError) -> LockedError:
        lock = self._lock or "it waits for a lock"
        return LockedError(
            error.code,
            f"{self._target.where} cannot execute {shortened(sql)}: {lock} (error {error.code}: "
            f"{error.message})",
            "end that session, or wait until it releases the lock; increase --query-timeout to wait longer",
        )

    async def _find_lock(self, *, ends_query: bool = False) -> None:
        """Determines which lock the statement waits for; keeps the earlier result if the server does not
        report it.
        """
        with contextlib.suppress(TuibenchError, TimeoutError):
            await wait_with_timeout(self._asked(ends_query), LOOK_SECONDS)

    async def _asked(self, ends_query: bool) -> None:
        other = await connect(self._target, use_database=False, timeout_seconds=LOOK_SECONDS)
        try:
            self._lock = await lock_wait(other, self._thread_id) or self._lock
            if ends_query:
                await other.execute(f"KILL {self._thread_id}")
        finally:
            other.abort()


def shortened(sql: str) -> str:
    """A statement as quoted in messages."""
    words = " ".join(sql.split())
    return f"'{words}'" if len(words) <= SQL_CHARACTERS else f"'{words[: SQL_CHARACTERS - 1]}…'"


SESSION_DEFAULTS = {
    "sql_mode": "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
    "sql_select_limit": str(2**63 - 1),  # some servers of other makes read the default 2**64 - 1 as -1
    "sql_big_selects": "1",
    "sql_safe_updates": "0",
    "wait_timeout": "28800",
}
"""The servers' built-in defaults, except for statements that tuibench never sends."""

TIME_LIMIT_VARIABLES = {Flavour.MARIADB: "max_statement_time", Flavour.MYSQL: "max_execution_time"}

INIT_CONNECT_FAILED = 1184


class Manner(Enum):
    """The purpose of a connection, which decides how long its statements may take."""

    ASKS = "asks"
    """Each answer may take up to the target's `query_timeout`."""
    WORKS = "works"
    """The work may take any time, but waits for locks are limited."""
    IS_TIMED = "is timed"
    """The user of the connection sets deadlines."""


async def connect_with_defaults(
    target: Target,
    *,
    use_database: bool = True,
    timeout_seconds: float | None = None,
    sends_rows: bool = False,
    manner: Manner = Manner.ASKS,
) -> Connection:
    """Log in like `connect`, for tuibench's own queries, with the same errors. A slow login is reported."""

    async def notice() -> str:
        return f"waiting for {target.where}: no login for {NOTICE_SECONDS:g} s"

    work = connect(target, use_database=use_database, timeout_seconds=timeout_seconds, sends_rows=sends_rows)
    connection = await (work if manner is Manner.IS_TIMED else with_notice(work, notice))
    connection.questions = Questions(connection, target.query_timeout)
    await apply_session_defaults(connection)
    if manner is Manner.WORKS:
        connection.questions = Questions(connection, None)
    elif manner is Manner.IS_TIMED:
        connection.questions = None
    return connection


async def apply_session_defaults(connection: Connection) -> None:
    """Set the session to the servers' built-in defaults; a variable that may not be set stays unchanged.

    Raises ServerUnavailableError if the server closes the connection at the first statement, or accepts none.
    """
    wanted = {
        **SESSION_DEFAULTS,
        "lock_wait_timeout": str(max(1, int(connection.target.query_timeout * LOCK_SHARE))),
        TIME_LIMIT_VARIABLES[detect_flavour(connection.version_text, "")]: "0",
    }
    if not await _set_variables(connection, wanted):
        # One by one, because the server, or a proxy, does not know one of the variables.
        for name, value in wanted.items():
            await _set_variables(connection, {name: value})


async def _set_variables(connection: Connection, values: dict[str, str]) -> bool:
    """Set the variables; False if the server refuses."""
    sql = "SET " + ", ".join(f"SESSION {name}={value}" for name, value in values.items())
    try:
        await connection.execute(sql)
    except (NoAnswerError, ProtocolError):
        raise
    except SQLError as error:
        if isinstance(error, ConnectionLostError) or error.code == INIT_CONNECT_FAILED:
            connection.abort()
            target = connection.target
            raise ServerUnavailableError(
                f"the server at {target.where} accepts user '{target.user}' and closes the connection at "
                f"once: {error.message}",
                "check its init_connect and its error log",
            ) from error
        if error.code in EXPIRED_CODES:
            connection.abort()
            raise password_expired_error(error, connection.target) from error
        return False
    return True


# Privileges of a login.


EVERYTHING = "ALL"
KILL_PRIVILEGES = frozenset((EVERYTHING, "SUPER", "CONNECTION ADMIN", "CONNECTION_ADMIN"))
"""Each lets a login end the sessions of other users (MariaDB, MySQL)."""

_GLOBAL_GRANT = re.compile(r"GRANT (.+?) ON \*\.\* TO ", re.IGNORECASE | re.DOTALL)


def global_privileges(grants: Iterable[str]) -> frozenset[str]:
    """The privileges on `*.*` in the lines of SHOW GRANTS, in capitals. `ALL` means every one."""
    found: set[str] = set()
    for line in grants:
        match = _GLOBAL_GRANT.match(line.strip())
        if match:
            found.update(" ".join(name.split()).upper() for name in match[1].split(","))
    return frozenset(EVERYTHING if name == "ALL PRIVILEGES" else name for name in found)
