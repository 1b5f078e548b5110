"""Unix sockets of sessions: names, listening, connecting, paths that are too long for the kernel.

A socket's address holds some hundred bytes only. A longer path is reached through its open directory, or,
where the system has no names for open directories, from inside it.

The peer of a Unix socket, as the kernel reports it.
"""

import contextlib
import errno
import hashlib
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tuibench import paths
from tuibench.errors import RunError

LONGEST_ADDRESS_BYTES = 103 if sys.platform == "darwin" else 107
LONGEST_STEM_BYTES = 64
"""Leaves space in an address for the path through an open directory."""

DESCRIPTORS = Path("/proc/self/fd")
SUFFIX = ".sock"


def socket_path(session: str) -> Path:
    """The socket's path of a session of this name."""
    stem = session
    if len(os.fsencode(stem)) > LONGEST_STEM_BYTES:
        digest = hashlib.sha256(os.fsencode(session)).hexdigest()[:8]
        start = os.fsencode(session)[: LONGEST_STEM_BYTES - len(digest) - 1]
        stem = f"{start.decode(errors='ignore')}-{digest}"
    return paths.runtime_dir() / f"{stem}{SUFFIX}"


@contextlib.contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """A name of the path that fits into a socket's address, valid within the context."""
    if len(os.fsencode(path)) <= LONGEST_ADDRESS_BYTES:
        yield str(path)
    elif DESCRIPTORS.is_dir():
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield str(DESCRIPTORS / str(directory) / path.name)
        finally:
            os.close(directory)
    else:
        with contextlib.chdir(path.parent):
            yield path.name


def listen_unix(path: Path) -> socket.socket:
    """A socket that listens there, for its owner only. Raises RunError when that is not possible.

    It gets its name when it listens: one that does not answer would be taken for that of a dead session.
    """
    sock, unnamed = socket.socket(socket.AF_UNIX), path.with_name(f"{path.name}.new")
    try:
        paths.ensure_private(path.parent)
        if path.exists():
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        with socket_address(unnamed) as name:
            sock.bind(name)
        unnamed.chmod(0o600)
        sock.listen()
        sock.setblocking(False)
        unnamed.rename(path)
    except OSError as error:
        sock.close()
        raise RunError(
            f"cannot listen at {path}: {error.strerror or error}", "set TUIBENCH_HOME to another place"
        ) from error
    return sock


def connect_unix(path: Path) -> socket.socket:
    """A socket connected to the listener; never waits. Raises OSError if there is none."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.setblocking(False)
        with socket_address(path) as name:
            sock.connect(name)
    except OSError:
        sock.close()
        raise
    return sock


_UCRED = struct.Struct("3i")
"""Linux: pid, uid, gid."""

_XUCRED = struct.Struct("=IIh2x16I")
"""macOS and the BSDs: version, uid, number of groups, groups."""

SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID = 0, 1, 2
"""macOS's numbers, of which Python knows only some."""


class Peer(NamedTuple):
    """A process and its user; the process is 0 where the system does not report it."""

    pid: int
    uid: int

    @property
    def is_welcome(self) -> bool:
        """True for this user, and for root, which could read the session's memory anyway."""
        return self.uid in (os.getuid(), 0)


def peer_of(sock: socket.socket) -> Peer:
    """The peer of a connected Unix socket. Raises OSError where the system does not report it."""
    if hasattr(socket, "SO_PEERCRED"):
        pid, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        return Peer(pid, uid)
    _, uid, *_ = _XUCRED.unpack(sock.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, _XUCRED.size))
    return Peer(_pid_of(sock), uid)


def _pid_of(sock: socket.socket) -> int:
    """The pid, apart from the user; it serves only to attribute processor time."""
    try:
        return sock.getsockopt(SOL_LOCAL, LOCAL_PEERPID)
    except OSError:
        return 0
