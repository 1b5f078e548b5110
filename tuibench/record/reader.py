"""Reading a run directory as a `Run`: the source of reports, comparisons and replays.

The files may be in any state that a crash can leave, and within the limits of `hdr_log`. A truncated last
line is skipped. Any other line that is invalid or exceeds a limit is left out and counted, and the first one
is named. A `Run` is in memory, except for the log of latencies.

A run that crashed or is still running has no summary. It is computed from the samples, without what only the
session knows: fairness of the connections, the server's last counters, and transactions in flight.
"""

import fcntl
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
from msgspec.structs import replace

from tuibench.base import files
from tuibench.base.errors import RunError
from tuibench.base.files import DECODE_ERRORS
from tuibench.metrics.costs import CostLedger
from tuibench.model.counters import CUMULATIVE_NAMES
from tuibench.model.effect import CommitCost, latest_effects
from tuibench.model.event import COST_CHANGE_KINDS, Event, EventKind, latest_events
from tuibench.model.message import Status
from tuibench.model.server import Environment
from tuibench.model.settings import SettingState
from tuibench.model.summary import Summary
from tuibench.model.tick import (
    Histogram,
    Sample,
    Tick,
    total_tick,
)
from tuibench.record import hdr_log
from tuibench.record import hdr_log as limits
from tuibench.record.hdr_log import (
    FileLimits,
    LogLine,
    decode_histogram,
)
from tuibench.record.recorder import (
    ENVIRONMENT,
    EVENTS,
    HISTOGRAMS,
    PLAN,
    REPORTS,
    SAMPLES,
    STATUS,
    SUMMARY,
    InflatedFile,
    PlanRecord,
    ReportLine,
    SampleLine,
    StatusLine,
    decode_sample,
    is_histogram,
    status_from_line,
)
from tuibench.record.summary import summary_of

T = TypeVar("T")


class JsonLines(msgspec.Struct):
    """Reads files of JSON lines, and counts the lines that are left out."""

    unreadable: int = 0
    """The number of lines left out."""
    first: str = ""
    """The place of the first one, and the reason."""

    def of(
        self, path: Path, kind: type[T], within: FileLimits, refusal: Callable[[T], str] = lambda _: ""
    ) -> Iterator[T]:
        """Decode each line as a `kind`; a missing file has no lines.

        A line is left out if `refusal` returns a reason. Raises RunError for a file that is too large, has
        too many lines, or cannot be read.
        """
        decoder = msgspec.json.Decoder(kind)
        for number, line in _whole_lines(path, within):
            try:
                found = decoder.decode(line)
                reason = hdr_log.number_refusal(line) or refusal(found)
            except DECODE_ERRORS as error:
                reason = _too_long(line, within) or str(error)
            if reason:
                self.unreadable += 1
                self.first = self.first or f"{path.name}, line {number}: {reason}"
            else:
                yield found

    @property
    def note(self) -> str:
        """A sentence about the lines left out; empty if there are none."""
        if not self.unreadable:
            return ""
        lines = (
            "1 line of the record is"
            if self.unreadable == 1
            else f"{self.unreadable:,} lines of the record are"
        )
        return f"{lines} left out: {self.first}{' …' if self.unreadable > 1 else ''}"


def read_document(path: Path, kind: type[T]) -> T | None:
    """Read a file with one JSON value; None if it is missing. Raises RunError if it cannot be read."""
    try:
        data = files.read_bytes(path, limit=hdr_log.DOCUMENT_BYTES)
        found = msgspec.json.decode(data, type=kind)
        reason = hdr_log.number_refusal(data)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    except DECODE_ERRORS as error:
        raise RunError(f"{path} is damaged: {error}") from error
    if reason:
        raise RunError(f"{path} is damaged: {reason}")
    return found


def read_histograms(directory: Path) -> Iterator[LogLine]:
    """The lines of a run's log of latencies, in order. Raises RunError with the number of a damaged line."""
    path = directory / HISTOGRAMS
    for number, line in _whole_lines(path, hdr_log.HISTOGRAMS):
        where = f"{path}, line {number}"
        if reason := _too_long(line, hdr_log.HISTOGRAMS):
            raise RunError(f"{where}: {reason}")
        found = hdr_log.parse_line(line.decode("ascii", "replace"), where)
        if found is not None:
            yield found


