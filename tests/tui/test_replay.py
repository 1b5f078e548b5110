"""The screens on a recorded run: that it is one is always seen, its keys work, and steering is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.pilot import Pilot

from tests.tui.support.driving import LARGE, SMALL
from tests.unit.record.written import written
from tuibench.model.message import REPLAY_REFUSAL
from tuibench.record import reader
from tuibench.record.reader import load_run
from tuibench.session.replay import ReplayClient
from tuibench.tui.app import TuibenchApp
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.widgets import Panel


class StillClock:
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self.ns = 0

    def now_ns(self) -> int:
        return self.ns

    def wall_seconds(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


class Replayed(NamedTuple):
    """A replay of some seconds, paused at its beginning."""

    app: TuibenchApp
    pilot: Pilot[Any]
    client: ReplayClient

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        for _ in range(3):
            await self.pilot.pause()

    def shown(self, panel: str) -> str:
        screen = next(each for each in self.app.screen_stack if isinstance(each, MainScreen))
        return screen.query_one(f"#{panel}", Panel).text()


@asynccontextmanager
async def replayed(
    folder: Path, size: tuple[int, int] = LARGE, *, ticks: int = 6, ended: bool = True
) -> AsyncIterator[Replayed]:
    written(folder / "r1", ticks, ended=ended)
    client = ReplayClient(load_run(folder / "r1"), 4.0, StillClock())

    async def connect() -> ReplayClient:
        return client

    app = TuibenchApp(connect, player=client)
    async with app.run_test(size=size) as pilot:
        screen = Replayed(app, pilot, client)
        await screen.press("p")
        yield screen


async def test_the_head_says_that_it_is_a_replay_and_where(tmp_path: Path) -> None:
    async with replayed(tmp_path) as it:
        assert "‖ replay ×4  00:00 of 00:06" in it.shown("head")
        for on, back in (("full_stop", "comma"), ("greater_than_sign", "less_than_sign")):
            await it.press(on)
            assert it.client.position_seconds == 6.0
            await it.press(back)
            assert it.client.position_seconds == 0.0
        await it.press("dollar_sign")
        assert "00:06 of 00:06" in it.shown("head")
        assert "sync_binlog 1 → 0" in it.shown("events")
        await it.press("circumflex_accent")
        assert "00:00 of 00:06" in it.shown("head")
        assert "sync_binlog 1 → 0" not in it.shown("events")


async def test_a_record_that_was_cut_short_says_so(tmp_path: Path) -> None:
    async with replayed(tmp_path, ended=False) as it:
        assert "00:00 of 00:06, cut short" in it.shown("head")


async def test_a_run_that_is_still_recorded_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "is_being_written", lambda directory: True)
    async with replayed(tmp_path, ended=False) as it:
        assert "00:00 of 00:06, still recording" in it.shown("head")


async def test_its_keys_play_pause_and_change_the_speed(tmp_path: Path) -> None:
    async with replayed(tmp_path) as it:
        assert "p resume" in it.shown("footer")
        await it.press("p", "right_curly_bracket")
        assert "▶ replay ×8" in it.shown("head")
        assert "p pause" in it.shown("footer")
        await it.press("left_curly_bracket", "left_curly_bracket")
        assert "▶ replay ×2" in it.shown("head")


async def test_a_key_that_steers_is_answered_in_words(tmp_path: Path) -> None:
    async with replayed(tmp_path) as it:
        for key in ("plus", "t", "r", "n", "T", "d", "l", "space"):
            it.app._show_note("")
            await it.press(key)
            assert REPLAY_REFUSAL in it.shown("note"), key
            assert isinstance(it.app.screen, MainScreen), key


async def test_the_footer_names_only_what_can_be_done(tmp_path: Path) -> None:
    async with replayed(tmp_path, SMALL) as it:
        footer = it.shown("footer")
        assert "10 s" in footer
        assert "q quit" in footer
        assert "threads" not in footer
        assert "durability" not in footer


async def test_the_end_of_the_run_is_no_end_of_the_replay(tmp_path: Path) -> None:
    async with replayed(tmp_path) as it:
        await it.press("dollar_sign")
        assert "stopping, restoring" not in it.shown("note")
        await it.press("q")
        assert not it.app.is_running or it.app._exit
        assert it.app.failure is None
