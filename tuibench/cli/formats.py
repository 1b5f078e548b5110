"""`--format`: which forms a command's output has, what they are called, and how JSON is written."""

from typing import Annotated, Any

import typer

from tuibench.errors import UsageError
from tuibench.record.recorder import pretty_json
from tuibench.workload import nearest

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)

ONE_FORM = "only one form can go to stdout"

TextOrJson = Annotated[str, typer.Option("--format", help="text, or json for programs.")]


def demand_format(given: str, known: tuple[str, ...] = FORMATS) -> None:
    """Raises UsageError for a format that is none of these."""
    if given not in known:
        raise UsageError(f"--format: '{given}' is unknown", nearest.hint(given, known))


def echo_json(value: Any) -> None:
    """Data for programs, on stdout: UTF-8 whatever the terminal has, indented, one newline at the end."""
    typer.echo(pretty_json(value), nl=False)
