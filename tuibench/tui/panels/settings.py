"""Tables of settings, of the server's sessions, and of its statements."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.base.units import DASH, count, hms, milliseconds, pluralize, si, three_digits
from tuibench.model.server import (
    Activity,
    DeadlockParty,
    Flavour,
    OpenTransaction,
    OwnSessions,
    ServerSession,
    StatementDetail,
    StatementFigures,
    StatementReport,
    StatementRow,
)
from tuibench.model.settings import SettingState, SettingTopic, brief_change, consequence
from tuibench.tui.panels.lists import Selection, first_visible
from tuibench.tui.text import TextLine, TextSpan, fit_line, line_width, pad_line, shorten, wrap_text
from tuibench.tui.view import View

WIDE_SETTINGS = 112
"""Width from which the meaning of a value is shown."""

WIDEST = 150
"""Width from which the author of a change is shown beside the meaning."""

MARGIN_WIDTH = 3
NAME_WIDTH = 42
"""Width of the names if meanings are shown: the longest name fits."""

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


def matching_settings(
    settings: Sequence[SettingState], words: str, *, with_foreign: bool = False
) -> list[int]:
    """Indices of the settings that contain every word in name, topic, value, meaning, risk or author.

    Without words, settings that the server's flavour does not have are included only `with_foreign`.
    """
    wanted = words.lower().split()
    return [
        place
        for place, setting in enumerate(settings)
        if all(word in _search_text(setting) for word in wanted)
        and (wanted or with_foreign or not setting.only)
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


def _column_widths(width: int) -> tuple[int, int, int]:
    """Widths of name, value and meaning; 0 for a meaning that is not shown."""
    room = width - MARGIN_WIDTH
    if width < WIDE_SETTINGS:
        name = min(NAME_WIDTH, room * 6 // 11)
        return name, room - name, 0
    value = VALUE_WIDTH if width < WIDEST else WIDE_VALUE_WIDTH
    return NAME_WIDTH, value, room - NAME_WIDTH - value


def _column_heads(width: int) -> TextLine:
    name, value, meaning = _column_widths(width)
    text = f"{'':{MARGIN_WIDTH}}{'setting':{name}}{'now':{value}}"
    return pad_line((TextSpan(f"{text}meaning" if meaning else text.rstrip(), "muted"),), width)


def _setting_row(setting: SettingState, number: int, width: int, *, chosen: bool) -> TextLine:
    name_width, value_width, meaning_width = _column_widths(width)
    name = f" {'▸' if chosen else ' '} {_padded_cell(setting.name, name_width)}"
    why = _unavailable_text(setting)
    # If space is short, only the consequence of a value is shown, without its mechanism.
    meanings = (setting.meaning, consequence(setting.meaning))
    whole, brief = (" · ".join(filter(None, (why, meaning))) for meaning in meanings)
    cells = (
        TextSpan(name, "muted" if setting.unavailable else ""),
        *pad_line(_value_cell(setting, "" if meaning_width else why, value_width - 1), value_width),
        TextSpan(shorten(whole if len(whole) <= meaning_width else brief, meaning_width), "muted"),
    )
    action = f"screen.pick({number})"
    line = pad_line(tuple(span._replace(action=action) for span in cells), width)
    return tuple(span._replace(role="selected") for span in line) if chosen else line


def _value_cell(setting: SettingState, why: str, room: int) -> TextLine:
    """The value; if there is room, also the value before the change with its author, or `why`, the reason for
    a missing value.
    """
    value = TextSpan(
        f"{_value_text(setting.value)}{' ▲' * setting.at_risk}",
        "risk" if setting.at_risk else "strong" if setting.value else "muted",
    )
    texts: Sequence[str] = (why,)
    role = "muted"
    if setting.changed_by:
        texts = (_changed_text(setting), f"was {original_value(setting)}", "changed")
        role = CHANGED_BY_TEXT[setting.changed_by][1]
    left = room - line_width((value,)) - 1
    state = next((text for text in texts if len(text) <= left), "")
    return fit_line((value, TextSpan(f" {state}", role)) if state else (value,), room)


def _changed_text(setting: SettingState) -> str:
    return f"was {_value_text(original_value(setting))}, changed by {CHANGED_BY_TEXT[setting.changed_by][0]}"


def setting_detail(
    setting: SettingState | None, width: int, height: int, *, on_restart: str = ""
) -> list[TextLine]:
    """Meaning of the value, risk of a change, valid values, affected sessions, and required privilege.

    `on_restart` is the command that tries values that require a restart.
    """
    if setting is None:
        return []
    needs = f"allowed for this login; requires {' or '.join(setting.needs)}" if setting.needs else ""
    may = f"not here: {setting.unavailable}" if setting.unavailable else needs or "no privilege required"
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
        (
            "risk",
            setting.risk
            if setting.value not in setting.choices or setting.at_risk or not setting.risky
            else f"of other values: {setting.risk}",
            "warn",
        ),
        ("takes", f"{setting.takes}, {SCOPE_TEXT[setting.scope]}" if setting.takes else "", ""),
        ("to change", may, "risk" if setting.unavailable else ""),
        ("to try it", on_restart, "strong"),
        ("shows in", ", ".join(setting.counters), "muted"),
    )
    lines = [
        line for label, text, role in entries if text for line in _detail_entry(label, text, role, width)
    ]
    if len(lines) > height > 0:
        # The last line indicates that there are more.
        head, last = lines[height - 1]
        lines[height - 1] = (head, last._replace(text=f"{last.text.rstrip(', ')} …"))
    return [pad_line(line, width) for line in lines[:height]]


def original_value(setting: SettingState) -> str:
    """Value to restore: before our first change, or at the start of the session."""
    return setting.original if setting.changed_by == "us" else setting.began or setting.original


def _detail_entry(label: str, text: str, role: str, width: int) -> list[TextLine]:
    pieces = wrap_text(text, width - _LABEL_WIDTH - 1)
    heads = [f" {label:{_LABEL_WIDTH}}", *[" " * (_LABEL_WIDTH + 1)] * len(pieces)]
    return [
        (TextSpan(head, "muted"), TextSpan(piece, role)) for head, piece in zip(heads, pieces, strict=False)
    ]


def _value_text(value: str) -> str:
    return value or DASH


def _padded_cell(text: str, width: int) -> str:
    """Text in a column of that width, with a trailing blank."""
    return f"{shorten(text, width - 1):<{width}}"


def _search_text(setting: SettingState) -> str:
    changed = f"changed by {CHANGED_BY_TEXT[setting.changed_by][0]}" if setting.changed_by else ""
    words = (setting.name, setting.topic, setting.value, setting.meaning, setting.risk, changed)
    return " ".join((*words, _unavailable_text(setting))).lower()


def _unavailable_text(setting: SettingState) -> str:
    """The reason why the setting cannot be changed, in few words; empty if it can."""
    if setting.only:
        return f"{setting.only} only"
    if setting.requires_restart:
        return "needs a restart"
    if not setting.unavailable:
        return ""
    return "read-only" if setting.value else "not available"


def restart_command(setting: SettingState, profile: str, flavour: str) -> str:
    """The command that compares values of a setting on private servers, each of which starts with one
    value.
    """
    program = "mysqld" if flavour == Flavour.MYSQL else "mariadbd"
    others = [value for value in setting.choices if value != setting.value]
    values = ",".join([setting.value, *others][:2])
    return f"tuibench run {profile} --ab {setting.name}={values} --server {program}"


ID_WIDTH, TIME_WIDTH, WHO_WIDTH, STATE_WIDTH = 8, 8, 20, 18
WIDE_SESSIONS = 110
"""Width from which database and state are shown beside the statement."""

MISSING_PRIVILEGE = re.compile(r"you need \(at least one of\) the ([\w ,]+) privilege")
"""The server's message for a missing privilege."""