def is_being_written(directory: Path, locked: str = SAMPLES) -> bool:
    """True while a process holds the lock of this file, which it does as long as it writes the record."""
    try:
        with files.open_regular(directory / locked) as stream:
            fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def list_directory(folder: Path) -> list[Path]:
    """The paths in a folder, sorted; empty if it is missing. Raises RunError if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error


def _whole_lines(path: Path, within: FileLimits) -> Iterator[tuple[int, bytes]]:
    """The complete lines of a file, numbered from 1.

    A line that is too long is cut, so that it has no newline. An empty line stands for the rest of a
    compressed file after a damaged byte.
    """
    try:
        with files.open_regular(path, limit=within.file_bytes) as raw:
            inflated = (
                InflatedFile(raw, files.inflated_limit(raw, hdr_log.INFLATED_BYTES))
                if path.suffix == ".gz"
                else None
            )
            stream = io.BufferedReader(inflated) if inflated else raw
            number = 0
            while line := stream.readline(within.line_bytes + 1):
                number += 1
                if number > within.lines:
                    raise RunError(f"{path}, line {number}: more than {within.lines:,} lines are not read")
                if line.endswith(b"\n") or _skip_line(stream):
                    yield number, line
                else:
                    number -= 1
            if inflated and inflated.is_damaged:
                yield number + 1, b""
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(path, error) from error


def _skip_line(stream: BinaryIO) -> bool:
    """Skip the rest of a line; False if the file ends before the line does."""
    while rest := stream.readline(hdr_log.MIB):
        if rest.endswith(b"\n"):
            return True
    return False


def _too_long(line: bytes, within: FileLimits) -> str:
    if not line:
        return "the compressed data is damaged from here on"
    return "" if line.endswith(b"\n") else f"longer than {within.line_bytes >> 10:,} KiB"


def _unreadable(path: Path, error: OSError) -> RunError:
    return RunError(f"cannot read {path}: {error.strerror}")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as far as it was recorded."""

    directory: Path
    plan: PlanRecord
    environment: Environment | None
    """None if its file is missing."""
    samples: tuple[Sample, ...]
    """All samples, including those of the warm-up, whose `elapsed_seconds` are 0 or less."""
    events: tuple[Event, ...]
    states: tuple[tuple[float, Status], ...]
    """The status of the session and the time from which it held, in seconds into the run."""
    reports: tuple[ReportLine, ...]
    costs: tuple[tuple[CommitCost, ...], ...]
    """For each sample, the costs of commits up to it."""
    summary: Summary
    """The session's summary; with `cut_short`, one that was computed from the samples."""
    cut_short: bool = False
    """True if the session has written no summary."""
    is_live: bool = False
    """True if the session is still writing the record."""
    unreadable_lines: int = 0
    """The number of lines that were left out."""
    refusal: str = ""
    """A sentence about the lines that were left out; empty if there are none."""

    @property
    def id(self) -> str:
        """The run's name: that of its directory, which may have been renamed."""
        return self.directory.name

    @property
    def measured(self) -> tuple[Sample, ...]:
        """The samples without the warm-up."""
        return tuple(sample for sample in self.samples if sample.elapsed_seconds > 0)

    def histograms(self) -> Iterator[LogLine]:
        """The lines of the log of latencies, see `hdr_log`."""
        return read_histograms(self.directory)

    def latencies(self) -> Histogram:
        """The response times of the whole run."""
        latency = self.summary.latency_ms
        if latency is None or not self.summary.latency_histogram:
            return Histogram()
        return decode_histogram(
            self.summary.latency_histogram,
            sum_us=round(self.summary.latency_sum_ms * 1e3),
            min_us=round(latency.min * 1e3),
            max_us=round(latency.max * 1e3),
            where=str(self.directory / SUMMARY),
        )

    def intervals(self) -> Iterator[Tick]:
        """The ticks after the warm-up that have a throughput."""
        return (sample.tick for sample in self.measured if sample.throughput is not None)


CUT_SHORT = "cut short: the session ended without a summary; this summary was computed from its samples"
STILL_RUNS = "the run is still in progress; these are the figures so far"
UNKNOWN = (
    "unknown in a summary computed from samples: fairness, reconciliation, transactions in flight at the end"
)


