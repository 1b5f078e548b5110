"""Unix socket service of a session: serves any number of viewers, and ends after the grace period.

Run as `python -m tuibench.session.service.service`: its `ServiceSpec` comes as one line on stdin (it holds
the password), `Launched` goes as one line to stdout, then the process is on its own.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import msgspec

from tuibench import sanitize
from tuibench.errors import ExitCode, TuibenchError
from tuibench.model.message import Hello, JoinSession, SessionEnded, SessionMessage
from tuibench.session.load_run import LoadRun
from tuibench.session.service.listener import SocketListener
from tuibench.session.service.metrics_endpoint import serve_metrics
from tuibench.session.service.unix_sockets import Peer, peer_of
from tuibench.session.service.viewers import ConnectionLimit, Viewer, encode_line
from tuibench.session.spec import Launched, ServiceSpec, SessionSpec
from tuibench.session.watch_run import WatchRun

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAREWELL_SECONDS = 2.0
FIRST_VIEWER_SECONDS = 30.0
"""The time for the first viewer to join, whatever the grace."""


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
        self._handle_signals()
        _send_to_launcher(Launched(socket=self._spec.socket))
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
            await self._flush_and_close()
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
        """From now on the viewer gets every message, and keeps the session going."""
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
        """Without a viewer the session ends after the grace, unless it is detached."""
        if self._spec.grace_seconds is None:
            return
        self._cancel_grace()
        seconds = max(self._spec.grace_seconds, at_least_seconds)
        self._grace = asyncio.get_running_loop().call_later(seconds, self._run.request_stop, "stopped")

    def _cancel_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in STOPPING_SIGNALS:
            loop.add_signal_handler(number, self._run.request_stop, "interrupted")

    async def _flush_and_close(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await asyncio.gather(*(viewer.flush() for viewer in self._viewers))
        for viewer in self._viewers:
            viewer.drop()


def _send_to_launcher(message: Launched) -> None:
    """The one line that the launcher waits for; then stdout is closed, as a reader may wait for its end."""
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def make_run(spec: SessionSpec) -> LoadRun | WatchRun:
    """The run that the plan asks for: with a load, or only watching."""
    return WatchRun(spec) if spec.plan.is_watch else LoadRun(spec)


async def serve_session(spec: ServiceSpec) -> ExitCode:
    try:
        await SessionService(make_run(spec.session), spec).serve()
    except TuibenchError as error:
        _send_to_launcher(Launched(message=error.message, hint=error.hint, exit_code=error.exit_code))
        return error.exit_code
    return ExitCode.DONE


def main() -> None:
    sanitize.protect_streams()
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServiceSpec)
    sys.stdin.close()
    try:
        import uvloop
    except ImportError:
        sys.exit(asyncio.run(serve_session(spec)))
    sys.exit(uvloop.run(serve_session(spec)))


if __name__ == "__main__":
    main()
