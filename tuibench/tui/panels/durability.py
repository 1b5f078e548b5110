"""Whether a commit survives a crash: always in words, and unlike itself when data is at risk."""

from tuibench.model.setting import SettingState
from tuibench.tui.spans import Line, Span, pad, shorten, width_of
from tuibench.tui.view import DURABILITY_SETTINGS, View
from tuibench.units import DASH

_NARROW = 100
_SHORT_NAMES = {"innodb_flush_log_at_trx_commit": "flush_log"}


def durability(view: View, width: int, height: int) -> list[Line]:
    """A verdict and one line a setting: name, value, what it was, what it means."""
    narrow = width < _NARROW
    verdicts = _verdict(view, narrow=narrow)
    names = [_name(name, narrow=narrow) for name in DURABILITY_SETTINGS]
    name_width = max(len(name) for name in names)
    lines = []
    for verdict, name, full_name in zip(verdicts, names, DURABILITY_SETTINGS, strict=True):
        start = (*verdict, Span(f"{name:<{name_width}} ", "muted"))
        lines.append(pad((*start, *_state(view.setting(full_name), width - width_of(start))), width))
    return lines[:height]


def _verdict(view: View, *, narrow: bool) -> tuple[Line, Line]:
    """The two spans at the start of the two lines, equally wide."""
    title = Span("DURABILITY ", "title")
    if not view.durability:
        return (title, Span("          ")), (Span(" " * 21),)
    if view.at_risk:
        badge, under = Span(" ▲ AT RISK ", "alarm"), ""
    else:
        badge, under = Span(" ● DURABLE ", "ok"), ""
    if narrow:
        return (badge, Span(" ")), (Span(f"{under:<12}"),)
    return (title, badge, Span("  ")), (Span(" " * 24),)


def _name(name: str, *, narrow: bool) -> str:
    return _SHORT_NAMES.get(name, name) if narrow else name


def _state(setting: SettingState | None, room: int) -> Line:
    if setting is None:
        return (Span(f"{DASH} not known to this server", "muted"),)
    was = f"was {setting.original}  " if setting.changed else ""
    line: Line = (
        Span(f"{setting.value:<4}", "risk" if setting.at_risk else "strong"),
        Span(was, "warn"),
    )
    meaning = f"{setting.meaning} ({setting.unavailable})" if setting.unavailable else setting.meaning
    return (*line, Span(shorten(meaning, room - width_of(line)), "" if setting.at_risk else "muted"))
