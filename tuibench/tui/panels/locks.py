"""Who blocks whom on the server: the culprit and its remedy in a box, below it those that wait as a tree.

The box shows the root of the selected session, or else the root that blocks the most. What its end would free
counts only sessions that wait for nobody else.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.base.units import hms, pluralize
from tuibench.metrics.figures import read
from tuibench.metrics.lock_graph import Branch, Root, lock_graph
from tuibench.model.server import KILL_NEEDS, Activity, Blocker, LockKind, ServerSession
from tuibench.tui.panels.lists import first_visible
from tuibench.tui.panels.settings import detail_lines, reason_hidden
from tuibench.tui.text import TextLine, TextSpan, draw_bars, justify, line_width, pad_line, shorten, wrap_text
from tuibench.tui.view import View

_TIME, _NAME, _TREND = 7, 18, 30
_FEWEST_ROWS = 2
"""The fewest rows of the tree that are shown."""
_STEMS = {False: ("├─ ", "└─ ", "│  "), True: ("|- ", "`- ", "|  ")}
"""For Unicode and ASCII: before a connection, before the last one, beside a deeper one."""
HELD = {
    LockKind.ROW: "",
    LockKind.METADATA: "metadata lock",
    LockKind.TABLE: "table lock",
    LockKind.FLUSH: "has the table open",
    LockKind.GLOBAL: "global lock",
    LockKind.USER: "user lock",
}


class LockRow(NamedTuple):
    """A row of the tree: a root, or a connection that waits."""

    id: int
    root: Root
    branch: Branch | None


def lock_rows(activity: Activity | None) -> list[LockRow]:
    """The rows of the tree from the top down: each root, and those that wait for it."""
    rows = []
    for root in lock_graph(activity.waits) if activity is not None else ():
        rows.append(LockRow(root.id, root, None))
        rows += [LockRow(branch.wait.waiting, root, branch) for branch in root.branches]
    return rows


def unlocked_sessions(activity: Activity | None) -> Activity | None:
    """The activity without the sessions in the tree."""
    if activity is None or not activity.waits:
        return activity
    ids = {row.id for row in lock_rows(activity)}
    return replace(activity, sessions=tuple(each for each in activity.sessions if each.id not in ids))


def known_session(activity: Activity | None, id: int | None) -> ServerSession | None:
    """What is known of a listed session or of one in the tree; None for any other."""
    if activity is None or id is None:
        return None
    for listed in activity.sessions:
        if listed.id == id:
            return listed
    for root in activity.blockers:
        if root.id == id:
            return ServerSession(
                id=id,
                user=root.user,
                host=root.host,
                database="",
                command=root.command,
                state=root.state,
                seconds=root.seconds,
                statement="" if root.is_idle else root.statement,
            )
    for wait in activity.waits:
        if wait.waiting == id:
            return ServerSession(
                id=id,
                user="tuibench" if wait.waiting_is_ours else "",
                host="",
                database="",
                command="Query",
                state=f"waits for a {wait.kind}",
                seconds=wait.seconds,
                statement=wait.waiting_statement,
            )
    return None


def why_not_ended(session: ServerSession, activity: Activity) -> str:
    """Why a session cannot be ended from here; empty if it can."""
    is_ours = any(
        (wait.waiting_is_ours and wait.waiting == session.id)
        or (wait.blocking_is_ours and wait.blocking == session.id)
        for wait in activity.waits
    ) or any(each.is_ours and each.id == session.id for each in activity.blockers)
    if not session.id:
        return "a prepared XA transaction has no connection: XA RECOVER lists it, XA ROLLBACK ends it"
    if is_ours:
        return f"connection {session.id} is one of tuibench's own: change the threads, or stop the load"
    if activity.ends_only and session.user and session.user != activity.ends_only:
        return (
            f"this login ({activity.ends_only}) may end only its own sessions: {KILL_NEEDS} ends those of "
            f"{session.user}"
        )
    return ""


def lock_panel(
    view: View, chosen: int | None, width: int, height: int, *, ascii_only: bool = False
) -> list[TextLine]:
    """Heading, the box of the culprit, and the tree scrolled to the chosen session."""
    activity, rows = view.activity, lock_rows(view.activity)
    if activity is None or not rows:
        return [_nothing(activity, width)][:height]
    row = next((each for each in rows if each.id == chosen), rows[0])
    box = _box(activity, row.root, rows, width)
    head = [_heading(view, activity, width, ascii_only=ascii_only), *box]
    # A single root has no row of its own: it is in the box.
    shown = [each for each in rows if each.branch is not None or not _is_single(rows)]
    room = max(height - len(head) - 1, 0)
    place = shown.index(row) if row in shown else 0
    first = first_visible(place, len(shown), room)
    listed = shown[first : first + room]
    id_width = max((len(_id_text(each, ascii_only=ascii_only)) for each in listed), default=0)
    tree = [
        _tree_line(activity, each, id_width, width, chosen=each.id == chosen, ascii_only=ascii_only)
        for each in listed
    ]
    names = f"{'waits':>{_TIME - 1}} {'id':<{id_width}}  {'table':<{_NAME}}statement"
    return [*head, pad_line((TextSpan(names, "muted"),), width), *tree][:height]


def lock_panel_height(view: View, width: int, most: int) -> int:
    """Rows of the panel, at most this many unless the culprit's box alone needs more."""
    rows = lock_rows(view.activity)
    if view.activity is None or not rows:
        return 1
    tree = len(rows) - _is_single(rows)
    head = 2 + max(len(_box(view.activity, row.root, rows, width)) for row in rows if row.branch is None)
    return head + max(min(tree, most - head), min(tree, _FEWEST_ROWS))