def open_transactions(activity: Activity | None, width: int, height: int) -> list[TextLine]:
    """Number of open transactions, and the resources held by the oldest."""
    title = TextSpan("OPEN TRANSACTIONS", "title")
    if activity is None:
        return [pad_line((title,), width)][:height]
    if hidden := reason_hidden(activity, "open transactions"):
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
        TextSpan("  oldest ", "muted"),
        TextSpan(hms(oldest.seconds), "strong"),
        TextSpan(holds, "muted"),
    )


def matching_sessions(activity: Activity | None, words: str) -> list[ServerSession]:
    """The sessions of other clients that contain every word."""
    wanted = words.lower().split()
    found = []
    for each in activity.sessions if activity else ():
        text = (
            f"{each.id} {each.user}@{each.host} {each.database} {each.command} {each.state} {each.statement}"
        )
        if all(word in text.lower() for word in wanted):
            found.append(each)
    return found


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
    place = next((place for place, each in enumerate(listed) if each.id == selection.id), 0)
    first = first_visible(place, len(listed), room)
    ages = {each.connection: each.seconds for each in activity.transactions}
    lines = [
        _session_line(session, ages.get(session.id), width, chosen=session.id == selection.id)
        for session in listed[first : first + room]
    ]
    matches = f"{len(listed)} of the {len(activity.sessions)} shown match; esc shows all"
    heading = _heading("SESSIONS", matches if is_filtered else _session_counts(activity), width)
    state = f"{'database':<{STATE_WIDTH}}{'state':<{STATE_WIDTH}}" if width >= WIDE_SESSIONS else ""
    columns = f"{'id':>{ID_WIDTH}}{'time':>{TIME_WIDTH}}{'in trx':>{TIME_WIDTH}}  {'user@host':<{WHO_WIDTH}}"
    heads = pad_line((TextSpan(f"{columns}{state}statement", "muted"),), width)
    return [heading, heads, *lines, *own][:height]


