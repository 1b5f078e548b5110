"""Translation of the exceptions of driver and network to tuibench's own errors.

This module decides which error codes mean a broken connection, an unreachable server, or a refused login.
"""

import errno
import re
import ssl
import struct

from tuibench.base import sanitize
from tuibench.base.errors import (
    MOMENTARY_ERRORS,
    ConnectionLostError,
    DeniedError,
    NotReadyError,
    ProtocolError,
    ServerBusyError,
    ServerUnavailableError,
    ServerUnreachableError,
    SQLError,
    TuibenchError,
)
from tuibench.model.server import Target
from tuibench.mysql.driver import CR, ER
from tuibench.mysql.driver import errors as driver

CONNECTION_LOST_CODES = frozenset({1053, 1077, 1152, 1927, 2006, 2013, 2014, 2055, 4031})
"""Server shutdown, aborted or killed connection, server gone, connection lost, commands out of sync."""

TOO_MANY_CONNECTIONS_HINTS = {
    1040: "raise its max_connections",
    1203: "raise its max_user_connections, which counts those of each account",
    1226: "ALTER USER … WITH MAX_USER_CONNECTIONS gives the account more",
}
"""How to allow more connections, by the server's error."""

TOO_MANY_CONNECTIONS_CODES = frozenset(TOO_MANY_CONNECTIONS_HINTS)
"""The limit of the server, of this user, or of this account's resources is reached."""

EXPIRED_CODES = frozenset({1820, 1862})
"""The password has expired: the server accepts the login only to change it, or not at all."""

EXPIRED_HINT = "give the account a new password with ALTER USER"
READ_ONLY_HINT = "use the primary; or SET GLOBAL read_only = OFF (and super_read_only) if it may take writes"
STARTED_READ_ONLY_HINT = (
    "use the primary, or start the server without innodb_read_only and innodb_force_recovery"
)

DENIED_HINTS = {
    # No privilege: for the database, the table, the column, a global one, a routine.
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370), "grant the privilege, or log in as another user"),
    **dict.fromkeys(EXPIRED_CODES, EXPIRED_HINT),
    **dict.fromkeys((1036, 1836, 1874, 1881), STARTED_READ_ONLY_HINT),
    1290: "",
    1792: "its connections are read-only: SET GLOBAL transaction_read_only = OFF (older: tx_read_only)",
    3989: "ALTER SCHEMA … READ ONLY = 0 lets it take writes again",
}
"""Refused logins, and how to fix them."""

FORBIDDEN_BY_OPTION = 1290
_HOURLY_LIMIT = re.compile(r"max_\w+_per_hour", re.IGNORECASE)
_READ_ONLY = re.compile("read[-_]only", re.IGNORECASE)

UNSUPPORTED_CODES = frozenset({1047, 1064, 1105, 1109, 1146, 1149, 1193, 1235, 1289, 1295})
"""Statements about the server that servers of another make do not support return these errors. 1105 is the
unknown error of TiDB, Vitess and ProxySQL.
"""

UNKNOWN_COMMAND = 1047
NOT_READY = re.compile("WSREP", re.IGNORECASE)
"""The text of a node of a Galera cluster that accepts no statements, with the code `UNKNOWN_COMMAND`."""

NOT_READY_HINT = (
    "use another node, or wait until its wsrep_ready is ON (wsrep_cluster_status must be Primary: "
    "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES' makes a new primary component)"
)
AS_TEXT_HINT = "--db-ps-mode=disable sends all statements of a load as text"
NO_KEY_HINT = "--force-pk gives tpcc's table history a primary key; sbtest has one without --secondary"
NO_KEY = re.compile("primary key", re.IGNORECASE)

STATEMENT_HINTS: dict[int, tuple[tuple[re.Pattern[str], str], ...]] = {
    UNKNOWN_COMMAND: (
        (re.compile(""), f"a proxy may refuse this command: log in at the server behind it; {AS_TEXT_HINT}"),
    ),
    # Percona XtraDB Cluster's strict mode, group replication, sql_require_primary_key.
    1105: (
        (NO_KEY, NO_KEY_HINT),
        (re.compile("XtraDB"), "see pxc_strict_mode of the cluster"),
        (re.compile("prepare", re.IGNORECASE), AS_TEXT_HINT),
    ),
    3098: ((re.compile(""), f"{NO_KEY_HINT}, as group replication asks for"),),
    3750: ((re.compile(""), NO_KEY_HINT),),
    1243: ((re.compile(""), f"a proxy that shares connections loses prepared statements: {AS_TEXT_HINT}"),),
    9001: ((re.compile(""), "ProxySQL reaches no server for this: see its table runtime_mysql_servers"),),
    9006: (
        (
            re.compile(""),
            "ProxySQL keeps a session on one hostgroup after a SET that it cannot read: log in at the server "
            "behind it, or SET mysql-set_query_lock_on_hostgroup=0 in its administration",
        ),
    ),
}
"""The remedy of a statement's error, by its code and a pattern of its text; the first match applies."""

