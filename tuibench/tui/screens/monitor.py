"""The screens of the tab line with charts, and with lists of figures.

Live has charts on one time axis, server and host, durability, and events. In the full layout, server and host
are in a column beside the charts. In the compact layout, the charts have the whole width, and server and host
a line each.

Server and Host have lists of figures, and charts of the selected ones, with the markers, the cursor and the
zoom of Live. Both share the operator's selection; without a selection, each shows its own figures if there is
room.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Hit, Hits, Provider
from textual.containers import Horizontal, Vertical
from textual.geometry import Size

from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.message import Command, Watch
from tuibench.tui.actions import palette_line
from tuibench.tui.figures import (
    CHARTED_FIGURES,
    LEFT_TABLES,
    OTHERS_SECTION,
    RIGHT_TABLES,
    figure_key,
    figure_number,
)
from tuibench.tui.panels.bars import blocked_text, verdicts
from tuibench.tui.panels.effects import PAIR, comparison_card, has_effect_card, is_effect_news
from tuibench.tui.panels.health import health_height, health_panel, health_summary
from tuibench.tui.panels.lists import (
    MOVE_KEYS,
    ListMarks,
    Selection,
    TrendSection,
    events_panel,
    listed_keys,
    sections_height,
    stack_sections,
)
from tuibench.tui.panels.load import (
    FSYNCS,
    PERCENTILES,
    big_figure,
    commits_matter,
    is_untimed,
    latency_table,
    latency_table_height,
    line_figure,
    measures_of,
    operation_cost_panel,
    side_statements,
    slowest_panel,
    small_figure,
)
from tuibench.tui.panels.load_hosts import load_hosts, load_hosts_height
from tuibench.tui.panels.numbers import (
    CPU_BAR_PARTS,
    big_numbers,
    client_section,
    core_bars,
    core_bars_height,
    host_panel,
    host_sections,
    host_strip,
)
from tuibench.tui.panels.server import (
    durability_panel,
    durability_panel_height,
    replica_sections,
    server_panel,
    server_sections,
    server_strip,
)
from tuibench.tui.panels.settings import statement_detail, statements_panel
from tuibench.tui.panels.time_chart import (
    AXIS_WIDTH,
    FEWEST_BANDS,
    SLOT_ROLES,
    cpu_chart,
    cpu_figure,
    heat_map,
    heat_map_legend,
    slot_measure,
    time_axis_lines,
)
from tuibench.tui.panels.waits import (
    PLACES,
    listed_classes,
    time_figure,
    time_stack,
    time_table,
    time_table_height,
    waiting_detail,
)
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.steering import toggle_figure, toggle_on_live
from tuibench.tui.text import TextLine
from tuibench.tui.view import View
from tuibench.tui.widgets import Chart, FigureStack, Panel, Requested, TimePanel

MOST_LATENCIES, MOST_TALL_LATENCIES = 9, 16
"""Maximum number of lines of the latency table, and on a tall terminal; the charts get the rest."""
LATENCY_OTHERS = 14
"""Number of lines of the latency screen for percentiles, axis, slowest transaction and margin."""
PERCENTILE_LINES, MOST_SLOWEST_LINES = 12, 3
"""Number of lines on a small terminal for the percentiles, and maximum for the slowest transaction."""
MOST_HEALTH, MOST_TALL_HEALTH = 9, 24
"""Maximum number of lines of a server's health, and on a tall terminal; the charts get the rest."""
BESIDE_EVENTS = 160
"""From this width on, the growing card of a change is beside the events."""
PINNED_ROWS, MOST_COMPACT_PINNED = 2, 2
"""Number of rows of a chart of an added figure, and maximum number of such charts on a small terminal."""


LAST_SLOT = len(SLOT_ROLES) - 1
BAND_CLASSES = {0: "-first", LAST_SLOT: "-last"}


