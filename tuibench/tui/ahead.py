"""Screens that are made before anybody asks for them: mounted and laid out, and not shown.

The first time that a screen is shown, its widgets are made, styled and laid out, which takes several times as
long as the picture. Textual does that for a screen that is pushed; here is what it does, without the showing.
"""

from typing import Any

from textual.app import App
from textual.screen import Screen

PAUSE_SECONDS = 0.5
"""Before each: the operator's keys and the session's news come first."""


async def prepared(app: App[Any], screen: Screen[Any]) -> None:
    """Returns when the screen stands, at the size that the terminal has now; one that runs stays."""
    if screen.is_running:
        return
    _, mounted = app._get_screen(screen)
    await mounted
    screen._refresh_layout(app.size)
