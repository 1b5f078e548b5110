"""HTML page of a report: sections in order, charts on one time axis, embedded style and script."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import msgspec

from tuibench import sanitize
from tuibench.model.event import CHANGE_KINDS
from tuibench.record.files.run import Run
from tuibench.record.html import changes, results, setup
from tuibench.record.html.chart import ChartMark, ChartSpan
from tuibench.record.html.charts import DrawnChart, draw_charts
from tuibench.record.html.latency_chart import latency_chart
from tuibench.record.html.markup import Child, Markup, join_markup, tag
from tuibench.record.html.saturation import saturation_section
from tuibench.record.html.series import TimeAxis
from tuibench.record.html.tornado import tornado_section
from tuibench.units import count

MOST_MARKS = 60
"""Changes that are marked in the charts: the many of a screening would hide the figures."""

HINT = "All charts share one time axis; point at one to see the values of all at that time. {marks}"


def html_report(run: Run) -> str:
    """The self-contained report, ending in a newline."""
    axis = TimeAxis(run.samples) if run.samples else None
    span = _span(run, axis) if axis is not None else None
    pictures = dict(draw_charts(axis, span)) if axis is not None and span is not None else {}
    sections = [(title, body) for title, body in _sections(run, pictures) if body]
    content = tag(
        "main",
        results.report_header(run),
        results.verdict_section(run),
        results.warnings_section(run),
        tag("nav", [tag("a", title, href=f"#{_anchor(title)}") for title, _ in sections]),
        [tag("section", tag("h2", title), body, id=_anchor(title)) for title, body in sections],
        tag("p", results.report_footer(run), class_="note"),
    )
    title = f"{run.plan.plan.profile}, {run.id}"
    return html_page(title, content, _script(axis, span, pictures))


def html_page(title: str, *body: Child) -> str:
    """A page with the given body and the common style; ends in a newline."""
    page = tag("html", _head(title), tag("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _sections(run: Run, pictures: dict[str, DrawnChart]) -> Iterator[tuple[str, Markup | None]]:
    """The sections, from the main results to the commands that repeat the run."""
    yield "Screening of settings", tornado_section(run)
    yield "Over time", _charts(pictures, _hint(run))
    yield "Changes", changes.changes_section(run)
    yield "A against B", changes.ab_test_section(run)
    yield "Saturation", saturation_section(run)
    yield "Result", results.results_section(run)
    yield "Latency distribution", latency_chart(run.latencies())
    yield "Slowest transactions", results.slowest_section(run)
    yield "Analysis", results.analysis_section(run)
    yield "Environment", setup.environment_section(run)
    yield "Method", setup.method_section(run)
    yield "Commands", setup.commands_section(run)


def _charts(pictures: dict[str, DrawnChart], hint: str) -> Markup | None:
    """Large charts below each other, small ones in pairs under the names of their groups."""
    if not pictures:
        return None
    groups: dict[str, list[Markup]] = {}
    for each in pictures.values():
        groups.setdefault(each.group, []).append(each.figure)
    large = groups.pop("", [])
    small = [
        join_markup(tag("h3", name, class_="group"), tag("div", pair, class_="pair"))
        for name, pair in groups.items()
    ]
    return join_markup(tag("p", hint, class_="note screen"), large, small)


def _hint(run: Run) -> str:
    changes_made = len(_marks(run))
    if changes_made > MOST_MARKS:
        return HINT.format(
            marks=f"{count(changes_made)} changes are too many to be marked; they are listed below."
        )
    return HINT.format(marks="Numbers mark changes.")


def _marks(run: Run) -> list[ChartMark]:
    return [
        ChartMark(event.elapsed_seconds, event.marker, event.text)
        for event in run.events
        if event.kind in CHANGE_KINDS and event.marker is not None
    ]


def _span(run: Run, axis: TimeAxis) -> ChartSpan:
    marks = _marks(run)
    return ChartSpan(axis.start, axis.end, marks if len(marks) <= MOST_MARKS else [], axis.times)


def _head(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(read_resource("style.css"))),
    )


def _script(axis: TimeAxis | None, span: ChartSpan | None, pictures: dict[str, DrawnChart]) -> Markup | None:
    """The data and the script of the tooltips."""
    if axis is None or span is None:
        return None
    values = {
        "times": [round(at, 3) for at in axis.times],
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
    """A file in the folder of this module."""
    return files("tuibench.record.html").joinpath(name).read_text(encoding="utf-8")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
