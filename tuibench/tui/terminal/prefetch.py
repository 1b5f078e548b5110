"""Prefetch of a screen before its key is pressed: mounted and laid out, not shown.

The first time that a screen is shown its widgets are made, styled and laid out, which takes several times as
long as painting it.
"""

from typing import Any

from textual.app import App
from textual.screen import Screen

from tuibench.tui.terminal.textual_internals import prepare_screen

PREFETCH_PAUSE_SECONDS = 0.5
"""Before each screen: keys and the session's messages come first."""


async def prefetch_screen(app: App[Any], screen: Screen[Any]) -> None:
    """Returns when the screen is ready at the terminal's present size; a running one is left alone."""
    if not screen.is_running:
        await prepare_screen(app, screen)
