"""Text table of the statements of a session."""

from tuibench.document import Table, write_text
from tuibench.model.measurements.activity import StatementFigures, StatementReport, StatementRow
from tuibench.units import DASH, count, milliseconds

COLUMNS = ("calls", "total", "avg", "p95", "rows/call", "lock/call", "CPU/call")
BEFORE = ("avg before", "p95 before")


def statements_text(report: StatementReport) -> str:
    """A line for each statement, those with the most time first; then the gaps."""
    since = f"since {report.change}" if report.change else "since statements were first requested"
    has_before = bool(report.before_seconds)
    rows = tuple(
        (*_cells(row.now), *(_before(row) if has_before else ()), row.source, row.text) for row in report.rows
    )
    table = Table(
        title=f"{report.seconds:.1f} s {since}",
        header=(*COLUMNS, *(BEFORE if has_before else ()), "source", "statement"),
        rows=rows,
        words=0,
        remarks=2,
        notes=tuple(f"{DASH} {gap}" for gap in report.gaps),
    )
    return write_text((table,)).rstrip("\n")


def _cells(figures: StatementFigures) -> tuple[str, ...]:
    calls = figures.calls
    rows = DASH if figures.rows_examined is None else f"{figures.rows_examined / calls:,.1f}"
    each = (None if value is None else value / calls for value in (figures.lock_ms, figures.cpu_ms))
    return (
        count(calls),
        milliseconds(figures.total_ms),
        milliseconds(figures.avg_ms),
        milliseconds(figures.p95_ms),
        rows,
        *map(milliseconds, each),
    )


def _before(row: StatementRow) -> tuple[str, str]:
    if row.before is None:
        return DASH, DASH
    return milliseconds(row.before.avg_ms), milliseconds(row.before.p95_ms)
