"""Dialogs in a terminal that is too small.

None is opened. One that is open when the terminal shrinks is hidden with all that was typed into it, and
comes back when there is room again. Until then it hears no key but those that leave: nobody says yes to a
question that cannot be read.
"""

from collections.abc import Sequence
from typing import Any

from textual.events import Key
from textual.geometry import Size
from textual.screen import ModalScreen, Screen

from tuibench.tui.screens.base import size_classes
from tuibench.tui.terminal.keyboard import TypedInput

LEAVING_KEYS = frozenset(("escape", "ctrl+c", "ctrl+q"))
NEEDS_ROOM = "a dialog needs more room: enlarge the window first"
HIDDEN_CLASS = "-cramped"


def is_too_small(size: Size) -> bool:
    """Whether nothing but the notice is shown at this size."""
    return "-small" in size_classes(*size)


def hide_or_show_dialogs(stack: Sequence[Screen[Any]], size: Size) -> None:
    """Hide the dialogs of these screens, or show them again."""
    for dialog in stack:
        if isinstance(dialog, ModalScreen):
            dialog.set_class(is_too_small(size), HIDDEN_CLASS)
            dialog.call_after_refresh(_restore_focus, dialog)


def is_ignored(screen: Screen[Any], typed: TypedInput) -> bool:
    """Whether this is typed into a dialog that is hidden."""
    return screen.has_class(HIDDEN_CLASS) and not (isinstance(typed, Key) and typed.key in LEAVING_KEYS)


def _restore_focus(dialog: ModalScreen[Any]) -> None:
    """What is hidden loses the focus."""
    if dialog.focused is None and not dialog.has_class(HIDDEN_CLASS):
        dialog.focus_next()
