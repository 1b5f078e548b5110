"""Whether a commit survives a crash: always in words, and unlike itself when data is at risk."""

from tuibench.model.setting import SettingState
from tuibench.tui.spans import Line, Span, pad, shorten, width_of
from tuibench.tui.view import DURABILITY_SETTINGS, View
from tuibench.units import DASH

_SHORT_NAMES = {"innodb_flush_log_at_trx_commit": "flush_log"}
_NAME_WIDTH = 12
_VERDICT_WIDTH = 13


def durability(view: View, width: int, height: int) -> list[Line]:
    """The verdict under its title, and a line for each setting: name, value, what it was, what it means."""
    title: Line = (Span(" DURABILITY", "title"),)
    lines = []
    for start, name in zip((title, (_verdict(view),)), DURABILITY_SETTINGS, strict=True):
        label = Span(f"{_SHORT_NAMES.get(name, name):<{_NAME_WIDTH}}", "muted")
        state = _state(view, view.setting(name), width - _VERDICT_WIDTH - _NAME_WIDTH)
        lines.append(pad((*pad(start, _VERDICT_WIDTH), label, *state), width))
    return lines[:height]


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
