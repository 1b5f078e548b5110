"""Dialogs in a terminal that is too small.

No dialog is opened. One that is open when the terminal shrinks is hidden with its content, and shown again
when there is room. Until then it receives only the keys that leave it, so that no unreadable question is
confirmed.
"""

from collections.abc import Sequence
from typing import Any

from textual.events import Key
from textual.geometry import Size
from textual.screen import ModalScreen, Screen

from tuibench.tui.screens.base import size_classes
from tuibench.tui.terminal.keyboard import TypedInput

LEAVING_KEYS = frozenset(("escape", "ctrl+c", "ctrl+q"))
NEEDS_ROOM = "the dialog needs more space: enlarge the window first"
HIDDEN_CLASS = "-cramped"


def is_too_small(size: Size) -> bool:
    """True if the terminal shows only the notice at this size."""
    return "-small" in size_classes(*size)


def hide_or_show_dialogs(stack: Sequence[Screen[Any]], size: Size) -> None:
    """Hide the dialogs of these screens, or show them again."""
    for dialog in stack:
        if isinstance(dialog, ModalScreen):
            dialog.set_class(is_too_small(size), HIDDEN_CLASS)
            dialog.call_after_refresh(_restore_focus, dialog)


def is_ignored(screen: Screen[Any], typed: TypedInput) -> bool:
    """True if the input would go to a hidden dialog."""
    return screen.has_class(HIDDEN_CLASS) and not (isinstance(typed, Key) and typed.key in LEAVING_KEYS)


def _restore_focus(dialog: ModalScreen[Any]) -> None:
    """Focus a widget of a dialog that is shown again: hiding it has removed the focus."""
    if dialog.focused is None and not dialog.has_class(HIDDEN_CLASS):
        dialog.focus_next()
