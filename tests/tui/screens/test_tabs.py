"""The tab line: number keys lead to screens, all of them can steer, only the visible one is painted."""

from unittest.mock import patch

import msgspec
import pytest
from textual.strip import Strip

from tests.tui.support import screened, script
from tests.tui.support.driving import LARGE, SMALL, viewer
from tests.tui.support.probed import probed
from tests.tui.support.sessions import ACTIVITY
from tuibench.model.message import Pause, SetThreads, Watch
from tuibench.tui.screens.help import HelpScreen
from tuibench.tui.screens.monitor import LiveScreen
from tuibench.tui.screens.tabs import HOME_TAB, SCREEN_TABS, TABS_BY_NAME
from tuibench.tui.widgets import Chart, Panel

SAMPLES = script.samples(63)[-3:]


@pytest.mark.parametrize("size", [SMALL, LARGE, pytest.param((200, 60), marks=pytest.mark.whole)])
async def test_a_key_leads_to_each_screen_which_steers_the_load(size: tuple[int, int]) -> None:
    """Help lies over each, and belongs to no size."""
    all_offered = msgspec.structs.replace(script.hello(60), probe=probed().over, tune=screened.progress())
    async with viewer(all_offered, size=size) as it:
        for place in SCREEN_TABS:
            await it.hear(all_offered.status)
            await it.press(place.key)
            assert it.app.screen is it.app.get_screen(place.name)
            assert "oltp_read_write" in it.shown("head")
            assert place.label in it.shown("tabs")
            assert "q stop" in it.shown("footer")
            assert not it.app.screen.query("#keys") or "…" not in it.shown("keys"), place.name
            if size != SMALL:
                continue
            it.client.submitted.clear()
            await it.press("plus", "p", "question_mark")
            assert isinstance(it.app.screen, HelpScreen)
            await it.press("escape")
            assert it.client.submitted == [SetThreads(65), Pause()], place.name
            await it.press("escape")
            assert isinstance(it.app.screen, LiveScreen), place.name


async def test_only_the_visible_screen_is_painted_and_the_others_catch_up() -> None:
    async with viewer(script.hello(60)) as it:
        live = it.app.screen
        assert isinstance(live, LiveScreen)
        await it.press(TABS_BY_NAME["sessions"].key)
        await it.hear(*SAMPLES)
        assert live.view.elapsed_seconds == 60
        await it.press(TABS_BY_NAME[HOME_TAB].key)
        assert "01:03" in it.shown("head")


@pytest.mark.whole
@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("size", [SMALL, (200, 60)])
async def test_a_resized_screen_is_painted_in_its_new_arrangement_only(
    size: tuple[int, int], here: bool
) -> None:
    async with viewer(script.hello(60)) as it:
        chart = it.app.screen.query(Chart).first()
        painted: set[int] = set()
        paint = chart.render_line

        def render_line(y: int) -> Strip:
            painted.add(chart.size.width)
            return paint(y)

        await it.press("1" if here else "3")
        with patch.object(chart, "render_line", render_line):
            await it.pilot.resize_terminal(*size)
            await it.press("1")
        assert painted == {chart.size.width}


async def test_a_click_on_a_tab_leads_there_and_number_keys_belong_to_a_dialog_while_it_is_open() -> None:
    async with viewer(script.hello(60)) as it:
        await it.pilot.click("#tabs", offset=(it.shown("tabs").index("4 Sessions"), 0))
        await it.settle()
        assert it.app.screen is it.app.get_screen("sessions")
        await it.press("escape", "question_mark", "4")
        assert isinstance(it.app.screen, HelpScreen)
        await it.press("escape")
        assert isinstance(it.app.screen, LiveScreen)


