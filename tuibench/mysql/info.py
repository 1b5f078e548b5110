"""Identification of a server: flavour, version, identity, paths of its files and sockets.

A server that hides a variable leaves that field empty; nothing here fails for want of a privilege.

A server that says it is read only: some logins it lets write all the same, which they should know.
"""

import asyncio
import re
import socket
from collections.abc import Mapping

from msgspec.structs import replace

from tuibench import sanitize
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import EXPIRED_CODES, UNSUPPORTED_CODES, password_expired_error

VARIABLES = ("version", "version_comment", "hostname", "port", "datadir", "pid_file", "socket")

_VARIABLES_SQL = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN {VARIABLES}"
_UPTIME_SQL = "SHOW GLOBAL STATUS LIKE 'Uptime'"
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_REPLICATION_PREFIX = "5.5.5-"
"""MariaDB puts this before its version in the greeting, for clients that expect a MySQL."""


async def server_info(connection: Connection) -> ServerInfo:
    """Reads the server's identity, with two statements.

    Raises ConnectionLostError when it went away meanwhile, ServerUnavailableError when it answers nothing.
    """
    variables = await _show(connection, _VARIABLES_SQL)
    uptime = await _show(connection, _UPTIME_SQL)
    if "version" not in variables:
        variables["version"] = connection.version_text
    target, seconds = connection.target, uptime.get("Uptime", "")
    is_local = await is_on_this_host(target)
    info = build_server_info(target, variables, int(seconds) if seconds.isdigit() else None, is_local)
    return replace(info, is_encrypted=connection.is_encrypted)


def build_server_info(
    target: Target, variables: Mapping[str, str], uptime_seconds: int | None, is_local: bool
) -> ServerInfo:
    """The same from variables read before."""
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
        port=int(variables.get("port") or target.port),
        is_local=is_local,
        uptime_seconds=uptime_seconds,
    )


def detect_flavour(version: str, comment: str = "") -> Flavour:
    """MariaDB names itself in its version or its comment; everything else speaks MySQL's dialect."""
    return Flavour.MARIADB if "mariadb" in f"{version} {comment}".lower() else Flavour.MYSQL


def instance_identity(variables: Mapping[str, str]) -> str:
    """A name of the instance that does not depend on the address and survives a restart; empty if unknown."""
    host, port, datadir = (variables.get(name, "") for name in ("hostname", "port", "datadir"))
    return f"{host}:{port}:{datadir}" if host or datadir else ""


async def is_on_this_host(target: Target) -> bool:
    """True if the server's address is one of this host's own: only those can be bound to."""
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
    """The server keeps relative paths relative to its data directory. Its host may be of another kind."""
    if not path or path.startswith("/") or not datadir:
        return path
    return f"{datadir.rstrip('/')}/{path.removeprefix('./')}"


async def _show(connection: Connection, sql: str) -> dict[str, str]:
    """Name and value of a SHOW statement; none where the server refuses it.

    Raises ServerUnavailableError where it refuses everything, for want of a new password.
    """
    try:
        return {str(name): str(value) for name, value in await connection.query(sql)}
    except ConnectionLostError:
        raise
    except SQLError as error:
        if error.code in EXPIRED_CODES:
            raise password_expired_error(error, connection.target) from error
        return {}


async def server_value(connection: Connection, variable: str) -> str | None:
    """A variable's value for this connection; None from a server of another make that does not have it."""
    try:
        rows = await connection.query(f"SELECT @@{variable}")
    except SQLError as error:
        if error.code not in UNSUPPORTED_CODES:
            raise
        return None
    return str(rows[0][0])


READ_ONLY_BYPASS_WARNING = "the server is read-only, but not for this login: it may be a replica"

_OFF_VALUES = ("OFF", "0")
_READ_ONLY_ADMIN_SINCE = (10, 11)
"""MariaDB's SUPER lacks READ_ONLY ADMIN from here on."""


async def is_read_only(connection: Connection) -> bool:
    """True if the server says that only such logins may write."""
    shown = await _show(connection, "SHOW GLOBAL VARIABLES LIKE 'read\\_only'")
    return any(value.upper() not in _OFF_VALUES for value in shown.values())


def read_only_bypass_privileges(server: ServerInfo) -> tuple[str, ...]:
    """Any of these lets a login write on a server that is read only (but not super_read_only)."""
    if server.flavour == Flavour.MYSQL:
        return ("SUPER", "CONNECTION_ADMIN")
    old = server.version_tuple < _READ_ONLY_ADMIN_SINCE
    return ("READ_ONLY ADMIN", "SUPER") if old else ("READ_ONLY ADMIN",)
