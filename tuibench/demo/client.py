"""The owner's client of a supervisor process: start, requests, release.

Blocking; `server` calls it in threads.

No object belongs to an event loop: a server may be started in one loop and stopped in another.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from tuibench.demo.messages import (
    EndSupervisor,
    RequestFailed,
    SupervisorReply,
    SupervisorRequest,
    decode_reply,
    encode_message,
)
from tuibench.errors import RunError, ServerUnavailableError

_released: list["subprocess.Popen[bytes]"] = []
"""Supervisors that outlive this process: referenced, so that Python does not warn about running children."""


class SupervisorClient:
    """A running supervisor; the server lives while a process holds `watch_fd`, the write end of its pipe."""

    def __init__(self, scope: Sequence[str] = ()) -> None:
        """`scope` is put before the command (`systemd_scope`); the process is the same."""
        reader, self.watch_fd = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*scope, sys.executable, "-P", "-m", "tuibench.demo.supervisor", str(reader)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[reader],
                start_new_session=True,
            )
        except BaseException:
            os.close(self.watch_fd)
            raise
        finally:
            os.close(reader)
        self._lock = threading.Lock()
        self._open = True

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, instruction: SupervisorRequest) -> SupervisorReply:
        """Send a request and wait for the reply. Raises ServerUnavailableError if it failed."""
        with self._lock:
            self._send(instruction)
            assert self._process.stdout is not None  # noqa: S101
            text = self._process.stdout.readline()
        if not text:
            raise ServerUnavailableError("the supervisor of the private server has ended")
        reply = decode_reply(text)
        if isinstance(reply, RequestFailed):
            raise ServerUnavailableError(reply.message, reply.hint)
        return reply

    def end(self, *, remove: bool) -> None:
        """Make the supervisor stop the server at once, and wait for it."""
        with self._lock:
            self._send(EndSupervisor(remove))
            self._close()
        self._process.wait()

    def abandon(self) -> None:
        """Ask the supervisor to end, without waiting for it."""
        self._process.terminate()

    def release(self) -> None:
        """Give up ownership; the server lives on if it is kept, or while a process holds `watch_fd`."""
        with self._lock:
            self._close()
        _released.append(self._process)

    def _send(self, instruction: SupervisorRequest) -> None:
        if not self._open:
            raise RunError("the private server was stopped already")
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(encode_message(instruction))
            self._process.stdin.flush()
        except BrokenPipeError:
            return

    def _close(self) -> None:
        self._open = False
        os.close(self.watch_fd)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
