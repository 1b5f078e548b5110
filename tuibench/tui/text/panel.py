"""Panels written from a document: tables with bars as wide as the panel, and wrapped text."""

from collections.abc import Sequence

from tuibench.document import Bar, Cell, Styled, Table, axis_of, axis_text, bar_text
from tuibench.tui.text.spans import TextLine, TextSpan, shorten, wrap_text

ROLES = {"better": "ok", "worse": "risk", "soft": "muted", "doubt": "warn"}
"""The screen's roles for those of a document; others have one name in both."""
MIN_BAR, MAX_BAR = 15, 101


def table_lines(table: Table, widths: Sequence[int], width: int) -> list[TextLine]:
    """The rows of a table in columns of these widths; that of bars, 0, takes the room that is left.

    A row of one cell is a heading, and the first has the axis of the bars.
    """
    room = width - sum(widths) - len(widths) - 2
    cells_wide = (max(MIN_BAR, min(MAX_BAR, room)) - 1) // 2 * 2 + 1
    columns = [each or cells_wide for each in widths]
    most = next((most for place in range(len(widths)) if (most := axis_of(table, place))), None)
    lines: list[TextLine] = []
    for row in table.rows:
        if len(row) > 1:
            spans = (
                _span(cell, size, place, row)
                for place, (cell, size) in enumerate(zip(row, columns, strict=False))
            )
            lines.append((TextSpan("   "), *spans))
        else:
            axis = axis_text(most, cells_wide) if most and not lines else ""
            title = _span(row[0], columns[0] + 2, 0, row)
            lines.append((TextSpan(" "), title, TextSpan(axis, "muted")))
    return lines


def _span(cell: Cell, size: int, place: int, row: Sequence[Cell]) -> TextSpan:
    """A cell in its column, followed by a blank; the last of a row takes what it needs."""
    if isinstance(cell, Bar):
        return TextSpan(f"{bar_text(cell, size)} ", ROLES.get(cell.role, cell.role))
    text, role = (cell.text, cell.role) if isinstance(cell, Styled) else (cell, "")
    shown = text if place == len(row) - 1 and place else f"{shorten(text, size):<{size}} "
    return TextSpan(shown, ROLES.get(role, role))


def text_lines(lines: Sequence[str], width: int, role: str = "") -> list[TextLine]:
    """Sentences wrapped to the width; an indented one stays so, and is of less weight."""
    written: list[TextLine] = []
    for line in lines:
        indent = "  " if line.startswith("  ") else ""
        own = "muted" if indent else role
        written += [(TextSpan(indent + part, own),) for part in wrap_text(line, width - len(indent))]
    return written
