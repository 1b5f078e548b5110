"""Settings table: each setting with its current and original value, and the details of one."""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.model.settings import SettingState, SettingTopic, consequence
from tuibench.tui.panels.selection import Selection, first_visible
from tuibench.tui.text.spans import TextLine, TextSpan, fit_line, line_width, pad_line, shorten, wrap_text
from tuibench.units import DASH

WIDE_SETTINGS = 112
"""Width from which the meaning of a value is shown: most of them fit."""

WIDEST = 150
"""Width from which the author of a change fits beside the meaning."""

MARGIN_WIDTH = 3
NAME_WIDTH = 42
"""Every name fits if there is room for the meaning beside it."""

VALUE_WIDTH, WIDE_VALUE_WIDTH = 18, 36
TOPIC_TITLES = {str(topic): topic.heading for topic in SettingTopic}
CHANGED_BY_TEXT = {"us": ("tuibench", "warn"), "others": ("others", "risk")}
SCOPE_TEXT = {
    "server": "for all sessions of the server",
    "default": "for new connections, and for the load's at once",
    "workload": "for the load's connections only",
}
"""Sessions affected by a change, by scope of the setting."""

_LABEL_WIDTH = 12


def matching_settings(settings: Sequence[SettingState], words: str) -> list[int]:
    """Indices of the settings that contain every word: in name, topic, value, meaning, risk or author."""
    wanted = words.lower().split()
    return [
        place
        for place, setting in enumerate(settings)
        if all(word in _search_text(setting) for word in wanted)
    ]


def settings_table(
    settings: Sequence[SettingState], shown: Sequence[int], selection: Selection, width: int, height: int
) -> list[TextLine]:
    """Column heads, then the settings by topic, scrolled so that the selected one is visible."""
    if not shown:
        return [_column_heads(width), pad_line((TextSpan("  no matching setting", "muted"),), width)][:height]
    lines, place = _table_body(settings, shown, selection, width)
    first = first_visible(place, len(lines), height - 1)
    return [_column_heads(width), *lines[first : first + height - 1]][:height]


def _table_body(
    settings: Sequence[SettingState], shown: Sequence[int], selection: Selection, width: int
) -> tuple[list[TextLine], int]:
    """All lines, and the index of the selected one."""
    lines: list[TextLine] = []
    chosen, group = 0, None
    for number in shown:
        setting = settings[number]
        if setting.topic != group:
            group = setting.topic
            lines.append(pad_line((TextSpan(f" {TOPIC_TITLES.get(group, group)}", "title"),), width))
        if number == selection.id:
            chosen = len(lines)
        lines.append(_setting_row(setting, number, width, chosen=number == selection.id))
    return lines, chosen


class _Widths(NamedTuple):
    """Widths of the columns; a meaning of no width is not shown."""

    name: int
    value: int
    meaning: int


