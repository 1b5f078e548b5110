"""Who is at the other end of a unix socket, as the kernel knows it."""

import os
import socket
import struct
from typing import NamedTuple

_UCRED = struct.Struct("3i")
"""Linux: pid, uid, gid."""

_XUCRED = struct.Struct("=IIh2x16I")
"""macOS and the BSDs: version, uid, number of groups, groups."""

SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID = 0, 1, 2
"""macOS's numbers, of which Python knows only some."""


class Peer(NamedTuple):
    """A process and its user; the process is 0 where the system does not tell."""

    pid: int
    uid: int

    @property
    def is_welcome(self) -> bool:
        """Sessions serve their own user, and root, who could read their memory anyway."""
        return self.uid in (os.getuid(), 0)


def peer_of(sock: socket.socket) -> Peer:
    """The peer of a connected unix socket. Raises OSError where the system does not tell."""
    if hasattr(socket, "SO_PEERCRED"):
        pid, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        return Peer(pid, uid)
    _, uid, *_ = _XUCRED.unpack(sock.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, _XUCRED.size))
    return Peer(_pid_of(sock), uid)


def _pid_of(sock: socket.socket) -> int:
    """The pid apart from the user; it only tells which share of the processor is ours."""
    try:
        return sock.getsockopt(SOL_LOCAL, LOCAL_PEERPID)
    except OSError:
        return 0
