"""Screens that are made before they are asked for look as if they were made only then, and write nothing."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.screen import Screen

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, Viewer, viewer
from tests.tui.terminal.test_bytes import Line
from tuibench.tui import styled_app
from tuibench.tui.app import TuibenchApp
from tuibench.tui.screens import tabs

NEVER_SECONDS, DEADLINE_SECONDS = 3600.0, 30.0
Happening = Callable[[Viewer], Coroutine[Any, Any, None]]


def offered(app: TuibenchApp) -> list[str]:
    return [place.name for place in tabs.SCREEN_TABS if app.view is not None and place.offered(app.view)]


def stands(app: TuibenchApp, name: str) -> bool:
    return app.is_screen_installed(name) and app.get_screen(name).size == app.size


async def made(it: Viewer) -> None:
    """Wait until every screen that is offered stands."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not all(stands(it.app, name) for name in offered(it.app)):
            await it.settle()


async def nothing(it: Viewer) -> None:
    await it.settle()


async def a_sample(it: Viewer) -> None:
    await it.hear(script.samples(61)[-1], script.status(threads=8, durability=("0", "0")))


async def a_resize(it: Viewer) -> None:
    await it.pilot.resize_terminal(*SMALL)
    await it.settle()


async def another_theme(it: Viewer) -> None:
    it.app.theme = "tuibench-light"
    await it.settle()


async def pictures(happening: Happening, *, is_ahead: bool) -> list[list[list[object]]]:
    """All cells of two screens with their styles, after something has happened on another one."""
    found: list[list[list[object]]] = []
    async with viewer(script.hello(60)) as it:
        if is_ahead:
            await made(it)
        await happening(it)
        for key, name in (("2", "latency"), ("h", "host")):
            assert it.app.is_screen_installed(name) is is_ahead
            await it.press(key)
            found.append([list(strip) for strip in it.app.screen._compositor.render_strips()])
    return found


@pytest.mark.whole
@pytest.mark.parametrize(
    "happening", [pytest.param(nothing, marks=pytest.mark.whole), a_sample, a_resize, another_theme]
)
async def test_it_looks_as_if_it_were_made_when_it_is_asked_for(
    happening: Happening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(styled_app, "PREFETCH_PAUSE_SECONDS", NEVER_SECONDS)
    expected = await pictures(happening, is_ahead=False)
    monkeypatch.setattr(styled_app, "PREFETCH_PAUSE_SECONDS", 0.0)
    assert await pictures(happening, is_ahead=True) == expected


async def test_what_is_made_ahead_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(styled_app, "PREFETCH_PAUSE_SECONDS", NEVER_SECONDS)
    line = Line(monkeypatch)
    async with viewer(script.hello(60)) as it:
        before, home = line.written, it.app.screen
        for place in tabs.SCREEN_TABS:
            if it.app.view is not None and place.offered(it.app.view):
                it.app.call_later(styled_app.prefetch_screen, it.app, it.app._made(place, it.app.view))
        await made(it)
        assert (line.written, it.app.screen) == (before, home)


async def test_a_prefetched_screen_is_neither_styled_nor_laid_out_again_when_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(styled_app, "PREFETCH_PAUSE_SECONDS", 0.0)
    async with viewer(script.hello(60), size=LARGE) as it:
        await made(it)
        styled: list[object] = []
        resized: list[object] = []
        monkeypatch.setattr(Stylesheet, "update_nodes", lambda *given, **_: styled.append(given))
        monkeypatch.setattr(Screen, "_screen_resized", lambda *given: resized.append(given))
        await it.press("3", "1")
        assert not styled
        assert not resized


async def test_the_stylesheet_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    monkeypatch.setattr(Stylesheet, "reparse", lambda sheet: read.append(sheet))
    async with viewer(script.hello(60)) as it:
        assert not read
        it.app.theme = "tuibench-light"
        await it.settle()
        assert len(read) == 1
