"""Foreign exceptions of the driver and the network, translated into the error tree.

Here is decided which error codes mean a broken connection, a server that is away, a login that is refused.
"""

import ssl

from asyncmy import errors as driver
from asyncmy.constants import CR, ER

from tuibench.errors import (
    ConnectionLostError,
    DeniedError,
    ServerAwayError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
)
from tuibench.model.target import Target

CONNECTION_LOST_CODES = frozenset({1053, 1077, 1152, 1927, 2006, 2013, 2014, 2055, 4031})
"""Server shutdown, aborted or killed connection, server gone, connection lost, commands out of sync."""

TOO_MANY_CONNECTIONS_CODES = frozenset({1040, 1203, 1226})
"""Too many connections: for the server, for this user, for this account's resource limits."""

DENIED_CODES = frozenset({1044, 1142, 1143, 1227, 1370})
"""No privilege: for the database, the table, the column, a global one, a routine."""

CLIENT_CANNOT_CONNECT = 2003
AWAY_CODES = CONNECTION_LOST_CODES | {CLIENT_CANNOT_CONNECT}
"""Nobody listens, or the server went down while it greeted us."""

NO_SUCH_DATABASE = 1049
ACCESS_DENIED_CODES = frozenset({1044, 1045, 1698})

_NAMES = {
    value: name
    for constants in (CR, ER)
    for name, value in sorted(vars(constants).items())
    if isinstance(value, int) and not name.endswith(("ERROR_FIRST", "ERROR_LAST"))
}

FOREIGN = (driver.MySQLError, OSError, ssl.SSLError, TimeoutError, RuntimeError, AssertionError)
"""What the driver may raise: its own errors, the network's, and uvloop's on a closed handle."""


def error_name(code: int) -> str:
    """The server's symbol for an error number (LOCK_DEADLOCK for 1213), empty if the driver knows none."""
    return _NAMES.get(code, "")


def code_and_text(error: BaseException) -> tuple[int, str]:
    """The server's error number (2013 if the driver gave none) and its words."""
    if isinstance(error, driver.MySQLError) and len(error.args) >= 2:
        code, text = error.args[0], error.args[1]
        return (int(code) or 2013), str(text)
    return 2013, str(error) or type(error).__name__


def statement_error(error: BaseException) -> SQLError:
    """What a failed statement means."""
    code, text = code_and_text(error)
    if code in CONNECTION_LOST_CODES:
        return ConnectionLostError(code, f"connection lost: {text}")
    if code in DENIED_CODES:
        return DeniedError(code, text, "grant the privilege, or log in as another user")
    return SQLError(code, text)


def connect_error(error: BaseException, target: Target) -> TuibenchError:
    """What a failed connect means, with the remedy."""
    code, text = code_and_text(error)
    if code in ACCESS_DENIED_CODES:
        return ServerUnavailableError(
            f"the server at {target.where} refuses user '{target.user}': {text} (error {code})",
            "give --user and -p, or a [client] section in ~/.my.cnf",
        )
    if code == NO_SUCH_DATABASE:
        return ServerUnavailableError(
            f"the database '{target.database}' does not exist at {target.where} (error {code})",
            f"make it with: tuibench prepare PROFILE --create-database --database {target.database}",
        )
    if code in TOO_MANY_CONNECTIONS_CODES:
        return SQLError(code, f"the server at {target.where} takes no more connections: {text}")
    if code in AWAY_CODES or isinstance(error, OSError | TimeoutError):
        return ServerAwayError(
            f"cannot reach a server at {target.where}: {text}",
            "is it running? give --host and --port, or --socket",
        )
    return ServerUnavailableError(f"cannot log in at {target.where}: {text} (error {code})")
