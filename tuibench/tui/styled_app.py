"""Base class of the apps: themes, character set, mouse, keyboard, partial repaints, terminal signals."""

import asyncio
import contextlib
import difflib
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

from rich.console import Console, RenderableType
from rich.control import Control
from rich.segment import Segment, Segments
from rich.style import Style
from textual.app import App
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.dom import DOMNode
from textual.driver import Driver
from textual.events import Event, Key, Paste
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES, Theme

from tuibench.base import sanitize
from tuibench.base.errors import UsageError
from tuibench.tui.screens.help import Keymap
from tuibench.tui.sgr import shortened
from tuibench.tui.text import to_ascii
from tuibench.tui.textual_internals import (
    ChopsUpdate,
    FilteredPaintApp,
    LayoutUpdate,
    is_exiting,
    prepare_screen,
    take_terminal_back,
)

# Repaints
#
# Textual 8.2 writes each refreshed region from the left edge of its widget (`ChopsUpdate.render_segments`).
# If only a few cells change each second, that is most of the output, and slow connections suffer. Partial
# repaints are therefore cropped to the refreshed cells.


def harmless(strip: Strip) -> Strip:
    """The strip without control characters, which occupy no cell.

    Untrusted text is escaped where it is displayed; this is a second protection.
    """
    if all(segment.text.isprintable() for segment in strip):
        return strip
    return Strip([Segment(sanitize.without(text), style) for text, style, _ in strip], strip.cell_length)


def harmless_layout(update: LayoutUpdate) -> LayoutUpdate:
    """The whole-screen update without control characters."""
    return LayoutUpdate([[harmless(strip) for strip in line] for line in update.strips], update.region)


class CellsUpdate(ChopsUpdate):
    """A partial update that is cropped to the refreshed cells on both sides."""

    @classmethod
    def of(cls, update: ChopsUpdate) -> "CellsUpdate":
        return cls(update.chops, update.spans, update.chop_ends)

    def render_segments(self, console: Console) -> str:
        """Output for the terminal: a cursor movement to each span, and its cells."""
        return shortened(
            "".join(
                f"{Control.move_to(start, y).segment.text}{strip.render(console)}"
                for y, first, last in self.spans
                for start, strip in self._pieces(y, first, last)
            )
        )

    def _pieces(self, y: int, first: int, last: int) -> list[tuple[int, Strip]]:
        """The strips of a line within a span, cropped to the span, each with its first column."""
        pieces = []
        for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
            start, stop = max(x, first), min(end, last)
            if strip is not None and start < stop:
                pieces.append((start, harmless(strip.crop(start - x, stop - x))))
        return pieces


# Keys
#
# Textual chooses the receiver of a key when it arrives: the widget that has the focus at that time. All keys
# of a burst (a macro, fast typing over a slow connection) would go to the same receiver, because a dialog
# that the first key opens is not mounted yet. Here a key waits until the messages of the previous key are
# handled, and a screen that it opened is mounted. There is no timeout: this can take any time on a busy
# machine, and a key that is delivered too early is lost. Only keys that end the program overtake others if a
# part of the screen hangs.

TypedInput = Key | Paste

ENDING_KEYS = frozenset(("ctrl+c", "ctrl+q"))
HANG_SECONDS = 5.0
"""Maximum wait of a key that ends the program for earlier keys."""

KEYBOARD_CHECK_SECONDS = 1.0


class KeyQueue:
    """Delivers the keys of one app. `dispatch` handles a key, as a callback of the app."""

    def __init__(self, app: App[Any], dispatch: Callable[[TypedInput], Awaitable[None]]) -> None:
        self._app = app
        self._dispatch = dispatch
        self._waiting: deque[TypedInput] = deque()
        self._typed = asyncio.Event()

    def put(self, typed: TypedInput) -> None:
        """Queue a key, in typing order."""
        self._waiting.append(typed)
        self._typed.set()

    async def run(self) -> None:
        """Deliver keys until cancelled."""
        while True:
            await self._typed.wait()
            self._typed.clear()
            while self._waiting:
                self._hand_out(self._waiting.popleft())
                # Return when the delivered key has been handled.
                settling = asyncio.ensure_future(self._at_rest())
                try:
                    while not (await asyncio.wait({settling}, timeout=HANG_SECONDS))[0]:
                        self._let_ending_keys_through()
                finally:
                    settling.cancel()

    def _hand_out(self, typed: TypedInput) -> None:
        self._app.call_later(self._dispatch, typed)

    def _let_ending_keys_through(self) -> None:
        ending = [typed for typed in self._waiting if isinstance(typed, Key) and typed.key in ENDING_KEYS]
        for typed in ending:
            self._waiting.remove(typed)
            self._hand_out(typed)

    async def _at_rest(self) -> None:
        """Wait until all widgets have handled the messages of the key.

        A key bubbles from the focus up to the app, and so do the messages that it causes, which are handled
        after the first round. Rounds are repeated until one changes neither screen nor focus.
        """
        await _wait_until_idle(self._app)
        await self._round()
        while await self._round():
            pass

    async def _round(self) -> bool:
        """Wait for all current receivers, from the focus upwards; True if the receivers have changed."""
        hearers = _receivers(self._app)
        for hearer in hearers:
            await _wait_until_idle(hearer)
        return _receivers(self._app) != hearers


