"""The service of a session: serves any number of viewers on a Unix socket.

Messages to a viewer wait in an outbox that never blocks the session. If the viewer reads too slowly, samples
are dropped, the oldest first, and the viewer gets their number. Only the newest status and probe state are
kept. Events, replies and the end are never dropped: a viewer with too many of them waiting is disconnected.

Without a viewer, the session ends after the grace period.

`python -m tuibench.session.service` gets its `ServiceSpec` as one line on stdin, because it holds the
password. It writes its socket, or its error, as one line to stdout; then it no longer depends on the process
that started it.
"""

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tuibench.base import sanitize
from tuibench.base.clock import wait_with_timeout
from tuibench.base.errors import ExitCode, TuibenchError
from tuibench.base.files import DECODE_ERRORS
from tuibench.load import prepared_worker
from tuibench.model.findings import ErrorMessage
from tuibench.model.message import (
    Command,
    CommandReply,
    Hello,
    JoinSession,
    SampleGap,
    ServiceSpec,
    SessionEnded,
    SessionMessage,
    Status,
    SubmitCommand,
    ViewerMessage,
)
from tuibench.model.probe import ProbeState
from tuibench.model.tick import Sample
from tuibench.model.tune import TuneResult
from tuibench.session.client import Peer, peer_of
from tuibench.session.dispatch import Origin
from tuibench.session.load_run import LoadRun
from tuibench.session.metrics_endpoint import serve_metrics
from tuibench.session.registry import SocketListener
from tuibench.session.run import WatchRun

GC_THRESHOLD = 50_000
"""Young objects before a garbage collection."""

MOST_SAMPLES = 60
MOST_BYTES = 1 << 24


def encode_line(message: SessionMessage) -> bytes:
    return msgspec.json.encode(message) + b"\n"


class Outbox:
    """The lines to send to a viewer, in the order in which they were added."""

    def __init__(self, most_samples: int = MOST_SAMPLES, most_bytes: int = MOST_BYTES) -> None:
        self._most_samples = most_samples
        self._most_bytes = most_bytes
        self._lines: OrderedDict[int, bytes] = OrderedDict()
        self._samples: deque[int] = deque()
        self._newest: dict[type[SessionMessage], int] = {}
        self._missed = 0
        self._last = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def is_overfull(self) -> bool:
        return self._bytes > self._most_bytes

    def put(self, message: SessionMessage, line: bytes) -> None:
        """Add a message; `line` is the same message as bytes, encoded once for all viewers."""
        self._last += 1
        self._lines[self._last] = line
        self._bytes += len(line)
        if isinstance(message, Sample):
            self._samples.append(self._last)
            if len(self._samples) > self._most_samples:
                self._leave_out(self._samples.popleft())
                self._missed += 1
        elif isinstance(message, Status | ProbeState | TuneResult):
            if (older := self._newest.get(type(message))) is not None:
                self._leave_out(older)
            self._newest[type(message)] = self._last

    def next_line(self) -> bytes | None:
        """The next line to send, None if there is none."""
        if self._missed:
            missed, self._missed = self._missed, 0
            return encode_line(SampleGap(samples=missed))
        if not self._lines:
            return None
        number, line = self._lines.popitem(last=False)
        self._bytes -= len(line)
        if self._samples and self._samples[0] == number:
            self._samples.popleft()
        self._newest = {kind: newest for kind, newest in self._newest.items() if newest != number}
        return line

    def _leave_out(self, number: int) -> None:
        self._bytes -= len(self._lines.pop(number))


MAX_CONNECTIONS = 200
MAX_PENDING_COMMANDS = 32
"""Maximum number of commands in progress per connection; more are refused."""

_decoder = msgspec.json.Decoder(ViewerMessage)
_Submit = Callable[[Command, Origin], Awaitable[str]]


class _Numbered(msgspec.Struct):
    """The id of an invalid command, for the error reply."""

    id: int = 0


