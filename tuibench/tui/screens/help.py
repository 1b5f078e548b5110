"""The help screen with keys, terms and the full text of the warnings; the keymap of the user.

The keymap is the section [keys] of the configuration file:

    [keys]
    pause = "i"
    double = "f5 )"

A key is a typed character, or Textual's name of a key (f5, space, ctrl+t); several are separated by spaces. A
listed action has these keys only.
"""

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, format_key
from textual.screen import ModalScreen
from textual.widgets import Static

from tuibench.base import sanitize
from tuibench.base.errors import UsageError
from tuibench.tui.action import UserAction
from tuibench.tui.actions import (
    ACTIONS,
    ACTIONS_BY_NAME,
    CHART_ACTIONS,
    REPLAY_ACTIONS,
    action_key,
    is_offered,
    is_possible,
)
from tuibench.tui.panels.bars import verdicts
from tuibench.tui.screens import tabs
from tuibench.tui.screens.tab import tab_key
from tuibench.tui.screens.tabs import SCREEN_TABS
from tuibench.tui.view import View

_GLOSSARY = (
    "TPS counts successful commits, QPS completed statements; 95 % of the transactions took at most p95. The"
    " client measures all three, over the last second. SERVER shows the server's own counters.",
    "A line through the charts is a change, with its number in the events. A gap was not measured; – is an"
    " unknown value, never a zero.",
    "AT RISK: a crash can lose transactions that were reported as committed.",
)
_SUBJECTS = {
    "REPLAY": tuple(action.name for action in REPLAY_ACTIONS),
    "LOAD": (
        *("type_threads", "more", "fewer", "halve", "double", "rate", "weights", "delay", "hardware"),
        *("callers", "burst"),
        *("type_plan", "plan", "probe", "ab_test", "pause"),
    ),
    "SERVER": ("durability", "undo", "keep", "screening", "locks", "cpu_profile", "run_sql", "crash"),
    "PROGRAM": ("copy", "save", "help", "menu", "leave", "stop"),
    "CHARTS": ("pin", "resolve", "mark", "name_mark", *(action.name for action in CHART_ACTIONS)),
}
_NAMED = {name for names in _SUBJECTS.values() for name in names}


def with_followers(names: Iterable[str], actions: Iterable[UserAction]) -> Iterator[str]:
    """The names, each with the actions of features that follow it and that no subject names."""
    for name in names:
        yield name
        yield from (one.name for one in actions if one.after == name and one.name not in _NAMED)


ACTION_SUBJECTS = {title: tuple(with_followers(names, ACTIONS)) for title, names in _SUBJECTS.items()}
"""Actions by subject."""
PAIRS = {
    "more": ("fewer", "One thread more, or fewer"),
    "rate": ("weights", "Target rate; weights"),
    "delay": ("hardware", "Simulated network; hardware"),
    "callers": ("burst", "Deadline and callers; a burst"),
    "halve": ("double", "Half the threads, or twice"),
    "undo": ("keep", "Undo, or keep the changes"),
    "cpu_profile": ("black_box", "CPU profile; black box"),
    "cursor_left": ("cursor_right", "Cursor by one column"),
    "cursor_far_left": ("cursor_far_right", "Cursor by ten columns"),
    "zoom_out": ("zoom_in", "Zoom out, or in"),
}
"""Pairs of actions that share a line: for the first one, the second one and the text of the line."""
SCREENS_TITLE = "SCREENS"
HELP_COLUMNS = (("REPLAY", "LOAD", "SERVER"), ("CHARTS",), (SCREENS_TITLE, "PROGRAM"))
"""The sections of each column; the terms are below them."""
KEY_WIDTH = 7
WIDE_CELLS = 110
"""Width of a terminal from which the help has three columns instead of two."""


KeyEntry = tuple[str, str]
"""A key, and its description."""


