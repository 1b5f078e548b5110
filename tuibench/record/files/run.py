"""A recorded run as one value: the source of reports, comparisons and replays. `loading.load_run` reads it.

Everything but the HDR log is in memory.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tuibench.model.event import Event
from tuibench.model.experiments.effect import CommitCost
from tuibench.model.histogram import Histogram
from tuibench.model.measurements.environment import Environment
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import Status
from tuibench.model.results.summary import Summary
from tuibench.model.tick import Tick
from tuibench.record.files import reader
from tuibench.record.files.hdr_log import LogLine, decode_histogram
from tuibench.record.files.recorder import SUMMARY
from tuibench.record.files.schema import PlanRecord, ReportLine


class StatusAt(msgspec.Struct, frozen=True, kw_only=True):
    """The status from a moment on; `elapsed_seconds` counts from the start of the measured load."""

    elapsed_seconds: float
    status: Status


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as far as it was recorded.

    `samples` begin with the warm-up, whose `elapsed_seconds` are 0 or less. `summary` is the run's own, or
    with `cut_short` one made from the samples, because the session ended without one (or is still running:
    see `is_live`). `environment` is None if its file is missing. `costs` has the cost of commits up to each
    sample. `unreadable_lines` are left out, `refusal` says so and why.
    """

    directory: Path
    plan: PlanRecord
    environment: Environment | None
    samples: tuple[Sample, ...]
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

    def intervals(self) -> Iterator[Tick]:
        """Each measured tick with a throughput, as printed."""
        return (sample.tick for sample in self.measured if sample.throughput is not None)


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