class LiveScreen(MainScreen):
    """The most important figures at a glance."""

    def body(self) -> ComposeResult:
        yield self.panel(health_summary, id="health-line")
        with Horizontal(id="body"):
            with Vertical(id="charts"):
                for place, role in enumerate(SLOT_ROLES):
                    yield from self._band(place, role)
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
                yield FigureStack(
                    lambda view: view.chart_state.on_live, ascii_only=self.frame.ascii_only, id="pinned"
                )
                yield self.panel(time_axis_lines, id="axis")
                yield self.panel(health_panel, id="health")
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
        self.set_class(commits_matter(view) and FSYNCS.name not in view.chart_state.slots, "-commits")
        self.set_class(view.is_watch, "-watched")
        self.set_class(bool(blocked_text(view)), "-blocked")
        health = self.query_one("#health")
        most = MOST_TALL_HEALTH if self.has_class("-tall") else MOST_HEALTH + 3 * is_untimed(view)
        health.styles.height = min(health_height(view, max(1, health.size.width)), most)
        self.set_class(is_untimed(view) and slot_measure(LAST_SLOT, view).name == "p95", "-untimed")
        # The charts of added figures are low, so that the others keep their room.
        charts, is_full = len(view.chart_state.on_live), self.has_class("-full")
        shown = charts if is_full else min(charts, MOST_COMPACT_PINNED)
        rows = PINNED_ROWS if is_full else 1
        self.query_one(FigureStack).set_charts(shown, 2 * rows if self.has_class("-tall") else rows)
        durability = self.query_one("#durability")
        durability.set_class(view.at_risk, "-at-risk")
        durability.styles.height = durability_panel_height(view)
        changes = self.query_one("#changes")
        is_spans = view.chart_state.difference is not None
        changes.set_class(has_effect_card(view) or is_spans, "-compared")
        is_compared = is_spans or len(view.pinned_effects) == PAIR or view.is_ab_testing
        changes.set_class(is_compared or is_effect_news(view), "-measured")
        changes.set_class(view.effect_progress is not None or view.is_ab_testing, "-growing")
        changes.set_class(self.app.size.width >= BESIDE_EVENTS, "-broad")

    def _band(self, place: int, role: str) -> ComposeResult:
        plain = self.frame.ascii_only

        def figure(view: View, width: int, height: int) -> list[TextLine]:
            return big_figure(slot_measure(place, view), view, width, height, ascii_only=plain)

        with Horizontal(classes=f"band {BAND_CLASSES.get(place, '')}"):
            yield self.panel(figure, id=f"figure-{role}", classes="figure")
            yield Chart(partial(slot_measure, place), role=role, numbered=place == 0, ascii_only=plain)


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
            if self.has_class("-full"):
                most = MOST_TALL_LATENCIES if self.has_class("-tall") else MOST_LATENCIES
                rows = min(latency_table_height(view), most)
                table.styles.height = rows
                heat_rows = self.app.size.height - CHROME_LINES - LATENCY_OTHERS - rows - bool(verdicts(view))
                self.set_class(not self.has_class("-tall") and heat_rows < FEWEST_BANDS, "-no-heat")
            else:
                table.styles.clear_rule("height")
                free = self.app.size.height - CHROME_LINES - PERCENTILE_LINES - latency_table_height(view)
                slowest = self.query_one("#slowest").styles
                slowest.height = max(1, min(MOST_SLOWEST_LINES, free - bool(verdicts(view))))
                self.remove_class("-no-heat")

    def apply_size_classes(self, size: Size) -> None:
        """Update the body as well: the table and the heat map depend on the size."""
        super().apply_size_classes(size)
        if self.is_mounted:
            self.prepare(self.view)