class Viewer:
    """A connection: a client at first, a viewer once it has joined."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._outbox = Outbox()
        self._read_only = False
        self._running: set[asyncio.Task[None]] = set()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()
        self._sending = asyncio.create_task(self._send(), name="viewer's line")

    @property
    def is_idle(self) -> bool:
        """True if none of its commands is in progress."""
        return not self._running

    def send(self, message: SessionMessage) -> None:
        self.send_line(message, encode_line(message))

    def send_line(self, message: SessionMessage, line: bytes) -> None:
        """Queue a message without waiting. A viewer that has stopped reading is finally disconnected."""
        if self._writer.is_closing():
            return
        self._outbox.put(message, line)
        self._emptied.clear()
        self._filled.set()
        if self._outbox.is_overfull:
            self._writer.transport.abort()

    async def serve(self, submit: _Submit, join: Callable[[JoinSession], None]) -> None:
        """Reply until the client disconnects. An invalid line gets an error reply."""
        running = self._running
        while (line := await self._line()) is not None:
            match self._request(line):
                case SubmitCommand(id=number) if len(running) >= MAX_PENDING_COMMANDS:
                    self.send(
                        CommandReply(
                            id=number, ok=False, text=f"{MAX_PENDING_COMMANDS} commands are already waiting"
                        )
                    )
                case SubmitCommand() as request:
                    task = asyncio.create_task(self._answer(request, submit))
                    running.add(task)
                    task.add_done_callback(running.discard)
                case JoinSession() as request:
                    self._read_only |= request.read_only
                    join(request)
                case None:
                    continue

    async def flush(self) -> None:
        """Wait until everything is sent."""
        with contextlib.suppress(ConnectionError):
            await self._emptied.wait()
            self._writer.transport.set_write_buffer_limits(0)
            await self._writer.drain()

    def drop(self) -> None:
        self._sending.cancel()
        self._writer.close()

    async def _line(self) -> bytes | None:
        """The next line; None at the end, or after a line that is too long."""
        try:
            return await self._reader.readline() or None
        except ConnectionError:
            return None
        except ValueError:
            self.send(CommandReply(id=0, ok=False, text="this line is too long for a command"))
            with contextlib.suppress(TimeoutError):
                await wait_with_timeout(self.flush(), 1)
            return None

    def _request(self, line: bytes) -> ViewerMessage | None:
        try:
            request: ViewerMessage = _decoder.decode(line)
        except DECODE_ERRORS as error:
            self.send(CommandReply(id=_number_of(line), ok=False, text=f"not a command: {error}"))
            return None
        return request

    async def _answer(self, request: SubmitCommand, submit: _Submit) -> None:
        try:
            origin = Origin.READER if self._read_only else Origin.OPERATOR
            self.send(CommandReply(id=request.id, ok=True, text=await submit(request.command, origin)))
        except TuibenchError as error:
            self.send(CommandReply(id=request.id, ok=False, text=str(error)))
        except Exception as error:
            self.send(CommandReply(id=request.id, ok=False, text=f"a bug in tuibench: {error!r}"))
            raise

    async def _send(self) -> None:
        """Write as fast as the other end reads, until it disconnects."""
        try:
            while not self._writer.is_closing():
                if (line := self._outbox.next_line()) is None:
                    self._emptied.set()
                    self._filled.clear()
                    await self._filled.wait()
                else:
                    self._writer.write(line)
                    await self._writer.drain()
        except ConnectionError:
            return
        finally:
            self._emptied.set()


def _number_of(line: bytes) -> int:
    try:
        return msgspec.json.decode(line, type=_Numbered).id
    except DECODE_ERRORS:
        return 0


class ConnectionLimit:
    """The open connections, the oldest first.

    Each connection takes a descriptor and a task of the process that runs the load. At the limit, a new one
    replaces the oldest idle connection that is not a viewer; if all are viewers, the new one is refused.
    """

    def __init__(self, is_viewer: Callable[[Viewer], bool], most: int = MAX_CONNECTIONS) -> None:
        self._is_viewer = is_viewer
        self._most = most
        self._open: dict[Viewer, None] = {}

    def admit(self, newcomer: Viewer) -> bool:
        """True if the connection is accepted; another one may be closed for it."""
        if len(self._open) >= self._most:
            idle = (viewer for viewer in self._open if viewer.is_idle and not self._is_viewer(viewer))
            replaced = next(idle, None)
            if replaced is None:
                return False
            self.forget(replaced)
            replaced.drop()
        self._open[newcomer] = None
        return True

    def forget(self, ended: Viewer) -> None:
        self._open.pop(ended, None)


STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAREWELL_SECONDS = 2.0
FIRST_VIEWER_SECONDS = 30.0
"""The minimum time for the first viewer to join, even with a shorter grace period."""


class SessionService:
    """Serves one run until it has ended."""

    def __init__(self, run: LoadRun | WatchRun, spec: ServiceSpec) -> None:
        self._run = run
        self._spec = spec
        self._viewers: set[Viewer] = set()
        self._connections = ConnectionLimit(self._viewers.__contains__)
        self._grace: asyncio.TimerHandle | None = None
        self._metrics = ""

    async def serve(self) -> None:
        """Opens the run, answers the launcher, runs to the end. Raises TuibenchError if it cannot open."""
        async with serve_metrics(self._run) as self._metrics, self._run:
            await self._serve()

    async def _serve(self) -> None:
        watcher = self._run.watcher
        watcher.bus.listeners.append(self._broadcast)
        listener = SocketListener(Path(self._spec.socket), self._on_connect)
        await listener.open()
        loop = asyncio.get_running_loop()
        for number in STOPPING_SIGNALS:
            loop.add_signal_handler(number, self._run.request_stop, "interrupted")
        _send_to_launcher(self._spec.socket)
        self._expect_viewers(FIRST_VIEWER_SECONDS)
        watcher.tasks.start(watcher.settings.start_guardian(), "guardian")
        watcher.tasks.start(listener.keep(), "listener")
        try:
            summary = await self._run.run()
            self._broadcast(
                SessionEnded(
                    summary=summary,
                    text=self._run.text(summary),
                    run_directory=self._run.spec.run_directory,
                    exit_code=watcher.lifecycle.exit_code,
                )
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL_SECONDS):
                    await asyncio.gather(*(viewer.flush() for viewer in self._viewers))
            for viewer in self._viewers:
                viewer.drop()
        finally:
            listener.close()

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from accept to close; it becomes a viewer with a JoinSession."""
        peer = peer_of(writer.get_extra_info("socket"))
        if not peer.is_welcome:
            writer.close()
            return
        viewer = Viewer(reader, writer)
        if not self._connections.admit(viewer):
            viewer.drop()
            return
        viewer.send(self._hello(1))
        try:
            await viewer.serve(self._run.submit, lambda request: self._join(viewer, peer, request))
        finally:
            self._connections.forget(viewer)
            viewer.drop()
            self._leave(viewer, peer)

    def _join(self, viewer: Viewer, peer: Peer, request: JoinSession) -> None:
        """Make the connection a viewer: it gets every message, and the session continues while it is
        connected.
        """
        self._viewers.add(viewer)
        self._cancel_grace()
        if peer.pid:
            self._run.watcher.viewer_pids.add(peer.pid)
        viewer.send(self._hello(request.samples, with_events=True))

    def _leave(self, viewer: Viewer, peer: Peer) -> None:
        if viewer not in self._viewers:
            return
        self._viewers.discard(viewer)
        self._run.watcher.viewer_pids.discard(peer.pid)
        if not self._viewers:
            self._expect_viewers()

    def _hello(self, samples: int, *, with_events: bool = False) -> Hello:
        hello = self._run.hello(samples, with_events=with_events)
        return msgspec.structs.replace(
            hello,
            viewers=len(self._viewers),
            grace_seconds=self._spec.grace_seconds,
            metrics=self._metrics,
        )

    def _broadcast(self, message: SessionMessage) -> None:
        line = encode_line(message)
        for viewer in self._viewers:
            viewer.send_line(message, line)

    def _expect_viewers(self, at_least_seconds: float = 0.0) -> None:
        """Without a viewer, end the session after the grace period, unless it is detached."""
        if self._spec.grace_seconds is None:
            return
        self._cancel_grace()
        seconds = max(self._spec.grace_seconds, at_least_seconds)
        self._grace = asyncio.get_running_loop().call_later(seconds, self._run.request_stop, "stopped")

    def _cancel_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None


def _send_to_launcher(message: str | ErrorMessage) -> None:
    """Write the one line that the launcher waits for, and close stdout, because a reader may wait for its
    end.
    """
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


async def serve_session(spec: ServiceSpec) -> ExitCode:
    try:
        run = WatchRun(spec.session) if spec.session.plan.is_watch else LoadRun(spec.session)
        await SessionService(run, spec).serve()
    except TuibenchError as error:
        _send_to_launcher(ErrorMessage.of(error))
        return error.exit_code
    return ExitCode.DONE


def main() -> None:
    sanitize.protect_streams()
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServiceSpec)
    sys.stdin.close()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    plan = spec.session.plan
    if not plan.is_watch and plan.cluster is None:
        prepared_worker.prepare(keeps_stdout=False)
    try:
        import uvloop
    except ImportError:
        sys.exit(asyncio.run(serve_session(spec)))
    sys.exit(uvloop.run(serve_session(spec)))


if __name__ == "__main__":
    main()
