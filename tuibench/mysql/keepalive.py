"""TCP keepalive: detects a peer that is gone without closing the connection.

A host that loses its power, or a network that is cut, closes no connection: the client waits for an answer
that never comes. The kernel probes an idle connection and gives up; TCP_USER_TIMEOUT does the same for bytes
that were sent and not acknowledged. A server that is only slow acknowledges, so it is not affected.
"""

import socket
from typing import Any

IDLE_SHARE, PROBE_SHARE, GIVE_UP_SHARE = 1 / 3, 1 / 6, 0.9
"""Parts of the timeout: silence before the first probe, time between two, and when the next one ends it."""

PROBES = 4

TCP_KEEPALIVE_OF_MACOS = 0x10
"""What macOS calls TCP_KEEPIDLE; Python 3.11 does not name it."""


def set_keepalive(transport: Any, seconds: float) -> None:
    """Has the kernel drop a TCP connection whose peer has been unreachable for so long."""
    sock = transport.get_extra_info("socket")
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in tcp_options(seconds).items():
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


def tcp_options(seconds: float) -> dict[int, int]:
    """The TCP options of this system, by their number."""
    values = {
        getattr(socket, "TCP_KEEPIDLE", TCP_KEEPALIVE_OF_MACOS): max(1, round(seconds * IDLE_SHARE)),
        getattr(socket, "TCP_KEEPINTVL", None): max(1, round(seconds * PROBE_SHARE)),
        getattr(socket, "TCP_KEEPCNT", None): PROBES,
        getattr(socket, "TCP_USER_TIMEOUT", None): max(1, round(seconds * 1000 * GIVE_UP_SHARE)),
    }
    return {option: value for option, value in values.items() if option is not None}
