"""The server's sessions as lines: who waits for whom, who does what and for how long, the last deadlock."""

import re

from tuibench.model.activity import (
    Activity,
    Deadlock,
    DeadlockParty,
    LockWait,
    OpenTransaction,
    OwnSessions,
    ServerSession,
)
from tuibench.tui.selection import Selection, first_shown
from tuibench.tui.spans import Line, Span, pad, shorten
from tuibench.units import clock

ID_WIDTH, TIME_WIDTH, WHO_WIDTH, STATE_WIDTH = 8, 8, 20, 18
WIDE = 110
"""From this width on there is room for the database and the state beside the statement."""

MOST_WAITS = 6
LACKING = re.compile(r"you need \(at least one of\) the ([\w ,]+) privilege")
"""The server's words for a privilege that a login has not."""


def waits(activity: Activity | None, width: int, height: int) -> list[Line]:
    """A heading and the longest waits."""
    if activity is None:
        return [pad((Span("LOCK WAITS", "title"),), width)][:height]
    found = activity.waits
    said = Span(f"  {len(found)}", "risk") if found else Span("  nobody waits for a row lock", "muted")
    if hidden := _hidden(activity, "lock waits"):
        said = Span(f"  {hidden}", "muted")
    heading = pad((Span("LOCK WAITS", "title"), said), width)
    who = max((len(_who_waits(wait)) for wait in found), default=0)
    table = max((len(wait.table) for wait in found), default=0)
    return [heading, *(_wait(wait, who, table, width) for wait in found)][:height]


def waits_height(activity: Activity | None) -> int:
    """How many rows they are worth."""
    return 1 + min(MOST_WAITS, len(activity.waits) if activity else 0)


def transactions(activity: Activity | None, width: int, height: int) -> list[Line]:
    """How many are open, and what the oldest of them holds."""
    title = Span("OPEN TRANSACTIONS", "title")
    if activity is None:
        return [pad((title,), width)][:height]
    told = activity.transactions
    if hidden := _hidden(activity, "open transactions"):
        said: Line = (Span(f"  {hidden}", "muted"),)
    elif not told:
        said = (Span("  none", "muted"),)
    else:
        said = (Span(f"  {activity.open_transactions:,}", "strong"), *_oldest(told[0]))
    return [pad((title, *said), width)][:height]


def _oldest(oldest: OpenTransaction) -> Line:
    who = _named(oldest.connection, oldest.is_ours) if oldest.connection else "no connection (XA)"
    holds = f" by {who}: {oldest.rows_locked:,} rows locked, {oldest.rows_changed:,} changed"
    return (Span("  the oldest ", "muted"), Span(clock(oldest.seconds), "strong"), Span(holds, "muted"))


