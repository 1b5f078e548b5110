"""Prefetch of a screen before its key is pressed: mounted and laid out, not shown.

When a screen is shown for the first time its widgets are created, styled and laid out, which takes several
times as long as painting it.
"""

from typing import Any

from textual.app import App
from textual.screen import Screen

from tuibench.tui.terminal.textual_internals import prepare_screen

PREFETCH_PAUSE_SECONDS = 0.5
"""Pause before each screen: keys and the session's messages take precedence."""


async def prefetch_screen(app: App[Any], screen: Screen[Any]) -> None:
    """Return when the screen is ready at the terminal's current size; no-op for a running one."""
    if not screen.is_running:
        await prepare_screen(app, screen)
