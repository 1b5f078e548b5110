"""Connections for our own questions and work: on them, the server's defaults for sessions have no say.

A server may cut off every answer (sql_select_limit), end long statements (max_statement_time), hang up on who
is silent (wait_timeout), or read SQL in its own way (sql_mode=ORACLE). The load lives with all that, since
it measures the server as it is; what counts rows, makes tables and reads settings must not.
"""

from tuibench.errors import ConnectionLostError, ServerUnavailableError, SQLError
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql import info
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.errors import EXPIRED_CODES, expired

DEFAULTS = {
    "sql_mode": "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
    "sql_select_limit": "18446744073709551615",
    "sql_big_selects": "1",
    "sql_safe_updates": "0",
    "wait_timeout": "28800",
}
"""What the servers are delivered with, but for wishes about statements that we never send."""

NO_TIME_LIMIT = {Flavour.MARIADB: "max_statement_time", Flavour.MYSQL: "max_execution_time"}

INIT_CONNECT_FAILED = 1184


async def connect_own(
    target: Target,
    *,
    use_database: bool = True,
    timeout_seconds: float = 10.0,
    sends_rows: bool = False,
) -> Connection:
    """Logs in like `connect`, for our own questions, and raises the same."""
    connection = await connect(
        target, use_database=use_database, timeout_seconds=timeout_seconds, sends_rows=sends_rows
    )
    await settle(connection)
    return connection


async def settle(connection: Connection) -> None:
    """Gives the session the servers' own defaults; one that may not be set stays as it is.

    Raises ServerUnavailableError if the server hangs up on the first statement, or takes none.
    """
    wanted = {**DEFAULTS, NO_TIME_LIMIT[info.flavour(connection.version_text, "")]: "0"}
    if not await _set(connection, wanted):
        # One by one: the server is older than a variable, or something in between does not know it.
        for name, value in wanted.items():
            await _set(connection, {name: value})


async def _set(connection: Connection, values: dict[str, str]) -> bool:
    """False if the server refuses."""
    sql = "SET " + ", ".join(f"SESSION {name}={value}" for name, value in values.items())
    try:
        await connection.execute(sql)
    except SQLError as error:
        if isinstance(error, ConnectionLostError) or error.code == INIT_CONNECT_FAILED:
            raise _hung_up(connection, error) from error
        if error.code in EXPIRED_CODES:
            connection.abort()
            raise expired(error, connection.target) from error
        return False
    return True


def _hung_up(connection: Connection, error: SQLError) -> ServerUnavailableError:
    connection.abort()
    target = connection.target
    return ServerUnavailableError(
        f"the server at {target.where} lets user '{target.user}' in and hangs up at once: {error.message}",
        "is its init_connect in order? its error log says more",
    )
