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
from tuibench.record.files import reader
from tuibench.record.files.hdr_log import LogLine, decode_histogram
from tuibench.record.files.recorder import SUMMARY
from tuibench.record.files.schema import PlanRecord, ReportLine, TickCounts
from tuibench.record.sysbench_report import IntervalCounts

ROUNDING_SECONDS = 0.0015
"""The log of latencies has its times in ms."""


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
        latency=line.histogram(sum_us=counts.sum_us, min_us=round(latency.min * US_PER_MS) if latency else 0),
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
    has the cost of commits up to each sample. `unreadable_lines` are left out, `refusal` says so and why.
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
    refusal: str = ""

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
        return _whole(self.summary, str(self.directory / SUMMARY))

    def intervals(self) -> Iterator[tuple[float, IntervalCounts]]:
        """Each measured tick as printed: its end in seconds, counts and response times."""
        ticks = zip(self.samples, self.counts, strict=True)
        tick = next(ticks, None)
        for line in self.histograms():
            while tick is not None and _is_before(tick[0], line):
                tick = next(ticks, None)
            if tick is None:
                return
            sample, counts = tick
            if line.tag or sample.elapsed_seconds > line.end_seconds + ROUNDING_SECONDS:
                continue
            tick = next(ticks, None)
            if sample.throughput is not None:
                interval = rebuild_interval(sample.throughput, counts, line, _threads(sample))
                yield sample.elapsed_seconds, interval


def _is_before(sample: Sample, line: LogLine) -> bool:
    """True for a sample of the warm-up, or of an interval before that of the line."""
    end = sample.elapsed_seconds
    return end <= 0 or end < line.end_seconds - ROUNDING_SECONDS


def _threads(sample: Sample) -> int | None:
    if sample.load is not None:
        return sample.load.threads
    return sample.server.threads_running if sample.server is not None else None


def _whole(summary: Summary, where: str) -> Histogram:
    latency = summary.latency_ms
    if latency is None or not summary.latency_histogram:
        return Histogram()
    return decode_histogram(
        summary.latency_histogram,
        sum_us=round(summary.latency_sum_ms * 1e3),
        min_us=round(latency.min * 1e3),
        max_us=round(latency.max * 1e3),
        where=where,
    )
