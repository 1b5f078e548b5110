"""A server that says it is read only: some logins it lets write all the same, which they should know."""

from tuibench.model.server import Flavour, ServerInfo
from tuibench.mysql.connection import Connection

ABOVE_READ_ONLY = "the server is read only, which does not hold for this login: it may be a replica"

_OFF = ("OFF", "0")
_SUPER_IS_NOT_ENOUGH = (10, 11)
"""MariaDB's SUPER lacks READ_ONLY ADMIN from here on."""


async def is_read_only(connection: Connection) -> bool:
    """True if the server lets nobody write but such logins."""
    rows = await connection.query("SHOW GLOBAL VARIABLES LIKE 'read\\_only'")
    return any(str(value).upper() not in _OFF for _, value in rows)


def privileges_above(server: ServerInfo) -> tuple[str, ...]:
    """Any of these lets a login write on a server that is read only (but not super_read_only)."""
    if server.flavour == Flavour.MYSQL:
        return ("SUPER", "CONNECTION_ADMIN")
    old = server.version_tuple < _SUPER_IS_NOT_ENOUGH
    return ("READ_ONLY ADMIN", "SUPER") if old else ("READ_ONLY ADMIN",)
