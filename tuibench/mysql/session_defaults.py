"""Session variables of tuibench's own connections, independent of the server's defaults.

A server may truncate every result (sql_select_limit), end long statements (max_statement_time), close idle
connections (wait_timeout), or parse SQL differently (sql_mode=ORACLE). The load accepts all this, because it
measures the server with its settings; statements that count rows, create tables and read settings must not
depend on it.
"""

from enum import Enum

from tuibench.deadline import NOTICE_SECONDS, with_notice
from tuibench.errors import (
    ConnectionLostError,
    NoAnswerError,
    ProtocolError,
    ServerUnavailableError,
    SQLError,
)
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql import info
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.errors import EXPIRED_CODES, password_expired_error
from tuibench.mysql.questions import Questions, lock_seconds

SESSION_DEFAULTS = {
    "sql_mode": "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
    "sql_select_limit": str(2**63 - 1),  # of other makes, some take the servers' default 2**64 - 1 for -1
    "sql_big_selects": "1",
    "sql_safe_updates": "0",
    "wait_timeout": "28800",
}
"""The servers' built-in defaults, except for statements that tuibench never sends."""

TIME_LIMIT_VARIABLES = {Flavour.MARIADB: "max_statement_time", Flavour.MYSQL: "max_execution_time"}

INIT_CONNECT_FAILED = 1184


class Manner(Enum):
    """The purpose of a connection, which decides how long its statements may take.

    One that asks waits for each answer up to the target's `query_timeout`; one that works waits for as long
    as the work takes, but not for locks; one that is timed has deadlines set by its user.
    """

    ASKS = "asks"
    WORKS = "works"
    IS_TIMED = "is timed"


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
    """Set the session to the servers' own defaults; a variable that may not be set is left unchanged.

    Raises ServerUnavailableError if the server closes the connection at the first statement, or accepts none.
    """
    wanted = {
        **SESSION_DEFAULTS,
        "lock_wait_timeout": str(lock_seconds(connection.target)),
        TIME_LIMIT_VARIABLES[info.detect_flavour(connection.version_text, "")]: "0",
    }
    if not await _set_variables(connection, wanted):
        # One by one: the server is older than a variable, or something in between does not know it.
        for name, value in wanted.items():
            await _set_variables(connection, {name: value})


async def _set_variables(connection: Connection, values: dict[str, str]) -> bool:
    """False if the server refuses."""
    sql = "SET " + ", ".join(f"SESSION {name}={value}" for name, value in values.items())
    try:
        await connection.execute(sql)
    except (NoAnswerError, ProtocolError):
        raise
    except SQLError as error:
        if isinstance(error, ConnectionLostError) or error.code == INIT_CONNECT_FAILED:
            raise _closed_at_once_error(connection, error) from error
        if error.code in EXPIRED_CODES:
            connection.abort()
            raise password_expired_error(error, connection.target) from error
        return False
    return True


def _closed_at_once_error(connection: Connection, error: SQLError) -> ServerUnavailableError:
    connection.abort()
    target = connection.target
    return ServerUnavailableError(
        f"the server at {target.where} accepts user '{target.user}' and closes the connection at once: "
        f"{error.message}",
        "check its init_connect and its error log",
    )
