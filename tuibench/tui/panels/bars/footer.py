"""Footer: the session's reply, the keys of the screen, and the keys of all screens.

Long operations (opening, warming up, restoring) show their progress and the key that ends them.
"""

from collections.abc import Sequence

from tuibench.model.message import RunState
from tuibench.tui.commands.actions import ACTIONS, UserAction, action_key, is_offered, is_possible
from tuibench.tui.panels.bars.verdict import coach_line
from tuibench.tui.text.spans import TextLine, TextSpan, fit_line, join_parts, line_width, pad_line, shorten
from tuibench.tui.view import MessageLine, View
from tuibench.units import hms

_BAR_WIDTH = 24
QUIT_AGAIN_HINT = "q again leaves without waiting"


def pending_work(view: View, width: int) -> TextLine:
    """One line about the operation in progress; empty while the load runs."""
    if view.stopping:
        return fit_line(_stopping_line(view), width)
    match view.status.state:
        case RunState.STARTING:
            work = "connecting" if view.is_watch else f"opening {view.status.threads:,} connections"
            return fit_line(_work_line("○ ", work, "q ends it"), width)
        case RunState.WARMING:
            return fit_line(_warmup_line(view), width)
        case _:
            return ()


def _work_line(glyph: str, words: str, key: str) -> TextLine:
    return (TextSpan(glyph, "warn"), TextSpan(words, "warn"), TextSpan(f"   {key}", "muted"))


def _warmup_line(view: View) -> TextLine:
    """Progress of the warm-up: its time runs from a negative value up to zero."""
    whole = view.plan.warmup_seconds
    left = min(max(-view.elapsed_seconds, 0.0), whole) if view.points else whole
    done = round((whole - left) / whole * _BAR_WIDTH) if whole else _BAR_WIDTH
    bar = (TextSpan("█" * done, "warn"), TextSpan("·" * (_BAR_WIDTH - done), "faint"))
    return (
        TextSpan("◐ ", "warn"),
        TextSpan("warming up ", "warn"),
        *bar,
        TextSpan(f" {hms(left)} left", "strong"),
        TextSpan("   q ends it", "muted"),
    )


def _stopping_line(view: View) -> TextLine:
    """Progress of stopping: what the session is restoring."""
    ours = [setting.name for setting in view.status.settings if setting.changed_by == "us"]
    count = f"{len(ours)} setting{'s' if len(ours) > 1 else ''}"
    what = f"stopping, restoring {count}…" if ours else "stopping, writing the summary…"
    return (*_work_line("■ ", what, QUIT_AGAIN_HINT), TextSpan(f"   {', '.join(ours)}", "muted"))


KEY_GAP = 2


def message_line(view: View, width: int, height: int) -> list[TextLine]:
    """The session's last reply, verbatim; otherwise the coach line. Pending work takes precedence."""
    if under_way := pending_work(view, width):
        line: TextLine = under_way
    elif view.note is None:
        line = coach_line(view)
    else:
        line = _note_line(view.note, width)
    return [pad_line(line, width)][:height]


def _note_line(note: MessageLine, width: int) -> TextLine:
    """The reply with a glyph: done, refused, or a hint."""
    if note.is_hint:
        glyph, role, text_role = "→ ", "server", ""
    else:
        glyph, role, text_role = ("✓ ", "ok", "") if note.ok else ("✗ ", "risk", "risk")
    return (TextSpan(glyph, role), TextSpan(shorten(note.text, width - 2), text_role))


def footer(view: View, width: int, height: int) -> list[TextLine]:
    """Every key once, clickable; keys that do nothing now are dimmed.

    If space is short, the rarest keys are left out first, of these the last one; the help lists them.
    """
    shown = [action for action in ACTIONS if action.in_footer and is_offered(action, view)]
    rare = sorted((action for action in shown if action.rarity), key=lambda action: action.rarity)
    while line_width(line := _key_row(shown, view)) > width and rare:
        shown.remove(rare.pop())
    return [pad_line(line, width)][:height]


def screen_keys(entries: Sequence[tuple[str, str]], view: View, width: int, height: int) -> list[TextLine]:
    """Keys that apply to one screen only: key and label."""
    parts = [(TextSpan(key, "key"), TextSpan(f" {label}", "muted")) for key, label in entries]
    line = join_parts(parts, TextSpan(" " * KEY_GAP))
    return [pad_line(line, width)][:height]


def _key_row(actions: Sequence[UserAction], view: View) -> TextLine:
    """The keys in a row, without a trailing gap."""
    line: TextLine = ()
    for number, action in enumerate(actions):
        following = actions[number + 1] if number + 1 < len(actions) else None
        line = (
            *line,
            *_key_spans(action, view, ends_group=following is None or following.label != action.label),
        )
    return line[:-1]


def _key_spans(action: UserAction, view: View, *, ends_group: bool) -> TextLine:
    enabled = is_possible(action, view)
    key = TextSpan(action_key(action, view), "key" if enabled else "faint", f"app.act('{action.name}')")
    if not ends_group:
        return (key, TextSpan(" "))
    label = _action_label(action, view)
    return (key, TextSpan(f" {label}", "muted" if enabled else "faint"), TextSpan(" " * KEY_GAP))


def _action_label(action: UserAction, view: View) -> str:
    """Label of an action in the current state: `pause` becomes `resume`, `stop` of a viewer `quit`."""
    paused = view.status.state is RunState.PAUSED if view.replay is None else view.replay.paused
    if action.name == "pause" and paused:
        return "resume"
    if action.name == "mark" and view.caption is not None and not view.caption.is_over:
        return "continue"
    if action.name == "stop" and view.cannot_steer:
        return "quit"
    return action.label
