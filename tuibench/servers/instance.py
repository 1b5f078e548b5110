"""One private server and its directory: create, start, kill, remove; removal of abandoned directories.

All calls block. The server runs with durable settings, room for thousands of connections, and all files in
its own directory. MariaDB executes its SQL files in bootstrap mode: its install script does the same, but
needs programs that server-only packages do not contain.

`remove_leftovers` removes the directories of killed supervisors and, on systems other than Linux, ends their
servers: only directories of this user with tuibench's prefix, without a running supervisor (the lock is
free), and not marked to be kept. A supervisor that was killed before it wrote its mark leaves an empty
directory, which is removed once it is old.
"""

import contextlib
import fcntl
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import msgspec

from tuibench.base import units
from tuibench.base.child_process import end_words
from tuibench.base.clock import Clock
from tuibench.base.errors import RunError, ServerUnavailableError, TuibenchError
from tuibench.base.files import DECODE_ERRORS
from tuibench.base.paths import PRIVATE_SERVER_PREFIX
from tuibench.model.findings import ErrorMessage
from tuibench.model.schedule import parse_size
from tuibench.model.server import Flavour, ServerLimits
from tuibench.servers import disk, landlock, process
from tuibench.servers import limits as cgroup
from tuibench.servers.binaries import Binary
from tuibench.servers.limits import Confinement, confine
from tuibench.servers.process import DirectoryLayout, reserve_end, write_end, write_private

MAX_OPEN_FILES = 10_240 if sys.platform == "darwin" else 65_535
"""macOS reports no limit but rejects large values."""

MAX_CONNECTIONS = 4000

COMMON = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--server-id=1",
    "--log-bin=binlog",
    "--max-binlog-size=128M",
    # An hour of load would fill a small disk with unused binary logs.
    "--loose-binlog-expire-logs-seconds=60",
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--max-connect-errors=1000000",
    # A Unix socket with a full queue refuses connections at once: many simultaneous logins must fit.
    "--back-log=4000",
    "--max-prepared-stmt-count=1048576",
    "--table-open-cache=2000",
)

FLAVOURED = {
    # MariaDB 11.4 and newer keep each binary log until a replica has read it.
    Flavour.MARIADB: ("--loose-slave-connections-needed-for-purge=0",),
    # A running server resizes its buffer pool in whole chunks, and MySQL's are half of this pool by default.
    Flavour.MYSQL: ("--loose-mysqlx=OFF", "--loose-innodb-buffer-pool-chunk-size=8M"),
}

AT_CREATION = (
    "innodb-page-size",
    "innodb-data-file-path",
    "innodb-undo-tablespaces",
    "innodb-checksum-algorithm",
    "lower-case-table-names",
)
"""Options that apply at the creation of the data directory, too."""

REDO_LOG_SIZE = {Flavour.MARIADB: "innodb-log-file-size", Flavour.MYSQL: "innodb-redo-log-capacity"}

CAPACITY_SINCE = (8, 0, 30)
"""From this version on, MySQL sizes its redo log by capacity, not by files. Version 9 does not have the
options of the files.
"""

SUPERSEDED_BY = {
    "innodb-buffer-pool-size": "innodb-dedicated-server",
    REDO_LOG_SIZE[Flavour.MYSQL]: "innodb-dedicated-server",
    "binlog-expire-logs-seconds": "expire-logs-days",
}
"""Options of tuibench that would override an option of the user's with another name."""

MIB = 1 << 20

