"""`tuibench check`: checks the consistency of a data set's tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import click

from tuibench import sanitize
from tuibench.cli.click_command import Argument
from tuibench.cli.commands.tables import cleanup, prepare, prewarm
from tuibench.cli.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.options import CONTEXT, split_profile_and_options
from tuibench.cli.run_output import checking_bar
from tuibench.cli.runner import run_async
from tuibench.cli.server_options import ServerOptions
from tuibench.errors import ExitCode
from tuibench.load.conditions import ConditionOutcome, ConditionResult
from tuibench.load.conditions import check_consistency as ask
from tuibench.model.option import Option, check_choice
from tuibench.model.server import Target
from tuibench.workload import library
from tuibench.workload.datasets import DEFAULT_PROFILES
from tuibench.workload.program import Program

__all__ = ["CONTEXT", "check", "cleanup", "prepare", "prewarm"]

OUTCOME_WORDS = {
    ConditionOutcome.HOLDS: "hold",
    ConditionOutcome.BROKEN: "broken",
    ConditionOutcome.SKIPPED: "skipped",
}

AFTER_LOAD_CHOICES = {"auto": None, "on": True, "off": False}


def check(
    context: click.Context,
    profile: Annotated[str, Argument(help="A profile's name or file, or a data set (tpcc, …).")],
    server: ServerOptions,
    after_load: Annotated[
        str,
        Option(
            "--after-load",
            metavar="on|off|auto",
            help="No load has run since the tables were loaded: on, off, or auto to detect it.",
        ),
    ] = "auto",
    output: TextOrJson = TEXT,
) -> None:
    """Prints each condition; for a violated one, the number of violations and an example. Exit code 0 if
    all conditions hold, otherwise 1. Can be used during a load: each condition is checked in one
    snapshot.
    """
    check_format(output)
    fresh = AFTER_LOAD_CHOICES[check_choice("--after-load", after_load, AFTER_LOAD_CHOICES)]
    name, options = split_profile_and_options(profile, context.args)
    name = name if name in library.available_profiles() else DEFAULT_PROFILES.get(name, name)
    verdicts = run_async(_check_with_progress(server.target(), library.load_program(name, options), fresh))
    if output == JSON:
        echo_json(verdicts)
    else:
        click.echo(verdicts_text(verdicts))
    broken = any(verdict.outcome is ConditionOutcome.BROKEN for verdict in verdicts)
    raise click.exceptions.Exit(ExitCode.RUN_FAILED if broken else ExitCode.DONE)


async def _check_with_progress(
    target: Target, program: Program, after_load: bool | None
) -> tuple[ConditionResult, ...]:
    """Check the conditions with a progress bar: on large tables, that takes minutes."""
    with checking_bar(f"checking {program.data_set}") as progress:
        return await ask(target, program, after_load=after_load, progress=progress)


def verdicts_text(verdicts: Sequence[ConditionResult]) -> str:
    """One line per condition, and a summary line."""
    name = max(len(verdict.condition) for verdict in verdicts)
    outcome = max(len(each) for each in ConditionOutcome)
    lines = [
        f"{verdict.condition:>{name}}  {verdict.outcome:{outcome}}  {verdict.description}"
        + (f" — {verdict.message}" if verdict.message else "")
        for verdict in verdicts
    ]
    return "\n".join(map(sanitize.text, [*lines, _summary_line(verdicts)]))


def _summary_line(verdicts: Sequence[ConditionResult]) -> str:
    count = {each: sum(verdict.outcome is each for verdict in verdicts) for each in ConditionOutcome}
    message = [f"{number} {OUTCOME_WORDS[each]}" for each, number in count.items() if number]
    return f"{len(verdicts)} conditions: {', '.join(message)}"
