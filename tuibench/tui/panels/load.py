"""Panels of the load: the measures of the charts, latencies, cost of an operation, slowest transactions.

Rows of the latency table keep their order from sample to sample. COMMIT is the first statement, so that it is
always visible.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tuibench.base import units
from tuibench.base.units import DASH, hms, milliseconds
from tuibench.metrics.costs import operation_cost, resource_text, resource_use, total_use
from tuibench.metrics.figures import read
from tuibench.metrics.measurement_warnings import COMMIT
from tuibench.metrics.series import slow_parts
from tuibench.model.findings import Headline, OperationCost, Resource, ResourceUse
from tuibench.model.server import ERROR_NAMES
from tuibench.model.tick import (
    ERROR,
    LOGIN,
    RESPONSE,
    SERVICE,
    STATEMENT,
    TRANSACTION,
    WAIT,
    Latency,
    Sample,
    SlowTransaction,
    Tick,
    slowest_of,
)
from tuibench.tui.charts import ChartPoint
from tuibench.tui.figures import OTHERS_SECTION, figure_key, figure_value
from tuibench.tui.text import (
    DIGIT_ROWS,
    TextLine,
    TextSpan,
    big_digits,
    justify,
    line_width,
    pad_line,
    shorten,
    wrap_text,
)
from tuibench.tui.view import View


class MeasureDetail(NamedTuple):
    """A smaller figure below the big one."""

    name: str
    value: str
    alarm: bool = False
    """Whether the value is highlighted."""


class Measure(NamedTuple):
    """A figure on a chart over time."""

    name: str
    role: str
    """The role of its colour."""
    title: str
    unit: str
    value: Callable[[ChartPoint], float | None]
    big: Callable[[float | None], tuple[str, str]]
    """Converts a value to digits and unit, for big digits."""
    axis: Callable[[float | None], str]
    """Converts a value to a label of the axis."""
    details: Callable[[Tick], tuple[MeasureDetail, ...]]
    may_rise: bool = False
    """Whether the axis may start above zero."""
    is_bytes: bool = False
    """Whether the axis is round in binary units."""
    part: Callable[[ChartPoint], float | None] = lambda _: None
    """The part of the value that counts; the rest of the bar is hatched. None if all of it does."""

    def text(self, value: float | None) -> str:
        """The value with its unit."""
        return number_text(self.big(value))


def number_text(number: tuple[str, str]) -> str:
    """Digits and unit as one text."""
    return " ".join(number).rstrip()


def big_rate(value: float | None) -> tuple[str, str]:
    """Digits and prefix, at most four digits: ("2,412", ""), ("48.2", "k")."""
    if value is None:
        return units.DASH, ""
    if value < 9_999.5:
        return units.three_digits(value), ""
    factor, prefix = (1e6, "M") if value >= 999_500 else (1e3, "k")
    return units.three_digits(value / factor), prefix


def big_latency(value: float | None) -> tuple[str, str]:
    """Digits and unit: ("26.4", "ms")."""
    if value is None:
        return units.DASH, ""
    return (units.three_digits(value / 1000), "s") if value >= 999.5 else (units.three_digits(value, 3), "ms")


GOODPUT = figure_key(OTHERS_SECTION, "goodput")
IN_TIME_SHARE = 0.9
"""With a smaller share of goodput in the throughput, it is drawn as an alarm."""


def _tps_details(load: Tick) -> tuple[MeasureDetail, ...]:
    levels = load.levels
    if _is_traffic(load):
        return (MeasureDetail("rollbacks/s", _none_or_rate(read("rollbacks", load))),)
    errors, reconnects = read("errors_per_second", load) or 0.0, read("reconnects_per_second", load) or 0.0
    opened, asked, backlog = (levels.get(name, 0) for name in ("connections", "threads", "backlog"))
    waiting = (MeasureDetail("backlog", number_text(big_rate(backlog)), alarm=backlog > 0),)
    codes = {code: int(times) for code, times in load.counts(ERROR).items()}
    users = (MeasureDetail("waiting", f"{levels.get('waiting', 0):,.0f} of {levels.get('users', 0):,.0f}"),)
    goodput, tps = read("goodput", load), read("tps", load) or 0.0
    in_time: tuple[MeasureDetail, ...] = ()
    if goodput is not None:
        is_low = goodput < IN_TIME_SHARE * tps
        in_time = (MeasureDetail("goodput", number_text(big_rate(goodput)), alarm=is_low),)
    return (
        *in_time,
        *(waiting if levels.get("rate") else ()),
        *_anomaly_details(load),
        *(users if levels.get("users") else ()),
        MeasureDetail(error_rate_label(codes), _none_or_rate(errors), alarm=errors > 0),
        MeasureDetail("clients", f"{opened:,.0f} of {asked:,.0f}", alarm=opened < asked),
        *_extra_details(load),
        MeasureDetail("reconnects/s", _none_or_rate(reconnects), alarm=reconnects > 0),
    )


def _anomaly_details(load: Tick) -> tuple[MeasureDetail, ...]:
    """The lost updates of a load that counts them, as a share, and the anomalies of all kinds."""
    anomalies = read("anomalies_per_second", load)
    if anomalies is None:
        return ()
    share = read("lost_updates_share", load)
    return (
        MeasureDetail("lost updates", units.percent(share, 1), alarm=bool(share)),
        MeasureDetail("anomalies/s", _none_or_rate(anomalies), alarm=anomalies > 0),
    )


def error_rate_label(codes: Iterable[str]) -> str:
    """The label of the rate of errors with these codes: the name of the error if all are the same."""
    different = {int(code) for code in codes}
    name = ERROR_NAMES.get(different.pop()) if len(different) == 1 else None
    return name[1] if name else "errors/s"


def _is_traffic(tick: Tick) -> bool:
    """True for the traffic of all clients of a server, which includes rollbacks."""
    return "rollbacks" in tick.sums


def _extra_details(load: Tick) -> tuple[MeasureDetail, ...]:
    """Idle connections and logins, if the load has them."""
    idle, wanted = load.levels.get("idle", 0), load.levels.get("idle_wanted", 0)
    missed = (read("missed_logins", load) or 0.0) > 0
    logins = MeasureDetail("logins/s", _none_or_rate(read("logins", load)), alarm=missed)
    return (
        *((MeasureDetail("idle", f"{idle:,.0f}", alarm=idle < wanted),) if wanted else ()),
        *((logins,) if load.hist(LOGIN).count or missed else ()),
    )


def _none_or_rate(value: float | None) -> str:
    return units.decimal(value, 1) if value else "0"


def _qps_details(load: Tick) -> tuple[MeasureDetail, ...]:
    return tuple(
        MeasureDetail(name, number_text(big_rate(read(f"{name}s", load) or 0.0)))
        for name in ("read", "write", "other")
    )


def _latency_details(load: Tick) -> tuple[MeasureDetail, ...]:
    def detail(name: str, figure: str) -> MeasureDetail:
        return MeasureDetail(name, number_text(big_latency(read(figure, load))))

    if _is_traffic(load) and not load.hist(RESPONSE).count:
        is_timed = read("statement_avg", load) is not None
        return (detail("average", "statement_avg") if is_timed else MeasureDetail("2 says why", ""),)
    waits = (("wait", "wait_p95", WAIT), ("login", "login_p95", LOGIN))
    return (
        *(detail(name, figure) for name, figure, histogram in waits if load.hist(histogram).count),
        detail("service", "service_p95") if load.hist(SERVICE).count else detail("p50", "p50"),
        detail("p99", "p99"),
        detail("max", "max"),
    )


TPS = Measure(
    "tps", "tps", "TPS", "transactions/s", lambda point: point.tps, big_rate, units.si, _tps_details,
    part=lambda point: figure_value(GOODPUT, point.figures, {}),
)  # fmt: skip
QPS = Measure("qps", "qps", "QPS", "queries/s", lambda point: point.qps, big_rate, units.si, _qps_details)
P95 = Measure(
    "p95",
    "latency",
    "p95",
    "latency",
    lambda point: point.p95_ms,
    big_latency,
    units.milliseconds,
    _latency_details,
)
MEASURES = (TPS, QPS, P95)
FSYNCS = Measure(
    "fsyncs",
    "server",
    "fsyncs/trx",
    "",
    lambda point: point.fsyncs,
    lambda value: (units.small_number(value), ""),
    units.small_number,
    lambda _: (),
)
"""Fsyncs of the log per transaction: the cost of durability."""
FEWEST_FSYNCS = 0.05
"""With fewer fsyncs per transaction, the load counts as read-only."""


def commits_matter(view: View) -> bool:
    """True if durability matters in this run: commits are flushed, or settings prevent their flush."""
    if any(setting.changed or setting.at_risk for setting in view.durability):
        return any(point.fsyncs is not None for point in view.points)
    return any((point.fsyncs or 0.0) >= FEWEST_FSYNCS for point in view.points[-_RECENT_POINTS:])


_RECENT_POINTS = 60


WATCH_MEASURES = (TPS._replace(unit="commits/s"), QPS, P95._replace(unit="statements"))
"""Charts of a session without load, from the server's own counters."""


