"""Panels written from a document: tables with bars as wide as the panel, and wrapped text."""

from collections.abc import Sequence

from tuibench.document import Bar, Cell, Styled, Table, axis_of, axis_text, bar_text
from tuibench.tui.text.spans import TextLine, TextSpan, shorten, wrap_text

ROLES = {"better": "ok", "worse": "risk", "soft": "muted", "doubt": "warn"}
"""The screen's roles for those of a document; others have one name in both."""
MIN_BAR, MAX_BAR = 15, 101


def table_lines(table: Table, name_width: int, rest_width: int, width: int) -> list[TextLine]:
    """The rows of a table whose second column has bars: names, bars in the room that is left, the rest.

    A row of one cell is a heading, and the first has the axis of the bars.
    """
    cells_wide = (max(MIN_BAR, min(MAX_BAR, width - name_width - rest_width)) - 1) // 2 * 2 + 1
    most = axis_of(table, 1)
    lines: list[TextLine] = []
    for name, *cells in table.rows:
        title = _span(name, cells_wide)
        if cells:
            shown = f"   {shorten(title.text, name_width):<{name_width}} "
            lines.append((title._replace(text=shown), *(_span(each, cells_wide) for each in cells)))
        else:
            axis = axis_text(most, cells_wide) if most and not lines else ""
            shown = f" {title.text:<{name_width + 2}} "
            lines.append((title._replace(text=shown), TextSpan(axis, "muted")))
    return lines


def _span(cell: Cell, cells_wide: int) -> TextSpan:
    """A cell; an empty one is as wide as a bar."""
    match cell:
        case Bar():
            return TextSpan(bar_text(cell, cells_wide), ROLES.get(cell.role, cell.role))
        case Styled():
            return TextSpan(cell.text, ROLES.get(cell.role, cell.role))
        case _:
            return TextSpan(cell or " " * (cells_wide + 1))


def text_lines(lines: Sequence[str], width: int, role: str = "") -> list[TextLine]:
    """Sentences wrapped to the width; an indented one stays so, and is of less weight."""
    written: list[TextLine] = []
    for line in lines:
        indent = "  " if line.startswith("  ") else ""
        own = "muted" if indent else role
        written += [(TextSpan(indent + part, own),) for part in wrap_text(line, width - len(indent))]
    return written
