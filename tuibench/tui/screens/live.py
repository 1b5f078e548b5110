"""The live screen: three charts on one time axis, server and host beside them, durability, events.

The full arrangement puts server and host in a column beside the charts; the compact one gives the charts the
whole width and the figures a line each.
"""

from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tuibench.tui.panels.difference import card
from tuibench.tui.panels.durability import durability
from tuibench.tui.panels.events import events
from tuibench.tui.panels.figure import figure
from tuibench.tui.panels.host import host_panel, host_strip
from tuibench.tui.panels.measures import Measure, measures_of
from tuibench.tui.panels.plot import time_axis
from tuibench.tui.panels.server import server_panel, server_strip
from tuibench.tui.screens.main import MainScreen
from tuibench.tui.view import View
from tuibench.tui.widgets.chart import Chart


class LiveScreen(MainScreen):
    """What matters most, at one glance."""

    def body(self) -> ComposeResult:
        with Horizontal(id="body"):
            with Vertical(id="charts"):
                for number, measure in enumerate(measures_of(self.view.headline)):
                    yield from self._band(measure, is_first=number == 0)
                yield self.panel(time_axis, id="axis")
            with Vertical(id="side"):
                yield self.panel(server_panel, id="server-panel")
                yield self.panel(host_panel, id="host-panel")
        yield self.panel(server_strip, id="server-strip")
        yield self.panel(host_strip, id="host-strip")
        yield self.panel(durability, id="durability")
        with Horizontal(id="happened"):
            yield self.panel(events, id="events")
            yield self.panel(card, id="effect")

    @property
    def chart_columns(self) -> int:
        return self.query(Chart).first().columns

    def prepare(self, view: View) -> None:
        self.query_one("#durability").set_class(view.at_risk, "-at-risk")
        happened = self.query_one("#happened")
        happened.set_class(view.effect is not None or view.lens.difference is not None, "-compared")
        happened.set_class(view.lens.difference is not None, "-measured")

    def _band(self, measure: Measure, *, is_first: bool) -> ComposeResult:
        with Horizontal(classes="band"):
            yield self.panel(
                partial(figure, measure, ascii_only=self.frame.ascii_only),
                id=f"figure-{measure.role}",
                classes="figure",
            )
            yield Chart(measure, numbered=is_first, ascii_only=self.frame.ascii_only)
