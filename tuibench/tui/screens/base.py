"""Base class of the screens in the tab line: header, tabs, body, reply, keys.

A screen is a subclass with a `body`. There are three layouts by terminal size: -full, -compact (designed for
80×24) and -small, which has one panel in place of all screens, and no dialogs.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.events import Resize, ScreenResume
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from tuibench.model.message import Command
from tuibench.tui.panels.asides import COLUMN_GAP, Aside, part_rule
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
from tuibench.tui.widgets import AsidePanel, Chart, DrawFunction, Palette, Panel, Requested

MIN_SIZE = (80, 24)
FULL_SIZE = (110, 32)
"""Minimum size of the full layout."""
WIDE_WIDTH = 160
"""Minimum width of two screens of a tab beside each other."""
MOST_OF_ASIDE = 0.4
"""Maximum share of the height for the other screen of a tab, below or above the one that is shown."""
TALL_HEIGHT = 48
"""Minimum height of the tall layout, with more rows for everything."""
CPU_HEIGHT = 36
"""Minimum height for a CPU chart on the first screen."""
LOW_HEIGHT = 26
"""Below this height the layout saves lines."""
SIZE_CLASSES = frozenset(("-full", "-compact", "-small", "-wide", "-tall", "-short", "-high", "-low"))


class Beside(NamedTuple):
    """The other screen of the same tab, which is drawn where there is room."""

    name: str
    label: str
    aside: Aside
    is_before: bool
    """Whether it is left of the screen, or above it."""
    offered: Callable[[View], bool]


class ScreenFrame(NamedTuple):
    """Parameters of a screen from the app."""

    tabs: DrawFunction
    """Draws the tab line."""
    following: Callable[[View], str]
    """The label of the next screen of the same tab; empty if it has its tab alone."""
    label: str
    """The screen's own label."""
    beside: "Beside | None"
    ascii_only: bool = False
    size: tuple[int, int] = MIN_SIZE


class MainScreen(Screen[None]):
    """Displays a `View`; independent of sessions.

    `poll_command` is submitted when the screen opens, and after each sample while it is visible: the session
    sends some data only while it is polled. `KEYS` are the keys of this screen, listed above the footer.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.escape", "Back", show=False),
        Binding("tab", "app.next_screen", "Next screen of the tab", show=False),
    ]
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
            with Container(id="parts"):
                yield from self._aside(before=True)
                with Vertical(id="own"):
                    yield self.panel(self._own_rule, id="own-rule")
                    yield from self.body()
                yield from self._aside(before=False)
            yield self.panel(caption_lines, id="caption")
            yield self.panel(message_line, id="note")
            if self.KEYS:
                yield self.panel(self._key_line, id="keys")
            yield self.panel(footer, id="footer")

    def _aside(self, *, before: bool) -> ComposeResult:
        beside = self.frame.beside
        if beside is not None and beside.is_before is before:
            yield AsidePanel(self._aside_lines, ascii_only=self.frame.ascii_only, id="aside")

    def _aside_lines(self, view: View, width: int, height: int) -> list[TextLine]:
        """The other screen, with its title. A click on it leads there: its keys are not active here."""
        beside = self.frame.beside
        if beside is None:
            return []
        action = f"app.go('{beside.name}')"
        drawn = beside.aside.draw(view, width, height - 1, ascii_only=self.frame.ascii_only)
        lines = [part_rule(beside.label, width, key="tab"), *drawn][:height]
        return [tuple(span._replace(action=action) for span in line) for line in lines]

    def _own_rule(self, view: View, width: int, height: int) -> list[TextLine]:
        return [part_rule(self.frame.label, width)][:height]

    def is_beside(self, view: View) -> bool:
        """True if the other screen of the tab is drawn, too. What is shown in full needs its room."""
        beside = self.frame.beside
        if self.has_class("-detailed"):
            return False
        has_room = self.has_class("-full") and (self.has_class("-high") or self.has_class("-wide"))
        return beside is not None and has_room and beside.offered(view)

    @property
    def room(self) -> Size:
        """The size of a terminal that would have the room of this screen's body, with nothing beside it."""
        width, height = self.app.size
        beside, view = self.frame.beside, self.view
        if beside is None or not self.is_beside(view):
            return Size(width, height)
        if self.has_class("-wide"):
            return Size((width - COLUMN_GAP) // 2, height - 1)
        return Size(width, height - self._summary_lines(view) - beside.is_before)

    def _summary_lines(self, view: View) -> int:
        """Height of the other screen where it is drawn above or below, with its title."""
        if self.frame.beside is None:
            return 0
        width, height = self.app.size
        most = int(MOST_OF_ASIDE * height)
        return 1 + min(self.frame.beside.aside.lines(view, width - 2), most)

    def _place_aside(self, view: View) -> None:
        if self.frame.beside is None:
            return
        is_beside, is_wide = self.is_beside(view), self.has_class("-wide")
        aside = self.query_one("#aside")
        aside.display = is_beside
        self.set_class(is_beside, "-beside")
        if is_wide:
            aside.styles.clear_rule("height")
        else:
            aside.styles.height = self._summary_lines(view)
        self.query_one("#own-rule").display = is_beside and (is_wide or self.frame.beside.is_before)

    def set_detailed(self, is_detailed: bool) -> None:
        """Show something in full, also in the room of the other screen of the tab, or the list again."""
        self.set_class(is_detailed, "-detailed")
        self._place_aside(self.view)

    @property
    def poll_commands(self) -> list[Command]:
        """The commands that poll for this screen, and for the one beside it."""
        beside = self.frame.beside
        polls = [self.poll_command]
        if beside is not None and self.is_beside(self.view):
            polls.append(beside.aside.poll)
        return [poll for poll in polls if poll is not None]

    def _key_line(self, view: View, width: int, height: int) -> list[TextLine]:
        """The keys of this screen, and `tab` if it shares its tab; `esc` is left out first."""
        keys = [*self.keys_now(view)]
        if following := self.frame.following(view):
            keys.append(("tab", following))
        return screen_keys([*keys, ("esc", "back")], view, width, height)

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
        if self._is_built:
            self._place_aside(self.view)
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
            self._place_aside(view)
            self.prepare(view)
            for panel in self.query(Panel):
                panel.show(view)

    def prepare(self, view: View) -> None:
        """Update classes and sizes of the body that depend on the view."""


def has_message(view: View) -> bool:
    """True if the line above the keys has a text."""
    return view.note is not None or bool(pending_work(view, MIN_SIZE[0])) or bool(coach_line(view))


def size_classes(width: int, height: int) -> frozenset[str]:
    """Classes of this size: -full, -compact or -small; -wide if it is; -tall or -short; -high or -low."""
    worn = {"-full" if width >= FULL_SIZE[0] and height >= FULL_SIZE[1] else "-compact"}
    if width < MIN_SIZE[0] or height < MIN_SIZE[1]:
        worn = {"-small"}
    worn |= {"-wide"} if "-full" in worn and width >= WIDE_WIDTH else set()
    worn |= {"-tall" if height >= TALL_HEIGHT else "-short"}
    worn |= {"-high"} if height >= CPU_HEIGHT else {"-low"} if height < LOW_HEIGHT else set()
    return frozenset(worn)
