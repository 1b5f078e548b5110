"""The bars of one measure over time. What it says is `panels.plot`; here are only its shades."""

from functools import partial

from rich.style import Style
from textual.color import Color

from tuibench.tui.panels.measures import Measure
from tuibench.tui.panels.plot import SHADES, plot
from tuibench.tui.widgets.panel import Panel

DARKEST = 0.45
"""How much of the measure's colour is left at the baseline."""


class Chart(Panel):
    """A chart in the colour of its measure, shaded row by row where the terminal has the colours."""

    def __init__(self, measure: Measure, *, numbered: bool, ascii_only: bool) -> None:
        super().__init__(
            partial(plot, measure, numbered=numbered, ascii_only=ascii_only),
            ascii_only=ascii_only,
            id=f"chart-{measure.role}",
        )
        self._measure = measure

    def role_style(self, role: str) -> Style:
        if not role.startswith("shade"):
            return super().role_style(role)
        full = super().role_style(self._measure.role)
        if self.app.current_theme.ansi or full.color is None or full.bgcolor is None:
            return full
        ground, ink = Color.from_rich_color(full.bgcolor), Color.from_rich_color(full.color)
        share = DARKEST + (1 - DARKEST) * int(role.removeprefix("shade")) / (SHADES - 1)
        return full + Style(color=ground.blend(ink, share).rich_color)
