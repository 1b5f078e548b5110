"""Charts of an HTML report: a table of their lines and sample fields, and their rendering with captions and
tooltips.

A chart with no values is omitted; so is one of errors and the like if there were none.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tuibench import units
from tuibench.model.counters import Counter
from tuibench.model.measurements.sample import HostSample, LoadSample, ServerSample, TrafficSample
from tuibench.record.html.chart import ChartSpan, ChartStyle, time_chart
from tuibench.record.html.markup import Markup, tag
from tuibench.record.html.series import SampleValue, Series, TimeAxis, stack_series

Write = Callable[[float | None], str]


class PlotLine(NamedTuple):
    """One line: a figure of each sample, or the growth of a counter; `dashed` for a requested value."""

    name: str
    figure: SampleValue = lambda sample: None
    dashed: bool = False
    growth_of: Counter | None = None


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


def load_value(read: Callable[[LoadSample], float | None]) -> SampleValue:
    return lambda sample: None if sample.load is None else read(sample.load)


def throughput_value(read: Callable[[LoadSample | TrafficSample], float | None]) -> SampleValue:
    """A figure that both a load and a server's own traffic have."""
    return lambda sample: None if sample.throughput is None else read(sample.throughput)


def server_value(read: Callable[[ServerSample], float | None]) -> SampleValue:
    return lambda sample: None if sample.server is None else read(sample.server)


def host_value(read: Callable[[HostSample], float | None]) -> SampleValue:
    return lambda sample: None if sample.host is None else read(sample.host)


def latency_value(name: str) -> SampleValue:
    """A percentile of the response times, by its field."""
    return throughput_value(lambda part: None if part.latency is None else float(getattr(part.latency, name)))


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
            PlotLine("TPS", throughput_value(lambda part: part.transactions_per_second)),
            PlotLine("target", load_value(lambda part: part.rate or None), dashed=True),
        ),
    ),
    Plot(
        "latency",
        "Response time",
        "logarithmic",
        (
            PlotLine("p50", latency_value("p50")),
            PlotLine("p95", latency_value("p95")),
            PlotLine("p99", latency_value("p99")),
        ),
        units.milliseconds,
        logarithmic=True,
    ),
    Plot(
        "queries",
        "Queries",
        "per second, stacked",
        (
            PlotLine("reads", throughput_value(lambda part: part.reads_per_second)),
            PlotLine("writes", throughput_value(lambda part: part.writes_per_second)),
            PlotLine("others", throughput_value(lambda part: part.others_per_second)),
        ),
        stacked=True,
    ),
    _load_plot(
        "threads",
        "Threads and connections",
        "",
        (
            PlotLine("target", load_value(lambda part: part.threads), dashed=True),
            PlotLine("open", load_value(lambda part: part.connections)),
            PlotLine("running", server_value(lambda part: part.threads_running)),
        ),
    ),
    _load_plot(
        "backlog",
        "Backlog",
        "transactions due",
        (PlotLine("due", load_value(lambda part: part.backlog)),),
        rare=True,
    ),
    _load_plot(
        "mishaps",
        "Errors and reconnects",
        "per second",
        (
            PlotLine("errors", load_value(lambda part: part.errors_per_second)),
            PlotLine("reconnects", load_value(lambda part: part.reconnects_per_second)),
        ),
        rare=True,
    ),
    _server_plot(
        "commits",
        "Commits and log fsyncs",
        "per second",
        (
            PlotLine("commits", server_value(lambda part: part.commits_per_second)),
            PlotLine("log fsyncs", server_value(lambda part: part.log_fsyncs_per_second)),
        ),
    ),
    _server_plot(
        "fsyncs",
        "Log fsyncs for each transaction",
        "",
        (PlotLine("fsyncs/trx", server_value(lambda part: part.log_fsyncs_per_transaction)),),
        units.small_number,
    ),
    _server_plot(
        "written",
        "Written by InnoDB",
        "per second",
        (
            PlotLine("all", growth_of=Counter.DATA_WRITTEN),
            PlotLine("redo log", growth_of=Counter.OS_LOG_WRITTEN),
        ),
        _bytes,
    ),
    _server_plot(
        "locks",
        "Row lock waits",
        "per second",
        (PlotLine("waits", server_value(lambda part: part.row_lock_waits_per_second)),),
        rare=True,
    ),
    _server_plot(
        "pages",
        "Pages read from disk",
        "per second",
        (PlotLine("reads", growth_of=Counter.POOL_READS),),
        rare=True,
    ),
    _server_plot(
        "tables",
        "Open tables",
        "",
        (
            PlotLine("open", server_value(lambda part: part.open_tables)),
            PlotLine("cache", server_value(lambda part: part.table_open_cache), dashed=True),
        ),
    ),
    _server_plot(
        "slow",
        "Slow queries",
        "",
        (PlotLine("slow", server_value(lambda part: part.slow_queries)),),
        rare=True,
    ),
    _host_plot(
        "cpu",
        "Processors",
        "of all, stacked",
        (
            PlotLine("server", host_value(lambda part: part.cpu_server)),
            PlotLine("tuibench", host_value(lambda part: part.cpu_tuibench)),
            PlotLine("rest", host_value(lambda part: part.cpu_rest)),
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
            PlotLine("used", host_value(lambda part: float(part.memory_used_bytes))),
            PlotLine("server", host_value(lambda part: part.memory_server_bytes)),
        ),
        _memory,
    ),
    _host_plot(
        "disk",
        "Disks",
        "per second",
        (
            PlotLine("written", host_value(lambda part: part.disk_write_bytes_per_second)),
            PlotLine("read", host_value(lambda part: part.disk_read_bytes_per_second)),
        ),
        _bytes,
    ),
    _host_plot(
        "network",
        "Network",
        "per second",
        (
            PlotLine("received", host_value(lambda part: part.net_received_bytes_per_second)),
            PlotLine("sent", host_value(lambda part: part.net_sent_bytes_per_second)),
        ),
        _bytes,
        rare=True,
    ),
    _client_plot(
        "client",
        "The busiest worker",
        "of a core",
        (PlotLine("worker", load_value(lambda part: 100 * part.worker_cpu)),),
        _percent,
    ),
    _client_plot(
        "lag",
        "Scheduling delay",
        "99th percentile",
        (PlotLine("late", load_value(lambda part: part.lag_p99_ms)),),
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
        lines = [_series(axis, line) for line in plot.lines]
        series = [one for one in lines if not one.is_empty]
        if not series or (plot.rare and all(one.is_zero for one in series)):
            continue
        yield plot.id, _one(plot, series, span)


def _series(axis: TimeAxis, line: PlotLine) -> Series:
    if line.growth_of:
        return axis.growth(line.name, line.growth_of)
    return axis.series(line.name, line.figure, dashed=line.dashed)


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
