"""The keys, what the screen's words mean, and the warnings in full."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tuibench.tui import places
from tuibench.tui.actions import BY_NAME, CHARTS, REPLAY, Action, key_of, offered
from tuibench.tui.view import View

_READING = (
    "TPS counts transactions whose commit succeeded, QPS every statement that returned, p95 is the time that"
    " 95 of 100 transactions stayed below, all in the last second, measured by the client. SERVER is what the"
    " server counts itself: Questions/s above QPS is traffic of others.",
    "A vertical line through the charts is a change; its number is the number in the events. A break in the"
    " baseline is a second that was not measured. – is a value that is not known, never a zero.",
    "AT RISK means that a transaction that was reported as committed can be lost in a crash.",
)
LOAD = (
    *("more", "fewer", "halve", "double", "type_threads", "rate", "weights", "delay"),
    *("type_plan", "plan", "probe", "pause"),
)
SUBJECTS = {
    "REPLAY": tuple(action.name for action in REPLAY),
    "LOAD": LOAD,
    "SERVER": ("durability", "locks"),
    "CHARTS": ("mark", *(action.name for action in CHARTS)),
    "PROGRAM": ("help", "menu", "leave", "stop"),
}
"""The actions by what they are about."""
SCREENS = "SCREENS"
KEY_WIDTH = 8


Entry = tuple[str, str]
"""A key, and what it does."""


class HelpScreen(ModalScreen[None]):
    """Scrolls when the terminal is small."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,f1,q", "dismiss(None)", "Back")]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", id="help-dialog") as dialog:
            dialog.border_title = "Help"
            dialog.border_subtitle = "↑ ↓ scroll · esc goes back"
            for warning in self._view.status.warnings:
                yield Static(f"▲ {warning}", classes="warn", markup=False)
            if not self._view.status.warnings:
                yield Static("No warnings about the measurement.", classes="quiet")
            for title, entries in subjects(self._view):
                yield Static(_section(title, entries), classes="gap")
            yield Static("KEYS OF SINGLE SCREENS", classes="gap heading")
            yield Static("\n".join(own_keys()), markup=False)
            yield Static("WORDS", classes="gap heading")
            for paragraph in _READING:
                yield Static(paragraph, classes="gap quiet", markup=False)


def subjects(view: View) -> Iterator[tuple[str, list[Entry]]]:
    """Every key and what it does, by subject; none without a key here."""
    for title, names in SUBJECTS.items():
        actions = [BY_NAME[name] for name in names]
        if entries := [(key_of(each, view), each.help) for each in actions if is_told(each, view)]:
            yield title, entries
    yield SCREENS, [(places.key_of(each, view), f"{each.label}: {each.help}") for each in places.PLACES]


def is_told(action: Action, view: View) -> bool:
    """In a run also what does not apply just now: somebody may look for it."""
    return offered(action, view) if view.replay is not None else action not in REPLAY


def own_keys() -> Iterator[str]:
    """The keys of single screens, a sentence for each."""
    for place in places.PLACES:
        entries = getattr(place.make, "KEYS", ())
        if entries:
            yield f"On {place.label}: " + ", ".join(f"{key} {word}" for key, word in entries)


def _section(title: str, entries: Sequence[Entry]) -> Content:
    lines = [Content.assemble((f"{key:<{KEY_WIDTH}}", "bold"), text) for key, text in entries]
    return Content("\n").join([Content.styled(title, "bold $primary"), *lines])
