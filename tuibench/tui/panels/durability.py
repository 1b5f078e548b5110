"""Whether a commit survives a crash: always in words, and unlike itself when data is at risk.

Where there is room, beside each value stands what a commit costs with it, and what it cost before.
"""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.model.cost import CommitCost
from tuibench.model.setting import SettingState
from tuibench.tui.spans import Line, Span, pad, shorten, width_of
from tuibench.tui.view import DURABILITY_SETTINGS, View
from tuibench.units import DASH, data, small

_SHORT_NAMES = {"innodb_flush_log_at_trx_commit": "flush_log"}
_NAME_WIDTH = 12
_VERDICT_WIDTH = 13
_COST_WIDTH = 33
_WIDE_ENOUGH = 110


class Price(NamedTuple):
    """What a setting is paid in: how often, and how much."""

    often: Callable[[CommitCost], float | None]
    often_name: str
    much: Callable[[CommitCost], float | None]
    much_name: str


_PRICES = {
    "innodb_flush_log_at_trx_commit": Price(
        lambda cost: cost.log_fsyncs, "fsyncs/trx", lambda cost: cost.log_bytes, "redo"
    ),
    "sync_binlog": Price(
        lambda cost: cost.binlog_syncs, "syncs/trx", lambda cost: cost.binlog_bytes, "binlog"
    ),
}


def durability(view: View, width: int, height: int) -> list[Line]:
    """The verdict under its title, and a line for each setting: name, value, what it was, what it means."""
    title: Line = (Span(" DURABILITY", "title"),)
    lines = []
    for start, name in zip((title, (_verdict(view),)), DURABILITY_SETTINGS, strict=True):
        label = Span(f"{_SHORT_NAMES.get(name, name):<{_NAME_WIDTH}}", "muted")
        cost = _cost(view, view.setting(name)) if width >= _WIDE_ENOUGH else ()
        room = width - _VERDICT_WIDTH - _NAME_WIDTH - (_COST_WIDTH if cost else 0)
        state = pad(_state(view, view.setting(name), room), room)
        lines.append(pad((*pad(start, _VERDICT_WIDTH), label, *state, *cost), width))
    return lines[:height]


def _cost(view: View, setting: SettingState | None) -> Line:
    """What a commit costs now; beside it what it cost with the original value, or how much it writes."""
    now = view.cost(setting.name, setting.value) if setting else None
    if setting is None or now is None:
        return ()
    price = _PRICES[setting.name]
    if price.often(now) is None:
        return ()
    text = f"{small(price.often(now))} {price.often_name}"
    before = view.cost(setting.name, setting.original) if setting.changed else None
    if before is not None and price.often(before) is not None:
        text += f" (at {setting.original}: {small(price.often(before))})"
    elif price.much(now) is not None:
        text += f", {data(price.much(now))} {price.much_name}"
    return (Span(f"{shorten(text, _COST_WIDTH):>{_COST_WIDTH}}", "server"),)


def _verdict(view: View) -> Span:
    if not view.durability:
        return Span(f" {DASH} unknown", "muted")
    return Span(" ▲ AT RISK ", "alarm") if view.at_risk else Span(" ● DURABLE ", "ok")


def _state(view: View, setting: SettingState | None, room: int) -> Line:
    if setting is None:
        return (Span(f"{DASH} not known to this server", "muted"),)
    value_width = max(len(other.value) for other in view.durability) + 1
    line: Line = (
        Span(f"{setting.value:<{value_width}}", "risk" if setting.at_risk else "strong"),
        Span(f"was {setting.original} " if setting.changed else "", "warn"),
        Span(" "),
    )
    meaning = _meaning(setting, room - width_of(line))
    return (*line, Span(meaning, "" if setting.at_risk else "muted"))


def _meaning(setting: SettingState, room: int) -> str:
    """What the value means; where there is no room for all of it, what follows from it."""
    meaning = f"{setting.meaning}, fixed: {setting.unavailable}" if setting.unavailable else setting.meaning
    if len(meaning) > room:
        meaning = setting.meaning.partition(": ")[2] or setting.meaning
    return shorten(meaning, room)
