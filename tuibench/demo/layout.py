"""Directory layout of a private server: file names and location."""

import os
import tempfile
from pathlib import Path

from tuibench.errors import ServerUnavailableError

PREFIX = "tuibench-demo-"

MAX_SOCKET_PATH = 103
"""Maximum bytes of a socket's path: 107 on Linux, 103 on macOS."""

_RANDOM_PART = "x" * 8


class DirectoryLayout:
    """The file names in a private server's directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.tmp = root / "tmp"
        self.socket = root / "mysql.sock"
        self.error_log = root / "error.log"
        self.supervisor_log = root / "supervisor.log"
        self.server_pid = root / "server.pid"
        self.server_group = root / "server.cgroup"
        self.server_end = root / "server.end"
        self.supervisor_lock = root / "supervisor.lock"
        self.init_file = root / "accounts.sql"
        self.client_options = root / "client.cnf"

    @classmethod
    def create(cls, base: Path) -> "DirectoryLayout":
        """A new, empty directory below `base`, readable by its owner only."""
        layout = cls(Path(tempfile.mkdtemp(prefix=PREFIX, dir=base)))
        layout.tmp.mkdir(mode=0o700)
        return layout


def default_base() -> Path:
    """The folder for private servers: TMPDIR if set, otherwise a temporary folder on a disk.

    /tmp is often in memory, where fsync is free and durability settings have no effect.
    Raises ServerUnavailableError if no folder is suitable.
    """
    named = os.environ.get("TMPDIR")
    choices = [named] if named else []
    for choice in (*choices, "/var/tmp", "/tmp"):  # noqa: S108
        base = Path(choice)
        if base.is_dir() and os.access(base, os.W_OK | os.X_OK) and _socket_fits(base):
            return base
    raise ServerUnavailableError(
        "no folder for a private server: /var/tmp and /tmp are not writable",
        "set TMPDIR to a writable folder",
    )


def _socket_fits(base: Path) -> bool:
    socket = DirectoryLayout(base / (PREFIX + _RANDOM_PART)).socket
    return len(os.fsencode(socket)) <= MAX_SOCKET_PATH


def write_private(path: Path, text: str) -> None:
    """Write a file that is readable by its owner only from its creation on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)


def is_private_server(datadir: str) -> bool:
    """True if a data directory on this host belongs to a private server of any user."""
    layout = DirectoryLayout(Path(datadir).parent)
    return layout.root.name.startswith(PREFIX) and layout.supervisor_lock.exists()


def is_private_socket(socket: str) -> bool:
    """True if a socket on this host belongs to a private server of any user."""
    return bool(socket) and is_private_server(str(DirectoryLayout(Path(socket).parent).data))
