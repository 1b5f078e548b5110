"""`tuibench check`: whether the tables of a data set agree with each other."""

from collections.abc import Sequence
from typing import Annotated

import typer

from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.option_words import one_of
from tuibench.cli.profile_options import CONTEXT, profile_and_options
from tuibench.cli.progress import checking_bar
from tuibench.cli.server_options import ServerOptions
from tuibench.errors import ExitCode
from tuibench.load.check import Outcome, Verdict
from tuibench.load.check import check as ask
from tuibench.model.target import Target
from tuibench.workload import library
from tuibench.workload.datasets import PROFILES
from tuibench.workload.program import Program

__all__ = ["CONTEXT", "check"]

DETAILS = (
    "Each condition is named, with how much contradicts it and an example. Exit code 0 if all hold, else 1. "
    "May be asked while a load runs: each is read in one snapshot."
)
WORDS = {Outcome.HOLDS: "hold", Outcome.BROKEN: "broken", Outcome.SKIPPED: "skipped"}
FRESH = {"auto": None, "on": True, "off": False}


@grouped
def check(
    context: typer.Context,
    profile: Annotated[str, typer.Argument(help="A profile's name or file, or a data set (tpcc, …).")],
    server: ServerOptions,
    after_load: Annotated[
        str,
        typer.Option("--after-load", help="Nothing ran since the load: on, off, or auto to find out."),
    ] = "auto",
    output: TextOrJson = TEXT,
) -> None:
    demand_format(output)
    fresh = FRESH[one_of("--after-load", after_load, FRESH)]
    name, options = profile_and_options(profile, context.args)
    name = name if name in library.available() else PROFILES.get(name, name)
    verdicts = run_async(_ask(server.target(), library.program(name, options), fresh))
    if output == JSON:
        echo_json(verdicts)
    else:
        typer.echo(as_text(verdicts))
    broken = any(verdict.outcome is Outcome.BROKEN for verdict in verdicts)
    raise typer.Exit(ExitCode.RUN_FAILED if broken else ExitCode.DONE)


async def _ask(target: Target, program: Program, after_load: bool | None) -> tuple[Verdict, ...]:
    """Asks for the conditions with a progress bar: on large tables, that takes minutes."""
    with checking_bar(f"checking {program.data_set}") as progress:
        return await ask(target, program, after_load=after_load, progress=progress)


def as_text(verdicts: Sequence[Verdict]) -> str:
    """A line for each condition, and one that sums up."""
    name = max(len(verdict.condition) for verdict in verdicts)
    outcome = max(len(each) for each in Outcome)
    lines = [
        f"{verdict.condition:>{name}}  {verdict.outcome:{outcome}}  {verdict.says}"
        + (f" — {verdict.words}" if verdict.words else "")
        for verdict in verdicts
    ]
    return "\n".join([*lines, _summed_up(verdicts)])


def _summed_up(verdicts: Sequence[Verdict]) -> str:
    count = {each: sum(verdict.outcome is each for verdict in verdicts) for each in Outcome}
    words = [f"{number} {WORDS[each]}" for each, number in count.items() if number]
    return f"{len(verdicts)} conditions: {', '.join(words)}"