CLIENT_CANNOT_CONNECT = 2003
UNREACHABLE_CODES = CONNECTION_LOST_CODES | {CLIENT_CANNOT_CONNECT}
"""No server listens, or it stopped during the handshake."""

NO_SUCH_DATABASE = 1049
ACCESS_DENIED_CODES = frozenset({1044, 1045, 1698})

BAD_HOST_CODES = frozenset({1129, 1130})
PLUGIN_CODES = frozenset({1251, 1524, 2059, 2061})
"""A login plugin that the client or the server lacks, or that the client does not support."""

OTHER_PLUGIN_HINT = "use an account IDENTIFIED with caching_sha2_password, mysql_native_password or ed25519"

LOGIN_HINTS = {
    **dict.fromkeys(EXPIRED_CODES, EXPIRED_HINT),
    3032: "it accepts administrators only: SET GLOBAL offline_mode = OFF allows other users again",
    3118: "unlock it with ALTER USER … ACCOUNT UNLOCK",
    4151: "unlock it with ALTER USER … ACCOUNT UNLOCK",
    3159: "encrypt the connection with --ssl-mode=required, or verify the server, too, with --ssl-ca",
    **dict.fromkeys(BAD_HOST_CODES, "allow this host with CREATE USER, or unblock it with FLUSH HOSTS"),
    **dict.fromkeys(PLUGIN_CODES, OTHER_PLUGIN_HINT),
}
"""Hints for logins that the server or the driver refuses."""

HOSTNAME_MISMATCH, ADDRESS_MISMATCH = 62, 64
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""

NOT_YET_VALID, EXPIRED = 9, 10
"""X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED."""

DRIVER_ERRORS = (driver.MySQLError, OSError, ssl.SSLError, TimeoutError, RuntimeError, AssertionError)
"""Exceptions of the driver: its own errors, the network's, and uvloop's on a closed handle."""


MALFORMED = (LookupError, ValueError, ArithmeticError, AttributeError, TypeError, struct.error)
"""Exceptions caused by parsing invalid bytes."""


class TLSError(ServerUnavailableError):
    """The connection could not be encrypted as requested."""


class PlainPasswordError(ServerUnavailableError):
    """The server requests the whole password, on a connection where others could read it.

    `is_tls_offered` is True if the server supports TLS.
    """

    def __init__(self, message: str, hint: str, *, is_tls_offered: bool) -> None:
        super().__init__(message, hint)
        self.is_tls_offered = is_tls_offered


class AccessDeniedError(ServerUnavailableError):
    """The server refuses the user or the password."""


class NoDatabaseError(ServerUnavailableError):
    """The login succeeds, but the database does not exist."""


def code_and_text(error: BaseException) -> tuple[int, str]:
    """The server's error number (2013 if the driver gave none) and its message."""
    if isinstance(error, driver.MySQLError) and len(error.args) >= 2:
        code, text = error.args[0], error.args[1]
        return (code if isinstance(code, int) and code else 2013), str(text)
    return 2013, str(error) or type(error).__name__


def is_malformed(error: BaseException) -> bool:
    """True if the driver failed because of bytes that violate the protocol, including a wrong sequence of
    packets.
    """
    is_out_of_sequence = isinstance(error, driver.InternalError) and len(error.args) == 1
    return isinstance(error, (*MALFORMED, AssertionError)) or is_out_of_sequence


def statement_error(error: BaseException) -> SQLError:
    """The error of a failed statement."""
    if is_malformed(error):
        return ProtocolError(sanitize.excerpt(str(error)) or type(error).__name__)
    return error_for_code(*code_and_text(error))


def error_for_code(code: int, text: str) -> SQLError:
    """The error for a code of the server or the driver. Its text is never empty: that would be taken for no
    failure.
    """
    text = sanitize.excerpt(text) or f"error {code} without a message"
    if code in CONNECTION_LOST_CODES:
        return ConnectionLostError(code, f"connection lost: {text}")
    if code in DENIED_HINTS:
        is_read_only = code == FORBIDDEN_BY_OPTION and _READ_ONLY.search(text)
        return DeniedError(code, text, READ_ONLY_HINT if is_read_only else DENIED_HINTS[code])
    if code == UNKNOWN_COMMAND and NOT_READY.search(text):
        return NotReadyError(code, text, NOT_READY_HINT)
    hints = STATEMENT_HINTS.get(code, ())
    return SQLError(code, text, next((hint for found, hint in hints if found.search(text)), ""))


def is_unsupported(error: SQLError) -> bool:
    """True if the server does not support a statement about the server, as with servers of another make."""
    return error.code in UNSUPPORTED_CODES and not isinstance(error, NotReadyError)


