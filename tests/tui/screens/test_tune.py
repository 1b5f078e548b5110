"""The screen of a screening: its chart, its key, and what is copied."""

import msgspec
import pytest
from textual.screen import ModalScreen

from tests.tui.pictures.screenshots import CALM
from tests.tui.support import screened
from tests.tui.support.driving import viewer
from tuibench.model.message import StopExperiment

TUNED = msgspec.structs.replace(CALM, tune=screened.progress())
OVER = msgspec.structs.replace(CALM, tune=screened.progress(is_over=True))


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_every_value_has_its_line_under_its_verdict(size: tuple[int, int]) -> None:
    async with viewer(TUNED, size) as it:
        await it.press("9")
        shown = it.shown("tune")
        for one in screened.CANDIDATES:
            assert one.change in shown
        assert shown.index("Better") < shown.index("Worse") < shown.index("No effect within ±2 %")
        assert "●" in shown
        assert "at most" in shown.splitlines()[0]


@pytest.mark.parametrize(("screen", "key"), [("8", "P"), ("9", "U")])
async def test_without_a_result_its_key_opens_the_form(screen: str, key: str) -> None:
    titles = []
    for pressed in (screen, key):
        async with viewer(CALM) as it:
            await it.press(pressed)
            assert isinstance(it.app.screen, ModalScreen)
            titles.append(it.app.screen.query_one(".dialog").border_title)
    assert titles[0] == titles[1]


async def test_the_key_ends_a_screening_under_way() -> None:
    async with viewer(TUNED) as it:
        await it.press("U")
        assert it.client.submitted == [StopExperiment("tune")]


async def test_the_winner_is_copied_for_the_option_file() -> None:
    async with viewer(OVER) as it:
        await it.press("9")
        assert "over" in it.shown("tune").splitlines()[0]
        await it.press("y")
        assert "innodb_flush_log_at_trx_commit = 2" in it.app.clipboard