def _is_single(rows: Sequence[LockRow]) -> bool:
    return sum(row.branch is None for row in rows) == 1


def _nothing(activity: Activity | None, width: int) -> TextLine:
    title = TextSpan("LOCK WAITS", "title")
    if activity is None:
        return pad_line((title,), width)
    hidden = reason_hidden(activity, "lock waits") or reason_hidden(activity, "metadata locks")
    return pad_line((title, TextSpan(f"  {hidden or 'no session waits for a lock'}", "muted")), width)


def _heading(view: View, activity: Activity, width: int, *, ascii_only: bool) -> TextLine:
    """How many are blocked, since when nothing is committed, and the course of their number."""
    everyone = activity.others + sum(each.count for each in activity.own)
    words = f"  {activity.blocked:,} of {pluralize(everyone, 'session')} blocked"
    silent = _silent_seconds(view)
    if silent >= 1:
        words += f", no commit for {hms(silent)}"
    left: TextLine = (TextSpan("LOCK WAITS", "title"), TextSpan(words, "risk"))
    room = min(_TREND, width - line_width(left) - 16)
    if room < 8:
        return pad_line(left, width)
    values = [*(None,) * room, *view.blocked][-room:]
    (trend,) = draw_bars(values, max(view.blocked, default=0), 1, ascii_only=ascii_only)
    right = (
        TextSpan("blocked ", "muted"),
        TextSpan(trend, "risk"),
        TextSpan(f" {activity.blocked:>4,}", "strong"),
    )
    return justify(left, right, width)


def _silent_seconds(view: View) -> float:
    """The time without a transaction until the newest sample; 0 if that has some."""
    seconds = 0.0
    for sample in reversed(view.recent):
        if sample.throughput is None or read("tps", sample.throughput):
            break
        seconds += sample.tick.seconds
    return seconds


def _box(activity: Activity, root: Root, rows: Sequence[LockRow], width: int) -> list[TextLine]:
    roots = [row.root.id for row in rows if row.branch is None]
    title = "PROBABLE ROOT BLOCKER" if root.is_probable else "ROOT BLOCKER"
    if root.is_circle:
        title = "CIRCLE OF WAITS"
    if len(roots) > 1:
        title += f" {roots.index(root.id) + 1} of {len(roots)}"
    inside = width - 4
    content = _box_lines(activity, root, inside)
    border = f"┌ {title} {'─' * max(width - len(title) - 4, 0)}┐"
    return [
        pad_line((TextSpan(border, "risk"),), width),
        *((TextSpan("│ ", "risk"), *pad_line(line, inside), TextSpan(" │", "risk")) for line in content),
        pad_line((TextSpan(f"└{'─' * max(width - 2, 0)}┘", "risk"),), width),
    ]


