"""HTML as a text type that escapes everything that is not markup, and the HTML of a document's blocks."""

from collections.abc import Iterable
from html import escape
from itertools import groupby

from tuibench import sanitize
from tuibench.document import (
    Bar,
    Block,
    Cell,
    Chart,
    Section,
    Shape,
    Styled,
    Table,
    TableStyle,
    Text,
    axis_of,
)

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


NARROW = 3
"""A table with more columns is as wide as the page."""

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


BAR_WIDTH, BAR_HEIGHT = 300, 14


def blocks_markup(blocks: Iterable[Block | Section]) -> Markup:
    """Blocks within a section; cards that follow each other stand side by side."""
    written = []
    for is_card, some in groupby(blocks, lambda each: isinstance(each, Section) and bool(each.badge)):
        parts = [block_markup(each) for each in some]
        written.append(tag("div", parts, class_="cards") if is_card else join_markup(parts))
    return join_markup(written)


def block_markup(block: Block | Section) -> Markup:
    """One block: a section within a section has a smaller heading, or is folded."""
    match block:
        case Section(folded=True):
            return tag("details", tag("summary", block.title), blocks_markup(block.blocks))
        case Section(badge=badge) if badge:
            title = tag("h3", tag("span", badge, class_="badge"), tag("span", block.title))
            return tag("div", title, blocks_markup(block.blocks), class_="card")
        case Section():
            return join_markup(tag("h3", block.title) if block.title else None, blocks_markup(block.blocks))
        case Table():
            heading = tag("h3", block.title) if block.title else None
            notes = [tag("p", note, class_="note") for note in block.notes]
            return join_markup(heading, _table(block), notes)
        case Text():
            return _text(block)
        case Chart():
            return join_markup(block.draw())


def _text(block: Text) -> Markup:
    match block.shape:
        case Shape.CODE:
            inside = Markup("\n".join(join_markup(line) for line in block.lines))
            return join_markup(tag("p", block.title) if block.title else None, tag("pre", inside))
        case Shape.LIST:
            items = [tag("li", line) for line in block.lines]
            if block.role and block.title:
                return tag("div", tag("b", block.title), tag("ul", items), class_=block.role)
            title = tag("p", block.title) if block.title else None
            return join_markup(title, tag("ul", items, class_=block.role or None))
        case Shape.PARAGRAPHS:
            lines = [tag("p", line, class_=block.role or None) for line in block.lines]
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
            head = [
                tag("th", each, class_=kind, scope="col") for each, kind in zip(titles, kinds, strict=False)
            ]
            body = [
                tag(
                    "tr", [tag("td", _cell(cell), class_=kind) for cell, kind in zip(row, kinds, strict=True)]
                )
                if len(row) > 1
                else tag("tr", tag("th", _cell(row[0]), colspan=table.columns, scope="rowgroup"))
                for row in table.rows
            ]
            is_wide = "wide" if table.columns > NARROW else None
            inside = tag(
                "table", tag("thead", tag("tr", head)) if head else None, tag("tbody", body), class_=is_wide
            )
            return tag("div", inside, class_="scroll")


def _title(table: Table, column: int) -> Child:
    """The title of a column; the ends of the axis for one of bars."""
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
            return cell


def _bar(bar: Bar) -> Markup:
    """The interval with its estimate on the axis of the column."""
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