def is_refused_command(error: SQLError) -> bool:
    """True if another command may succeed in place of the one that was answered with this error.

    That depends on the command, not on the code: proxies and servers of other makes have codes of their own
    for commands that they do not support. A lost connection, a missing privilege and a node that is not ready
    concern all commands alike.
    """
    return not isinstance(error, (DeniedError, *MOMENTARY_ERRORS))


def connect_error(error: BaseException, target: Target, *, could_encrypt: bool = False) -> TuibenchError:
    """The error of a failed connect, with its remedy. `could_encrypt` if the server offers TLS, which the
    connection does not use.
    """
    code, text = code_and_text(error)
    text = sanitize.excerpt(text)
    if code in ACCESS_DENIED_CODES:
        # Servers report "access denied" also if an account only requires TLS.
        hint = "give --user and -p, or a [client] section in ~/.my.cnf"
        return AccessDeniedError(
            f"the server at {target.where} refuses user '{target.user}': {text} (error {code})",
            (
                hint
                if target.socket or not could_encrypt
                else f"if the account requires TLS, --ssl-mode=required; otherwise, {hint}"
            ),
            code,
        )
    if code == NO_SUCH_DATABASE:
        return NoDatabaseError(
            f"the database '{target.database}' does not exist at {target.where} (error {code})",
            "--create-database of tuibench prepare creates it",
            code,
        )
    if code in TOO_MANY_CONNECTIONS_CODES:
        # The hint follows from the code; an account may also have a limit per hour, which the server names.
        by_the_hour = _HOURLY_LIMIT.search(text)
        return SQLError(
            code,
            f"the server at {target.where} accepts no more connections: {text}",
            (
                TOO_MANY_CONNECTIONS_HINTS[code].replace("MAX_USER_CONNECTIONS", by_the_hour[0].upper())
                if by_the_hour
                else TOO_MANY_CONNECTIONS_HINTS[code]
            ),
        )
    if errno.EAGAIN in (getattr(error, "errno", None), getattr(error.__cause__, "errno", None)):
        return ServerBusyError(f"the server at {target.where} has too many connections waiting: {text}")
    if code in UNREACHABLE_CODES or isinstance(error, OSError | TimeoutError):
        return ServerUnreachableError(
            f"cannot reach a server at {target.where}: {text}",
            "is it running? give --host and --port, or --socket",
        )
    return ServerUnavailableError(
        f"cannot log in at {target.where}: {text} (error {code})", LOGIN_HINTS.get(code, ""), code
    )


def password_expired_error(error: SQLError, target: Target) -> ServerUnavailableError:
    """The error of a server that accepts only a new password."""
    return ServerUnavailableError(
        f"the password of user '{target.user}' at {target.where} has expired (error {error.code})",
        LOGIN_HINTS[error.code],
    )


def silent(target: Target, seconds: float) -> ServerUnreachableError:
    """The error of a login that took too long."""
    return ServerUnreachableError(
        f"cannot log in at {target.where}: no answer within {seconds:g} s",
        "check whether the server is running; increase --connect-timeout to wait longer",
    )


def not_a_server_error(target: Target) -> ServerUnavailableError:
    """The error of a listening program that has another protocol."""
    return ServerUnavailableError(
        f"the server at {target.where} is neither MySQL nor MariaDB", "check --host and --port"
    )


def tls_error(error: BaseException, target: Target) -> TLSError:
    """The error of a failed TLS handshake, with how to fix it."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        reason = error.reason if isinstance(error, ssl.SSLError) else ""
        reason = reason.lower().replace("_", " ") if reason else str(error) or type(error).__name__
        return TLSError(
            f"the TLS handshake with {target.where} failed: {reason}",
            "the server may require a client certificate (--ssl-cert, --ssl-key), or support only old TLS "
            "versions",
        )
    if error.verify_code in (HOSTNAME_MISMATCH, ADDRESS_MISMATCH):
        return TLSError(
            f"the certificate of {target.where} is not for '{target.ssl_server_name or target.host}'",
            "use a host name that it contains, name it with --ssl-server-name, or use --ssl-mode=verify-ca",
        )
    if error.verify_code in (NOT_YET_VALID, EXPIRED):
        return TLSError(
            f"the certificate of {target.where} is not valid now: {error.verify_message}",
            "replace it, check the clock of this host, or use --ssl-mode=required",
        )
    return TLSError(
        f"the certificate of {target.where} is not trusted: {error.verify_message}",
        "give the certificate of its issuer with --ssl-ca, or use --ssl-mode=required",
    )


_ERROR_NAMES = {
    value: name
    for constants in (CR, ER)
    for name, value in sorted(vars(constants).items())
    if isinstance(value, int) and not name.endswith(("ERROR_FIRST", "ERROR_LAST"))
}


def error_name(code: int) -> str:
    """The symbol of an error number (LOCK_DEADLOCK for 1213); empty if the driver knows none."""
    return _ERROR_NAMES.get(code, "")
