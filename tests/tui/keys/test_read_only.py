"""A viewer that may only look: keys that steer are dim and refused in words, the rest works."""

import pytest

from tests.examples import hello, sample
from tests.tui.support.driving import viewer
from tuibench.model.message import READ_ONLY_REFUSAL, SetThreads, Watch
from tuibench.tui.actions import ACTIONS, is_possible
from tuibench.tui.screens.base import MainScreen

STEERING = [action for action in ACTIONS if action.steers and not action.place]


async def test_what_steers_is_refused_in_words_and_looking_goes_on() -> None:
    async with viewer(hello(), read_only=True) as screen:
        for key in ("plus", "minus", "t", "r", "d", "p", "space", "T"):
            screen.app._show_note("")
            await screen.press(key)
            assert READ_ONLY_REFUSAL in screen.shown("note"), key
            assert isinstance(screen.app.screen, MainScreen), key
        view = screen.app.view
        assert view is not None
        assert len(STEERING) > 8
        assert not [action.name for action in STEERING if is_possible(action, view)]
        offered = {command.title for command in screen.app.get_system_commands(screen.app.screen)}
        assert offered
        assert offered.isdisjoint(action.help for action in STEERING)
        assert "q quit" in screen.shown("footer")
        assert "stop" not in screen.shown("footer")
        screen.app._send(SetThreads(99))
        await screen.settle()
        assert screen.client.submitted == []
        await screen.hear(sample(1))
        await screen.press("l")
        assert screen.client.submitted
        assert all(isinstance(command, Watch) for command in screen.client.submitted)


@pytest.mark.parametrize("key", ["q", "x", "ctrl+c"])
async def test_leaving_stops_nothing(key: str) -> None:
    async with viewer(hello(), read_only=True) as screen:
        await screen.press(key)
        assert not screen.app.is_running
        assert screen.client.submitted == []
