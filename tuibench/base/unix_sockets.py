"""Unix sockets of sessions: addresses, listening, connecting, and removal of sockets of dead sessions.

The address of a socket is limited to some hundred bytes. A socket with a longer path is addressed through a
descriptor of its open directory, or relative to the directory if the system has no names for descriptors.
"""

import contextlib
import errno
import hashlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from tuibench.base import paths
from tuibench.base.errors import RunError

LONGEST_ADDRESS_BYTES = 103 if sys.platform == "darwin" else 107
LONGEST_STEM_BYTES = 64
"""Maximum length of a socket's name, which leaves space for the path of the open directory."""

DESCRIPTORS = Path("/proc/self/fd")
SUFFIX = ".sock"
DEAD = frozenset({errno.ECONNREFUSED, errno.ENOENT})
"""The system's errors for a socket without a listener."""


def socket_path(session: str) -> Path:
    stem = session
    if len(os.fsencode(stem)) > LONGEST_STEM_BYTES:
        digest = hashlib.sha256(os.fsencode(session)).hexdigest()[:8]
        start = os.fsencode(session)[: LONGEST_STEM_BYTES - len(digest) - 1]
        stem = f"{start.decode(errors='ignore')}-{digest}"
    return paths.runtime_dir() / f"{stem}{SUFFIX}"


@contextlib.contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """A name for the path that fits into a socket's address; valid within the context."""
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
    """A socket that listens at the path, for its owner only. Raises RunError if that is not possible.

    It gets its path after it has started to listen: before, it would be taken for a socket of a dead session.
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
    """A socket connected to the listener; never blocks. Raises OSError if there is none."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.setblocking(False)
        with socket_address(path) as name:
            sock.connect(name)
    except OSError:
        sock.close()
        raise
    return sock


def is_listening(path: Path) -> bool:
    """True if a process listens at the path, even if it is too busy to answer."""
    try:
        connect_unix(path).close()
    except OSError as error:
        return error.errno not in DEAD
    return True


def remove_dead_socket(path: Path) -> None:
    """Remove the socket of a killed session, if possible."""
    if path.is_socket() and not is_listening(path):
        with contextlib.suppress(OSError):
            path.unlink()