def summary_from_samples(run: Run) -> Summary:
    """A summary computed from the samples since the last reset of the figures."""
    since = max((event.elapsed_seconds for event in run.events if event.kind is EventKind.RESET), default=0.0)
    ticks = [sample.tick for sample in run.samples if sample.elapsed_seconds > since]
    total = total_tick(ticks)
    total = replace(total, seconds=max(0.0, total.end - since))
    plan, has_worked = run.plan.plan, any(tick.levels.get("threads") for tick in ticks)
    is_traffic = plan.is_watch or (plan.starts_idle and not has_worked)
    found = summary_of(
        run.plan,
        total if is_traffic else total.of_load,
        is_traffic=is_traffic,
        workers=run.states[-1][1].workers if run.states else 0,
    )
    is_limited = any("client-limited" in text for _, status in run.states for text in status.warnings)
    was_restarted = any(event.kind is EventKind.RESTART for event in run.events)
    warnings = run.states[-1][1].warnings if run.states else ()
    deltas = {name: int(value) for name, value in total.sums.items() if name in CUMULATIVE_NAMES}
    return replace(
        found,
        server=replace(found.server, deltas={} if was_restarted else deltas),
        client=replace(found.client, limited=is_limited),
        client_delay_ms=max((tick.levels.get("client_delay_ms", 0.0) for tick in ticks), default=0.0),
        events=run.events,
        warnings=(*warnings, STILL_RUNS if run.is_live else CUT_SHORT, UNKNOWN),
        effects=latest_effects(event.effect for event in run.events if event.effect),
        costs=run.costs[-1] if run.costs else (),
    )


def load_run(directory: Path) -> Run:
    """Load a run. Raises RunError if there is none, or its plan cannot be read."""
    plan = read_document(directory / PLAN, PlanRecord)
    if plan is None:
        raise RunError(f"there is no recorded run in {directory}", "see tuibench runs list")
    lines = JsonLines()
    samples = tuple(read_samples(directory / SAMPLES, lines))
    events = latest_events(lines.of(directory / EVENTS, Event, limits.EVENTS, _event_refusal))
    states = _states(directory / STATUS, lines, zero_of(samples, events, plan))
    costs = rebuild_costs(samples, events, states)
    summary = read_document(directory / SUMMARY, Summary)
    run = Run(
        directory=directory,
        plan=plan,
        environment=read_document(directory / ENVIRONMENT, Environment),
        samples=samples,
        events=events,
        states=states,
        reports=tuple(lines.of(directory / REPORTS, ReportLine, limits.REPORTS)),
        costs=costs,
        summary=summary or summary_of(plan, Tick()),
        cut_short=summary is None,
        is_live=summary is None and is_being_written(directory),
        unreadable_lines=lines.unreadable,
        refusal=lines.note,
    )
    return run if summary else replace(run, summary=summary_from_samples(run))


def zero_of(samples: tuple[Sample, ...], events: tuple[Event, ...], plan: PlanRecord) -> float:
    """Unix time at second 0 of the measured load; the start of the session if the load never started."""
    dated = next((event for event in reversed(events) if event.elapsed_seconds), None)
    newest = samples[-1] if samples else None
    if newest is not None:
        return newest.at - newest.elapsed_seconds - newest.late_ms / 1e3
    return dated.at - dated.elapsed_seconds if dated else plan.started_at


def read_samples(path: Path, lines: JsonLines) -> Iterator[Sample]:
    """The samples of a file whose times are valid, see `hdr_log.SampleTimes`."""
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


def _states(path: Path, lines: JsonLines, zero: float) -> tuple[tuple[float, Status], ...]:
    def refusal(line: Any) -> str:
        return limits.time_refusal(line.at - zero, line.at)

    found: list[tuple[float, Status]] = []
    for line in lines.of(path, StatusLine, limits.STATUS, refusal):
        status = status_from_line(line, found[-1][1] if found else None)
        if status is not None:
            found.append((line.at - zero, status))
    return tuple(found)


def rebuild_costs(
    samples: Sequence[Sample], events: Sequence[Event], states: Sequence[tuple[float, Status]]
) -> tuple[tuple[CommitCost, ...], ...]:
    """For each sample, the costs of commits up to it, as the session reported them."""
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
