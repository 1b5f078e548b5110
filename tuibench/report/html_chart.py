"""HTML markup, the blocks of a document as HTML, and charts over time as SVG.

Markup is a type of its own, so that all other text is escaped. A chart shows time series that are reduced to
its number of pixels: for each point the mean, the minimum and the maximum of its samples. A time without
samples is a gap. The axis of values begins at zero, changes are numbered lines, and each line of the chart is
named at its end.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby, pairwise, zip_longest
from typing import NamedTuple

from tuibench.base import sanitize, units
from tuibench.base.document import (
    Bar,
    Block,
    Cell,
    HtmlChart,
    Section,
    Shape,
    Styled,
    Table,
    TableStyle,
    Text,
    axis_of,
)
from tuibench.model.tick import Sample

Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is HTML, and therefore not escaped."""

    __slots__ = ()


Child = str | Markup | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An HTML element. The attribute `class_` is written as class, other underscores as hyphens. Attributes
    that are None or False are omitted.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    inside = join_markup(*children)
    if not children and name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{inside}</{name}>")


def join_markup(*children: Child) -> Markup:
    return Markup("".join(_piece(child) for child in children))


NARROW = 3
"""The maximum number of columns of a narrow table; a table with more is as wide as the page."""

VOID = frozenset({"meta", "img", "br", "hr", "col"})


