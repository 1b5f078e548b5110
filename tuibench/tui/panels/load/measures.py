"""Main figures of the charts: source, format and details of each.

Draws the big number left of a chart, with its details below.
"""

from collections.abc import Callable
from typing import NamedTuple

from tuibench import units
from tuibench.metrics.figures import read
from tuibench.model.histogram import Latency
from tuibench.model.measurements.headline import Headline
from tuibench.model.sql_errors import error_rate_label
from tuibench.model.tick import ERROR, LOGIN, RESPONSE, SERVICE, WAIT, Tick
from tuibench.tui.charts.history import ChartPoint
from tuibench.tui.text.big_font import DIGIT_ROWS, big_digits
from tuibench.tui.text.spans import TextLine, TextSpan, justify, line_width, pad_line
from tuibench.tui.view import View


class MeasureDetail(NamedTuple):
    """A smaller figure below the big one. `alarm` highlights the value."""

    name: str
    value: str
    alarm: bool = False


class Measure(NamedTuple):
    """A figure plotted over time. `name` identifies it, `role` names its colour. With `may_rise` its axis may
    start above zero; with `is_bytes` it is rounded in binary units.
    """

    name: str
    role: str
    title: str
    unit: str
    value: Callable[[ChartPoint], float | None]
    big: Callable[[float | None], tuple[str, str]]
    axis: Callable[[float | None], str]
    details: Callable[[Tick], tuple[MeasureDetail, ...]]
    may_rise: bool = False
    is_bytes: bool = False


def three_digits(value: float) -> str:
    """Exactly three significant digits, so that a number keeps its width: 49.0, 4.82, 163."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def big_rate(value: float | None) -> tuple[str, str]:
    """Digits and prefix, at most four digits: ("2,412", ""), ("48.2", "k")."""
    if value is None:
        return units.DASH, ""
    if value < 9_999.5:
        return ("0" if value == 0 else three_digits(value)), ""
    factor, prefix = (1e6, "M") if value >= 999_500 else (1e3, "k")
    return three_digits(value / factor), prefix


def big_latency(value: float | None) -> tuple[str, str]:
    """Digits and unit: ("26.4", "ms")."""
    if value is None:
        return units.DASH, ""
    return (three_digits(value / 1000), "s") if value >= 999.5 else (three_digits(value), "ms")


def _number_text(number: tuple[str, str]) -> str:
    return " ".join(number).rstrip()


def _tps_details(load: Tick) -> tuple[MeasureDetail, ...]:
    levels = load.levels
    if _is_traffic(load):
        return (MeasureDetail("rollbacks/s", _none_or_rate(read("rollbacks", load))),)
    errors, reconnects = read("errors_per_second", load) or 0.0, read("reconnects_per_second", load) or 0.0
    opened, asked, backlog = (levels.get(name, 0) for name in ("connections", "threads", "backlog"))
    waiting = (MeasureDetail("backlog", _number_text(big_rate(backlog)), alarm=backlog > 0),)
    codes = {code: int(times) for code, times in load.counts(ERROR).items()}
    users = (MeasureDetail("waiting", f"{levels.get('waiting', 0):,.0f} of {levels.get('users', 0):,.0f}"),)
    return (
        *(waiting if levels.get("rate") else ()),
        *(users if levels.get("users") else ()),
        MeasureDetail(error_rate_label(codes), _none_or_rate(errors), alarm=errors > 0),
        MeasureDetail("clients", f"{opened:,.0f} of {asked:,.0f}", alarm=opened < asked),
        *_extra_details(load),
        MeasureDetail("reconnects/s", _none_or_rate(reconnects), alarm=reconnects > 0),
    )


def _is_traffic(tick: Tick) -> bool:
    """True for a server's own traffic, which counts rollbacks."""
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
        MeasureDetail(name, _number_text(big_rate(read(f"{name}s", load) or 0.0)))
        for name in ("read", "write", "other")
    )


def _latency_details(load: Tick) -> tuple[MeasureDetail, ...]:
    def detail(name: str, figure: str) -> MeasureDetail:
        return MeasureDetail(name, _number_text(big_latency(read(figure, load))))

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
    "tps", "tps", "TPS", "transactions/s", lambda point: point.tps, big_rate, units.si, _tps_details
)
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
"""Below this a transaction rarely waits for the disk: the load is read-only."""


def commits_matter(view: View) -> bool:
    """True if durability matters in this run: commits are flushed, or settings prevent that."""
    if any(setting.changed or setting.at_risk for setting in view.durability):
        return any(point.fsyncs is not None for point in view.points)
    return any((point.fsyncs or 0.0) >= FEWEST_FSYNCS for point in view.points[-_RECENT_POINTS:])


_RECENT_POINTS = 60


WATCH_MEASURES = (TPS._replace(unit="commits/s"), QPS, P95._replace(unit="statements"))
"""Charts of a session without load, from the server's own counters."""


def measures_of(headline: Headline | None, *, is_watch: bool = False) -> tuple[Measure, ...]:
    """The three charts; a headline replaces the TPS chart, which becomes a detail of it."""
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
            MeasureDetail("TPS", _number_text(big_rate(read("tps", load) or 0.0))),
            *_tps_details(load),
        ),
    )
    return (first, QPS, P95)


def _no_details(_: Tick) -> tuple[MeasureDetail, ...]:
    return ()


def _percentile(title: str, meaning: str, figure: Callable[[Latency], float]) -> Measure:
    return Measure(
        f"{title} alone",
        "latency",
        title,
        meaning,
        lambda point: None if point.latency is None else figure(point.latency),
        big_latency,
        units.milliseconds,
        _no_details,
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
    rows = [_digit_line(row, digit_role) for row in big_digits(digits, ascii_only=ascii_only)]
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
    """The same in small, beside a chart with little room: name, value, and meaning of the name."""
    value = measure.value(view.points[-1]) if view.points else None
    written = " ".join(measure.big(value)).rstrip()
    number = (TextSpan(written, measure.role if value is not None else "muted"),)
    first = justify((TextSpan(measure.title, "strong"),), number, width - 2)
    return [pad_line(line, width) for line in (first, (TextSpan(measure.unit, "muted"),))][:height]


def line_figure(measure: Measure, view: View, width: int, height: int) -> list[TextLine]:
    """Name and value in one line, beside a chart of one row."""
    value = measure.value(view.points[-1]) if view.points else None
    number = TextSpan(" ".join(measure.big(value)).rstrip(), measure.role if value is not None else "muted")
    return [pad_line(justify((TextSpan(measure.title, "strong"),), (number,), width - 2), width)][:height]


def _digit_line(row: str, role: str) -> TextLine:
    return (TextSpan(row, role),)


def _detail_line(detail: MeasureDetail, width: int) -> TextLine:
    value = (TextSpan(detail.value, "warn" if detail.alarm else ""),)
    return justify(
        (TextSpan(detail.name, "warn" if detail.alarm else "muted"),), value, max(width, line_width(value))
    )
