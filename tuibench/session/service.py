"""A session behind a unix socket: any number of viewers watch and steer it; it outlives them by the grace.

Run as `python -m tuibench.session.service`: its `ServiceSpec` comes as one line on stdin (it holds the
password), `Launched` goes as one line to stdout, then the process is on its own.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import msgspec

from tuibench import paths
from tuibench.errors import ExitCode, RunError, TuibenchError
from tuibench.model.message import Downward, Ended
from tuibench.session.core import Session
from tuibench.session.spec import Launched, ServiceSpec
from tuibench.session.viewers import Viewer, peer_of

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONGEST_COMMAND_BYTES = 1 << 16
FAREWELL_SECONDS = 2.0
FIRST_VIEWER_SECONDS = 30.0
"""The first viewer may take that long to come, whatever the grace."""


class Service:
    """Serves one session until it has ended."""

    def __init__(self, session: Session, spec: ServiceSpec) -> None:
        self._session = session
        self._spec = spec
        self._viewers: set[Viewer] = set()
        self._grace: asyncio.TimerHandle | None = None

    async def serve(self) -> None:
        """Opens the session, tells the launcher, runs to the end. Raises TuibenchError if it cannot open."""
        path = Path(self._spec.socket)
        paths.private(path.parent)
        await self._session.open()
        self._session.listeners.append(self._broadcast)
        server = await self._listen(path)
        self._obey_signals()
        _tell_launcher(Launched(socket=str(path)))
        self._expect_viewers(FIRST_VIEWER_SECONDS)
        guarding = asyncio.create_task(self._session.settings.guard())
        try:
            summary = await self._session.run()
            self._broadcast(
                Ended(
                    summary=summary,
                    text=self._session.text(summary),
                    run_directory=self._session.spec.run_directory,
                    exit_code=self._session.exit_code,
                )
            )
            await self._say_goodbye()
        finally:
            guarding.cancel()
            server.close()
            path.unlink(missing_ok=True)

    async def _listen(self, path: Path) -> asyncio.Server:
        try:
            server = await asyncio.start_unix_server(self._welcome, path, limit=LONGEST_COMMAND_BYTES)
            path.chmod(0o600)
        except OSError as error:
            raise RunError(f"cannot listen at {path}: {error}", "give TUIBENCH_HOME a short path") from error
        return server

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One viewer, from its coming to its leaving."""
        peer = peer_of(writer)
        if peer.uid not in (os.getuid(), 0):
            writer.close()
            return
        viewer = Viewer(reader, writer)
        viewer.send(self._session.hello())
        self._viewers.add(viewer)
        self._cancel_grace()
        if peer.pid:
            self._session.viewer_pids.add(peer.pid)
        try:
            await viewer.converse(self._session.submit)
        finally:
            self._viewers.discard(viewer)
            self._session.viewer_pids.discard(peer.pid)
            viewer.drop()
            if not self._viewers:
                self._expect_viewers()

    def _broadcast(self, message: Downward) -> None:
        line = msgspec.json.encode(message) + b"\n"
        for viewer in self._viewers:
            viewer.send_line(line)

    def _expect_viewers(self, at_least_seconds: float = 0.0) -> None:
        """Without a viewer the session goes on for the grace only, unless it is detached."""
        if self._spec.grace_seconds is None:
            return
        self._cancel_grace()
        seconds = max(self._spec.grace_seconds, at_least_seconds)
        self._grace = asyncio.get_running_loop().call_later(seconds, self._session.request_stop, "stopped")

    def _cancel_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    def _obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in STOPPING_SIGNALS:
            loop.add_signal_handler(number, self._session.request_stop, "interrupted")

    async def _say_goodbye(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await asyncio.gather(*(viewer.flush() for viewer in self._viewers))
        for viewer in self._viewers:
            viewer.drop()


def _tell_launcher(message: Launched) -> None:
    """The one line the launcher waits for; then stdout is let go, so that nobody waits for us."""
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


async def serve(spec: ServiceSpec) -> ExitCode:
    try:
        await Service(Session(spec.session), spec).serve()
    except TuibenchError as error:
        _tell_launcher(Launched(message=error.message, hint=error.hint, exit_code=error.exit_code))
        return error.exit_code
    return ExitCode.DONE


def main() -> None:
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServiceSpec)
    sys.stdin.close()
    try:
        import uvloop
    except ImportError:
        sys.exit(asyncio.run(serve(spec)))
    sys.exit(uvloop.run(serve(spec)))


if __name__ == "__main__":
    main()
