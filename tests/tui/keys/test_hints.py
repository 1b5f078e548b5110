"""The hints on dialogs: their words fit what the keys do, with the user's own keys, too."""

import pytest
from textual.widgets import Input, OptionList, Static

from tests.tui.pictures.screenshots import CATALOGUE, SCREENS, Scene
from tests.tui.support import catalogue, script
from tests.tui.support.driving import SMALL, screen_text, viewer
from tuibench.tui.screens.dialogs import ChangeDialog
from tuibench.tui.screens.help import Keymap
from tuibench.tui.styled_app import DisplayOptions

TWO_KINDS = script.hello(60, script.status(weights={"old": 90, "new": 10}))
OWN = {"plan": "k", "probe": "o", "pause": "y", "saturation": "9"}
OWN_KEYS = DisplayOptions(keymap=Keymap(bound=OWN, shown=OWN))


async def test_a_dialog_says_what_enter_does_and_its_field_that_a_hint_is_no_value() -> None:
    async with viewer(TWO_KINDS) as it:
        for key, verb, hint in (
            ("t", "sets", "now 64"),
            ("r", "sets", "for example 500"),
            ("w", "sets", ""),
            ("n", "sets", "for example 5ms"),
            ("T", "starts", "for example 8:30s,16:30s,64:1m"),
            ("P", "starts", "for example p95<20ms"),
        ):
            await it.press(key)
            assert f" enter {verb} · esc goes back " in screen_text(it), key
            assert it.app.screen.query_one(Input).placeholder == hint or not hint
            await it.press("escape")


@pytest.mark.parametrize(
    ("screen", "keys", "yes"),
    [
        ("settings", ("backspace",), "restore"),
        ("sessions", ("k",), "end its query"),
        ("confirm", (), "apply"),
    ],
)
async def test_a_question_says_what_its_yes_does(screen: str, keys: tuple[str, ...], yes: str) -> None:
    scene = SCREENS[screen]
    assert isinstance(scene, Scene)
    async with viewer(scene.hello) as it:
        await it.press(*scene.keys)
        await it.hear(*scene.says)
        await it.press(*keys)
        assert f" y  {yes} " in screen_text(it)


async def test_a_dialog_names_the_users_own_keys() -> None:
    async with viewer(script.hello(60), display=OWN_KEYS) as it:
        for keys, told in (
            (("T",), "k resumes it"),
            (("o",), "Screen 9 shows the probe and its answer; o ends it."),
            (("t", "0", "enter"), "at least 1 thread; y pauses it"),
        ):
            await it.press(*keys)
            assert told in " ".join(str(part.content) for part in it.app.screen.query(Static))
            await it.press("escape")


async def test_where_nothing_can_be_chosen_no_key_says_that_it_chooses() -> None:
    async with viewer(script.hello(60, script.status(unavailable="1227: no SUPER privilege"))) as it:
        await it.press("d")
        assert "▲ at risk · esc goes back" in screen_text(it)


async def test_arrows_are_named_where_there_are_values_to_choose() -> None:
    async with viewer(CATALOGUE) as it:
        for is_offered in (True, False):
            setting = next(each for each in catalogue.STATES if bool(each.choices) is is_offered)
            it.app.push_screen(ChangeDialog(setting))
            await it.settle()
            assert ("↑ ↓ choose" in screen_text(it)) is is_offered
            await it.press("enter")
            assert ("choose one with ↑ ↓" in screen_text(it)) is is_offered
            await it.press("escape")


async def test_the_durability_dialog_opens_on_the_present_value() -> None:
    async with viewer(script.hello()) as it:
        await it.press("d")
        offers = it.app.screen.query_one(OptionList)
        assert offers.highlighted_option is not None
        assert "● ▲ unsafe" in str(offers.highlighted_option.prompt)


async def test_the_risks_of_the_durability_dialog_are_not_cut_on_a_small_screen() -> None:
    async with viewer(script.hello(60), size=SMALL) as it:
        await it.press("d")
        shown = screen_text(it)
        assert "…" not in "".join(line for line in shown.splitlines() if "▲" in line)
        assert "about 1 s of commits lost if the host crashes" in shown
        assert "sync_binlog, now 1" in shown
