"""The client of a private server's supervisor: messages (JSON lines over pipes), start, requests, release.

Blocking; `server` calls it in threads. No object belongs to an event loop: a server may be started in one
loop and stopped in another.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO, Literal

import msgspec

from tuibench.demo.binaries import Binary
from tuibench.errors import RunError, ServerUnavailableError
from tuibench.model.findings import ErrorMessage
from tuibench.model.server import ServerLimits

MIB = 1024 * 1024


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The server to create. The password is sent through a pipe only and is not in the repr.

    `template` is a data directory, created by the same server program, that is copied; by default a new one
    is created. `no_scope` is the reason why the supervisor of a limited server is in no scope of systemd.
    """

    binary: Binary
    base: str
    user: str
    password: str
    database: str
    keep: bool = False
    options: tuple[str, ...] = ()
    buffer_pool_bytes: int = 256 * MIB
    redo_log_bytes: int = 128 * MIB
    template: str = ""
    limits: ServerLimits = ServerLimits()
    no_scope: str = ""

    def __repr__(self) -> str:
        return f"Spec({self.binary} in {self.base})"


Action = Literal["create", "start", "halt", "kill", "check", "end"]


class SupervisorRequest(msgspec.Struct, frozen=True):
    """A request to a supervisor.

    create  the first one: create and initialise the directory of `spec`, start the server
    start   start the server again on the same directory, socket and port; `options` are for this start only
    halt    shut the server down cleanly, keep the directory
    kill    kill the server with SIGKILL, keep the directory
    check   check that the server's process runs; the reply is its state, or the reason for its end
    end     stop the server, `remove` the directory or not, and end: the reply is the end of the supervisor
    """

    action: Action
    spec: ServerSpec | None = None
    options: tuple[str, ...] = ()
    remove: bool = False


class ServerState(msgspec.Struct, frozen=True, tag="state"):
    """The state of the server: `pid` is 0 if its process has ended, otherwise it accepts connections.

    `limited` describes its limits, empty without limits.
    """

    pid: int = 0
    port: int = 0
    directory: str = ""
    limited: str = ""


SupervisorReply = ServerState | ErrorMessage

_requests: msgspec.json.Decoder[SupervisorRequest] = msgspec.json.Decoder(SupervisorRequest)
_replies: msgspec.json.Decoder[SupervisorReply] = msgspec.json.Decoder(SupervisorReply)


def encode_message(message: SupervisorRequest | SupervisorReply) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def decode_request(data: bytes) -> SupervisorRequest:
    return _requests.decode(data)


def decode_reply(data: bytes) -> SupervisorReply:
    return _replies.decode(data)


_released: list["subprocess.Popen[bytes]"] = []
"""Supervisors that outlive this process: referenced, so that Python does not warn about running children."""


class SupervisorControl:
    """Requests to a running supervisor, by its pipes; one process at a time may use them."""

    def __init__(self, requests: IO[bytes] | None, replies: IO[bytes] | None) -> None:
        assert requests is not None  # noqa: S101
        assert replies is not None  # noqa: S101
        self._requests, self._replies = requests, replies
        self._lock = threading.Lock()
        self._open = True

    @classmethod
    def inherited(cls, pipes: tuple[int, int]) -> "SupervisorControl":
        """The control of a supervisor that another process has started, by its `pipes`."""
        requests, replies = pipes
        return cls(os.fdopen(os.dup(requests), "wb"), os.fdopen(os.dup(replies), "rb"))

    @property
    def pipes(self) -> tuple[int, int]:
        """The descriptors of requests and replies."""
        return self._requests.fileno(), self._replies.fileno()

    def ask(self, instruction: SupervisorRequest) -> ServerState:
        """Send a request and wait for the reply. Raises ServerUnavailableError if it failed."""
        with self._lock:
            self._send(instruction)
            text = self._replies.readline()
        if not text:
            raise ServerUnavailableError("the supervisor of the private server has ended")
        reply = decode_reply(text)
        if isinstance(reply, ErrorMessage):
            raise ServerUnavailableError(reply.message, reply.hint)
        return reply

    def close(self) -> None:
        self._open = False
        for stream in (self._requests, self._replies):
            try:
                stream.close()
            except BrokenPipeError:
                continue

    def _send(self, instruction: SupervisorRequest) -> None:
        if not self._open:
            raise RunError("the private server was stopped already")
        try:
            self._requests.write(encode_message(instruction))
            self._requests.flush()
        except BrokenPipeError:
            return


class SupervisorClient(SupervisorControl):
    """A running supervisor; the server lives while a process holds `watch_fd`, the write end of its pipe."""

    def __init__(self, scope: Sequence[str] = ()) -> None:
        """`scope` is put before the command (`limits.scope_command`); the process is the same."""
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
        super().__init__(self._process.stdin, self._process.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self, *, remove: bool) -> None:
        """Make the supervisor stop the server at once, and wait for it."""
        with self._lock:
            self._send(SupervisorRequest("end", remove=remove))
            self.close()
        self._process.wait()

    def abandon(self) -> None:
        """Ask the supervisor to end, without waiting for it."""
        self._process.terminate()

    def release(self) -> None:
        """Give up ownership; the server lives on if it is kept, or while a process holds `watch_fd`."""
        with self._lock:
            self.close()
        _released.append(self._process)

    def close(self) -> None:
        os.close(self.watch_fd)
        super().close()