def _receivers(app: App[Any]) -> list[DOMNode]:
    """The current receivers of a key, from the focus to the app; none in an exiting app, which has no
    screen.
    """
    return (app.focused or app.screen).ancestors_with_self if app.screen_stack else []


async def _wait_until_idle(pump: MessagePump) -> None:
    """Return when the pump is mounted and has handled its pending messages; at once if it is closed."""
    handled = asyncio.Event()
    if not pump.call_later(handled.set):
        return
    while not handled.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KEYBOARD_CHECK_SECONDS):
                await handled.wait()
        if not pump.is_running:
            return


DARK_THEME = Theme(
    name="tuibench-dark",
    primary="#6ea8fe",
    secondary="#b79cf2",
    accent="#e8eef6",
    success="#4ecfb0",
    warning="#eab765",
    error="#f2707e",
    foreground="#c8d1dc",
    background="#0e131a",
    surface="#141b24",
    panel="#1b2430",
    dark=True,
    variables={
        "tps": "#4ecfb0",
        "qps": "#6ea8fe",
        "latency": "#b79cf2",
        "muted": "#7f8c9d",
        "detail": "#c8d1dcd8",
        "faint": "#3a4757",
        "strong": "#eef3f9",
        "alarm-text": "#1a0b0e",
        "alarm-ground": "#3a1820",
    },
)
LIGHT_THEME = Theme(
    name="tuibench-light",
    primary="#2563c9",
    secondary="#7446c4",
    accent="#17202b",
    success="#0a7761",
    warning="#8f5b00",
    error="#c02a3c",
    foreground="#2c3642",
    background="#fbfbf9",
    surface="#f2f3f2",
    panel="#e7e9ea",
    dark=False,
    variables={
        "tps": "#0a7761",
        "qps": "#2563c9",
        "latency": "#7446c4",
        "muted": "#5d6874",
        "detail": "#2c3642e0",
        "faint": "#c3cad1",
        "strong": "#0d151e",
        "alarm-text": "#ffffff",
        "alarm-ground": "#fbe3e4",
    },
)
OWN_THEMES = (DARK_THEME, LIGHT_THEME)
DEFAULT_THEME = DARK_THEME.name
NO_COLOR_THEME = "ansi-dark"
"""The theme for NO_COLOR: with a true-colour theme, Textual would write shades of grey."""


_ANSI = {
    "tps": "ansi_green",
    "qps": "ansi_blue",
    "latency": "ansi_magenta",
    "muted": "ansi_default",
    "detail": "ansi_default",
    "faint": "ansi_bright_black",
    "strong": "ansi_default",
    "alarm-text": "ansi_red",
    "alarm-ground": "ansi_default",
}


def variable_defaults(theme: Theme) -> dict[str, str]:
    """Values of tuibench's theme variables, from the colours of a theme that does not set them."""
    if theme.ansi:
        return _ANSI
    colours = theme.to_color_system().generate()
    ground, ink = Color.parse(colours["background"]), Color.parse(colours["foreground"])
    return {
        "tps": colours["success"],
        "qps": colours["primary"],
        "latency": colours["accent"],
        "muted": ground.blend(ink, 0.6).hex,
        "detail": ink.with_alpha(0.85).hex,
        "faint": ground.blend(ink, 0.25).hex,
        "strong": ink.hex,
        "alarm-text": colours["background"],
        "alarm-ground": ground.blend(Color.parse(colours["error"]), 0.2).hex,
    }


def theme_names() -> list[str]:
    """All theme names, tuibench's own first."""
    return [theme.name for theme in OWN_THEMES] + sorted(BUILTIN_THEMES)


def check_theme(name: str) -> None:
    """Raises UsageError with the closest name if there is no such theme."""
    if name in theme_names():
        return
    near = difflib.get_close_matches(name, theme_names(), n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else "there are: " + ", ".join(theme_names())
    raise UsageError(f"there is no theme '{name}'", hint)


CHECK_SECONDS = 0.5


def watch_terminal(app: App[Any]) -> None:
    """Exit the app when the terminal from which it reads keys is gone; ends when the app unmounts.

    A viewer that is not the leader of its terminal's session receives no SIGHUP when the terminal closes
    (under nohup, in a wrapper, after the leader was killed), so the terminal is polled. SIGCONT is handled as
    the end of a stop.
    """
    descriptor = _stdin_descriptor()
    if descriptor is not None and os.isatty(descriptor):
        app.set_interval(CHECK_SECONDS, lambda: None if os.isatty(descriptor) else app.exit())
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, _on_continue, app, descriptor)


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


