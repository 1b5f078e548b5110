"""Text table of the statements of a session."""

from collections.abc import Iterator

from tuibench import sanitize
from tuibench.model.measurements.activity import StatementFigures, StatementReport, StatementRow
from tuibench.units import DASH, count, milliseconds

COLUMNS = ("calls", "total", "avg", "p95", "rows/call", "lock/call", "CPU/call")
BEFORE = ("avg before", "p95 before")
WIDTH = 12


def statements_text(report: StatementReport) -> str:
    """A line for each statement, those with the most time first; then the gaps."""
    lines = [*_lines(report), *(f"{DASH} {gap}" for gap in report.gaps)]
    return "\n".join(sanitize.text(line) for line in lines)


def _lines(report: StatementReport) -> Iterator[str]:
    since = f"since {report.change}" if report.change else "since statements were first requested"
    yield f"{report.seconds:.1f} s {since}"
    names = (*COLUMNS, *(BEFORE if report.before_seconds else ()))
    yield "".join(f"{name:>{WIDTH}}" for name in names) + "  source    statement"
    for row in report.rows:
        cells = (*_cells(row.now), *(_before(row) if report.before_seconds else ()))
        yield "".join(f"{cell:>{WIDTH}}" for cell in cells) + f"  {row.source:<8}  {row.text}"


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
