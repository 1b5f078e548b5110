"""Draws the charts of a report: each with its caption, its names and what the pointer reads off it.

A chart with nothing but gaps is left out; so is one of mishaps when there were none.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tuibench.record.html.chart import Look, Span, chart
from tuibench.record.html.markup import Markup, tag
from tuibench.record.html.plots import PLOTS, Line, Plot
from tuibench.record.html.series import Axis, Series, stacked

MEAN = "on average"


class Drawn(NamedTuple):
    """A chart that is there: its picture with its caption, and what the pointer reads off it."""

    figure: Markup
    group: str
    values: list[list[str]]


def drawn(axis: Axis, span: Span) -> Iterator[tuple[str, Drawn]]:
    """Every chart that there is something to see in, by its id."""
    for plot in PLOTS:
        lines = [_series(axis, line) for line in plot.lines]
        series = [one for one in lines if not one.is_empty]
        if not series or (plot.rare and all(one.is_zero for one in series)):
            continue
        yield plot.id, _one(plot, series, span)


def _series(axis: Axis, line: Line) -> Series:
    if line.growth_of:
        return axis.growth(line.name, line.growth_of)
    return axis.series(line.name, line.figure, dashed=line.dashed)


def _one(plot: Plot, series: Sequence[Series], span: Span) -> Drawn:
    shown = stacked(series) if plot.stacked else series
    look = Look(
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
    return Drawn(
        tag("figure", caption, chart(span, look, shown, label), id=plot.id),
        plot.group,
        [[plot.write(value) for value in one.means] for one in series],
    )