async def test_an_answer_takes_the_place_of_an_event_where_there_is_little_room() -> None:
    async with viewer(script.hello(60), size=SMALL) as it:
        assert it.app.screen.query_one("#changes").display
        await it.press("plus")
        assert it.shown("note") == "✓ done"
        assert not it.app.screen.query_one("#changes").display
        assert len(it.shown("chart-fsyncs").splitlines()) == 1


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_the_key_of_a_tab_shows_one_screen_after_the_other(size: tuple[int, int]) -> None:
    """The tab line names all of them; `tab` goes on as well."""
    async with viewer(script.hello(60), size=size) as it:
        for key, names in (("3", "server host"), ("4", "sessions time"), ("6", "events settings")):
            first, second = (TABS_BY_NAME[name] for name in names.split())
            await it.press("1")
            for again, here in ((key, first), (key, second), ("tab", first), ("tab", second), (key, first)):
                await it.press(again)
                assert it.app.screen is it.app.get_screen(here.name), (key, again)
                assert [word for word in (first.label, second.label) if word in it.shown("tabs")]
                following = second if here is first else first
                assert f"tab {following.label}" in it.shown("keys")
        await it.press("1", "1", "tab")
        assert isinstance(it.app.screen, LiveScreen)


async def test_a_former_key_says_its_new_place_once() -> None:
    async with viewer(script.hello(60)) as it:
        for key, here, words in (
            ("4", "sessions", "Host: now on Server (3)"),
            ("5", "statements", "Settings: now on Changes (6)"),
            ("6", "events", "Sessions: now on key 4"),
            ("7", "saturation", "Events: now on Changes (6)"),
        ):
            await it.press(key)
            assert it.app.screen is it.app.get_screen(here)
            assert it.shown("note") == f"→ {words}"
        await it.press("4", "5", "6")
        assert it.shown("note") == "→ Events: now on Changes (6)"
        for key, here in (
            ("8", "saturation"),
            ("0", "time"),
            ("s", "statements"),
            ("o", "cost"),
            ("b", "big"),
        ):
            await it.press(key)
            assert it.app.screen is it.app.get_screen(here)


BESIDE = (
    ("3", "host", "Mem 38 %"),
    ("h", "server", "Questions/s"),
    ("4", "time", "row lock"),
    ("0", "sessions", "ROOT BLOCKER"),
    ("5", "cost", "COST OF AN OPERATION"),
    ("o", "statements", "STATEMENTS"),
    ("6", "settings", "sync_binlog"),
    ("g", "events", "preset unsafe"),
)


@pytest.mark.parametrize(("key", "other", "words"), BESIDE, ids=[each[0] for each in BESIDE])
async def test_the_other_screen_of_a_tab_is_seen_where_there_is_room(
    key: str, other: str, words: str
) -> None:
    """Below or above the open one, beside it on a wide terminal, and not at 80×24; a click leads there."""
    async with viewer(script.hello(70)) as it:
        await it.press(key)
        await it.hear(ACTIVITY, script.samples(71)[-1])
        aside, own = it.app.screen.query_one("#aside", Panel), it.app.screen.query_one("#own")
        assert words in aside.text()
        assert TABS_BY_NAME[other].label in aside.text().splitlines()[0]
        assert aside.region.width == own.region.width
        await it.pilot.resize_terminal(200, 60)
        await it.settle()
        assert aside.region.height == own.region.height > 40
        assert abs(aside.region.width - own.region.width) <= 1
        await it.pilot.resize_terminal(*SMALL)
        await it.settle()
        assert not aside.display
        await it.pilot.resize_terminal(*LARGE)
        await it.settle()
        await it.pilot.click("#aside", offset=(4, 1))
        await it.settle()
        assert it.app.screen is it.app.get_screen(other)


async def test_what_the_other_screen_needs_is_asked_for_while_it_is_seen() -> None:
    for size, asked in ((LARGE, [Watch("activity")] * 2), (SMALL, [])):
        async with viewer(script.hello(60), size=size) as it:
            await it.press("0")
            await it.hear(SAMPLES[-1])
            assert it.client.submitted == asked