def measures_of(headline: Headline | None, *, is_watch: bool = False) -> tuple[Measure, ...]:
    """The measures of the three charts. A headline figure replaces TPS, which becomes one of its details."""
    if is_watch:
        return WATCH_MEASURES
    if headline is None:
        return MEASURES
    first = TPS._replace(
        name="headline",
        title=headline.title,
        unit=f"({headline.note})" if headline.note else "",
        value=lambda point: point.headline,
        details=lambda load: (
            MeasureDetail("TPS", number_text(big_rate(read("tps", load) or 0.0))),
            *_tps_details(load),
        ),
    )
    return (first, QPS, P95)


def is_untimed(view: View) -> bool:
    """True for a session without load whose server reports no statement times; the header has the reason."""
    traffic = view.sample.traffic if view.shows_traffic and view.sample else None
    return (
        traffic is not None
        and "latency" in traffic.missing
        and read("statement_avg", traffic) is None
        and not any(point.p95_ms for point in view.points)
    )


def _percentile(title: str, meaning: str, figure: Callable[[Latency], float]) -> Measure:
    return Measure(
        f"{title} alone",
        "latency",
        title,
        meaning,
        lambda point: None if point.latency is None else figure(point.latency),
        big_latency,
        units.milliseconds,
        lambda _: (),
    )


