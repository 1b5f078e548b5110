"""Panels of the server: durability settings, its own counters, the tables of its screen."""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from tuibench.base.units import DASH, binary_size, count, percent, si, small_number
from tuibench.metrics.figures import read
from tuibench.model.counters import Counter
from tuibench.model.effect import CommitCost
from tuibench.model.settings import CostFigure, SettingState, consequence
from tuibench.model.tick import Sample, Tick
from tuibench.tui.figures import (
    GROUP_HEADING,
    NO_ANSWER,
    NO_SAMPLE,
    REPLICA,
    FigureRow,
    ServerTable,
    count_text,
    figure_key,
    lag_text,
    rate_text,
)
from tuibench.tui.panels.lists import TrendRow, TrendSection
from tuibench.tui.text import TextLine, TextSpan, justify, line_width, pad_line, shorten
from tuibench.tui.view import View

_NAME_WIDTH = 12
_VERDICT_WIDTH = 13
_COST_WIDTH = 40
_WIDE_ENOUGH = 110


class CommitPrice(NamedTuple):
    """The cost of a transaction that a setting determines."""

    often: Callable[[CommitCost], float | None]
    """The number of its operations per transaction."""
    often_name: str
    much: Callable[[CommitCost], float | None]
    """Its bytes per transaction."""
    much_name: str


_COMMIT_PRICES = {
    CostFigure.REDO_LOG: CommitPrice(
        lambda cost: cost.log_fsyncs, "fsyncs/trx", lambda cost: cost.log_bytes, "redo"
    ),
    CostFigure.BINARY_LOG: CommitPrice(
        lambda cost: cost.binlog_syncs, "syncs/trx", lambda cost: cost.binlog_bytes, "binlog"
    ),
}


def durability_panel_height(view: View) -> int:
    """Height of the panel: one line per setting, at least one for the title and each verdict."""
    anomalous = len(view.allowing_anomalies)
    return max(2 + bool(anomalous), len(view.durability) + anomalous)


def durability_panel(view: View, width: int, height: int) -> list[TextLine]:
    """Title with the verdict below it, and one line per setting: name, value, original, meaning.

    Settings whose change allows anomalies of isolation follow, with a verdict of their own.
    """
    verdict = TextSpan(" ▲ AT RISK ", "alarm") if view.at_risk else TextSpan(" ● DURABLE ", "ok")
    if not view.durability:
        verdict = TextSpan(f" {DASH} unknown", "muted")
    heads: tuple[TextLine, ...] = ((TextSpan(" DURABILITY", "title"),), (verdict,))
    room = width - _VERDICT_WIDTH
    settings = [_setting_line(view, setting, room) for setting in view.durability or (None,)]
    if anomalous := view.allowing_anomalies:
        heads = (*heads, (TextSpan(" ▲ ANOMALIES", "alarm"),))
        settings += [_anomalous_line(setting, room) for setting in anomalous]
    lines = [
        (*pad_line(head, _VERDICT_WIDTH), *setting)
        for head, setting in zip_longest(heads, settings, fillvalue=())
    ]
    return [pad_line(line, width) for line in lines[:height]]


def _setting_line(view: View, setting: SettingState | None, width: int) -> TextLine:
    if setting is None:
        return (TextSpan(f"{DASH} unknown to this server", "muted"),)
    name_width = max(_NAME_WIDTH, *(len(other.label) + 1 for other in view.durability))
    cost = _cost_span(view, setting) if width + _VERDICT_WIDTH >= _WIDE_ENOUGH else ()
    room = width - name_width - (_COST_WIDTH if cost else 0)
    label = TextSpan(f"{setting.label:<{name_width}}", "muted")
    return (label, *pad_line(_setting_state(view, setting, room), room), *cost)


def _anomalous_line(setting: SettingState, width: int) -> TextLine:
    """A setting with the anomalies that its value allows."""
    line: TextLine = (
        TextSpan(f"{setting.label} ", "muted"),
        TextSpan(f"{setting.value} ", "risk"),
        TextSpan(f"was {setting.original} ", "warn"),
    )
    return (*line, TextSpan(shorten(f"allows {setting.allows}", width - line_width(line))))


def _cost_span(view: View, setting: SettingState) -> TextLine:
    """Mean cost of a transaction with the current value, and with the original one, or the bytes written."""
    now, price = view.cost(setting.name, setting.value), _COMMIT_PRICES.get(setting.cost)
    if now is None or price is None or price.often(now) is None:
        return ()
    text = f"mean {small_number(price.often(now))} {price.often_name}"
    before = view.cost(setting.name, setting.original) if setting.changed else None
    if before is not None and price.often(before) is not None:
        text += f" (at {setting.original}: {small_number(price.often(before))})"
    elif price.much(now) is not None:
        text += f", {binary_size(price.much(now))} {price.much_name}"
    return (TextSpan(f"{shorten(text, _COST_WIDTH):>{_COST_WIDTH}}", "server"),)


def _setting_state(view: View, setting: SettingState, room: int) -> TextLine:
    if not setting.value:
        return (TextSpan(f"{DASH} unknown to this server", "muted"),)
    value_width = max(len(other.value) for other in view.durability) + 1
    line: TextLine = (
        TextSpan(f"{setting.value:<{value_width}}", "risk" if setting.at_risk else "strong"),
        TextSpan(f"was {setting.original} " if setting.changed else "", "warn"),
        TextSpan(" "),
    )
    left = room - line_width(line)
    what = f"{setting.meaning}, read-only: {setting.unavailable}" if setting.unavailable else setting.meaning
    if len(what) > left:
        what = consequence(setting.meaning)
    meaning = shorten(what, left)
    return (*line, TextSpan(meaning, "" if setting.at_risk else "muted"))


