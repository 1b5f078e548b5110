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

from tuibench.errors import ExitCode, TuibenchError
from tuibench.model.message import Downward, Ended, Hello, Join
from tuibench.session.core import Session
from tuibench.session.door import Door
from tuibench.session.exporting import exporting
from tuibench.session.outbox import line_of
from tuibench.session.peers import Peer, peer_of
from tuibench.session.spec import Launched, ServiceSpec
from tuibench.session.viewers import Viewer

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
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
        self._metrics = ""

    async def serve(self) -> None:
        """Opens the session, tells the launcher, runs to the end. Raises TuibenchError if it cannot open."""
        async with exporting(self._session) as self._metrics:
            await self._session.open()
            await self._run()

    async def _run(self) -> None:
        self._session.listeners.append(self._broadcast)
        door = Door(Path(self._spec.socket), self._welcome)
        await door.open()
        self._obey_signals()
        _tell_launcher(Launched(socket=self._spec.socket))
        self._expect_viewers(FIRST_VIEWER_SECONDS)
        watching = [asyncio.create_task(each) for each in (self._session.settings.guard(), door.keep())]
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
            for task in watching:
                task.cancel()
            door.close()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One caller, from its coming to its leaving; it becomes a viewer if it says so."""
        peer = peer_of(writer.get_extra_info("socket"))
        if not peer.is_welcome:
            writer.close()
            return
        viewer = Viewer(reader, writer)
        viewer.send(self._hello(1))
        try:
            await viewer.converse(self._session.submit, lambda wish: self._take_in(viewer, peer, wish))
        finally:
            viewer.drop()
            self._let_go(viewer, peer)

    def _take_in(self, viewer: Viewer, peer: Peer, wish: Join) -> None:
        """From now on it hears everything, and keeps the session going."""
        self._viewers.add(viewer)
        self._cancel_grace()
        if peer.pid:
            self._session.viewer_pids.add(peer.pid)
        viewer.send(self._hello(wish.samples, with_events=True))

    def _let_go(self, viewer: Viewer, peer: Peer) -> None:
        if viewer not in self._viewers:
            return
        self._viewers.discard(viewer)
        self._session.viewer_pids.discard(peer.pid)
        if not self._viewers:
            self._expect_viewers()

    def _hello(self, samples: int, *, with_events: bool = False) -> Hello:
        hello = self._session.hello(samples, with_events=with_events)
        return msgspec.structs.replace(
            hello,
            viewers=len(self._viewers),
            grace_seconds=self._spec.grace_seconds,
            metrics=self._metrics,
        )

    def _broadcast(self, message: Downward) -> None:
        line = line_of(message)
        for viewer in self._viewers:
            viewer.send_line(message, line)

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
