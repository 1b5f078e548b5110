"""Settings table: each setting with its current and original value, and the details of one."""

from collections.abc import Sequence

from tuibench.model.settings import SettingState, SettingTopic
from tuibench.tui.panels.selection import Selection, first_visible
from tuibench.tui.text.spans import TextLine, TextSpan, fit_line, pad_line, shorten, wrap_text
from tuibench.units import DASH

WIDE_SETTINGS = 100
"""Width from which the meaning of a value is shown."""

WIDEST = 150
"""Width from which a value has WIDE_VALUE_WIDTH cells."""

NAME_WIDTH, WIDE_NAME_WIDTH = 31, 43
VALUE_WIDTH, WIDE_VALUE_WIDTH, STATE_WIDTH = 16, 22, 12
TOPIC_TITLES = {str(topic): topic.heading for topic in SettingTopic}
CHANGED_BY_TEXT = {"us": ("tuibench", "warn"), "others": ("▲ others", "risk")}
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


def _name_width(width: int) -> int:
    """Width of the name column: every name fits if the meaning has room beside it."""
    return WIDE_NAME_WIDTH if width >= WIDE_SETTINGS else NAME_WIDTH


def _value_width(width: int) -> int:
    return WIDE_VALUE_WIDTH if width >= WIDEST else VALUE_WIDTH


def _column_heads(width: int) -> TextLine:
    value = _value_width(width)
    text = (
        f"   {'setting':{_name_width(width)}}{'now':{value}}{'original':{value}}{'changed by':{STATE_WIDTH}}"
    )
    return pad_line(
        (TextSpan(f"{text}meaning" if width >= WIDE_SETTINGS else text.rstrip(), "muted"),), width
    )


def _setting_row(setting: SettingState, number: int, width: int, *, chosen: bool) -> TextLine:
    state, role = CHANGED_BY_TEXT.get(setting.changed_by, (_unavailable_text(setting), "muted"))
    action = f"screen.pick({number})"
    cells = (
        (
            f" {'▸' if chosen else ' '} {_padded_cell(setting.name, _name_width(width))}",
            "muted" if setting.unavailable else "",
        ),
        (
            _padded_cell(f"{_value_text(setting.value)}{' ▲' * setting.at_risk}", _value_width(width)),
            _value_role(setting),
        ),
        (_padded_cell(_value_text(original_value(setting)), _value_width(width)), "muted"),
        (_padded_cell(state, STATE_WIDTH), role),
        (setting.meaning if width >= WIDE_SETTINGS else "", "muted"),
    )
    line = fit_line(
        tuple(TextSpan(text, "selected" if chosen else role, action) for text, role in cells), width
    )
    padded = pad_line(line, width)
    return tuple(span._replace(role="selected") for span in padded) if chosen else padded


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
