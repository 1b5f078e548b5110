"""Stacked chart of this host's CPU usage over time: server, tuibench and other programs.

A cell has two halves, so that a chart of few rows still shows the shares.
"""

from tuibench.metrics.figures import read
from tuibench.tui.chart_columns import change_markers, chart_points
from tuibench.tui.charts.history import CpuShares
from tuibench.tui.panels.host import CPU_BAR_PARTS, cpu_parts, cpu_role
from tuibench.tui.panels.plots.time_chart import AXIS_WIDTH, axis_label, cursor_column, overlay
from tuibench.tui.text import drawing
from tuibench.tui.text.spans import TextLine, TextSpan, justify, merge_cells, pad_line
from tuibench.tui.view import View
from tuibench.units import DASH, percent

HALVES = 2
STACKED = "stack-"
"""Prefix of a process group's role: its colour in the chart, dimmer than that of the figures."""
_IDLE = len(CPU_BAR_PARTS)


def cpu_chart(
    view: View, width: int, height: int, *, ascii_only: bool = False, numbered: bool = False
) -> list[TextLine]:
    """Chart from 0 to 100 % of the host; a column without data is empty. `numbered` puts the markers' numbers
    on its top row.
    """
    cell = _plain_cell if ascii_only else _cell
    columns = max(width - AXIS_WIDTH, 1)
    owners = [_owners(point.cpu if point else None, HALVES * height) for point in chart_points(view, columns)]
    changes, cursor = change_markers(view, columns), cursor_column(view, columns)
    lines: list[TextLine] = []
    for row in range(height - 1, -1, -1):
        cells = [cell(each[HALVES * row], each[HALVES * row + 1]) for each in owners]
        for column in changes:
            cells[column] = (drawing.MARKER, "muted")
        if numbered and row == height - 1:
            for start, number in drawing.marker_labels(changes, columns).items():
                cells[start : start + len(number)] = [(digit, "badge") for digit in number]
        line = merge_cells(cells)
        if cursor is not None:
            line = overlay(line, cursor, drawing.CURSOR, columns, "strong")
        label = "100 %" if row == height - 1 else "0" if row == 0 else ""
        lines.append((axis_label(label), *line))
    return lines


def cpu_figure(view: View, width: int, height: int) -> list[TextLine]:
    """Total percentage, and the share of each process group."""
    host = view.host
    if host is None:
        return [pad_line((TextSpan("CPU ", "strong"), TextSpan(DASH, "muted")), width)]
    busy = read("cpu_total", host) or 0.0
    total = TextSpan(percent(busy), cpu_role(busy))
    lines = [justify((TextSpan("CPU", "strong"),), (total,), width - 2)]
    for (name, glyph, role), value in zip(CPU_BAR_PARTS, cpu_parts(host), strict=True):
        written = TextSpan(DASH if value is None else f"{value:.0f}", "")
        lines.append(justify((TextSpan(f"{glyph} ", role), TextSpan(name, "muted")), (written,), width - 4))
    return [pad_line(line, width) for line in lines[:height]]


def _owners(shares: CpuShares | None, halves: int) -> list[int]:
    """Process group of each half row, from the bottom; a share that rounds to zero is not shown."""
    if shares is None:
        return [_IDLE] * halves
    runs = drawing.share_runs([(share, str(owner)) for owner, share in enumerate(shares)], halves, str(_IDLE))
    return [int(owner) for owner in "".join(runs)]


def _cell(lower: int, upper: int) -> tuple[str, str]:
    """Glyph and role of a cell: an idle half is empty; two groups share a cell by its two colours."""
    if lower == upper:
        return (" ", "") if lower == _IDLE else ("█", STACKED + _ROLES[lower])
    if upper == _IDLE:
        return "▄", STACKED + _ROLES[lower]
    return "▄", f"{STACKED}{_ROLES[upper]}+{STACKED}{_ROLES[lower]}"


def _plain_cell(lower: int, upper: int) -> tuple[str, str]:
    """Glyph and role of an ASCII cell, which shows its lower half."""
    return (" ", "") if lower == _IDLE else (CPU_BAR_PARTS[lower][1], STACKED + _ROLES[lower])


_ROLES = tuple(role for _, _, role in CPU_BAR_PARTS)