def last_deadlock(activity: Activity | None, width: int, height: int) -> list[TextLine]:
    """Time of the last deadlock, and each of its transactions."""
    if activity is None:
        return []
    deadlock = activity.deadlock
    if deadlock is None:
        text = reason_hidden(activity, "the last deadlock") or "none since the server started"
        return [_heading("LAST DEADLOCK", text, width)][:height]
    tables = dict.fromkeys(table for party in deadlock.parties for table in party.tables)
    text = f"{deadlock.at}  on {', '.join(tables)}" if tables else deadlock.at
    lines = [_heading("LAST DEADLOCK", text, width), *(_party_line(each, width) for each in deadlock.parties)]
    return lines[:height]


def _heading(title: str, note: str, width: int) -> TextLine:
    return pad_line((TextSpan(title, "title"), TextSpan(f"  {note}", "muted")), width)


def reason_hidden(activity: Activity, what: str) -> str:
    """The reason why this login cannot see `what`, in few words; empty if it can."""
    reason = next((gap.partition(": ")[2] for gap in activity.gaps if gap.startswith(what)), "")
    if needed := MISSING_PRIVILEGE.search(reason):
        return f"not visible: requires the {needed[1]} privilege"
    return f"not visible: {reason}" if reason else ""


def _connection_text(id: int, is_ours: bool) -> str:
    return f"{id} (tuibench)" if is_ours else str(id)


def _session_counts(activity: Activity) -> str:
    shown, there = len(activity.sessions), activity.others
    ours = sum(own.count for own in activity.own)
    is_blind = bool(reason_hidden(activity, "open transactions"))
    none = "others hidden from this login" if is_blind else "no others"
    others = f"{there:,} {'other' if there == 1 else 'others'}" if there else none
    counted = f"{pluralize(ours, 'tuibench session')}, {others}"
    return counted + (f", {shown} shown" if shown < there else "")


def _session_line(session: ServerSession, open_seconds: int | None, width: int, *, chosen: bool) -> TextLine:
    """Line of a session. A session that sleeps in an open transaction is highlighted: it keeps its locks."""
    who = _padded_cell(f"{session.user}@{session.host.partition(':')[0]}", WHO_WIDTH)
    asleep = session.command == "Sleep"
    doing = session.statement or session.state or session.command
    middle = ""
    if width >= WIDE_SESSIONS:
        states = (session.database, session.state or session.command)
        middle = "".join(_padded_cell(text, STATE_WIDTH) for text in states)
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
        (time, TextSpan(_padded_cell(count, WHO_WIDTH), "own"), TextSpan(database + what, "muted")),
        width,
    )