LOG_FILE_DEFAULTS = {"innodb-log-file-size": 48 * MIB, "innodb-log-files-in-group": 2}
"""The options of the redo log's files, with MySQL's defaults, in case only one of the two is given."""


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The server to create. The password is sent through a pipe only and is not in the repr."""

    binary: Binary
    base: str
    user: str
    password: str
    database: str
    keep: bool = False
    options: tuple[str, ...] = ()
    buffer_pool_bytes: int = 256 * MIB
    redo_log_bytes: int = 128 * MIB
    template: str = ""
    """A data directory, created by the same server program, that is copied; by default a new one is
    created.
    """
    limits: ServerLimits = ServerLimits()
    disk_library: str = ""
    """The library that simulates a disk; empty without."""
    no_scope: str = ""
    """The reason why the supervisor of a limited server is not in a scope of systemd."""

    def __repr__(self) -> str:
        return f"Spec({self.binary} in {self.base})"


class ServerState(msgspec.Struct, frozen=True, tag="state"):
    """The state of the server."""

    pid: int = 0
    """0 if its process has ended; otherwise it accepts connections."""
    port: int = 0
    directory: str = ""
    limited: str = ""
    """Its limits in words; empty without limits."""


def option_name(option: str) -> str:
    """The name of an option of a command line, with dashes and without its prefix `loose-`."""
    return option.partition("=")[0].replace("_", "-").removeprefix("--").removeprefix("loose-")


def given_options(spec: ServerSpec) -> list[str]:
    """The caller's options. Options of the redo log's files are replaced by a capacity if the server supports
    only that.
    """
    has_capacity = spec.binary.flavour is Flavour.MYSQL and spec.binary.version_tuple >= CAPACITY_SINCE
    given = {name: each for each in spec.options if (name := option_name(each)) in LOG_FILE_DEFAULTS}
    if not (has_capacity and given):
        return list(spec.options)
    capacity = 1
    for name, default in LOG_FILE_DEFAULTS.items():
        capacity *= parse_size(given[name].partition("=")[2]) if name in given else default
    others = (each for each in spec.options if option_name(each) not in LOG_FILE_DEFAULTS)
    return [f"--{REDO_LOG_SIZE[Flavour.MYSQL]}={capacity}", *others]


def own_options(spec: ServerSpec, options: Iterable[str]) -> list[str]:
    """Options of tuibench, without those that would override one of the caller's."""
    off = ("0", "off", "false")
    given = {option_name(each) for each in spec.options if each.partition("=")[2].lower() not in off}
    return [each for each in options if SUPERSEDED_BY.get(option_name(each)) not in given]


def base_command(spec: ServerSpec, layout: DirectoryLayout) -> list[str]:
    """The program and the common options: user, folders, no option files."""
    redo_log = f"--loose-{REDO_LOG_SIZE[spec.binary.flavour]}={spec.redo_log_bytes}"
    return [
        spec.binary.path,
        "--no-defaults",
        *user_option(),
        f"--datadir={layout.data}",
        f"--tmpdir={layout.tmp}",
        f"--secure-file-priv={layout.tmp}",
        *own_options(spec, [redo_log]),
        *(option for option in spec.options if option_name(option) in AT_CREATION),
    ]


def server_command(spec: ServerSpec, layout: DirectoryLayout, port: int) -> list[str]:
    """The server's command line. The caller's options come last and take precedence."""
    files = open_files_limit()
    return [
        *base_command(spec, layout),
        f"--port={port}",
        f"--socket={layout.socket}",
        f"--pid-file={layout.server_pid}",
        f"--log-error={layout.error_log}",
        f"--open-files-limit={files}",
        # The other half of the files is for tables: otherwise connections would leave files for 200 tables
        # only.
        f"--max-connections={min(MAX_CONNECTIONS, files // 2)}",
        *own_options(spec, [f"--innodb-buffer-pool-size={spec.buffer_pool_bytes}", *COMMON]),
        *FLAVOURED[spec.binary.flavour],
        *(disk.SERVER_OPTIONS if spec.disk_library else ()),
        *given_options(spec),
    ]


def user_option() -> list[str]:
    """`--user` with the current user: without it, a server refuses to run as root."""
    try:
        return [f"--user={pwd.getpwuid(os.geteuid()).pw_name}"]
    except KeyError:
        return []


