"""Chart screens: live, latency, saturation, tuning, cost, statements, big numbers.

Live: charts on one time axis, server and host, durability, events. In the full layout server and host are in
a column beside the charts; in the compact one the charts have the whole width, and the figures one line each.

Latency: percentiles over time, heat map on the same time axis, and a table of latencies by operation.

Saturation: throughput and p95 against threads as measured by a probe, and its result.

Big numbers, for a projector: only what the audience should see.
"""

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from tuibench.model.command import NextStep, WatchStatements
from tuibench.tui.panels.big_numbers import big_numbers
from tuibench.tui.panels.effect import PAIR, comparison_card, has_effect_card
from tuibench.tui.panels.events import events_panel
from tuibench.tui.panels.experiments import saturation as panels
from tuibench.tui.panels.experiments.tune import tune_panel, winner_lines
from tuibench.tui.panels.host import host_panel, host_strip
from tuibench.tui.panels.load.latency_table import latency_table, latency_table_height
from tuibench.tui.panels.load.measures import (
    FSYNCS,
    PERCENTILES,
    Measure,
    big_figure,
    commits_matter,
    line_figure,
    measures_of,
    small_figure,
)
from tuibench.tui.panels.load.operation_cost import operation_cost_panel
from tuibench.tui.panels.load.slowest import side_statements, slowest_panel
from tuibench.tui.panels.plots.cpu_chart import cpu_chart, cpu_figure
from tuibench.tui.panels.plots.heat_map import heat_map, heat_map_legend
from tuibench.tui.panels.plots.level_chart import LATENCY, THROUGHPUT, level_axis, probe_chart
from tuibench.tui.panels.plots.time_chart import AXIS_WIDTH, time_axis_lines
from tuibench.tui.panels.server.durability import durability_panel, durability_panel_height
from tuibench.tui.panels.server.figures import server_panel, server_strip
from tuibench.tui.panels.server.statements import statements_panel
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.view import View
from tuibench.tui.widgets.chart import Chart, TimePanel
from tuibench.tui.widgets.figure_stack import FigureStack

MOST_TALL_LATENCIES = 16
"""Maximum lines of the latency table on a tall terminal; the charts get what it does not need."""
PINNED_ROWS, MOST_COMPACT_PINNED = 2, 2
"""Rows of a chart of a selected figure, and the number of such charts on a small terminal."""


def _on_live(view: View) -> tuple[str, ...]:
    return view.chart_state.on_live


class LiveScreen(MainScreen):
    """The most important figures at a glance."""

    def body(self) -> ComposeResult:
        with Horizontal(id="body"):
            with Vertical(id="charts"):
                for number, measure in enumerate(
                    measures_of(self.view.headline, is_watch=self.view.shows_traffic)
                ):
                    yield from self._band(measure, is_first=number == 0)
                with Horizontal(classes="line-band", id="fsyncs"):
                    yield self.panel(partial(line_figure, FSYNCS), classes="figure", id="figure-fsyncs")
                    yield Chart(FSYNCS, numbered=False, ascii_only=self.frame.ascii_only, name="fsyncs")
                with Horizontal(classes="line-band", id="cpu"):
                    yield self.panel(cpu_figure, classes="figure", id="figure-cpu")
                    yield TimePanel(
                        partial(cpu_chart, ascii_only=self.frame.ascii_only),
                        "server",
                        ascii_only=self.frame.ascii_only,
                        id="chart-cpu",
                    )
                yield FigureStack(_on_live, ascii_only=self.frame.ascii_only, id="pinned")
                yield self.panel(time_axis_lines, id="axis")
            with Vertical(id="side"):
                yield self.panel(server_panel, id="server-panel")
                yield self.panel(host_panel, id="host-panel")
                yield self.panel(side_statements, id="side-statements")
        yield self.panel(server_strip, id="server-strip")
        yield self.panel(host_strip, id="host-strip")
        yield self.panel(durability_panel, id="durability")
        with Horizontal(id="changes"):
            yield self.panel(events_panel, id="events")
            yield self.panel(comparison_card, id="effect")

    def prepare(self, view: View) -> None:
        self.set_class(commits_matter(view), "-commits")
        self._arrange_pinned(view)
        durability = self.query_one("#durability")
        durability.set_class(view.at_risk, "-at-risk")
        durability.styles.height = durability_panel_height(view)
        changes = self.query_one("#changes")
        is_spans = view.chart_state.difference is not None
        changes.set_class(has_effect_card(view) or is_spans, "-compared")
        is_compared = is_spans or len(view.pinned_effects) == PAIR or view.is_ab_testing
        changes.set_class(is_compared, "-measured")

    def _arrange_pinned(self, view: View) -> None:
        """Lay out the charts of figures added by the operator: low, so that the others keep their room."""
        charts, is_full = len(view.chart_state.on_live), self.has_class("-full")
        shown = charts if is_full else min(charts, MOST_COMPACT_PINNED)
        rows = PINNED_ROWS if is_full else 1
        self.query_one(FigureStack).set_charts(shown, 2 * rows if self.has_class("-tall") else rows)

    def _band(self, measure: Measure, *, is_first: bool) -> ComposeResult:
        with Horizontal(classes="band -first" if is_first else "band"):
            yield self.panel(
                partial(big_figure, measure, ascii_only=self.frame.ascii_only),
                id=f"figure-{measure.role}",
                classes="figure",
            )
            yield Chart(measure, numbered=is_first, ascii_only=self.frame.ascii_only)


