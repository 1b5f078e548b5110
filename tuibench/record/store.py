"""The recorded runs and sweeps of this user: list, lookup by name, removal.

A cell of a sweep is a run, too, named SWEEP/CELL.
"""

import shutil
from collections.abc import Iterable, Iterator
from os.path import isfile
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from tuibench.base import paths
from tuibench.base.errors import RunError, UsageError, abbreviated_list, did_you_mean, matching_names
from tuibench.model.server import Environment
from tuibench.model.summary import Summary, TransactionTotals
from tuibench.model.sweep import Sweep
from tuibench.model.tick import Latency
from tuibench.record import reader
from tuibench.record.reader import read_samples
from tuibench.record.recorder import PLAN, SAMPLES, SUMMARY, PlanRecord
from tuibench.record.sweep_folder import RESULTS, is_sweep, load_sweep

RUNNING, CUT_SHORT = "running", "cut short"
LATEST = "latest"


class RecordedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One run or sweep in a list. Unknown values are None. A sweep has no figures of its own."""

    id: str
    directory: str
    started_at: float | None = None
    """Unix time."""
    profile: str | None = None
    server: str | None = None
    threads: int | None = None
    """The number of threads at the end of the run."""
    seconds: float | None = None
    """The measured time of a run, the total time of a sweep's finished cells."""
    transactions: int | None = None
    transactions_per_second: float | None = None
    p95_ms: float | None = None
    """The 95th percentile of the whole run."""
    outcome: str | None = None
    """The outcome in the summary, "running" while the record is being written, otherwise "cut short"."""
    bytes: int = 0
    """The size of the directory."""
    error: str = ""
    """The reason why the record cannot be read."""
    kind: Literal["run", "sweep"] = "run"
    cells: int | None = None
    """The number of cells of a sweep."""
    cells_done: int | None = None
    """The number of finished cells of a sweep."""
    threads_at_start: int | None = None


class RecordedRun(msgspec.Struct, frozen=True):
    """A recorded run: its plan, its summary and its environment."""

    id: str
    plan: PlanRecord
    summary: Summary
    environment: Environment | None = None


class _SummaryFigures(msgspec.Struct):
    """The fields of a summary that a list needs."""

    threads: int
    seconds: float
    outcome: str
    transactions: TransactionTotals
    latency_ms: Latency | None = None


def list_runs() -> list[RecordedEntry]:
    """All runs of this user, the oldest first."""
    return sorted(
        (describe_run(each) for each in _directories()), key=lambda line: (line.started_at or 0, line.id)
    )


def run_ids() -> list[str]:
    return [directory.name for directory in _directories()]


def find_run_directory(wanted: str) -> Path:
    """Find the directory of a run by path, id, unique beginning or part of an id, or `latest`.

    Raises UsageError if no run or several runs match; the hint has the nearest name.
    """
    if isfile(Path(wanted) / PLAN):
        return Path(wanted)
    known = {directory.name: directory for directory in _directories()}
    if not known:
        raise UsageError(f"there is no recorded run in {paths.runs_dir()}", "tuibench run … records one")
    if wanted == LATEST:
        # The ids in the order in which the runs were started.
        times = {name: describe_run(directory).started_at or 0.0 for name, directory in known.items()}
        return known[sorted(times, key=lambda name: (times[name], name))[-1]]
    meant = matching_names(wanted, sorted(known))
    if len(meant) > 1:
        raise UsageError(f"several runs match: {abbreviated_list(meant)}", "give a longer part of the id")
    if not meant:
        raise UsageError(f"there is no run '{wanted}'", did_you_mean(wanted, known) or "tuibench runs list")
    return known[meant[0]]


def describe_run(directory: Path) -> RecordedEntry:
    """The list entry of a run. For a damaged record it has the error, so that the list has all others."""
    known = RecordedEntry(id=directory.name, directory=str(directory), bytes=_size(directory))
    try:
        plan = reader.read_document(directory / PLAN, PlanRecord)
        figures = reader.read_document(directory / SUMMARY, _SummaryFigures)
        if plan is None:
            return msgspec.structs.replace(known, error="its plan is missing")
        known = msgspec.structs.replace(
            known,
            started_at=plan.started_at,
            profile=plan.plan.profile,
            server=plan.target.where,
            threads=plan.plan.threads,
            threads_at_start=plan.plan.threads,
        )
        return (
            msgspec.structs.replace(
                known,
                threads=figures.threads,
                seconds=figures.seconds,
                transactions=figures.transactions.total,
                transactions_per_second=figures.transactions.per_second,
                p95_ms=figures.latency_ms.p95 if figures.latency_ms else None,
                outcome=figures.outcome,
            )
            if figures
            else _unended(known, directory)
        )
    except RunError as error:
        return msgspec.structs.replace(known, error=str(error))


def remove_run(directory: Path) -> None:
    """Delete a run. Raises RunError while it is being written, or if it cannot be removed."""
    if reader.is_being_written(directory):
        raise RunError(f"{directory.name} is still being written", "stop it first: tuibench ctl ID stop")
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise RunError(f"cannot remove {directory}: {error.strerror}") from error


