"""Results of sweeps: selection, output and notes."""

from os.path import exists
from pathlib import Path

from tuibench import paths
from tuibench.cli.commands.sweep.options import ResultOptions
from tuibench.errors import UsageError
from tuibench.model.results.sweep import Sweep
from tuibench.record.files.store import has_tables
from tuibench.record.files.sweep_folder import load_sweep
from tuibench.record.sweep.formats import compare_sweeps, sweep_text


def sweep_notes(known: Sweep, directory: Path) -> list[str]:
    """Notes below the tables: skipped cells, warnings, location of the files."""
    lines = [f"failed: {one.cell.words}: {one.failure}" for one in known.results if one.outcome == "failed"]
    lines += sweep_warnings(known)
    left = known.record.plan.cell_count - len(known.done)
    if left:
        are = "1 cell is" if left == 1 else f"{left} cells are"
        lines.append(f"{are} left; continue with: tuibench sweep --resume {directory}")
    if has_tables(known):
        lines.append("the tables that the sweep created still exist")
    lines.append(f"recorded in {directory}")
    return lines


def sweep_warnings(known: Sweep) -> list[str]:
    """One warning of each kind, in the wording of its first cell; its figures differ from cell to cell."""
    kinds: dict[str, list[str]] = {}
    for result in known.done:
        for warning in result.warnings:
            kinds.setdefault(warning.partition(":")[0], []).append(warning)
    return [f"warning: {same[0]} ({len(same)} of {len(known.done)} cells)" for same in kinds.values()]


def recorded_sweeps_text(places: list[str], results: ResultOptions) -> str:
    """Table of earlier sweeps."""
    sweeps = [load_sweep(sweep_folder(place)) for place in places if place]
    if not sweeps:
        raise UsageError("no sweep is named", "give its folder; they are in " + str(paths.sweeps_dir()))
    if results.compare:
        return compare_sweeps(sweeps, results.form)
    if len(sweeps) > 1:
        raise UsageError("--show takes one sweep", "--compare compares several")
    return sweep_text(sweeps[0], results.table, results.form)


def sweep_folder(place: str) -> Path:
    """Folder of a sweep, given as a path or by its name among all sweeps."""
    named = paths.sweeps_dir() / place
    return named if not exists(place) and exists(named) else Path(place)
