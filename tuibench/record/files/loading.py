"""Loads a run directory as a `Run`, without a server."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tuibench.errors import RunError
from tuibench.metrics.series.commit_cost import CostLedger
from tuibench.model.event import COST_CHANGE_KINDS, Event
from tuibench.model.experiments.effect import CommitCost
from tuibench.model.measurements.environment import Environment
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import Status
from tuibench.model.results.summary import Summary
from tuibench.model.settings import SettingState
from tuibench.record.files import limits, reader, reconstruct
from tuibench.record.files.recorder import ENVIRONMENT, EVENTS, PLAN, REPORTS, SAMPLES, STATUS, SUMMARY
from tuibench.record.files.run import Run, StatusAt
from tuibench.record.files.schema import PlanRecord, ReportLine, StatusLine, status_from_line
from tuibench.record.files.ticks import SampleLine, decode_sample, is_histogram


def load_run(directory: Path) -> Run:
    """Load a run. Raises RunError if there is none, or its plan cannot be read."""
    plan = reader.read_document(directory / PLAN, PlanRecord)
    if plan is None:
        raise RunError(f"there is no recorded run in {directory}", "see tuibench runs list")
    lines = reader.JsonLines()
    samples = tuple(read_samples(directory / SAMPLES, lines))
    events = tuple(lines.of(directory / EVENTS, Event, limits.EVENTS, _event_refusal))
    states = _states(directory / STATUS, lines, zero_of(samples, events, plan))
    costs = rebuild_costs(samples, events, [(state.elapsed_seconds, state.status) for state in states])
    summary = reader.read_document(directory / SUMMARY, Summary)
    run = Run(
        directory=directory,
        plan=plan,
        environment=reader.read_document(directory / ENVIRONMENT, Environment),
        samples=samples,
        events=events,
        states=states,
        reports=tuple(lines.of(directory / REPORTS, ReportLine, limits.REPORTS)),
        costs=costs,
        summary=summary or reconstruct.empty_summary(plan),
        cut_short=summary is None,
        is_live=summary is None and reader.is_being_written(directory),
        unreadable_lines=lines.unreadable,
        refusal=lines.note,
    )
    return run if summary else msgspec.structs.replace(run, summary=reconstruct.summary_from_samples(run))


def zero_of(samples: tuple[Sample, ...], events: tuple[Event, ...], plan: PlanRecord) -> float:
    """The wall clock at second 0 of the measured load; the start of the session if the load never started."""
    dated = next((event for event in reversed(events) if event.elapsed_seconds), None)
    newest = samples[-1] if samples else None
    if newest is not None:
        return newest.at - newest.elapsed_seconds - newest.late_ms / 1e3
    return dated.at - dated.elapsed_seconds if dated else plan.started_at


def read_samples(path: Path, lines: reader.JsonLines) -> Iterator[Sample]:
    """The samples of a file that are on one time axis."""
    times = limits.SampleTimes()

    def refusal(line: SampleLine) -> str:
        damaged = next((name for name, row in line.tick.hists.items() if not is_histogram(row)), "")
        return (
            limits.length_refusal(line.tick.seconds)
            or times.refusal(line.tick.end, line.at)
            or (f"{damaged} is not a histogram" if damaged else "")
        )

    figures = 0
    for line in lines.of(path, SampleLine, limits.SAMPLES, refusal):
        figures += len(line.tick.sums) + len(line.tick.levels)
        if figures > limits.MOST_FIGURES:
            raise RunError(f"{path}: more than {limits.MOST_FIGURES:,} values are not read")
        yield decode_sample(line)


def _event_refusal(event: Event) -> str:
    return limits.time_refusal(event.elapsed_seconds, event.at)


def _states(path: Path, lines: reader.JsonLines, zero: float) -> tuple[StatusAt, ...]:
    def refusal(line: StatusLine) -> str:
        return limits.time_refusal(line.at - zero, line.at)

    found: list[StatusAt] = []
    for line in lines.of(path, StatusLine, limits.STATUS, refusal):
        status = status_from_line(line, found[-1].status if found else None)
        if status is not None:
            found.append(StatusAt(elapsed_seconds=line.at - zero, status=status))
    return tuple(found)


def rebuild_costs(
    samples: Sequence[Sample], events: Sequence[Event], states: Sequence[tuple[float, Status]]
) -> tuple[tuple[CommitCost, ...], ...]:
    """The cost of commits up to each sample, as reported by the session."""
    ledger = CostLedger()
    changes = [event.elapsed_seconds for event in events if event.kind in COST_CHANGE_KINDS]
    found: list[tuple[CommitCost, ...]] = []
    settings: tuple[SettingState, ...] = ()
    waiting, applied = 0, 0
    for sample in samples:
        while waiting < len(changes) and changes[waiting] <= sample.elapsed_seconds:
            ledger.changed()
            waiting += 1
        while applied < len(states) and states[applied][0] <= sample.elapsed_seconds:
            settings = states[applied][1].settings
            applied += 1
        if sample.elapsed_seconds > 0 and sample.server and sample.load:
            ledger.add(sample.tick, settings)
        found.append(ledger.costs)
    return tuple(found)
