"""A recorded run as one value: the source of reports, comparisons and replays. `loading.load_run` reads it.

Samples, events and states are in memory; latency histograms are read from the file on demand, because
there are many.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.model.event import Event
from tuibench.model.experiments.effect import CommitCost
from tuibench.model.measurements.environment import Environment
from tuibench.model.measurements.sample import LoadSample, Sample, TrafficSample
from tuibench.model.message import Status
from tuibench.model.results.summary import Summary
from tuibench.record.files import hdr_log, reader
from tuibench.record.files.hdr_log import LogLine, decode_histogram
from tuibench.record.files.schema import PlanRecord, ReportLine, TickCounts
from tuibench.record.sysbench_report import IntervalCounts


def rebuild_interval(
    figures: LoadSample | TrafficSample, counts: TickCounts, line: LogLine, threads: int | None
) -> IntervalCounts:
    """The interval of a tick, identical to the printed one; `threads` are those of the load, or those that
    run in the server without one.
    """
    latency = figures.latency
    load = figures if isinstance(figures, LoadSample) else None
    return IntervalCounts(
        seconds=figures.seconds,
        threads=threads,
        rate=load.rate if load else 0.0,
        transactions=counts.completed,
        reads=counts.reads,
        writes=counts.writes,
        others=counts.others,
        errors=counts.failures,
        reconnects=counts.reconnects,
        backlog=load.backlog if load else 0,
        in_flight=counts.in_flight,
        connection_load=load.connection_load if load else None,
        latency=decode_histogram(
            line.payload,
            sum_us=counts.sum_us,
            min_us=round(latency.min * US_PER_MS) if latency else 0,
            max_us=line.max_us,
        ),
    )


class StatusAt(msgspec.Struct, frozen=True, kw_only=True):
    """The status from a moment on; `elapsed_seconds` counts from the start of the measured load."""

    elapsed_seconds: float
    status: Status


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as far as it was recorded.

    `samples` begin with the warm-up, whose `elapsed_seconds` are 0 or less; `counts` has an entry for each of
    them. `summary` is the run's own, or with `cut_short` one made from the samples, because the session ended
    without one (or is still running: see `is_live`). `environment` is None if its file is missing. `costs`
    has the cost of commits up to each sample.
    """

    directory: Path
    plan: PlanRecord
    environment: Environment | None
    samples: tuple[Sample, ...]
    counts: tuple[TickCounts, ...]
    events: tuple[Event, ...]
    states: tuple[StatusAt, ...]
    reports: tuple[ReportLine, ...]
    costs: tuple[tuple[CommitCost, ...], ...]
    summary: Summary
    cut_short: bool = False
    is_live: bool = False
    unreadable_lines: int = 0

    @property
    def id(self) -> str:
        """The run's name: that of its directory, which may have been renamed."""
        return self.directory.name

    @property
    def measured(self) -> tuple[Sample, ...]:
        """The samples without the warm-up."""
        return tuple(sample for sample in self.samples if sample.elapsed_seconds > 0)

    def histograms(self) -> Iterator[LogLine]:
        """The latencies of each tick, under the tags of `hdr_log`."""
        return reader.read_histograms(self.directory)

    def latencies(self) -> Histogram:
        """The response times of the whole run."""
        return _whole(self.summary)

    def intervals(self) -> Iterator[tuple[float, IntervalCounts]]:
        """Each measured tick as printed: its end in seconds, counts and response times."""
        ticks = ((s, c) for s, c in zip(self.samples, self.counts, strict=True) if s.elapsed_seconds > 0)
        untagged = (line for line in self.histograms() if line.tag == hdr_log.RESPONSE)
        for (sample, counts), line in zip(ticks, untagged, strict=False):
            if sample.throughput is not None:
                interval = rebuild_interval(sample.throughput, counts, line, _threads(sample))
                yield sample.elapsed_seconds, interval


def _threads(sample: Sample) -> int | None:
    if sample.load is not None:
        return sample.load.threads
    return sample.server.threads_running if sample.server is not None else None


def _whole(summary: Summary) -> Histogram:
    latency = summary.latency_ms
    if latency is None or not summary.latency_histogram:
        return Histogram()
    return decode_histogram(
        summary.latency_histogram,
        sum_us=round(summary.latency_sum_ms * 1e3),
        min_us=round(latency.min * 1e3),
        max_us=round(latency.max * 1e3),
    )
