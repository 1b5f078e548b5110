"""`tuibench report`: prints a recorded run as text, JSON, CSV, Markdown or HTML."""

from collections.abc import Callable, Iterable
from typing import Annotated

from tuibench import paths
from tuibench.cli.options.session_options import RunDir
from tuibench.cli.output.files import write_output
from tuibench.cli.output.formats import ONE_FORMAT_ON_STDOUT
from tuibench.cli.output.log import info
from tuibench.cli.output.run_notes import load_noted, run_notes
from tuibench.cli.parsing.arguments import STDOUT
from tuibench.cli.parsing.click_command import Argument
from tuibench.errors import UsageError
from tuibench.model.option import Option
from tuibench.record.files.recorder import pretty_json
from tuibench.record.files.run import Run
from tuibench.record.files.store import find_run
from tuibench.record.report.sysbench_replay import csv_text, sysbench_text
from tuibench.record.run_report import html_report, run_markdown

REPORT_FORMATS: dict[str, Callable[[Run], Iterable[str]]] = {
    "sysbench": sysbench_text,
    "json": lambda run: (pretty_json(run.summary).decode(),),
    "csv": csv_text,
    "markdown": lambda run: (run_markdown(run),),
    "html": lambda run: (html_report(run),),
}
"""Report formats, and the function that yields the text of each in pieces."""


def _format_option(name: str, help: str) -> Option:
    return Option(f"--{name}", help=help, metavar="[=FILE]")


def report(
    run: Annotated[
        str, Argument(metavar="RUN", help="Id of the run, a unique part of it, its folder, or latest.")
    ],
    sysbench: Annotated[
        str, _format_option("sysbench", "What the run printed: interval lines and summary.")
    ] = "",
    json: Annotated[str, _format_option("json", "The summary, tuibench.summary/1.")] = "",
    csv: Annotated[str, _format_option("csv", "A row for each interval, as run --csv.")] = "",
    markdown: Annotated[
        str, _format_option("markdown", "The sections of the HTML report, without charts, as Markdown.")
    ] = "",
    html: Annotated[
        str, Option("--html", metavar="FILE", help="Everything with charts, in one HTML file.")
    ] = "",
    run_dir: RunDir = "",
) -> None:
    """Name the run by its id or a unique part of it, by its folder, or as 'latest'; a sweep's cell as
    SWEEP/CELL. Each format is printed on stdout, or with =FILE written to a file; the default is
    --sysbench. No server is needed.
    """
    given = {"sysbench": sysbench, "json": json, "csv": csv, "markdown": markdown, "html": html}
    wanted = {name: place for name, place in given.items() if place} or {"sysbench": STDOUT}
    if list(wanted.values()).count(STDOUT) > 1:
        raise UsageError(ONE_FORMAT_ON_STDOUT, "give the others a file: --csv=run.csv")
    paths.keep_records_in(run_dir)
    found = load_noted(find_run(run))
    for name, place in wanted.items():
        write_output(place, REPORT_FORMATS[name](found))
    if "sysbench" in wanted:
        for line in run_notes(found.summary, str(found.directory)):
            info(line)
