"""Sessions panel: lock waits, sessions with their statements and times, the last deadlock."""

import re

from tuibench.model.measurements.activity import (
    Activity,
    DeadlockParty,
    LockWait,
    OpenTransaction,
    OwnSessions,
    ServerSession,
)
from tuibench.tui.panels.selection import Selection, first_visible
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line, shorten
from tuibench.units import hms, pluralize

ID_WIDTH, TIME_WIDTH, WHO_WIDTH, STATE_WIDTH = 8, 8, 20, 18
WIDE_SESSIONS = 110
"""Width from which database and state are shown beside the statement."""

MAX_WAITS = 6
MISSING_PRIVILEGE = re.compile(r"you need \(at least one of\) the ([\w ,]+) privilege")
"""The server's message for a missing privilege."""


def lock_waits(activity: Activity | None, width: int, height: int) -> list[TextLine]:
    """Heading and the longest waits."""
    if activity is None:
        return [pad_line((TextSpan("LOCK WAITS", "title"),), width)][:height]
    found = activity.waits
    number = (
        TextSpan(f"  {len(found)}", "risk")
        if found
        else TextSpan("  no session waits for a row lock", "muted")
    )
    if hidden := _reason_hidden(activity, "lock waits"):
        number = TextSpan(f"  {hidden}", "muted")
    heading = pad_line((TextSpan("LOCK WAITS", "title"), number), width)
    who = max((len(_wait_text(wait)) for wait in found), default=0)
    table = max((len(wait.table) for wait in found), default=0)
    return [heading, *(_wait_line(wait, who, table, width) for wait in found)][:height]


def lock_waits_height(activity: Activity | None) -> int:
    """Height of the lock waits in rows."""
    return 1 + min(MAX_WAITS, len(activity.waits) if activity else 0)


def open_transactions(activity: Activity | None, width: int, height: int) -> list[TextLine]:
    """Number of open transactions, and the resources held by the oldest."""
    title = TextSpan("OPEN TRANSACTIONS", "title")
    if activity is None:
        return [pad_line((title,), width)][:height]
    if hidden := _reason_hidden(activity, "open transactions"):
        text: TextLine = (TextSpan(f"  {hidden}", "muted"),)
    elif not activity.transactions:
        text = (TextSpan("  none", "muted"),)
    else:
        oldest = _oldest_transaction(activity.transactions[0])
        text = (TextSpan(f"  {activity.open_transactions:,}", "strong"), *oldest)
    return [pad_line((title, *text), width)][:height]


def _oldest_transaction(oldest: OpenTransaction) -> TextLine:
    who = _connection_text(oldest.connection, oldest.is_ours) if oldest.connection else "no connection (XA)"
    holds = f" by {who}: {pluralize(oldest.rows_locked, 'row')} locked, {oldest.rows_changed:,} changed"
    return (
        TextSpan("  the oldest ", "muted"),
        TextSpan(hms(oldest.seconds), "strong"),
        TextSpan(holds, "muted"),
    )


def matching_sessions(activity: Activity | None, words: str) -> list[ServerSession]:
    """The sessions of other clients that contain every word."""
    wanted = words.lower().split()
    listed = activity.sessions if activity else ()
    return [session for session in listed if all(word in _search_text(session) for word in wanted)]


def _search_text(session: ServerSession) -> str:
    who = f"{session.id} {session.user}@{session.host}"
    return f"{who} {session.database} {session.command} {session.state} {session.statement}".lower()


