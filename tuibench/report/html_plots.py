"""The HTML page of a report, and its charts: over time, of the latency distribution, by threads.

The page has an index of its sections. It embeds its style and a script for the tooltips. The charts over time
are a table of lines and figures. A chart without values is omitted, and so is a `rare` one without any value
above zero.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import msgspec

from tuibench.base import sanitize, units
from tuibench.base.document import Document
from tuibench.metrics.figures import FIGURES, read
from tuibench.model.findings import Mean
from tuibench.model.tick import US_PER_MS, Histogram, Sample, bucket_upper_bound
from tuibench.report.html_chart import (
    LARGE,
    TOP,
    UNSTYLED,
    ChartSpan,
    ChartStyle,
    Child,
    Markup,
    Series,
    TimeAxis,
    block_markup,
    blocks_markup,
    in_both_widths,
    join_markup,
    stack_series,
    tag,
    time_chart,
)

Write = Callable[[float | None], str]


class Plot(NamedTuple):
    """One chart over time."""

    id: str
    title: str
    unit: str
    lines: Mapping[str, str]
    """The figure of each line, by the name of the line."""
    write: Write = units.si
    """The format of values."""
    group: str = ""
    """The heading below which the chart is one of a pair; empty for a large chart."""
    stacked: bool = False
    logarithmic: bool = False
    maximum: float | None = None
    """The end of the axis; None to derive it from the values."""
    rare: bool = False
    """Whether the chart is omitted if all its values are zero."""


OF_LOAD = frozenset(
    {
        "target_rate", "requested_threads", "open_connections", "backlog", "errors_per_second",
        "reconnects_per_second", "worker_cpu_percent", "scheduling_delay",
    }
)  # fmt: skip
"""Figures that always are of the session's own load, even if the others are of all clients of the server."""

DASHED = frozenset({"target_rate", "requested_threads", "table_open_cache"})
"""Figures that are set, not measured; their lines are dashed."""


def _percent(value: float | None) -> str:
    return units.percent(value)


_load_plot = partial(Plot, group="Load")
_server_plot = partial(Plot, group="Server")
_host_plot = partial(Plot, group="Host")
_client_plot = partial(Plot, group="Client")

PLOTS = (
    Plot("tps", "Transactions", "per second", {"TPS": "tps", "target": "target_rate"}),
    Plot(
        "latency",
        "Response time",
        "logarithmic",
        {"p50": "p50", "p95": "p95", "p99": "p99"},
        units.milliseconds,
        logarithmic=True,
    ),
    Plot(
        "queries",
        "Queries",
        "per second, stacked",
        {"reads": "reads", "writes": "writes", "others": "others"},
        stacked=True,
    ),
    _load_plot(
        "threads",
        "Threads and connections",
        "",
        {"target": "requested_threads", "open": "open_connections", "running": "threads_running"},
    ),
    _load_plot("backlog", "Backlog", "transactions due", {"due": "backlog"}, rare=True),
    _load_plot(
        "mishaps",
        "Errors and reconnects",
        "per second",
        {"errors": "errors_per_second", "reconnects": "reconnects_per_second"},
        rare=True,
    ),
    _server_plot(
        "commits",
        "Commits and log fsyncs",
        "per second",
        {"commits": "com_commit", "log fsyncs": "fsyncs_per_second"},
    ),
    _server_plot(
        "fsyncs", "Log fsyncs for each transaction", "", {"fsyncs/trx": "fsyncs"}, units.small_number
    ),
    _server_plot(
        "written",
        "Written by InnoDB",
        "per second",
        {"all": "innodb_data_written", "redo log": "innodb_os_log_written"},
        units.binary_size,
    ),
    _server_plot("locks", "Row lock waits", "per second", {"waits": "innodb_row_lock_waits"}, rare=True),
    _server_plot(
        "pages", "Pages read from disk", "per second", {"reads": "innodb_buffer_pool_reads"}, rare=True
    ),
    _server_plot("tables", "Open tables", "", {"open": "open_tables", "cache": "table_open_cache"}),
    _server_plot("slow", "Slow queries", "", {"slow": "slow"}, rare=True),
    _host_plot(
        "cpu",
        "Processors",
        "of all, stacked",
        {"server": "cpu_server", "tuibench": "cpu_tuibench", "rest": "cpu_rest"},
        _percent,
        stacked=True,
        maximum=100.0,
    ),
    _host_plot("memory", "Memory", "", {"used": "memory_used", "server": "memory_server"}, units.binary_size),
    _host_plot(
        "disk", "Disks", "per second", {"written": "disk_write", "read": "disk_read"}, units.binary_size
    ),
    _host_plot(
        "network",
        "Network",
        "per second",
        {"received": "net_received", "sent": "net_sent"},
        units.binary_size,
        rare=True,
    ),
    _client_plot("client", "The busiest worker", "of a core", {"worker": "worker_cpu_percent"}, _percent),
    _client_plot(
        "lag", "Scheduling delay", "99th percentile", {"late": "scheduling_delay"}, units.milliseconds
    ),
)


