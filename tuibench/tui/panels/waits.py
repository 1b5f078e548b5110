"""The screen "Time": the run's connections by what they do or wait for, over time and per transaction.

The chart stacks the mean number of connections in each class, without those that have nothing to do (client).
The table lists the same classes from the top of the stack down, so that a row keeps its place, and the
client's below them; together they add up to all connections.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.base import units
from tuibench.base.units import DASH, axis_maximum
from tuibench.metrics.wait_changes import effect_reason
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.server import HotRow
from tuibench.tui.charts import TimeAccount, whole_account
from tuibench.tui.panels.time_chart import AXIS_WIDTH, STACKED, StackPart, is_told_by_glyphs, stacked_chart
from tuibench.tui.text import (
    TextLine,
    TextSpan,
    join_parts,
    line_width,
    pad_line,
    share_runs,
    shorten,
    wrap_text,
)
from tuibench.tui.view import View, chart_points

LOOKS: dict[WaitClass, tuple[str, str]] = {
    WaitClass.CPU: ("C", "tps"),
    WaitClass.RUN_QUEUE: ("q", STACKED + "tps"),
    WaitClass.ROW_LOCK: ("R", "risk"),
    WaitClass.METADATA_LOCK: ("L", STACKED + "risk"),
    WaitClass.COMMIT: ("c", "warn"),
    WaitClass.BINARY_LOG: ("b", STACKED + "warn"),
    WaitClass.SEMI_SYNC: ("y", "server"),
    WaitClass.PAGE_READ: ("r", "qps"),
    WaitClass.PAGE_WRITE: ("w", STACKED + "qps"),
    WaitClass.MUTEX: ("m", "latency"),
    WaitClass.ADMISSION: ("a", STACKED + "latency"),
    WaitClass.PURGE_LAG: ("p", STACKED + "server"),
    WaitClass.NETWORK: ("n", "strong"),
    WaitClass.SLEEP: ("s", STACKED + "strong"),
    WaitClass.OTHER: ("?", STACKED + "rest"),
    WaitClass.ON_THE_WAY: ("o", "rest"),
}
"""For each class of the stack, from the bottom: its letter, used where there are no colours, and
its style.
"""
STACK: tuple[StackPart, ...] = tuple((wait.label, *look) for wait, look in LOOKS.items())
ROWS = (*reversed(LOOKS), WaitClass.CLIENT)
PLACES = {wait: place for place, wait in enumerate(WaitClass)}

NOW_POINTS = 10
"""Samples that the table averages without a cursor."""
CHARTED_POINTS = 100
"""Latest samples of the chart that decide which classes have a row: about as many as the chart
has columns.
"""
LEAST_TIME = 0.005
"""The share of the time below which a class has no row."""
SLOW_PACE = 4.0
"""The screen states the number of samples per second if it is lower than this."""
_NAME, _NUMBER, _SHARE = 17, 13, 8
_FEWEST_BAR = 8
_AHEAD = 2
"""A column without a sample of the waits is drawn with the next account, at most this many columns later:
an account covers the time since the one before it.
"""


class Window(NamedTuple):
    """A span of the run with its name and account."""

    name: str
    account: TimeAccount | None
    """None if unknown."""

    def connections(self, wait: WaitClass) -> float:
        return self.account.spent[PLACES[wait]] / self.account.seconds if self.account is not None else 0.0

    @property
    def all_connections(self) -> float:
        return sum(self.account.spent) / self.account.seconds if self.account is not None else 0.0

    def ms(self, wait: WaitClass) -> float | None:
        """Milliseconds that a transaction spends in a class; None if unknown."""
        done = self.account.completed if self.account is not None else 0.0
        return 1000 * self.account.spent[PLACES[wait]] / done if self.account is not None and done else None


def time_stack(
    view: View, width: int, height: int, *, ascii_only: bool = False, numbered: bool = True
) -> list[TextLine]:
    """The chart: for every column the mean number of connections in each class."""
    points = chart_points(view, max(width - AXIS_WIDTH, 1))
    stacks: list[list[float] | None] = []
    for place, point in enumerate(points):
        # The account of this column, or of the next one with an account, which contains its time.
        near = (
            each.account for each in points[place : place + _AHEAD + 1] if each is not None and each.account
        )
        account = None if point is None else next(near, None)
        stacks.append(
            [part / account.seconds for part in account.spent[: len(LOOKS)]] if account is not None else None
        )
    top = axis_maximum(max((sum(each) for each in stacks if each), default=0.0))
    shares = [[100 * part / top for part in each] if each else None for each in stacks]
    label = f"{top:g}" if any(stacks) else ""
    return stacked_chart(STACK, shares, label, view, width, height, ascii_only=ascii_only, numbered=numbered)


def time_figure(view: View, width: int, height: int) -> list[TextLine]:
    """The figure left of the chart: how many of the connections have something to do."""
    now = _windows(view)[0]
    active = now.all_connections - now.connections(WaitClass.CLIENT)
    known = now.account is not None
    lines: list[TextLine] = [
        (TextSpan("Connections", "strong"),),
        (TextSpan(units.decimal(active, 1) if known else DASH, "strong"), TextSpan(" active", "muted")),
        (
            TextSpan(
                f"of {units.decimal(now.all_connections, 1).removesuffix('.0')}" if known else "", "muted"
            ),
        ),
        (),
        (TextSpan(now.name, "muted"),),
    ]
    return [pad_line(line, width) for line in lines][:height]


def time_table(
    view: View, width: int, height: int, *, chosen: WaitClass | None = None, ascii_only: bool = False
) -> list[TextLine]:
    """The classes in the table's windows: the cursor's time or the two spans, and now. `chosen` is marked."""
    windows, notes = _windows(view), _notes(view, width)
    listed = _listed(view, windows)
    if not listed:
        return [pad_line(line, width) for line in notes or _muted(wrap_text(NO_ACCOUNT, width))][:height]
    is_plain = is_told_by_glyphs(ascii_only=ascii_only)
    rows = []
    for wait in listed:
        mark, name, *rest = _row(view, wait, windows, width, is_plain=is_plain)
        name = name._replace(role="selected") if wait is chosen else name
        pick = f"screen.pick({PLACES[wait]})"
        rows.append(tuple(span._replace(action=pick) for span in (mark, name, *rest)))
    title = "TIME OF SESSIONS" if view.is_watch else "TIME OF A TRX"
    number = _number_width(windows)
    columns = [f"{each.name:>{number}}" for each in windows]
    if len(windows) == 1:
        columns = [f"{'sessions' if view.is_watch else 'connections':>{_NUMBER}}"]
        columns += [] if view.is_watch else [f"{'per trx':>{_NUMBER}}"]
        columns += [f"{'share':>{_SHARE}}"]
    else:
        columns += [f"{'change':>{number}}"]
    lines = [(TextSpan(f"{title:<{_NAME}}", "title"), TextSpan("".join(columns), "muted")), *rows, *notes]
    return [pad_line(line, width) for line in lines][:height]


def time_summary(view: View, width: int, height: int, *, ascii_only: bool = False) -> list[TextLine]:
    """The classes of the newest window in one bar, and below it their shares, the largest ones first."""
    window = _windows(view)[-1]
    listed = [wait for wait in ROWS if window.connections(wait) > LEAST_TIME * window.all_connections]
    if not listed:
        return [pad_line(line, width) for line in _notes(view, width) or _muted([NO_ACCOUNT])][:height]
    is_plain = is_told_by_glyphs(ascii_only=ascii_only)
    shares = {wait: 100 * window.connections(wait) / window.all_connections for wait in listed}
    runs, parts = [], []
    for wait in sorted(listed, key=lambda wait: -shares[wait]):
        letter, role = LOOKS.get(wait, ("░", "muted"))
        glyph = letter if is_plain or wait is WaitClass.CLIENT else "█"
        runs.append((shares[wait], glyph, role))
        share = TextSpan(f"{shares[wait]:.0f} %", "strong")
        parts.append((TextSpan(f"{glyph} ", role), TextSpan(f"{wait.label} ", "muted"), share))
    cells = share_runs([(share, glyph) for share, glyph, _ in runs], width, "")
    bar = tuple(TextSpan(text, role) for text, (_, _, role) in zip(cells, runs, strict=False))
    # The smallest shares give way.
    while line_width(legend := join_parts(parts, TextSpan("  "))) > width:
        parts.pop()
    return [pad_line(line, width) for line in (bar, legend)][:height]


def _number_width(windows: Sequence[Window]) -> int:
    """Width of a column of numbers, wide enough for the names of its windows."""
    return _NUMBER if len(windows) == 1 else max(_NUMBER, *(len(each.name) + 2 for each in windows))


def time_table_height(view: View, width: int) -> int:
    """Number of lines of the table."""
    notes, listed = _notes(view, width), _listed(view, _windows(view))
    return 1 + len(listed) + len(notes) if listed else len(notes or wrap_text(NO_ACCOUNT, width))


NO_ACCOUNT = "No account of the time yet: it needs a load on one server, or the traffic of a watched one."


def _windows(view: View) -> list[Window]:
    """The two selected spans; otherwise the cursor's time and now; otherwise now only."""
    spans, cursor = view.chart_state.spans, view.chart_state.cursor
    seconds = round(len(view.points[-NOW_POINTS:]) * view.plan.interval_seconds)
    now = Window(f"last {seconds} s", whole_account(point.account for point in view.points[-NOW_POINTS:]))
    if spans:
        return [
            Window(f"{name} {_range(span)}", _merged(view, span))
            for name, span in zip("AB", spans, strict=False)
        ]
    return [Window(_range(cursor), _merged(view, cursor)), now] if cursor is not None else [now]


