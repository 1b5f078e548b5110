"""Hands the socket of a connection to the native engine and back.

In between the driver reads nothing. The engine returns a socket only when no response is outstanding, so that
the driver's next statement gets its own response.
"""

from typing import NamedTuple

from tuibench.errors import RunError
from tuibench.mysql.connection import RECEIVE_BUFFER_BYTES, Connection

NO_BACKSLASH_ESCAPES = 0x0200
"""The server status bit of that SQL mode, in which quotes are doubled."""


class DetachedSocket(NamedTuple):
    """A socket's descriptor, and what was negotiated at the login."""

    descriptor: int
    without_eof: bool
    no_backslash_escapes: bool


NO_BUFFER = bytearray()


def detach_socket(connection: Connection) -> DetachedSocket | None:
    """Returns the socket, which the driver does not read until `reattach_socket`; None if it is closed.

    The driver's buffer is freed: it takes most of the memory of an idle connection. Raises RunError for a
    connection with TLS.
    """
    raw = connection.raw
    transport = raw.transport
    if transport is None or transport.is_closing():
        return None
    if connection.is_encrypted:
        raise RunError(
            f"a login at {connection.target.where} required TLS, which the native engine does not support",
            "use --engine=asyncio",
        )
    transport.pause_reading()
    descriptor = int(transport.get_extra_info("socket").fileno())
    receiver = raw.receiver
    if receiver.length == receiver.pos:
        receiver.buffer, receiver.length, receiver.pos = NO_BUFFER, 0, 0
    no_backslash_escapes = bool(raw.server_status & NO_BACKSLASH_ESCAPES)
    return DetachedSocket(descriptor, raw.deprecates_eof, no_backslash_escapes)


def reattach_socket(connection: Connection) -> None:
    """The driver reads again."""
    transport, receiver = connection.raw.transport, connection.raw.receiver
    if transport is not None and not transport.is_closing():
        if receiver.buffer is NO_BUFFER:
            receiver.buffer = bytearray(RECEIVE_BUFFER_BYTES)
        transport.resume_reading()
