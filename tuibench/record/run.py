"""A recorded run as one value: what reports, comparisons and replays are made from. No server is asked.

    run = load(directory)

Samples, events and states are read at once; latencies are many, and are read as they are asked for.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tuibench.errors import RunError
from tuibench.metrics.histogram import Histogram
from tuibench.model.cost import CommitCost
from tuibench.model.environment import Environment
from tuibench.model.event import Event
from tuibench.model.message import Status
from tuibench.model.sample import Sample
from tuibench.model.summary import Summary
from tuibench.record import cut_short, hdrlog, reader, rebuilding
from tuibench.record.hdr import decoded
from tuibench.record.hdrlog import LogLine
from tuibench.record.lines import (
    PlanRecord,
    ReportLine,
    StatusLine,
    TickCounts,
    status_of,
)
from tuibench.record.recorder import ENVIRONMENT, EVENTS, PLAN, REPORTS, SAMPLES, STATUS, SUMMARY
from tuibench.record.text import Interval
from tuibench.record.ticks import SampleLine, TickReader


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What held from a moment on; `elapsed_seconds` counts from the start of the measured load."""

    elapsed_seconds: float
    status: Status


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as far as it was recorded.

    `samples` begin with the warm-up, whose `elapsed_seconds` are 0 or less; `counts` has an entry for each of
    them. `summary` is the run's own, or with `cut_short` one made from the samples, because the session ended
    without one (or still runs: see `is_live`). `environment` is None where its file is missing. `costs`
    has what commits had cost by the time of each sample.
    """

    directory: Path
    plan: PlanRecord
    environment: Environment | None
    samples: tuple[Sample, ...]
    counts: tuple[TickCounts, ...]
    events: tuple[Event, ...]
    states: tuple[Told, ...]
    reports: tuple[ReportLine, ...]
    costs: tuple[tuple[CommitCost, ...], ...]
    summary: Summary
    cut_short: bool = False
    is_live: bool = False
    spoilt_lines: int = 0

    @property
    def id(self) -> str:
        """Its name: that of its directory, which may have been renamed since."""
        return self.directory.name

    @property
    def measured(self) -> tuple[Sample, ...]:
        """The samples without the warm-up."""
        return tuple(sample for sample in self.samples if sample.elapsed_seconds > 0)

    def histograms(self) -> Iterator[LogLine]:
        """The latencies of each tick, under the tags of `hdrlog`."""
        return reader.histograms(self.directory)

    def latencies(self) -> Histogram:
        """The response times of the whole run."""
        return _whole(self.summary)

    def intervals(self) -> Iterator[tuple[float, Interval]]:
        """Each measured tick as it was printed: its end in seconds, counts and response times."""
        ticks = ((s, c) for s, c in zip(self.samples, self.counts, strict=True) if s.elapsed_seconds > 0)
        untagged = (line for line in self.histograms() if line.tag == hdrlog.RESPONSE)
        for (sample, counts), line in zip(ticks, untagged, strict=False):
            if sample.load is not None:
                yield sample.elapsed_seconds, rebuilding.interval(sample.load, counts, line)


def load(directory: Path) -> Run:
    """Reads a run. Raises RunError when there is none, or its plan cannot be read."""
    plan = reader.document(directory / PLAN, PlanRecord)
    if plan is None:
        raise RunError(f"there is no recorded run in {directory}", "tuibench runs list says which there are")
    lines = reader.Lines()
    samples, counts = _samples(lines.of(directory / SAMPLES, SampleLine))
    events = tuple(lines.of(directory / EVENTS, Event))
    states = _states(lines.of(directory / STATUS, StatusLine), zero_of(samples, events, plan))
    costs = rebuilding.costs(samples, events, [(told.elapsed_seconds, told.status) for told in states])
    summary = reader.document(directory / SUMMARY, Summary)
    run = Run(
        directory=directory,
        plan=plan,
        environment=reader.document(directory / ENVIRONMENT, Environment),
        samples=samples,
        counts=counts,
        events=events,
        states=states,
        reports=tuple(lines.of(directory / REPORTS, ReportLine)),
        costs=costs,
        summary=summary or cut_short.nothing(plan),
        cut_short=summary is None,
        is_live=summary is None and reader.is_being_written(directory),
        spoilt_lines=lines.spoilt,
    )
    return run if summary else msgspec.structs.replace(run, summary=cut_short.summary(run))


def zero_of(samples: tuple[Sample, ...], events: tuple[Event, ...], plan: PlanRecord) -> float:
    """The wall clock at second 0 of the measured load; the start of the session if it never began."""
    told = next((event for event in reversed(events) if event.elapsed_seconds), None)
    newest = samples[-1] if samples else None
    if newest is not None:
        return newest.at - newest.elapsed_seconds - newest.late_ms / 1e3
    return told.at - told.elapsed_seconds if told else plan.started_at


def _samples(lines: Iterator[SampleLine]) -> tuple[tuple[Sample, ...], tuple[TickCounts, ...]]:
    samples: list[Sample] = []
    counts: list[TickCounts] = []
    ticks = TickReader()
    for line in lines:
        samples.append(ticks.sample(line))
        counts.append(line.counts)
    return tuple(samples), tuple(counts)


def _states(lines: Iterator[StatusLine], zero: float) -> tuple[Told, ...]:
    found: list[Told] = []
    for line in lines:
        status = status_of(line, found[-1].status if found else None)
        if status is not None:
            found.append(Told(elapsed_seconds=line.at - zero, status=status))
    return tuple(found)


def _whole(summary: Summary) -> Histogram:
    latency = summary.latency_ms
    if latency is None or not summary.latency_histogram:
        return Histogram()
    return decoded(
        summary.latency_histogram,
        sum_us=round(summary.latency_sum_ms * 1e3),
        min_us=round(latency.min * 1e3),
        max_us=round(latency.max * 1e3),
    )
