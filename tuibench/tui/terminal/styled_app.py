"""Base class of the apps: theme, character set, mouse, key bindings, terminal signals.

Selects the theme for NO_COLOR, and the terminals that get ASCII characters.

A viewer that is not the leader of its terminal's session receives no SIGHUP when the terminal closes (under
nohup, in a wrapper, after the leader was killed), so it polls its terminal. A session leader receives SIGHUP
and SIGCONT; Textual's driver handles the latter as the end of a stop.

Scroll bars of ASCII terminals use one character per cell. Thumb and track differ by character, so neither
colour nor reverse video is needed.
"""

import asyncio
import os
import signal
import sys
from typing import Any, ClassVar, NamedTuple, TypeVar

from rich.console import RenderableType
from rich.segment import Segment, Segments
from rich.style import Style
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.events import Event
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender

from tuibench.tui.terminal import themes
from tuibench.tui.terminal.keyboard import KeyQueue, TypedInput
from tuibench.tui.terminal.keymap import Keymap
from tuibench.tui.terminal.partial_update import CellsUpdate, harmless_layout
from tuibench.tui.terminal.textual_internals import (
    ChopsUpdate,
    FilteredPaintApp,
    LayoutUpdate,
    is_exiting,
    take_terminal_back,
)
from tuibench.tui.text.drawing import to_ascii

CHECK_SECONDS = 0.5


def watch_terminal(app: App[Any]) -> None:
    """Exit the app when the terminal that it reads keys from is gone, until `unwatch_terminal`."""
    descriptor = _stdin_descriptor()
    if descriptor is not None and os.isatty(descriptor):
        app.set_interval(CHECK_SECONDS, lambda: None if os.isatty(descriptor) else app.exit())
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, _on_continue, app, descriptor)


def unwatch_terminal() -> None:
    """Remove the handlers of `watch_terminal`."""
    asyncio.get_running_loop().remove_signal_handler(signal.SIGCONT)


def _on_continue(app: App[Any], descriptor: int) -> None:
    """Set up the terminal again: a shell may have used it meanwhile."""
    if not is_exiting(app) and os.isatty(descriptor):
        take_terminal_back(app)
        app.screen.refresh()


def _stdin_descriptor() -> int | None:
    try:
        return sys.__stdin__.fileno() if sys.__stdin__ else None
    except (OSError, ValueError):
        return None


SCROLL_THUMB, SCROLL_TRACK = "#", ":"


class AsciiScrollBar(ScrollBarRender):
    """Scroll bar in whole cells."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]

    @classmethod
    def render_bar(cls, **how: Any) -> Segments:  # type: ignore[override]
        """Textual's scroll bar, with its arguments, and characters in place of blanks."""
        bar = super().render_bar(**how)
        ink = Style(color=how["bar_color"], bgcolor=how["back_color"])
        bar.segments = [_to_ascii_segment(segment, ink) for segment in bar.segments]
        return bar


def choose_scrollbars(*, ascii_only: bool) -> None:
    """Set the renderer of all scroll bars of the process: Textual has only one."""
    ScrollBar.renderer = AsciiScrollBar if ascii_only else ScrollBarRender


def _to_ascii_segment(segment: Segment, ink: Style) -> Segment:
    """Convert a segment; Textual draws the thumb in reverse video."""
    if segment.text.strip(" ") or segment.style is None:
        return segment
    letter = SCROLL_THUMB if segment.style.reverse else SCROLL_TRACK
    return Segment(letter * len(segment.text), segment.style + ink + Style(reverse=False))


Answer = TypeVar("Answer")


class DisplayOptions(NamedTuple):
    """Display options. An empty `theme` is the default theme. Without `mouse` the terminal's own selection
    works.

    With `coach` a line suggests a first change.
    """

    theme: str = ""
    ascii_only: bool = False
    mouse: bool = True
    keymap: Keymap = Keymap()
    coach: bool = False


DEFAULT_DISPLAY = DisplayOptions()
COERCED_LOCALE = "C.UTF-8"


class BlankScreen(Screen[None]):
    """Blank screen that Textual puts below the first one; reported as covered, so that it is never painted.

    Painting it would repaint all screens above it.
    """

    @property
    def is_current(self) -> bool:
        return False


class StyledApp(FilteredPaintApp[Answer]):
    """An app with tuibench's themes. NO_COLOR counts even if empty, also for the next app of the process."""

    ALLOW_SELECT = False
    TITLE = "tuibench"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "focus_next", "Next field", show=False, priority=True),
        Binding("shift+tab", "focus_previous", "Field before", show=False, priority=True),
    ]
    """With priority, so that the focus moves before the next key of a burst is delivered."""

    def __init__(self, display: DisplayOptions) -> None:
        without_colour = os.environ.get("NO_COLOR")
        super().__init__(ansi_color=None if without_colour is None else True)
        if without_colour is not None:
            os.environ["NO_COLOR"] = without_colour
        self.display_options = display
        choose_scrollbars(ascii_only=display.ascii_only)
        if display.ascii_only:
            self.driver_class = ascii_driver(self.driver_class)
        self.animation_level = "none"
        for ours in themes.OWN_THEMES:
            self.register_theme(ours)
        standing_in = themes.DEFAULT_THEME if without_colour is None else themes.NO_COLOR_THEME
        self.theme = display.theme or standing_in
        self.set_keymap(dict(display.keymap.bound))
        self._keyboard = KeyQueue(self, super().on_event)

    async def on_event(self, event: Event) -> None:
        """Queue a key that comes from the terminal; a key forwarded by a widget is handled at once."""
        if isinstance(event, TypedInput) and not event.is_forwarded:
            self._keyboard.put(event)
        else:
            await super().on_event(event)

    async def on_mount(self) -> None:
        watch_terminal(self)
        self._typing = asyncio.ensure_future(self._keyboard.run())

    async def on_unmount(self) -> None:
        self._typing.cancel()
        unwatch_terminal()

    def get_default_screen(self) -> Screen[Any]:
        return BlankScreen(id="_default")

    def filter_paint(self, update: ChopsUpdate | LayoutUpdate) -> RenderableType:
        """Crop repaints to the refreshed cells and remove control characters, see `partial_update`."""
        return CellsUpdate.of(update) if isinstance(update, ChopsUpdate) else harmless_layout(update)

    def refresh_css(self, animate: bool = True) -> None:
        """Refresh the stylesheets, but only set variables for the initial theme: they have just been read."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.variable_defaults(self.current_theme)


def ascii_driver(driver: type[Driver]) -> type[Driver]:
    """A driver class that sends ASCII only, also for dialogs and frames, which no panel draws."""

    class PlainDriver(driver):  # type: ignore[misc, valid-type]
        def write(self, data: str) -> None:
            super().write(to_ascii(data))

    return PlainDriver


def needs_ascii() -> bool:
    """True if the terminal may not display block characters, judged by its encoding, locale or type."""
    encoding = (sys.__stdout__.encoding if sys.__stdout__ else None) or "ascii"
    if "utf" not in encoding.lower() or os.environ.get("TERM") in ("linux", "vt100", "vt220"):
        return True
    return _locale() in ("C", "POSIX")


def _locale() -> str:
    """Locale set by the user. Python itself sets LC_CTYPE if the locale is C."""
    ctype = os.environ.get("LC_CTYPE", "")
    named = "" if ctype == COERCED_LOCALE else ctype
    return os.environ.get("LC_ALL") or named or os.environ.get("LANG", "")