def _party_line(party: DeadlockParty, width: int) -> TextLine:
    fate = TextSpan("rolled back  ", "risk") if party.rolled_back else TextSpan("continued    ", "muted")
    return pad_line((TextSpan(f"{party.connection:>{ID_WIDTH}}  "), fate, TextSpan(party.statement)), width)


_SOURCE = 9
_LEAST_TEXT = 24
_SHORT_MS = 0.1


class _Column(NamedTuple):
    """A column of the statements."""

    title: str
    width: int
    write: Callable[[StatementFigures, float], str]
    """Returns the text of a cell, given the figures and the seconds in which they were counted."""


def _share(figures: StatementFigures, seconds: float) -> str:
    """Execution time per second: the mean number of concurrent executions."""
    return f"{figures.total_ms / 1000 / seconds:.2f}" if seconds else DASH


def _each(value: float | None, figures: StatementFigures) -> float | None:
    return None if value is None else value / figures.calls


def _duration(ms: float | None) -> str:
    """A time per call, in microseconds if it is short."""
    if ms is None or ms >= _SHORT_MS or not ms:
        return milliseconds(ms, in_column=True)
    return f"{three_digits(ms * 1000)} µs"


def _rows_each(figures: StatementFigures, _: float) -> str:
    each = _each(figures.rows_examined, figures)
    return DASH if each is None else count(each) if each >= 10 else f"{each:.1f}"


MOST_NEEDED = (
    _Column("load", 7, _share),
    _Column("calls/s", 9, lambda figures, seconds: si(figures.calls / seconds) if seconds else DASH),
    _Column("avg", 10, lambda figures, _: _duration(figures.avg_ms)),
    _Column("p95", 10, lambda figures, _: _duration(figures.p95_ms)),
)
FURTHER = (
    _Column("rows/call", 12, _rows_each),
    _Column("lock/call", 12, lambda figures, _: _duration(_each(figures.lock_ms, figures))),
    _Column("CPU/call", 12, lambda figures, _: _duration(_each(figures.cpu_ms, figures))),
)
BEFORE = MOST_NEEDED[1:]
"""Columns with the figures before a change."""


def statements_panel(view: View, chosen: str, width: int, height: int) -> list[TextLine]:
    """Title, heading, one row per statement with the chosen key in sight, and a note on unreadable data."""
    report = view.statements
    if report is None:
        waiting = TextSpan("  reading the statements …", "muted")
        return [pad_line((TextSpan("STATEMENTS", "title"), waiting), width)]
    gaps = [(TextSpan(line, "muted"),) for gap in report.gaps for line in wrap_text(f"· {gap}", width)]
    columns, before = _columns(report, width)
    room = max(height - 3 - len(gaps), 1)
    place = next((place for place, row in enumerate(report.rows) if row.key == chosen), 0)
    first = first_visible(place, len(report.rows), room)
    rows = [
        _row(row, report, columns, before, width, chosen=bool(chosen) and row.key == chosen)
        for row in report.rows[first : first + room]
    ]
    if not rows:
        rows = [(TextSpan("no statements in this span yet", "muted"),)]
    # Headings; the columns with figures before a change begin with a bar.
    now = "".join(f"{column.title:>{column.width}}" for column in columns)
    earlier = "".join(f"{column.title:>{column.width}}" for column in before)
    bar = f" │{earlier}  ← the {report.before_seconds:.0f} s before" if before else ""
    lines = [
        _title(report, width),
        (TextSpan(f"{now}{bar}", "muted"),),
        *rows,
        (),
        *gaps,
    ]
    return [pad_line(line, width) for line in lines][:height]