def _box_lines(activity: Activity, root: Root, width: int) -> list[TextLine]:
    """Who the culprit is and what it holds, its statement, and the remedy."""
    known = next((each for each in activity.blockers if each.id == root.id), Blocker(id=root.id))
    wait = next((each.wait for each in root.branches if each.wait.blocking == root.id), None)
    age = known.seconds if known.open_seconds is None else known.open_seconds
    who = f"{root.id} {known.user}@{known.host.partition(':')[0]}" if known.user else str(root.id)
    if not root.id:
        who = "a prepared XA transaction"
    elif root.is_ours or known.is_ours:
        who += " (tuibench)"
    parts: list[TextSpan] = [TextSpan(who, "strong")]
    if root.id:
        parts.append(TextSpan(f"{known.doing.upper()} {hms(age)}", "risk"))
    if known.rows_locked:
        parts.append(TextSpan(f"{pluralize(known.rows_locked, 'row')} locked"))
    if wait is not None and (held := HELD[wait.kind]):
        parts.append(TextSpan(f"{held}{f' {wait.table}' * bool(wait.table)}"))
    first: TextLine = ()
    for part in parts:
        gap = (TextSpan("   "),) if first else ()
        first = (*first, *gap, part)
    label = "last: " if known.is_idle else "runs: "
    text = f"{'seen: ' if known.is_earlier else label}{known.statement}" if known.statement else ""
    lines = [first]
    room = width - line_width(first) - 3
    if text and room >= min(len(text), 40):
        lines = [(*first, TextSpan("   "), TextSpan(shorten(text, room), "muted"))]
    elif text:
        lines.append((TextSpan(shorten(text, width), "muted"),))
    lines.append(_remedy(root, known))
    if root.is_probable:
        why = "The server does not name the holder; it was inferred from the list of sessions."
        lines += [(TextSpan(piece, "muted"),) for piece in wrap_text(why, width)]
    return lines


def _remedy(root: Root, known: Blocker) -> TextLine:
    frees = f"frees {pluralize(root.frees, 'session')}"
    if root.is_circle:
        return (TextSpan(f"It waits itself for one that waits for it; its end {frees}.", "strong"),)
    if not root.id:
        return (TextSpan(f"XA RECOVER lists it; XA ROLLBACK or XA COMMIT {frees}.", "strong"),)
    if root.is_ours or known.is_ours:
        return (
            TextSpan("It is of tuibench's own load: it goes on by itself, or change the threads.", "strong"),
        )
    rolls = f"rolls back {pluralize(known.rows_changed, 'row')}, " if known.rows_changed else ""
    ends: TextLine = () if known.is_idle else (TextSpan("k", "key"), TextSpan(" end query   "))
    return (*ends, TextSpan("K", "key"), TextSpan(f" close connection: {rolls}{frees}", "strong"))


def _id_text(row: LockRow, *, ascii_only: bool) -> str:
    """The connection, indented by its place in the tree."""
    if row.branch is None:
        return str(row.id)
    middle, last, beside = _STEMS[ascii_only]
    *above, is_last = row.branch.lasts
    stem = "".join("   " if each else beside for each in above) + (last if is_last else middle)
    return f"{stem}{row.id}{' (tuibench)' if row.branch.wait.waiting_is_ours else ''}"


def _tree_line(
    activity: Activity, row: LockRow, id_width: int, width: int, *, chosen: bool, ascii_only: bool
) -> TextLine:
    text = f"{_id_text(row, ascii_only=ascii_only):<{id_width}}  "
    if row.branch is None:
        known = next((each for each in activity.blockers if each.id == row.id), Blocker(id=row.id))
        what = f"{known.user}@{known.host.partition(':')[0]}, {known.doing}, frees {row.root.frees}"
        line: TextLine = (TextSpan(" " * _TIME), TextSpan(text, "strong"), TextSpan(what, "risk"))
    else:
        wait = row.branch.wait
        table = wait.table.rpartition(".")[2] or str(wait.kind)
        time = f"{hms(wait.seconds):>{_TIME - 1}} "
        line = (
            TextSpan(time, "warn"),
            TextSpan(text, "strong"),
            TextSpan(f"{shorten(table, _NAME - 1):<{_NAME}}", "muted"),
            TextSpan(wait.waiting_statement or str(wait.kind)),
        )
    line = pad_line(line, width)
    return tuple(span._replace(role="selected") for span in line) if chosen else line


def session_detail(activity: Activity | None, id: int, width: int, height: int) -> list[TextLine]:
    """The statement of a session in full, and its plan."""
    detail = next((each for each in activity.details if each.id == id), None) if activity else None
    session = known_session(activity, id)
    who = f"  {session.user}@{session.host}" if session is not None and session.user else ""
    head: TextLine = (TextSpan(f"STATEMENT OF {id}", "title"), TextSpan(who, "muted"))
    return detail_lines(head, detail, width, height)
