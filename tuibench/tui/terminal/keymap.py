"""Key bindings of the user: the section [keys] of the configuration file, validated.

[keys]
pause = "i"
double = "f5 )"

A key is a character as typed, or Textual's name of it (f5, space, ctrl+t); several are separated by spaces.
An action listed here has these keys and no others.
"""

import difflib
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, format_key

from tuibench.errors import UsageError
from tuibench.tui.commands.actions import ACTIONS, REPLAY_ACTIONS
from tuibench.tui.screens.tabs import SCREEN_TABS

RESERVED_KEYS = {
    **dict.fromkeys(("ctrl+c", "ctrl+q"), "ends the program"),
    "ctrl+p": "opens the menu",
    **dict.fromkeys(("up", "down", "left", "right", "tab", "shift+tab"), "moves"),
    **dict.fromkeys(("enter", "escape"), "confirms and goes back"),
}
"""Keys with the same meaning on every screen, which cannot be reassigned."""


DEFAULT_KEYS = {
    **{action.name: action.keys.split(",") for action in ACTIONS},
    **{place.name: [place.key] for place in SCREEN_TABS},
}
"""Default keys by name in a keymap: the actions, then the screens."""
YIELDING_ACTIONS = frozenset(action.name for action in REPLAY_ACTIONS)
"""Actions that lose a default key to a user's own key: controls of a replay, which are rarely used."""


class Keymap(NamedTuple):
    """`bound` has Textual's format (action → keys), `shown` is the label in footer and help."""

    bound: Mapping[str, str] = {}
    shown: Mapping[str, str] = {}


def parse_keymap(given: Mapping[str, Any], source: str) -> Keymap:
    """Parse the section. Raises UsageError with file, action, and the error in its key."""
    keys = {name: _parse_keys(name, text, f"{source}: keys.{name}") for name, text in given.items()}
    _refuse_clashes(keys, source)
    bound = {name: ",".join(found) for name, found in keys.items()}
    return Keymap(bound, {name: format_key(found[0]) for name, found in keys.items()})


def _parse_keys(name: str, text: Any, where: str) -> list[str]:
    if name not in DEFAULT_KEYS:
        raise UsageError(f"{where}: there is no action '{name}'", _nearest(name, DEFAULT_KEYS))
    if not isinstance(text, str) or not text.split():
        raise UsageError(f'{where}: a key is a text, such as "u", "f5" or "space"')
    return [_parse_key(word, where) for word in text.split()]


def _parse_key(word: str, where: str) -> str:
    key = _key_name(word) if len(word) == 1 else word.lower()
    if key in RESERVED_KEYS:
        raise UsageError(f"{where}: {word} {RESERVED_KEYS[key]} everywhere", "choose another key")
    if len(word) > 1 and key not in _KEY_NAMES:
        raise UsageError(f"{where}: there is no key '{word}'", _nearest(key, _KEY_NAMES))
    return key


def _key_name(character: str) -> str:
    """Textual's name of a character's key: `+` is plus."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


_KEY_NAMES = frozenset(
    {str(key.value) for key in Keys} | {_key_name(chr(code)) for code in range(33, 127)} | {"space"}
)


def _refuse_clashes(keys: Mapping[str, list[str]], source: str) -> None:
    """Raises UsageError if a key is assigned twice."""
    owners: dict[str, str] = {}
    for name, usual in DEFAULT_KEYS.items():
        if name in YIELDING_ACTIONS and name not in keys:
            continue
        for key in dict.fromkeys(keys.get(name, usual)):
            if other := owners.get(key):
                mine, old = (name, other) if name in keys else (other, name)
                raise UsageError(
                    f"{source}: keys.{mine}: {format_key(key)} is the key of '{old}', too",
                    f'give that action another key: {old} = "…"',
                )
            owners[key] = name


def _nearest(word: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean '{found[0]}'?" if found else "the help (?) lists the keys of all actions"
