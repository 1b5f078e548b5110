"""Plots of the HTML report: time charts, latency heat map.

Charts of an HTML report: a table of their lines and sample fields, and their rendering with captions and
tooltips.

A chart with no values is omitted; so is one of errors and the like if there were none.

SVG chart of the latency distribution on a logarithmic axis.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tuibench import units
from tuibench.metrics.figures import read
from tuibench.model.sample import Sample
from tuibench.model.tick import US_PER_MS, Histogram, Tick, bucket_upper_bound
from tuibench.report.html_chart import (
    TOP,
    ChartSpan,
    ChartStyle,
    Markup,
    Series,
    TimeAxis,
    join_markup,
    stack_series,
    tag,
    time_chart,
)

Write = Callable[[float | None], str]


class PlotLine(NamedTuple):
    """One line: a figure by its name; `dashed` for a requested value."""

    name: str
    figure: str
    dashed: bool = False
    of: Callable[[Sample], Tick | None] = lambda sample: sample.tick

    def value(self, sample: Sample) -> float | None:
        return read(self.figure, self.of(sample))


class Plot(NamedTuple):
    """One chart. Those without a `group` are large, others are in pairs under its name.

    A `rare` chart is omitted if all its values are zero.
    """

    id: str
    title: str
    unit: str
    lines: Sequence[PlotLine]
    write: Write = units.si
    group: str = ""
    stacked: bool = False
    logarithmic: bool = False
    maximum: float | None = None
    rare: bool = False


_load_line = partial(PlotLine, of=lambda sample: sample.load)


def _bytes(value: float | None) -> str:
    return units.DASH if value is None else f"{_spaced(value)}B/s"


def _memory(value: float | None) -> str:
    return units.DASH if value is None else f"{_spaced(value)}B"


def _spaced(value: float) -> str:
    """A number, with a blank before its unit unless a prefix has added one."""
    text = units.si(value)
    return f"{text} " if text[-1].isdigit() else text


def _percent(value: float | None) -> str:
    return units.percent(value)


_load_plot = partial(Plot, group="Load")
_server_plot = partial(Plot, group="Server")
_host_plot = partial(Plot, group="Host")
_client_plot = partial(Plot, group="Client")

PLOTS = (
    Plot(
        "tps",
        "Transactions",
        "per second",
        (
            PlotLine("TPS", "tps"),
            _load_line("target", "target_rate", dashed=True),
        ),
    ),
    Plot(
        "latency",
        "Response time",
        "logarithmic",
        (
            PlotLine("p50", "p50"),
            PlotLine("p95", "p95"),
            PlotLine("p99", "p99"),
        ),
        units.milliseconds,
        logarithmic=True,
    ),
    Plot(
        "queries",
        "Queries",
        "per second, stacked",
        (
            PlotLine("reads", "reads"),
            PlotLine("writes", "writes"),
            PlotLine("others", "others"),
        ),
        stacked=True,
    ),
    _load_plot(
        "threads",
        "Threads and connections",
        "",
        (
            _load_line("target", "requested_threads", dashed=True),
            _load_line("open", "open_connections"),
            PlotLine("running", "threads_running"),
        ),
    ),
    _load_plot(
        "backlog",
        "Backlog",
        "transactions due",
        (_load_line("due", "backlog"),),
        rare=True,
    ),
    _load_plot(
        "mishaps",
        "Errors and reconnects",
        "per second",
        (
            _load_line("errors", "errors_per_second"),
            _load_line("reconnects", "reconnects_per_second"),
        ),
        rare=True,
    ),
    _server_plot(
        "commits",
        "Commits and log fsyncs",
        "per second",
        (
            PlotLine("commits", "com_commit"),
            PlotLine("log fsyncs", "fsyncs_per_second"),
        ),
    ),
    _server_plot(
        "fsyncs",
        "Log fsyncs for each transaction",
        "",
        (PlotLine("fsyncs/trx", "fsyncs"),),
        units.small_number,
    ),
    _server_plot(
        "written",
        "Written by InnoDB",
        "per second",
        (
            PlotLine("all", "innodb_data_written"),
            PlotLine("redo log", "innodb_os_log_written"),
        ),
        _bytes,
    ),
    _server_plot(
        "locks",
        "Row lock waits",
        "per second",
        (PlotLine("waits", "innodb_row_lock_waits"),),
        rare=True,
    ),
    _server_plot(
        "pages",
        "Pages read from disk",
        "per second",
        (PlotLine("reads", "innodb_buffer_pool_reads"),),
        rare=True,
    ),
    _server_plot(
        "tables",
        "Open tables",
        "",
        (
            PlotLine("open", "open_tables"),
            PlotLine("cache", "table_open_cache", dashed=True),
        ),
    ),
    _server_plot(
        "slow",
        "Slow queries",
        "",
        (PlotLine("slow", "slow"),),
        rare=True,
    ),
    _host_plot(
        "cpu",
        "Processors",
        "of all, stacked",
        (
            PlotLine("server", "cpu_server"),
            PlotLine("tuibench", "cpu_tuibench"),
            PlotLine("rest", "cpu_rest"),
        ),
        _percent,
        stacked=True,
        maximum=100.0,
    ),
    _host_plot(
        "memory",
        "Memory",
        "",
        (
            PlotLine("used", "memory_used"),
            PlotLine("server", "memory_server"),
        ),
        _memory,
    ),
    _host_plot(
        "disk",
        "Disks",
        "per second",
        (
            PlotLine("written", "disk_write"),
            PlotLine("read", "disk_read"),
        ),
        _bytes,
    ),
    _host_plot(
        "network",
        "Network",
        "per second",
        (
            PlotLine("received", "net_received"),
            PlotLine("sent", "net_sent"),
        ),
        _bytes,
        rare=True,
    ),
    _client_plot(
        "client",
        "The busiest worker",
        "of a core",
        (_load_line("worker", "worker_cpu_percent"),),
        _percent,
    ),
    _client_plot(
        "lag",
        "Scheduling delay",
        "99th percentile",
        (_load_line("late", "scheduling_delay"),),
        units.milliseconds,
    ),
)


MEAN = "on average"


class DrawnChart(NamedTuple):
    """A rendered chart: its SVG with its caption, and the data of its tooltips."""

    figure: Markup
    group: str
    values: list[list[str]]


def draw_charts(axis: TimeAxis, span: ChartSpan) -> Iterator[tuple[str, DrawnChart]]:
    """Every chart with visible values, by its id."""
    for plot in PLOTS:
        lines = [axis.series(line.name, line.value, dashed=line.dashed) for line in plot.lines]
        series = [one for one in lines if not one.is_empty]
        if not series or (plot.rare and all(one.is_zero for one in series)):
            continue
        yield plot.id, _one(plot, series, span)


def _one(plot: Plot, series: Sequence[Series], span: ChartSpan) -> DrawnChart:
    shown = stack_series(series) if plot.stacked else series
    style = ChartStyle(
        width=560 if plot.group else 1120,
        height=170 if plot.group else 230,
        write=plot.write,
        stacked=plot.stacked,
        logarithmic=plot.logarithmic,
        maximum=plot.maximum,
    )
    means = [plot.write(one.mean) for one in series]
    label = f"{plot.title}: " + ", ".join(
        f"{one.name} {mean} on average" for one, mean in zip(series, means, strict=True)
    )
    keys = [
        tag(
            "span",
            tag("i", "", class_="dash" if one.dashed else None),
            f"{one.name} ",
            tag("em", mean, data_mean=mean),
            class_=f"key n{number}",
        )
        for number, (one, mean) in enumerate(zip(series, means, strict=True), 1)
    ]
    caption = tag(
        "figcaption",
        tag("b", plot.title),
        tag("span", plot.unit) if plot.unit else None,
        keys,
        tag("span", MEAN, class_="when", data_text=MEAN),
    )
    return DrawnChart(
        tag("figure", caption, time_chart(span, style, shown, label), id=plot.id),
        plot.group,
        [[plot.write(value) for value in one.means] for one in series],
    )


WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM = 1120, 250, 58, 30, 24
BARS = 90
RANKS = (50.0, 95.0, 99.0, 99.9)
MARGIN = 1.15
NAMES = ("p50", "p95", "p99", "p99.9")
LABEL_WIDTH = 76
DECADE_STEPS = (1, 2, 5)


class _Axis:
    """Conversion of latencies in ms to coordinates."""

    def __init__(self, latencies: Histogram) -> None:
        self.low = max(latencies.min_us, 1) / US_PER_MS / MARGIN
        self.high = max(latencies.max_us / US_PER_MS * MARGIN, self.low * 2)

    def x(self, ms: float) -> float:
        share = math.log(max(ms, self.low) / self.low) / math.log(self.high / self.low)
        return LEFT + min(share, 1.0) * (WIDTH - RIGHT - LEFT)

    @property
    def ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = DECADE_STEPS if len(powers) <= 4 else (1,)
        places = (step * 10.0**power for power in powers for step in steps)
        return [place for place in places if self.low <= place <= self.high]


def latency_chart(latencies: Histogram) -> Markup | None:
    """The SVG; None without latencies."""
    if not latencies.count:
        return None
    axis = _Axis(latencies)
    bars = _bars(latencies, axis)
    most = max(bars)
    return tag(
        "svg",
        [_bar(place, times / most) for place, times in enumerate(bars) if times],
        tag("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM),
        [
            tag(
                "text",
                units.milliseconds(ms),
                class_="axis",
                x=axis.x(ms),
                y=HEIGHT - 8,
                text_anchor="middle",
            )
            for ms in axis.ticks
        ],
        _ranks(latencies, axis),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"Distribution of {units.count(latencies.count)} latencies",
    )


def _bars(latencies: Histogram, axis: _Axis) -> list[int]:
    """The number of latencies of each bar; all bars are equally wide on the logarithmic axis."""
    found = [0] * BARS
    for bucket, times in latencies.counts.items():
        ms = min(bucket_upper_bound(bucket), latencies.max_us) / US_PER_MS
        share = (axis.x(ms) - LEFT) / (WIDTH - RIGHT - LEFT)
        found[min(int(share * BARS), BARS - 1)] += times
    return found


def _bar(place: int, share: float) -> Markup:
    width = (WIDTH - RIGHT - LEFT) / BARS
    height = max(share * (HEIGHT - BOTTOM - TOP - 30), 1.0)
    return tag(
        "rect",
        "",
        class_="f1",
        x=LEFT + place * width,
        y=HEIGHT - BOTTOM - height,
        width=width - 1,
        height=height,
    )


def _ranks(latencies: Histogram, axis: _Axis) -> Markup:
    """Each percentile as a line with its value, moved to the right where two would overlap."""
    values = [us / US_PER_MS for us in latencies.percentiles(RANKS)]
    taken: list[float] = []
    return join_markup(
        [_rank(name, ms, axis, _row(axis.x(ms), taken)) for name, ms in zip(NAMES, values, strict=True)]
    )


def _row(x: float, taken: list[float]) -> int:
    """The first row of labels with room: `taken` is the end of each row's last label."""
    row = next((place for place, end in enumerate(taken) if x >= end), len(taken))
    taken[row : row + 1] = [x + LABEL_WIDTH]
    return row


def _rank(name: str, ms: float, axis: _Axis, row: int) -> Markup:
    x, y = axis.x(ms), 12 + 14 * row
    near = x > WIDTH - RIGHT - LABEL_WIDTH
    return tag(
        "g",
        tag("line", x1=x, x2=x, y1=y - 8, y2=HEIGHT - BOTTOM),
        tag(
            "text",
            f"{name} {units.milliseconds(ms)}",
            x=x - 5 if near else x + 5,
            y=y,
            text_anchor="end" if near else "start",
        ),
        class_="rank",
    )
