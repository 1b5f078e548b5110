"""A viewer that may only look: keys that steer are dim and refused in words, the rest works."""

import pytest

from tests.examples import hello, sample
from tests.tui.support.driving import viewer
from tuibench.model.command import SetThreads, WatchActivity
from tuibench.model.message import READ_ONLY_REFUSAL
from tuibench.tui.commands.actions import ACTIONS, is_possible
from tuibench.tui.screens.base import MainScreen

STEERING = [action for action in ACTIONS if action.steers and not action.place]


def test_there_is_something_to_refuse() -> None:
    assert len(STEERING) > 8


@pytest.mark.parametrize("keys", ["plus", "minus", "t", "r", "d", "p", "space", "T"])
async def test_a_key_that_steers_is_refused_in_words(keys: str) -> None:
    async with viewer(hello(), read_only=True) as screen:
        await screen.press(keys)
        assert READ_ONLY_REFUSAL in screen.shown("note")
        assert screen.client.submitted == []
        assert isinstance(screen.app.screen, MainScreen)


async def test_nothing_that_steers_can_be_done() -> None:
    async with viewer(hello(), read_only=True) as screen:
        view = screen.app.view
        assert view is not None
        assert not [action.name for action in STEERING if is_possible(action, view)]
        assert not [command.title for command in screen.app._palette(STEERING)]


async def test_a_command_that_comes_another_way_is_refused_as_well() -> None:
    async with viewer(hello(), read_only=True) as screen:
        screen.app._send(SetThreads(99))
        await screen.settle()
        assert screen.client.submitted == []


async def test_looking_goes_on() -> None:
    async with viewer(hello(), read_only=True) as screen:
        await screen.hear(sample(1))
        await screen.press("l")
        assert screen.client.submitted
        assert all(isinstance(command, WatchActivity) for command in screen.client.submitted)


@pytest.mark.parametrize("key", ["q", "x", "ctrl+c"])
async def test_leaving_stops_nothing(key: str) -> None:
    async with viewer(hello(), read_only=True) as screen:
        await screen.press(key)
        assert not screen.app.is_running
        assert screen.client.submitted == []


async def test_the_footer_offers_to_quit_not_to_stop() -> None:
    async with viewer(hello(), read_only=True) as screen:
        assert "q quit" in screen.shown("footer")
        assert "stop" not in screen.shown("footer")
