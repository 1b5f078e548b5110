"""Latency: percentiles over time, the heat map below them on the same axis, and who is slow in a table."""

from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tuibench.tui.panels.figure import caption
from tuibench.tui.panels.heat import heat, legend
from tuibench.tui.panels.latencies import latencies
from tuibench.tui.panels.measures import PERCENTILES
from tuibench.tui.panels.plot import time_axis
from tuibench.tui.screens.main import MainScreen
from tuibench.tui.widgets.chart import Chart, TimePanel


class LatencyScreen(MainScreen):
    """Where the time goes."""

    @property
    def chart_columns(self) -> int:
        return self.query(Chart).first().columns

    def body(self) -> ComposeResult:
        plain = self.frame.ascii_only
        with Vertical(id="percentiles"):
            for number, measure in enumerate(PERCENTILES):
                with Horizontal(classes="band"):
                    yield self.panel(
                        partial(caption, measure), classes="figure", id=f"figure-{measure.title}"
                    )
                    yield Chart(measure, numbered=number == 0, ascii_only=plain, name=measure.title)
        with Horizontal(id="heat-band"):
            yield self.panel(legend, classes="figure", id="legend")
            yield TimePanel(heat, "latency", ascii_only=plain, id="heat")
        yield self.panel(time_axis, id="axis")
        yield self.panel(latencies, id="latencies")
