"""`tuibench history`: the recorded runs of one plan over time."""

from pathlib import Path
from typing import Annotated

import click

from tuibench import paths
from tuibench.cli.options.session_options import RunDir
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.output.log import info
from tuibench.cli.parsing.click_command import Argument
from tuibench.errors import ExitCode, UsageError
from tuibench.metrics.figures import figure_named
from tuibench.model.option import Option
from tuibench.record.history.history import history as history_of
from tuibench.record.history.history import recorded_runs
from tuibench.record.history.history_chart import history_chart
from tuibench.record.history.history_text import change_text, history_text


def history(
    profile: Annotated[str, Argument(help="A profile's name, as tuibench runs list shows it.")],
    figure: Annotated[
        str, Option("--figure", metavar="FIGURE", help="tps, p95, fsyncs or any other figure of a summary.")
    ] = "tps",
    since: Annotated[
        str,
        Option("--since", metavar="RUN", help="Exit code 4 on a regression since this run."),
    ] = "",
    chart: Annotated[
        str, Option("--chart", metavar="FILE", help="Write the chart to this file, as SVG.")
    ] = "",
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
        click.echo(history_text(found), nl=False)
    if found.regression is not None:
        text = change_text(found.regression, found)
        info(f"tuibench: a regression of {text} since {found.regression.run}")
    raise click.exceptions.Exit(ExitCode.THRESHOLD_CROSSED if found.regression else ExitCode.DONE)


def _write_chart(path: str, picture: str) -> None:
    """Write the chart. Raises UsageError if the file cannot be written."""
    try:
        Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--chart: {path} cannot be written: {error.strerror}") from error
    info(f"tuibench: wrote {path}")
