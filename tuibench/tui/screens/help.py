"""The help screen: keys, terms, the full text of the warnings; and the user's own keys.

The section [keys] of the configuration file:

    [keys]
    pause = "i"
    double = "f5 )"

A key is a character as typed, or Textual's name of it (f5, space, ctrl+t); several are separated by spaces.
An action listed here has these keys and no others.
"""

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, format_key
from textual.screen import ModalScreen
from textual.widgets import Static

from tuibench import sanitize
from tuibench.errors import UsageError
from tuibench.tui.actions import (
    ACTIONS,
    ACTIONS_BY_NAME,
    CHART_ACTIONS,
    REPLAY_ACTIONS,
    UserAction,
    action_key,
    is_offered,
)
from tuibench.tui.panels.bars import verdicts
from tuibench.tui.screens import tabs
from tuibench.tui.screens.tabs import SCREEN_TABS
from tuibench.tui.view import View

_GLOSSARY = (
    "TPS counts successful commits, QPS completed statements; 95 % of the transactions took at most p95. All"
    " three are measured by the client over the last second. SERVER shows the server's own counters:"
    " Questions/s above QPS are statements of other clients.",
    "A vertical line through the charts is a change, with its number in the events. A break in the baseline"
    " is a second that was not measured. – is an unknown value, never a zero.",
    "AT RISK means that a crash can lose transactions that were reported as committed.",
)
LOAD_ACTIONS = (
    *("more", "fewer", "halve", "double", "type_threads", "rate", "weights", "delay"),
    *("type_plan", "plan", "probe", "ab_test", "pause"),
)
ACTION_SUBJECTS = {
    "REPLAY": tuple(action.name for action in REPLAY_ACTIONS),
    "LOAD": LOAD_ACTIONS,
    "SERVER": ("durability", "undo", "tune", "locks", "run_sql", "crash"),
    "CHARTS": ("mark", "name_mark", "resolve", *(action.name for action in CHART_ACTIONS)),
    "PROGRAM": ("copy", "save", "help", "menu", "leave", "stop"),
}
"""Actions by subject."""
SCREENS_TITLE = "SCREENS"
RIGHT_COLUMN = (SCREENS_TITLE,)
"""Sections that are in the right one of two columns, above the keys of single screens and the terms."""
KEY_WIDTH = 8
WIDE_CELLS = 160
"""Width of a terminal from which the help has two columns."""


KeyEntry = tuple[str, str]
"""A key and its description."""


class HelpScreen(ModalScreen[None]):
    """Scrolls if the terminal is small; in a wide one the sections are in two columns."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,f1,q", "dismiss(None)", "Back")]
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [  # type: ignore[misc]
        (0, "-narrow"),
        (WIDE_CELLS, "-wide"),
    ]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", id="help-dialog") as dialog:
            dialog.border_title = "Help"
            dialog.border_subtitle = "↑ ↓ scroll · esc goes back"
            for verdict in verdicts(self._view):
                text = f"{verdict.glyph} {sanitize.text(verdict.text)}"
                yield Static(text, classes=verdict.role, markup=False)
            if not verdicts(self._view):
                yield Static("No warnings about the measurement.", classes="quiet")
            sections = dict(help_sections(self._view))
            with Horizontal(id="help-columns"):
                with Vertical(classes="help-column"):
                    for title, entries in sections.items():
                        if title not in RIGHT_COLUMN:
                            yield Static(_section_content(title, entries), classes="gap")
                with Vertical(classes="help-column"):
                    for title, entries in sections.items():
                        if title in RIGHT_COLUMN:
                            yield Static(_section_content(title, entries), classes="gap")
                    yield from _prose()


def _prose() -> Iterator[Static]:
    """Keys of single screens, and terms."""
    yield Static("KEYS OF SINGLE SCREENS", classes="gap heading")
    yield Static("\n".join(screen_key_lines()), markup=False)
    yield Static("WORDS", classes="gap heading")
    for paragraph in _GLOSSARY:
        yield Static(paragraph, classes="gap quiet", markup=False)


def help_sections(view: View) -> Iterator[tuple[str, list[KeyEntry]]]:
    """Every key and its description by subject; entries without a key are left out."""
    for title, names in ACTION_SUBJECTS.items():
        actions = [ACTIONS_BY_NAME[name] for name in names]
        if entries := [(action_key(each, view), each.help) for each in actions if is_listed(each, view)]:
            yield title, entries
    yield (
        SCREENS_TITLE,
        [(tabs.tab_key(each, view), f"{each.label}: {each.help}") for each in tabs.SCREEN_TABS],
    )


def is_listed(action: UserAction, view: View) -> bool:
    """True if the help lists the action; outside of a replay, also one that is not possible now."""
    return is_offered(action, view) if view.replay is not None else action not in REPLAY_ACTIONS


def screen_key_lines() -> Iterator[str]:
    """Keys of single screens, one sentence per screen."""
    for place in tabs.SCREEN_TABS:
        entries = getattr(place.make, "KEYS", ())
        if entries:
            yield f"On {place.label}: " + ", ".join(f"{key} {word}" for key, word in entries)


def _section_content(title: str, entries: Sequence[KeyEntry]) -> Content:
    lines = [Content.assemble((f"{key:<{KEY_WIDTH}}", "bold"), text) for key, text in entries]
    return Content("\n").join([Content.styled(title, "bold $primary"), *lines])


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