OF_RUN, MEAN = "whole run", "mean"
"""Words in a caption for its values: figures of the whole run, or means of levels."""


class DrawnChart(NamedTuple):
    """A rendered chart."""

    figure: Markup
    """The SVG with its caption, which contains the figures of the run."""
    group: str
    values: list[list[str]]
    """The texts of the tooltips, for each line and each time."""


def draw_charts(
    axis: TimeAxis, span: ChartSpan, of_run: Mapping[str, float]
) -> Iterator[tuple[str, DrawnChart]]:
    """Every chart with visible values, with its id. `of_run` are the figures of the whole run by name."""
    for plot in PLOTS:
        lines = {
            figure: axis.series(name, partial(_value, figure), dashed=figure in DASHED)
            for name, figure in plot.lines.items()
        }
        series = {figure: one for figure, one in lines.items() if not one.is_empty}
        if not series or (plot.rare and all(one.is_zero for one in series.values())):
            continue
        totals = [
            of_run.get(figure, one.mean) if _is_of_run(figure) else one.mean for figure, one in series.items()
        ]
        yield plot.id, _one(plot, list(series.values()), totals, span)


def _is_of_run(figure: str) -> bool:
    """True for a figure of the whole run, False for a level, whose caption has the mean."""
    return FIGURES[figure].is_comparable and figure not in OF_LOAD


def _value(figure: str, sample: Sample) -> float | None:
    return read(figure, sample.load if figure in OF_LOAD else sample.tick)


def _one(plot: Plot, series: Sequence[Series], totals: Sequence[float | None], span: ChartSpan) -> DrawnChart:
    shown = stack_series(series) if plot.stacked else series
    style = ChartStyle(
        width=560,
        height=170 if plot.group else 230,
        write=plot.write,
        stacked=plot.stacked,
        logarithmic=plot.logarithmic,
        maximum=plot.maximum,
    )
    texts = [plot.write(total) for total in totals]
    values = ", ".join(f"{one.name} {text}" for one, text in zip(series, texts, strict=True))
    what = OF_RUN if any(map(_is_of_run, plot.lines.values())) else MEAN
    label = f"{plot.title}, {what}: {values}"
    keys = [
        tag(
            "span",
            tag("i", "", class_="dash" if one.dashed else None),
            f"{one.name} ",
            tag("em", text, data_run=text),
            class_=f"key n{number}",
        )
        for number, (one, text) in enumerate(zip(series, texts, strict=True), 1)
    ]
    caption = tag(
        "figcaption",
        tag("b", plot.title),
        tag("span", plot.unit) if plot.unit else None,
        keys,
        tag("span", what, class_="when mean" if what is MEAN else "when", data_text=what),
    )

    def draw(width: int, fits: str) -> Markup:
        return time_chart(span, style._replace(width=width, fits=fits), shown, label)

    picture = draw(style.width, "") if plot.group else in_both_widths(draw)
    return DrawnChart(
        tag("figure", caption, picture, id=plot.id),
        plot.group,
        [[plot.write(value) for value in one.means] for one in series],
    )


# Latency distribution

HEIGHT, LEFT, RIGHT, BOTTOM = 250, 58, 30, 24
BARS = 90
RANKS = (50.0, 95.0, 99.0, 99.9)
MARGIN = 1.15
NAMES = ("p50", "p95", "p99", "p99.9")
LABEL_WIDTH = 76
DECADE_STEPS = (1, 2, 5)


class _Axis:
    """Conversion of latencies in ms to coordinates on a logarithmic axis."""

    def __init__(self, latencies: Histogram, width: int) -> None:
        self.right = width - RIGHT
        self.low = max(latencies.min_us, 1) / US_PER_MS / MARGIN
        self.high = max(latencies.max_us / US_PER_MS * MARGIN, self.low * 2)

    def x(self, ms: float) -> float:
        share = math.log(max(ms, self.low) / self.low) / math.log(self.high / self.low)
        return LEFT + min(share, 1.0) * (self.right - LEFT)

    @property
    def ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        has_room = len(powers) * len(DECADE_STEPS) * LABEL_WIDTH <= self.right - LEFT
        steps = DECADE_STEPS if has_room else (1,)
        places = (step * 10.0**power for power in powers for step in steps)
        return [place for place in places if self.low <= place <= self.high]