class HelpScreen(ModalScreen[None]):
    """The help in columns; it scrolls if the terminal is small."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,f1,q", "dismiss(None)", "Back")]
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [  # type: ignore[misc]
        (0, "-narrow"),
        (WIDE_CELLS, "-wide"),
    ]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        sections = dict(help_sections(self._view))
        with VerticalScroll(classes="dialog", id="help-dialog") as dialog:
            dialog.border_title = "Help"
            for verdict in verdicts(self._view):
                text = f"{verdict.glyph} {sanitize.text(verdict.text)}"
                yield Static(text, classes=verdict.role, markup=False)
            if not verdicts(self._view):
                yield Static("No warnings about the measurement.", classes="quiet")
            with Container(id="help-columns"):
                for titles in HELP_COLUMNS:
                    with Vertical(classes="help-column"):
                        for title in filter(sections.get, titles):
                            yield Static(_section_content(title, sections[title]), classes="gap")
                with Vertical(classes="help-column", id="help-words"):
                    yield Static("WORDS", classes="gap heading")
                    yield Static(" ".join(_GLOSSARY), classes="quiet", markup=False)

    def on_mount(self) -> None:
        self.watch(self.query_one("#help-dialog"), "show_vertical_scrollbar", self._name_keys)

    def _name_keys(self, scrolls: bool) -> None:
        keys = "↑ ↓ scroll · esc goes back" if scrolls else "esc goes back"
        self.query_one("#help-dialog").border_subtitle = keys


def help_sections(view: View) -> Iterator[tuple[str, list[KeyEntry]]]:
    """Every key and its description by subject; entries without a key are left out."""
    seconds = {second for second, _ in PAIRS.values()}
    for title, names in ACTION_SUBJECTS.items():
        actions = [ACTIONS_BY_NAME[name] for name in names if name not in seconds]
        # Actions that are not possible now are listed, except in a replay.
        if entries := [
            _help_entry(each, view)
            for each in actions
            if (is_offered(each, view) if view.replay is not None else each not in REPLAY_ACTIONS)
        ]:
            yield title, entries
    yield (
        SCREENS_TITLE,
        [
            *((tab_key(each, view), f"{each.label}: {each.help}") for each in tabs.SCREEN_TABS),
            ("tab", "Next screen of the tab"),
        ],
    )


def _help_entry(action: UserAction, view: View) -> KeyEntry:
    key = action_key(action, view)
    if action.name not in PAIRS:
        return key, action.help
    second, text = PAIRS[action.name]
    return f"{key} {action_key(ACTIONS_BY_NAME[second], view)}", text


MOST_NEAR_KEYS = 3


def unknown_key_hint(key: str, view: View, screen_keys: Sequence[KeyEntry] = ()) -> str:
    """The message for a key without a binding, with keys that may have been meant: the letter in the other
    case, and keys whose labels begin with the letter.
    """
    actions = [(action_key(each, view), each.label) for each in ACTIONS if is_possible(each, view)]
    screens = [(tab_key(each, view), each.label) for each in SCREEN_TABS if each.offered(view)]
    known = [*actions, *screens, *screen_keys] if key.isalpha() and len(key) == 1 else []
    near = [each for each in known if each[0] == key.swapcase()]
    near += [each for each in known if each[1].lower().startswith(key.lower()) and each not in near]
    words = ", ".join(f"{near_key} is {label}" for near_key, label in near[:MOST_NEAR_KEYS])
    every = f"{action_key(ACTIONS_BY_NAME['help'], view)} lists all keys"
    return f"{key} does nothing here: {words}; {every}" if words else f"{key} does nothing here; {every}"


def _section_content(title: str, entries: Sequence[KeyEntry]) -> Content:
    lines = [Content.assemble((f"{key:<{KEY_WIDTH}}", "bold"), text) for key, text in entries]
    return Content("\n").join([Content.styled(title, "bold $primary"), *lines])


RESERVED_KEYS = {
    **dict.fromkeys(("ctrl+c", "ctrl+q"), "ends the program"),
    "ctrl+p": "opens the menu",
    **dict.fromkeys(("up", "down", "left", "right", "tab", "shift+tab"), "moves"),
    **dict.fromkeys(("enter", "escape"), "confirms and goes back"),
}
"""Keys that cannot be reassigned, with their meaning on every screen."""


DEFAULT_KEYS = {
    **{action.name: action.keys.split(",") for action in ACTIONS},
    **{place.name: [place.key] for place in SCREEN_TABS},
}
"""The default keys of actions and screens, by their name in a keymap."""
YIELDING_ACTIONS = frozenset(action.name for action in REPLAY_ACTIONS)
"""Actions whose default key the user may give to another action: controls of a replay, which are rarely
used.
"""


class Keymap(NamedTuple):
    """The user's own keys, by action."""

    bound: Mapping[str, str] = {}
    """The keys in Textual's format."""
    shown: Mapping[str, str] = {}
    """Their label in footer and help."""


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
    """Textual's name of the key of a character, such as plus for `+`."""
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