class LatencyScreen(MainScreen):
    """Latency percentiles, heat map, and breakdown by operation."""

    def body(self) -> ComposeResult:
        plain = self.frame.ascii_only
        with Vertical(id="percentiles"):
            for number, measure in enumerate(PERCENTILES):
                with Horizontal(classes="band"):
                    yield self.panel(
                        partial(small_figure, measure), classes="figure", id=f"percentile-{number}"
                    )
                    yield Chart(
                        measure, numbered=number == 0, ascii_only=plain, name=measure.title.replace(".", "-")
                    )
        with Horizontal(id="heat-band"):
            yield self.panel(heat_map_legend, classes="figure", id="legend")
            yield TimePanel(heat_map, "latency", ascii_only=plain, id="heat")
        yield self.panel(time_axis_lines, id="axis")
        yield self.panel(latency_table, id="latencies")
        yield self.panel(slowest_panel, id="slowest")

    def prepare(self, view: View) -> None:
        for table in self.query("#latencies"):
            if self.has_class("-tall"):
                table.styles.height = min(latency_table_height(view), MOST_TALL_LATENCIES)
            else:
                table.styles.clear_rule("height")


class SaturationScreen(MainScreen):
    """Running probe, or the last one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("j", "jump", "Next step", show=False)]
    KEYS = (("j", "next step"), ("P", "end the probe, or start one"))

    def body(self) -> ComposeResult:
        yield self.panel(panels.probe_status, id="probe")
        yield self.panel(panels.probe_answer, id="answer")
        yield self.panel(partial(probe_chart, THROUGHPUT), id="bend")
        yield self.panel(partial(probe_chart, LATENCY), id="bend-latency")
        yield self.panel(level_axis, id="bend-axis")
        yield self.panel(panels.probe_result, id="found")

    def prepare(self, view: View) -> None:
        lines = panels.probe_answer_height(view, self.size.width - 2)
        self.query_one("#answer").styles.height = lines
        self.query_one("#probe").styles.height = 1 if lines else 2

    def copied(self, view: View) -> str:
        """Commands of the formal run; before there are any, the figures."""
        result = view.probe.result if view.probe is not None else None
        if result is None or not result.commands:
            return super().copied(view)
        return "\n".join(result.commands.values()) + "\n"

    def action_jump(self) -> None:
        if self.view.is_probing:
            self.post_message(self.CommandRequested(NextStep()))


class TuneScreen(MainScreen):
    """Running screening of settings, or the last one."""

    KEYS = (("U", "end the screening, or start one"),)

    def body(self) -> ComposeResult:
        yield self.panel(tune_panel, id="tune")

    def copied(self, view: View) -> str:
        """The winner's lines for my.cnf; before there is a winner, the figures."""
        lines = winner_lines(view)
        return "\n".join(lines) + "\n" if lines else super().copied(view)


class CostScreen(MainScreen):
    """Cost of a query and of a transaction."""

    KEYS = (("esc", "back"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("o", "app.go('live')", "Back", show=False)]

    def body(self) -> ComposeResult:
        yield self.panel(operation_cost_panel, id="cost")


class StatementsScreen(MainScreen):
    """The statements that took the most time; they are read while this screen is visible."""

    KEYS = (("esc", "back"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "app.go('live')", "Back", show=False)]
    poll_command = WatchStatements()

    def body(self) -> ComposeResult:
        yield self.panel(statements_panel, id="statements")


class BigScreen(MainScreen):
    """Throughput as one wide chart, the figures, the shown effect, and the durability state."""

    KEYS = (("esc", "back"), ("e", "another effect"))
    BINDINGS: ClassVar[list[BindingType]] = [Binding("b", "app.go('live')", "Back", show=False)]

    def body(self) -> ComposeResult:
        throughput = measures_of(self.view.headline, is_watch=self.view.shows_traffic)[0]
        yield Chart(throughput, numbered=True, ascii_only=self.frame.ascii_only, name="big")
        yield self.panel(partial(time_axis_lines, gutter=AXIS_WIDTH), id="big-axis")
        yield self.panel(partial(big_numbers, ascii_only=self.frame.ascii_only), id="big")
