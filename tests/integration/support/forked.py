"""The program in a fork of a process that has imported it: the imports are most of a start.

`python -m tests.integration.support.forked SOCKET` imports the commands and waits for calls. For each it
forks a reporter, and that one the program, with the arguments, environment, folder, umask and streams of the
call. The reporter tells the program's pid, waits for it, and tells its exit code. What depends on the start
itself, or on what /proc shows of the process, needs `started_anew` in `commands.py`.

With TUIBENCH_TEST_PROGRAM each call starts that program instead: the same tests, of another installation.
"""

import contextlib
import fcntl
import functools
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import IO

from tests.paths import ROOT

PROGRAM = os.environ.get("TUIBENCH_TEST_PROGRAM", "")
"""The program of another installation, such as an archive's; empty for that of these sources."""

NUMBER = struct.Struct("!q")
LAST_SECONDS = 10.0
LAZY = (
    "cli.headless", "cli.runner", "features.compare.comparison", "load.fleet", "load.tables",
    "report.run_report", "session.load_run", "session.preflight", "session.replay", "features.start.screen",
    "tui.viewer", "workload.library",
)  # fmt: skip
"""What commands import when they are called."""


class Fork:
    """A program that runs, or has ended."""

    def __init__(self, report: IO[bytes]) -> None:
        self._report = report
        self._code: int | None = None
        (self.pid,) = NUMBER.unpack(report.read(NUMBER.size))

    def ended(self, seconds: float = 0.0) -> int | None:
        """Waits for its end; its exit code, None if it goes on."""
        if self._code is None and select.select([self._report], [], [], seconds)[0]:
            with self._report:
                (self._code,) = NUMBER.unpack(self._report.read(NUMBER.size))
        return self._code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.ended(LAST_SECONDS)


class Spawned(Fork):
    """The program of another installation."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str], streams: Sequence[int]) -> None:
        stdin, stdout, stderr = streams
        self._process = subprocess.Popen(
            program_command(*arguments),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=env,
            preexec_fn=own_the_terminal if os.isatty(stdin) else None,
        )
        self.pid = self._process.pid

    def ended(self, seconds: float = 0.0) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


def program_command(*arguments: str) -> list[str]:
    """The command that starts the program in a process of its own."""
    return [PROGRAM, *arguments] if PROGRAM else [sys.executable, "-m", "tuibench", *arguments]


class Forks:
    """The process with the imports, and its calls."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.support.forked", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
            )

    def start(self, arguments: Sequence[str], env: Mapping[str, str], streams: Sequence[int]) -> Fork:
        """Starts the program with these for standard input, output and error."""
        if PROGRAM:
            return Spawned(arguments, env, streams)
        umask = os.umask(0)
        os.umask(umask)
        request = json.dumps([list(arguments), dict(env), os.getcwd(), umask]).encode()
        reading, writing = os.pipe()
        with self._lock:
            socket.send_fds(self._link, [NUMBER.pack(len(request))], [*streams, writing])
            self._link.sendall(request)
        os.close(writing)
        return Fork(open(reading, "rb", 0))


@functools.cache
def forks() -> Forks:
    """The one of this test process, whose end it notices."""
    return Forks()


def serve(link: socket.socket) -> None:
    """Takes calls; returns in the process that is to be the program."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        head, fds, _, _ = socket.recv_fds(link, NUMBER.size, 4)
        if not head:
            os._exit(0)
        (length,) = NUMBER.unpack(head)
        request = b""
        while len(request) < length:
            request += link.recv(length - len(request))
        if os.fork() == 0:
            link.close()
            *streams, report = fds
            become(json.loads(request), streams, report)
            return
        for fd in fds:
            os.close(fd)


def become(request: tuple[list[str], dict[str, str], str, int], streams: Sequence[int], report: int) -> None:
    """Returns in the program; reports on it in the other process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if (pid := os.fork()) != 0:
        for fd in streams:
            os.close(fd)
        os.write(report, NUMBER.pack(pid))
        status = os.waitpid(pid, 0)[1]
        os.write(report, NUMBER.pack(os.waitstatus_to_exitcode(status)))
        os._exit(0)
    arguments, env, folder, umask = request
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    for fd in (*streams, report):
        os.close(fd)
    if os.isatty(0):
        own_the_terminal()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    os.umask(umask)
    tempfile.tempdir = None
    sys.argv[1:] = arguments


def own_the_terminal() -> None:
    """The program leads a session of its own, whose terminal is its standard input."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(number, "w" if number else "r", 1, "utf-8", "surrogateescape", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def main() -> None:
    from tuibench.cli.main import COMMANDS, command_module

    for name in COMMANDS:
        command_module(name)
    for name in LAZY:
        import_module(f"tuibench.{name}")
    serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("tuibench", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
