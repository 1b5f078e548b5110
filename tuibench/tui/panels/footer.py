"""The lines at the bottom: what the session answered, a screen's own keys, and the keys of all screens."""

from collections.abc import Sequence

from tuibench.model.message import RunState
from tuibench.tui.actions import ACTIONS, Action, key_of, offered, possible
from tuibench.tui.panels.work import work
from tuibench.tui.spans import Line, Span, pad, shorten, width_of
from tuibench.tui.view import View

GAP = 2


def note(view: View, width: int, height: int) -> list[Line]:
    """The session's last answer, in its own words. Work that is under way outweighs any answer."""
    if under_way := work(view, width):
        line: Line = under_way
    elif view.note is None:
        line = ()
    else:
        glyph, role = ("✓ ", "ok") if view.note.ok else ("✗ ", "risk")
        line = (Span(glyph, role), Span(shorten(view.note.text, width - 2), "" if view.note.ok else "risk"))
    return [pad(line, width)][:height]


def footer(view: View, width: int, height: int) -> list[Line]:
    """Every key once; keys that do nothing now are dimmed. Each can be clicked.

    Where there is no room for all, the rare ones are left out, the last one first; the help has them.
    """
    shown = [action for action in ACTIONS if action.in_footer and offered(action, view)]
    rare = [action for action in shown if action.rare]
    while width_of(line := _keys(shown, view)) > width and rare:
        shown.remove(rare.pop())
    return [pad(line, width)][:height]


def own_keys(entries: Sequence[tuple[str, str]], view: View, width: int, height: int) -> list[Line]:
    """The keys that mean something on one screen only: key and word."""
    line: Line = ()
    for key, label in entries:
        line = (*line, Span(key, "key"), Span(f" {label}", "muted"), Span(" " * GAP))
    return [pad(line, width)][:height]


def _keys(actions: Sequence[Action], view: View) -> Line:
    """The keys in a row, without the gap after the last one."""
    line: Line = ()
    for number, action in enumerate(actions):
        following = actions[number + 1] if number + 1 < len(actions) else None
        line = (*line, *_key(action, view, ends_group=following is None or following.label != action.label))
    return line[:-1]


def _key(action: Action, view: View, *, ends_group: bool) -> Line:
    enabled = possible(action, view)
    key = Span(key_of(action, view), "key" if enabled else "faint", f"app.act('{action.name}')")
    if not ends_group:
        return (key, Span(" "))
    label = _label(action, view)
    return (key, Span(f" {label}", "muted" if enabled else "faint"), Span(" " * GAP))


def _label(action: Action, view: View) -> str:
    """`pause` says what it would do now; who may only look leaves, and does not stop anything."""
    paused = view.status.state is RunState.PAUSED if view.replay is None else view.replay.paused
    if action.name == "pause" and paused:
        return "resume"
    if action.name == "stop" and view.only_looks:
        return "quit"
    return action.label
