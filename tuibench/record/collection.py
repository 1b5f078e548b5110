"""All that was recorded, runs and sweeps: how far a sweep has come, and which of all is meant.

A cell of a sweep is a run as well, called SWEEP/CELL.
"""

import shutil
from collections.abc import Iterable
from os.path import isfile
from pathlib import Path

from msgspec.structs import replace

from tuibench import paths
from tuibench.errors import RunError, UsageError
from tuibench.model.sweep import Sweep
from tuibench.record import reader, shelf
from tuibench.record.recorder import PLAN
from tuibench.record.shelf import CUT_SHORT, RUNNING, RunLine
from tuibench.record.sweep import RESULTS, is_sweep, load
from tuibench.workload import nearest

CELLS = "cells"
"""The folder of a sweep's runs."""


def lines() -> list[RunLine]:
    """All runs and sweeps of this user, the oldest first."""
    known = [*shelf.runs(), *map(line_of_sweep, _sweeps())]
    return sorted(known, key=lambda line: (line.started_at or 0, line.id))


def ids() -> list[str]:
    """Runs and sweeps by their names, as they can be asked for."""
    return [*shelf.ids(), *(each.name for each in _sweeps())]


def line_of(directory: Path) -> RunLine:
    """What the list says of a run or a sweep."""
    return line_of_sweep(directory) if is_sweep(directory) else shelf.line_of(directory)


def line_of_sweep(directory: Path) -> RunLine:
    """What the list says of a sweep. A damaged record does not hide the others."""
    known = RunLine(id=directory.name, kind="sweep", directory=str(directory), bytes=_size(directory))
    try:
        sweep = load(directory)
    except UsageError as error:
        return replace(known, trouble=str(error))
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
    )


def find(wanted: str) -> Path:
    """The folder of the run or sweep meant: a path, an id or a unique part of one, SWEEP/CELL, `latest`.

    Raises UsageError when there is none, or when several are meant.
    """
    if is_sweep(Path(wanted)):
        return Path(wanted)
    sweeps, runs = _sweeps_meant(wanted), _runs_meant(wanted)
    if wanted in runs or not sweeps:
        return find_run(wanted)
    return paths.sweeps_dir() / _only(sweeps if wanted in sweeps else [*runs, *sweeps], wanted)


def find_run(wanted: str) -> Path:
    """Likewise, where it must be a run; a cell of a sweep is one."""
    if isfile(Path(wanted) / PLAN):
        return Path(wanted)
    name, slash, cell = wanted.partition("/")
    meant = _sweeps_meant(name)
    if slash and meant:
        return _cell(paths.sweeps_dir() / _only(meant, name), cell.removeprefix(f"{CELLS}/"))
    if is_sweep(Path(wanted)) or (meant and not _runs_meant(wanted)):
        sweep = Path(wanted).name if is_sweep(Path(wanted)) else meant[0]
        raise UsageError(
            f"{sweep} is a sweep, its cells are runs", f"tuibench runs show {sweep}, or name one: {sweep}/001"
        )
    return shelf.find(wanted)


def _cell(sweep: Path, wanted: str) -> Path:
    cells = sorted(each.name for each in (sweep / CELLS).glob("*") if isfile(each / PLAN))
    meant = nearest.matching(wanted, cells)
    if not meant:
        hint = nearest.hint(wanted, cells) if cells else ""
        raise UsageError(f"the sweep {sweep.name} has no cell '{wanted}'", hint)
    return sweep / CELLS / _only(meant, wanted)


def remove(directory: Path) -> None:
    """Takes a run or a sweep away for good. Raises RunError while it is being written."""
    if not is_sweep(directory):
        shelf.remove(directory)
        return
    if is_being_run(directory):
        raise RunError(f"the sweep {directory.name} is being run", "end it first, with Ctrl-C")
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise RunError(f"cannot remove {directory}: {error.strerror}") from error


def is_being_run(directory: Path) -> bool:
    """True while the process lives that runs this sweep."""
    return reader.is_being_written(directory, RESULTS)


def has_tables(sweep: Sweep) -> bool:
    """True if tables that the sweep made are still on its server."""
    return any(one.prepared for one in sweep.data)


def _sweeps() -> list[Path]:
    return [each for each in reader.entries(paths.sweeps_dir()) if is_sweep(each)]


def _sweeps_meant(wanted: str) -> list[str]:
    names = [each.name for each in _sweeps()]
    return nearest.matching(wanted, names) if wanted and wanted != shelf.LATEST else []


def _runs_meant(wanted: str) -> list[str]:
    return nearest.matching(wanted, shelf.ids())


def _only(names: Iterable[str], wanted: str) -> str:
    found = list(names)
    if len(found) > 1:
        raise UsageError(f"'{wanted}' may be any of {', '.join(found)}", "give more of the id")
    return found[0]


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