class TimeScreen(MainScreen):
    """The classes of time that connections spend; `enter` shows the waiting connections of the selected
    one.
    """

    KEYS = (
        ("↑ ↓", "choose"),
        ("enter", "who waits"),
        ("← →", "cursor"),
        ("z", "zoom"),
        ("c", "two spans"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "detail", "Who waits", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()
        self._is_detailed = False

    def body(self) -> ComposeResult:
        with Horizontal(id="time-band"):
            yield self.panel(time_figure, classes="figure", id="time-figure")
            yield TimePanel(
                partial(time_stack, ascii_only=self.frame.ascii_only),
                "server",
                ascii_only=self.frame.ascii_only,
                id="time-chart",
            )
        yield self.panel(time_axis_lines, id="axis")
        with Horizontal(id="time-parts"):
            is_ascii = self.frame.ascii_only
            yield self.panel(
                lambda *drawn: time_table(*drawn, chosen=self.chosen, ascii_only=is_ascii), id="time-table"
            )
            yield self.panel(lambda *drawn: waiting_detail(self.chosen, *drawn), id="time-detail")

    @property
    def chart_columns(self) -> int:
        return self.query_one(TimePanel).columns

    @property
    def poll_command(self) -> Command | None:  # type: ignore[override]
        """The command that polls the server's statements, while they are shown."""
        return Watch("time") if self._is_detailed and self.view.replay is None else None

    @property
    def chosen(self) -> WaitClass | None:
        """The selected class; None before there is one."""
        classes = listed_classes(self.view)
        return classes[self._selection.settled(self._ids(self.view)).place] if classes else None

    def prepare(self, view: View) -> None:
        self._selection = self._selection.settled(self._ids(view))
        free = self.room.height - CHROME_LINES - FEWEST_STACK_LINES - bool(verdicts(view))
        lines = time_table_height(view, self.room.width - 2)
        if self._is_detailed:
            lines = max(lines, FEWEST_DETAIL_LINES)
        self.query_one("#time-parts").styles.height = max(min(lines, free), 1)
        self.set_class(self._is_detailed, "-detailed")

    def action_detail(self) -> None:
        self._is_detailed = not self._is_detailed
        self.submit(self.poll_command)
        self.show(self.view)

    def action_move(self, by: int) -> None:
        self._selection = self._selection.moved(self._ids(self.view), by)
        self.show(self.view)

    def action_pick(self, number: int) -> None:
        """Handle a click: the first one selects the class, the second one has the effect of `enter`."""
        if number == self._selection.id:
            self.action_detail()
        else:
            self._selection = Selection(number)
            self.show(self.view)

    def _ids(self, view: View) -> list[int]:
        return [PLACES[wait] for wait in listed_classes(view)]


class CostScreen(MainScreen):
    """Cost of a query and of a transaction."""

    KEYS = (("o", "Live"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("o", "app.go('live')", "Back", show=False)]

    def body(self) -> ComposeResult:
        yield self.panel(operation_cost_panel, id="cost")


class StatementsScreen(MainScreen):
    """The statements that took the most time; they are read while this screen is visible. `enter` shows the
    selected one in full, with its plan.
    """

    KEYS = (("↑ ↓", "choose"), ("enter", "SQL and plan"), ("s", "Live"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "app.go('live')", "Back", show=False),
        Binding("enter", "detail", "Statement and plan", show=False),
        Binding("escape", "back", "Back", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._chosen = self._detail = ""

    @property
    def poll_command(self) -> Command | None:  # type: ignore[override]
        return Watch("statements", statement=self._detail)

    def body(self) -> ComposeResult:
        yield self.panel(lambda view, *size: statements_panel(view, self._chosen, *size), id="statements")
        yield self.panel(
            lambda view, *size: statement_detail(view, self._detail, *size), id="statement-detail"
        )

    def prepare(self, view: View) -> None:
        keys = self._keys
        if self._chosen not in keys:
            self._chosen = keys[0] if keys else ""
        self.set_class(bool(self._detail), "-detailed")

    def action_move(self, by: int) -> None:
        keys = self._keys
        if keys:
            place = keys.index(self._chosen) if self._chosen in keys else 0
            self._chosen = keys[min(max(place + by, 0), len(keys) - 1)]
            if self._detail:
                self._show_detail(self._chosen)
            self.query_one("#statements", Panel).show(self.view)

    def action_detail(self) -> None:
        """Show the selected statement, or the list alone again."""
        self._show_detail("" if self._detail == self._chosen else self._chosen)

    async def action_back(self) -> None:
        """Show the list alone again; without a statement in full, what `escape` does elsewhere."""
        if self._detail:
            self._show_detail("")
        else:
            await self.run_action("app.escape")

    def copied(self, view: View) -> str:
        """The statement that is shown in full, or the selected one."""
        report = view.statements
        if report is None:
            return ""
        detail = report.detail
        if detail is not None and detail.key == self._detail and detail.statement:
            return f"{detail.statement}\n"
        return next((f"{row.text}\n" for row in report.rows if row.key == self._chosen), "")

    def _show_detail(self, key: str) -> None:
        self._detail = key
        self.set_detailed(bool(key))
        self.query_one("#statement-detail", Panel).show(self.view)
        if key:
            self.submit(self.poll_command)

    @property
    def _keys(self) -> list[str]:
        report = self.view.statements
        return [row.key for row in report.rows if row.key] if report is not None else []


class BigScreen(MainScreen):
    """Throughput as one wide chart, the figures, the shown effect, and the durability state."""

    KEYS = (("b", "Live"), ("e", "another effect"))
    BINDINGS: ClassVar[list[BindingType]] = [Binding("b", "app.go('live')", "Back", show=False)]

    def keys_now(self, view: View) -> Sequence[tuple[str, str]]:
        return self.KEYS if view.effects else self.KEYS[:1]

    def body(self) -> ComposeResult:
        throughput = measures_of(self.view.headline, is_watch=self.view.shows_traffic)[0]
        yield Chart(throughput, numbered=True, ascii_only=self.frame.ascii_only, name="big")
        yield self.panel(partial(time_axis_lines, gutter=AXIS_WIDTH), id="big-axis")
        yield self.panel(partial(big_numbers, ascii_only=self.frame.ascii_only), id="big")


LIST_KEYS = {key: by for key, by in MOVE_KEYS.items() if key not in ("home", "end")}
"""Keys that move the selection. `home` and `end` are excluded: they move the cursor of the charts."""
CHROME_LINES = 7
"""Number of lines of header, tabs, reply, keys, footer and axis."""
FEWEST_ROWS, FEWEST_COMPACT_ROWS, MOST_ROWS = 3, 2, 12
"""Number of rows of a chart: minimum in the full layout, minimum in the compact layout, maximum."""
FEWEST_CPU_ROWS = 5
"""Minimum free rows for the CPU chart in the compact layout."""
FEWEST_STACK_LINES = 7
"""Minimum lines of the chart of the time."""
FEWEST_DETAIL_LINES = 16
"""Minimum lines of the detail of a class, if there is room for it."""
FEWEST_LIST_LINES = 7
"""Minimum lines of the list, including the blank line below the charts."""


class Columns(NamedTuple):
    """The sections of a list in two columns."""

    left: list[TrendSection]
    right: list[TrendSection]

    @property
    def lines(self) -> int:
        """Height of the taller column."""
        return max(sections_height(self.left), sections_height(self.right))


class FigureScreen(MainScreen):
    """A list in two columns with a selected row; `enter` adds its figure to the charts above the list."""

    KEYS = (
        ("↑ ↓", "choose"),
        ("enter", "chart on/off"),
        ("i", "on Live"),
        ("← →", "cursor"),
        ("z", "zoom"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "chart", "Chart on/off", show=False),
        Binding("i", "on_live", "On Live", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in LIST_KEYS.items()),
    ]
    own_figures: ClassVar[tuple[str, ...]] = ()
    """Figures on the charts while the operator has selected none."""

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()
        self._listed: tuple[View, Columns] | None = None

    def columns(self, view: View) -> Columns:
        """The list of this screen."""
        raise NotImplementedError

    def listed(self, view: View) -> Columns:
        """The list, cached for a view, because a key needs it several times."""
        if self._listed is None or self._listed[0] is not view:
            self._listed = view, self.columns(view)
        return self._listed[1]

    def charted(self, view: View) -> tuple[str, ...]:
        """Figures on the charts: the operator's, otherwise the screen's own if there is room."""
        chosen = view.chart_state.figures
        if chosen is not None:
            return chosen
        free = self.room.height - CHROME_LINES - self.listed(view).lines - 1
        has_room = self.has_class("-full") and free >= FEWEST_ROWS * len(self.own_figures)
        return self.own_figures if has_room else ()

    @property
    def chart_columns(self) -> int:
        return self._stack.columns

    def prepare(self, view: View) -> None:
        self._selection = self._selection.settled(self._ids(view))

    def apply_size_classes(self, size: Size) -> None:
        """Update the body as well: the charts depend on the size."""
        super().apply_size_classes(size)
        # What is listed depends on the layout.
        self._listed = None
        if self.is_mounted:
            self.prepare(self.view)

    @property
    def chosen(self) -> str:
        """Key of the selected row; empty before there is one."""
        keys = self._keys(self.view)
        return next((key for key in keys if figure_number(key) == self._selection.id), "")

    def action_move(self, by: int) -> None:
        self._select(self._selection.moved(self._ids(self.view), by))

    def action_pick(self, number: int) -> None:
        """Handle a click: the first one selects the figure, the second one has the effect of `enter`."""
        if number == self._selection.id:
            self.action_chart()
        else:
            self._select(Selection(number).settled(self._ids(self.view)))

    def _select(self, selection: Selection) -> None:
        self._selection = selection
        for panel in self.query(".columns Panel").results(Panel):
            panel.show(self.view)

    def action_chart(self) -> None:
        if self.chosen:
            self.post_message(Requested(toggle_figure(self.chosen, self.charted(self.view))))

    def action_on_live(self) -> None:
        if self.chosen:
            self.post_message(Requested(toggle_on_live(self.chosen)))

    @property
    def _stack(self) -> FigureStack:
        return self.query_one(FigureStack)

    def _figure_stack(self, name: str) -> FigureStack:
        return FigureStack(self.charted, ascii_only=self.frame.ascii_only, id=name, numbered=True)

    def _list(self, name: str) -> Horizontal:
        return Horizontal(
            self.panel(self._left, id=f"{name}-left"),
            self.panel(self._right, id=f"{name}-right"),
            classes="columns",
            id=f"{name}-columns",
        )

    def _rows(self, charts: int, lines: int, wanted: int) -> int:
        """Rows of each chart above a list that needs `wanted` of the `lines`."""
        is_full = self.has_class("-full")
        least = FEWEST_ROWS if is_full else FEWEST_COMPACT_ROWS
        each = min(max((lines - wanted - is_full) // max(charts, 1), least), MOST_ROWS)
        return max(min(each, (lines - FEWEST_LIST_LINES) // max(charts, 1)), 1)

    def _keys(self, view: View) -> list[str]:
        """Keys of the selectable rows: the left column, then the right one."""
        left, right = self.listed(view)
        height = self.query_one(".columns").size.height
        return [*listed_keys(left, height), *listed_keys(right, height)]

    def _ids(self, view: View) -> list[int]:
        return [figure_number(key) for key in self._keys(view)]

    def _left(self, view: View, width: int, height: int) -> list[TextLine]:
        left, right = self.listed(view)
        return self._column(left, right, view, width, height)

    def _right(self, view: View, width: int, height: int) -> list[TextLine]:
        left, right = self.listed(view)
        return self._column(right, left, view, width, height)

    def _column(
        self,
        shown: list[TrendSection],
        beside: list[TrendSection],
        view: View,
        width: int,
        height: int,
    ) -> list[TextLine]:
        return stack_sections(
            shown,
            width,
            height,
            beside=beside,
            ascii_only=self.frame.ascii_only,
            marks=ListMarks(self.chosen, (*self.charted(view), *view.chart_state.on_live)),
        )


class ServerScreen(FigureScreen):
    """The server's figures over the last minute, with charts of the selected ones."""

    own_figures = (figure_key("CONNECTIONS", "Threads running"), figure_key("INNODB", "Redo written"))

    def body(self) -> ComposeResult:
        yield self._figure_stack("server-charts")
        yield self.panel(time_axis_lines, id="axis")
        yield self._list("server")

    def columns(self, view: View) -> Columns:
        left = [*replica_sections(view), *server_sections(view, LEFT_TABLES)]
        return Columns(left, server_sections(view, RIGHT_TABLES))

    def prepare(self, view: View) -> None:
        charts = len(self.charted(view))
        lines = self.room.height - CHROME_LINES
        self._stack.set_charts(charts, self._rows(charts, lines, self.listed(view).lines))
        self.query_one("#axis").display = charts > 0
        super().prepare(view)


class HostScreen(FigureScreen):
    """The host's figures, and the load hosts of a cluster run."""

    own_figures = (figure_key("DISKS", "Write"),)

    def body(self) -> ComposeResult:
        yield self.panel(load_hosts, id="load-hosts")
        yield self.panel(core_bars, id="cores")
        with Horizontal(id="host-cpu"):
            yield self.panel(cpu_figure, classes="figure", id="host-cpu-figure")
            chart = partial(cpu_chart, ascii_only=self.frame.ascii_only, numbered=True)
            yield TimePanel(chart, "server", ascii_only=self.frame.ascii_only, id="host-cpu-chart")
        yield self._figure_stack("host-charts")
        yield self.panel(time_axis_lines, id="axis")
        yield self._list("host")

    @property
    def chart_columns(self) -> int:
        """Columns of the CPU chart, or of the stacked charts if it is hidden."""
        cpu = self.query_one("#host-cpu-chart", TimePanel)
        return cpu.columns if self.query_one("#host-cpu").display else self._stack.columns

    def columns(self, view: View) -> Columns:
        """The sections, with the client's host if it is not the server's."""
        processor, memory, disks, network = host_sections(view)
        if self.has_class("-full"):
            # The chart of the CPU has the parts of the load, with their figures.
            processor = processor._replace(rows=processor.rows[len(CPU_BAR_PARTS) :])
        if client := client_section(view):
            return Columns([processor, memory, network], [disks, *client])
        return Columns([processor, memory], [disks, network])

    def prepare(self, view: View) -> None:
        load_lines = load_hosts_height(view, self.room.height)
        self.query_one("#load-hosts").styles.height = load_lines
        self.query_one("#load-hosts").display = load_lines > 0
        core_lines = core_bars_height(view, self.room.width - 2)
        self.query_one("#cores").styles.height = core_lines
        self._arrange(view, self.room.height - CHROME_LINES - load_lines - core_lines)
        super().prepare(view)

    def _arrange(self, view: View, lines: int) -> None:
        """Place the charts, the CPU chart first, above the list."""
        charts, wanted = len(self.charted(view)), self.listed(view).lines
        has_cpu = self.has_class("-full") or (not charts and lines - wanted >= FEWEST_CPU_ROWS)
        rows = self._rows(charts + has_cpu, lines, wanted)
        # The CPU chart gets a remaining row, because its figure has more lines than the others.
        is_spare = lines - wanted - self.has_class("-full") > rows * (charts + has_cpu)
        self.query_one("#host-cpu").display = has_cpu
        self.query_one("#host-cpu").styles.height = min(rows + is_spare, MOST_ROWS)
        self._stack.is_numbered = not has_cpu
        self._stack.set_charts(charts, rows)
        self.query_one("#axis").display = bool(charts) or has_cpu


BELOW_ACTIONS = 1e-3
"""Factor of the palette's scores for figures, so that every action is above them."""


class FigurePalette(Provider):
    """Entries of the command palette that put a figure on the first screen, found by its title or name."""

    async def search(self, query: str) -> Hits:
        matcher, screen = self.matcher(query), self.screen
        for figure in CHARTED_FIGURES:
            where = "" if figure.section == OTHERS_SECTION.lower() else f" ({figure.section})"
            title = f"Chart on Live: {figure.title}{where}"
            if isinstance(screen, MainScreen) and (score := matcher.match(title)) > 0:
                request = Requested(toggle_on_live(figure.key))
                shown = palette_line("", matcher.highlight(title))
                yield Hit(score * BELOW_ACTIONS, shown, partial(screen.post_message, request), text=title)
