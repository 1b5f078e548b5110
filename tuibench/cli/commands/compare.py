"""`tuibench compare`: compares recorded runs with the first of them."""

from pathlib import Path
from typing import Annotated

import click

from tuibench import paths
from tuibench.cli.options.session_options import RunDir
from tuibench.cli.output.formats import JSON, TEXT, check_format, echo_json
from tuibench.cli.output.log import info
from tuibench.cli.parsing.click_command import Argument
from tuibench.errors import ExitCode, UsageError
from tuibench.metrics.thresholds import relative
from tuibench.model.option import Option
from tuibench.record.compare import comparison_report
from tuibench.record.compare.comparison import compare_runs
from tuibench.record.files.loading import load_run
from tuibench.record.files.store import find_run

COMPARE_FORMATS = {TEXT: comparison_report.comparison_text, "markdown": comparison_report.comparison_markdown}


def compare(
    runs: Annotated[
        list[str],
        Argument(
            metavar="RUN[,RUN…]…",
            help="Runs as in runs list, latest, or folders; commas join the runs of one side.",
        ),
    ],
    output: Annotated[
        str, Option("--format", metavar="FORMAT", help="text, markdown, or json for programs.")
    ] = TEXT,
    fail_if: Annotated[
        list[str] | None,
        Option(
            "--fail-if",
            metavar="CONDITION",
            help=f"End with exit code 4 if this holds: {relative.EXAMPLES}, …",
        ),
    ] = None,
    run_dir: RunDir = "",
) -> None:
    """Prints what differs between the runs, then each figure relative to the first run, with a verdict:
    better, worse, equal within ±5 %, or cannot tell. Two starts of one server often differ by 5 to 10 %:
    give several runs per side, each on its own start, as in compare A1,A2,A3 B1,B2,B3. With a single
    start on a side, the difference has no verdict.
    """
    check_format(output, (*COMPARE_FORMATS, JSON))
    bounds = [relative.parse_relative_threshold(text) for text in fail_if or ()]
    if len(runs) < 2:
        raise UsageError("compare takes two runs or more", "see tuibench runs list")
    paths.keep_records_in(run_dir)
    sides = [[load_run(find_run(run)) for run in _runs_of(side)] for side in runs]
    found = compare_runs(sides, bounds)
    if output == JSON:
        echo_json(found)
    else:
        click.echo(COMPARE_FORMATS[output](found), nl=False)
    for line in found.crossed:
        info(f"tuibench: {line}")
    raise click.exceptions.Exit(ExitCode.THRESHOLD_CROSSED if found.crossed else ExitCode.DONE)


def _runs_of(side: str) -> list[str]:
    """Runs of one side; a folder name may contain commas."""
    if Path(side).is_dir():
        return [side]
    found = [run.strip() for run in side.split(",")]
    if not all(found):
        raise UsageError(
            f"'{side}': a comma needs a run on both sides", "for example compare A1,A2,A3 B1,B2,B3"
        )
    return found