def latency_chart(latencies: Histogram) -> Markup | None:
    """The SVG of a latency distribution; None without latencies."""
    if not latencies.count:
        return None
    return in_both_widths(partial(_latency_picture, latencies))


def _latency_picture(latencies: Histogram, width: int, fits: str) -> Markup:
    axis = _Axis(latencies, width)
    bars = _bars(latencies, axis)
    most = max(bars)
    return tag(
        "svg",
        [_bar(axis, place, times / most) for place, times in enumerate(bars) if times],
        tag("line", class_="grid", x1=LEFT, x2=axis.right, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM),
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
        class_=fits,
        viewBox=f"0 0 {width} {HEIGHT}",
        role="img",
        aria_label=f"Distribution of {units.count(latencies.count)} latencies",
    )


def _bars(latencies: Histogram, axis: _Axis) -> list[int]:
    """The number of latencies in each bar; all bars have the same width on the logarithmic axis."""
    found = [0] * BARS
    for bucket, times in latencies.counts.items():
        ms = min(bucket_upper_bound(bucket), latencies.max_us) / US_PER_MS
        share = (axis.x(ms) - LEFT) / (axis.right - LEFT)
        found[min(int(share * BARS), BARS - 1)] += times
    return found


def _bar(axis: _Axis, place: int, share: float) -> Markup:
    width = (axis.right - LEFT) / BARS
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
    """Each percentile as a line with its value; labels that would overlap are in different rows."""
    values = [us / US_PER_MS for us in latencies.percentiles(RANKS)]
    taken: list[float] = []
    return join_markup(
        [_rank(name, ms, axis, _row(axis.x(ms), taken)) for name, ms in zip(NAMES, values, strict=True)]
    )


def _row(x: float, taken: list[float]) -> int:
    """The first row with room for a label at `x`; `taken` has the end of the last label in each row."""
    row = next((place for place, end in enumerate(taken) if x >= end), len(taken))
    taken[row : row + 1] = [x + LABEL_WIDTH]
    return row


def _rank(name: str, ms: float, axis: _Axis, row: int) -> Markup:
    x, y = axis.x(ms), 12 + 14 * row
    near = x > axis.right - LABEL_WIDTH
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


def document_page(document: Document, script: Markup | None = None, *, title: str = "") -> str:
    """A document as a self-contained page, ending in a newline; `title` is the title of the browser
    window.
    """
    sections = [(each.title, body) for each in document.sections if (body := blocks_markup(each.blocks))]
    content = tag(
        "main",
        tag("h1", document.title),
        [block_markup(each) for each in document.lead],
        tag("nav", [tag("a", title, href=f"#{_anchor(title)}") for title, _ in sections]),
        [tag("section", tag("h2", title), body, id=_anchor(title)) for title, body in sections],
        tag("p", document.foot, class_="note") if document.foot else None,
    )
    return html_page(title or document.title, content, script)


def html_page(title: str, *body: Child) -> str:
    """A page with the given body and the common style; ends in a newline."""
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            tag("style", Markup(read_resource("style.css"))),
        ),
        tag("body", *body),
        lang="en",
    )
    return f"<!doctype html>\n{page}\n"


def tooltip_script(times: Sequence[float], span: ChartSpan, pictures: dict[str, DrawnChart]) -> Markup:
    """The script of the tooltips, with its data as JSON."""
    values = {
        "times": [round(at, 3) for at in times],
        "start": span.start,
        "end": span.end,
        "charts": {name: each.values for name, each in pictures.items()},
    }
    text = sanitize.json_text(msgspec.json.encode(values).decode()).replace("<", "\\u003c")
    return join_markup(
        tag("script", Markup(text), type="application/json", id="data"),
        tag("script", Markup(read_resource("script.js"))),
    )


@cache
def read_resource(name: str) -> str:
    """The text of a file in the folder of this module."""
    return files("tuibench.report").joinpath(name).read_text(encoding="utf-8")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


# Charts by threads

THREADS_HEIGHT = 230
THREADS_LEFT, THREADS_RIGHT, THREADS_TOP, THREADS_BOTTOM = 58, 24, 14, 24
DOT, WHISKER = 3, 4
COLOURS = 6
"""Number of colours in the style sheet; further lines repeat them."""


class ThreadsLine(NamedTuple):
    """The means of one variant by number of threads; a missing number is a gap."""

    name: str
    means: Mapping[int, Mean]


