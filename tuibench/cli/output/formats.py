"""`--format`: the output formats of a command, and the encoding of JSON.

Lists for people: columns as wide as they must be, numbers to the right.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import click

from tuibench import sanitize, suggestions
from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)

ONE_FORMAT_ON_STDOUT = "only one form can go to stdout"

TextOrJson = Annotated[str, Option("--format", help="text, or json for programs.")]


def check_format(given: str, known: tuple[str, ...] = FORMATS) -> None:
    """Raises UsageError for a format that is none of these."""
    if given not in known:
        raise UsageError(f"--format: '{given}' is unknown", suggestions.did_you_mean(given, known))


def echo_json(value: Any) -> None:
    """Data for programs, on stdout: UTF-8 whatever the terminal has, indented, one newline at the end."""
    from tuibench.record.files.recorder import pretty_json

    click.echo(pretty_json(value), nl=False)


GAP = "  "


def align_columns(rows: Sequence[Sequence[str]], first_number: int) -> str:
    """The rows, one a line; from column `first_number` on they hold numbers."""
    rows = _shown(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        GAP.join(
            cell.rjust(width) if place >= first_number else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """How wide the longest line of the list is."""
    rows = _shown(rows)
    return sum(max(map(len, column)) for column in zip(*rows, strict=True)) + len(GAP) * (len(rows[0]) - 1)


def _shown(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[sanitize.text(cell) for cell in row] for row in rows]