def _range(span: tuple[float, float]) -> str:
    start, end = map(units.hms, span)
    return f"{start}–{end}"


def _merged(view: View, span: tuple[float, float]) -> TimeAccount | None:
    return whole_account(point.account for point in view.history.between(*span))


def _listed(view: View, windows: Sequence[Window]) -> list[WaitClass]:
    """The classes that have a share worth a row in any of the windows, or that colour the chart."""
    charted = Window("", whole_account(point.account for point in view.points[-CHARTED_POINTS:]))
    return [
        wait
        for wait in ROWS
        if any(each.connections(wait) > LEAST_TIME * each.all_connections for each in (*windows, charted))
    ]


def _row(view: View, wait: WaitClass, windows: Sequence[Window], width: int, *, is_plain: bool) -> TextLine:
    """Mark, name, numbers and bar of a class."""
    letter, role = LOOKS.get(wait, (" ", "muted"))
    mark = letter if is_plain or letter == " " else "█"
    first, shown = windows[0], windows[-1]
    amounts = [each.connections(wait) if view.is_watch else each.ms(wait) for each in windows]
    texts = [units.decimal(amount, 1 if view.is_watch else 2) for amount in amounts]
    whole = shown.all_connections
    share = shown.connections(wait) / whole if whole else 0.0
    if len(windows) == 1:
        cells = [f"{units.decimal(first.connections(wait), 1):>{_NUMBER}}"]
        cells += [] if view.is_watch else [f"{texts[0]} ms".rjust(_NUMBER)]
        cells += [f"{100 * share:.0f} %".rjust(_SHARE)]
    else:
        unit, number = "" if view.is_watch else " ms", _number_width(windows)
        cells = [f"{text}{unit}".rjust(number) for text in texts]
        old, new = amounts
        change = (
            DASH if old is None or new is None else units.signed(new - old, 1 if view.is_watch else 2) + unit
        )
        cells += [change.rjust(number)]
    room = width - _NAME - sum(map(len, cells)) - 2
    glyph = "░" if mark == " " else "▇" if mark == "█" else mark
    bar = glyph * round(room * share) if room >= _FEWEST_BAR and len(windows) == 1 else ""
    return (
        TextSpan(f"{mark} ", role),
        TextSpan(f"{wait.label:<{_NAME - 2}}", "muted"),
        TextSpan("".join(cells), "strong"),
        TextSpan(f"  {bar}", role),
    )


