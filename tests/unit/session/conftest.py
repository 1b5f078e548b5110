"""A session behind its socket, served for the length of a test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.unit.load.driving import until
from tests.unit.session.fakes import FakeSession, service_spec
from tests.unit.session.serving import Handle, Serve, Served
from tuibench.session import service as service_module
from tuibench.session.load_run import LoadRun
from tuibench.session.service import SessionService


@pytest.fixture(autouse=True)
def _threads_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread's work is done at once: a clock that is not the machine's would run ahead of it."""

    async def at_once(call: Callable[..., object], *args: Any, **more: Any) -> object:
        await asyncio.sleep(0)
        return call(*args, **more)

    monkeypatch.setattr(asyncio, "to_thread", at_once)


@pytest.fixture
def serve(tuibench_home: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    monkeypatch.setattr(service_module, "_send_to_launcher", lambda message: None)

    @contextlib.asynccontextmanager
    async def started(grace_seconds: float | None = 60.0) -> AsyncIterator[Served]:
        session = FakeSession(tuibench_home)
        served = Served(session, tuibench_home / "run" / "s1.sock")
        loop = asyncio.get_running_loop()
        really = loop.call_later

        def call_later(seconds: float, callback: Callable[..., object], *args: Any, **more: Any) -> Any:
            if callback != session.request_stop:
                return really(seconds, callback, *args, **more)
            served.timers.append((seconds, callback, args))
            return Handle(served)

        monkeypatch.setattr(loop, "call_later", call_later)
        service = SessionService(
            cast("LoadRun", session), service_spec(session, served.socket, grace_seconds)
        )
        served.serving = asyncio.create_task(service.serve())
        await until(lambda: bool(served.timers) or (grace_seconds is None and served.socket.exists()))
        try:
            yield served
        finally:
            await served.end()
            for number in service_module.STOPPING_SIGNALS:
                loop.remove_signal_handler(number)

    return started