TOTAL_WIDTH = 12


def _hit_text(hit: float | None) -> str:
    """Hit ratio in percent, with decimals below 100."""
    return percent(hit, 0 if hit is not None and hit >= 99.995 else 2)


class ServerTile(NamedTuple):
    """One figure of the server on the first screen."""

    figure: str
    """Its name in `metrics.figures`."""
    name: str
    write: Callable[[float | None], str]
    short_name: str
    """Its name on narrow screens."""
    total: str = ""
    """The counter whose total is beside it."""
    limit: str = ""
    """The variable with its limit, which is beside it."""
    beside_figure: str = ""
    """The figure per second that is beside it."""
    why: str = ""
    """The reason if it has no value."""
    short_parts: tuple[str, ...] = ()
    """Figures after it on narrow screens, separated by slashes."""

    def value(self, tick: Tick) -> float | None:
        return read(self.figure, tick)

    def beside(self, tick: Tick) -> str:
        if self.total:
            total = tick.levels.get(self.total)
            return count_text(total)
        if self.limit:
            limit = tick.levels.get(self.limit)
            return f"of {count(limit)}" if limit else ""
        if self.value(tick) is None:
            is_first = read("questions", tick) is None and Counter.QUESTIONS in tick.levels
            return "next sample" if is_first and self.why else self.why
        return f"{rate_text(read(self.beside_figure, tick))}/s" if self.beside_figure else ""

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
    ServerTile("questions", "Questions/s", rate_text, "Questions/s", total=Counter.QUESTIONS),
    ServerTile("commits", "Commits/s", rate_text, "Commits/s", why="not counted"),
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
        "fsyncs", "Log fsyncs/trx", small_number, "Fsyncs/trx",
        beside_figure="fsyncs_per_second", why="no commits",
    ),
    ServerTile("pool_hit", "Buffer pool hit", _hit_text, "Pool hit", why="no reads"),
    ServerTile("innodb_row_lock_waits", "Row lock waits/s", rate_text, "Lock waits/s", why="not counted"),
)  # fmt: skip
STRIP = (0, 2, 3, 4, 6, 7, 8, 1)
"""Indices of the tiles on the narrow screen: two rows of four."""
_STRIP_GAP = 2


def server_panel(view: View, width: int, height: int) -> list[TextLine]:
    """The server's figures: name, current value, total."""
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
    """The reason why there is nothing to show."""
    reason = "no answer from the server" if view.sample else "waiting for the first sample"
    return [pad_line((TextSpan(f"{DASH} {reason}", "muted"),), width)]


def server_sections(view: View, chosen: ServerTable) -> list[TrendSection]:
    """The sections of the server's figures with their current values."""
    return [
        TrendSection(
            title, [table_row(item, view.recent, figure_key(title, item.name)) for item in items], "total"
        )
        for title, items in chosen
        if title != GROUP_HEADING or any(Counter.GROUP_QUEUE in sample.tick.levels for sample in view.recent)
    ]


def replica_sections(view: View) -> list[TrendSection]:
    """Replicas with their lag in seconds and in bytes; empty if none are read."""
    names = list(dict.fromkeys(each.name for sample in view.recent for each in sample.replicas))
    if not names:
        return []
    return [TrendSection("REPLICAS", [_replica_row(name, view.recent) for name in names], "behind")]


def _replica_row(name: str, samples: Sequence[Sample]) -> TrendRow:
    found = [next((each for each in sample.replicas if each.name == name), None) for sample in samples]
    values = [each.lag_seconds if each is not None else None for each in found]
    newest = found[-1]
    if newest is None or newest.lag_seconds is None:
        why = "is gone" if newest is None else newest.note or newest.state
        return TrendRow(name, DASH, why, values, alarm=True, key=REPLICA + name)
    now, behind = lag_text(newest.lag_seconds), binary_size(newest.lag_bytes, in_column=True)
    return TrendRow(name, now, behind, values, key=REPLICA + name)


def table_row(item: FigureRow, samples: Sequence[Sample], key: str = "") -> TrendRow:
    """Row of one figure over the last minute; `key` is that of its chart."""
    tick = samples[-1].server if samples else None
    values = [item.value(sample) for sample in samples]
    counter = item.counter(tick) if tick is not None and item.is_counter else None
    if tick is None or (counter is None if item.is_counter else values[-1] is None):
        shown = () if item.is_counter else values
        why = _reason_missing(tick, item) if samples else NO_SAMPLE
        return TrendRow(item.name, DASH, why, shown, rare=item.rare, key=key)
    if counter is None:
        return TrendRow(item.name, item.cell(values[-1]), item.beside(tick), values, key=key)
    name = item.called if item.called and counter != item.counters[0] else item.name
    if values[-1] is None:
        return TrendRow(name, DASH, "next sample", values, rare=item.rare, key=key)
    alarm = item.alarms and values[-1] > 0
    total = item.total(tick.levels[counter])
    return TrendRow(name, item.cell(values[-1]), total, values, alarm, item.rare, key)


def _reason_missing(tick: Tick | None, item: FigureRow) -> str:
    """The reason for a missing value: no answer, no privilege, not in this flavour."""
    if tick is None:
        return NO_ANSWER
    return next((tick.missing[name] for name in item.counters if name in tick.missing), item.why)