def listed_classes(view: View) -> list[WaitClass]:
    """The classes of the table, from the top down."""
    return _listed(view, _windows(view))


def waiting_detail(wait: WaitClass | None, view: View, width: int, height: int) -> list[TextLine]:
    """Who is in a class at present, and what cannot be known about it."""
    if wait is None:
        return []
    report = view.waiting
    meaning = wrap_text(f"{wait.meaning[:1].upper()}{wait.meaning[1:]}.", width)
    head: list[TextLine] = [(TextSpan(f"{wait.label.upper()}: WHO WAITS", "title"),), *_muted(meaning)]
    if report is None or wait in ABSENT or view.replay is not None:
        why = RECORDED if view.replay is not None else ABSENT.get(wait, "No sample yet.")
        return [pad_line(line, width) for line in (*head, *_muted(wrap_text(why, width)))][:height]
    counted = WaitClass.CPU if wait is WaitClass.RUN_QUEUE else wait
    parts = [part for part in report.parts if part.wait == counted]
    groups = [(kind, [part for part in parts if part.kind == kind]) for kind in KINDS]
    known = [(kind, found) for kind, found in groups if len(found) > (kind == "transaction")]
    gap = report.gaps.get(counted, "")
    notes = wrap_text(f"{gap[:1].upper()}{gap[1:]}.", width) if gap else []
    rows = hot_row_lines(report.hot_rows, width) if wait is WaitClass.ROW_LOCK else []
    head += rows[: max(height - len(head) - len(notes) - 2 * len(known), 0)]
    if not parts:
        notes.append(f"None in the last {report.samples} samples.")
    room = max(height - len(head) - len(notes) - len(known), 0)
    # The lines are dealt in turn, one to each kind, until they are used up.
    shown = dict.fromkeys((kind for kind, _ in known), 0)
    while room and any(shown[kind] < len(found) for kind, found in known):
        for kind, found in known:
            if room and shown[kind] < len(found):
                shown[kind], room = shown[kind] + 1, room - 1
    lines: list[TextLine] = []
    for kind, found in known:
        lines.append((TextSpan(KINDS[kind], "muted"),))
        for part in found[: shown[kind]]:
            number = f"{units.decimal(part.connections, 2):>7}  "
            name = shorten(part.name, max(width - len(number), 1))
            lines.append((TextSpan(number, "strong"), TextSpan(name)))
    return [pad_line(line, width) for line in (*head, *lines, *_muted(notes))][:height]


