"""Prometheus metrics page: metric families in a fixed order, in the requested format.

All names begin with `tuibench_`. The set of metrics does not depend on the load, except for counters that
this server does not have and values that were not measured.

Latency histograms have Prometheus' classic form: fixed bounds in seconds, cumulative counts, exact sum.

With six bounds per decade, an interpolated quantile is within a third of the true value,
and mostly within a tenth. The bounds never change, so that runs can be added up and compared.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from tuibench import sanitize
from tuibench.metrics.figures import FIGURES, all_values
from tuibench.model.event import EventKind
from tuibench.model.findings import ResourceUse
from tuibench.model.message import RunState
from tuibench.model.tick import ERROR, RESPONSE, SERVICE, TRANSACTION, Histogram, Tick, bucket_upper_bound
from tuibench.model.tick import Sample as TuibenchSample
from tuibench.mysql.errors import error_name
from tuibench.record import prometheus_metrics
from tuibench.record.prometheus_metrics import MetricsSnapshot

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
BOUNDS = (*(round(step * decade, 6) for decade in _DECADES for step in _STEPS), 10.0, 15.0, 30.0, 60.0)
"""Upper bounds in seconds, inclusive, from 100 µs to a minute."""

_BOUNDS_US = tuple(round(bound * 1e6) for bound in BOUNDS)

Buckets = list[tuple[str, float]]


def cumulated(histogram: Histogram) -> Buckets:
    """The cumulative count up to each bound, `+Inf` last."""
    counts = [0] * (len(BOUNDS) + 1)
    for bucket, times in histogram.counts.items():
        counts[bisect_left(_BOUNDS_US, bucket_upper_bound(bucket))] += times
    bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
    return [(bound, float(count)) for bound, count in zip(bounds, accumulate(counts), strict=True)]


def sum_seconds(histogram: Histogram) -> float:
    return histogram.sum_us / 1e6


PREFIX = "tuibench_"
Part = TypeVar("Part")


def render_page(snapshot: MetricsSnapshot, accept: str = "") -> tuple[bytes, str]:
    """The page and its content type: OpenMetrics if `accept` (of the request) asks for it, else text."""
    encode, content_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fixed(metric_families(snapshot)))
    return encode(registry), content_type


class _Fixed(Collector):
    """A collector of ready families, without control characters in label values."""

    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = list(found)
        for metric in self._found:
            metric.samples = [
                sample._replace(labels={name: sanitize.text(value) for name, value in sample.labels.items()})
                for sample in metric.samples
            ]

    def collect(self) -> Iterable[Metric]:
        return self._found


def metric_families(snapshot: MetricsSnapshot) -> Iterator[Metric]:
    yield from _identity(snapshot)
    if snapshot.totals is not None:
        yield from _load(snapshot.totals)
        response = HistogramMetricFamily(
            PREFIX + "transaction_duration_seconds",
            "Response time of committed transactions.",
            labels=["transaction"],
        )
        for name, histogram in sorted(snapshot.totals.named(TRANSACTION).items()):
            response.add_metric([name], cumulated(histogram), sum_seconds(histogram))
        yield response
        yield from _times(
            "transaction_service_seconds",
            "Time from the actual start of transactions, in a run with a rate.",
            snapshot.totals.hist(SERVICE),
        )
    if snapshot.traffic is not None:
        yield _queries(
            "traffic_queries", "Statements of the server's clients, without tuibench's own.", snapshot.traffic
        )
        yield from _times(
            "traffic_statement_duration_seconds",
            "Statement times, measured by the server.",
            snapshot.traffic.hist(RESPONSE),
        )
    yield from _resources(snapshot.use)
    family = CounterMetricFamily(PREFIX + "events", "Events by kind.", labels=["kind"])
    for kind in EventKind:
        family.add_metric([str(kind)], snapshot.events.get(kind, 0))
    yield family
    yield from _read(prometheus_metrics.STATUS_GAUGES, snapshot.status)
    sample = snapshot.sample
    if sample is None:
        return
    yield from _read(prometheus_metrics.SAMPLE_GAUGES, sample)
    yield from _read(prometheus_metrics.LOAD_GAUGES, sample.load)
    yield from _read(prometheus_metrics.SERVER_GAUGES, sample.server)
    if sample.server is not None:
        for counter, help_text in prometheus_metrics.exported_counters():
            if counter in sample.server.levels:
                value = sample.server.levels[counter] * counter.facts.unit.in_metric
                yield CounterMetricFamily(f"{PREFIX}server_{counter.facts.metric}", help_text, value=value)
    yield _figures(sample)
    yield from _host(sample.host, PREFIX)
    yield from _host(sample.client_host, PREFIX + prometheus_metrics.CLIENT)


def _figures(sample: TuibenchSample) -> Metric:
    """The figures of the newest sample by their names; unknown ones are absent."""
    family = GaugeMetricFamily(
        PREFIX + "figure", "Figures of the newest sample, in their own unit.", labels=["figure", "unit"]
    )
    for name, value in all_values(sample.tick).items():
        family.add_metric([name, FIGURES[name].unit], value)
    return family


def _host(host: Tick | None, prefix: str) -> Iterator[Metric]:
    """A host's figures; unknown ones are absent."""
    if host is None:
        return
    yield from _read(prometheus_metrics.HOST_GAUGES, host, prefix)
    cpu = GaugeMetricFamily(prefix + "host_cpu_ratio", "Share of all CPU time.", labels=["owner"])
    for owner in prometheus_metrics.CPU_OWNERS:
        if (share := owner.read(host)) is not None:
            cpu.add_metric([owner.name], share)
    yield cpu


