"""A worker that is a fork of its session, so that it imports nothing that the session has imported already.

Most of what a short run costs is the imports of its processes. The first worker of a session is therefore
forked: before the event loop begins and with it the first thread, since a fork copies locks that other
threads hold. It waits on its socket for the messages of the session, as any worker does. Further workers are
processes of their own (`fleet`).

Linux only: elsewhere the system's libraries do not survive a fork, and there are no descriptors of processes.
"""

import asyncio
import contextlib
import gc
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from tuibench.base import own_process

MODULE = "tuibench.load.worker"
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_UNKNOWN_CODE = 255
"""The exit code of a process that somebody else has waited for; asyncio's processes have the same."""


class PreparedWorker(NamedTuple):
    """A forked worker, and the session's ends of its socket and of its stderr."""

    pid: int
    link: socket.socket
    stderr: int


_waiting: list[PreparedWorker] = []


def prepare(*, keeps_stdout: bool) -> None:
    """Fork a worker, which the next `take` returns; does nothing where that is not safe.

    Call it when all modules of the session are imported, before anything starts a thread. Without
    `keeps_stdout`, what scripts print in the worker is lost.
    """
    if not _can_fork():
        return
    from tuibench.load import worker

    with contextlib.suppress(ImportError):
        import uvloop  # noqa: F401  # both processes run it
    gc.freeze()  # a collection would write to every page, which copies it
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        pid = os.fork()
    except OSError:
        return  # the fleet starts a process, and reports what is missing
    if pid == 0:
        _become_worker(worker.run, theirs, writing, keeps_stdout=keeps_stdout)
    theirs.close()
    os.close(writing)
    _waiting.append(PreparedWorker(pid, ours, reading))


def take() -> PreparedWorker | None:
    """The prepared worker, once; None if there is none."""
    return _waiting.pop() if _waiting else None


def _can_fork() -> bool:
    """True if this process has one thread, and its workers are found by what it shows."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        is_alone = len(os.listdir("/proc/self/task")) == 1
    except (OSError, AttributeError):
        return False
    return is_alone and own_process.shows_own_command()


def _become_worker(
    run: Callable[[int], None], link: socket.socket, stderr: int, *, keeps_stdout: bool
) -> NoReturn:
    """The rest of the forked process; nothing of its session goes on in it."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, _STDIN)
        if not keeps_stdout:
            os.dup2(nothing, _STDOUT)
        os.dup2(stderr, _STDERR)
        descriptor = link.detach()
        # Others wait for the ends of what the session has inherited.
        os.closerange(_STDERR + 1, descriptor)
        os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        own_process.show_as(MODULE, str(descriptor))
        run(descriptor)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


class ForkedProcess:
    """A forked process: what a fleet uses of asyncio's processes."""

    def __init__(self, pid: int, stderr: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stderr = stderr
        self.returncode: int | None = None
        """The exit code; the negative number of the signal that has ended it; None while it runs."""
        self._has_ended = asyncio.Event()
        self._descriptor = os.pidfd_open(pid)
        asyncio.get_running_loop().add_reader(self._descriptor, self._reap)

    @classmethod
    async def of(cls, worker: PreparedWorker) -> "ForkedProcess":
        stderr = asyncio.StreamReader()
        pipe = os.fdopen(worker.stderr, "rb", 0)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stderr), pipe)
        return cls(worker.pid, stderr)

    async def wait(self) -> int:
        await self._has_ended.wait()
        return self.returncode if self.returncode is not None else _UNKNOWN_CODE

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        try:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:
            self.returncode = _UNKNOWN_CODE
        self._has_ended.set()
