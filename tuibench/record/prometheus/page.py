"""A snapshot as the page that a scraper gets: families in a fixed order, in the format it asks for.

All names begin with `tuibench_`. Which metrics there are does not depend on the load, but for what this
server does not count and what was not measured.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from tuibench.metrics.histogram import Histogram
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.mysql.names import error_name
from tuibench.record.prometheus import buckets, counters, gauges
from tuibench.record.prometheus.snapshot import Snapshot, Totals

PREFIX = "tuibench_"
Part = TypeVar("Part")


class Page(NamedTuple):
    """The body, and what its HTTP header says it is."""

    body: bytes
    content_type: str


def page(snapshot: Snapshot, accept: str = "") -> Page:
    """The page, as OpenMetrics if `accept` (the header of the request) asks for that, else as plain text."""
    encode, content_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fixed(families(snapshot)))
    return Page(encode(registry), content_type)


class _Fixed(Collector):
    """Families that are known already."""

    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = list(found)

    def collect(self) -> Iterable[Metric]:
        return self._found


def families(snapshot: Snapshot) -> Iterator[Metric]:
    """All metrics of a moment."""
    yield from _identity(snapshot)
    yield from _load(snapshot.totals)
    yield _durations("transaction_duration", "Response time of committed transactions.", snapshot.totals)
    if snapshot.totals.service.count:
        yield _service(snapshot.totals.service)
    yield _events(snapshot.events)
    yield from _read(gauges.STATUS, snapshot.status)
    sample = snapshot.sample
    if sample is None:
        return
    yield from _read(gauges.SAMPLE, sample)
    yield from _read(gauges.LOAD, sample.load)
    yield from _read(gauges.SERVER, sample.server)
    if sample.server is not None:
        yield from _server(sample.server.counters)
    yield from _read(gauges.HOST, sample.host)
    if sample.host is not None:
        cpu = GaugeMetricFamily(PREFIX + "host_cpu_ratio", "Share of all processor time.", labels=["owner"])
        for owner in gauges.CPU_OWNERS:
            if (share := owner.read(sample.host)) is not None:
                cpu.add_metric([owner.name], share)
        yield cpu


def _identity(snapshot: Snapshot) -> Iterator[Metric]:
    yield InfoMetricFamily(PREFIX + "build", "The program.", {"version": snapshot.version})
    yield InfoMetricFamily(
        PREFIX + "run",
        "What runs, and on which server.",
        {
            "session": snapshot.session,
            "profile": snapshot.plan.profile,
            "target": snapshot.where,
            "server_flavour": str(snapshot.server.flavour),
            "server_version": snapshot.server.version_text,
        },
    )
    started = GaugeMetricFamily(PREFIX + "start_time_seconds", "Unix time at which the session began.")
    started.add_metric([], snapshot.started_at)
    yield started
    state = GaugeMetricFamily(PREFIX + "state", "1 for the state of the run, 0 for others.", labels=["state"])
    for one in RunState:
        state.add_metric([str(one)], float(one is snapshot.status.state))
    yield state
    setting = InfoMetricFamily(PREFIX + "setting", "Values of the server's settings.", labels=["name"])
    for each in snapshot.status.settings:
        if each.value:
            setting.add_metric([each.name], {"value": each.value, "original": each.original})
    yield setting


def _load(totals: Totals) -> Iterator[Metric]:
    for counter in counters.LOAD:
        yield CounterMetricFamily(PREFIX + counter.name, counter.help, value=counter.read(totals))
    queries = CounterMetricFamily(PREFIX + "queries", "Statements that returned.", labels=["kind"])
    for kind, read in counters.QUERIES.items():
        queries.add_metric([kind], read(totals))
    yield queries
    errors = CounterMetricFamily(
        PREFIX + "errors", "Failed statements by the server's error.", labels=["code", "name"]
    )
    for code, times in sorted(totals.errors.items()):
        errors.add_metric([str(code), error_name(code)], times)
    yield errors


def _durations(name: str, help: str, totals: Totals) -> Metric:
    family = HistogramMetricFamily(f"{PREFIX}{name}_seconds", help, labels=["transaction"])
    for transaction, histogram in sorted(totals.response.items()):
        family.add_metric([transaction], buckets.cumulated(histogram), buckets.sum_seconds(histogram))
    return family


def _service(histogram: Histogram) -> Metric:
    return HistogramMetricFamily(
        PREFIX + "transaction_service_seconds",
        "Time from the real start of transactions, where they are due at a rate.",
        buckets=buckets.cumulated(histogram),
        sum_value=buckets.sum_seconds(histogram),
    )


def _events(seen: dict[str, int]) -> Metric:
    family = CounterMetricFamily(PREFIX + "events", "What happened, by its kind.", labels=["kind"])
    for kind in EventKind:
        family.add_metric([str(kind)], seen.get(kind, 0))
    return family


def _server(found: dict[str, int]) -> Iterator[Metric]:
    for counter in counters.SERVER:
        if counter.variable in found:
            value = found[counter.variable] * counter.unit
            yield CounterMetricFamily(PREFIX + counter.name, counter.help, value=value)


def _read(table: Iterable[gauges.Gauge[Part]], part: Part | None) -> Iterator[Metric]:
    for gauge in table if part is not None else ():
        value = gauge.read(part)  # type: ignore[arg-type]
        if value is not None:
            family = GaugeMetricFamily(PREFIX + gauge.name, gauge.help)
            family.add_metric([], value)
            yield family
