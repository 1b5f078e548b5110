"""Tables of a report: of two columns with names, or of rows with figures."""

from collections.abc import Iterable, Sequence

from tuibench.record.html.markup import Child, Markup, tag

Cells = Sequence[Child]


def named(rows: Iterable[tuple[str, str]]) -> Markup:
    """What is what; rows without a value are left out."""
    return tag(
        "table",
        [
            tag("tr", tag("th", name, scope="row"), tag("td", value, class_="value"))
            for name, value in rows
            if value
        ],
        class_="named",
    )


def figures(heading: Sequence[str], rows: Iterable[Cells], *, words: int = 1, wide: bool = True) -> Markup:
    """Figures in columns, to the right; the first `words` columns are words."""
    kinds = [None if place < words else "number" for place in range(len(heading))]
    head = [tag("th", title, class_=kind, scope="col") for title, kind in zip(heading, kinds, strict=True)]
    body = [
        tag("tr", [tag("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)])
        for row in rows
    ]
    table = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="wide" if wide else None)
    return tag("div", table, class_="scroll")
