"""HTML as a text type that escapes everything that is not markup, and tables of a report."""

from collections.abc import Iterable, Sequence
from html import escape

from tuibench import sanitize

Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Markup | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element. `class_` is `class`, other underscores are hyphens; None and False are omitted."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    inside = join_markup(*children)
    if not children and name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{inside}</{name}>")


def join_markup(*children: Child) -> Markup:
    """Concatenate several pieces."""
    return Markup("".join(_piece(child) for child in children))


def code_block(lines: Iterable[str]) -> Markup:
    """Preformatted lines, each sanitised; a newline within a `Child` would be escaped."""
    return tag("pre", Markup("\n".join(join_markup(line) for line in lines)))


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


Cells = Sequence[Child]


def property_table(rows: Iterable[tuple[str, str]]) -> Markup:
    """A table of names and values; rows without a value are omitted."""
    return tag(
        "table",
        [
            tag("tr", tag("th", name, scope="row"), tag("td", value, class_="value"))
            for name, value in rows
            if value
        ],
        class_="named",
    )


def figure_table(
    heading: Sequence[str], rows: Iterable[Cells], *, words: int = 1, wide: bool = True
) -> Markup:
    """A table of figures, aligned to the right; the first `words` columns are words."""
    kinds = [None if place < words else "number" for place in range(len(heading))]
    head = [tag("th", title, class_=kind, scope="col") for title, kind in zip(heading, kinds, strict=True)]
    body = [
        tag("tr", [tag("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)])
        for row in rows
    ]
    table = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="wide" if wide else None)
    return tag("div", table, class_="scroll")
