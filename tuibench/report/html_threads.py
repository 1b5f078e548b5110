"""SVG chart of a figure against threads: a line for each variant of a sweep, with 95 % intervals.

The numbers of threads are at equal distances, whatever their values.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench import units
from tuibench.model.findings import Mean
from tuibench.report.html_chart import UNSTYLED, Markup, join_markup, tag

LARGE, SMALL = 1000, 490
"""Widths of a chart over the whole page, and of one of a pair."""

HEIGHT = 230
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 14, 24
DOT, WHISKER = 3, 4
COLOURS = 6
"""Number of colours in the stylesheet; further lines repeat them."""


class ThreadsLine(NamedTuple):
    """The figures of one variant, by threads; a missing number of threads is a gap."""

    name: str
    means: Mapping[int, Mean]


class ThreadsScale(NamedTuple):
    """Conversion of figures to coordinates."""

    width: int
    threads: Sequence[int]
    top: float

    @property
    def right(self) -> int:
        return self.width - RIGHT

    def x(self, threads: int) -> float:
        step = (self.right - LEFT) / max(1, len(self.threads))
        return LEFT + step * (self.threads.index(threads) + 0.5)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - min(max(value / self.top, 0.0), 1.0) * (HEIGHT - BOTTOM - TOP)


def threads_chart(
    title: str,
    threads: Sequence[int],
    lines: Sequence[ThreadsLine],
    write: Callable[[float | None], str] = units.si,
    *,
    width: int = LARGE,
) -> Markup:
    """The chart with its title and legend."""
    place = ThreadsScale(width, threads, units.axis_maximum(max(map(_highest, lines), default=0.0)))
    parts = units.axis_parts(place.top)
    picture = tag(
        "svg",
        [_grid(place, place.top * part / parts, write) for part in range(parts + 1)],
        [_label(place, each) for each in threads],
        [_line(place, line, colour(number)) for number, line in enumerate(lines)],
        viewBox=f"0 0 {width} {HEIGHT}",
        role="img",
        aria_label=f"{title} against threads",
    )
    key = [
        tag("span", tag("i"), line.name, class_=f"key n{colour(number)}") for number, line in enumerate(lines)
    ]
    return tag("figure", tag("figcaption", tag("b", title), tag("span", "by threads"), key), picture)


def colour(number: int) -> int:
    """The number of a line's colour in the stylesheet, from 0."""
    return number % COLOURS + 1


def _highest(line: ThreadsLine) -> float:
    return max((_edges(mean)[1] for mean in line.means.values()), default=0.0)


def _edges(mean: Mean) -> tuple[float, float]:
    """The ends of the interval; one wider than the mean itself would flatten the chart, and is cut there."""
    half = min(mean.half_width or 0.0, mean.mean)
    return mean.mean - half, mean.mean + half


def _grid(place: ThreadsScale, value: float, write: Callable[[float | None], str]) -> Markup:
    y = place.y(value)
    return join_markup(
        tag("line", class_="grid", x1=LEFT, x2=place.right, y1=y, y2=y),
        tag("text", write(value), class_="axis", x=LEFT - 8, y=y + 4, text_anchor="end"),
    )


def _label(place: ThreadsScale, threads: int) -> Markup:
    return tag(
        "text", str(threads), class_="axis", x=place.x(threads), y=HEIGHT - BOTTOM + 16, text_anchor="middle"
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
    """The mean as a dot, its interval as a line with ends."""
    mean, x = line.means[threads], place.x(threads)
    low, high = (place.y(edge) for edge in _edges(mean))
    whisker = f"M{x:.1f},{low:.1f}V{high:.1f}M{x - WHISKER:.1f},{low:.1f}h8M{x - WHISKER:.1f},{high:.1f}h8"
    width = "" if mean.half_width is None else f" ± {mean.half_width:.4g}"
    return join_markup(
        tag("path", class_="line", d=whisker) if mean.half_width else None,
        tag(
            "circle",
            tag("title", f"{line.name}, {threads} threads: {mean.mean:.4g}{width}"),
            class_=f"dot n{number}",
            cx=x,
            cy=place.y(mean.mean),
            r=DOT,
        ),
    )
