"""A black box as text and as a page with one axis of time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from tuibench.base.document import (
    Block,
    Document,
    HtmlChart,
    Section,
    Shape,
    Table,
    Text,
    properties,
    section,
)
from tuibench.base.units import decimal, hms, pluralize, shorten
from tuibench.features.blackbox.diagnosis import (
    Diagnosis,
    Lane,
    LaneState,
    diagnose,
    lanes,
    spans,
)
from tuibench.features.blackbox.frames import BlackBox
from tuibench.report.html_chart import Markup, join_markup, tag
from tuibench.report.html_plots import document_page

STRIP_CELLS = 60
LETTERS = {
    LaneState.WAITS: "w",
    LaneState.RUNS: "R",
    LaneState.HOLDS: "H",
    LaneState.IDLE: ".",
    LaneState.ABSENT: " ",
    LaneState.UNKNOWN: "?",
}
_WEIGHT = (
    LaneState.WAITS, LaneState.HOLDS, LaneState.RUNS, LaneState.UNKNOWN, LaneState.IDLE, LaneState.ABSENT,
)  # fmt: skip
"""Which state a cell shows if it covers several."""
KEY = "w waits for a lock · H idle in a transaction · R executes · . idle · ? no answer"
FIGURES = (
    ("tps", "TPS", 0), ("qps", "QPS", 0), ("threads_running", "threads running", 0),
    ("threads_connected", "connections", 0), ("checkpoint_age_percent", "redo log full, %", 0),
    ("history_list", "history list", 0), ("purge_lag_percent", "purge lag, %", 0),
    ("fsyncs_per_second", "log fsyncs/s", 0),
    ("disk_write_ms", "disk write, ms", 2), ("cpu_total", "host's CPU, %", 0),
)  # fmt: skip
OFFSETS = (-60, -30, -10, -5, -2, -1, 0, 1, 2, 5, 10)
"""The columns of the table of figures: seconds from the beginning of what went wrong."""


def blocks(box: BlackBox) -> tuple[Block | Section, ...]:
    """The black box as text."""
    found = diagnose(box)
    return (*_lead(box, found), *_sections(box, found, is_page=False))


def page(box: BlackBox, run: str) -> str:
    """The black box as a self-contained page."""
    found = diagnose(box)
    title = f"Black box {box.number} of {run}"
    return document_page(
        Document(
            title=title,
            lead=tuple(_lead(box, found)),
            sections=tuple(_sections(box, found, is_page=True)),
            foot=f"Seconds are those of the run; {hms(box.start_seconds)} is zero on the axis.",
        )
    )


def _lead(box: BlackBox, found: Diagnosis) -> Iterator[Block]:
    yield Text((f"{found.text[:1].upper()}{found.text[1:]}.",), role="answer")
    if found.first:
        zero = box.start_seconds
        first = found.moments[0]
        yield Text((f"What changed first, at {_offset(first.at_seconds, zero)}: {found.first}.",))
    yield properties(
        [
            ("kept for", "; ".join(box.reasons)),
            ("at", f"{hms(box.start_seconds)} to {hms(box.end_seconds)} of the run"),
            ("readings", _readings(box)),
            ("not read", "; ".join(box.gaps)),
        ]
    )


def _readings(box: BlackBox) -> str:
    times = [frame.at_seconds for frame in box.frames]
    if len(times) < 2:
        return pluralize(len(times), "reading")
    silent = sum(bool(frame.gap) for frame in box.frames)
    rate = (len(times) - 1) / max(times[-1] - times[0], 0.1)
    words = f"{pluralize(len(times), 'reading')} in {times[-1] - times[0]:.0f} s, {rate:.1f} a second"
    return f"{words}, {silent} without an answer" if silent else words


def _sections(box: BlackBox, found: Diagnosis, *, is_page: bool) -> Iterator[Section]:
    zero = box.start_seconds
    rows = tuple((_offset(each.at_seconds, zero), each.text) for each in found.moments)
    if rows:
        yield section("What changed, in order", Table(header=("time", "what"), rows=rows, words=2))
    shown = lanes(box, found)
    if is_page:
        yield section("Who held what, since when", HtmlChart(partial(draw, box, found, shown)))
    elif shown:
        yield section("Who held what, since when", _strips(box, shown))
    if statements := tuple((each.name, each.statement) for each in shown if each.statement):
        yield section(
            "Statements", Table(header=("connection", "statement"), rows=statements, words=2), folded=is_page
        )
    if figures := _figures(box):
        yield section("Figures", figures)
    if threads := _threads(box):
        yield section("Threads of the server's process", threads)
    if box.events:
        events = tuple((_offset(at, zero), text) for at, text in box.events)
        yield section("Events of the session", Table(header=("time", "event"), rows=events, words=2))
    innodb = [frame for frame in box.frames if frame.innodb]
    if innodb and is_page:
        near = min(innodb, key=lambda frame: abs(frame.at_seconds - zero))
        text = Text(tuple(near.innodb.splitlines()), Shape.CODE)
        yield section(f"InnoDB's status at {_offset(near.at_seconds, zero)}", text, folded=True)


def _offset(at: float, zero: float) -> str:
    """`-12.3 s`, relative to the beginning of what went wrong."""
    return f"{'+' if at >= zero else '−'}{abs(at - zero):.1f} s"


def _strips(box: BlackBox, shown: Sequence[Lane]) -> Text:
    """The lanes as lines of letters below an axis."""
    times = [frame.at_seconds for frame in box.frames]
    start, end = times[0], times[-1]
    width = max(end - start, 0.1)
    names = [shorten(lane.name.removeprefix("connection "), 26) for lane in shown]
    left = max(map(len, names))
    cells = [min(STRIP_CELLS - 1, int(STRIP_CELLS * (at - start) / width)) for at in times]
    zero = min(STRIP_CELLS - 1, max(0, int(STRIP_CELLS * (box.start_seconds - start) / width)))
    edge = f"{start - box.start_seconds:+.0f} s"
    axis = [" "] * STRIP_CELLS
    axis[: len(edge)] = edge
    last = f"{end - box.start_seconds:+.0f} s"
    axis[-len(last) :] = last
    axis[zero] = "0"
    lines = [f"{'':{left}}  {''.join(axis)}"]
    for name, lane in zip(names, shown, strict=True):
        found = dict[int, LaneState]()
        for cell, state in zip(cells, lane.states, strict=True):
            known = found.get(cell)
            if known is None or _WEIGHT.index(state) < _WEIGHT.index(known):
                found[cell] = state
        strip, letter = "", " "
        for cell in range(STRIP_CELLS):
            letter = LETTERS[found[cell]] if cell in found else letter
            strip += letter
        lines.append(f"{name:{left}}  {strip}".rstrip())
    return Text((*lines, "", KEY), Shape.CODE)


def _figures(box: BlackBox) -> Table | None:
    """The main figures around the beginning of what went wrong."""
    zero = box.start_seconds
    columns = []
    for offset in OFFSETS:
        near = [each for each in box.figures if abs(each.at_seconds - zero - offset) <= 1]
        columns.append(min(near, key=lambda each: abs(each.at_seconds - zero - offset)) if near else None)
    used = [(offset, each) for offset, each in zip(OFFSETS, columns, strict=True) if each is not None]
    rows = [
        (title, *(decimal(each.values.get(key), digits) for _, each in used))
        for key, title, digits in FIGURES
        if any(key in each.values for _, each in used)
    ]
    if not rows:
        return None
    return Table(header=("figure", *(f"{offset:+d} s" for offset, _ in used)), rows=tuple(rows))


def _threads(box: BlackBox) -> Table | None:
    """The threads by state: before, and the worst moment of the time."""
    known = [frame for frame in box.frames if frame.threads]
    if not known:
        return None
    before = [frame for frame in known if frame.at_seconds < box.start_seconds - 1]
    during = [frame for frame in known if box.start_seconds - 1 <= frame.at_seconds <= box.end_seconds + 1]
    states = sorted({state for frame in known for state in frame.threads or ()})

    def mean(frames: Sequence[object], state: str) -> str:
        values = [frame.threads.get(state, 0) for frame in frames if frame.threads]  # type: ignore[attr-defined]
        return decimal(sum(values) / len(values), 1) if values else decimal(None)

    return Table(
        header=("state", "before", "during"),
        rows=tuple((state, mean(before, state), mean(during, state)) for state in states),
    )


WIDTH, LEFT, LANE, STRIP = 1120, 230, 18, 62
COLOURS = {
    LaneState.WAITS: "var(--bad)",
    LaneState.RUNS: "var(--s1)",
    LaneState.HOLDS: "var(--s2)",
    LaneState.IDLE: "var(--rule)",
    LaneState.UNKNOWN: "var(--s6)",
}
WORDS = {
    LaneState.WAITS: "waits for a lock",
    LaneState.RUNS: "executes",
    LaneState.HOLDS: "idle in a transaction",
    LaneState.IDLE: "idle",
    LaneState.UNKNOWN: "no answer of the server",
}


class Axis:
    """The axis of time of the page."""

    def __init__(self, box: BlackBox) -> None:
        times = [frame.at_seconds for frame in box.frames] or [box.start_seconds - 1]
        self.start, self.end = min(times), max(times[-1], times[0] + 1)

    def x(self, at: float) -> float:
        share = (at - self.start) / (self.end - self.start)
        return LEFT + (WIDTH - LEFT) * min(1.0, max(0.0, share))


def draw(box: BlackBox, found: Diagnosis, shown: Sequence[Lane]) -> Markup | None:
    """The lanes of the connections, and figures below them, on one axis."""
    if not box.frames:
        return None
    axis = Axis(box)
    top = 26
    parts: list[Markup] = []
    for lane in shown:
        is_root = lane.connection == found.connection
        parts.append(_lane(box, axis, lane, top, is_root=is_root))
        top += LANE
    top += 8
    for key, title, digits in FIGURES:
        points = [(each.at_seconds, each.values[key]) for each in box.figures if key in each.values]
        points = [each for each in points if axis.start <= each[0] <= axis.end]
        is_counted = key == "threads_connected"
        if len(points) > 1 and max(value for _, value in points) > 0 and not is_counted:
            parts.append(_strip(axis, title, points, digits, top))
            top += STRIP
    counts = [(frame.at_seconds, float(frame.connections)) for frame in box.frames if not frame.gap]
    if len(counts) > 1:
        parts.append(_strip(axis, "connections", counts, 0, top))
        top += STRIP
    zero = axis.x(box.start_seconds)
    area = tag(
        "rect", x=zero, y=18, width=max(axis.x(box.end_seconds) - zero, 1.0), height=top - 18,
        fill="var(--mark)", fill_opacity="0.13",
    )  # fmt: skip
    ticks = [
        join_markup(
            tag("line", x1=axis.x(at), x2=axis.x(at), y1=18, y2=top, stroke="var(--grid)"),
            tag(
                "text", f"{at - box.start_seconds:+.0f} s", x=axis.x(at), y=12, fill="var(--soft)",
                text_anchor="middle",
            ),
        )
        for at in _ticks(axis, box.start_seconds)
    ]  # fmt: skip
    marks = [
        tag(
            "g",
            tag("title", f"{_offset(each.at_seconds, box.start_seconds)}: {each.text}"),
            tag(
                "line", x1=axis.x(each.at_seconds), x2=axis.x(each.at_seconds), y1=18, y2=top,
                stroke="var(--mark)", stroke_dasharray="3 3", stroke_width=1.5,
            ),
        )
        for each in found.moments
        if axis.start <= each.at_seconds <= axis.end
    ]  # fmt: skip
    legend = [
        tag("span", tag("i", style=f"background:{COLOURS[state]};height:10px"), f"{words}  ", class_="key")
        for state, words in WORDS.items()
    ]
    picture = tag(
        "svg", area, ticks, parts, marks, viewBox=f"0 0 {WIDTH} {top + 4}", role="img",
        aria_label="Connections and figures over time",
    )  # fmt: skip
    return tag("figure", tag("figcaption", legend), picture)


def _ticks(axis: Axis, zero: float) -> Iterator[float]:
    width = axis.end - axis.start
    step = next((each for each in (1, 5, 10, 60) if width <= 15 * each), 300)
    first = -int((zero - axis.start) // step) * step
    at = zero + first
    while at <= axis.end:
        if at >= axis.start:
            yield at
        at += step


def _lane(box: BlackBox, axis: Axis, lane: Lane, top: float, *, is_root: bool) -> Markup:
    times = [frame.at_seconds for frame in box.frames]
    pieces = []
    for state, first, last in spans(lane):
        if state in COLOURS:
            start, end = times[first], times[min(last + 1, len(times) - 1)]
            words = f"{lane.name}: {WORDS[state]} for {end - start:.1f} s"
            pieces.append(
                tag(
                    "rect", tag("title", words), x=axis.x(start), y=top + 3,
                    width=max(axis.x(end) - axis.x(start), 1.0), height=LANE - 6, fill=COLOURS[state],
                )
            )  # fmt: skip
    name = shorten(lane.name.removeprefix("connection "), 34)
    label = tag(
        "text", f"▶ {name}" if is_root else name, tag("title", lane.statement or lane.name), x=LEFT - 8,
        y=top + 13, text_anchor="end", fill="var(--bad)" if is_root else "var(--ink)",
        font_weight="bold" if is_root else None,
    )  # fmt: skip
    return join_markup(label, pieces)


def _strip(axis: Axis, title: str, points: Sequence[tuple[float, float]], digits: int, top: float) -> Markup:
    most = max(value for _, value in points)
    height = STRIP - 16
    path = "L".join(
        f"{axis.x(at):.1f},{top + height - height * value / (most or 1.0):.1f}" for at, value in points
    )
    return join_markup(
        tag("text", title, x=LEFT - 8, y=top + 20, text_anchor="end", fill="var(--ink)"),
        tag(
            "text", f"0 … {decimal(most, digits)}", x=LEFT - 8, y=top + 36, text_anchor="end",
            fill="var(--soft)",
        ),
        tag("line", x1=LEFT, x2=WIDTH, y1=top + height, y2=top + height, stroke="var(--rule)"),
        tag("path", d=f"M{path}", fill="none", stroke="var(--s1)", stroke_width=1.6),
    )  # fmt: skip


def listing(boxes: Sequence[BlackBox]) -> Table:
    """The black boxes of a run."""
    kinds = [Counter(each.kind for each in box.troubles).most_common(1) for box in boxes]
    return Table(
        header=("event", "kind", "at", "reason"),
        rows=tuple(
            (str(box.number), str(kind[0][0]) if kind else "key", hms(box.start_seconds), box.reasons[0])
            for box, kind in zip(boxes, kinds, strict=True)
        ),
        words=4,
    )
