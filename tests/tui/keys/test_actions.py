"""Every key does what its table says: the actions', and those of single screens and dialogs."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.command import CommandList
from textual.screen import Screen

from tests.tui.keys import trials
from tests.tui.keys.trials import OWN_KEYS, Keys, Trial
from tests.tui.support.driving import viewer
from tests.tui.test_replay import replayed
from tuibench.base.feature import installed
from tuibench.model.message import SetThreads
from tuibench.tui import screens
from tuibench.tui.actions import ACTIONS, ACTIONS_BY_NAME, KEY_WIDTH, REPLAY_ACTIONS, is_possible
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.screens.load_dialogs import DurabilityDialog
from tuibench.tui.screens.tabs import SCREEN_TABS

LEAVE = ACTIONS_BY_NAME["leave"]
IN_A_RUN = [
    (action, key)
    for action in ACTIONS
    if action not in REPLAY_ACTIONS and action is not LEAVE
    for key in action.keys.split(",")
]
IN_A_REPLAY = [(action, key) for action in ACTIONS if action.play for key in action.keys.split(",")]


async def hold(trial: Trial, it: Any, key: str, name: str = "") -> None:
    """Nothing but the key makes the difference."""
    await it.press(*trial.lead)
    assert trial.seen(it) == trial.before, f"{name}, before {key}"
    await it.press(key, *trial.then)
    assert trial.seen(it) == trial.after, f"{name}, after {key}"


async def test_the_keys_of_a_run() -> None:
    """One after the other; before each the session says again that it runs with 64 threads."""
    async with viewer(trials.STEERABLE) as it:
        for action, key in IN_A_RUN:
            assert action.name in trials.ACTIONS, f"{action.name}: an action without a trial"
            await it.press("escape")
            await it.hear(trials.STEERABLE.status)
            it.client.submitted.clear()
            await hold(trials.ACTIONS[action.name], it, key, action.name)
            assert not (action.view_change and it.client.submitted)


async def test_the_key_that_leaves_the_run() -> None:
    async with viewer(trials.STEERABLE) as it:
        await hold(trials.LEAVES, it, LEAVE.keys, LEAVE.name)


UNDO = {"pause": ("p",), "slower": ("right_curly_bracket",), "faster": ("left_curly_bracket",)}
"""What takes back an action of a replay, apart from its place."""


async def test_the_keys_of_a_replay(tmp_path: Path) -> None:
    """Each from the beginning: paused, at its first speed."""
    async with replayed(tmp_path, ticks=90) as it:
        for action, key in IN_A_REPLAY:
            assert action.name in trials.REPLAY, f"{action.name}: an action without a trial"
            await hold(trials.REPLAY[action.name], it, key, action.name)
            await it.press("circumflex_accent", *UNDO.get(action.name, ()))


@pytest.mark.parametrize("keys", OWN_KEYS, ids=lambda keys: keys.kind.__name__)
async def test_the_keys_of_one_screen(keys: Keys) -> None:
    """In a run that somebody else started; before each, the screen is left and opened again."""
    async with viewer(keys.scene.hello, owner=False) as it:
        for key, trial in keys.trials.items():
            await it.press("escape", "escape", "escape", "1", *keys.scene.keys)
            await it.until(lambda: isinstance(it.app.screen, keys.kind))
            await it.hear(*keys.scene.says)
            await it.press(*keys.rest)
            it.client.submitted.clear()
            await hold(trial, it, key, keys.kind.__name__)


def bound() -> Iterator[tuple[type, str]]:
    """Every class of a screen with the keys that it binds itself."""
    names = [f"{screens.__name__}.{module.name}" for module in pkgutil.iter_modules(screens.__path__)]
    brought = {one for feature in installed() for one in (*feature.tabs, *feature.dialogs.values())}
    for name in (*names, *sorted({reference.partition(":")[0] for reference in brought})):
        found = importlib.import_module(name)
        for kind in vars(found).values():
            if isinstance(kind, type) and issubclass(kind, Screen) and kind.__module__ == found.__name__:
                for binding in vars(kind).get("BINDINGS", ()):
                    text = binding.key if isinstance(binding, Binding) else binding[0]
                    yield from ((kind, key) for key in text.split(","))


def test_every_key_of_every_screen_is_tried() -> None:
    assert set(bound()) == {(keys.kind, key) for keys in OWN_KEYS for key in keys.trials}


SHOWN = {
    "↑ ↓": {"up", "down"},
    "bksp": {"backspace"},
    "← →": {"left", "right"},
    "/": {"slash"},
    ".": {"full_stop"},
    "esc": {"escape"},
}


def test_a_screen_names_keys_that_it_has() -> None:
    everywhere = {key for action in ACTIONS for key in action.keys.split(",")}
    for place in SCREEN_TABS:
        assert isinstance(place.make, type)
        assert issubclass(place.make, MainScreen)
        own = {key for kind, key in bound() if issubclass(place.make, kind)}
        for shown, _ in place.make.KEYS:
            assert SHOWN.get(shown, {shown}) <= own | everywhere, shown


async def test_the_palette_offers_every_action_that_can_be_done_in_the_order_of_the_tables() -> None:
    async with viewer(trials.STEERABLE) as it:
        titles = [command.title for command in it.app.get_system_commands(it.app.screen)]
        view = it.app.view
        assert view is not None
        wanted = [action.help for action in ACTIONS if is_possible(action, view) and action.name != "menu"]
        assert len(wanted) > len(trials.CHARTS)
        assert [help for help in wanted if help not in titles] == []
        known = it.app.get_system_commands(it.app.screen)
        expected = [f"{command.help:<{KEY_WIDTH}}{command.title}" for command in known]
        await it.press("ctrl+p")
        found = it.app.screen.query_one(CommandList)
        await it.until(lambda: [str(option.prompt) for option in found.options] == expected)
        await it.press(*"twice")
        line = "]".ljust(KEY_WIDTH) + "Twice the threads"
        await it.until(lambda: [str(option.prompt) for option in found.options][:1] == [line])
        await it.press("enter", "enter")
        await it.until(lambda: bool(it.client.submitted))
        assert it.client.submitted == [SetThreads(128)]
        await it.press("d", "ctrl+p")
        assert isinstance(it.app.screen, DurabilityDialog)