PERCENTILES = (
    _percentile("p50", "half are slower", lambda latency: latency.p50),
    _percentile("p95", "1 of 20 is slower", lambda latency: latency.p95),
    _percentile("p99", "1 of 100 is slower", lambda latency: latency.p99),
    _percentile("max", "the slowest", lambda latency: latency.max),
)
"""Charts of the latency screen, one per field of `Latency`."""


def big_figure(
    measure: Measure, view: View, width: int, height: int, *, ascii_only: bool = False
) -> list[TextLine]:
    """Title, big digits, and as many details as fit, with a free line below them.

    If the digits do not fit, the value is written small.
    """
    if height <= DIGIT_ROWS:
        return small_figure(measure, view, width, height)
    value = measure.value(view.points[-1]) if view.points else None
    digits, unit = measure.big(value)
    role = measure.role if value is not None else "muted"
    digit_role = "strong" if ascii_only else role
    rows: list[TextLine] = [(TextSpan(row, digit_role),) for row in big_digits(digits, ascii_only=ascii_only)]
    last = 1 if ascii_only else -1
    rows[last] = (*rows[last], TextSpan(f" {unit}", role))
    room = max(height - 1 - DIGIT_ROWS - 1, 0)
    details = (
        [_detail_line(detail, width) for detail in measure.details(view.throughput)[:room]]
        if view.throughput
        else []
    )
    title = (TextSpan(measure.title, "strong"), TextSpan(f" {measure.unit}", "muted"))
    return [pad_line(line, width) for line in (title, *rows, *details)][:height]


def small_figure(measure: Measure, view: View, width: int, height: int) -> list[TextLine]:
    """The figure beside a low chart: name, value, and meaning of the name, in normal letters."""
    value = measure.value(view.points[-1]) if view.points else None
    number = (TextSpan(measure.text(value), measure.role if value is not None else "muted"),)
    first = justify((TextSpan(measure.title, "strong"),), number, width - 2)
    return [pad_line(line, width) for line in (first, (TextSpan(measure.unit, "muted"),))][:height]


def line_figure(measure: Measure, view: View, width: int, height: int) -> list[TextLine]:
    """The figure beside a chart of one row: name and value in one line."""
    value = measure.value(view.points[-1]) if view.points else None
    number = TextSpan(measure.text(value), measure.role if value is not None else "muted")
    return [pad_line(justify((TextSpan(measure.title, "strong"),), (number,), width - 2), width)][:height]


def _detail_line(detail: MeasureDetail, width: int) -> TextLine:
    value = (TextSpan(detail.value, "warn" if detail.alarm else ""),)
    return justify(
        (TextSpan(detail.name, "warn" if detail.alarm else "muted"),), value, max(width, line_width(value))
    )


_NAME = 22
_COLUMNS = (
    ("per s", 8),
    ("of time", 9),
    ("p50", 9),
    ("p95", 9),
    ("p99", 9),
    ("max", 9),
    ("p99 of 1 min", 15),
)

BEGIN = "begin"
"""The statement that is always in the last row, because it does no work."""


