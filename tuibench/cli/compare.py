"""`tuibench compare`: recorded runs against the first of them."""

from typing import Annotated

import typer

from tuibench.cli.finding import RunDir, look_in
from tuibench.cli.formats import JSON, TEXT, demand_format, echo_json
from tuibench.cli.talk import say
from tuibench.errors import ExitCode, UsageError
from tuibench.metrics import relative
from tuibench.record import contrast_text
from tuibench.record.collection import find_run
from tuibench.record.contrasts import compared
from tuibench.record.run import load

DETAILS = (
    "What was not the same about the runs comes first, then each figure relative to the first run, with a "
    "verdict: better, worse, or no difference that could be told from the noise of the runs themselves."
)
FORMATS = {TEXT: contrast_text.text, "markdown": contrast_text.markdown}


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN…", help="Names or folders of runs.")],
    output: Annotated[str, typer.Option("--format", help="text, markdown, or json for programs.")] = TEXT,
    fail_if: Annotated[
        list[str] | None,
        typer.Option("--fail-if", help=f"End with exit code 4 if this holds: {relative.EXAMPLES}, …"),
    ] = None,
    run_dir: RunDir = "",
) -> None:
    demand_format(output, (*FORMATS, JSON))
    bounds = [relative.parse(text) for text in fail_if or ()]
    if len(runs) < 2:
        raise UsageError("compare takes two runs or more", "tuibench runs list says which there are")
    look_in(run_dir)
    found = compared([load(find_run(run)) for run in runs], bounds)
    if output == JSON:
        echo_json(found)
    else:
        typer.echo(FORMATS[output](found), nl=False)
    for line in found.crossed:
        say(f"tuibench: {line}")
    raise typer.Exit(ExitCode.THRESHOLD_CROSSED if found.crossed else ExitCode.DONE)
