"""How a screen is to look and be handled, whatever it shows: theme, characters, mouse, the user's keys.

Decided here: which theme stands in for NO_COLOR, and when a terminal gets plain characters.
"""

import asyncio
import os
import sys
from typing import Any, ClassVar, NamedTuple, TypeVar

from rich.console import RenderableType
from textual._compositor import ChopsUpdate
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.events import Event
from textual.screen import Screen

from tuibench.tui import terminal, themes
from tuibench.tui.drawing import to_ascii
from tuibench.tui.frames import CellsUpdate
from tuibench.tui.keyboard import Keyboard, Typed
from tuibench.tui.keymap import Keymap
from tuibench.tui.widgets import scrollbars

Answer = TypeVar("Answer")


class Look(NamedTuple):
    """`theme` is empty for ours. Without `mouse` the terminal keeps it for itself, to mark and copy."""

    theme: str = ""
    ascii_only: bool = False
    mouse: bool = True
    keymap: Keymap = Keymap()


PLAIN = Look()
COERCED = "C.UTF-8"


class Ground(Screen[None]):
    """The blank screen that Textual puts below our first one: covered from the start, so it is never painted.

    Its picture would have all that lies above painted anew.
    """

    @property
    def is_current(self) -> bool:
        return False


class StyledApp(App[Answer]):
    """An app in our colours. NO_COLOR counts even when it is empty, and also for the app after this one."""

    ALLOW_SELECT = False
    TITLE = "tuibench"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "focus_next", "Next field", show=False, priority=True),
        Binding("shift+tab", "focus_previous", "Field before", show=False, priority=True),
    ]
    """With priority: the focus moves before the next key is handed out, also if both come in one burst."""

    def __init__(self, look: Look) -> None:
        without_colour = os.environ.get("NO_COLOR")
        super().__init__(ansi_color=None if without_colour is None else True)
        if without_colour is not None:
            os.environ["NO_COLOR"] = without_colour
        self.look = look
        scrollbars.choose(ascii_only=look.ascii_only)
        if look.ascii_only:
            self.driver_class = plain(self.driver_class)
        self.animation_level = "none"
        for ours in themes.OURS:
            self.register_theme(ours)
        standing_in = themes.DEFAULT if without_colour is None else themes.WITHOUT_COLOUR
        self.theme = look.theme or standing_in
        self.set_keymap(dict(look.keymap.bound))
        self._keyboard = Keyboard(self, super().on_event)

    async def on_event(self, event: Event) -> None:
        """A key that comes from the terminal waits for its turn; one that a widget has passed on had it."""
        if isinstance(event, Typed) and not event.is_forwarded:
            self._keyboard.take(event)
        else:
            await super().on_event(event)

    async def on_mount(self) -> None:
        terminal.watch(self)
        self._typing = asyncio.ensure_future(self._keyboard.run())

    async def on_unmount(self) -> None:
        self._typing.cancel()
        terminal.leave()

    def get_default_screen(self) -> Screen[Any]:
        return Ground(id="_default")

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Sends no more cells than were refreshed, see `frames`."""
        cells = CellsUpdate.of(renderable) if isinstance(renderable, ChopsUpdate) else renderable
        super()._display(screen, cells)

    def refresh_css(self, animate: bool = True) -> None:
        """The theme it begins with is no reason to read the stylesheets twice."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.variable_defaults(self.current_theme)


def plain(driver: type[Driver]) -> type[Driver]:
    """The driver, sending ASCII only: dialogs and their frames, too, which no panel has drawn."""

    class PlainDriver(driver):  # type: ignore[misc, valid-type]
        def write(self, data: str) -> None:
            super().write(to_ascii(data))

    return PlainDriver


def needs_ascii() -> bool:
    """Whether the terminal cannot be trusted with block characters: by its encoding, locale or kind."""
    encoding = (sys.__stdout__.encoding if sys.__stdout__ else None) or "ascii"
    if "utf" not in encoding.lower() or os.environ.get("TERM") in ("linux", "vt100", "vt220"):
        return True
    return _locale() in ("C", "POSIX")


def _locale() -> str:
    """The locale that the user has named. Python itself sets LC_CTYPE where that is C."""
    ctype = os.environ.get("LC_CTYPE", "")
    named = "" if ctype == COERCED else ctype
    return os.environ.get("LC_ALL") or named or os.environ.get("LANG", "")
