"""Latency table: all transactions, each kind of transaction, each statement; now and in the last minute.

Rows keep their order from sample to sample. COMMIT is the first statement, so that it is always visible.
"""

from typing import NamedTuple

from tuibench.diagnosis.indicators import COMMIT
from tuibench.model.histogram import Latency
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import RESPONSE, STATEMENT, TRANSACTION
from tuibench.tui.panels.load.measures import big_latency, big_rate
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line, shorten
from tuibench.tui.view import View
from tuibench.units import DASH

_NAME = 22
_COLUMNS = (
    ("per s", 8),
    ("of time", 9),
    ("p50", 9),
    ("p95", 9),
    ("p99", 9),
    ("max", 9),
    ("p99 of 1 min", 15),
)

BEGIN = "begin"
"""The statement of the last row: it does no work."""


class LatencyGroup(NamedTuple):
    """Operations whose times add up to a total, of which each has a share: the histograms of a prefix."""

    prefix: str
    title: str
    role: str


class LatencyRow(NamedTuple):
    """One operation: latencies in the newest sample, percentage of the time, and highest p99 of the last
    minute.
    """

    name: str
    role: str
    now: Latency | None
    share: float | None
    worst_p99: float


LATENCY_GROUPS = (
    LatencyGroup(RESPONSE, "", "strong"),
    LatencyGroup(TRANSACTION, "transaction ", ""),
    LatencyGroup(STATEMENT, "", "muted"),
)


def _why_nothing(view: View) -> str:
    """Why the table is empty; some servers record no statement times."""
    if view.sample is None:
        return "waiting for the first sample"
    if view.sample.traffic is not None and (note := view.sample.traffic.missing.get("latency")):
        return f"no percentiles: {note}"
    return "no transaction finished in the last minute"


def latency_table(view: View, width: int, height: int) -> list[TextLine]:
    """Heading and as many rows as fit, with the number of the remaining ones."""
    rows = [row for group in LATENCY_GROUPS for row in _latency_rows(view, group)]
    if not rows:
        silent = _why_nothing(view)
        return [
            pad_line(_table_heading(width), width),
            pad_line((TextSpan(f"{DASH} {silent}", "muted"),), width),
        ][:height]
    seconds = view.throughput.seconds if view.throughput else 1.0
    room = height - 1
    lines = [_row_line(row, seconds, width) for row in rows[:room]]
    if len(rows) > room and lines:
        lines[-1] = (TextSpan(f"… and {len(rows) - room + 1} more", "muted"),)
    return [pad_line(line, width) for line in (_table_heading(width), *lines)][:height]


def latency_table_height(view: View) -> int:
    """Height in lines in which no row is left out."""
    rows = sum(len(_latency_rows(view, group)) for group in LATENCY_GROUPS)
    return 1 + max(rows, 1)


def _latency_rows(view: View, group: LatencyGroup) -> list[LatencyRow]:
    """Every operation of the last minute: COMMIT, the others by name, BEGIN."""
    newest = _of_group(view.sample, group)
    whole = sum(each.count * each.avg for each in newest.values())
    worst: dict[str, float] = {}
    for sample in view.recent:
        for name, latency in _of_group(sample, group).items():
            worst[name] = max(worst.get(name, 0.0), latency.p99)
    rows = []
    for name in sorted(worst, key=lambda name: (name != COMMIT, name == BEGIN, name)):
        now = newest.get(name)
        share = 100 * now.count * now.avg / whole if now and whole else None
        rows.append(LatencyRow(f"{group.title}{name}", group.role, now, share, worst[name]))
    return rows


def _of_group(sample: Sample | None, group: LatencyGroup) -> dict[str, Latency]:
    """The latencies of a sample, by the names of the operations."""
    if sample is None:
        return {}
    every = "all statements" if sample.traffic is not None else "all transactions"
    return {
        name.removeprefix(group.prefix) or every: latency
        for name, latency in sample.latencies.items()
        if name.startswith(group.prefix)
    }


def _table_heading(width: int) -> TextLine:
    cells = (TextSpan(f"{name:>{size}}", "muted") for name, size in _visible_columns(width))
    return (TextSpan(f"{'LATENCIES':<{_NAME}}", "title"), *cells)


def _row_line(row: LatencyRow, seconds: float, width: int) -> TextLine:
    cells = _row_cells(row, seconds)
    line: TextLine = (TextSpan(f"{shorten(row.name, _NAME - 1):<{_NAME}}", row.role),)
    for name, size in _visible_columns(width):
        line = (*line, TextSpan(f"{cells[name]:>{size}}", "latency" if name == "p95" else row.role))
    return line


def _row_cells(row: LatencyRow, seconds: float) -> dict[str, str]:
    now = row.now
    return {
        "per s": _written(big_rate(now.count / seconds if now else None)),
        "of time": DASH if row.share is None else f"{row.share:.1f} %",
        "p50": _written(big_latency(now.p50 if now else None)),
        "p95": _written(big_latency(now.p95 if now else None)),
        "p99": _written(big_latency(now.p99 if now else None)),
        "max": _written(big_latency(now.max if now else None)),
        "p99 of 1 min": _written(big_latency(row.worst_p99)),
    }


def _visible_columns(width: int) -> list[tuple[str, int]]:
    """The columns that fit."""
    room, shown = width - _NAME, []
    for name, size in _COLUMNS:
        room -= size
        if room < 0:
            break
        shown.append((name, size))
    return shown


def _written(number: tuple[str, str]) -> str:
    return " ".join(number).rstrip()
