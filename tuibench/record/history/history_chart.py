"""SVG chart of the history of a plan: a point for each run, the levels between changes, the regression.

A self-contained SVG file for browsers and wikis.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean

from tuibench.metrics.figures import Better, figure_named
from tuibench.model.results.comparison import History, LevelChange
from tuibench.record.history.history import scale_of
from tuibench.record.history.history_text import change_text
from tuibench.record.html.markup import Markup, tag
from tuibench.units import axis_maximum, local_time

WIDTH, HEIGHT = 960, 360
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 56, 40
RULES = 4
STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #444; }
    .title { font-size: 16px; font-weight: 600; fill: #111; }
    .rule { stroke: #ddd; } .run { fill: #2563eb; } .level { stroke: #111; stroke-width: 2; }
    .change { stroke-dasharray: 4 3; }
    .worse { fill: #b91c1c; stroke: none; } line.worse { stroke: #b91c1c; }
    .better { fill: #15803d; stroke: none; } line.better { stroke: #15803d; }
"""


def history_chart(found: History) -> str:
    """The SVG, ending in a newline. A history without runs is a title with the reason."""
    children = [
        tag("style", Markup(STYLE)),
        tag("rect", width=WIDTH, height=HEIGHT, fill="#fff"),
        tag("text", _title(found), x=LEFT, y=26, class_="title"),
        *(_drawn(found) if found.runs else ()),
    ]
    box = f"0 0 {WIDTH} {HEIGHT}"
    picture = tag(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=box,
        width=WIDTH,
        height=HEIGHT,
        role="img",
    )
    return f"{picture}\n"


def _title(found: History) -> str:
    title = f"{found.profile}: {figure_named(found.figure).title} of {len(found.runs)} runs"
    return f"{title}; {found.note}" if found.note else title


def _drawn(found: History) -> Iterator[Markup]:
    top = axis_maximum(max(run.value for run in found.runs))
    yield from _rules(found, top)
    places = _change_places(found)
    yield from _levels(found, [0, *places, len(found.runs)], top)
    for place, run in enumerate(found.runs):
        words = f"{run.run}: {figure_named(found.figure).text(run.value)}"
        x, y = _x(found, place), _y(run.value, top)
        yield tag("circle", tag("title", words), cx=x, cy=y, r=4.0, class_="run")
    for change, place in zip(found.changes, places, strict=True):
        yield from _mark(found, place, change, change_text(change, found))
    if found.regression is not None:
        place = _place_of(found, found.regression.run)
        text = f"regression {change_text(found.regression, found)}"
        yield from _mark(found, place, found.regression, text, lower=True)


def _rules(found: History, top: float) -> Iterator[Markup]:
    for number in range(RULES + 1):
        value = top * number / RULES
        y = _y(value, top)
        yield tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="rule")
        label = figure_named(found.figure).text(value) if value else "0"
        yield tag("text", label, x=LEFT - 8, y=y + 4, text_anchor="end")
    ends = ((0, "start"), (len(found.runs) - 1, "end"))
    for place, anchor in ends[: len(found.runs)]:
        words = local_time(found.runs[place].started_at)
        yield tag("text", words, x=_x(found, place), y=HEIGHT - 14, text_anchor=anchor)


def _levels(found: History, edges: Sequence[int], top: float) -> Iterator[Markup]:
    """The mean of each stretch without a change, on the scale of the history."""
    scale = scale_of(found.runs)
    for start, end in pairwise(edges):
        level = scale.level(fmean(scale(run.value) for run in found.runs[start:end]))
        y = _y(level, top)
        yield tag("line", x1=_x(found, start), x2=_x(found, end - 1), y1=y, y2=y, class_="level")


def _mark(
    found: History, place: int, change: LevelChange, text: str, *, lower: bool = False
) -> Iterator[Markup]:
    is_better = (change.after > change.before) is (figure_named(found.figure).better is Better.HIGHER)
    name, x = "better" if is_better else "worse", _x(found, place)
    at_the_end = x > WIDTH / 2
    yield tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_=f"change {name}")
    yield tag(
        "text",
        text,
        x=x - 6 if at_the_end else x + 6,
        y=TOP + (28 if lower else 12),
        text_anchor="end" if at_the_end else "start",
        class_=name,
    )


def _change_places(found: History) -> list[int]:
    return [_place_of(found, change.run) for change in found.changes]


def _place_of(found: History, run: str) -> int:
    return next(place for place, each in enumerate(found.runs) if each.run == run)


def _x(found: History, place: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (place + 0.5) / len(found.runs)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top
