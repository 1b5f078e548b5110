"""Durability panel: each setting with its value and meaning, and whether data is at risk.

If there is room, each value is followed by the cost of a commit with it, and with the original value.
"""

from collections.abc import Callable
from itertools import zip_longest
from typing import NamedTuple

from tuibench.model.experiments.effect import CommitCost
from tuibench.model.settings import CostFigure, SettingState, consequence
from tuibench.tui.text.spans import TextLine, TextSpan, line_width, pad_line, shorten
from tuibench.tui.view import View
from tuibench.units import DASH, binary_size, small_number

_NAME_WIDTH = 12
_VERDICT_WIDTH = 13
_COST_WIDTH = 33
_WIDE_ENOUGH = 110


class CommitPrice(NamedTuple):
    """Cost unit of a setting: number and size of its operations."""

    often: Callable[[CommitCost], float | None]
    often_name: str
    much: Callable[[CommitCost], float | None]
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
    """Height of the panel: one line per setting, at least two for title and verdict."""
    return max(2, len(view.durability))


def durability_panel(view: View, width: int, height: int) -> list[TextLine]:
    """Title with the verdict below it, and one line per setting: name, value, original, meaning."""
    title: TextLine = (TextSpan(" DURABILITY", "title"),)
    heads: tuple[TextLine, ...] = (title, (_durability_verdict(view),))
    room = width - _VERDICT_WIDTH
    lines = [
        (*pad_line(head or (), _VERDICT_WIDTH), *_setting_line(view, setting, room))
        for head, setting in zip_longest(heads, view.durability)
    ]
    return [pad_line(line, width) for line in lines[:height]]


def _setting_line(view: View, setting: SettingState | None, width: int) -> TextLine:
    if setting is None:
        return () if view.durability else (TextSpan(f"{DASH} unknown to this server", "muted"),)
    name_width = max(_NAME_WIDTH, *(len(other.label) + 1 for other in view.durability))
    cost = _cost_span(view, setting) if width + _VERDICT_WIDTH >= _WIDE_ENOUGH else ()
    room = width - name_width - (_COST_WIDTH if cost else 0)
    label = TextSpan(f"{setting.label:<{name_width}}", "muted")
    return (label, *pad_line(_setting_state(view, setting, room), room), *cost)


def _cost_span(view: View, setting: SettingState) -> TextLine:
    """Current cost of a commit, followed by its cost with the original value, or by the bytes written."""
    now, price = view.cost(setting.name, setting.value), _COMMIT_PRICES.get(setting.cost)
    if now is None or price is None or price.often(now) is None:
        return ()
    text = f"{small_number(price.often(now))} {price.often_name}"
    before = view.cost(setting.name, setting.original) if setting.changed else None
    if before is not None and price.often(before) is not None:
        text += f" (at {setting.original}: {small_number(price.often(before))})"
    elif price.much(now) is not None:
        text += f", {binary_size(price.much(now))} {price.much_name}"
    return (TextSpan(f"{shorten(text, _COST_WIDTH):>{_COST_WIDTH}}", "server"),)


def _durability_verdict(view: View) -> TextSpan:
    if not view.durability:
        return TextSpan(f" {DASH} unknown", "muted")
    return TextSpan(" ▲ AT RISK ", "alarm") if view.at_risk else TextSpan(" ● DURABLE ", "ok")


def _setting_state(view: View, setting: SettingState, room: int) -> TextLine:
    if not setting.value:
        return (TextSpan(f"{DASH} unknown to this server", "muted"),)
    value_width = max(len(other.value) for other in view.durability) + 1
    line: TextLine = (
        TextSpan(f"{setting.value:<{value_width}}", "risk" if setting.at_risk else "strong"),
        TextSpan(f"was {setting.original} " if setting.changed else "", "warn"),
        TextSpan(" "),
    )
    meaning = _value_meaning(setting, room - line_width(line))
    return (*line, TextSpan(meaning, "" if setting.at_risk else "muted"))


def _value_meaning(setting: SettingState, room: int) -> str:
    """Meaning of the value; if space is short, its consequence only."""
    meaning = (
        f"{setting.meaning}, read-only: {setting.unavailable}" if setting.unavailable else setting.meaning
    )
    if len(meaning) > room:
        meaning = consequence(setting.meaning)
    return shorten(meaning, room)
