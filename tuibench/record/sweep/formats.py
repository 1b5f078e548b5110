"""Output formats of a sweep, by the names of the command line.

For programs: JSON with all data, CSV with a row per combination or per run.
"""

from collections.abc import Callable, Sequence

import msgspec

from tuibench import suggestions
from tuibench.document import Document, Table, write_csv, write_markdown, write_text
from tuibench.errors import UsageError
from tuibench.metrics.inference.means import FIGURES, sweep_points
from tuibench.model.results.sweep import SUMMARY, CellResult, Sweep, SweepPoint, SweepRecord
from tuibench.model.results.versions import ServerStart, VersionComparison
from tuibench.record.files.recorder import pretty_json
from tuibench.record.sweep import relative, tables
from tuibench.record.sweep.html_page import sweep_html
from tuibench.record.sweep.tables import data_files_bytes, has_binlog, ping_ms
from tuibench.record.sweep.versions import version_comparisons, versions_csv, versions_table
from tuibench.record.sweep.versions_page import versions_html


class SweepExport(msgspec.Struct, frozen=True, kw_only=True):
    """`tuibench.sweep/1` as exported: the record, the result of each cell, and the means over the repeats.

    A comparison of server programs also has the starts, and every test relative to the first program.
    """

    record: SweepRecord
    results: tuple[CellResult, ...]
    points: tuple[SweepPoint, ...]
    starts: tuple[ServerStart, ...] = ()
    comparisons: tuple[VersionComparison, ...] = ()


def sweep_json(sweep: Sweep) -> str:
    """The whole sweep as JSON; ends in a newline."""
    export = SweepExport(
        record=sweep.record,
        results=sweep.results,
        points=sweep_points(sweep.record.plan, sweep.results),
        starts=sweep.starts,
        comparisons=version_comparisons(sweep) if sweep.record.versions else (),
    )
    return pretty_json(export).decode()


def sweep_points_csv(sweep: Sweep) -> str:
    """A row per combination: the mean of each figure and half of its 95 % interval, empty if unknown."""
    header = ("case", "settings", "threads", "runs", "headline_name", "client_limited")
    columns = (part for name in FIGURES for part in (name, f"{name}_ci95"))
    rows = [_point_row(point) for point in sweep_points(sweep.record.plan, sweep.results)]
    return write_csv((*header, *columns), tuple(rows))


def _point_row(point: SweepPoint) -> tuple[object, ...]:
    row: list[object] = [
        point.case.name,
        point.variant.name,
        point.threads,
        point.figures["headline"].count,
        point.headline,
        int(point.limited),
    ]
    for name in FIGURES:
        mean = point.figures.get(name)
        row += [mean.mean, mean.half_width] if mean else [None, None]
    return tuple(row)


def sweep_runs_csv(sweep: Sweep) -> str:
    """A row per run that counts, in plain units: bytes, milliseconds, percent."""
    header = (
        "case",
        "settings",
        "threads",
        "run",
        "attempt",
        "started_at",
        "headline_name",
        "client_limited",
    )
    machine = ("cores", "memory_bytes", "ping_ms", "binlog", "data", "files_bytes")
    rows = tuple(_run_row(sweep, result) for result in sweep.done)
    return write_csv((*header, *machine, *FIGURES), rows)


def _run_row(sweep: Sweep, result: CellResult) -> tuple[object, ...]:
    cell, figures = result.cell, result.figures
    return (
        cell.case.name,
        cell.variant.name,
        cell.threads,
        cell.repeat,
        result.attempt,
        result.started_at,
        result.headline,
        int(result.limited),
        result.cores,
        result.memory_total_bytes,
        ping_ms(sweep),
        "on" if has_binlog(sweep, cell.variant) else "off",
        cell.case.size,
        data_files_bytes(sweep, cell.case.data),
        *(figures.value(name) if figures is not None else None for name in FIGURES),
    )


RUNS, RELATIVE = "runs", "relative"

TABLES: dict[str, Callable[[Sweep], Sequence[Table]]] = {
    SUMMARY: tables.summary_tables,
    RUNS: lambda sweep: (tables.runs_table(sweep),),
    RELATIVE: lambda sweep: (relative.variants_table(sweep),),
}
AS_CSV = {SUMMARY: sweep_points_csv, RUNS: sweep_runs_csv}
"""Tables for programs have plain units; the others have formatted values."""

DOCUMENTS: dict[str, Callable[[Sweep], str]] = {"json": sweep_json, "html": sweep_html}
"""Formats that contain all tables."""

FORMATS = ("text", "markdown", "csv", "json", "html")


def check_format(table: str, form: str) -> None:
    """Raises UsageError for an unknown table or format."""
    for option, word, known in (("--table", table, tuple(TABLES)), ("--format", form, FORMATS)):
        if word not in known:
            raise UsageError(f"{option}: '{word}' is unknown", suggestions.did_you_mean(word, known))


def sweep_text(sweep: Sweep, table: str = SUMMARY, form: str = "text") -> str:
    """One sweep's table; ends in a newline. JSON and HTML contain everything, whatever the table."""
    check_format(table, form)
    if form in DOCUMENTS:
        return DOCUMENTS[form](sweep)
    if form == "csv" and table in AS_CSV:
        return AS_CSV[table](sweep)
    return tables_text(TABLES[table](sweep), form)


def compare_sweeps(sweeps: Sequence[Sweep], form: str = "text") -> str:
    """Several sweeps, each relative to the first; ends in a newline."""
    check_format(RELATIVE, form)
    if form == "html":
        raise UsageError(
            "sweeps are compared as text, markdown, csv or json", "--show DIR --format html shows one"
        )
    if form == "json":
        return "[\n" + ",\n".join(sweep_json(sweep).rstrip("\n") for sweep in sweeps) + "\n]\n"
    return tables_text((relative.servers_table(sweeps),), form)


VERSIONS_FORMATS: dict[str, Callable[[Sweep], str]] = {
    "text": lambda sweep: tables_text((versions_table(sweep),), "text"),
    "markdown": lambda sweep: tables_text((versions_table(sweep),), "markdown"),
    "csv": versions_csv,
    "json": sweep_json,
    "html": versions_html,
}


def versions_text(sweep: Sweep, form: str = "text") -> str:
    """A comparison of server programs; ends in a newline."""
    check_format(SUMMARY, form)
    return VERSIONS_FORMATS[form](sweep)


def tables_text(tables: Sequence[Table], form: str) -> str:
    """The tables, one below the other."""
    match form:
        case "csv":
            return "\n".join(write_csv(table.header, table.rows) for table in tables)
        case "markdown":
            return write_markdown(Document(lead=tuple(tables)))
        case _:
            return write_text(tables)