def open_files_limit() -> int:
    """The limit of open files for child processes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)


TIMEOUT_SECONDS = 120.0

SHARE_NAMES = ("share/mysql", "share/mariadb", "share")

SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")
"""MariaDB's files, with the prefix `mysql_` until 10.11 and `mariadb_` from 11 on."""

FAST_BOOTSTRAP_OPTIONS = (
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--performance-schema=OFF",
)
"""Options without durability for creating the tables: after a crash the directory is discarded."""

UUID_FILE = "auto.cnf"
"""The file with a MySQL server's UUID, which must be unique."""

PASSWORD_PLUGIN = {
    Flavour.MARIADB: "IDENTIFIED VIA mysql_native_password USING PASSWORD('{}')",
    Flavour.MYSQL: "IDENTIFIED WITH caching_sha2_password BY '{}'",
}


def make_data_directory(spec: ServerSpec, layout: DirectoryLayout) -> None:
    """Create the system tables, or copy them from the template.

    Raises ServerUnavailableError with the end of the log if that fails.
    """
    if spec.template:
        shutil.copytree(spec.template, layout.data, ignore=shutil.ignore_patterns(UUID_FILE))
    else:
        layout.data.mkdir(mode=0o700)
        if spec.binary.flavour is Flavour.MARIADB:
            share = share_directory(spec.binary.path)
            _run(
                [
                    *base_command(spec, layout),
                    "--bootstrap",
                    f"--lc-messages-dir={share}",
                    *FAST_BOOTSTRAP_OPTIONS,
                ],
                bootstrap_sql(share),
                layout,
            )
        else:
            _run([*base_command(spec, layout), "--initialize-insecure", *FAST_BOOTSTRAP_OPTIONS], b"", layout)


def accounts_sql(spec: ServerSpec) -> str:
    """The init file: creates account and database, removes root.

    Init files have one statement per line. The statements are not written to the binary log.
    """
    identified = PASSWORD_PLUGIN[spec.binary.flavour].format(spec.password)
    accounts = [f"'{spec.user}'@'{host}'" for host in ("localhost", "127.0.0.1")]
    statements = [
        "SET sql_log_bin = 0",
        *(f"CREATE USER {account} {identified}" for account in accounts),
        *(f"GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION" for account in accounts),
        "DROP USER IF EXISTS 'root'@'localhost'",
        # The session of MySQL's init file has the default collation of the program, not that of the options.
        "SET collation_server = @@GLOBAL.collation_server",
        f"CREATE DATABASE `{spec.database}`",
    ]
    return "".join(f"{statement};\n" for statement in statements)


def client_options(spec: ServerSpec, layout: DirectoryLayout, port: int) -> str:
    """An option file with the login, for any client."""
    return (
        f"[client]\nuser={spec.user}\npassword={spec.password}\nsocket={layout.socket}\nport={port}\n"
        f"\n[tuibench]\ndatabase={spec.database}\n"
    )


def share_directory(binary: str) -> Path:
    """The folder of MariaDB's SQL files and messages. Raises ServerUnavailableError if it does not exist."""
    roots = dict.fromkeys([Path(binary).parent.parent, Path(binary).resolve().parent.parent, Path("/usr")])
    for root in roots:
        for name in SHARE_NAMES:
            if sql_script(root / name, SCRIPTS[0]):
                return root / name
    raise ServerUnavailableError(
        f"the SQL files that belong to {binary} are missing (mariadb_system_tables.sql)",
        "reinstall the server's package",
    )


def sql_script(share: Path, name: str) -> Path | None:
    """One of MariaDB's SQL files, under either of its names."""
    found = (share / f"{prefix}_{name}" for prefix in ("mariadb", "mysql"))
    return next((path for path in found if path.is_file()), None)