def _title(report: StatementReport, width: int) -> TextLine:
    head, room = f"  by time on the server, the {report.seconds:.0f} s since ", width - len("STATEMENTS")
    since = brief_change(report.change, room - len(head)) if report.change else "the first request"
    return (TextSpan("STATEMENTS", "title"), TextSpan(shorten(head + since, room), "muted"))


def _columns(report: StatementReport, width: int) -> tuple[tuple[_Column, ...], tuple[_Column, ...]]:
    """The columns that fit beside a readable text of the statement. Columns with figures before a change take
    precedence over less important ones.
    """
    chosen, before = list(MOST_NEEDED), BEFORE if report.before_seconds else ()
    room = width - _LEAST_TEXT - _SOURCE - sum(column.width for column in chosen)
    if before and room >= sum(column.width for column in before) + 2:
        room -= sum(column.width for column in before) + 2
    else:
        before = ()
    for column in FURTHER:
        if room >= column.width:
            chosen.append(column)
            room -= column.width
    return tuple(chosen), before


def _row(
    row: StatementRow,
    report: StatementReport,
    columns: tuple[_Column, ...],
    before: tuple[_Column, ...],
    width: int,
    *,
    chosen: bool,
) -> TextLine:
    now = "".join(f"{column.write(row.now, report.seconds):>{column.width}}" for column in columns)
    line: TextLine = (TextSpan(now, "strong"),)
    if before:
        cells = "".join(
            f"{column.write(row.before, report.before_seconds) if row.before else DASH:>{column.width}}"
            for column in before
        )
        line = (*line, TextSpan(f" │{cells}", "muted"))
    taken = sum(len(span.text) for span in line)
    source = f"  {row.source:<{_SOURCE - 2}} "
    line = (
        *line,
        TextSpan(source, "muted"),
        TextSpan(shorten(row.text, max(width - taken - len(source), 1))),
    )
    return tuple(span._replace(role="selected") for span in pad_line(line, width)) if chosen else line


def statement_detail(view: View, key: str, width: int, height: int) -> list[TextLine]:
    """The statement of a key in full, its figures, and its plan."""
    report = view.statements
    row = next((row for row in report.rows if row.key == key), None) if report is not None else None
    found = report.detail if report is not None else None
    head: TextLine = (TextSpan("STATEMENT", "title"),)
    if report is not None and row is not None:
        figures = f"  {si(row.now.calls / report.seconds)} calls/s" if report.seconds else ""
        figures += f", {_duration(row.now.avg_ms)} each, by the {row.source}"
        head = (*head, TextSpan(figures, "muted"))
    return detail_lines(head, found if found is not None and found.key == key else None, width, height)


def detail_lines(head: TextLine, detail: StatementDetail | None, width: int, height: int) -> list[TextLine]:
    """A statement in full and its plan below a heading; what was asked for and is not yet known is None."""
    if detail is None:
        return [pad_line(line, width) for line in (head, (TextSpan("reading …", "muted"),))][:height]
    lines: list[TextLine] = [head, *((TextSpan(text),) for text in wrap_text(detail.statement, width))]
    if detail.plan:
        lines += [(), (TextSpan("PLAN", "title"), TextSpan("  by EXPLAIN, without executing it", "muted"))]
        rows = _fitting_plan(detail.plan, width)
        widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
        for place, row in enumerate(rows):
            cells = "".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True))
            lines.append((TextSpan(cells.rstrip(), "" if place else "muted"),))
    if detail.note:
        note = f"{detail.note[:1].upper()}{detail.note[1:]}."
        lines += [(), *((TextSpan(text, "muted"),) for text in wrap_text(note, width))]
    return [pad_line(line, width) for line in lines][:height]


LEAST_OF_PLAN = ("select_type", "filtered", "ref", "possible_keys", "id")
"""Columns of a plan that a narrow screen leaves out, the first one first."""


def _fitting_plan(plan: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    rows = [list(row) for row in plan]
    for name in LEAST_OF_PLAN:
        if sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) <= width + 2:
            break
        if name in rows[0]:
            place = rows[0].index(name)
            rows = [[*row[:place], *row[place + 1 :]] for row in rows]
    return rows
