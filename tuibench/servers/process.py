"""The process of a private server: start, readiness, end; its directory and its options.

On Linux, a process started here is killed when its parent ends.

The supervisor is the server's parent. When the server ends, the supervisor writes the reason into the
server's directory. A session in another process than the owner's polls for it, because it has neither the
server's exit code nor the supervisor's pipes. A server also counts as ended without its supervisor, or
without its directory.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO

import msgspec

from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import ServerUnavailableError
from tuibench.base.files import DECODE_ERRORS
from tuibench.base.paths import PRIVATE_SERVER_PREFIX
from tuibench.model.findings import ErrorMessage
from tuibench.model.server import Flavour
from tuibench.mysql.option_files import OptionEntry, read_entries
from tuibench.servers.binaries import Binary

POLL_SECONDS = 0.02
GREETING_SECONDS = 5.0
TAIL_LINES = 8

_PR_SET_PDEATHSIG = 1


def spawn(
    command: list[str],
    log: IO[bytes],
    stdin: int = subprocess.DEVNULL,
    enter: Callable[[], None] | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> "subprocess.Popen[bytes]":
    """Start a process that is killed when this process ends for any reason.

    `enter` runs in it before the program. `environment` is what it has in addition.
    """
    try:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=log,
            stderr=log,
            preexec_fn=_before_program(enter),
            cwd=Path(log.name).parent,
            env={**os.environ, **environment} if environment else None,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ServerUnavailableError(f"cannot run {command[0]}: {error}") from error


def run_with_input(command: list[str], data: bytes, log: IO[bytes], timeout_seconds: float) -> int:
    """Run a process with `data` on its stdin; return its exit code."""
    process = spawn(command, log, subprocess.PIPE)
    try:
        process.communicate(data, timeout_seconds)
    finally:
        kill_process(process)
    return process.returncode


def wait_ready(process: "subprocess.Popen[bytes]", path: Path, seconds: float, clock: Clock) -> bool:
    """Wait for the server's greeting on its socket; False if the process ends or the timeout expires."""
    deadline_ns = clock.now_ns() + int(seconds * NS_PER_SECOND)
    while clock.now_ns() < deadline_ns:
        if _is_accepting(path):
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
            return False
    return False


def shut_down(process: "subprocess.Popen[bytes]", timeout_seconds: float) -> None:
    """Shut a server down cleanly; kill it after `timeout_seconds`."""
    process.terminate()
    try:
        process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        kill_process(process)


def kill_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process if it still runs, and wait for its end."""
    process.kill()
    process.wait()


def failure_with_log(what: str, error_log: Path, root: Path = Path("/")) -> ServerUnavailableError:
    """An error with the end of the server's log, and the access control that may be the reason."""
    tail = log_tail(error_log)
    is_denied = tail == NO_LOG or any(_DENIED.search(line) for line in tail)
    hint = access_control_hint(error_log.parent, root) if is_denied else ""
    return ServerUnavailableError("\n  ".join([f"{what}; its log ends:", *tail]), hint)


_DENIED = re.compile(r"permission denied|(?:errno|errcode|error number|error:?) ?:? ?13\b", re.IGNORECASE)
NO_LOG = ["(nothing)"]


def access_control_hint(folder: Path, root: Path) -> str:
    """How to allow a server its folder if the kernel's access control is on; otherwise empty."""
    if _first_word(root / "sys/fs/selinux/enforce") == "1":
        return (
            f"SELinux may forbid the server {folder}: sudo ausearch -m avc -ts recent tells; to allow it: "
            f"sudo semanage fcontext -a -t mysqld_db_t '{folder.parent}/{PRIVATE_SERVER_PREFIX}.*'"
        )
    if _first_word(root / "sys/module/apparmor/parameters/enabled") == "Y":
        return (
            f"AppArmor may forbid the server {folder}: sudo journalctl -k -g DENIED tells; to allow it, add "
            f"'{folder.parent}/{PRIVATE_SERVER_PREFIX}*/{{,**}} rwk,' to the file of its profile in "
            "/etc/apparmor.d/local, then sudo systemctl reload apparmor"
        )
    return ""


