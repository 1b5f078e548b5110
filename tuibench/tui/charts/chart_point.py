"""Conversion of a sample to a point of the charts."""

from tuibench.model.histogram import coarse_counts
from tuibench.model.measurements.sample import Sample
from tuibench.tui.charts.figures.table import read_figures, read_lags
from tuibench.tui.charts.history import ChartPoint, pack_counts
from tuibench.tui.charts.time_grid import slot_of


def chart_point(sample: Sample, interval_seconds: float) -> ChartPoint:
    """The chart point of a sample."""
    host = sample.shown_host
    point = ChartPoint(
        sample.elapsed_seconds,
        None,
        None,
        None,
        slot=slot_of(sample.elapsed_seconds, interval_seconds),
        fsyncs=sample.server.log_fsyncs_per_transaction if sample.server else None,
        cpu=None if host is None else (host.cpu_server or 0.0, host.cpu_tuibench, host.cpu_rest),
        figures=read_figures(sample),
        lags=read_lags(sample),
    )
    load = sample.throughput
    if load is None:
        return point
    latency = load.latency
    return point._replace(
        tps=load.transactions_per_second,
        qps=load.queries_per_second,
        p95_ms=latency.p95 if latency else None,
        latency=latency,
        seconds=load.seconds,
        counts=pack_counts(coarse_counts(load.histogram)),
        headline=sample.load.headline if sample.load else None,
    )
