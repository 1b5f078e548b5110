"""The three numbers that matter, as a table: how each is read, written and explained."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench import units
from tuibench.model.headline import Headline
from tuibench.model.sample import LoadPart
from tuibench.tui.history import Point


class Detail(NamedTuple):
    """A smaller figure below the big one. `alarm` marks a value that should be seen."""

    name: str
    value: str
    alarm: bool = False


class Measure(NamedTuple):
    """What a chart shows over time. `role` names its colour."""

    role: str
    title: str
    unit: str
    value: Callable[[Point], float | None]
    big: Callable[[float | None], tuple[str, str]]
    axis: Callable[[float | None], str]
    details: Callable[[LoadPart], tuple[Detail, ...]]


def three_digits(value: float) -> str:
    """Three significant digits and no fewer, so that a number keeps its width: 49.0, 4.82, 163."""
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


def _written(number: tuple[str, str]) -> str:
    return " ".join(number).rstrip()


def _tps_details(load: LoadPart) -> tuple[Detail, ...]:
    errors, reconnects = load.errors_per_second, load.reconnects_per_second
    clients = f"{load.connections:,} of {load.threads:,}"
    waiting = (Detail("backlog", _written(big_rate(load.backlog)), alarm=load.backlog > 0),)
    return (
        *(waiting if load.rate else ()),
        Detail("errors/s", _none_or_rate(errors), alarm=errors > 0),
        Detail("clients", clients, alarm=load.connections < load.threads),
        Detail("reconnects/s", _none_or_rate(reconnects), alarm=reconnects > 0),
    )


def _none_or_rate(value: float) -> str:
    return units.decimal(value, 1) if value else "0"


def _qps_details(load: LoadPart) -> tuple[Detail, ...]:
    return (
        Detail("read", _written(big_rate(load.reads_per_second))),
        Detail("write", _written(big_rate(load.writes_per_second))),
        Detail("other", _written(big_rate(load.others_per_second))),
    )


def _latency_details(load: LoadPart) -> tuple[Detail, ...]:
    latency, service = load.latency, load.service
    return (
        Detail("p50", _written(big_latency(latency.p50 if latency else None)))
        if service is None
        else Detail("service", _written(big_latency(service.p95))),
        Detail("p99", _written(big_latency(latency.p99 if latency else None))),
        Detail("max", _written(big_latency(latency.max if latency else None))),
    )


TPS = Measure("tps", "TPS", "transactions/s", lambda point: point.tps, big_rate, units.si, _tps_details)
QPS = Measure("qps", "QPS", "queries/s", lambda point: point.qps, big_rate, units.si, _qps_details)
P95 = Measure(
    "latency",
    "p95",
    "latency",
    lambda point: point.p95_ms,
    big_latency,
    units.milliseconds,
    _latency_details,
)
MEASURES = (TPS, QPS, P95)


def measures_of(headline: Headline | None) -> tuple[Measure, ...]:
    """The three charts: a headline stands first, in the place of the TPS, which it tells then."""
    if headline is None:
        return MEASURES
    first = TPS._replace(
        title=headline.title,
        unit=f"({headline.note})" if headline.note else "",
        value=lambda point: point.headline,
        details=lambda load: (
            Detail("TPS", _written(big_rate(load.transactions_per_second))),
            *_tps_details(load),
        ),
    )
    return (first, QPS, P95)


def _no_details(_: LoadPart) -> tuple[Detail, ...]:
    return ()


def _percentile(title: str, meaning: str, value: Callable[[Point], float | None]) -> Measure:
    return Measure("latency", title, meaning, value, big_latency, units.milliseconds, _no_details)


PERCENTILES = (
    _percentile("p50", "half are slower", lambda point: point.p50_ms),
    _percentile("p95", "1 of 20 is slower", lambda point: point.p95_ms),
    _percentile("p99", "1 of 100 is slower", lambda point: point.p99_ms),
    _percentile("max", "the slowest", lambda point: point.max_ms),
)
"""The latency screen's charts."""