def _first_word(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def log_tail(error_log: Path) -> list[str]:
    """The log's last errors, or its last lines if it has no errors."""
    lines = error_log.read_text(errors="replace").splitlines() if error_log.is_file() else []
    errors = [line for line in lines if "[ERROR]" in line]
    return (errors or lines)[-TAIL_LINES:] or NO_LOG


def _is_accepting(path: Path) -> bool:
    """True if the server sends its greeting. It listens before it accepts connections."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(GREETING_SECONDS)
        try:
            client.connect(os.fspath(path))
            return bool(client.recv(1))
        except OSError:
            return False


def _before_program(enter: Callable[[], None] | None) -> Callable[[], None] | None:
    """The function that a child calls before exec: it asks the kernel to kill it when its parent ends, and
    calls `enter`.
    """
    if sys.platform != "linux":
        return enter
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def prepare() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        if enter is not None:
            enter()

    return prepare


PLACES = frozenset(
    {
        "basedir", "bind-address", "datadir", "pid-file", "port", "skip-networking", "socket", "user",
        "tmpdir", "innodb-tmpdir", "innodb-temp-data-file-path", "secure-file-priv", "report-host",
        "report-port",
        "innodb-data-home-dir", "innodb-log-group-home-dir", "innodb-undo-directory", "innodb-directories",
        "aria-log-dir-path", "init-file", "log-error", "general-log-file", "slow-query-log-file",
        "log-bin-index", "relay-log", "relay-log-index", "relay-log-info-file", "log-basename",
        "mysqlx-port", "mysqlx-socket", "admin-address", "admin-port", "skip-grant-tables", "chroot",
        "wsrep-on", "wsrep-provider", "wsrep-cluster-address", "daemonize",
    }
)  # fmt: skip
"""Options that are omitted, because the server has its own directory, socket and account, and no cluster."""

FILE_NAMES = frozenset({"log-bin"})
"""Options whose file is placed in the data directory, regardless of the folder given."""


def read_server_options(file: str, binary: Binary) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of an option file for this server's command line, and the names of the omitted ones.

    They come from the groups that the server itself reads. Options of places, and all whose value is a path,
    are omitted. On the command line they follow tuibench's own options, and so take precedence. Raises
    UsageError for a file that cannot be read.
    """
    groups = server_groups(binary)
    entries = [entry for entry in read_entries(file) if entry.group in groups]
    left_out = dict.fromkeys(entry.key for entry in entries if _is_place(entry))
    kept = []
    for entry in entries:
        if not _is_place(entry):
            name, text = f"--{'loose-' * entry.is_loose}{entry.key}", entry.text
            if text is not None and entry.key in FILE_NAMES:
                text = text.rpartition("/")[2]
            kept.append(name if text is None else f"{name}={text}")
    return tuple(kept), tuple(left_out)


def _is_place(entry: OptionEntry) -> bool:
    is_path = _PATH.search(entry.text or "") is not None and entry.key not in FILE_NAMES
    return entry.key in PLACES or is_path


_PATH = re.compile(r"^[\"']?[/~]|\.\.")
"""A path outside the server's own folder, or of a plugin that it would load."""


def server_groups(binary: Binary) -> frozenset[str]:
    """The groups that this server reads: [mysqld], [mysqld-8.4], [mariadb-10.11], …"""
    series = ".".join(map(str, binary.version_tuple[:2]))
    names: Sequence[str] = ("mysqld",)
    alone = ["server"]
    if binary.flavour is Flavour.MARIADB:
        names, alone = ("mysqld", "mariadb", "mariadbd"), ["server", "client-server"]
    return frozenset([*alone, *names, *(f"{name}-{series}" for name in names)])


MAX_SOCKET_PATH = 103
"""Maximum bytes of a socket's path: 107 on Linux, 103 on macOS."""

_RANDOM_PART = "x" * 8


class DirectoryLayout:
    """The file names in a private server's directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.saved_data = root / "saved"
        self.tmp = root / "tmp"
        self.socket = root / "mysql.sock"
        self.error_log = root / "error.log"
        self.supervisor_log = root / "supervisor.log"
        self.server_pid = root / "server.pid"
        self.disk_page = root / "disk.page"
        self.limit_socket = root / "limit.sock"
        self.server_group = root / "server.cgroup"
        self.server_end = root / "server.end"
        self.supervisor_lock = root / "supervisor.lock"
        self.init_file = root / "accounts.sql"
        self.client_options = root / "client.cnf"

    @classmethod
    def create(cls, base: Path) -> "DirectoryLayout":
        """A new, empty directory below `base`, readable by its owner only."""
        layout = cls(Path(tempfile.mkdtemp(prefix=PRIVATE_SERVER_PREFIX, dir=base)))
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
        socket = DirectoryLayout(base / (PRIVATE_SERVER_PREFIX + _RANDOM_PART)).socket
        socket_fits = len(os.fsencode(socket)) <= MAX_SOCKET_PATH
        if base.is_dir() and os.access(base, os.W_OK | os.X_OK) and socket_fits:
            return base
    raise ServerUnavailableError(
        "no folder for a private server: /var/tmp and /tmp are not writable",
        "set TMPDIR to a writable folder",
    )


def write_private(path: Path, text: str) -> None:
    """Write a file that is readable by its owner only from its creation on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)


def is_private_server(datadir: str) -> bool:
    """True if a data directory on this host belongs to a private server of any user; False if its folder
    cannot be entered.
    """
    layout = DirectoryLayout(Path(datadir).parent)
    return layout.root.name.startswith(PRIVATE_SERVER_PREFIX) and os.path.exists(layout.supervisor_lock)


def is_private_socket(socket: str) -> bool:
    """True if a socket on this host belongs to a private server of any user."""
    return bool(socket) and is_private_server(str(DirectoryLayout(Path(socket).parent).data))


WHAT = "the private server has ended"
RESERVED_BYTES = 4096


def reserve_end(layout: DirectoryLayout) -> None:
    """Before a server starts, reserve the space for the reason of its end, which may be a full disk."""
    layout.server_end.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        _reserved(layout).write_bytes(b" " * RESERVED_BYTES)


def write_end(layout: DirectoryLayout, end: ErrorMessage) -> None:
    """Write the reason why a server ended into the reserved space, and rename the file atomically."""
    with contextlib.suppress(OSError):
        with _reserved(layout).open("r+b") as file:
            file.write(msgspec.json.encode(end)[:RESERVED_BYTES])
        _reserved(layout).replace(layout.server_end)


def _reserved(layout: DirectoryLayout) -> Path:
    return layout.server_end.with_suffix(".new")


def find_end(layout: DirectoryLayout) -> ServerUnavailableError | None:
    """The error that says why the server has ended; None while it runs."""
    try:
        end = msgspec.json.decode(layout.server_end.read_bytes(), type=ErrorMessage)
    except FileNotFoundError:
        try:
            descriptor = os.open(layout.supervisor_lock, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return ServerUnavailableError(f"{WHAT}: it was stopped, and {layout.root} is removed")
        except OSError:
            return None
        with open(descriptor, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return None
        return ServerUnavailableError(f"{WHAT}: its supervisor has ended")
    except (OSError, *DECODE_ERRORS):
        return ServerUnavailableError(WHAT)
    return ServerUnavailableError(f"{WHAT}: {end.message}", end.hint)
