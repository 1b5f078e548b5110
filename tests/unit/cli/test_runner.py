"""Commands that wait for a session."""

import asyncio
from pathlib import Path

import pytest

from tests.examples import PLAN
from tuibench.base import clock
from tuibench.cli import runner
from tuibench.model.message import ServiceSpec, SessionSpec
from tuibench.model.server import Target
from tuibench.session import registry

LONGEST_SECONDS = 20.0


class Notices:
    """What is said about waits; `heard` waits for the first notice, as a slow server would."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._is_told = asyncio.Event()
        clock.listener.set(self._hear)

    def _hear(self, text: str) -> None:
        self.told.append(text)
        self._is_told.set()

    async def heard(self) -> None:
        async with asyncio.timeout(LONGEST_SECONDS):
            await self._is_told.wait()


async def test_a_session_that_takes_long_to_connect_says_to_what(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    notices = Notices()

    async def launch(spec: ServiceSpec, log: Path) -> Path:
        await notices.heard()
        return Path(spec.socket)

    monkeypatch.setattr(clock, "NOTICE_SECONDS", 0.0)
    monkeypatch.setattr(runner, "launch", launch)
    target = Target(host="db1", port=3307)
    spec = SessionSpec(session="s", plan=PLAN, target=target, run_directory=str(tmp_path))
    await runner.start_session(spec, None)
    assert notices.told == ["connecting to db1:3307 …"]


async def test_a_session_that_does_not_answer_at_once_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    notices = Notices()

    async def find_session(wanted: str) -> Path:
        await notices.heard()
        return Path(wanted)

    monkeypatch.setattr(clock, "NOTICE_SECONDS", 0.0)
    monkeypatch.setattr(registry, "find_session", find_session)
    assert await runner.reach_session("20261128") == Path("20261128")
    assert notices.told == ["connecting to session 20261128 …"]
