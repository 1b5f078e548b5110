"""The supervisor of a private server: its process, the messages (JSON lines over pipes), and its clients.

It is the server's parent, and outlives every owner. It executes requests from its stdin and holds the read
end of a pipe; the owners hold the write end. When the last owner ends, by exit or by kill -9, the kernel
closes the pipe: the supervisor ends the server and removes its directory. A kept server runs until its
supervisor gets SIGTERM. Sessions change the server's limits through a socket (`limit_control`).

The clients block; `server` calls them in threads. No object belongs to an event loop: a server may be started
in one loop and stopped in another.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

import msgspec

from tuibench.base.clock import SystemClock
from tuibench.base.errors import RunError, ServerUnavailableError, TuibenchError
from tuibench.base.own_process import own_command
from tuibench.model.findings import ErrorMessage
from tuibench.servers import limit_control
from tuibench.servers.instance import ServerInstance, ServerSpec, ServerState, remove_leftovers
from tuibench.servers.limit_control import LimitReply, LimitState

CONTROL = 0
REPLIES = 1
CHUNK_BYTES = 65_536

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
    """Requests to a running supervisor, through its pipes; one process at a time may use them."""

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
    """A running supervisor. The server lives while a process holds `watch_fd`, the write end of its pipe."""

    def __init__(self, scope: Sequence[str] = ()) -> None:
        """`scope` precedes the command (`limits.scope_command`); the process is the same."""
        reader, self.watch_fd = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*scope, *own_command("tuibench.servers.supervisor", str(reader))],
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
        """Release ownership; the server continues if it is kept, or while a process holds `watch_fd`."""
        with self._lock:
            self.close()
        _released.append(self._process)

    def close(self) -> None:
        os.close(self.watch_fd)
        super().close()


class Supervisor:
    """Executes one owner's requests and monitors the owners' pipe until there is a reason to end."""

    def __init__(self, watch_fd: int, signals_fd: int) -> None:
        self._watch_fd = watch_fd
        self._signals_fd = signals_fd
        self._readers = [CONTROL, watch_fd, signals_fd]
        self._pending = b""
        self._listener: socket.socket | None = None
        self._limiters: dict[int, tuple[socket.socket, bytearray]] = {}
        """Connections of sessions that may change the limits, with what they have sent of a line."""
        self._holder = -1
        """The one whose limits the server has."""
        self._instance: ServerInstance | None = None
        self._keep = False
        self._remove = True
        self._ended = False

    def run(self) -> None:
        """Run until the end. An error never leaves a server without supervision."""
        try:
            while not self._ended:
                ready, _, _ = select.select(self._readers, [], [])
                for descriptor in ready:
                    if self._listener is not None and descriptor == self._listener.fileno():
                        self._accept(self._listener)
                    elif descriptor in self._limiters:
                        self._read_limiter(descriptor)
                    else:
                        self._read(descriptor, os.read(descriptor, CHUNK_BYTES))
        finally:
            if self._instance is not None:
                self._instance.end(remove=self._remove)

    def _read(self, descriptor: int, data: bytes) -> None:
        if descriptor == self._signals_fd:
            if signal.SIGTERM in data:
                self._end(remove=True)
            if self._instance is not None:
                self._instance.note_end()
            self._check_owners()
        elif not data:
            self._readers.remove(descriptor)
            self._check_owners()
        else:
            *lines, self._pending = (self._pending + data).split(b"\n")
            for text in lines:
                self._execute(decode_request(text))

    def _listen(self, instance: ServerInstance) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(instance.layout.limit_socket))
        self._listener.listen()
        self._readers.append(self._listener.fileno())

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.setblocking(False)
        self._limiters[connection.fileno()] = connection, bytearray()
        self._readers.append(connection.fileno())

    def _read_limiter(self, descriptor: int) -> None:
        connection, pending = self._limiters[descriptor]
        try:
            pending += (data := connection.recv(CHUNK_BYTES))
            while data and b"\n" in pending:
                line, _, rest = bytes(pending).partition(b"\n")
                pending[:] = rest
                connection.send(limit_control.encode_reply(self._limit(line, descriptor)))
        except OSError:
            data = b""
        if data:
            return
        self._readers.remove(descriptor)
        del self._limiters[descriptor]
        connection.close()
        if descriptor == self._holder and self._instance is not None:
            self._holder = -1
            self._instance.unlimit()

    def _limit(self, line: bytes, descriptor: int) -> LimitReply:
        assert self._instance is not None  # noqa: S101
        try:
            wanted = limit_control.decode_request(line).limits
            if wanted is not None:
                self._holder = descriptor
                self._instance.limit(wanted)
        except TuibenchError as error:
            return ErrorMessage.of(error)
        except (OSError, msgspec.DecodeError) as error:
            return ErrorMessage(f"the limits of the private server failed: {error}")
        return LimitState(self._instance.limits, self._instance.limit_words)

    def _check_owners(self) -> None:
        """End if there is no owner and the server is not to be kept.

        The directory of a kept server that crashed is kept for inspection.
        """
        if self._watch_fd in self._readers:
            return
        if not self._keep:
            self._end(remove=True)
        elif self._instance is None or not self._instance.alive:
            self._end(remove=False)

    def _end(self, *, remove: bool) -> None:
        """Leave the loop; the first reason to end determines whether the directory is removed."""
        if not self._ended:
            self._remove, self._ended = remove, True

    def _execute(self, request: SupervisorRequest) -> None:
        if request.action == "end":
            self._end(remove=request.remove)
            return
        try:
            self._reply(self._carry_out(request))
        except TuibenchError as error:
            self._reply(ErrorMessage.of(error))
        except OSError as error:
            self._reply(ErrorMessage(f"the private server failed: {error}"))

    def _carry_out(self, request: SupervisorRequest) -> SupervisorReply:
        if request.spec is not None:
            self._instance = self._make(request.spec)
            return self._instance.create()
        if self._instance is None:
            return ErrorMessage("the private server was not created yet")
        match request.action:
            case "start":
                return self._instance.start(*request.options)
            case "check":
                return self._instance.check_running()
            case "halt":
                self._instance.halt()
            case "kill":
                self._instance.kill()
        return ServerState()

    def _make(self, spec: ServerSpec) -> ServerInstance:
        remove_leftovers(Path(spec.base))
        self._keep = spec.keep
        instance = ServerInstance(spec, SystemClock())
        with instance.layout.supervisor_log.open("ab") as log:
            os.dup2(log.fileno(), sys.stderr.fileno())
        self._listen(instance)
        return instance

    def _reply(self, answer: SupervisorReply) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(REPLIES, encode_message(answer))


def main() -> None:
    # SIGTERM and SIGCHLD become bytes on a pipe. SIGINT and SIGHUP of a terminal are ignored by handlers, not
    # by SIG_IGN, which the server would inherit.
    signals_fd, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.chdir("/")
    Supervisor(int(sys.argv[1]), signals_fd).run()


if __name__ == "__main__":
    main()