def bootstrap_sql(share: Path) -> bytes:
    """The input of MariaDB's bootstrap mode, without accounts that have no password."""
    files = [path.read_bytes() for name in SCRIPTS if (path := sql_script(share, name))]
    no_accounts = b"DELETE FROM global_priv WHERE User <> 'mariadb.sys';\nDELETE FROM proxies_priv;\n"
    return b"\n".join([b"create database mysql;\nuse mysql;", *files, no_accounts])


def _run(command: list[str], sql: bytes, layout: DirectoryLayout) -> None:
    with layout.error_log.open("ab") as log:
        try:
            code = process.run_with_input(command, sql, log, TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise ServerUnavailableError(
                f"{command[0]} did not create its system tables within {TIMEOUT_SECONDS:.0f} s"
            ) from error
    if code:
        raise process.failure_with_log(f"{command[0]} could not create its system tables", layout.error_log)


def write_files(spec: ServerSpec, layout: DirectoryLayout, port: int) -> None:
    """The two files that contain the password."""
    write_private(layout.init_file, accounts_sql(spec))
    write_private(layout.client_options, client_options(spec, layout, port))


START_SECONDS = 60.0
HALT_SECONDS = 30.0
PORT_ATTEMPTS = 3
PORT_TAKEN = ("address already in use", "bind on tcp/ip port")


class LockOwner(msgspec.Struct, frozen=True):
    """Contents of the lock file: the supervisor's process id, and whether to keep the directory."""

    supervisor_pid: int
    keep: bool


class ServerInstance:
    """A server and its directory. The directory is locked during the life of this process."""

    def __init__(self, spec: ServerSpec, clock: Clock) -> None:
        self._spec = spec
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self.layout = DirectoryLayout.create(Path(spec.base))
        self._lock = lock_directory(self.layout, LockOwner(os.getpid(), spec.keep))
        self._port = 0
        self._disk: disk.DiskPage | None = None
        self._confinement = Confinement()
        self._oom_kills = 0

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def create(self) -> ServerState:
        """Initialise the directory and start the server for the first time, on a free port."""
        self._confinement = confine(self._spec.limits, self.layout.root.name, self._spec.no_scope)
        self._note_groups()
        if self._spec.disk_library:
            binlog = disk.binlog_name((*COMMON, *self._spec.options), "binlog")
            self._disk = disk.DiskPage.create(self.layout.disk_page, binlog=binlog, tmpdir=self.layout.tmp)
        make_data_directory(self._spec, self.layout)
        for left in range(PORT_ATTEMPTS - 1, -1, -1):
            self._port = free_port()
            write_files(self._spec, self.layout, self._port)
            try:
                return self.start(f"--init-file={self.layout.init_file}")
            except ServerUnavailableError as error:
                if not left or not any(words in error.message.lower() for words in PORT_TAKEN):
                    raise
            finally:
                self.layout.init_file.unlink(missing_ok=True)
        raise AssertionError("the last attempt returns or raises")

    def start(self, *extra: str) -> ServerState:
        """Start the server and wait until it accepts connections."""
        command = [*server_command(self._spec, self.layout, self._port), *extra]
        self._oom_kills = self._confinement.oom_kills
        reserve_end(self.layout)
        data = self.layout.data
        moved = (data.resolve(),) if data.is_symlink() else ()
        folders = (self.layout.root, *moved, *landlock.places_in(self._spec.options))
        with self.layout.error_log.open("ab") as log, landlock.only_writing_below(folders) as restrict:

            def enter() -> None:
                self._confinement.enter()
                restrict()

            preloaded = self._spec.disk_library
            environment = disk.environment(preloaded, self.layout.disk_page) if preloaded else {}
            self._process = process.spawn(command, log, enter=enter, environment=environment)
        seconds = start_seconds(self._spec.limits)
        if not process.wait_ready(self._process, self.layout.socket, seconds, self._clock):
            process.kill_process(self._process)
            raise self._out_of_memory() or process.failure_with_log(
                f"{self._spec.binary} did not start", self.layout.error_log
            )
        if self._disk is not None and not self._disk.is_attached:
            process.kill_process(self._process)
            raise ServerUnavailableError(
                f"the disk of {self._spec.binary} cannot be simulated: it loads no library before its own",
                "it may be linked statically; leave out --disk, or choose another program with --server",
            )
        self._confinement.attend(self._process.pid)
        return self._running(self._process)

    @property
    def limits(self) -> ServerLimits:
        """The present limits."""
        return self._confinement.limits

    @property
    def limit_words(self) -> str:
        return self._confinement.words

    def limit(self, limits: ServerLimits) -> None:
        """Change the limits of the running server. Raises UsageError for limits that cannot be applied,
        ServerUnavailableError if the server does not run.
        """
        if self._process is None or self._process.poll() is not None:
            raise ServerUnavailableError("the private server does not run")
        try:
            self._confinement.change(limits, self._process.pid)
        finally:
            self._note_groups()

    def unlimit(self) -> None:
        """Back to the limits that the server was started with."""
        if self.limits != self._spec.limits:
            with contextlib.suppress(TuibenchError, OSError):
                self.limit(self._spec.limits)

    def _note_groups(self) -> None:
        """The groups are removed with the directory, should the supervisor be killed."""
        if groups := self._confinement.groups:
            self.layout.server_group.write_text("\n".join(map(str, groups)))

    def check_running(self) -> ServerState:
        """The state of the server's process. Raises ServerUnavailableError with the reason for its end."""
        if self._process is None or self._process.poll() is None:
            return self._running(self._process)
        raise self._out_of_memory() or process.failure_with_log(
            self._end_words(self._process), self.layout.error_log
        )

    def note_end(self) -> None:
        """If the server's process has ended, write the reason into the directory, for the sessions that use
        the server.
        """
        if self._process is None or self._process.poll() is None:
            return
        self._confinement.leave()
        if self.layout.server_end.exists():
            return
        killed = self._out_of_memory()
        if killed is None:
            write_end(self.layout, ErrorMessage(self._end_words(self._process)))
        else:
            write_end(self.layout, ErrorMessage.of(killed))

    def _end_words(self, server: "subprocess.Popen[bytes]") -> str:
        return f"{self._spec.binary} {end_words(server.returncode)}"

    def _running(self, server: "subprocess.Popen[bytes] | None") -> ServerState:
        pid = 0 if server is None else server.pid
        return ServerState(pid, self._port, str(self.layout.root), self._confinement.words)

    def _out_of_memory(self) -> ServerUnavailableError | None:
        """The error if the kernel has killed the server since its start because memory was exhausted."""
        limit = self.limits.memory_bytes
        if limit is None or self._confinement.oom_kills <= self._oom_kills:
            return None
        most = units.binary_size(limit)
        return ServerUnavailableError(
            f"the kernel killed {self._spec.binary}: it needs more than its {most} of memory",
            "give it more by --memory, or a smaller buffer pool by --mysqld-option=innodb_buffer_pool_size=…",
        )

    def halt(self) -> None:
        """Shut the server down cleanly."""
        self._confinement.leave()
        if self._process is not None:
            process.shut_down(self._process, HALT_SECONDS)

    def kill(self) -> None:
        """Kill the server, to simulate a crash. The reason for this end is not written."""
        self._confinement.leave()
        if self._process is not None:
            process.kill_process(self._process)
            self._process = None

    def end(self, *, remove: bool) -> None:
        """End the server finally. A temporary server needs no clean shutdown."""
        if remove:
            self.kill()
            remove_directory(self.layout)
        else:
            self.halt()
        self._confinement.remove()
        self._lock.close()


def start_seconds(limits: ServerLimits) -> float:
    """Time limit of a start: longer with less than one processor."""
    return START_SECONDS / min(1.0, limits.cpus or 1.0)


def lock_directory(layout: DirectoryLayout, mark: LockOwner) -> IO[bytes]:
    """Mark the directory as supervised by this process.

    The kernel releases the lock at the end of the process.
    """
    file = layout.supervisor_lock.open("xb")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    file.write(msgspec.json.encode(mark))
    file.flush()
    return file


def remove_directory(layout: DirectoryLayout) -> None:
    """Remove the directory, the lock file last, so that a partly removed directory can be recognised."""
    for path in layout.root.iterdir():
        if path == layout.supervisor_lock:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    shutil.rmtree(layout.root, ignore_errors=True)


def copy_data(source: Path, copy: Path) -> None:
    """Replace a data directory by a copy of another one, where a link leads to. Raises RunError if that
    fails.
    """
    source, copy = source.resolve(), copy.resolve()
    try:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy, symlinks=True)
    except OSError as error:
        raise RunError(
            f"cannot copy the data of the private server: {error.strerror or error}",
            "TMPDIR names a folder with more room, or take --start=as-is",
        ) from error


