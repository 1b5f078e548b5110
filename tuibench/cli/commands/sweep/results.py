"""Results of sweeps: selection, output and notes."""

from dataclasses import dataclass
from os.path import exists
from pathlib import Path
from typing import Annotated

import click

from tuibench import paths
from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model.results.sweep import Sweep
from tuibench.record.files.store import has_tables
from tuibench.record.files.sweep_folder import load_sweep
from tuibench.record.sweep.formats import SUMMARY, compare_sweeps, sweep_text


@dataclass(frozen=True)
class ResultOptions:
    """What is done with results, and which sweep is meant."""

    resume: Annotated[
        str, Option("--resume", help="Resume the sweep in this folder, which holds its plan.")
    ] = ""
    show: Annotated[bool, Option("--show", help="Print the results of a sweep that was run: --show DIR.")] = (
        False
    )
    compare: Annotated[
        bool,
        Option("--compare", help="Print sweeps of several servers, relative to the first: DIR DIR …"),
    ] = False
    table: Annotated[
        str,
        Option("--table", help="summary, runs (a row a run), or relative (to the first settings given)."),
    ] = SUMMARY
    form: Annotated[str, Option("--format", help="text, markdown, csv, json, or html with charts.")] = "text"
    out: Annotated[str, Option("--out", help="Write the results to this file, not to stdout.")] = ""

    def write(self, text: str) -> None:
        """Prints the results, or writes them. Raises UsageError if the file cannot be written."""
        if self.out in ("", "-"):
            click.echo(text, nl=False)
            return
        try:
            Path(self.out).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {self.out}: {error.strerror}") from error


def sweep_notes(known: Sweep, directory: Path) -> list[str]:
    """What the tables have no place for: what was left out, what to mistrust, where it all is."""
    lines = [f"failed: {one.cell.words}: {one.failure}" for one in known.results if one.outcome == "failed"]
    lines += sweep_warnings(known)
    left = known.record.plan.cell_count - len(known.done)
    if left:
        are = "1 cell is" if left == 1 else f"{left} cells are"
        lines.append(f"{are} left; go on with: tuibench sweep --resume {directory}")
    if has_tables(known):
        lines.append("the tables that were made are still there")
    lines.append(f"recorded in {directory}")
    return lines


def sweep_warnings(known: Sweep) -> list[str]:
    """Each kind of warning once, in the words of its first cell: figures in it differ from cell to cell."""
    kinds: dict[str, list[str]] = {}
    for result in known.done:
        for warning in result.warnings:
            kinds.setdefault(warning.partition(":")[0], []).append(warning)
    return [f"warning: {same[0]} ({len(same)} of {len(known.done)} cells)" for same in kinds.values()]


def recorded_sweeps_text(places: list[str], results: ResultOptions) -> str:
    """The table of sweeps that were run before."""
    sweeps = [load_sweep(sweep_folder(place)) for place in places if place]
    if not sweeps:
        raise UsageError("no sweep is named", "give its folder; they are in " + str(paths.sweeps_dir()))
    if results.compare:
        return compare_sweeps(sweeps, results.form)
    if len(sweeps) > 1:
        raise UsageError("--show takes one sweep", "--compare puts several beside each other")
    return sweep_text(sweeps[0], results.table, results.form)


def sweep_folder(place: str) -> Path:
    """The folder of a sweep, given as such or by its name among all sweeps."""
    named = paths.sweeps_dir() / place
    return named if not exists(place) and exists(named) else Path(place)
