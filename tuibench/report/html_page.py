"""HTML page of a document: embedded style, an index of its sections, a script for the tooltips of charts."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec

from tuibench import sanitize
from tuibench.document import Document
from tuibench.report.html_chart import ChartSpan, Child, Markup, block_markup, blocks_markup, join_markup, tag
from tuibench.report.html_plots import DrawnChart


def document_page(document: Document, script: Markup | None = None, *, title: str = "") -> str:
    """The self-contained page, ending in a newline; `title` is that of the browser's window."""
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
    page = tag("html", _head(title), tag("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _head(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(read_resource("style.css"))),
    )


def tooltip_script(times: Sequence[float], span: ChartSpan, pictures: dict[str, DrawnChart]) -> Markup:
    """The data and the script of the tooltips."""
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
    """A file in the folder of this module."""
    return files("tuibench.report").joinpath(name).read_text(encoding="utf-8")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
