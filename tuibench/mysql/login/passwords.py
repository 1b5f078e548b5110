"""Passwords printed by a command, for servers whose tokens expire.

The command runs in a shell, once for all simultaneous logins: its output is valid for a few seconds. The
output is sent to the server and to nothing else.
"""

import asyncio
import os
import signal
import time
from contextlib import suppress
from weakref import WeakKeyDictionary

from tuibench import sanitize
from tuibench.deadline import wait_with_timeout
from tuibench.errors import ServerUnavailableError
from tuibench.model.target import Target

CACHE_SECONDS = 10.0
COMMAND_TIMEOUT_SECONDS = 30.0

HINT = "run it manually: it must print the password and exit with 0"


class PasswordCache:
    """The last outputs of the commands of one event loop."""

    def __init__(self, good_for_seconds: float = CACHE_SECONDS) -> None:
        self._good_for_seconds = good_for_seconds
        self._printed: dict[str, tuple[float, str]] = {}
        self._running: dict[str, asyncio.Task[str]] = {}

    async def of(self, target: Target) -> str:
        """The target's current password. Raises ServerUnavailableError if its command fails."""
        command = target.password_command
        if not command:
            return target.password
        printed = self._printed.get(command)
        if printed and time.monotonic() - printed[0] < self._good_for_seconds:
            return printed[1]
        return await asyncio.shield(self._run(command))

    def forget(self, target: Target, password: str, since: float) -> bool:
        """Discard a password that the server refused; `since` is the time of the request (monotonic seconds).

        True if another attempt may succeed: the password was printed for an earlier login, or there is a
        newer one.
        """
        command = target.password_command
        if not command:
            return False
        printed = self._printed.get(command)
        if printed and printed[1] == password:
            del self._printed[command]
            return printed[0] < since
        return True

    def _run(self, command: str) -> "asyncio.Task[str]":
        """The run of a command that is under way, else a new one."""
        if command not in self._running:
            task = self._running[command] = asyncio.create_task(self._remembered(command))
            task.add_done_callback(lambda done: self._ended(command, done))
        return self._running[command]

    def _ended(self, command: str, task: "asyncio.Task[str]") -> None:
        """Retrieves the error, too: nothing else may be waiting for it."""
        del self._running[command]
        if not task.cancelled():
            task.exception()

    async def _remembered(self, command: str) -> str:
        password = await run_password_command(command)
        self._printed[command] = (time.monotonic(), password)
        return password


_PER_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, PasswordCache] = WeakKeyDictionary()


def password_cache() -> PasswordCache:
    """Those of the running event loop."""
    return _PER_LOOP.setdefault(asyncio.get_running_loop(), PasswordCache())


async def run_password_command(command: str, longest_seconds: float = COMMAND_TIMEOUT_SECONDS) -> str:
    """The output of a command, without the newline at its end. Raises ServerUnavailableError."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, complaint = await wait_with_timeout(process.communicate(), longest_seconds)
    except TimeoutError:
        raise ServerUnavailableError(
            f"the password command took longer than {longest_seconds:g} s", HINT
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        raise ServerUnavailableError(_failure_message(process.returncode, complaint), HINT)
    return _parse_password(out)


def _failure_message(status: int, complaint: bytes) -> str:
    how = f"ended with {status}" if status > 0 else f"was ended by signal {-status}"
    words = sanitize.excerpt(" ".join(complaint.decode(errors="replace").split()))
    return f"the password command {how}" + (f": {words}" if words else "")


def _parse_password(out: bytes) -> str:
    try:
        password = out.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ServerUnavailableError("the password command does not print text", HINT) from None
    if not password:
        raise ServerUnavailableError("the password command prints nothing", HINT)
    if "\n" in password:
        raise ServerUnavailableError("the password command prints more than one line", HINT)
    return password
