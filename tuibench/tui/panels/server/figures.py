"""Server panel: figures of the server's own counters, beside those of the client."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.model.measurements.sample import ServerSample
from tuibench.tui.text.spans import TextLine, TextSpan, justify, pad_line
from tuibench.tui.view import View
from tuibench.units import DASH, binary_size, count, decimal, percent, si

TOTAL_WIDTH = 12


class ServerTile(NamedTuple):
    """One figure: name, current value, note beside it, and short form for narrow screens."""

    name: str
    now: Callable[[ServerSample], str]
    beside: Callable[[ServerSample], str]
    short_name: str
    short: Callable[[ServerSample], str]


def _rate_text(value: float | None) -> str:
    """A rate with the digits that are significant to a reader."""
    if value is None:
        return DASH
    return count(value) if value >= 100 or value == 0 else decimal(value, 1)


def _total_text(value: int | None) -> str:
    """A growing total, in the width of its column."""
    return count(value) if value is None or value < 1_000_000_000 else si(value)


def _limit_text(value: int) -> str:
    """The limit beside a count; empty if the server does not report it."""
    return f"of {count(value)}" if value else ""


def _short_limit(value: int) -> str:
    return si(value).replace(" ", "") if value else DASH


def _reason_no_rate(value: float | None, part: ServerSample, otherwise: str) -> str:
    """Reason beside a dash, as far as the sample has it."""
    if value is not None:
        return ""
    is_first = part.questions_per_second is None and part.questions_total is not None
    return "next sample" if is_first else otherwise


def _hit_text(part: ServerSample) -> str:
    """Hit ratio in percent, with decimals below 100."""
    hit = part.buffer_pool_hit
    return percent(hit, 0 if hit is not None and hit >= 99.995 else 2)


TILES = (
    ServerTile(
        "Questions/s",
        lambda part: _rate_text(part.questions_per_second),
        lambda part: _total_text(part.questions_total),
        "Questions/s",
        lambda part: (
            si(part.questions_per_second)
            if (part.questions_per_second or 0) >= 99_999
            else _rate_text(part.questions_per_second)
        ),
    ),
    ServerTile(
        "Commits/s",
        lambda part: _rate_text(part.commits_per_second),
        lambda part: _reason_no_rate(part.commits_per_second, part, "not counted"),
        "Commits/s",
        lambda part: _rate_text(part.commits_per_second),
    ),
    ServerTile(
        "Slow queries",
        lambda part: count(part.slow_queries),
        lambda part: count(part.slow_queries_total),
        "Slow",
        lambda part: f"{count(part.slow_queries)} of {count(part.slow_queries_total)}",
    ),
    ServerTile(
        "Open tables",
        lambda part: count(part.open_tables),
        lambda part: _limit_text(part.table_open_cache),
        "Tables",
        lambda part: f"{count(part.open_tables)}/{count(part.table_open_cache or None)}",
    ),
    ServerTile(
        "Threads running",
        lambda part: count(part.threads_running),
        lambda part: "",
        "Threads",
        lambda part: "/".join(
            (
                count(part.threads_running),
                count(part.threads_connected),
                _short_limit(part.max_connections),
            )
        ),
    ),
    ServerTile(
        "Threads connected",
        lambda part: count(part.threads_connected),
        lambda part: _limit_text(part.max_connections),
        "Connected",
        lambda part: f"{count(part.threads_connected)}/{_short_limit(part.max_connections)}",
    ),
    ServerTile(
        "Log fsyncs/trx",
        lambda part: decimal(part.log_fsyncs_per_transaction),
        lambda part: (
            _reason_no_rate(part.log_fsyncs_per_transaction, part, "no commits")
            or f"{_rate_text(part.log_fsyncs_per_second)}/s"
        ),
        "Fsyncs/trx",
        lambda part: decimal(part.log_fsyncs_per_transaction),
    ),
    ServerTile(
        "Buffer pool hit",
        _hit_text,
        lambda part: _reason_no_rate(part.buffer_pool_hit, part, "no reads"),
        "Pool hit",
        _hit_text,
    ),
    ServerTile(
        "Row lock waits/s",
        lambda part: _rate_text(part.row_lock_waits_per_second),
        lambda part: _reason_no_rate(part.row_lock_waits_per_second, part, "not counted"),
        "Lock waits/s",
        lambda part: _rate_text(part.row_lock_waits_per_second),
    ),
)
STRIP = (0, 2, 3, 4, 6, 7, 8, 1)
"""Indices of the tiles on the narrow screen: two rows of four."""
_STRIP_GAP = 2


def server_panel(view: View, width: int, height: int) -> list[TextLine]:
    """Table of name, current value, total."""
    beside = pad_line((), TOTAL_WIDTH - 5)
    heading = justify(
        (TextSpan("SERVER", "title"),), (TextSpan("now", "muted"), *beside, TextSpan("total", "muted")), width
    )
    part = view.server
    if part is None:
        return [justify((TextSpan("SERVER", "title"),), (), width), *_no_server_sample(view, width)][:height]
    rows = [_tile_row(tile, part, width) for tile in TILES]
    return [heading, *rows, *_lag_row(view, width)][:height]


def _lag_row(view: View, width: int) -> list[TextLine]:
    """The replica with the highest lag, if replicas are read."""
    sample = view.sample
    if sample is None or not sample.replicas:
        return []
    stopped = sum(not each.is_running for each in sample.replicas)
    lag = DASH if sample.lag_seconds is None else f"{sample.lag_seconds:g} s"
    beside = f"{stopped} stopped" if stopped else binary_size(sample.lag_bytes)
    now = (TextSpan(lag, "strong"), TextSpan(f"{beside:>{TOTAL_WIDTH}}", "warn" if stopped else "muted"))
    return [justify((TextSpan("Replica lag", "muted"),), now, width)]


def server_strip(view: View, width: int, height: int) -> list[TextLine]:
    """The same figures for a narrow screen, four per row."""
    part = view.server
    if part is None:
        return _no_server_sample(view, width)[:height]
    cells = [TILES[number] for number in STRIP]
    rows = [cells[:4], cells[4:]]
    return [_strip_row(row, part, width) for row in rows][:height]


def _tile_row(tile: ServerTile, part: ServerSample, width: int) -> TextLine:
    beside = tile.beside(part)
    now = (TextSpan(tile.now(part), "strong"), TextSpan(f"{beside:>{TOTAL_WIDTH}}", "muted"))
    return justify((TextSpan(tile.name, "muted"),), now, width)


def _strip_row(tiles: list[ServerTile], part: ServerSample, width: int) -> TextLine:
    cell = (width + _STRIP_GAP) // len(tiles) - _STRIP_GAP
    line: TextLine = ()
    for tile in tiles:
        gap = (TextSpan(" " * _STRIP_GAP),) if line else ()
        value = (TextSpan(tile.short(part), "strong"),)
        line = (*line, *gap, *justify((TextSpan(tile.short_name, "muted"),), value, cell))
    return line


def _no_server_sample(view: View, width: int) -> list[TextLine]:
    """Why there is nothing to show."""
    reason = "no answer from the server" if view.sample else "waiting for the first sample"
    return [pad_line((TextSpan(f"{DASH} {reason}", "muted"),), width)]
