"""Where recorded runs stand: which there are, which one is meant, and how one is taken away."""

import shutil
from collections.abc import Iterator
from os.path import isfile
from pathlib import Path
from typing import Literal

import msgspec

from tuibench import paths
from tuibench.errors import RunError, UsageError
from tuibench.model.sample import Latency
from tuibench.model.summary import TransactionTotals
from tuibench.record import reader
from tuibench.record.lines import PlanRecord
from tuibench.record.recorder import PLAN, SAMPLES, SUMMARY
from tuibench.record.ticks import SampleLine
from tuibench.workload import nearest

RUNNING, CUT_SHORT = "running", "cut short"
LATEST = "latest"


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run or sweep in a list. What is not known is None; `trouble` says why a record cannot be read.

    `started_at` is Unix time. `outcome` is that of the summary, "running" while it is being written, or
    "cut short" without a summary. `threads` are those at the end. `p95_ms` is that of the whole run. A sweep
    has no figures of its own, but so many `cells`, of which `cells_done` were measured; `seconds` is the time
    they took.
    """

    id: str
    directory: str
    started_at: float | None = None
    profile: str | None = None
    server: str | None = None
    threads: int | None = None
    seconds: float | None = None
    transactions: int | None = None
    transactions_per_second: float | None = None
    p95_ms: float | None = None
    outcome: str | None = None
    bytes: int = 0
    trouble: str = ""
    kind: Literal["run", "sweep"] = "run"
    cells: int | None = None
    cells_done: int | None = None
    threads_at_start: int | None = None


class _Figures(msgspec.Struct):
    """As much of a summary as the list shows."""

    threads: int
    seconds: float
    outcome: str
    transactions: TransactionTotals
    latency_ms: Latency | None = None


def runs() -> list[RunLine]:
    """All runs of this user, the oldest first."""
    return sorted(
        (line_of(each) for each in _directories()), key=lambda line: (line.started_at or 0, line.id)
    )


def ids() -> list[str]:
    """The runs by their names."""
    return [directory.name for directory in _directories()]


def find(wanted: str) -> Path:
    """The directory of the run meant: a path, an id, a unique beginning or part of one, or `latest`.

    Raises UsageError when there is none, with the nearest, or when several are meant.
    """
    if isfile(Path(wanted) / PLAN):
        return Path(wanted)
    known = {directory.name: directory for directory in _directories()}
    if not known:
        raise UsageError(f"there is no recorded run in {paths.runs_dir()}", "tuibench run … makes one")
    if wanted == LATEST:
        return known[_by_start(known)[-1]]
    meant = nearest.matching(wanted, sorted(known))
    if len(meant) > 1:
        raise UsageError(f"several runs are meant: {nearest.listed(meant)}", "give more of the id")
    if not meant:
        raise UsageError(f"there is no run '{wanted}'", nearest.hint(wanted, known) or "tuibench runs list")
    return known[meant[0]]


def line_of(directory: Path) -> RunLine:
    """What the list says of a run. A damaged record does not hide the others."""
    known = RunLine(id=directory.name, directory=str(directory), bytes=_size(directory))
    try:
        plan = reader.document(directory / PLAN, PlanRecord)
        figures = reader.document(directory / SUMMARY, _Figures)
        if plan is None:
            return msgspec.structs.replace(known, trouble="its plan is not there")
        known = msgspec.structs.replace(
            known,
            started_at=plan.started_at,
            profile=plan.plan.profile,
            server=plan.target.where,
            threads=plan.plan.threads,
            threads_at_start=plan.plan.threads,
        )
        return _ended(known, figures) if figures else _unended(known, directory)
    except RunError as error:
        return msgspec.structs.replace(known, trouble=str(error))


def remove(directory: Path) -> None:
    """Takes a run away for good. Raises RunError while it is being written, or if it may not be removed."""
    if reader.is_being_written(directory):
        raise RunError(f"{directory.name} is still being written", "stop it first: tuibench ctl ID stop")
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise RunError(f"cannot remove {directory}: {error.strerror}") from error


def _ended(line: RunLine, figures: _Figures) -> RunLine:
    return msgspec.structs.replace(
        line,
        threads=figures.threads,
        seconds=figures.seconds,
        transactions=figures.transactions.total,
        transactions_per_second=figures.transactions.per_second,
        p95_ms=figures.latency_ms.p95 if figures.latency_ms else None,
        outcome=figures.outcome,
    )


def _unended(line: RunLine, directory: Path) -> RunLine:
    """Counted from its samples; a percentile of the whole would take too long for a list."""
    samples = [
        (sample, sample.load)
        for sample in reader.Lines().of(directory / SAMPLES, SampleLine)
        if sample.elapsed_seconds > 0 and sample.load
    ]
    done = sum(sample.counts.completed for sample, _ in samples)
    seconds = samples[-1][0].elapsed_seconds if samples else 0.0
    return msgspec.structs.replace(
        line,
        threads=samples[-1][1].threads if samples else line.threads,
        seconds=seconds,
        transactions=done,
        transactions_per_second=done / seconds if seconds else None,
        outcome=RUNNING if reader.is_being_written(directory) else CUT_SHORT,
    )


def _directories() -> Iterator[Path]:
    return (each for each in reader.entries(paths.runs_dir()) if isfile(each / PLAN))


def _by_start(known: dict[str, Path]) -> list[str]:
    """The ids, the one that started last at the end."""
    times = {name: line_of(directory).started_at or 0.0 for name, directory in known.items()}
    return sorted(times, key=lambda name: (times[name], name))


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir() if file.is_file())