class ThreadsScale(NamedTuple):
    """Conversion of threads and figures to coordinates."""

    width: int
    threads: Sequence[int]
    """The numbers on the axis."""
    top: float
    """The upper end of the axis of figures."""

    @property
    def right(self) -> int:
        return self.width - THREADS_RIGHT

    def x(self, threads: int) -> float:
        step = (self.right - THREADS_LEFT) / max(1, len(self.threads))
        return THREADS_LEFT + step * (self.threads.index(threads) + 0.5)

    def y(self, value: float) -> float:
        return (
            THREADS_HEIGHT
            - THREADS_BOTTOM
            - min(max(value / self.top, 0.0), 1.0) * (THREADS_HEIGHT - THREADS_BOTTOM - THREADS_TOP)
        )


def threads_chart(
    title: str,
    threads: Sequence[int],
    lines: Sequence[ThreadsLine],
    write: Callable[[float | None], str] = units.si,
    *,
    width: int = LARGE,
    by: str = "threads",
) -> Markup:
    """An SVG chart of figures against numbers of threads, or of another quantity `by`."""

    def draw(width: int, fits: str) -> Markup:
        means = (mean for line in lines for mean in line.means.values())
        highest = max((_edges(mean)[1] for mean in means), default=0.0)
        place = ThreadsScale(width, threads, units.axis_maximum(highest))
        parts = units.axis_parts(place.top)
        return tag(
            "svg",
            [_grid(place, place.top * part / parts, write) for part in range(parts + 1)],
            [_label(place, each) for each in threads],
            [_line(place, line, colour(number)) for number, line in enumerate(lines)],
            class_=fits or None,
            viewBox=f"0 0 {width} {THREADS_HEIGHT}",
            role="img",
            aria_label=f"{title} against {by}",
        )

    picture = in_both_widths(draw) if width == LARGE else draw(width, "")
    key = [
        tag("span", tag("i"), line.name, class_=f"key n{colour(number)}") for number, line in enumerate(lines)
    ]
    return tag("figure", tag("figcaption", tag("b", title), tag("span", f"by {by}"), key), picture)


def colour(number: int) -> int:
    """The number of a line's colour in the style sheet, from 0."""
    return number % COLOURS + 1


def _edges(mean: Mean) -> tuple[float, float]:
    """The ends of the interval, at most the mean away from it: a wider one would flatten the chart."""
    half = min(mean.half_width or 0.0, mean.mean)
    return mean.mean - half, mean.mean + half


def _grid(place: ThreadsScale, value: float, write: Callable[[float | None], str]) -> Markup:
    y = place.y(value)
    return join_markup(
        tag("line", class_="grid", x1=THREADS_LEFT, x2=place.right, y1=y, y2=y),
        tag("text", write(value), class_="axis", x=THREADS_LEFT - 8, y=y + 4, text_anchor="end"),
    )


def _label(place: ThreadsScale, threads: int) -> Markup:
    return tag(
        "text",
        str(threads),
        class_="axis",
        x=place.x(threads),
        y=THREADS_HEIGHT - THREADS_BOTTOM + 16,
        text_anchor="middle",
    )


def _line(place: ThreadsScale, line: ThreadsLine, number: int) -> Markup:
    known = [threads for threads in place.threads if threads in line.means]
    steps = [
        pair for pair in pairwise(known) if place.threads.index(pair[1]) - place.threads.index(pair[0]) == 1
    ]
    path = "".join(f"M{_at(place, line, first)}L{_at(place, line, second)}" for first, second in steps)
    return tag(
        "g",
        tag("path", class_="line", d=path) if path else None,
        [_point(place, line, threads, number) for threads in known],
        class_=f"s{number}",
        **UNSTYLED,
    )


def _at(place: ThreadsScale, line: ThreadsLine, threads: int) -> str:
    return f"{place.x(threads):.1f},{place.y(line.means[threads].mean):.1f}"


def _point(place: ThreadsScale, line: ThreadsLine, threads: int, number: int) -> Markup:
    """A mean as a dot, its interval as a line with ends."""
    mean, x = line.means[threads], place.x(threads)
    low, high = (place.y(edge) for edge in _edges(mean))
    whisker = f"M{x:.1f},{low:.1f}V{high:.1f}M{x - WHISKER:.1f},{low:.1f}h8M{x - WHISKER:.1f},{high:.1f}h8"
    width = "" if mean.half_width is None else f" ± {units.significant(mean.half_width, 4)}"
    level = units.pluralize(threads, "thread")
    return join_markup(
        tag("path", class_="line", d=whisker) if mean.half_width else None,
        tag(
            "circle",
            tag(
                "title",
                f"{line.name}, {level}: {units.significant(mean.mean, 4)}{width}",
            ),
            class_=f"dot n{number}",
            cx=x,
            cy=place.y(mean.mean),
            r=DOT,
        ),
    )
