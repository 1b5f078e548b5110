"""The guardian: a process that outlives the session, restores what its journal holds, and removes its socket.

`Guardian` is the session's handle: start, check, release. It uses plain `subprocess`: asyncio's transports
kill their child when the session's loop ends.

The process (`main`) gets its order as one line over a socket on stdin. The end of that socket is the
session's end, whatever the cause. The descriptor of the journal's file comes over the same socket, so that
the guardian finds the file even if it was moved or deleted. Signals that end a terminal's programs are
ignored, because the process exists only to outlive the session.
"""

import asyncio
import contextlib
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, cast

import msgspec

from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import RunError, TuibenchError
from tuibench.base.own_process import own_command
from tuibench.base.unix_sockets import remove_dead_socket, socket_path
from tuibench.model.server import Target
from tuibench.tuning.connection import AdminConnection, Connect, admin_connector
from tuibench.tuning.journal import Journal, JournalBusyError, JournalError, place_of
from tuibench.tuning.restore import PENDING, RestoreOutcome, restore_settings, retry_delays

READY = b"ready\n"
GUARDIAN_RETRY_SECONDS = 120.0
"""How long a guardian retries while the server is unavailable; after that, `tuibench restore` is needed."""

GONE_SECONDS = 3.0
"""How long a guardian waits after its journal was deleted or moved, so that the other sessions can write
theirs again.
"""

SOCKET_ATTEMPTS, SOCKET_PAUSE_SECONDS = 20, 0.05

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)


class GuardianRequest(msgspec.Struct, frozen=True):
    """The input of a guardian: the server, with its password, and the journal."""

    target: Target
    journal: str


START_SECONDS = 30.0
"""Timeout for the answer of a guardian: a loaded host is slow to start a process."""

_COMMAND = own_command("tuibench.tuning.guardian")

Process = subprocess.Popen[bytes]
Pipes = tuple[IO[bytes], IO[bytes]]


class Guardian:
    """One guardian process after the other, as long as the session lives.

    The order, which includes the password, is sent over a socket. `pass_fds` stay open in the process until
    it ends.
    """

    def __init__(self, request: GuardianRequest, pass_fds: tuple[int, ...]) -> None:
        self._request = request
        self._pass_fds = pass_fds
        self._process: Process | None = None
        self._link: socket.socket | None = None
        self._journal_fd = -1
        self.pid = 0
        """The current process; 0 without one."""
        self._lock = asyncio.Lock()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def hold(self, journal_fd: int) -> None:
        """Sends the open file of the journal to the process, and to each that follows; -1 for none.

        Any thread may call it. A process that has died is replaced before the next change.
        """
        self._journal_fd = journal_fd
        if journal_fd >= 0 and self._link is not None:
            with contextlib.suppress(OSError):
                _send_descriptor(self._link, journal_fd)

    async def ensure_alive(self) -> bool:
        """Starts a guardian if there is none; True if it had to. Await it before each change.

        Raises RunError if it does not start: then no setting should be changed.
        """
        async with self._lock:
            if self.alive:
                return False
            if self._link:
                self._link.close()
            process, self._link = await asyncio.to_thread(
                _spawn, self._request, self._pass_fds, self._journal_fd
            )
            self._process, self.pid = process, process.pid
            return True

    async def release(self, wait_seconds: float = 5.0) -> bool:
        """Tells the guardian that the session is over; True if it ends within the time.

        It ends at once when everything is restored, otherwise it keeps trying.
        """
        async with self._lock:
            process, self._process, self.pid = self._process, None, 0
            if self._link:
                self._link.close()
                self._link = None
            return process is None or await asyncio.to_thread(_ends_within, process, wait_seconds)


def _send_descriptor(link: socket.socket, fd: int) -> None:
    socket.send_fds(link, [b"\n"], [fd])


def _spawn(
    request: GuardianRequest, pass_fds: tuple[int, ...], journal_fd: int
) -> tuple[Process, socket.socket]:
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = subprocess.Popen(
                _COMMAND,
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=pass_fds,
            )
    except OSError as error:
        ours.close()
        raise _did_not_start(str(error.strerror)) from error
    stdout, stderr = cast("Pipes", (process.stdout, process.stderr))
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            ours.sendall(msgspec.json.encode(request) + b"\n")
            if journal_fd >= 0:
                _send_descriptor(ours, journal_fd)
        if _read(stdout.fileno(), len(READY), START_SECONDS) != READY:
            process.kill()
            words = stderr.read().decode(errors="replace").strip().splitlines()
            why = words[-1] if words else f"no answer within {START_SECONDS:.0f} s"
            raise _did_not_start(why)
    except BaseException:
        process.kill()
        ours.close()
        process.wait()
        raise
    finally:
        stdout.close()
        stderr.close()
    return process, ours