def hot_row_lines(rows: Sequence[HotRow], width: int) -> list[TextLine]:
    """The rows for which transactions waited the longest, with a bar for their share, and their holders."""
    shown = [each for each in rows[:HOT_ROWS] if each.share >= LEAST_TIME]
    if not shown:
        return []
    lines: list[TextLine] = [(TextSpan("hot rows, of the row lock wait since the run began", "muted"),)]
    room = min(max(len(each.name) for each in shown), max(width // 2, 1))
    for each in shown:
        share = f"{100 * each.share:>5.0f} %  "
        name = f"{shorten(each.name, room):<{room}}  "
        bar = "▇" * round(BAR_CELLS * each.share)
        holder = each.holder or "(idle in its transaction)"
        left = max(width - len(share) - len(name) - BAR_CELLS - 2, 0)
        lines.append(
            (
                TextSpan(share, "strong"),
                TextSpan(name),
                TextSpan(f"{bar:<{BAR_CELLS}}  ", "risk"),
                TextSpan(shorten(f"held: {holder}", left), "muted"),
            )
        )
    return lines


HOT_ROWS, BAR_CELLS = 6, 10
"""Rows that are listed, and the width of the bar of all waits."""


def _muted(texts: Sequence[str]) -> list[TextLine]:
    return [(TextSpan(text, "muted"),) for text in texts]


KINDS = {
    "object": "for what",
    "statement": "statements",
    "transaction": "transactions of the load",
    "connection": "connections",
}
ABSENT = {
    WaitClass.CLIENT: "Nothing of it is in the server.",
    WaitClass.ON_THE_WAY: "The server sees nothing of it.",
}
"""Classes of which the server has no detail."""
RECORDED = "A recorded run does not have it."


def _notes(view: View, width: int) -> list[TextLine]:
    """Why the figure changed, the pace of the samples if it is slow, and what is missing."""
    because = effect_reason(view.effect) if view.effect is not None else ""
    texts = [f"{view.effect.change}: {because}"] if view.effect is not None and because else []
    ticks = [sample.tick for sample in view.recent[-NOW_POINTS:]]
    done, seconds = (
        sum(tick.sums.get(TIME + name, 0.0) for tick in ticks) for name in ("samples", "seconds")
    )
    slow = (
        [f"sampling {done / seconds:.1f}×/s to limit overhead"]
        if seconds and done < SLOW_PACE * seconds
        else []
    )
    missing = {
        f"{why}.": None
        for tick in ticks
        for name, why in tick.missing.items()
        if name.startswith(TIME.rstrip("."))
    }
    return [
        *((TextSpan(part, "strong"),) for text in texts for part in wrap_text(text, width)),
        *((TextSpan(part, "muted"),) for why in [*slow, *missing] for part in wrap_text(why, width)),
    ]
