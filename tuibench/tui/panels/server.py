"""What the server says about itself, beside what the client measured."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.model.sample import ServerPart
from tuibench.tui.spans import Line, Span, pad, spread
from tuibench.tui.view import View
from tuibench.units import DASH, count, decimal, percent, si

TOTAL_WIDTH = 12


class Tile(NamedTuple):
    """One figure: its name, the value now, what stands beside it, and a short form for narrow screens."""

    name: str
    now: Callable[[ServerPart], str]
    beside: Callable[[ServerPart], str]
    short_name: str
    short: Callable[[ServerPart], str]


def _rate(value: float | None) -> str:
    """A rate with as many digits as are worth reading."""
    if value is None:
        return DASH
    return count(value) if value >= 100 or value == 0 else decimal(value, 1)


def _total(value: int) -> str:
    """A count that grows without end, in the width of its column."""
    return count(value) if value < 1_000_000_000 else si(value)


def _why_no_rate(value: float | None, part: ServerPart, otherwise: str) -> str:
    """Beside a dash stands the reason, as far as the sample tells it."""
    if value is not None:
        return ""
    return "next tick" if part.questions_per_second is None else otherwise


def _hit(part: ServerPart) -> str:
    """In percent; 99.99 is worth its digits, a full hundred is not."""
    hit = part.buffer_pool_hit
    return percent(hit, 0 if hit is not None and hit >= 99.995 else 2)


TILES = (
    Tile(
        "Questions/s",
        lambda part: _rate(part.questions_per_second),
        lambda part: _total(part.questions_total),
        "Questions/s",
        lambda part: (
            si(part.questions_per_second)
            if (part.questions_per_second or 0) >= 99_999
            else _rate(part.questions_per_second)
        ),
    ),
    Tile(
        "Commits/s",
        lambda part: _rate(part.commits_per_second),
        lambda part: _why_no_rate(part.commits_per_second, part, "not counted"),
        "Commits/s",
        lambda part: _rate(part.commits_per_second),
    ),
    Tile(
        "Slow queries",
        lambda part: count(part.slow_queries),
        lambda part: count(part.slow_queries_total),
        "Slow",
        lambda part: f"{count(part.slow_queries)} of {count(part.slow_queries_total)}",
    ),
    Tile(
        "Open tables",
        lambda part: count(part.open_tables),
        lambda part: f"of {count(part.table_open_cache)}",
        "Tables",
        lambda part: f"{count(part.open_tables)}/{count(part.table_open_cache)}",
    ),
    Tile(
        "Threads running",
        lambda part: count(part.threads_running),
        lambda part: "",
        "Threads",
        lambda part: (
            f"{part.threads_running}/{part.threads_connected}/{si(part.max_connections).replace(' ', '')}"
        ),
    ),
    Tile(
        "Threads connected",
        lambda part: count(part.threads_connected),
        lambda part: f"of {count(part.max_connections)}",
        "Connected",
        lambda part: f"{count(part.threads_connected)}/{si(part.max_connections).replace(' ', '')}",
    ),
    Tile(
        "Log fsyncs/trx",
        lambda part: decimal(part.log_fsyncs_per_transaction),
        lambda part: (
            _why_no_rate(part.log_fsyncs_per_transaction, part, "no commits")
            or f"{_rate(part.log_fsyncs_per_second)}/s"
        ),
        "Fsyncs/trx",
        lambda part: decimal(part.log_fsyncs_per_transaction),
    ),
    Tile(
        "Buffer pool hit",
        _hit,
        lambda part: _why_no_rate(part.buffer_pool_hit, part, "no reads"),
        "Pool hit",
        _hit,
    ),
    Tile(
        "Row lock waits/s",
        lambda part: _rate(part.row_lock_waits_per_second),
        lambda part: _why_no_rate(part.row_lock_waits_per_second, part, "not counted"),
        "Lock waits/s",
        lambda part: _rate(part.row_lock_waits_per_second),
    ),
)
STRIP = (0, 2, 3, 4, 6, 7, 8, 1)
"""The tiles of the narrow screen, by number: two rows of four."""
_STRIP_GAP = 2


def server_panel(view: View, width: int, height: int) -> list[Line]:
    """A table: name, now, total."""
    beside = pad((), TOTAL_WIDTH - 5)
    heading = spread(
        (Span("SERVER", "title"),), (Span("now", "muted"), *beside, Span("total", "muted")), width
    )
    part = view.server
    if part is None:
        return [spread((Span("SERVER", "title"),), (), width), *_silent(view, width)][:height]
    return [heading, *(_row(tile, part, width) for tile in TILES)][:height]


def server_strip(view: View, width: int, height: int) -> list[Line]:
    """The same figures for a narrow screen, four to a row."""
    part = view.server
    if part is None:
        return _silent(view, width)[:height]
    cells = [TILES[number] for number in STRIP]
    rows = [cells[:4], cells[4:]]
    return [_strip_row(row, part, width) for row in rows][:height]


def _row(tile: Tile, part: ServerPart, width: int) -> Line:
    beside = tile.beside(part)
    now = (Span(tile.now(part), "strong"), Span(f"{beside:>{TOTAL_WIDTH}}", "muted"))
    return spread((Span(tile.name, "muted"),), now, width)


def _strip_row(tiles: list[Tile], part: ServerPart, width: int) -> Line:
    cell = (width + _STRIP_GAP) // len(tiles) - _STRIP_GAP
    line: Line = ()
    for tile in tiles:
        gap = (Span(" " * _STRIP_GAP),) if line else ()
        value = (Span(tile.short(part), "strong"),)
        line = (*line, *gap, *spread((Span(tile.short_name, "muted"),), value, cell))
    return line


def _silent(view: View, width: int) -> list[Line]:
    """Why there is nothing to show."""
    reason = "no answer from the server this second" if view.sample else "waiting for the first sample"
    return [pad((Span(f"{DASH} {reason}", "muted"),), width)]
