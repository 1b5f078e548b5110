"""The sessions of this machine: starting, listing and finding them, and the socket of each.

A session is a process of its own, detached from the terminal. It is started with plain `subprocess`: the
transports of asyncio close with their loop, and warn about a child that outlives it.
"""

import asyncio
import contextlib
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import IO, NamedTuple, cast

import msgspec

from tuibench.base import files, paths
from tuibench.base.errors import (
    RunError,
    SessionUnreachableError,
    UsageError,
    abbreviated_list,
    matching_names,
)
from tuibench.base.own_process import own_command
from tuibench.base.unix_sockets import DEAD, SUFFIX, connect_unix, listen_unix
from tuibench.model.findings import ErrorMessage
from tuibench.model.message import Hello, ServiceSpec
from tuibench.session.client import SessionClient, peer_of

HELLO_TIMEOUT_SECONDS = 2.0


class SessionEntry(NamedTuple):
    """One session: its description, or the reason why there is none."""

    name: str
    path: Path
    hello: Hello | None
    pid: int = 0
    error: str = ""


async def running_sessions(timeout_seconds: float = HELLO_TIMEOUT_SECONDS) -> list[SessionEntry]:
    """All running sessions by name, including those that do not answer."""
    asked = await asyncio.gather(*(_ask(path, timeout_seconds) for path in _sockets()))
    return sorted((entry for entry in asked if entry is not None), key=lambda entry: entry.name)


LATEST = "latest"
"""The session that was started last."""


async def find_session(wanted: str) -> Path:
    """The socket of a session. `wanted` is its name, a unique beginning or part of it, or `latest`; empty for
    the only session.

    Raises SessionUnreachableError if there is none, with the nearest name; UsageError if several match.
    """
    running = await running_sessions()
    names = [entry.name for entry in running]
    if not names:
        raise SessionUnreachableError(
            "no session is running", "start one with tuibench live … or run … --detach"
        )
    if wanted == LATEST:
        return max((entry.path for entry in running), key=lambda path: path.stat().st_mtime)
    meant = matching_names(wanted, names)
    if len(meant) > 1:
        raise UsageError(f"several sessions match: {abbreviated_list(meant)}", "name one of them")
    if not meant:
        near = get_close_matches(wanted, names, 1, cutoff=0.0)
        raise SessionUnreachableError(f"there is no session '{wanted}'", f"did you mean '{near[0]}'?")
    return next(entry.path for entry in running if entry.name == meant[0])


def _sockets() -> Iterable[Path]:
    for folder in paths.runtime_dirs():
        with contextlib.suppress(OSError):
            yield from sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_socket())


async def _ask(path: Path, timeout_seconds: float) -> SessionEntry | None:
    """The session that listens on a socket; None if there is none any more."""
    try:
        client = await SessionClient.connect(path, timeout_seconds)
    except SessionUnreachableError as error:
        pid = _listener(path)
        if pid is None:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return SessionEntry(path.name.removesuffix(SUFFIX), path, None, pid, error.message)
    await client.close()
    return SessionEntry(client.hello.session, path, client.hello, client.hello.pid)


def _listener(path: Path) -> int | None:
    """The process that listens on a socket, 0 if unknown; None without a listener."""
    try:
        with connect_unix(path) as sock:
            return peer_of(sock).pid
    except OSError as error:
        return None if error.errno in DEAD else 0


LONGEST_LINE_BYTES = 1 << 16
CHECK_SECONDS = 2.0
WAITING_CALLS = 1024
"""Length of the kernel's queue of connections; further ones are refused."""

OnConnect = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class SocketListener:
    """The socket of a session, from `open` to `close`; `keep` checks it in between."""

    def __init__(self, path: Path, on_connect: OnConnect) -> None:
        self._path = path
        self._on_connect = on_connect
        self._server: asyncio.Server | None = None
        self._inode = 0

    async def open(self) -> None:
        """Start to listen. Raises RunError if that is not possible."""
        sock = listen_unix(self._path)
        self._inode = self._path.stat().st_ino
        self._server = await asyncio.start_unix_server(
            self._on_connect, sock=sock, limit=LONGEST_LINE_BYTES, backlog=WAITING_CALLS
        )

    async def keep(self) -> None:
        """Check regularly whether the socket still exists."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self.check()

    async def check(self) -> None:
        """Reopens a removed socket. If its folder cannot be created now, a later check does it."""
        if self._is_there():
            return
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(RunError):
            await self.open()

    def close(self) -> None:
        """Stops listening; open connections stay open."""
        if self._server is not None:
            self._server.close()
        if self._is_there():
            self._path.unlink(missing_ok=True)

    def _is_there(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False


_COMMAND = own_command("tuibench.session.service")

Process = subprocess.Popen[bytes]


async def launch(spec: ServiceSpec, log: Path) -> Path:
    """Start the service and wait until it listens; returns the path of its socket.

    The process leads its own process session, so that it survives the terminal; its stderr goes to `log`.
    Raises the service's error if it cannot run. If cancelled, it ends the process.
    """
    process = _spawn(log, spec.session.pass_fds)
    try:
        line = await asyncio.to_thread(_read_answer, process, spec)
    except BaseException:
        process.terminate()
        raise
    finally:
        threading.Thread(target=_reap, args=(process,), name="session's end", daemon=True).start()
    if not line:
        raise RunError("the session's process ended before it could serve", f"see {log}")
    launched: str | ErrorMessage = msgspec.json.decode(line, type=str | ErrorMessage)
    if isinstance(launched, ErrorMessage):
        raise launched.error
    return Path(launched)


def _spawn(log: Path, pass_fds: tuple[int, ...]) -> Process:
    with _opened(log) as stderr:
        try:
            return subprocess.Popen(
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except OSError as error:
            raise RunError(f"cannot start the session's process: {error.strerror}") from error


def _opened(log: Path) -> IO[bytes]:
    try:
        paths.ensure_private(log.parent)
        return files.private(log, "ab")
    except OSError as error:
        raise RunError(
            f"cannot write the sessions' log {log}: {error.strerror}", "set TUIBENCH_HOME to another place"
        ) from error


def _reap(process: Process) -> None:
    """Wait for the process, so that it does not become a zombie."""
    process.wait()
    for pipe in _pipes(process):
        pipe.close()


def _pipes(process: Process) -> tuple[IO[bytes], IO[bytes]]:
    return cast("tuple[IO[bytes], IO[bytes]]", (process.stdin, process.stdout))


def _read_answer(process: Process, spec: ServiceSpec) -> bytes:
    """Send the specification and wait for the answer; empty if the process ends without one."""
    stdin, stdout = _pipes(process)
    with contextlib.suppress(BrokenPipeError), stdin:
        stdin.write(msgspec.json.encode(spec) + b"\n")
    with stdout:
        return stdout.readline()
