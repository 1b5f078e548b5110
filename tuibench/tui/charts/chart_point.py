"""Conversion of a sample to a point of the charts."""

from tuibench.metrics.figures import read
from tuibench.model.histogram import coarse_counts
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import RESPONSE, Tick
from tuibench.tui.charts.figures.table import read_figures, read_lags
from tuibench.tui.charts.history import ChartPoint, CpuShares, pack_counts
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
        fsyncs=read("fsyncs", sample.server),
        cpu=None if host is None else cpu_shares(host),
        figures=read_figures(sample),
        lags=read_lags(sample),
    )
    load = sample.throughput
    if load is None:
        return point
    latency = sample.latency if load is sample.tick else load.hist(RESPONSE).latency()
    return point._replace(
        tps=read("tps", load) or 0.0,
        qps=read("qps", load) or 0.0,
        p95_ms=latency.p95 if latency else None,
        latency=latency,
        seconds=load.seconds,
        counts=pack_counts(coarse_counts(load.hist(RESPONSE))),
        headline=read("headline", sample.load),
    )


def cpu_shares(host: Tick) -> CpuShares:
    """The CPU time of a host by its users."""
    server, own, rest = (read(f"cpu_{name}", host) or 0.0 for name in ("server", "tuibench", "rest"))
    return server, own, rest