def _to_ascii_segment(segment: Segment, ink: Style) -> Segment:
    """Convert a segment; Textual draws the thumb in reverse video."""
    if segment.text.strip(" ") or segment.style is None:
        return segment
    letter = SCROLL_THUMB if segment.style.reverse else SCROLL_TRACK
    return Segment(letter * len(segment.text), segment.style + ink + Style(reverse=False))


Answer = TypeVar("Answer")


class DisplayOptions(NamedTuple):
    """Display options."""

    theme: str = ""
    """The name of the theme; empty for the default."""
    ascii_only: bool = False
    mouse: bool = True
    """Whether the app uses the mouse; otherwise the terminal's own selection works."""
    keymap: Keymap = Keymap()
    coach: bool = False
    """Whether a line suggests a first change."""
    charts: tuple[str, ...] = ()
    """The figures on the charts of the first screen; empty for the default."""
    keep_charts: Callable[[str], None] | None = None
    """Stores other figures as the user's choice."""


DEFAULT_DISPLAY = DisplayOptions()
COERCED_LOCALE = "C.UTF-8"


class BlankScreen(Screen[None]):
    """The blank screen that Textual puts below the first one. It reports that it is covered, so that it is
    never painted: painting it would repaint all screens above it.
    """

    @property
    def is_current(self) -> bool:
        return False


class StyledApp(FilteredPaintApp[Answer]):
    """An app with tuibench's themes. An empty NO_COLOR counts, too, also for the next app of the process."""

    ALLOW_SELECT = False
    TITLE = "tuibench"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "focus_next", "Next field", show=False, priority=True),
        Binding("shift+tab", "focus_previous", "Field before", show=False, priority=True),
    ]
    """These have priority, so that the focus moves before the next key of a burst is delivered."""

    def __init__(self, display: DisplayOptions) -> None:
        without_colour = os.environ.get("NO_COLOR")
        super().__init__(ansi_color=None if without_colour is None else True)
        if without_colour is not None:
            os.environ["NO_COLOR"] = without_colour
        self.display_options = display
        # Textual has one renderer of scroll bars for the whole process.
        ScrollBar.renderer = AsciiScrollBar if display.ascii_only else ScrollBarRender
        if display.ascii_only:
            self.driver_class = ascii_driver(self.driver_class)
        self.animation_level = "none"
        for ours in OWN_THEMES:
            self.register_theme(ours)
        standing_in = DEFAULT_THEME if without_colour is None else NO_COLOR_THEME
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
        # The handler of `watch_terminal`.
        asyncio.get_running_loop().remove_signal_handler(signal.SIGCONT)

    def get_default_screen(self) -> Screen[Any]:
        return BlankScreen(id="_default")

    def filter_paint(self, update: ChopsUpdate | LayoutUpdate) -> RenderableType:
        """Crop repaints to the refreshed cells and remove control characters."""
        return CellsUpdate.of(update) if isinstance(update, ChopsUpdate) else harmless_layout(update)

    def refresh_css(self, animate: bool = True) -> None:
        """Refresh the stylesheets; for the initial theme only set the variables, as the files were just
        read.
        """
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)


def ascii_driver(driver: type[Driver]) -> type[Driver]:
    """A driver class that sends ASCII only, also for dialogs and frames, which are not drawn by panels."""

    class PlainDriver(driver):  # type: ignore[misc, valid-type]
        def write(self, data: str) -> None:
            super().write(to_ascii(data))

    return PlainDriver


def needs_ascii() -> bool:
    """True if the terminal may not display block characters, judged by its encoding, locale or type."""
    encoding = (sys.__stdout__.encoding if sys.__stdout__ else None) or "ascii"
    if "utf" not in encoding.lower() or os.environ.get("TERM") in ("linux", "vt100", "vt220"):
        return True
    # Only the user's locale counts: Python itself sets LC_CTYPE if the locale is C.
    ctype = os.environ.get("LC_CTYPE", "")
    named = "" if ctype == COERCED_LOCALE else ctype
    return (os.environ.get("LC_ALL") or named or os.environ.get("LANG", "")) in ("C", "POSIX")


PREFETCH_PAUSE_SECONDS = 0.5
"""Pause before a screen is prepared, so that keys and the session's messages take precedence."""


async def prefetch_screen(app: App[Any], screen: Screen[Any]) -> None:
    """Prepare a screen for the terminal's current size; nothing is done for a running one."""
    if not screen.is_running:
        await prepare_screen(app, screen)
