"""Server panel: figures of the server's own counters, beside those of the client."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.metrics.figures import read
from tuibench.model.counters import Counter
from tuibench.model.tick import Tick
from tuibench.tui.text.spans import TextLine, TextSpan, justify, pad_line
from tuibench.tui.view import View
from tuibench.units import DASH, binary_size, count, decimal, percent, si

TOTAL_WIDTH = 12


def _rate_text(value: float | None) -> str:
    """A rate with the digits that are significant to a reader."""
    if value is None:
        return DASH
    return count(value) if value >= 100 or value == 0 else decimal(value, 1)


def _hit_text(hit: float | None) -> str:
    """Hit ratio in percent, with decimals below 100."""
    return percent(hit, 0 if hit is not None and hit >= 99.995 else 2)


class ServerTile(NamedTuple):
    """One figure: its name in `metrics.figures`, title, format, and the short title for narrow screens.

    Beside it stands its total, its limit, or the figure `beside_figure` per second; without a value, the
    reason `why`. On a narrow screen, `short_parts` stand after it, divided by slashes.
    """

    figure: str
    name: str
    write: Callable[[float | None], str]
    short_name: str
    total: str = ""
    limit: str = ""
    beside_figure: str = ""
    why: str = ""
    short_parts: tuple[str, ...] = ()

    def value(self, tick: Tick) -> float | None:
        return read(self.figure, tick)

    def beside(self, tick: Tick) -> str:
        if self.total:
            total = tick.levels.get(self.total)
            return count(total) if total is None or total < 1_000_000_000 else si(total)
        if self.limit:
            limit = tick.levels.get(self.limit)
            return f"of {count(limit)}" if limit else ""
        if self.value(tick) is None:
            is_first = read("questions", tick) is None and Counter.QUESTIONS in tick.levels
            return "next sample" if is_first and self.why else self.why
        return f"{_rate_text(read(self.beside_figure, tick))}/s" if self.beside_figure else ""

    def short(self, tick: Tick) -> str:
        value = self.value(tick)
        if self.figure == "slow":
            return f"{count(value)} of {count(tick.levels.get(self.total))}"
        if self.figure == "questions" and (value or 0) >= 99_999:
            return si(value)
        limits = ("max_connections", "table_open_cache")
        parts = (
            _short_limit(name, tick.levels.get(name)) if name in limits else count(tick.levels.get(name))
            for name in self.short_parts
        )
        return "/".join((self.write(value), *parts))


def _short_limit(name: str, value: float | None) -> str:
    if name == "table_open_cache":
        return count(value or None)
    return si(value).replace(" ", "") if value else DASH


TILES = (
    ServerTile("questions", "Questions/s", _rate_text, "Questions/s", total=Counter.QUESTIONS),
    ServerTile("com_commit", "Commits/s", _rate_text, "Commits/s", why="not counted"),
    ServerTile("slow", "Slow queries", count, "Slow", total=Counter.SLOW_QUERIES),
    ServerTile(
        "open_tables", "Open tables", count, "Tables",
        limit="table_open_cache", short_parts=("table_open_cache",),
    ),
    ServerTile(
        "threads_running", "Threads running", count, "Threads",
        short_parts=(Counter.THREADS_CONNECTED, "max_connections"),
    ),
    ServerTile(
        "threads_connected", "Threads connected", count, "Connected",
        limit="max_connections", short_parts=("max_connections",),
    ),
    ServerTile(
        "fsyncs", "Log fsyncs/trx", decimal, "Fsyncs/trx",
        beside_figure="fsyncs_per_second", why="no commits",
    ),
    ServerTile("pool_hit", "Buffer pool hit", _hit_text, "Pool hit", why="no reads"),
    ServerTile("innodb_row_lock_waits", "Row lock waits/s", _rate_text, "Lock waits/s", why="not counted"),
)  # fmt: skip
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


def _tile_row(tile: ServerTile, part: Tick, width: int) -> TextLine:
    beside = tile.beside(part)
    now = (TextSpan(tile.write(tile.value(part)), "strong"), TextSpan(f"{beside:>{TOTAL_WIDTH}}", "muted"))
    return justify((TextSpan(tile.name, "muted"),), now, width)


def _strip_row(tiles: list[ServerTile], part: Tick, width: int) -> TextLine:
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
