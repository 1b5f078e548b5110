"""Handle of the guardian process: start, check, release.

The guardian is a separate process that outlives the session and restores its changes, see `watch`. It is
started with plain `subprocess`: asyncio's transports kill their child when the session's loop ends.
"""

import asyncio
import contextlib
import os
import select
import subprocess
import sys
import time
from typing import IO, cast

import msgspec

from tuibench.errors import RunError
from tuibench.tuning.guardian_process import READY, GuardianRequest

START_SECONDS = 30.0
"""How long a guardian may take to answer; a loaded host is slow to start a process."""

_COMMAND = (sys.executable, "-P", "-m", "tuibench.tuning.guardian")

Process = subprocess.Popen[bytes]
Pipes = tuple[IO[bytes], IO[bytes], IO[bytes]]


class Guardian:
    """One guardian process after the other, as long as the session lives.

    The order goes through a pipe, password and all. `pass_fds` stay open in the process until it ends.
    """

    def __init__(self, request: GuardianRequest, pass_fds: tuple[int, ...]) -> None:
        self._request = request
        self._pass_fds = pass_fds
        self._process: Process | None = None
        self._lock = asyncio.Lock()

    @property
    def pid(self) -> int:
        """The process id of the present guardian, 0 if there is none."""
        return self._process.pid if self._process else 0

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
            return True

    async def release(self, wait_seconds: float = 5.0) -> bool:
        """Notifies the guardian that the session is over; True if it ends within the time.

        It ends at once when everything is restored, otherwise it keeps trying.
        """
        async with self._lock:
            process, self._process = self._process, None
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
        _send_request(process, request)
    except BaseException:
        process.kill()
        _close(process)
        process.wait()
        raise
    _close_outputs(process)
    return process


def _send_request(process: Process, request: GuardianRequest) -> None:
    """Gives the order and waits for the answer."""
    stdin, stdout, stderr = cast("Pipes", (process.stdin, process.stdout, process.stderr))
    with contextlib.suppress(BrokenPipeError):
        stdin.write(msgspec.json.encode(request) + b"\n")
    if _read(stdout.fileno(), len(READY), START_SECONDS) != READY:
        process.kill()
        words = stderr.read().decode(errors="replace").strip().splitlines()
        why = words[-1] if words else f"no answer within {START_SECONDS:.0f} s"
        raise _did_not_start(why)


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


if __name__ == "__main__":
    from tuibench.tuning.guardian_process import main

    sys.exit(main())
