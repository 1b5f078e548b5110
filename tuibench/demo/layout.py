"""Where a private server keeps its things: one directory, and the name of everything in it."""

import os
import tempfile
from pathlib import Path

from tuibench.errors import ServerUnavailableError

PREFIX = "tuibench-demo-"

MAX_SOCKET_PATH = 103
"""Bytes a socket's path may have: 107 on Linux, 103 on macOS."""

_RANDOM_PART = "x" * 8


class Layout:
    """The names inside one private server's directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.tmp = root / "tmp"
        self.socket = root / "mysql.sock"
        self.error_log = root / "error.log"
        self.keeper_log = root / "keeper.log"
        self.server_pid = root / "server.pid"
        self.keeper_lock = root / "keeper.lock"
        self.init_file = root / "accounts.sql"
        self.client_options = root / "client.cnf"

    @classmethod
    def create(cls, base: Path) -> "Layout":
        """A new, empty directory below `base`, readable by its owner only."""
        layout = cls(Path(tempfile.mkdtemp(prefix=PREFIX, dir=base)))
        layout.tmp.mkdir(mode=0o700)
        return layout


def default_base() -> Path:
    """The folder private servers are made in: TMPDIR if set, else a temporary folder on a real disk.

    /tmp is often memory, where an fsync costs nothing: durability settings would have nothing to show.
    Raises ServerUnavailableError if no folder will do.
    """
    named = os.environ.get("TMPDIR")
    choices = [named] if named else []
    for choice in (*choices, "/var/tmp", "/tmp"):  # noqa: S108
        base = Path(choice)
        if base.is_dir() and os.access(base, os.W_OK | os.X_OK) and _socket_fits(base):
            return base
    raise ServerUnavailableError(
        "no folder for a private server: /var/tmp and /tmp cannot be written",
        "set TMPDIR to a folder that can",
    )


def _socket_fits(base: Path) -> bool:
    socket = Layout(base / (PREFIX + _RANDOM_PART)).socket
    return len(os.fsencode(socket)) <= MAX_SOCKET_PATH


def write_private(path: Path, text: str) -> None:
    """Writes a file that nobody else can read, from its first moment on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)


def is_private(datadir: str) -> bool:
    """True if a data directory of this host belongs to a private server, this program's or another's."""
    layout = Layout(Path(datadir).parent)
    return layout.root.name.startswith(PREFIX) and layout.keeper_lock.exists()