def drop_from_page_cache(directory: Path) -> None:
    """Remove the files from the page cache, if the system supports that, so that they are read from disk
    again.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def free_port() -> int:
    """A free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


DEATH_SECONDS = 10.0
UNMARKED_SECONDS = 600.0
"""A directory without a mark counts as abandoned from this age on; a newer one may be under creation."""
POLL_SECONDS = 0.02


def remove_leftovers(base: Path) -> list[Path]:
    """Remove directories and servers of killed supervisors below `base`; returns the removed directories."""
    return [
        path
        for path in sorted(base.glob(f"{PRIVATE_SERVER_PREFIX}*"))
        if _is_ours(path) and remove_leftover(DirectoryLayout(path))
    ]


def remove_leftover(layout: DirectoryLayout) -> bool:
    """Remove one directory and end its server; False if it is in use or to be kept."""
    try:
        descriptor = os.open(layout.supervisor_lock, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _remove_unmarked(layout)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            text = file.read()
            if not text:
                return _remove_unmarked(layout)
            mark = msgspec.json.decode(text, type=LockOwner)
        except (OSError, *DECODE_ERRORS):
            return False
        if mark.keep:
            return False
        end_server(layout)
        remove_server_group(layout)
        remove_directory(layout)
    return not layout.root.exists()


def _remove_unmarked(layout: DirectoryLayout) -> bool:
    """Remove a directory that has only files created before the mark, unless it is new; True if it was
    removed.
    """
    try:
        if time.time() - layout.root.stat().st_mtime < UNMARKED_SECONDS:
            return False
        if {path.name for path in layout.root.iterdir()} - {layout.tmp.name, layout.supervisor_lock.name}:
            return False
        if layout.tmp.exists():
            layout.tmp.rmdir()
        layout.supervisor_lock.unlink(missing_ok=True)
        layout.root.rmdir()
    except OSError:
        return False
    return True


def end_server(layout: DirectoryLayout) -> None:
    """Kill the server of a directory, if it still runs, and wait for its end."""
    pid = server_pid(layout)
    if pid is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for _ in range(int(DEATH_SECONDS / POLL_SECONDS)):
        if server_pid(layout) is None:
            return
        time.sleep(POLL_SECONDS)


def remove_server_group(layout: DirectoryLayout, root: Path = cgroup.ROOT) -> None:
    """Remove the control groups of a directory's server, if it had some."""
    with contextlib.suppress(OSError):
        for group in layout.server_group.read_text().splitlines():
            cgroup.remove_group(Path(group), root)


def server_pid(layout: DirectoryLayout) -> int | None:
    """The server's process. It must match pid file *and* command line, because process ids are reused."""
    try:
        pid = int(layout.server_pid.read_text())
    except (OSError, ValueError):
        return None
    return pid if f"--datadir={layout.data}" in _command_line(pid) else None


def _command_line(pid: int) -> str:
    """A process's arguments; empty if it has ended."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    asked = subprocess.run(
        ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout


def _is_ours(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and path.is_dir() and not path.is_symlink()