def _column_widths(width: int) -> _Widths:
    room = width - MARGIN_WIDTH
    if width < WIDE_SETTINGS:
        name = min(NAME_WIDTH, room * 6 // 11)
        return _Widths(name, room - name, 0)
    value = VALUE_WIDTH if width < WIDEST else WIDE_VALUE_WIDTH
    return _Widths(NAME_WIDTH, value, room - NAME_WIDTH - value)


def _column_heads(width: int) -> TextLine:
    columns = _column_widths(width)
    text = f"{'':{MARGIN_WIDTH}}{'setting':{columns.name}}{'now':{columns.value}}"
    return pad_line((TextSpan(f"{text}meaning" if columns.meaning else text.rstrip(), "muted"),), width)


def _setting_row(setting: SettingState, number: int, width: int, *, chosen: bool) -> TextLine:
    columns = _column_widths(width)
    name = f" {'▸' if chosen else ' '} {_padded_cell(setting.name, columns.name)}"
    cells = (
        TextSpan(name, "muted" if setting.unavailable else ""),
        *pad_line(_value_cell(setting, columns.value - 1), columns.value),
        TextSpan(_brief_meaning(setting.meaning, columns.meaning), "muted"),
    )
    action = f"screen.pick({number})"
    line = pad_line(tuple(span._replace(action=action) for span in cells), width)
    return tuple(span._replace(role="selected") for span in line) if chosen else line


def _value_cell(setting: SettingState, room: int) -> TextLine:
    """The value, and its state as far as there is room."""
    value = TextSpan(f"{_value_text(setting.value)}{' ▲' * setting.at_risk}", _value_role(setting))
    texts, role = _state_texts(setting)
    left = room - line_width((value,)) - 1
    state = next((text for text in texts if len(text) <= left), "")
    return fit_line((value, TextSpan(f" {state}", role)), room) if state else fit_line((value,), room)


def _state_texts(setting: SettingState) -> tuple[tuple[str, ...], str]:
    """With the role: the value before a change and its author, the longest form first; otherwise why there is
    none.
    """
    if setting.changed_by not in CHANGED_BY_TEXT:
        return (_unavailable_text(setting),), "muted"
    role = CHANGED_BY_TEXT[setting.changed_by][1]
    return (_changed_text(setting), f"was {original_value(setting)}", "changed"), role


def _changed_text(setting: SettingState) -> str:
    return f"was {_value_text(original_value(setting))}, changed by {CHANGED_BY_TEXT[setting.changed_by][0]}"


def _brief_meaning(meaning: str, room: int) -> str:
    """The meaning of a value; if space is short, its consequence only."""
    return shorten(meaning if len(meaning) <= room else consequence(meaning), room)


def setting_detail(setting: SettingState | None, width: int, height: int) -> list[TextLine]:
    """Meaning of the value, risk of a change, valid values, affected sessions, and required privilege."""
    if setting is None:
        return []
    may = f"not here: {setting.unavailable}" if setting.unavailable else _privilege_text(setting)
    entries = (
        (
            "value",
            f"{_value_text(setting.value)}: {setting.meaning}" if setting.value else "unknown here",
            "strong",
        ),
        (
            "state",
            _changed_text(setting) if setting.changed_by else "",
            CHANGED_BY_TEXT.get(setting.changed_by, ("", ""))[1],
        ),
        ("risk", setting.risk, "warn"),
        ("takes", f"{setting.takes}, {SCOPE_TEXT[setting.scope]}" if setting.takes else "", ""),
        ("to change", may, "risk" if setting.unavailable else ""),
        ("shows in", ", ".join(setting.counters), "muted"),
    )
    lines = [
        line for label, text, role in entries if text for line in _detail_entry(label, text, role, width)
    ]
    return [pad_line(line, width) for line in _truncate(lines, height)]


def _truncate(lines: list[TextLine], height: int) -> list[TextLine]:
    """The lines that fit; the last one indicates that there are more."""
    if len(lines) <= height or not height:
        return lines[:height]
    head, text = lines[height - 1]
    return [*lines[: height - 1], (head, text._replace(text=f"{text.text.rstrip(', ')} …"))]


def original_value(setting: SettingState) -> str:
    """Value to restore: before our first change, or at the start of the session."""
    return setting.original if setting.changed_by == "us" else setting.began or setting.original


def _detail_entry(label: str, text: str, role: str, width: int) -> list[TextLine]:
    pieces = wrap_text(text, width - _LABEL_WIDTH - 1)
    heads = [f" {label:{_LABEL_WIDTH}}", *[" " * (_LABEL_WIDTH + 1)] * len(pieces)]
    return [
        (TextSpan(head, "muted"), TextSpan(piece, role)) for head, piece in zip(heads, pieces, strict=False)
    ]


def _value_role(setting: SettingState) -> str:
    return "risk" if setting.at_risk else "strong" if setting.value else "muted"


def _privilege_text(setting: SettingState) -> str:
    return (
        f"allowed for this login; requires {' or '.join(setting.needs)}"
        if setting.needs
        else "no privilege required"
    )


def _value_text(value: str) -> str:
    return value or DASH


def _padded_cell(text: str, width: int) -> str:
    return f"{shorten(text, width - 1):<{width}}"


def _search_text(setting: SettingState) -> str:
    changed = f"changed by {CHANGED_BY_TEXT[setting.changed_by][0]}" if setting.changed_by else ""
    words = (setting.name, setting.topic, setting.value, setting.meaning, setting.risk, changed)
    return " ".join((*words, _unavailable_text(setting))).lower()


def _unavailable_text(setting: SettingState) -> str:
    """Why the setting cannot be changed, in two words; empty if it can."""
    if setting.only:
        return f"{setting.only} only"
    return "read-only" if setting.unavailable else ""
