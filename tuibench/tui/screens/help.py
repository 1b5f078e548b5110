"""The keys, what the screen's words mean, and the warnings in full."""

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tuibench.tui import places
from tuibench.tui.actions import ACTIONS, REPLAY, key_of, offered
from tuibench.tui.view import View

_READING = (
    "TPS counts transactions whose commit succeeded, QPS every statement that returned, p95 is the time that"
    " 95 of 100 transactions stayed below, all in the last second, measured by the client. SERVER is what the"
    " server counts itself: Questions/s above QPS is traffic of others.",
    "A vertical line through the charts is a change; its number is the number in the events. A break in the"
    " baseline is a second that was not measured. – is a value that is not known, never a zero.",
    "AT RISK means that a transaction that was reported as committed can be lost in a crash.",
)
_MORE_KEYS = (("ctrl+p", "All commands, and the themes"),)


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
            yield Static(_keys(self._view), classes="gap")
            yield Static("\n".join(own_keys()), classes="gap", markup=False)
            for paragraph in _READING:
                yield Static(paragraph, classes="gap quiet", markup=False)


def keys(view: View) -> Iterator[tuple[str, str]]:
    """Every key and what it does."""
    for action in ACTIONS:
        if offered(action, view) if view.replay is not None else action not in REPLAY:
            yield key_of(action, view), action.help
    for place in places.PLACES:
        yield places.key_of(place, view), f"{place.label}: {place.help}"
    yield from _MORE_KEYS


def own_keys() -> Iterator[str]:
    """The keys of single screens, a sentence for each."""
    for place in places.PLACES:
        entries = getattr(place.make, "KEYS", ())
        if entries:
            yield f"On {place.label}: " + ", ".join(f"{key} {word}" for key, word in entries)


def _keys(view: View) -> Content:
    lines = (Content.assemble((f"{key:<8}", "bold"), text) for key, text in keys(view))
    return Content("\n").join(lines)
