"""SVG chart over time: axis from zero, gaps, a numbered line for each change, labels at line ends."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench import units
from tuibench.record.html.markup import Markup, join_markup, tag
from tuibench.record.html.series import Series

LEFT, RIGHT, TOP, BOTTOM = 58, 92, 24, 22
LABEL_HEIGHT = 13
SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
TIME_WIDTH = 84
"""Width of one label of the time axis."""

LOG_STEPS = (1, 2, 5)
UNSTYLED = {"fill": "none", "stroke": "currentColor"}
"""For a group of lines where the style sheet is blocked. On a line itself, it would override the colour that
the line inherits from the class of its group."""


class ChartMark(NamedTuple):
    """A change: its time, number and text."""

    at: float
    number: int
    text: str


class ChartSpan(NamedTuple):
    """The time axis: its ends, the start of measuring, and the changes."""

    start: float
    end: float
    marks: Sequence[ChartMark]
    times: Sequence[float]


class ChartStyle(NamedTuple):
    """Style of a chart: size, format of values, stacked, logarithmic."""

    width: int = 1000
    height: int = 210
    write: Callable[[float | None], str] = units.si
    stacked: bool = False
    logarithmic: bool = False
    maximum: float | None = None


class ChartScale:
    """Conversion of figures to coordinates."""

    def __init__(self, span: ChartSpan, style: ChartStyle, series: Sequence[Series]) -> None:
        self._span, self._style = span, style
        self.right, self.bottom = style.width - RIGHT, style.height - BOTTOM
        highest = max((one.highest for one in series), default=0.0)
        self.top = style.maximum or units.axis_maximum(highest)
        self.floor = _floor(series, self.top) if style.logarithmic else 0.0

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
            parts = units.axis_parts(self.top)
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
        class_="chart",
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
                y=scale.bottom + 16,
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
    """A line with the band between its lowest and highest values, or the area of a stacked one."""
    lower, upper = one.lows, one.means if style.stacked else one.highs
    band = _band(scale, span, lower, upper) if style.stacked or _has_band(one) else ""
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


def _has_band(one: Series) -> bool:
    return any(low != high for low, high in zip(one.lows, one.highs, strict=True))


def _stretches(values: Sequence[float | None]) -> list[range]:
    """The coordinates of values without a gap between them."""
    edges = [-1, *(place for place, value in enumerate(values) if value is None), len(values)]
    return [range(low + 1, high) for low, high in pairwise(edges) if high - low > 1]


def _path(scale: ChartScale, span: ChartSpan, values: Sequence[float | None]) -> str:
    """One line for each stretch; a single value is a dot."""
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


def _marks(scale: ChartScale, span: ChartSpan) -> Markup:
    return join_markup([_mark(scale, mark) for mark in span.marks if span.start <= mark.at <= span.end])


def _mark(scale: ChartScale, mark: ChartMark) -> Markup:
    x = scale.x(mark.at)
    return tag(
        "g",
        tag("title", f"{units.hms(mark.at)} {mark.text}"),
        tag("line", x1=x, x2=x, y1=18, y2=scale.bottom),
        tag("circle", cx=x, cy=10, r=8.5),
        tag("text", str(mark.number), x=x, y=14, text_anchor="middle"),
        class_="mark",
    )


def _names(scale: ChartScale, series: Sequence[Series]) -> Markup:
    """Each line's name at its end, moved apart where they would overlap."""
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


def _floor(series: Sequence[Series], top: float) -> float:
    """The lower end of a logarithmic axis: the power of ten below the smallest value."""
    lowest = min((low for one in series for low in one.lows if low), default=top / 10)
    return min(10.0 ** math.floor(math.log10(lowest)), top / 10)
