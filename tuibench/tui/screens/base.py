"""Base class of the screens in the tab line: header, tabs, body, reply, keys.

A screen is a subclass with a `body`. There are three layouts by terminal size: -full, -compact (designed for
80×24) and -small, which has one panel in place of all screens, and no dialogs.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize, ScreenResume
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from tuibench.model.message import Command
from tuibench.tui.panels.bars import (
    caption_height,
    caption_lines,
    coach_line,
    footer,
    header,
    message_line,
    pending_work,
    screen_keys,
    verdict_line,
    verdicts,
)
from tuibench.tui.panels.lists import figures_text
from tuibench.tui.panels.small import small_panel
from tuibench.tui.text import TextLine
from tuibench.tui.view import View
from tuibench.tui.widgets import Chart, DrawFunction, Palette, Panel, Requested

MIN_SIZE = (80, 24)
FULL_SIZE = (110, 32)
"""Minimum size of the full layout."""
TALL_HEIGHT = 48
"""Minimum height of the tall layout, with more rows for everything."""
CPU_HEIGHT = 36
"""Minimum height for a CPU chart on the first screen."""
LOW_HEIGHT = 26
"""Below this height the layout saves lines."""
SIZE_CLASSES = frozenset(("-full", "-compact", "-small", "-tall", "-short", "-high", "-low"))


class ScreenFrame(NamedTuple):
    """Parameters of a screen from the app: drawing of the tab line, ASCII mode, terminal size."""

    tabs: DrawFunction
    ascii_only: bool = False
    size: tuple[int, int] = MIN_SIZE


class MainScreen(Screen[None]):
    """Displays a `View`; independent of sessions.

    `poll_command` is submitted when the screen opens, and after each sample while it is visible: the session
    sends some data only while it is polled. `KEYS` are the keys of this screen, listed above the footer.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.escape", "Back", show=False)]
    KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()
    poll_command: ClassVar[Command | None] = None

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__()
        self.view = view
        self.frame = frame
        self._is_built = False
        self._styled_in = ""
        self.set_class(has_message(view), "-noted", update=False)
        self.set_class(bool(verdicts(view)), "-judged", update=False)
        self.add_class(*size_classes(*frame.size), update=False)

    def body(self) -> ComposeResult:
        """The widgets between the tabs and the reply line."""
        yield from ()

    def compose(self) -> ComposeResult:
        self._styled_in = self.app.theme
        yield Palette()
        yield self.panel(self._small, id="small")
        with Vertical(id="main"):
            yield self.panel(header, id="head")
            yield self.panel(verdict_line, id="verdict-line")
            yield self.panel(self.frame.tabs, id="tabs")
            yield from self.body()
            yield self.panel(caption_lines, id="caption")
            yield self.panel(message_line, id="note")
            if self.KEYS:
                yield self.panel(lambda view, *size: screen_keys(self.keys_now(view), view, *size), id="keys")
            yield self.panel(footer, id="footer")

    def keys_now(self, view: View) -> Sequence[tuple[str, str]]:
        """The keys of this screen, with their current labels."""
        return self.KEYS

    def panel(self, draw: DrawFunction, *, id: str | None = None, classes: str = "") -> Panel:
        """A panel in the terminal's character set."""
        return Panel(draw, ascii_only=self.frame.ascii_only, id=id, classes=classes)

    def submit(self, command: Command | None) -> None:
        """Submit the command of a dialog, unless it was cancelled."""
        if command is not None:
            self.post_message(Requested(command))

    def copied(self, view: View) -> str:
        """The text that the copy key copies from this screen; empty if there is none."""
        return figures_text(view)

    @property
    def chart_columns(self) -> int:
        """Number of columns of this screen's charts; 0 without charts."""
        return next((chart.columns for chart in self.query(Chart)), 0)

    def on_mount(self) -> None:
        self._is_built = True
        self.show(self.view)

    def post_message(self, message: Message) -> bool:
        """Drop the message that restyles the screen whenever it is shown: only a new theme requires that."""
        if isinstance(message, ScreenResume) and self._styled_in in ("", self.app.theme):
            return super().post_message(ScreenResume(refresh_styles=False))
        return super().post_message(message)

    def on_screen_resume(self) -> None:
        """Update size and theme, which may have changed while the screen was hidden."""
        self._styled_in = self.app.theme
        self.apply_size_classes(self.app.size)

    def on_resize(self, event: Resize) -> None:
        self.apply_size_classes(event.size)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the screen's own keys on a small terminal, which does not show their effect."""
        return action == "back" or not self.has_class("-small")

    def apply_size_classes(self, size: Size) -> None:
        """Set the classes of this size before Textual's layout, so that nothing is painted twice."""
        worn = size_classes(*size)
        if worn != self.classes & SIZE_CLASSES:
            self.set_classes((self.classes - SIZE_CLASSES) | worn)
            self.app.stylesheet.update(self)
        self.query_one("#small", Panel).show(self.view)

    def _small(self, view: View, width: int, height: int) -> list[TextLine]:
        is_asking, ascii_only = self.app.screen is not self, self.frame.ascii_only
        return small_panel(view, width, height, needed=MIN_SIZE, is_asking=is_asking, ascii_only=ascii_only)

    def show(self, view: View) -> None:
        """Paint what changed with this view; before the screen is built, only store it."""
        self.view = view
        if not self._is_built:
            return
        with self.app.batch_update():
            self.set_class(has_message(view), "-noted")
            self.set_class(bool(verdicts(view)), "-judged")
            # The caption of a scene is as high as its text, and hidden without a scene.
            lines = caption_height(view, self.size.width - 2)
            for caption in self.query("#caption"):
                caption.display = lines > 0
                caption.styles.height = lines
            self.prepare(view)
            for panel in self.query(Panel):
                panel.show(view)

    def prepare(self, view: View) -> None:
        """Update classes and sizes of the body that depend on the view."""


def has_message(view: View) -> bool:
    """True if the line above the keys has a text."""
    return view.note is not None or bool(pending_work(view, MIN_SIZE[0])) or bool(coach_line(view))


def size_classes(width: int, height: int) -> frozenset[str]:
    """Classes for this terminal size: -full, -compact or -small; -tall or -short; -high or -low, if any."""
    worn = {"-full" if width >= FULL_SIZE[0] and height >= FULL_SIZE[1] else "-compact"}
    if width < MIN_SIZE[0] or height < MIN_SIZE[1]:
        worn = {"-small"}
    worn |= {"-tall" if height >= TALL_HEIGHT else "-short"}
    worn |= {"-high"} if height >= CPU_HEIGHT else {"-low"} if height < LOW_HEIGHT else set()
    return frozenset(worn)
