"""Breakdown of transaction time: the statements of the newest sample, and the slowest transaction."""

from collections.abc import Sequence

from tuibench.metrics.series.slow_messages import slow_parts
from tuibench.model.measurements.sample import SlowTransaction, slowest_of
from tuibench.model.tick import STATEMENT
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line, shorten, wrap_text
from tuibench.tui.view import View
from tuibench.units import hms, milliseconds

_TITLE = "SLOWEST of 1 min"
_STATEMENTS = 8
_LIST_HEIGHT = 4
"""From this height the panel lists several transactions."""
_P95, _SHARE = 10, 9


def slowest_panel(view: View, width: int, height: int) -> list[TextLine]:
    """The transaction with its statements in one line, or more if there is room; several if there is much."""
    if height >= _LIST_HEIGHT:
        return _slowest_list(view, width, height)
    found = slowest_recent(view)
    if found is None:
        return []
    is_short = height == 1
    name = "" if is_short and found.transaction == view.plan.profile else f" {found.transaction}"
    head: TextLine = (
        TextSpan(f"{_TITLE.partition(' ')[0] if is_short else _TITLE}  ", "title"),
        TextSpan(f"{milliseconds(found.response_ms)} ", "latency"),
        TextSpan(f"at {hms(found.at_seconds)}{name}  ", "muted"),
    )
    parts = ", ".join(slow_parts(found, _STATEMENTS))
    taken = sum(len(span.text) for span in head)
    if is_short or len(parts) <= width - taken:
        return [pad_line((*head, TextSpan(parts)), width)]
    lines: list[TextLine] = [head, *((TextSpan(line),) for line in wrap_text(parts, width))]
    return [pad_line(line, width) for line in lines[:height]]


def _slowest_list(view: View, width: int, height: int) -> list[TextLine]:
    """One line per transaction, the slowest first."""
    found = _slowest_of_recent(view, height - 1)
    if not found:
        return []
    named = max(len(slow.transaction) for slow in found)
    lines: list[TextLine] = [(TextSpan(_TITLE, "title"),)]
    for slow in found:
        head = f"{milliseconds(slow.response_ms):>{_P95}}"
        when = f" at {hms(slow.at_seconds)}  {slow.transaction:<{named}}  "
        parts = shorten(", ".join(slow_parts(slow, _STATEMENTS)), max(width - len(head) - len(when), 1))
        lines.append((TextSpan(head, "latency"), TextSpan(when, "muted"), TextSpan(parts)))
    return [pad_line(line, width) for line in lines[:height]]


def slowest_recent(view: View) -> SlowTransaction | None:
    """Slowest transaction of the samples kept for the screen, about a minute."""
    return next(iter(_slowest_of_recent(view, 1)), None)


def _slowest_of_recent(view: View, number: int) -> Sequence[SlowTransaction]:
    every = (slow for sample in view.recent for slow in sample.slowest)
    return slowest_of(every, number)


def side_statements(view: View, width: int, height: int) -> list[TextLine]:
    """Statements by share of the time, and the slowest transaction; beside the charts, if there is room."""
    named = view.load.named(STATEMENT) if view.load else {}
    statements = {name: latency for name, each in named.items() if (latency := each.latency())}
    if not statements:
        return []
    times = {name: each.count * each.avg for name, each in statements.items()}
    whole = sum(times.values()) or 1.0
    lines: list[TextLine] = [_row("STATEMENTS", "p95", "of time", width, "title", "muted")]
    for name in sorted(times, key=lambda name: -times[name]):
        p95 = milliseconds(statements[name].p95)
        lines.append(_row(name, p95, f"{100 * times[name] / whole:.0f} %", width, "muted", "strong"))
    found = slowest_recent(view)
    if found is not None:
        head: TextLine = (
            TextSpan(f"{_TITLE}  ", "title"),
            TextSpan(milliseconds(found.response_ms), "latency"),
        )
        parts = _wrap_parts(slow_parts(found, _STATEMENTS), width)
        lines += [(), head, *((TextSpan(part, "muted"),) for part in parts)]
    return [pad_line(line, width) for line in lines[:height]]


def _wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """The parts in lines; one is broken before its parenthesis, or if it is longer than a line."""
    lines: list[str] = []
    for text in ", ".join(parts).replace(", ", ",\n").replace(" (", "\n(").splitlines():
        if lines and len(lines[-1]) + 1 + len(text) <= width:
            lines[-1] += f" {text}"
        else:
            lines += wrap_text(text, width)
    return lines


def _row(name: str, p95: str, share: str, width: int, name_role: str, role: str) -> TextLine:
    room = width - _P95 - _SHARE
    return (
        TextSpan(f"{shorten(name, room - 1):<{room}}", name_role),
        TextSpan(f"{p95:>{_P95}}{share:>{_SHARE}}", role),
    )
