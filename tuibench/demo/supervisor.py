"""The supervisor process of a private server: the server's parent, which outlives every owner.

It executes requests from its stdin and holds the read end of a pipe; the owners hold the write end. When the
last owner ends, by exit or by kill -9, the kernel closes the pipe: the supervisor ends the server and removes
its directory. A kept server runs until its supervisor gets SIGTERM.
"""

import contextlib
import os
import select
import signal
import sys
from pathlib import Path

from tuibench.clock import SystemClock
from tuibench.demo.client import (
    ServerSpec,
    ServerState,
    SupervisorReply,
    SupervisorRequest,
    decode_request,
    encode_message,
)
from tuibench.demo.instance import ServerInstance, remove_leftovers
from tuibench.errors import TuibenchError
from tuibench.model.findings import ErrorMessage

CONTROL = 0
REPLIES = 1
CHUNK_BYTES = 65_536


class Supervisor:
    """Executes one owner's requests and monitors the owners' pipe until there is a reason to end."""

    def __init__(self, watch_fd: int, signals_fd: int) -> None:
        self._watch_fd = watch_fd
        self._signals_fd = signals_fd
        self._readers = [CONTROL, watch_fd, signals_fd]
        self._pending = b""
        self._instance: ServerInstance | None = None
        self._keep = False
        self._remove = True
        self._ended = False

    def run(self) -> None:
        """Run until the end, without ever leaving a server unsupervised."""
        try:
            while not self._ended:
                ready, _, _ = select.select(self._readers, [], [])
                for descriptor in ready:
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