def _identity(snapshot: MetricsSnapshot) -> Iterator[Metric]:
    yield InfoMetricFamily(PREFIX + "build", "The program.", {"version": snapshot.version})
    yield InfoMetricFamily(
        PREFIX + "run",
        "Profile and server of the run.",
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
    state = GaugeMetricFamily(
        PREFIX + "state", "1 for the current state of the run, 0 for the others.", labels=["state"]
    )
    for one in RunState:
        state.add_metric([str(one)], float(one is snapshot.status.state))
    yield state
    setting = InfoMetricFamily(PREFIX + "setting", "Values of the server's settings.", labels=["name"])
    for each in snapshot.status.settings:
        if each.value:
            setting.add_metric([each.name], {"value": each.value, "original": each.original})
    yield setting


def _load(totals: Tick) -> Iterator[Metric]:
    for count, (name, meaning) in prometheus_metrics.LOAD_COUNTERS.items():
        yield CounterMetricFamily(PREFIX + name, meaning, value=totals.sums.get(count, 0))
    yield _queries("queries", "Statements that returned.", totals)
    errors = CounterMetricFamily(
        PREFIX + "errors", "Failed statements by the server's error.", labels=["code", "name"]
    )
    for code, times in sorted((int(code), times) for code, times in totals.counts(ERROR).items()):
        errors.add_metric([str(code), error_name(code)], times)
    yield errors


def _queries(name: str, meaning: str, totals: Tick) -> Metric:
    family = CounterMetricFamily(PREFIX + name, meaning, labels=["kind"])
    for count, kind in prometheus_metrics.QUERY_KINDS.items():
        family.add_metric([kind], totals.sums.get(count, 0))
    return family


def _times(name: str, meaning: str, histogram: Histogram) -> Iterator[Metric]:
    """A histogram, if anything is in it."""
    if histogram.count:
        yield HistogramMetricFamily(
            PREFIX + name, meaning, buckets=cumulated(histogram), sum_value=sum_seconds(histogram)
        )


def _resources(use: ResourceUse) -> Iterator[Metric]:
    """The resources used by operations; unknown ones are absent."""
    families: dict[str, CounterMetricFamily] = {}
    for counter in prometheus_metrics.RESOURCE_COUNTERS:
        if counter.resource not in use.used:
            continue
        names, values = [name for name, _ in counter.labels], [value for _, value in counter.labels]
        family = families.setdefault(
            counter.name, CounterMetricFamily(PREFIX + counter.name, counter.help, labels=names)
        )
        family.add_metric(values, use.used[counter.resource] * counter.factor)
    yield from families.values()


def _read(
    table: Iterable[prometheus_metrics.Gauge[Part]], part: Part | None, prefix: str = PREFIX
) -> Iterator[Metric]:
    for gauge in table if part is not None else ():
        value = gauge.read(part)  # type: ignore[arg-type]
        if value is not None:
            family = GaugeMetricFamily(prefix + gauge.name, gauge.help)
            family.add_metric([], value)
            yield family
