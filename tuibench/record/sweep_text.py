"""Which table of a sweep is written in which form: by the names that the command line uses."""

from collections.abc import Callable, Sequence

from tuibench.errors import UsageError
from tuibench.model.sweep import Sweep
from tuibench.record import sweep_relative, sweep_runs, sweep_summary
from tuibench.record.grid import Grid, comma_separated, markdown, text
from tuibench.record.html.sweep_page import sweep_html
from tuibench.record.sweep_export import as_json, points_csv, runs_csv
from tuibench.workload import nearest

SUMMARY, RUNS, RELATIVE = "summary", "runs", "relative"

TABLES: dict[str, Callable[[Sweep], Sequence[Grid]]] = {
    SUMMARY: sweep_summary.grids,
    RUNS: lambda sweep: (sweep_runs.grid(sweep),),
    RELATIVE: lambda sweep: (sweep_relative.of_variants(sweep),),
}
AS_CSV = {SUMMARY: points_csv, RUNS: runs_csv}
"""Tables that programs read have plain units; the rest are written as they are shown."""

WHOLE: dict[str, Callable[[Sweep], str]] = {"json": as_json, "html": sweep_html}
"""Forms that hold all tables."""

FORMATS = ("text", "markdown", "csv", "json", "html")


def checked(table: str, form: str) -> None:
    """Raises UsageError for a table or a form that does not exist."""
    for option, word, known in (("--table", table, tuple(TABLES)), ("--format", form, FORMATS)):
        if word not in known:
            raise UsageError(f"{option}: '{word}' is unknown", nearest.hint(word, known))


def written(sweep: Sweep, table: str = SUMMARY, form: str = "text") -> str:
    """One sweep's table; ends in a newline. JSON and HTML hold everything, whatever the table."""
    checked(table, form)
    if form in WHOLE:
        return WHOLE[form](sweep)
    if form == "csv" and table in AS_CSV:
        return AS_CSV[table](sweep)
    return in_form(TABLES[table](sweep), form)


def compared(sweeps: Sequence[Sweep], form: str = "text") -> str:
    """Several sweeps, each relative to the first; ends in a newline."""
    checked(RELATIVE, form)
    if form == "html":
        raise UsageError(
            "sweeps are compared as text, markdown, csv or json", "--show DIR --format html shows one"
        )
    if form == "json":
        return "[\n" + ",\n".join(as_json(sweep).rstrip("\n") for sweep in sweeps) + "\n]\n"
    return in_form((sweep_relative.of_servers(sweeps),), form)


def in_form(grids: Sequence[Grid], form: str) -> str:
    """Tables one below the other."""
    if form == "csv":
        return "\n".join(comma_separated(grid.header, grid.rows) for grid in grids)
    write = markdown if form == "markdown" else text
    return "\n".join(write(grid) for grid in grids)
