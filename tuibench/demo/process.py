"""How a server's process is started, seen to be ready, and ended; and what its log says when it fails.

Every process started here dies with the process that started it (Linux).
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


def spawn(command: list[str], log: IO[bytes], stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """Starts a process that is killed when this one ends, however it ends."""
    try:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_parent(),
            cwd=Path(log.name).parent,
        )
    except OSError as error:
        raise ServerUnavailableError(f"cannot run {command[0]}: {error}") from error


def feed(command: list[str], data: bytes, log: IO[bytes], timeout_seconds: float) -> int:
    """Runs a process with `data` as its input, to its end; returns its exit code."""
    process = spawn(command, log, subprocess.PIPE)
    try:
        process.communicate(data, timeout_seconds)
    finally:
        kill(process)
    return process.returncode


def wait_ready(process: "subprocess.Popen[bytes]", path: Path, seconds: float, clock: Clock) -> bool:
    """Waits until the server greets on its socket; False as soon as its process ends, or time is up."""
    deadline_ns = clock.now_ns() + int(seconds * NS_PER_SECOND)
    while clock.now_ns() < deadline_ns:
        if _greets(path):
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
            return False
    return False


def terminate(process: "subprocess.Popen[bytes]", patience_seconds: float) -> None:
    """Shuts a server down in order, and kills it if that takes longer than `patience_seconds`."""
    process.terminate()
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        kill(process)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kills a process, if it still runs, and waits for its end."""
    process.kill()
    process.wait()


def failure(what: str, error_log: Path) -> ServerUnavailableError:
    """An error that ends with what the server's log says."""
    return ServerUnavailableError("\n  ".join([f"{what}; its log ends:", *tail(error_log)]))


def tail(error_log: Path) -> list[str]:
    """The log's last lines: those that are errors, else simply the last."""
    lines = error_log.read_text(errors="replace").splitlines() if error_log.is_file() else []
    errors = [line for line in lines if "[ERROR]" in line]
    return (errors or lines)[-TAIL_LINES:] or ["(nothing)"]


def _greets(path: Path) -> bool:
    """A server listens before it takes connections: only its first byte says that it is ready."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(GREETING_SECONDS)
        try:
            client.connect(os.fspath(path))
            return bool(client.recv(1))
        except OSError:
            return False


def _die_with_parent() -> Callable[[], None] | None:
    """What a child does before it becomes the server: asks the kernel to kill it when we end."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def arm() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return arm
