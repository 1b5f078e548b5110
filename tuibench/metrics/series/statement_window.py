"""Statement statistics between two moments: differences of cumulative figures, ranked by time."""

from collections.abc import Mapping
from typing import NamedTuple

from tuibench.model.histogram import rank_of
from tuibench.model.measurements.activity import StatementFigures, StatementRow

MOST_ROWS = 40
CLIENT = "client"
"""The source of statements that the load measured itself; listed after those of the server."""

P95 = 95.0
US_PER_MS = 1000.0


class StatementSums(NamedTuple):
    """Cumulative figures of a statement. `distribution` is counts by upper bounds in µs, or None."""

    text: str
    source: str
    calls: int
    time_us: float
    rows_examined: int | None = None
    lock_us: float | None = None
    cpu_us: float | None = None
    distribution: Mapping[int, int] | None = None


Sums = Mapping[str, StatementSums]


def figures_between(before: StatementSums | None, after: StatementSums) -> StatementFigures | None:
    """The figures of a statement in a span; None if it was not called, or its figures were reset."""
    calls = after.calls - (before.calls if before else 0)
    time_us = after.time_us - (before.time_us if before else 0.0)
    if calls <= 0 or time_us < 0:
        return None
    return StatementFigures(
        calls=calls,
        total_ms=time_us / US_PER_MS,
        p95_ms=_p95_ms(before, after),
        rows_examined=_whole(_grown(before.rows_examined if before else 0, after.rows_examined)),
        lock_ms=_ms(_grown(before.lock_us if before else 0.0, after.lock_us)),
        cpu_ms=_ms(_grown((before.cpu_us or 0.0) if before else 0.0, after.cpu_us)),
    )


def statement_rows(first: Sums, changed: Sums | None, now: Sums) -> tuple[StatementRow, ...]:
    """The statements since a change, or since the first reading, those with the most time first.

    With a reading at a change (`changed`), each row also has the figures from the first reading to it.
    """
    base = changed if changed is not None else first
    rows = []
    for key, after in now.items():
        figures = figures_between(base.get(key), after)
        if figures is None:
            continue
        earlier = changed.get(key) if changed is not None else None
        before = figures_between(first.get(key), earlier) if earlier is not None else None
        rows.append(StatementRow(text=after.text, source=after.source, now=figures, before=before))
    ranked = sorted(rows, key=lambda row: row.now.total_ms, reverse=True)
    server = [row for row in ranked if row.source != CLIENT][:MOST_ROWS]
    return (*server, *(row for row in ranked if row.source == CLIENT))


def _p95_ms(before: StatementSums | None, after: StatementSums) -> float | None:
    """The p95; None if the distribution is not known at both ends of the span."""
    if after.distribution is None or (before is not None and before.calls and before.distribution is None):
        return None
    old = (before.distribution if before is not None else None) or {}
    counts = {end: times - old.get(end, 0) for end, times in after.distribution.items()}
    total = sum(counts.values())
    if total <= 0 or min(counts.values()) < 0:
        return None
    wanted = rank_of(P95, total)
    for end in sorted(counts):
        wanted -= counts[end]
        if wanted <= 0:
            return end / US_PER_MS
    return None


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None or after < before else after - before


def _ms(us: float | None) -> float | None:
    return None if us is None else us / US_PER_MS


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
