"""Chart widgets: shading and mouse input; `panels` draws their contents."""

from functools import partial

from rich.style import Style
from textual.color import Color
from textual.events import MouseDown, MouseMove
from textual.message import Message

from tuibench.tui.panels.load.measures import Measure
from tuibench.tui.panels.plots.cpu_chart import STACKED
from tuibench.tui.panels.plots.time_chart import (
    AXIS_WIDTH,
    MEAN_ROLE,
    ON_BAR,
    SHADES,
    UNCERTAIN_ROLE,
    time_chart,
)
from tuibench.tui.widgets.panel import DrawFunction, Panel

DARKEST_SHADE = 0.45
"""Share of the measure's colour at the baseline."""
STACK_SHARE = 0.6
"""The same for the colours of the CPU chart, which has no big number."""


class TimePanel(Panel):
    """A panel with one column per tick, right of its axis labels; a column can be selected by mouse.

    Roles shade0 to shade7 are shades of the colour of `role`, if the terminal has enough colours; a mean is a
    line over a bar, which is dark there. `a+b` is one role above another in a cell of two halves.
    """

    class Pointed(Message):
        """A column was selected by mouse."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self, draw: DrawFunction, role: str, *, ascii_only: bool, id: str) -> None:
        super().__init__(draw, ascii_only=ascii_only, id=id)
        self._role = role

    @property
    def columns(self) -> int:
        """Number of columns that fit."""
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
        if "+" in role:
            return self._halves(*role.split("+"))
        if role.startswith(STACKED):
            return self._dimmed(super().role_style(role.removeprefix(STACKED)), STACK_SHARE)
        if role.startswith((MEAN_ROLE, UNCERTAIN_ROLE)):
            return self._mean_style(role)
        if not role.startswith("shade"):
            return super().role_style(role)
        return self._shade(int(role.removeprefix("shade")))

    def _shade(self, number: int) -> Style:
        share = DARKEST_SHADE + (1 - DARKEST_SHADE) * number / (SHADES - 1)
        return self._dimmed(super().role_style(self._role), share)

    def _dimmed(self, full: Style, share: float) -> Style:
        """The style with its colour reduced to this share; unchanged on a terminal with few colours."""
        if self.app.current_theme.ansi or full.color is None or full.bgcolor is None:
            return full
        ground, ink = Color.from_rich_color(full.bgcolor), Color.from_rich_color(full.color)
        return full + Style(color=ground.blend(ink, share).rich_color)

    def _mean_style(self, role: str) -> Style:
        line = super().role_style("strong" if role.startswith(MEAN_ROLE) else "muted")
        if not role.endswith(ON_BAR) or self.app.current_theme.ansi:
            return line
        return line + Style(bgcolor=self._shade(0).color)

    def _halves(self, upper: str, lower: str) -> Style:
        return self.role_style(lower) + Style(bgcolor=self.role_style(upper).color)


class Chart(TimePanel):
    """Bars of one measure."""

    def __init__(self, measure: Measure, *, numbered: bool, ascii_only: bool, name: str = "") -> None:
        draw = partial(time_chart, measure, numbered=numbered, ascii_only=ascii_only)
        super().__init__(draw, measure.role, ascii_only=ascii_only, id=f"chart-{name or measure.role}")
