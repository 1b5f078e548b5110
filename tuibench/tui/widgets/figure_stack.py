"""Stacked charts of selected figures, each with name and value on its left."""

from collections.abc import Callable, Sequence
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tuibench.tui.charts.chart_state import MAX_FIGURES
from tuibench.tui.panels.plots.figure_charts import ROLE, figure_chart, figure_title
from tuibench.tui.text.spans import TextLine
from tuibench.tui.view import View
from tuibench.tui.widgets.chart import TimePanel
from tuibench.tui.widgets.panel import Panel

KeysOf = Callable[[View], Sequence[str]]
"""Keys of the figures on the charts of a view."""


class FigureStack(Vertical):
    """Container for the maximum number of charts; `set_charts` shows the used ones. With `is_numbered` the
    first one has the markers' numbers.
    """

    def __init__(self, keys_of: KeysOf, *, ascii_only: bool, id: str, numbered: bool = False) -> None:
        super().__init__(id=id, classes="figures")
        self._keys_of = keys_of
        self._ascii_only = ascii_only
        self.is_numbered = numbered

    def compose(self) -> ComposeResult:
        for place in range(MAX_FIGURES):
            with Horizontal(classes="figure-band"):
                title = partial(self._title, place)
                yield Panel(
                    title, ascii_only=self._ascii_only, classes="figure", id=f"{self.id}-title-{place}"
                )
                chart = partial(self._chart, place)
                yield TimePanel(chart, ROLE, ascii_only=self._ascii_only, id=f"{self.id}-chart-{place}")

    @property
    def columns(self) -> int:
        """Number of columns of its charts; 0 while none is shown."""
        return self.query(TimePanel).first().columns if self.display else 0

    def set_charts(self, charts: int, rows: int) -> None:
        """Show this number of charts, each `rows` high."""
        self.display = charts > 0
        self.styles.height = charts * rows
        for place, band in enumerate(self.query(".figure-band")):
            band.display = place < charts
            band.styles.height = rows

    def _title(self, place: int, view: View, width: int, height: int) -> list[TextLine]:
        return figure_title(self._keys_of(view), place, view, width, height)

    def _chart(self, place: int, view: View, width: int, height: int) -> list[TextLine]:
        return figure_chart(
            self._keys_of(view),
            place,
            view,
            width,
            height,
            numbered=self.is_numbered and place == 0,
            ascii_only=self._ascii_only,
        )
