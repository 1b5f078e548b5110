"""The guardian: a process that outlives the session, restores what its journal still holds, and removes its
socket.

`Guardian` is the session's handle: start, check, release. It uses plain `subprocess`: asyncio's transports
kill their child when the session's loop ends.

The process (`main`) gets its order as one line on stdin; stdin's end is the session's end, however it came.
Signals that end a terminal's programs are ignored: being there afterwards is this process's only purpose.
"""

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, cast

import msgspec

from tuibench.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.errors import RunError, TuibenchError
from tuibench.model.server import Target
from tuibench.own_process import own_command
from tuibench.tuning.connection import AdminConnection, Connect, admin_connector
from tuibench.tuning.journal import Journal, JournalBusyError
from tuibench.tuning.restore import PENDING, RestoreOutcome, restore_settings, retry_delays
from tuibench.unix_sockets import remove_dead_socket, socket_path

READY = b"ready\n"
GUARDIAN_RETRY_SECONDS = 120.0
"""How long a guardian keeps trying while the server is away; after that `tuibench restore` has to."""

SOCKET_ATTEMPTS, SOCKET_PAUSE_SECONDS = 20, 0.05

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)


class GuardianRequest(msgspec.Struct, frozen=True):
    """The input of a guardian: the server, with its password, and the journal."""

    target: Target
    journal: str


START_SECONDS = 30.0
"""How long a guardian may take to answer; a loaded host is slow to start a process."""

_COMMAND = own_command("tuibench.tuning.guardian")

Process = subprocess.Popen[bytes]
Pipes = tuple[IO[bytes], IO[bytes], IO[bytes]]


class Guardian:
    """One guardian process after the other, as long as the session lives.

    The order goes through a pipe, password and all. `pass_fds` stay open in the process until it ends.
    `pid` is the process id of the present one, 0 if there is none.
    """

    def __init__(self, request: GuardianRequest, pass_fds: tuple[int, ...]) -> None:
        self._request = request
        self._pass_fds = pass_fds
        self._process: Process | None = None
        self.pid = 0
        self._lock = asyncio.Lock()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def ensure_alive(self) -> bool:
        """Starts a guardian if there is none; True if it had to. Await it before each change.

        Raises RunError if it does not come up: then no setting should be changed.
        """
        async with self._lock:
            if self.alive:
                return False
            if self._process:
                _close(self._process)
            self._process = await asyncio.to_thread(_spawn, self._request, self._pass_fds)
            self.pid = self._process.pid
            return True

    async def release(self, wait_seconds: float = 5.0) -> bool:
        """Notifies the guardian that the session is over; True if it ends within the time.

        It ends at once when everything is restored, otherwise it keeps trying.
        """
        async with self._lock:
            process, self._process, self.pid = self._process, None, 0
            return process is None or await asyncio.to_thread(_wait_for_exit, process, wait_seconds)


def _spawn(request: GuardianRequest, pass_fds: tuple[int, ...]) -> Process:
    try:
        process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except OSError as error:
        raise _did_not_start(str(error.strerror)) from error
    try:
        stdin, stdout, stderr = cast("Pipes", (process.stdin, process.stdout, process.stderr))
        with contextlib.suppress(BrokenPipeError):
            stdin.write(msgspec.json.encode(request) + b"\n")
        if _read(stdout.fileno(), len(READY), START_SECONDS) != READY:
            process.kill()
            words = stderr.read().decode(errors="replace").strip().splitlines()
            why = words[-1] if words else f"no answer within {START_SECONDS:.0f} s"
            raise _did_not_start(why)
    except BaseException:
        process.kill()
        _close(process)
        process.wait()
        raise
    _close_outputs(process)
    return process


def _did_not_start(why: str) -> RunError:
    return RunError(
        f"the guardian, which restores settings after a crash, did not start: {why}",
        "no setting is changed without it",
    )


def _read(fd: int, length: int, seconds: float) -> bytes:
    """Up to `length` bytes, fewer at the end of the pipe or when time is up."""
    data, deadline = b"", time.monotonic() + seconds
    while len(data) < length and select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
        more = os.read(fd, length - len(data))
        if not more:
            break
        data += more
    return data


def _wait_for_exit(process: Process, wait_seconds: float) -> bool:
    _close(process)
    try:
        process.wait(wait_seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _close(process: Process) -> None:
    if process.stdin:
        process.stdin.close()
    _close_outputs(process)


def _close_outputs(process: Process) -> None:
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()


def main() -> int:
    """The process: 0 if nothing is left to restore, 1 otherwise."""
    for number in _IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    line = _read_line()
    if not line:
        return 0
    request = msgspec.json.decode(line, type=GuardianRequest)
    path, connect = Path(request.journal).absolute(), admin_connector(request.target)
    socket = socket_path(path.stem).absolute()
    os.write(_STDOUT, READY)
    # The session's pipes, terminal and directory must not be held open.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, _STDOUT)
    os.dup2(null, _STDERR)
    os.close(null)
    with contextlib.suppress(OSError):
        os.chdir("/")
    while os.read(_STDIN, 4096):
        pass
    try:
        return 0 if asyncio.run(restore_until_done(path, connect, SystemClock())) else 1
    except TuibenchError:
        return 1
    finally:
        _remove_socket(socket)


async def restore_until_done(path: Path, connect: Connect, clock: Clock) -> bool:
    """Tries until nothing more can be done, or patience ends; True if nothing is left in the journal.

    Raises JournalError when the journal is damaged.
    """
    deadline_ns = clock.now_ns() + int(GUARDIAN_RETRY_SECONDS * NS_PER_SECOND)
    control = AdminConnection(connect)
    try:
        for pause in retry_delays():
            outcomes = await _attempt(path, control, clock)
            if RestoreOutcome.UNREACHABLE not in outcomes:
                return not outcomes & PENDING
            if clock.now_ns() + pause * NS_PER_SECOND > deadline_ns:
                return False
            await clock.sleep(pause)
    finally:
        await control.close()
    return False


async def _attempt(path: Path, control: AdminConnection, clock: Clock) -> set[RestoreOutcome]:
    """One try. The lock is released between tries, so that `tuibench restore` can take over."""
    try:
        journal = Journal.claim(path)
    except JournalBusyError:
        return {RestoreOutcome.UNREACHABLE}
    if journal is None:
        return set()
    with journal:
        return {restored.outcome for restored in await restore_settings(control, journal, clock)}


def _read_line() -> bytes:
    """The first line of stdin; empty if the session ended before it was whole."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(_STDIN, 65536)
        if not more:
            return b""
        line += more
    return line


def _remove_socket(path: Path) -> None:
    """Removes the socket of the dead session, which the kernel may close later than our stdin."""
    for _ in range(SOCKET_ATTEMPTS):
        if not path.is_socket():
            return
        remove_dead_socket(path)
        time.sleep(SOCKET_PAUSE_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