def _did_not_start(why: str) -> RunError:
    return RunError(
        f"the guardian, which restores settings after a crash, did not start: {why}",
        "no setting is changed without it",
    )


def _read(fd: int, length: int, seconds: float) -> bytes:
    """Up to `length` bytes; fewer at the end of the pipe or after the timeout."""
    data, deadline = b"", time.monotonic() + seconds
    while len(data) < length and select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
        more = os.read(fd, length - len(data))
        if not more:
            break
        data += more
    return data


def _ends_within(process: Process, seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


class _SessionLink:
    """The guardian's end of the socket: the order, and the journal's file that was sent last."""

    def __init__(self) -> None:
        self.journal_fd = -1
        self._socket = socket.socket(fileno=_STDIN)

    def line(self) -> bytes:
        """The first line; empty if the session ended before it was complete."""
        line = b""
        while b"\n" not in line:
            if not (more := self._receive()):
                return b""
            line += more
        return line.partition(b"\n")[0]

    def wait_for_end(self) -> None:
        while self._receive():
            pass

    def _receive(self) -> bytes:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._socket, 65536, 8)
        except ConnectionResetError:
            return b""
        for fd in descriptors:
            if self.journal_fd >= 0:
                os.close(self.journal_fd)
            self.journal_fd = fd
        return data


def main() -> int:
    """Runs the guardian; returns 0 if nothing is left to restore, otherwise 1."""
    for number in _IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    link = _SessionLink()
    if not (line := link.line()):
        return 0
    request = msgspec.json.decode(line, type=GuardianRequest)
    path, connect = Path(request.journal).absolute(), admin_connector(request.target)
    dead_socket = socket_path(path.stem).absolute()
    os.write(_STDOUT, READY)
    # The process must not keep the session's pipes, terminal and directory open.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, _STDOUT)
    os.dup2(null, _STDERR)
    os.close(null)
    with contextlib.suppress(OSError):
        os.chdir("/")
    link.wait_for_end()
    try:
        done = asyncio.run(restore_until_done(path, connect, SystemClock(), link.journal_fd))
        return 0 if done else 1
    except TuibenchError:
        return 1
    finally:
        _remove_socket(dead_socket)


async def restore_until_done(path: Path, connect: Connect, clock: Clock, journal_fd: int = -1) -> bool:
    """Retries until nothing more can be done, or the time is up; True if nothing is left in the journal.

    The journal's file is found by the descriptor, if there is one, otherwise by its path. Raises JournalError
    if the journal is damaged.
    """
    if journal_fd >= 0 and await asyncio.to_thread(_write_again, path, journal_fd):
        journal_fd = -1
        await clock.sleep(GONE_SECONDS)
    deadline_ns = clock.now_ns() + int(GUARDIAN_RETRY_SECONDS * NS_PER_SECOND)
    control = AdminConnection(connect)
    try:
        for pause in retry_delays():
            outcomes = await _attempt(path, journal_fd, control, clock)
            if RestoreOutcome.UNREACHABLE not in outcomes:
                return not outcomes & PENDING
            if clock.now_ns() + pause * NS_PER_SECOND > deadline_ns:
                return False
            await clock.sleep(pause)
    finally:
        await control.close()
    return False


def _write_again(path: Path, journal_fd: int) -> bool:
    """Writes a journal that was deleted or moved to its path again, where other sessions look for it.

    False if it was in place, has no change to restore, or cannot be written.
    """
    try:
        with Journal.adopt(path, journal_fd) as journal:
            return bool(journal.ledger.open_settings and journal.keep())
    except JournalError:
        return False
    finally:
        fcntl.flock(journal_fd, fcntl.LOCK_UN)


async def _attempt(
    path: Path, journal_fd: int, control: AdminConnection, clock: Clock
) -> set[RestoreOutcome]:
    """One attempt. The lock is released between attempts, so that `tuibench restore` can take over."""
    try:
        journal = (
            Journal.claim(path) if journal_fd < 0 else Journal.adopt(place_of(journal_fd) or path, journal_fd)
        )
    except JournalBusyError:
        return {RestoreOutcome.UNREACHABLE}
    if journal is None:
        return set()
    try:
        with journal:
            return {restored.outcome for restored in await restore_settings(control, journal, clock)}
    finally:
        if journal_fd >= 0:
            fcntl.flock(journal_fd, fcntl.LOCK_UN)


def _remove_socket(path: Path) -> None:
    """Removes the socket of the dead session, which the kernel may close later than our stdin."""
    for _ in range(SOCKET_ATTEMPTS):
        if not path.is_socket():
            return
        remove_dead_socket(path)
        time.sleep(SOCKET_PAUSE_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
