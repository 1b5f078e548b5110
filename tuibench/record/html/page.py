"""The whole report as one file: sections in their order, charts on one time axis, style and script inside."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import msgspec

from tuibench.model.event import CHANGES
from tuibench.record.html import happened, head, outcome, setting
from tuibench.record.html.chart import Mark, Span
from tuibench.record.html.charts import Drawn, drawn
from tuibench.record.html.markup import Child, Markup, joined, tag
from tuibench.record.html.saturation import saturation
from tuibench.record.html.series import Axis
from tuibench.record.html.spread import spread
from tuibench.record.run import Run

HINT = (
    "All charts share one time axis. Numbers mark changes; point at a chart to read all of them at that time."
)


def html(run: Run) -> str:
    """The report, ending in a newline. Nothing in it refers to anything outside."""
    axis = Axis(run.samples) if run.samples else None
    span = _span(run, axis) if axis is not None else None
    pictures = dict(drawn(axis, span)) if axis is not None and span is not None else {}
    told = [(title, body) for title, body in _sections(run, pictures) if body]
    content = tag(
        "main",
        head.head(run),
        head.warnings(run),
        tag("nav", [tag("a", title, href=f"#{_anchor(title)}") for title, _ in told]),
        [tag("section", tag("h2", title), body, id=_anchor(title)) for title, body in told],
        tag("p", head.note_of(run), class_="note"),
    )
    title = f"{run.plan.plan.profile}, {run.id}"
    return whole(title, content, _script(axis, span, pictures))


def whole(title: str, *body: Child) -> str:
    """A page around a body, with our style; ends in a newline."""
    page = tag("html", _head(title), tag("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _sections(run: Run, pictures: dict[str, Drawn]) -> Iterator[tuple[str, Markup | None]]:
    yield "Environment", setting.environment(run)
    yield "Method", setting.method(run)
    yield "Commands", setting.reproduction(run)
    yield "Result", outcome.results(run)
    yield "Over time", _charts(pictures)
    yield "Changes", happened.changes(run)
    yield "A against B", happened.trial(run)
    yield "Saturation", saturation(run)
    yield "Latency distribution", spread(run.latencies())
    yield "Analysis", outcome.analysed(run)


def _charts(pictures: dict[str, Drawn]) -> Markup | None:
    """Large ones below each other, small ones in pairs under the names of their groups."""
    if not pictures:
        return None
    groups: dict[str, list[Markup]] = {}
    for each in pictures.values():
        groups.setdefault(each.group, []).append(each.figure)
    large = groups.pop("", [])
    small = [
        joined(tag("h3", name, class_="group"), tag("div", pair, class_="pair"))
        for name, pair in groups.items()
    ]
    return joined(tag("p", HINT, class_="note screen"), large, small)


def _span(run: Run, axis: Axis) -> Span:
    marks = [
        Mark(event.elapsed_seconds, event.marker, event.text)
        for event in run.events
        if event.kind in CHANGES and event.marker is not None
    ]
    return Span(axis.start, axis.end, marks, axis.times)


def _head(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(resource("style.css"))),
    )


def _script(axis: Axis | None, span: Span | None, pictures: dict[str, Drawn]) -> Markup | None:
    """What the pointer reads off the charts, and how."""
    if axis is None or span is None:
        return None
    values = {
        "times": [round(at, 3) for at in axis.times],
        "start": span.start,
        "end": span.end,
        "charts": {name: each.values for name, each in pictures.items()},
    }
    text = msgspec.json.encode(values).decode().replace("</", "<\\/")
    return joined(
        tag("script", Markup(text), type="application/json", id="data"),
        tag("script", Markup(resource("script.js"))),
    )


@cache
def resource(name: str) -> str:
    """A file that stands beside this one."""
    return files("tuibench.record.html").joinpath(name).read_text(encoding="utf-8")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