def _piece(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(sanitize.text(child), quote=False)
    return "".join(_piece(each) for each in child)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {name}="{escape(sanitize.text(text))}"'


_OPTION = re.compile(r"(?<![^\s(])--[a-z][\w-]*(?:=[^\s,;)]{1,24}(?![^\s,;)]))?")
NO_BREAK = "\u00a0"


def whole_options(text: Child) -> Child:
    """Text in which command-line options are not broken after a hyphen; long values may be broken."""
    if not isinstance(text, str) or isinstance(text, Markup) or "--" not in text:
        return text
    plain, names = _OPTION.split(text), _OPTION.findall(text)
    spans = [tag("span", name, class_="whole") for name in names]
    return [piece for pair in zip_longest(plain, spans) for piece in pair]


def whole_changes(text: str) -> str:
    """Text in which changes (1 → 2) and percentages are not broken."""
    return text.replace(" → ", f"{NO_BREAK}→{NO_BREAK}").replace(" %", f"{NO_BREAK}%")


BAR_WIDTH, BAR_HEIGHT = 300, 14


def blocks_markup(blocks: Iterable[Block | Section]) -> Markup:
    """The blocks of a section; adjacent cards are placed side by side."""
    written = []
    for is_card, some in groupby(blocks, lambda each: isinstance(each, Section) and bool(each.badge)):
        parts = [block_markup(each) for each in some]
        written.append(tag("div", parts, class_="cards") if is_card else join_markup(parts))
    return join_markup(written)


def block_markup(block: Block | Section) -> Markup:
    """One block. A section within a section has a smaller heading, or is folded."""
    match block:
        case Section(folded=True):
            return tag("details", tag("summary", block.title), blocks_markup(block.blocks))
        case Section(badge=badge) if badge:
            title = tag("h3", tag("span", badge, class_="badge"), tag("span", whole_changes(block.title)))
            return tag("div", title, blocks_markup(block.blocks), class_="card")
        case Section():
            return join_markup(tag("h3", block.title) if block.title else None, blocks_markup(block.blocks))
        case Table():
            heading = tag("h3", block.title) if block.title else None
            notes = [tag("p", note, class_="note") for note in block.notes]
            return join_markup(heading, _table(block), notes)
        case Text():
            return _text(block)
        case HtmlChart():
            return join_markup(block.draw())


def _text(block: Text) -> Markup:
    match block.shape:
        case Shape.CODE:
            inside = Markup("\n".join(join_markup(whole_options(line)) for line in block.lines))
            return join_markup(tag("p", block.title) if block.title else None, tag("pre", inside))
        case Shape.LIST:
            items = [tag("li", whole_options(line)) for line in block.lines]
            if block.role and block.title:
                return tag("div", tag("b", block.title), tag("ul", items), class_=block.role)
            title = tag("p", block.title) if block.title else None
            return join_markup(title, tag("ul", items, class_=block.role or None))
        case Shape.PARAGRAPHS:
            lines = [tag("p", whole_options(line), class_=block.role or None) for line in block.lines]
            return join_markup(tag("p", block.title) if block.title else None, lines)


def _table(table: Table) -> Markup | None:
    match table.style:
        case _ if not table.rows:
            return None
        case TableStyle.TILES:
            tiles = [
                tag("div", tag("span", name), tag("b", figure), tag("small", more), class_="tile")
                for name, figure, more in (map(_cell, row) for row in table.rows)
            ]
            return tag("div", tiles, class_="tiles")
        case TableStyle.PROPERTIES:
            rows = [
                tag("tr", tag("th", _cell(name), scope="row"), tag("td", _cell(value), class_="value"))
                for name, value in table.rows
            ]
            return tag("table", rows, class_="named")
        case TableStyle.FIGURES:
            kinds = [None if table.is_words(place) else "number" for place in range(table.columns)]
            titles = [_title(table, place) for place in range(len(table.header))]
            is_wide = table.columns > NARROW
            # On a phone, each cell of a wide table has a line of its own, with the name of its column.
            names = [
                table.header[place] if is_wide and table.header and axis_of(table, place) is None else None
                for place in range(table.columns)
            ]
            head = [
                tag("th", each, class_=kind, scope="col") for each, kind in zip(titles, kinds, strict=False)
            ]
            body = [
                tag(
                    "tr",
                    [
                        tag("td", _cell(cell), class_=kind, data_name=name)
                        for cell, kind, name in zip(row, kinds, names, strict=True)
                    ],
                )
                if len(row) > 1
                else tag("tr", tag("th", _cell(row[0]), colspan=table.columns, scope="rowgroup"))
                for row in table.rows
            ]
            inside = tag(
                "table",
                tag("thead", tag("tr", head)) if head else None,
                tag("tbody", body),
                class_="wide" if is_wide else None,
            )
            return tag("div", inside, class_="scroll")


def _title(table: Table, column: int) -> Child:
    """The title of a column; for a column of bars with the ends of their axis."""
    most = axis_of(table, column)
    if most is None:
        return table.header[column]
    ends = ((0, "start", f"−{most:g} %"), (BAR_WIDTH / 2, "middle", "0"), (BAR_WIDTH, "end", f"{most:g} %"))
    labels = [tag("text", words, class_="axis", x=x, y=11, text_anchor=anchor) for x, anchor, words in ends]
    return tag("svg", labels, class_="bar", viewBox=f"0 0 {BAR_WIDTH} {BAR_HEIGHT}")


def _cell(cell: Cell) -> Child:
    match cell:
        case Bar():
            return _bar(cell)
        case Styled():
            return tag(
                "span", cell.text, tag("small", cell.note) if cell.note else None, class_=cell.role or None
            )
        case _:
            return whole_options(cell)


def _bar(bar: Bar) -> Markup:
    """A bar as SVG: an interval and its estimate on the axis of the column."""
    low, high = (-bar.most if bar.low is None else bar.low), (bar.most if bar.high is None else bar.high)
    left, right, middle, y = _x(low, bar), _x(high, bar), _x(bar.value or 0.0, bar), BAR_HEIGHT / 2
    return tag(
        "svg",
        tag("line", class_="grid", x1=BAR_WIDTH / 2, x2=BAR_WIDTH / 2, y1=-6, y2=BAR_HEIGHT + 6),
        tag("rect", x=left, y=y - 4, width=max(right - left, 1.0), height=8, rx=2, fill_opacity="0.45"),
        tag("circle", cx=middle, cy=y, r=4.5),
        class_=f"bar {bar.role}".strip(),
        viewBox=f"0 0 {BAR_WIDTH} {BAR_HEIGHT}",
        role="img",
        fill="currentColor",
    )


def _x(value: float, bar: Bar) -> float:
    return BAR_WIDTH / 2 * (1 + max(-1.0, min(1.0, value / bar.most)))


LARGE, SMALL = 1120, 490
"""Width of a chart over the whole page, and of a chart in a pair or on a phone."""


def in_both_widths(draw: Callable[[int, str], Markup]) -> Markup:
    """A chart over the whole page in both widths. The style sheet shows the one that fits the page, so that
    its letters are not scaled down.
    """
    return join_markup(draw(LARGE, "wide"), draw(SMALL, "slim"))


MOST_POINTS = 600
"""Maximum number of points of a line: more would overlap."""

SampleValue = Callable[[Sample], float | None]


class Series(NamedTuple):
    """One line of a chart: mean, minimum and maximum at each time of the axis; None is a gap."""

    name: str
    means: list[float | None]
    lows: list[float | None]
    highs: list[float | None]
    dashed: bool = False
    """True for a requested value, which is not measured."""

    @property
    def is_empty(self) -> bool:
        return all(value is None for value in self.means)

    @property
    def is_zero(self) -> bool:
        """True if all values are zero or missing."""
        return not any(self.highs)

    @property
    def highest(self) -> float:
        return max((value for value in self.highs if value is not None), default=0.0)

    @property
    def mean(self) -> float | None:
        known = [value for value in self.means if value is not None]
        return math.fsum(known) / len(known) if known else None


class TimeAxis:
    """The time axis of all charts of a run: the samples grouped in at most `MOST_POINTS` slots."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        length = max(1, math.ceil(len(samples) / MOST_POINTS))
        self._slots = [samples[start : start + length] for start in range(0, len(samples), length)]
        self.times = [slot[-1].elapsed_seconds for slot in self._slots]
        first, second = samples[0].elapsed_seconds, samples[min(1, len(samples) - 1)].elapsed_seconds
        self.start = min(first - max(second - first, 0.0), 0.0) if first > 0 else first
        self.end = max(samples[-1].elapsed_seconds, self.start + 1e-3)

    def series(self, name: str, figure: SampleValue, *, dashed: bool = False) -> Series:
        """A figure of each sample as a line."""
        columns: list[list[float]] = []
        for slot in self._slots:
            columns.append([value for value in map(figure, slot) if value is not None])
        return Series(
            name,
            [math.fsum(column) / len(column) if column else None for column in columns],
            [min(column, default=None) for column in columns],
            [max(column, default=None) for column in columns],
            dashed,
        )


def stack_series(parts: Sequence[Series]) -> list[Series]:
    """The series stacked: each one begins at the sum of those before it."""
    below = [0.0] * (len(parts[0].means) if parts else 0)
    found = []
    for part in parts:
        tops: list[float | None] = [
            None if value is None else value + base for value, base in zip(part.means, below, strict=True)
        ]
        found.append(Series(part.name, tops, list[float | None](below), tops))
        below = [base if top is None else top for top, base in zip(tops, below, strict=True)]
    return found


LEFT, RIGHT, TOP, BOTTOM = 58, 92, 24, 25
LABEL_HEIGHT = 15
SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
TIME_WIDTH = 84
"""Width of one label of the time axis."""

LOG_STEPS = (1, 2, 5)
UNSTYLED = {"fill": "none", "stroke": "currentColor"}
"""Attributes of a group of lines, for readers that block the style sheet. As attributes of a line, they would
override the colour that the line inherits from the class of its group.
"""


class ChartMark(NamedTuple):
    """A change or an experiment in a chart over time."""

    at: float
    """Seconds into the run."""
    number: int | None
    """The number of the change; None for an experiment that belongs to the change before it."""
    text: str
    end: float | None = None
    """The end of an experiment, which is drawn as a band; None for a change."""
    name: str = ""
    """The name of an experiment."""

    @property
    def label(self) -> str:
        return " ".join(filter(None, (str(self.number or ""), self.name)))


class ChartSpan(NamedTuple):
    """The time axis of a chart, in seconds into the run."""

    start: float
    end: float
    marks: Sequence[ChartMark]
    times: Sequence[float]
    """The times of the points."""


class ChartStyle(NamedTuple):
    """Size and style of a chart."""

    width: int = LARGE
    height: int = 210
    write: Callable[[float | None], str] = units.si
    """The format of values."""
    stacked: bool = False
    logarithmic: bool = False
    maximum: float | None = None
    """The end of the axis; None to derive it from the values."""
    fits: str = ""
    """`wide` or `slim` for a chart of `in_both_widths`, otherwise empty."""


class ChartScale:
    """Conversion of figures to coordinates."""

    def __init__(self, span: ChartSpan, style: ChartStyle, series: Sequence[Series]) -> None:
        self._span, self._style = span, style
        self.right, self.bottom = style.width - RIGHT, style.height - BOTTOM
        highest = max((one.highest for one in series), default=0.0)
        self._is_of_bytes = style.write is units.binary_size
        rounded = units.axis_maximum_of_bytes if self._is_of_bytes else units.axis_maximum
        self.top = style.maximum or rounded(highest)
        self.floor = 0.0
        if style.logarithmic:
            # The lower end of the axis is the power of ten below the smallest value.
            lowest = min((low for one in series for low in one.lows if low), default=self.top / 10)
            self.floor = min(10.0 ** math.floor(math.log10(lowest)), self.top / 10)
        elif not style.maximum:
            # The axis is extended if two grid lines would otherwise have the same label.
            while len({style.write(tick) for tick in self.ticks}) < len(self.ticks):
                self.top = rounded(2 * self.top)

    def x(self, seconds: float) -> float:
        span = self._span
        share = (seconds - span.start) / (span.end - span.start)
        return LEFT + min(max(share, 0.0), 1.0) * (self.right - LEFT)

    def y(self, value: float) -> float:
        if self._style.logarithmic:
            share = math.log(max(value, self.floor) / self.floor) / math.log(self.top / self.floor)
        else:
            share = value / self.top
        return self.bottom - min(max(share, 0.0), 1.0) * (self.bottom - TOP)

    @property
    def ticks(self) -> list[float]:
        """Values of the grid lines."""
        if not self._style.logarithmic:
            parts = units.axis_parts(self.top / (units.byte_unit(self.top) if self._is_of_bytes else 1))
            return [self.top * part / parts for part in range(parts + 1)]
        low, high = math.floor(math.log10(self.floor)), math.ceil(math.log10(self.top))
        steps = LOG_STEPS if high - low <= 2 else (1,)
        places = (step * 10.0**power for power in range(low, high + 1) for step in steps)
        return [place for place in places if self.floor <= place <= self.top * 1.001]


def time_chart(span: ChartSpan, style: ChartStyle, series: Sequence[Series], label: str) -> Markup:
    """The SVG; `label` is its description for screen readers."""
    scale = ChartScale(span, style, series)
    order = range(len(series), 0, -1) if style.stacked else range(1, len(series) + 1)
    return tag(
        "svg",
        _grid(scale, style),
        _warm_up(scale, span),
        _times(scale, span),
        [_drawn(scale, span, style, series[number - 1], number) for number in order],
        _marks(scale, span),
        _names(scale, series),
        tag("line", class_="cursor", x1=0, x2=0, y1=TOP, y2=scale.bottom),
        class_=f"chart {style.fits}".rstrip(),
        viewBox=f"0 0 {style.width} {style.height}",
        role="img",
        aria_label=label,
        data_left=LEFT,
        data_right=scale.right,
    )


def _grid(scale: ChartScale, style: ChartStyle) -> Markup:
    return join_markup(
        [
            [
                tag("line", class_="grid", x1=LEFT, x2=scale.right, y1=scale.y(value), y2=scale.y(value)),
                tag(
                    "text",
                    style.write(value),
                    class_="axis",
                    x=LEFT - 8,
                    y=scale.y(value) + 4,
                    text_anchor="end",
                ),
            ]
            for value in scale.ticks
        ]
    )


def _times(scale: ChartScale, span: ChartSpan) -> Markup:
    step = time_step(span.end - span.start, (scale.right - LEFT) // TIME_WIDTH)
    first = math.ceil(span.start / step) * step
    count = int((span.end - first) / step) + 1
    return join_markup(
        [
            tag(
                "text",
                units.hms(at),
                class_="axis",
                x=scale.x(at),
                y=scale.bottom + 19,
                text_anchor="middle",
            )
            for at in (first + number * step for number in range(count))
        ]
    )


def time_step(seconds: float, most: int) -> float:
    """Seconds between labels of the axis, with at most this many labels."""
    known = next((float(step) for step in SECONDS if seconds / step <= most), None)
    return known or SECONDS[-1] * math.ceil(seconds / SECONDS[-1] / most)


def _warm_up(scale: ChartScale, span: ChartSpan) -> Markup | None:
    if span.start >= 0:
        return None
    edge = scale.x(0.0)
    return join_markup(
        tag("rect", class_="warm-up", x=LEFT, y=TOP, width=edge - LEFT, height=scale.bottom - TOP),
        tag("text", "warm-up", class_="axis", x=LEFT + 5, y=TOP + 13),
    )


def _drawn(scale: ChartScale, span: ChartSpan, style: ChartStyle, one: Series, number: int) -> Markup:
    """A line with the band between its minimum and maximum; a stacked line with its area."""
    lower, upper = one.lows, one.means if style.stacked else one.highs
    band = (
        _band(scale, span, lower, upper)
        if style.stacked or any(low != high for low, high in zip(one.lows, one.highs, strict=True))
        else ""
    )
    return tag(
        "g",
        tag("path", class_="band", d=band) if band else None,
        tag(
            "path",
            class_="line dashed" if one.dashed else "line",
            d=_path(scale, span, one.means),
        ),
        class_=f"s{number}",
        **UNSTYLED,
    )


def _stretches(values: Sequence[float | None]) -> list[range]:
    """The ranges of indices without a gap."""
    edges = [-1, *(place for place, value in enumerate(values) if value is None), len(values)]
    return [range(low + 1, high) for low, high in pairwise(edges) if high - low > 1]


def _path(scale: ChartScale, span: ChartSpan, values: Sequence[float | None]) -> str:
    """The path of a line, interrupted at gaps; a single value is a dot."""
    parts = []
    for stretch in _stretches(values):
        points = [_point(scale, span, values, place) for place in stretch]
        parts.append(f"M{'L'.join(points)}" if len(points) > 1 else f"M{points[0]}h.1")
    return "".join(parts)


def _band(
    scale: ChartScale, span: ChartSpan, lower: Sequence[float | None], upper: Sequence[float | None]
) -> str:
    parts = []
    for stretch in _stretches(upper):
        there = [_point(scale, span, upper, place) for place in stretch]
        back = [_point(scale, span, lower, place) for place in reversed(stretch)]
        parts.append(f"M{'L'.join(there + back)}Z")
    return "".join(parts)


def _point(scale: ChartScale, span: ChartSpan, values: Sequence[float | None], place: int) -> str:
    return f"{scale.x(span.times[place]):.1f},{scale.y(values[place] or 0.0):.1f}"


LABEL_LETTER, LABEL_HEIGHT_HALF, LABEL_GAP = 6.6, 8.5, 2.0


def _marks(scale: ChartScale, span: ChartSpan) -> Markup:
    """A line for each change, a band for each experiment. Labels that would overlap are merged, such as
    3–7.
    """
    shown = [mark for mark in span.marks if span.start <= mark.at <= span.end]
    labels: list[list[ChartMark]] = []
    for mark in sorted(shown, key=lambda mark: mark.at):
        labels.append([mark])
        while len(labels) > 1 and _label_ends(scale, labels[-2])[1] > _label_ends(scale, labels[-1])[0]:
            last = labels.pop()
            labels[-1] += last
    return join_markup([_label(scale, each) for each in labels])


def _label_text(marks: Sequence[ChartMark]) -> str:
    if len(marks) == 1:
        return marks[0].label
    numbers = [mark.number for mark in marks if mark.number is not None]
    return "–".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else ""


def _label_ends(scale: ChartScale, marks: Sequence[ChartMark]) -> tuple[float, float]:
    """The left and the right end of the label of these marks, which is centred above them."""
    last = marks[-1].at if len(marks) > 1 or marks[0].end is None else marks[0].end
    middle = (scale.x(marks[0].at) + scale.x(last)) / 2
    half = max(LABEL_HEIGHT_HALF, LABEL_LETTER * len(_label_text(marks)) / 2 + 4) + LABEL_GAP / 2
    return middle - half, middle + half


def _label(scale: ChartScale, marks: Sequence[ChartMark]) -> Markup:
    left, right = _label_ends(scale, marks)
    left, right = left + LABEL_GAP / 2, right - LABEL_GAP / 2
    top = 2 * LABEL_HEIGHT_HALF + 1
    areas = [
        tag("rect", class_="experiment", x=x, y=top, width=scale.x(mark.end) - x, height=scale.bottom - top)
        for mark in marks
        if mark.end is not None and (x := scale.x(mark.at)) is not None
    ]
    lines = [
        tag("line", x1=scale.x(at), x2=scale.x(at), y1=top, y2=scale.bottom)
        for mark in marks
        for at in (mark.at, mark.end)
        if at is not None
    ]
    texts = (" ".join((mark.label, units.hms(mark.at), mark.text)) for mark in marks)
    return tag(
        "g",
        tag("title", "\n".join(texts)),
        areas,
        lines,
        tag("rect", x=left, y=1.5, width=right - left, height=2 * LABEL_HEIGHT_HALF, rx=LABEL_HEIGHT_HALF),
        tag("text", _label_text(marks), x=(left + right) / 2, y=14, text_anchor="middle"),
        class_="mark",
    )


def _names(scale: ChartScale, series: Sequence[Series]) -> Markup:
    """The name of each line at its end; names that would overlap are moved apart."""
    ends = [(number, one, _last(one)) for number, one in enumerate(series, 1)]
    wanted = sorted((scale.y(value), number, one.name) for number, one, value in ends if value is not None)
    placed: list[Markup] = []
    lowest = float(TOP - LABEL_HEIGHT)
    for place, (y, number, name) in enumerate(wanted):
        most = scale.bottom - LABEL_HEIGHT * (len(wanted) - 1 - place)
        lowest = min(max(y, lowest + LABEL_HEIGHT), most)
        placed.append(tag("text", name, class_=f"name n{number}", x=scale.right + 7, y=lowest + 4))
    return join_markup(placed)


def _last(one: Series) -> float | None:
    return next((value for value in reversed(one.means) if value is not None), None)
