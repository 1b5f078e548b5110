"""Statements panel: those that took the most server time, now and before the last change."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.metrics.inference.messages import brief_change
from tuibench.model.measurements.activity import StatementFigures, StatementReport, StatementRow
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line, shorten, wrap_text
from tuibench.tui.view import View
from tuibench.units import DASH, count, milliseconds, si

_SOURCE = 9
_LEAST_TEXT = 24
_SHORT_MS = 0.1


class _Column(NamedTuple):
    """One figure: heading, width, and text; `seconds` is the length of the span."""

    title: str
    width: int
    write: Callable[[StatementFigures, float], str]


def _share(figures: StatementFigures, seconds: float) -> str:
    """Statement time per second: the average number of concurrent executions."""
    return f"{figures.total_ms / 1000 / seconds:.2f}" if seconds else DASH


def _per_second(figures: StatementFigures, seconds: float) -> str:
    return si(figures.calls / seconds).replace(" ", "") if seconds else DASH


def _each(value: float | None, figures: StatementFigures) -> float | None:
    return None if value is None else value / figures.calls


def _duration(ms: float | None) -> str:
    """A time per call, in microseconds if it is short."""
    return milliseconds(ms) if ms is None or ms >= _SHORT_MS or not ms else f"{ms * 1000:.3g} µs"


def _rows_each(figures: StatementFigures, _: float) -> str:
    each = _each(figures.rows_examined, figures)
    return DASH if each is None else count(each) if each >= 10 else f"{each:.1f}"


MOST_NEEDED = (
    _Column("load", 7, _share),
    _Column("calls/s", 9, _per_second),
    _Column("avg", 10, lambda figures, _: _duration(figures.avg_ms)),
    _Column("p95", 10, lambda figures, _: _duration(figures.p95_ms)),
)
FURTHER = (
    _Column("rows/call", 12, _rows_each),
    _Column("lock/call", 12, lambda figures, _: _duration(_each(figures.lock_ms, figures))),
    _Column("CPU/call", 12, lambda figures, _: _duration(_each(figures.cpu_ms, figures))),
)
BEFORE = (
    _Column("calls/s", 9, _per_second),
    _Column("avg", 10, lambda figures, _: _duration(figures.avg_ms)),
    _Column("p95", 10, lambda figures, _: _duration(figures.p95_ms)),
)
"""Columns of the span before a change."""


def statements_panel(view: View, width: int, height: int) -> list[TextLine]:
    """Title, heading, one row per statement, and a note on unreadable data."""
    report = view.statements
    if report is None:
        waiting = TextSpan("  reading the statements …", "muted")
        return [pad_line((TextSpan("STATEMENTS", "title"), waiting), width)]
    gaps = [(TextSpan(line, "muted"),) for gap in report.gaps for line in wrap_text(f"{DASH} {gap}", width)]
    columns, before = _columns(report, width)
    rows = [_row(row, report, columns, before, width) for row in report.rows]
    if not rows:
        rows = [(TextSpan("no statements in this span yet", "muted"),)]
    room = max(height - 3 - len(gaps), 1)
    lines = [_title(report, width), _heading(report, columns, before), *rows[:room], (), *gaps]
    return [pad_line(line, width) for line in lines][:height]


def _title(report: StatementReport, width: int) -> TextLine:
    head, room = f"  by time on the server, {report.seconds:.0f} s since ", width - len("STATEMENTS")
    since = brief_change(report.change, room - len(head)) if report.change else "the first request"
    return (TextSpan("STATEMENTS", "title"), TextSpan(shorten(head + since, room), "muted"))


def _columns(report: StatementReport, width: int) -> tuple[tuple[_Column, ...], tuple[_Column, ...]]:
    """The columns that fit beside a readable text; those of the span before a change precede further ones."""
    chosen, before = list(MOST_NEEDED), BEFORE if report.before_seconds else ()
    room = width - _LEAST_TEXT - _SOURCE - sum(column.width for column in chosen)
    if before and room >= sum(column.width for column in before) + 2:
        room -= sum(column.width for column in before) + 2
    else:
        before = ()
    for column in FURTHER:
        if room >= column.width:
            chosen.append(column)
            room -= column.width
    return tuple(chosen), before


def _heading(report: StatementReport, columns: tuple[_Column, ...], before: tuple[_Column, ...]) -> TextLine:
    """Column names; those of the span before a change begin with a bar."""
    now = "".join(f"{column.title:>{column.width}}" for column in columns)
    earlier = "".join(f"{column.title:>{column.width}}" for column in before)
    bar = f" │{earlier}  ← the {report.before_seconds:.0f} s before" if before else ""
    return (TextSpan(f"{now}{bar if before else ''}", "muted"),)


def _row(
    row: StatementRow,
    report: StatementReport,
    columns: tuple[_Column, ...],
    before: tuple[_Column, ...],
    width: int,
) -> TextLine:
    now = "".join(f"{column.write(row.now, report.seconds):>{column.width}}" for column in columns)
    line: TextLine = (TextSpan(now, "strong"),)
    if before:
        cells = "".join(
            f"{column.write(row.before, report.before_seconds) if row.before else DASH:>{column.width}}"
            for column in before
        )
        line = (*line, TextSpan(f" │{cells}", "muted"))
    taken = sum(len(span.text) for span in line)
    source = f"  {row.source:<{_SOURCE - 2}} "
    return (
        *line,
        TextSpan(source, "muted"),
        TextSpan(shorten(row.text, max(width - taken - len(source), 1))),
    )