def sessions(activity: Activity | None, selection: Selection, width: int, height: int) -> list[Line]:
    """A heading, a line for each session of others with the chosen one marked, then ours by their state."""
    if activity is None:
        return [pad((Span("asking the server for its sessions …", "muted"),), width)][:height]
    own = [_own(each, width) for each in activity.own][: max(1, height // 3)]
    room = height - 2 - len(own)
    listed = activity.sessions
    first = first_shown(selection.place, len(listed), room)
    ages = {each.connection: each.seconds for each in activity.transactions}
    lines = [
        _session(session, ages.get(session.id), width, chosen=session.id == selection.id)
        for session in listed[first : first + room]
    ]
    return [_heading(activity, width), _columns(width), *lines, *own][:height]


def deadlock(activity: Activity | None, width: int, height: int) -> list[Line]:
    """When the last deadlock was, and each of its transactions."""
    if activity is None:
        return []
    told = activity.deadlock
    if told is None:
        said = _hidden(activity, "the last deadlock") or "none since the server started"
        return [pad((Span("LAST DEADLOCK", "title"), Span(f"  {said}", "muted")), width)][:height]
    return [_deadlock_heading(told, width), *(_party(party, width) for party in told.parties)][:height]


def _hidden(activity: Activity, what: str) -> str:
    """Why this login does not see it, in few words; empty if it does."""
    reason = next((gap.partition(": ")[2] for gap in activity.gaps if gap.startswith(what)), "")
    if needed := LACKING.search(reason):
        return f"not to be seen: it takes the {needed[1]} privilege"
    return f"not to be seen: {reason}" if reason else ""


def _who_waits(wait: LockWait) -> str:
    blocking = _named(wait.blocking, wait.blocking_is_ours, is_idle=not wait.blocking_statement)
    return f"{_named(wait.waiting, wait.waiting_is_ours)} waits for {blocking}"


def _wait(wait: LockWait, who_width: int, table_width: int, width: int) -> Line:
    """The columns are as wide as the widest of all waits needs them."""
    statements = wait.waiting_statement
    if wait.blocking_statement:
        statements += f"  ←  {wait.blocking_statement}"
    line: Line = (
        Span(f"{clock(wait.seconds):>{TIME_WIDTH - 1}} ", "warn"),
        Span(f"{_who_waits(wait):<{who_width}}  ", "strong"),
        Span(f"{wait.table:<{table_width}}  " if table_width else "", "muted"),
        Span(statements),
    )
    return pad(line, width)


def _named(id: int, is_ours: bool, *, is_idle: bool = False) -> str:
    """A blocker without a statement is idle in its transaction."""
    marks = ["ours"] * is_ours + ["idle"] * is_idle
    return f"{id} ({', '.join(marks)})" if marks else str(id)


def _heading(activity: Activity, width: int) -> Line:
    shown, there = len(activity.sessions), activity.others
    ours = sum(own.count for own in activity.own)
    is_blind = bool(_hidden(activity, "open transactions"))
    nobody = "those of others are hidden from this login" if is_blind else "nobody else"
    others = f"  {there:,} of others" if there else f"  {nobody}"
    counted = others + (f", {shown} shown" if shown < there else "") + f", {ours:,} ours"
    return pad((Span("SESSIONS", "title"), Span(counted, "muted")), width)


def _columns(width: int) -> Line:
    state = f"{'database':<{STATE_WIDTH}}{'state':<{STATE_WIDTH}}" if width >= WIDE else ""
    text = f"{'id':>{ID_WIDTH}}{'time':>{TIME_WIDTH}}{'in trx':>{TIME_WIDTH}}  "
    text += f"{'user@host':<{WHO_WIDTH}}{state}statement"
    return pad((Span(text, "faint"),), width)


def _session(session: ServerSession, open_seconds: int | None, width: int, *, chosen: bool) -> Line:
    """One that sleeps in an open transaction stands out: what it locked stays locked."""
    who = _cell(f"{session.user}@{session.host.partition(':')[0]}", WHO_WIDTH)
    asleep = session.command == "Sleep"
    doing = session.statement or session.state or session.command
    middle = ""
    if width >= WIDE:
        middle = _cell(session.database, STATE_WIDTH) + _cell(session.state or session.command, STATE_WIDTH)
        doing = session.statement
    role = "selected" if chosen else "muted" if asleep else ""
    opened = f"{'' if open_seconds is None else clock(open_seconds):>{TIME_WIDTH}}"
    line: Line = (
        Span(f"{session.id:>{ID_WIDTH}}{clock(session.seconds):>{TIME_WIDTH}}", role),
        Span(opened, "warn" if asleep and not chosen else role),
        Span(f"  {who}{middle}{doing}", role),
    )
    return tuple(span._replace(role=span.role or role) for span in pad(line, width))


def _own(own: OwnSessions, width: int) -> Line:
    count = f"ours × {own.count:,}"
    what = ", ".join(part for part in (own.command, own.state) if part)
    time = Span(f"{'':>{ID_WIDTH}}{clock(own.seconds):>{TIME_WIDTH}}{'':>{TIME_WIDTH}}  ", "muted")
    database = " " * STATE_WIDTH if width >= WIDE else ""
    return pad((time, Span(_cell(count, WHO_WIDTH), "own"), Span(database + what, "muted")), width)


def _deadlock_heading(told: Deadlock, width: int) -> Line:
    tables = dict.fromkeys(table for party in told.parties for table in party.tables)
    text = f"  {told.at}  on {', '.join(tables)}" if tables else f"  {told.at}"
    return pad((Span("LAST DEADLOCK", "title"), Span(text, "muted")), width)


def _party(party: DeadlockParty, width: int) -> Line:
    fate = Span("rolled back  ", "risk") if party.rolled_back else Span("went on      ", "muted")
    return pad((Span(f"{party.connection:>{ID_WIDTH}}  "), fate, Span(party.statement)), width)


def _cell(text: str, width: int) -> str:
    """Text in a column of that width, with a blank behind it."""
    return f"{shorten(text, width - 1):<{width}}"