class LatencyRow(NamedTuple):
    """The row of one operation."""

    name: str
    role: str
    now: Latency | None
    """The latencies in the newest sample."""
    share: float | None
    """The percentage of the time of all operations in its group."""
    worst_p99: float
    """The highest p99 of the last minute, in ms."""


LATENCY_GROUPS = {
    RESPONSE: ("", "strong"),
    TRANSACTION: ("transaction ", ""),
    STATEMENT: ("", "muted"),
}
"""The groups of operations by the prefix of their histograms: title and role. The shares of a group add up to
its total time.
"""


def _why_nothing(view: View) -> str:
    """The reason why the table is empty: some servers record no statement times."""
    if view.sample is None:
        return "waiting for the first sample"
    if view.sample.traffic is not None and (note := view.sample.traffic.missing.get("latency")):
        return f"no percentiles: {note}"
    return "no transaction finished in the last minute"


def latency_table(view: View, width: int, height: int) -> list[TextLine]:
    """The table of latencies: heading, as many rows as fit, and the number of the remaining ones."""
    rows = [row for prefix in LATENCY_GROUPS for row in _latency_rows(view, prefix)]
    if not rows:
        silent = _why_nothing(view)
        return [
            pad_line(_table_heading(width), width),
            pad_line((TextSpan(f"{DASH} {silent}", "muted"),), width),
        ][:height]
    seconds = view.throughput.seconds if view.throughput else 1.0
    room = height - 1
    lines = [_row_line(row, seconds, width) for row in rows[:room]]
    if len(rows) > room and lines:
        lines[-1] = (TextSpan(f"and {len(rows) - room + 1} more", "muted"),)
    return [pad_line(line, width) for line in (_table_heading(width), *lines)][:height]


def latency_table_height(view: View) -> int:
    """Height in lines in which no row is left out."""
    rows = sum(len(_latency_rows(view, prefix)) for prefix in LATENCY_GROUPS)
    return 1 + max(rows, 1)


def _latency_rows(view: View, prefix: str) -> list[LatencyRow]:
    """The rows of all operations of the last minute: COMMIT first, the others by name, BEGIN last."""
    title, role = LATENCY_GROUPS[prefix]
    newest = _with_prefix(view.sample, prefix)
    whole = sum(each.count * each.avg for each in newest.values())
    worst: dict[str, float] = {}
    for sample in view.recent:
        for name, latency in _with_prefix(sample, prefix).items():
            worst[name] = max(worst.get(name, 0.0), latency.p99)
    rows = []
    for name in sorted(worst, key=lambda name: (name != COMMIT, name == BEGIN, name)):
        now = newest.get(name)
        share = 100 * now.count * now.avg / whole if now and whole else None
        rows.append(LatencyRow(f"{title}{name}", role, now, share, worst[name]))
    return rows


def _with_prefix(sample: Sample | None, prefix: str) -> dict[str, Latency]:
    """The latencies of a sample in one group, by the names of the operations."""
    if sample is None:
        return {}
    every = "all statements" if sample.traffic is not None else "all transactions"
    return {
        name.removeprefix(prefix) or every: latency
        for name, latency in sample.latencies.items()
        if name.startswith(prefix)
    }


def _table_heading(width: int) -> TextLine:
    cells = (TextSpan(f"{name:>{size}}", "muted") for name, size in _visible_columns(width))
    return (TextSpan(f"{'LATENCIES':<{_NAME}}", "title"), *cells)


def _row_line(row: LatencyRow, seconds: float, width: int) -> TextLine:
    cells = _row_cells(row, seconds)
    line: TextLine = (TextSpan(f"{shorten(row.name, _NAME - 1):<{_NAME}}", row.role),)
    for name, size in _visible_columns(width):
        line = (*line, TextSpan(f"{cells[name]:>{size}}", "latency" if name == "p95" else row.role))
    return line


def _row_cells(row: LatencyRow, seconds: float) -> dict[str, str]:
    now = row.now
    return {
        "per s": number_text(big_rate(now.count / seconds if now else None)),
        "of time": DASH if row.share is None else f"{row.share:.1f} %",
        **{
            name: number_text(big_latency(getattr(now, name) if now else None))
            for name in ("p50", "p95", "p99", "max")
        },
        "p99 of 1 min": number_text(big_latency(row.worst_p99)),
    }


def _visible_columns(width: int) -> list[tuple[str, int]]:
    """The columns that fit."""
    room, shown = width - _NAME, []
    for name, size in _COLUMNS:
        room -= size
        if room < 0:
            break
        shown.append((name, size))
    return shown


WINDOW_SAMPLES = 10
"""Number of samples that are averaged: enough to make the different reading times of server and load
negligible.
"""

