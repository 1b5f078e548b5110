"""The catalogue as lines: each setting with its value now and at first, and all there is to know of one."""

from collections.abc import Sequence

from tuibench.model.setting import SettingState
from tuibench.tui.selection import Selection, first_shown
from tuibench.tui.spans import Line, Span, fit, pad, shorten, wrapped
from tuibench.units import DASH

WIDE = 100
"""From this width on there is room for what a value means."""

WIDEST = 150
"""From this width on a value has WIDE_VALUE_WIDTH cells."""

NAME_WIDTH, VALUE_WIDTH, WIDE_VALUE_WIDTH, STATE_WIDTH = 31, 16, 22, 12
TITLES = {"durability": "Durability: what survives a crash", "tuning": "Tuning"}
WHOSE = {"us": ("by us", "warn"), "others": ("▲ by others", "risk")}
REACH = {
    "server": "for everybody on the server",
    "default": "for new connections of everybody, and for the workload's at once",
    "workload": "for the workload's own connections only",
}
"""Whom a change reaches, by a setting's scope."""

_LABEL_WIDTH = 12


def matching(settings: Sequence[SettingState], words: str) -> list[int]:
    """The places of the settings that have every word: in name, meaning, risk, or whose the value is."""
    wanted = words.lower().split()
    return [place for place, setting in enumerate(settings) if all(word in _text(setting) for word in wanted)]


def table(
    settings: Sequence[SettingState], shown: Sequence[int], selection: Selection, width: int, height: int
) -> list[Line]:
    """Column heads, then the settings by group, with the chosen one in sight."""
    if not shown:
        return [_heads(width), pad((Span("  no setting has these words", "muted"),), width)][:height]
    lines, place = _body(settings, shown, selection, width)
    first = first_shown(place, len(lines), height - 1)
    return [_heads(width), *lines[first : first + height - 1]][:height]


def _body(
    settings: Sequence[SettingState], shown: Sequence[int], selection: Selection, width: int
) -> tuple[list[Line], int]:
    """All lines, and which of them is the chosen one."""
    lines: list[Line] = []
    chosen, group = 0, None
    for number in shown:
        setting = settings[number]
        if setting.group != group:
            group = setting.group
            lines.append(pad((Span(f" {TITLES.get(group, group)}", "title"),), width))
        if number == selection.id:
            chosen = len(lines)
        lines.append(_row(setting, number, width, chosen=number == selection.id))
    return lines, chosen


def _value_width(width: int) -> int:
    return WIDE_VALUE_WIDTH if width >= WIDEST else VALUE_WIDTH


def _heads(width: int) -> Line:
    value = _value_width(width)
    text = f"   {'setting':{NAME_WIDTH}}{'now':{value}}{'at first':{value}}{'changed':{STATE_WIDTH}}"
    return pad((Span(f"{text}meaning" if width >= WIDE else text.rstrip(), "faint"),), width)


def _row(setting: SettingState, number: int, width: int, *, chosen: bool) -> Line:
    state, role = WHOSE.get(setting.changed_by, ("fixed" if setting.unavailable else "", "muted"))
    action = f"screen.pick({number})"
    cells = (
        (
            f" {'▸' if chosen else ' '} {_cell(setting.name, NAME_WIDTH)}",
            "muted" if setting.unavailable else "",
        ),
        (_cell(f"{_said(setting.value)}{' ▲' * setting.at_risk}", _value_width(width)), _value_role(setting)),
        (_cell(_said(first_value(setting)), _value_width(width)), "muted"),
        (_cell(state, STATE_WIDTH), role),
        (setting.meaning if width >= WIDE else "", "muted"),
    )
    line = fit(tuple(Span(text, "selected" if chosen else role, action) for text, role in cells), width)
    padded = pad(line, width)
    return tuple(span._replace(role="selected") for span in padded) if chosen else padded


def detail(setting: SettingState | None, width: int, height: int) -> list[Line]:
    """What the value does, what changing it risks, what it takes, whom it reaches, and who may."""
    if setting is None:
        return []
    may = f"not here: {setting.unavailable}" if setting.unavailable else _needs(setting)
    entries = (
        (
            "value",
            f"{_said(setting.value)}: {setting.meaning}" if setting.value else "not known here",
            "strong",
        ),
        ("risk", setting.risk, "warn"),
        ("takes", f"{setting.takes}, {REACH[setting.scope]}" if setting.takes else DASH, ""),
        ("to change", may, "risk" if setting.unavailable else ""),
        ("shows in", ", ".join(setting.counters) or DASH, "muted"),
    )
    lines = [line for label, text, role in entries for line in _entry(label, text, role, width)]
    return [pad(line, width) for line in _cut(lines, height)]


def _cut(lines: list[Line], height: int) -> list[Line]:
    """As many as there is room for; the last one says that there are more."""
    if len(lines) <= height or not height:
        return lines[:height]
    head, text = lines[height - 1]
    return [*lines[: height - 1], (head, text._replace(text=f"{text.text.rstrip(', ')} …"))]


def first_value(setting: SettingState) -> str:
    """The value to go back to: before our first change, or when the session began."""
    return setting.original if setting.changed_by == "us" else setting.began or setting.original


def _entry(label: str, text: str, role: str, width: int) -> list[Line]:
    pieces = wrapped(text, width - _LABEL_WIDTH - 1)
    heads = [f" {label:{_LABEL_WIDTH}}", *[" " * (_LABEL_WIDTH + 1)] * len(pieces)]
    return [(Span(head, "muted"), Span(piece, role)) for head, piece in zip(heads, pieces, strict=False)]


def _value_role(setting: SettingState) -> str:
    return "risk" if setting.at_risk else "strong" if setting.value else "muted"


def _needs(setting: SettingState) -> str:
    return f"this login may; it takes {' or '.join(setting.needs)}" if setting.needs else "any login may"


def _said(value: str) -> str:
    return value or DASH


def _cell(text: str, width: int) -> str:
    return f"{shorten(text, width - 1):<{width}}"


def _text(setting: SettingState) -> str:
    changed = f"changed by {setting.changed_by}" if setting.changed_by else ""
    words = (setting.name, setting.group, setting.value, setting.meaning, setting.risk, changed)
    return " ".join((*words, "fixed" if setting.unavailable else "")).lower()
