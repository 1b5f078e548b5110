"""The widgets over a time axis. What they say is decided in `panels`; here are their shades and the mouse."""

from functools import partial

from rich.style import Style
from textual.color import Color
from textual.events import MouseDown, MouseMove
from textual.message import Message

from tuibench.tui.panels.measures import Measure
from tuibench.tui.panels.time_chart import AXIS_WIDTH, SHADES, time_chart
from tuibench.tui.widgets.panel import DrawFunction, Panel

DARKEST_SHADE = 0.45
"""How much of the measure's colour is left at the baseline."""


class TimePanel(Panel):
    """A panel with a column a tick right of its axis labels; the mouse can point at one.

    Roles shade0 to shade7 are shades of the colour of `role`, where the terminal has the colours.
    """

    class Pointed(Message):
        """The mouse points at a column."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self, draw: DrawFunction, role: str, *, ascii_only: bool, id: str) -> None:
        super().__init__(draw, ascii_only=ascii_only, id=id)
        self._role = role

    @property
    def columns(self) -> int:
        """How many columns there is room for."""
        return max(self.size.width - AXIS_WIDTH, 0)

    def on_mouse_down(self, event: MouseDown) -> None:
        self.capture_mouse()
        self._point(event.x)

    def on_mouse_move(self, event: MouseMove) -> None:
        if event.button:
            self._point(event.x)

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def _point(self, x: int) -> None:
        if 0 <= x - AXIS_WIDTH < self.columns:
            self.post_message(self.Pointed(x - AXIS_WIDTH))

    def role_style(self, role: str) -> Style:
        if not role.startswith("shade"):
            return super().role_style(role)
        full = super().role_style(self._role)
        if self.app.current_theme.ansi or full.color is None or full.bgcolor is None:
            return full
        ground, ink = Color.from_rich_color(full.bgcolor), Color.from_rich_color(full.color)
        share = DARKEST_SHADE + (1 - DARKEST_SHADE) * int(role.removeprefix("shade")) / (SHADES - 1)
        return full + Style(color=ground.blend(ink, share).rich_color)


class Chart(TimePanel):
    """The bars of one measure."""

    def __init__(self, measure: Measure, *, numbered: bool, ascii_only: bool, name: str = "") -> None:
        draw = partial(time_chart, measure, numbered=numbered, ascii_only=ascii_only)
        super().__init__(draw, measure.role, ascii_only=ascii_only, id=f"chart-{name or measure.role}")