_COST_NAME, _VALUE = 22, 18


def operation_cost_panel(view: View, width: int, height: int) -> list[TextLine]:
    """One row per resource: use per query and per transaction, or the reason for a missing figure."""
    use = total_use(resource_use(sample.tick) for sample in view.recent[-WINDOW_SAMPLES:])
    cost = operation_cost(use)
    heading = (
        TextSpan(f"{'COST OF AN OPERATION':<{_COST_NAME}}", "title"),
        TextSpan(f"{'per query':>{_VALUE}}{'per transaction':>{_VALUE}}", "muted"),
    )
    listed = [resource for resource in Resource if resource is not Resource.HOST_CPU or resource in use.used]
    reasons = {resource: _missing_reason(resource, use, cost) for resource in listed}
    notes = [reason for reason in dict.fromkeys(reasons.values()) if reason]
    rows = [_row(resource, cost, notes, reasons[resource]) for resource in listed]
    span = f"Over the last {WINDOW_SAMPLES} samples. A query is any statement, a transaction a commit."
    texts = (f"[{number}] {note}" for number, note in enumerate(notes, 1))
    lines = [
        heading,
        *rows,
        (),
        *[line for text in texts for line in _wrapped(text, width)],
        *_wrapped(span, width),
    ]
    return [pad_line(line, width) for line in lines][:height]


def _missing_reason(resource: Resource, use: ResourceUse, cost: OperationCost) -> str:
    """The reason why a figure of the row is missing; empty if it has all."""
    if resource not in cost.per_query:
        return "no queries" if resource in use.used else resource.facts.why
    return "" if resource in cost.per_transaction else "no transactions"


def _row(resource: Resource, cost: OperationCost, notes: Sequence[str], reason: str) -> TextLine:
    query, transaction = cost.per_query.get(resource), cost.per_transaction.get(resource)
    cells = "".join(
        f"{resource_text(resource, value, in_column=True):>{_VALUE}}" for value in (query, transaction)
    )
    return (
        TextSpan(f"{resource.facts.label:<{_COST_NAME}}", "muted"),
        TextSpan(cells, "strong" if query is not None else "muted"),
        TextSpan(f" [{notes.index(reason) + 1}]" if reason else "", "muted"),
    )


def _wrapped(text: str, width: int) -> list[TextLine]:
    return [(TextSpan(part, "muted"),) for part in wrap_text(text, width)]


_TITLE = "SLOWEST of 1 min"
_STATEMENTS = 8
_LIST_HEIGHT = 4
"""From this height the panel lists several transactions."""
_P95, _SHARE = 10, 9


def slowest_panel(view: View, width: int, height: int) -> list[TextLine]:
    """The slowest transaction with its statements; several transactions if there is much room."""
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
    wrapped, whole = wrap_text(parts, width), height - 2
    last = shorten(" ".join(wrapped[whole:]), width)
    return [
        pad_line(line, width) for line in (head, *((TextSpan(line),) for line in (*wrapped[:whole], last)))
    ]


def _slowest_list(view: View, width: int, height: int) -> list[TextLine]:
    """One line per transaction, the slowest first."""
    found = _slowest_of_recent(view, height - 1)
    if not found:
        return []
    named = max(len(slow.transaction) for slow in found)
    lines: list[TextLine] = [(TextSpan(_TITLE, "title"),)]
    for slow in found:
        head = f"{milliseconds(slow.response_ms, in_column=True):>{_P95}}"
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
    lines: list[TextLine] = [_statement_row("STATEMENTS", "p95", "of time", width, "title", "muted")]
    for name in sorted(times, key=lambda name: -times[name]):
        p95 = milliseconds(statements[name].p95, in_column=True)
        lines.append(
            _statement_row(name, p95, f"{100 * times[name] / whole:.0f} %", width, "muted", "strong")
        )
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
    """The parts, wrapped to lines. A part is broken before its parenthesis, or if it is longer than a
    line.
    """
    lines: list[str] = []
    for text in ", ".join(parts).replace(", ", ",\n").replace(" (", "\n(").splitlines():
        if lines and len(lines[-1]) + 1 + len(text) <= width:
            lines[-1] += f" {text}"
        else:
            lines += wrap_text(text, width)
    return lines


def _statement_row(name: str, p95: str, share: str, width: int, name_role: str, role: str) -> TextLine:
    room = width - _P95 - _SHARE
    return (
        TextSpan(f"{shorten(name, room - 1):<{room}}", name_role),
        TextSpan(f"{p95:>{_P95}}{share:>{_SHARE}}", role),
    )
