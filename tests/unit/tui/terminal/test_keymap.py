"""The user's keys: read strictly, and what is wrong is named by file, action and nearest name."""

import re
from typing import Any

import pytest

from tests.paths import DOCS
from tuibench.errors import UsageError
from tuibench.tui.terminal import keymap


def test_a_key_is_a_character_or_a_name_and_several_stand_side_by_side() -> None:
    found = keymap.parse_keymap(
        {"pause": "i", "double": "f5 )", "fewer": "(", "halve": "Space", "mark": "M"}, "c.toml"
    )
    assert found.bound == {
        "pause": "i",
        "double": "f5,right_parenthesis",
        "fewer": "left_parenthesis",
        "halve": "space",
        "mark": "M",
    }
    assert found.shown == {"pause": "i", "double": "f5", "fewer": "(", "halve": "space", "mark": "M"}


def test_keys_can_change_places() -> None:
    assert keymap.parse_keymap({"pause": "d", "durability": "p"}, "c.toml").bound == {
        "pause": "d",
        "durability": "p",
    }


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"puase": "o"}, "c.toml: keys.puase: there is no action 'puase' (did you mean 'pause'?)"),
        ({"pause": 3}, "c.toml: keys.pause: a key is a text"),
        ({"pause": " "}, "c.toml: keys.pause: a key is a text"),
        ({"pause": "spcae"}, "c.toml: keys.pause: there is no key 'spcae' (did you mean 'space'?)"),
        ({"pause": "Enter"}, "c.toml: keys.pause: Enter confirms and goes back everywhere"),
        (
            {"pause": "q"},
            "c.toml: keys.pause: q is the key of 'stop', too (give that action another key: stop = ",
        ),
        ({"stop": "i", "pause": "i"}, "c.toml: keys.pause: i is the key of 'stop', too"),
    ],
)
def test_faults_are_named(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        keymap.parse_keymap(given, "c.toml")
    found = str(caught.value)
    assert found.startswith(fault) or "'pause', too" in found


def test_the_actions_that_the_documentation_names_exist() -> None:
    text = (DOCS / "screen.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`", text.partition("The actions: ")[2].partition("## ")[0])
    assert len(named) > 20
    assert set(named) <= set(keymap.DEFAULT_KEYS)
