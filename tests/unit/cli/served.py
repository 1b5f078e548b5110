"""Sessions that play along behind real sockets, in threads of their own: the program calls them as ever."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.unit.session.fakes import FakeSession, service_spec
from tuibench.base.unix_sockets import socket_path
from tuibench.session import service as service_module
from tuibench.session.load_run import LoadRun
from tuibench.session.service import SessionService

DEADLINE_SECONDS = 20.0


class Served:
    """One session and its thread. `stop` ends it, as its own end would."""

    def __init__(self, home: Path, name: str, grace_seconds: float | None) -> None:
        self.session = FakeSession(home)
        self.session.name = name
        self.socket = socket_path(name)
        self._grace_seconds = grace_seconds
        self._runner = asyncio.Runner()
        self._loop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self._thread.start()
        while not self.socket.exists() and self._thread.is_alive():
            self._thread.join(0.005)

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.session.end)
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        spec = service_spec(self.session, self.socket, self._grace_seconds)
        with self._runner:
            self._runner.run(SessionService(cast("LoadRun", self.session), spec).serve())


@contextlib.contextmanager
def serving(
    monkeypatch: pytest.MonkeyPatch, home: Path, *names: str, grace_seconds: float | None = 60.0
) -> Iterator[list[Served]]:
    """Sessions of these names, until the context ends."""
    monkeypatch.setattr(service_module, "_send_to_launcher", lambda message: None)
    monkeypatch.setattr(service_module, "STOPPING_SIGNALS", ())
    all_served = [Served(home, name, grace_seconds) for name in names]
    for served in all_served:
        served.start()
    try:
        yield all_served
    finally:
        for served in all_served:
            served.stop()
