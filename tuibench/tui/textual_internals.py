"""The private parts of Textual that tuibench uses, and the reason for each.

No other module uses a name of Textual that begins with an underscore. `PRIVATE_PARTS` lists the parts with a
digest of their source, which a test compares with the installed Textual. If the test fails after an upgrade,
read the new source, adapt this module, then update the digest.
"""

import hashlib
import inspect
import signal
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen
from textual.strip import Strip

__all__ = [
    "PRIVATE_PARTS",
    "ChopsUpdate",
    "FilteredPaintApp",
    "LayoutUpdate",
    "is_exiting",
    "prepare_screen",
    "screen_rows",
    "take_terminal_back",
]

Answer = TypeVar("Answer")

POP_KEYBOARD_FLAGS = "\x1b[<u"
"""Restores the keyboard mode that the driver changed at its start (Kitty's keyboard protocol)."""


class PrivatePart(NamedTuple):
    """A private part of Textual."""

    part: Callable[..., object]
    reason: str
    """Why it is used."""
    digest: str
    """The digest of the source that was reviewed."""

    @property
    def present_digest(self) -> str:
        """Digest of the installed source."""
        return hashlib.sha256(inspect.getsource(self.part).encode()).hexdigest()[:12]


class FilteredPaintApp(App[Answer]):
    """An app whose repaints can be replaced before they are written to the terminal."""

    def filter_paint(self, update: ChopsUpdate | LayoutUpdate) -> RenderableType:
        """The output that replaces a repaint of changed cells or of the whole screen."""
        return update

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate | LayoutUpdate):
            renderable = self.filter_paint(renderable)
        super()._display(screen, renderable)


async def prepare_screen(app: App[Any], screen: Screen[Any]) -> None:
    """Mount and lay out a screen at the terminal's present size, without showing it."""
    _, mounted = app._get_screen(screen)
    await mounted
    screen._refresh_layout(app.size)


def screen_rows(app: App[Any]) -> list[str]:
    """Rows of the visible screen with their colour sequences, independent of this terminal's capabilities.

    A style keeps the codes of the first terminal for which it was rendered, so each one is made anew.
    """
    console = Console(force_terminal=True, color_system="truecolor")
    return [
        Strip(
            Segment(part.text, part.style and Style.parse(str(part.style)), part.control) for part in strip
        ).render(console)
        for strip in app.screen._compositor.render_strips()
    ]


def is_exiting(app: App[Any]) -> bool:
    """True if the app has begun to exit."""
    return app._exit


def take_terminal_back(app: App[Any]) -> None:
    """Set up the terminal again after a SIGSTOP; after a SIGTSTP, the driver does it.

    Input typed meanwhile is kept. The driver's own shutdown would discard it, and enable the terminal's line
    editing for a moment, which changes the code of enter.
    """
    driver = app._driver
    if not isinstance(driver, LinuxDriver):
        return
    if driver._must_signal_resume:
        driver.resume_application_mode()
        return
    # Stop the thread that reads keys. Unlike `disable_input`, this keeps unread input.
    signal.signal(signal.SIGWINCH, signal.SIG_DFL)
    driver.exit_event.set()
    if driver._key_thread is not None:
        driver._key_thread.join()
    driver.exit_event.clear()
    driver.write(POP_KEYBOARD_FLAGS)
    driver.close()
    original = driver.attrs_before
    driver.resume_application_mode()
    driver.attrs_before = original


PRIVATE_PARTS = (
    PrivatePart(
        ChopsUpdate,
        "a partial repaint; its rows, spans and ends are read to write fewer cells",
        "7c7d3e0bf714",
    ),
    PrivatePart(
        LayoutUpdate,
        "a repaint of the whole screen; its strips are read to drop control characters",
        "619efe1cea78",
    ),
    PrivatePart(
        App._display,
        "the only place where a repaint passes before it is written to the terminal",
        "4b78dff6669a",
    ),
    PrivatePart(
        App._get_screen,
        "mounts a screen without showing it; push_screen also shows it",
        "e253c005c006",
    ),
    PrivatePart(
        Screen._refresh_layout,
        "lays out a screen that is not shown; a screen is otherwise laid out when it is resumed",
        "889715478130",
    ),
    PrivatePart(
        Compositor.render_strips,
        "Screen._compositor has the rows of a screen; nothing public gives them with their colours",
        "061fb81ef37c",
    ),
    PrivatePart(
        App.exit,
        "sets App._exit: after that the terminal must not be taken back",
        "d8c06b817ac8",
    ),
    PrivatePart(
        LinuxDriver,
        "App._driver, its _must_signal_resume and _key_thread: a second reader of keys must not be started, "
        "and what was typed must not be discarded",
        "ec65992e0f98",
    ),
)
