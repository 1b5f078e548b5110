"""A terminal that is too small: what becomes of dialogs while the notice of `screens.main` fills it.

None is opened. One that is open when the terminal shrinks is hidden with all that was typed into it, and
comes back when there is room again. Until then it hears no key but those that leave: nobody says yes to a
question that cannot be read.
"""

from collections.abc import Sequence
from typing import Any

from textual.events import Key
from textual.geometry import Size
from textual.screen import ModalScreen, Screen

from tuibench.tui.keyboard import Typed
from tuibench.tui.screens.main import arrangement

LEAVING = frozenset(("escape", "ctrl+c", "ctrl+q"))
REFUSED = "a dialog needs more room: enlarge the window first"
HIDDEN = "-cramped"


def is_cramped(size: Size) -> bool:
    """Whether nothing but the notice is shown at this size."""
    return "-small" in arrangement(*size)


def fit(stack: Sequence[Screen[Any]], size: Size) -> None:
    """Hide the dialogs of these screens, or show them again."""
    for dialog in stack:
        if isinstance(dialog, ModalScreen):
            dialog.set_class(is_cramped(size), HIDDEN)
            dialog.call_after_refresh(_focus, dialog)


def is_unheard(screen: Screen[Any], typed: Typed) -> bool:
    """Whether this is typed into a dialog that is hidden."""
    return screen.has_class(HIDDEN) and not (isinstance(typed, Key) and typed.key in LEAVING)


def _focus(dialog: ModalScreen[Any]) -> None:
    """What is hidden loses the focus."""
    if dialog.focused is None and not dialog.has_class(HIDDEN):
        dialog.focus_next()
