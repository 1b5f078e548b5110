"""The user's keys: read strictly, and what is wrong is named by file, action and nearest name."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.tui import script
from tests.tui.driving import viewer
from tuibench.errors import UsageError
from tuibench.model.command import Pause, SetThreads
from tuibench.tui import keymap
from tuibench.tui.look import Look
from tuibench.tui.screens.help import keys


def test_a_key_is_a_character_or_a_name_and_several_stand_side_by_side() -> None:
    found = keymap.read(
        {"pause": "o", "double": "f5 )", "fewer": "(", "halve": "Space", "mark": "M"}, "c.toml"
    )
    assert found.bound == {
        "pause": "o",
        "double": "f5,right_parenthesis",
        "fewer": "left_parenthesis",
        "halve": "space",
        "mark": "M",
    }
    assert found.shown == {"pause": "o", "double": "f5", "fewer": "(", "halve": "space", "mark": "M"}


def test_keys_can_change_places() -> None:
    assert keymap.read({"pause": "d", "durability": "p"}, "c.toml").bound == {"pause": "d", "durability": "p"}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"puase": "o"}, "c.toml: keys.puase: there is no action 'puase' (did you mean 'pause'?)"),
        ({"pause": 3}, "c.toml: keys.pause: a key is a text"),
        ({"pause": " "}, "c.toml: keys.pause: a key is a text"),
        ({"pause": "spcae"}, "c.toml: keys.pause: there is no key 'spcae' (did you mean 'space'?)"),
        ({"pause": "Enter"}, "c.toml: keys.pause: Enter confirms and goes back everywhere"),
        ({"pause": "q"}, "c.toml: keys.pause: q is the key of 'stop', too (give that another one: stop = "),
        ({"stop": "o", "pause": "o"}, "c.toml: keys.pause: o is the key of 'stop', too"),
    ],
)
def test_faults_are_named(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        keymap.read(given, "c.toml")
    found = str(caught.value)
    assert found.startswith(fault) or "'pause', too" in found


async def test_the_users_keys_do_what_they_say_and_the_old_ones_nothing() -> None:
    look = Look(keymap=keymap.read({"pause": "o", "more": "f5"}, "c.toml"))
    async with viewer(script.hello(60), look=look) as it:
        await it.press("p", "plus", "equals_sign")
        assert it.client.submitted == []
        await it.press("o", "f5")
        assert it.client.submitted == [Pause(), SetThreads(65)]
        assert "o pause" in it.shown("footer")
        assert it.app.view is not None
        assert ("o", "Pause the load, or go on") in list(keys(it.app.view))
        commands = {command.title: command.help for command in it.app.get_system_commands(it.app.screen)}
        assert commands["Pause the load, or go on"] == "key o"


def test_the_actions_that_the_documentation_names_exist() -> None:
    text = (Path(__file__).parents[3] / "docs" / "screen.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`", text.partition("The actions: ")[2].partition("## ")[0])
    assert len(named) > 20
    assert set(named) <= set(keymap.OURS)
