"""`tuibench report`: a recorded run as text and as a page, for people, for scripts and for spreadsheets."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from tuibench.cli.arguments import STDOUT
from tuibench.cli.finding import RunDir, look_in
from tuibench.cli.formats import ONE_FORM
from tuibench.cli.notes import notes
from tuibench.cli.talk import say
from tuibench.errors import UsageError
from tuibench.record.collection import find_run
from tuibench.record.html.page import html as html_page
from tuibench.record.markdown import markdown
from tuibench.record.recorder import pretty_json
from tuibench.record.run import Run, load
from tuibench.record.transcript import csv_text, sysbench_text

DETAILS = (
    "The run is named by its id or a unique part of it, by its folder, or as 'latest', a sweep's cell as "
    "SWEEP/CELL. Each form goes to stdout, or with =FILE to a file; without any it is --sysbench. No server "
    "is needed."
)

FORMS: dict[str, Callable[[Run], Iterable[str]]] = {
    "sysbench": sysbench_text,
    "json": lambda run: (pretty_json(run.summary).decode(),),
    "csv": csv_text,
    "markdown": lambda run: (markdown(run),),
    "html": lambda run: (html_page(run),),
}
"""What can be made of a run, and how: the pieces of a text."""


def _form(name: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(f"--{name}", help=help, metavar="[=FILE]")
    return option


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Which run.")],
    sysbench: Annotated[str, _form("sysbench", "What the run printed: interval lines and summary.")] = "",
    json: Annotated[str, _form("json", "The summary, tuibench.summary/1.")] = "",
    csv: Annotated[str, _form("csv", "A row for each interval, as run --csv.")] = "",
    markdown: Annotated[str, _form("markdown", "Where, what, the figures, the changes.")] = "",
    html: Annotated[
        str, typer.Option("--html", metavar="FILE", help="All of it with charts, in one file for a browser.")
    ] = "",
    run_dir: RunDir = "",
) -> None:
    given = {"sysbench": sysbench, "json": json, "csv": csv, "markdown": markdown, "html": html}
    wanted = {name: place for name, place in given.items() if place} or {"sysbench": STDOUT}
    if list(wanted.values()).count(STDOUT) > 1:
        raise UsageError(ONE_FORM, "give the others a file: --csv=run.csv")
    look_in(run_dir)
    found = load(find_run(run))
    for name, place in wanted.items():
        write(place, FORMS[name](found))
    if "sysbench" in wanted:
        for line in notes(found.summary, str(found.directory)):
            say(line)


def write(place: str, pieces: Iterable[str]) -> None:
    """The pieces to a file, or to stdout. Raises UsageError if the file cannot be written."""
    if place == STDOUT:
        for piece in pieces:
            typer.echo(piece, nl=False)
        return
    try:
        with Path(place).open("w", encoding="utf-8") as stream:
            stream.writelines(pieces)
    except OSError as error:
        raise UsageError(f"cannot write {place}: {error.strerror}") from error
