"""Server processes: start, wait for readiness, termination, and the end of the error log.

On Linux, a process started here is killed when its parent ends.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import ServerUnavailableError

POLL_SECONDS = 0.02
GREETING_SECONDS = 5.0
TAIL_LINES = 8

_PR_SET_PDEATHSIG = 1


def spawn(
    command: list[str],
    log: IO[bytes],
    stdin: int = subprocess.DEVNULL,
    enter: Callable[[], None] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a process that is killed when this process ends for any reason.

    `enter` runs in it before the program.
    """
    try:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=log,
            stderr=log,
            preexec_fn=_before_program(enter),
            cwd=Path(log.name).parent,
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


def end_words(code: int) -> str:
    """How a process ended, by its exit code: ended with exit code 1, was killed by SIGKILL."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def failure_with_log(what: str, error_log: Path) -> ServerUnavailableError:
    """An error with the end of the server's log."""
    return ServerUnavailableError("\n  ".join([f"{what}; its log ends:", *log_tail(error_log)]))


def log_tail(error_log: Path) -> list[str]:
    """The log's last errors, or its last lines if it has no errors."""
    lines = error_log.read_text(errors="replace").splitlines() if error_log.is_file() else []
    errors = [line for line in lines if "[ERROR]" in line]
    return (errors or lines)[-TAIL_LINES:] or ["(nothing)"]


def _is_accepting(path: Path) -> bool:
    """True if the server sends its greeting: it listens before it accepts connections."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(GREETING_SECONDS)
        try:
            client.connect(os.fspath(path))
            return bool(client.recv(1))
        except OSError:
            return False


def _before_program(enter: Callable[[], None] | None) -> Callable[[], None] | None:
    steps = [step for step in (_die_with_parent(), enter) if step is not None]
    if not steps:
        return None

    def run_steps() -> None:
        for step in steps:
            step()

    return run_steps


def _die_with_parent() -> Callable[[], None] | None:
    """Ask the kernel to kill this child process when its parent ends; called before exec."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def arm() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return arm
