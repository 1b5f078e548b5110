"""`tuibench compare`: recorded runs, each compared with the first one. `history`: the runs of a plan over
time.
"""

from pathlib import Path
from typing import Annotated

import typer

from tuibench.base import paths
from tuibench.base.errors import ExitCode, UsageError
from tuibench.cli import candidates
from tuibench.cli.options import RunDir, TextOrJson
from tuibench.cli.output import JSON, TEXT, check_format, echo_json, info
from tuibench.features.compare import comparison as comparison_report
from tuibench.features.compare.comparison import compare_runs
from tuibench.features.compare.history import change_text, history_chart, history_text, recorded_runs
from tuibench.features.compare.history import history as history_of
from tuibench.metrics import thresholds
from tuibench.metrics.figures import figure_named
from tuibench.record.reader import load_run
from tuibench.record.store import find_run

COMPARE_FORMATS = {TEXT: comparison_report.comparison_text, "markdown": comparison_report.comparison_markdown}


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            autocompletion=candidates.runs,
            metavar="RUN[,RUN…]…",
            help="Runs as in runs list, latest, or folders; commas join the runs of one side.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, markdown, or json for programs.")
    ] = TEXT,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION", help=f"End with exit code 4 if this holds: {thresholds.EXAMPLES}, …"
        ),
    ] = None,
    run_dir: RunDir = "",
) -> None:
    """Prints what differs between the runs, then each figure relative to the first run, with a verdict:
    better, worse, equal within ±5 %, or too noisy to tell. Two starts of one server often differ by 5 to
    10 %: give several runs per side, each on its own start, as in compare A1,A2,A3 B1,B2,B3. With a single
    start on a side, the difference may be the start.
    """
    check_format(output, (*COMPARE_FORMATS, JSON))
    bounds = [thresholds.parse_relative_threshold(text) for text in fail_if or ()]
    if len(runs) < 2:
        raise UsageError("compare takes two runs or more", "see tuibench runs list")
    paths.keep_records_in(run_dir)
    sides = [[load_run(find_run(run)) for run in _runs_of(side)] for side in runs]
    found = compare_runs(sides, bounds)
    if output == JSON:
        echo_json(found)
    else:
        typer.echo(COMPARE_FORMATS[output](found), nl=False)
    for line in found.crossed:
        info(f"tuibench: {line}")
    raise typer.Exit(ExitCode.THRESHOLD_CROSSED if found.crossed else ExitCode.DONE)


def _runs_of(side: str) -> list[str]:
    """The runs of one side, separated by commas, unless the text is a folder whose name contains commas."""
    if Path(side).is_dir():
        return [side]
    found = [run.strip() for run in side.split(",")]
    if not all(found):
        raise UsageError(
            f"'{side}': a comma needs a run on both sides", "for example compare A1,A2,A3 B1,B2,B3"
        )
    return found


def history(
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name, as tuibench runs list shows it."
        ),
    ],
    figure: Annotated[
        str, typer.Option(metavar="FIGURE", help="tps, p95, fsyncs or any other figure of a summary.")
    ] = "tps",
    since: Annotated[
        str, typer.Option(metavar="RUN", help="Exit code 4 on a regression since this run.")
    ] = "",
    chart: Annotated[str, typer.Option(metavar="FILE", help="Write the chart to this file, as SVG.")] = "",
    output: TextOrJson = TEXT,
    run_dir: RunDir = "",
) -> None:
    """Shows the runs with the same statements, options, load and server address as the newest run of the
    profile. '*' marks the first run at a new level. With --since RUN the exit code is 4 if the level is
    worse since that run than in the runs before it, of which there must be at least 8.
    """
    check_format(output)
    chosen = figure_named(figure)
    paths.keep_records_in(run_dir)
    runs = recorded_runs(profile, lambda reason: info(f"tuibench: {reason}"))
    if not runs:
        raise UsageError(f"there is no finished run of '{profile}'", "tuibench runs list shows them")
    found = history_of(profile, runs, chosen, since)
    if chart:
        _write_chart(chart, history_chart(found))
    if output == JSON:
        echo_json(found)
    else:
        typer.echo(history_text(found), nl=False)
    if found.regression is not None:
        text = change_text(found.regression, found)
        info(f"tuibench: a regression of {text} since {found.regression.run}")
    raise typer.Exit(ExitCode.THRESHOLD_CROSSED if found.regression else ExitCode.DONE)


def _write_chart(path: str, picture: str) -> None:
    """Write the chart. Raises UsageError if the file cannot be written."""
    try:
        Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--chart: {path} cannot be written: {error.strerror}") from error
    info(f"tuibench: wrote {path}")