def _unended(line: RecordedEntry, directory: Path) -> RecordedEntry:
    """The entry of an unfinished run, from its samples, without a percentile: computing it takes too long for
    a list.
    """
    lines = reader.JsonLines()
    ticks = [
        sample.tick
        for sample in read_samples(directory / SAMPLES, lines)
        if sample.elapsed_seconds > 0 and sample.load
    ]
    done = round(sum(tick.sums.get("completed", 0) for tick in ticks))
    seconds = ticks[-1].end if ticks else 0.0
    return msgspec.structs.replace(
        line,
        threads=round(ticks[-1].levels["threads"]) if ticks else line.threads,
        seconds=seconds,
        transactions=done,
        transactions_per_second=done / seconds if seconds else None,
        outcome=RUNNING if reader.is_being_written(directory) else CUT_SHORT,
        error=lines.note,
    )


def _directories() -> Iterator[Path]:
    return (each for each in reader.list_directory(paths.runs_dir()) if isfile(each / PLAN))


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


CELLS = "cells"
"""The folder of a sweep's runs."""


def list_recorded() -> list[RecordedEntry]:
    """All runs and sweeps of this user, the oldest first."""
    known = [*list_runs(), *map(describe_sweep, _sweeps())]
    return sorted(known, key=lambda line: (line.started_at or 0, line.id))


def recorded_ids() -> list[str]:
    """The names of all runs and sweeps."""
    return [*run_ids(), *(each.name for each in _sweeps())]


def describe_recorded(directory: Path) -> RecordedEntry:
    """The list entry of a run or a sweep."""
    return describe_sweep(directory) if is_sweep(directory) else describe_run(directory)


def describe_sweep(directory: Path) -> RecordedEntry:
    """The list entry of a sweep. For a damaged record it has the error, so that the list has all others."""
    known = RecordedEntry(id=directory.name, kind="sweep", directory=str(directory), bytes=_size(directory))
    lines = reader.JsonLines()
    try:
        sweep = load_sweep(directory, lines)
    except (UsageError, RunError) as error:
        return replace(known, error=str(error))
    record, cells = sweep.record, sweep.record.plan.cell_count
    whole = len(sweep.done) == cells
    return replace(
        known,
        started_at=record.started_at,
        profile=",".join(dict.fromkeys(case.profile for case in record.plan.cases)),
        server=record.target.where,
        seconds=sum(result.seconds for result in sweep.results),
        outcome=RUNNING if is_being_run(directory) else "done" if whole else CUT_SHORT,
        cells=cells,
        cells_done=len(sweep.done),
        error=lines.note,
    )


def find_recorded(wanted: str) -> Path:
    """Find the folder of a run or sweep by path, id or unique part of an id, SWEEP/CELL, or `latest`.

    Raises UsageError if none or several match.
    """
    if is_sweep(Path(wanted)):
        return Path(wanted)
    sweeps, runs = _sweeps_meant(wanted), _runs_meant(wanted)
    if wanted in runs or not sweeps:
        return find_run(wanted)
    return paths.sweeps_dir() / _single(sweeps if wanted in sweeps else [*runs, *sweeps], wanted)


def find_run(wanted: str) -> Path:
    """Like `find_recorded`, for runs only, including the cells of sweeps."""
    if isfile(Path(wanted) / PLAN):
        return Path(wanted)
    name, slash, cell = wanted.partition("/")
    meant = _sweeps_meant(name)
    if slash and meant:
        return _cell(paths.sweeps_dir() / _single(meant, name), cell.removeprefix(f"{CELLS}/"))
    if is_sweep(Path(wanted)) or (meant and not _runs_meant(wanted)):
        sweep = Path(wanted).name if is_sweep(Path(wanted)) else meant[0]
        raise UsageError(
            f"{sweep} is a sweep, its cells are runs", f"tuibench runs show {sweep}, or name one: {sweep}/001"
        )
    return find_run_directory(wanted)


def _cell(sweep: Path, wanted: str) -> Path:
    cells = sorted(each.name for each in (sweep / CELLS).glob("*") if isfile(each / PLAN))
    meant = matching_names(wanted, cells)
    if not meant:
        hint = did_you_mean(wanted, cells) if cells else ""
        raise UsageError(f"the sweep {sweep.name} has no cell '{wanted}'", hint)
    return sweep / CELLS / _single(meant, wanted)


def remove_recorded(directory: Path) -> None:
    """Delete a run or a sweep. Raises RunError while it is being written."""
    if not is_sweep(directory):
        remove_run(directory)
        return
    if is_being_run(directory):
        raise RunError(f"the sweep {directory.name} is running", "end it first, with Ctrl-C")
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise RunError(f"cannot remove {directory}: {error.strerror}") from error


def is_being_run(directory: Path) -> bool:
    """True while the process that runs this sweep is alive."""
    return reader.is_being_written(directory, RESULTS)


def has_tables(sweep: Sweep) -> bool:
    """True if tables that the sweep created are still on its server."""
    return any(one.prepared for one in sweep.data)


def _sweeps() -> list[Path]:
    return [each for each in reader.list_directory(paths.sweeps_dir()) if is_sweep(each)]


def _sweeps_meant(wanted: str) -> list[str]:
    names = [each.name for each in _sweeps()]
    return matching_names(wanted, names) if wanted and wanted != LATEST else []


def _runs_meant(wanted: str) -> list[str]:
    return matching_names(wanted, run_ids())


def _single(names: Iterable[str], wanted: str) -> str:
    found = list(names)
    if len(found) > 1:
        raise UsageError(f"'{wanted}' may be any of {', '.join(found)}", "give a longer part of the id")
    return found[0]
