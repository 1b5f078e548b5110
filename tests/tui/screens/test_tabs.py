"""The tab line: number keys lead to screens, all of them can steer, only the visible one is painted."""

from unittest.mock import patch

import msgspec
import pytest
from textual.strip import Strip

from tests.tui.support import screened, script
from tests.tui.support.driving import LARGE, SMALL, viewer
from tests.tui.support.probed import probed
from tuibench.model.message import Pause, SetThreads
from tuibench.tui.screens.dialogs import InputDialog
from tuibench.tui.screens.help import HelpScreen
from tuibench.tui.screens.monitor import LiveScreen
from tuibench.tui.screens.tabs import HOME_TAB, SCREEN_TABS, TABS_BY_NAME
from tuibench.tui.widgets import Chart

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
            shown_as = f"{place.key} {place.short if size == SMALL else place.label}"
            assert shown_as in it.shown("tabs")
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
        await it.pilot.click("#tabs", offset=(it.shown("tabs").index("6 Sessions"), 0))
        await it.settle()
        assert it.app.screen is it.app.get_screen("sessions")
        await it.press("escape", "question_mark", "6")
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


async def test_a_screen_without_a_result_is_on_the_tab_line_and_its_tab_opens_the_form() -> None:
    async with viewer(script.hello(60)) as it:
        await it.pilot.click("#tabs", offset=(it.shown("tabs").index("8 Saturation"), 0))
        await it.settle()
        assert isinstance(it.app.screen, InputDialog)
