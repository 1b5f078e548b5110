"""The three numbers that matter, as a table: how each is read, written and explained."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench import units
from tuibench.model.sample import LoadPart
from tuibench.tui.view import Point


class Detail(NamedTuple):
    """A smaller figure below the big one. `alarm` marks a value that should be seen."""

    name: str
    value: str
    alarm: bool = False


class Measure(NamedTuple):
    """One of the three charts. `role` names its colour."""

    role: str
    title: str
    unit: str
    value: Callable[[Point], float | None]
    big: Callable[[float | None], tuple[str, str]]
    axis: Callable[[float | None], str]
    details: Callable[[LoadPart], tuple[Detail, ...]]


def big_rate(value: float | None) -> tuple[str, str]:
    """Digits and prefix, at most four digits: ("2,412", ""), ("48.2", "k")."""
    if value is None:
        return units.DASH, ""
    if value < 9_999.5:
        return (units.count(value) if value >= 99.95 else f"{value:.3g}"), ""
    digits, _, prefix = units.si(value).partition(" ")
    return digits, prefix


def big_latency(value: float | None) -> tuple[str, str]:
    """Digits and unit: ("26.4", "ms")."""
    if value is None:
        return units.DASH, ""
    digits, _, unit = units.milliseconds(value).partition(" ")
    return digits, unit


def _tps_details(load: LoadPart) -> tuple[Detail, ...]:
    errors, reconnects = load.errors_per_second, load.reconnects_per_second
    return (
        Detail("errors/s", units.decimal(errors, 1) if errors else "0", alarm=errors > 0),
        Detail("reconnects/s", units.decimal(reconnects, 1) if reconnects else "0", alarm=reconnects > 0),
        Detail(
            "connected", f"{load.connections:,} of {load.threads:,}", alarm=load.connections < load.threads
        ),
    )


def _qps_details(load: LoadPart) -> tuple[Detail, ...]:
    return (
        Detail("read", units.si(load.reads_per_second)),
        Detail("write", units.si(load.writes_per_second)),
        Detail("other", units.si(load.others_per_second)),
    )


def _latency_details(load: LoadPart) -> tuple[Detail, ...]:
    latency = load.latency
    return (
        Detail("p50", units.milliseconds(latency.p50 if latency else None)),
        Detail("p99", units.milliseconds(latency.p99 if latency else None)),
        Detail("max", units.milliseconds(latency.max if latency else None)),
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