def session_list(
    activity: Activity | None, selection: Selection, width: int, height: int, words: str = ""
) -> list[TextLine]:
    """Heading, one line per foreign session with the selected one marked, then our own by state.

    With `words` only the sessions that contain them.
    """
    if activity is None:
        return [pad_line((TextSpan("reading the sessions …", "muted"),), width)][:height]
    is_filtered = bool(words.split())
    groups = () if is_filtered else activity.own
    own = [_own_sessions_line(each, width) for each in groups][: max(1, height // 3)]
    room = height - 2 - len(own)
    listed = matching_sessions(activity, words)
    first = first_visible(selection.place, len(listed), room)
    ages = {each.connection: each.seconds for each in activity.transactions}
    lines = [
        _session_line(session, ages.get(session.id), width, chosen=session.id == selection.id)
        for session in listed[first : first + room]
    ]
    heading = _matches_heading(activity, len(listed), width) if is_filtered else None
    return [heading or _sessions_heading(activity, width), _column_heads(width), *lines, *own][:height]


def last_deadlock(activity: Activity | None, width: int, height: int) -> list[TextLine]:
    """Time of the last deadlock, and each of its transactions."""
    if activity is None:
        return []
    deadlock = activity.deadlock
    if deadlock is None:
        text = _reason_hidden(activity, "the last deadlock") or "none since the server started"
        return [_deadlock_heading(text, width)][:height]
    tables = dict.fromkeys(table for party in deadlock.parties for table in party.tables)
    heading = _deadlock_heading(f"{deadlock.at}  on {', '.join(tables)}" if tables else deadlock.at, width)
    return [heading, *(_party_line(party, width) for party in deadlock.parties)][:height]


def _reason_hidden(activity: Activity, what: str) -> str:
    """Why this login cannot see it, in few words; empty if it can."""
    reason = next((gap.partition(": ")[2] for gap in activity.gaps if gap.startswith(what)), "")
    if needed := MISSING_PRIVILEGE.search(reason):
        return f"not visible: requires the {needed[1]} privilege"
    return f"not visible: {reason}" if reason else ""


def _wait_text(wait: LockWait) -> str:
    blocking = _connection_text(wait.blocking, wait.blocking_is_ours, is_idle=not wait.blocking_statement)
    return f"{_connection_text(wait.waiting, wait.waiting_is_ours)} waits for {blocking}"


def _wait_line(wait: LockWait, who_width: int, table_width: int, width: int) -> TextLine:
    """A lock wait in columns as wide as all waits need."""
    statements = wait.waiting_statement
    if wait.blocking_statement:
        statements += f"  ←  {wait.blocking_statement}"
    line: TextLine = (
        TextSpan(f"{hms(wait.seconds):>{TIME_WIDTH - 1}} ", "warn"),
        TextSpan(f"{_wait_text(wait):<{who_width}}  ", "strong"),
        TextSpan(f"{wait.table:<{table_width}}  " if table_width else "", "muted"),
        TextSpan(statements),
    )
    return pad_line(line, width)


def _connection_text(id: int, is_ours: bool, *, is_idle: bool = False) -> str:
    """The blocking connection; one without a statement is idle in its transaction."""
    marks = ["tuibench"] * is_ours + ["idle"] * is_idle
    return f"{id} ({', '.join(marks)})" if marks else str(id)


def _sessions_heading(activity: Activity, width: int) -> TextLine:
    shown, there = len(activity.sessions), activity.others
    ours = sum(own.count for own in activity.own)
    is_blind = bool(_reason_hidden(activity, "open transactions"))
    none = "others hidden from this login" if is_blind else "no others"
    others = f"{there:,} {'other' if there == 1 else 'others'}" if there else none
    counted = f"  {ours:,} tuibench {'session' if ours == 1 else 'sessions'}, {others}"
    counted += f", {shown} shown" if shown < there else ""
    return pad_line((TextSpan("SESSIONS", "title"), TextSpan(counted, "muted")), width)


def _matches_heading(activity: Activity, matches: int, width: int) -> TextLine:
    counted = f"  {matches} of the {len(activity.sessions)} shown match; esc shows all"
    return pad_line((TextSpan("SESSIONS", "title"), TextSpan(counted, "muted")), width)


def _column_heads(width: int) -> TextLine:
    state = f"{'database':<{STATE_WIDTH}}{'state':<{STATE_WIDTH}}" if width >= WIDE_SESSIONS else ""
    text = f"{'id':>{ID_WIDTH}}{'time':>{TIME_WIDTH}}{'in trx':>{TIME_WIDTH}}  "
    text += f"{'user@host':<{WHO_WIDTH}}{state}statement"
    return pad_line((TextSpan(text, "muted"),), width)


def _session_line(session: ServerSession, open_seconds: int | None, width: int, *, chosen: bool) -> TextLine:
    """Line of a session; one that sleeps in an open transaction is highlighted, as it keeps its locks."""
    who = _padded_cell(f"{session.user}@{session.host.partition(':')[0]}", WHO_WIDTH)
    asleep = session.command == "Sleep"
    doing = session.statement or session.state or session.command
    middle = ""
    if width >= WIDE_SESSIONS:
        middle = _padded_cell(session.database, STATE_WIDTH) + _padded_cell(
            session.state or session.command, STATE_WIDTH
        )
        doing = session.statement
    role = "selected" if chosen else "muted" if asleep else ""
    opened = f"{'' if open_seconds is None else hms(open_seconds):>{TIME_WIDTH}}"
    line: TextLine = (
        TextSpan(f"{session.id:>{ID_WIDTH}}{hms(session.seconds):>{TIME_WIDTH}}", role),
        TextSpan(opened, "warn" if asleep and not chosen else role),
        TextSpan(f"  {who}{middle}{doing}", role),
    )
    return tuple(span._replace(role=span.role or role) for span in pad_line(line, width))


def _own_sessions_line(own: OwnSessions, width: int) -> TextLine:
    count = f"tuibench × {own.count:,}"
    what = ", ".join(part for part in (own.command, own.state) if part)
    time = TextSpan(f"{'':>{ID_WIDTH}}{hms(own.seconds):>{TIME_WIDTH}}{'':>{TIME_WIDTH}}  ", "muted")
    database = " " * STATE_WIDTH if width >= WIDE_SESSIONS else ""
    return pad_line(
        (time, TextSpan(_padded_cell(count, WHO_WIDTH), "own"), TextSpan(database + what, "muted")), width
    )


def _deadlock_heading(text: str, width: int) -> TextLine:
    return pad_line((TextSpan("LAST DEADLOCK", "title"), TextSpan(f"  {text}", "muted")), width)


def _party_line(party: DeadlockParty, width: int) -> TextLine:
    fate = TextSpan("rolled back  ", "risk") if party.rolled_back else TextSpan("continued    ", "muted")
    return pad_line((TextSpan(f"{party.connection:>{ID_WIDTH}}  "), fate, TextSpan(party.statement)), width)


def _padded_cell(text: str, width: int) -> str:
    """Text in a column of that width, with a trailing blank."""
    return f"{shorten(text, width - 1):<{width}}"
