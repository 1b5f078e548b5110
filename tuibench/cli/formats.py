"""`--format`: the output formats of a command, and the encoding of JSON.

Text tables have columns of minimal width, with numbers right-aligned.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import click

from tuibench import sanitize
from tuibench.errors import UsageError, did_you_mean
from tuibench.model.option import Option

TEXT, JSON = "text", "json"

FORMATS = (TEXT, JSON)

ONE_FORMAT_ON_STDOUT = "only one format can be printed on stdout"

TextOrJson = Annotated[str, Option("--format", metavar="FORMAT", help="text, or json for programs.")]


def check_format(given: str, known: tuple[str, ...] = FORMATS) -> None:
    """Raises UsageError for an unknown format."""
    if given not in known:
        raise UsageError(f"--format: '{given}' is unknown", did_you_mean(given, known))


def echo_json(value: Any) -> None:
    """JSON on stdout: UTF-8 independent of the terminal, indented, with one final newline."""
    from tuibench.record.recorder import pretty_json

    click.echo(pretty_json(value), nl=False)


GAP = "  "


def align_columns(rows: Sequence[Sequence[str]], first_number: int) -> str:
    """The rows, one per line; columns from `first_number` on are numbers."""
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
    """Width of the longest line."""
    rows = _shown(rows)
    return sum(max(map(len, column)) for column in zip(*rows, strict=True)) + len(GAP) * (len(rows[0]) - 1)


def _shown(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[sanitize.text(cell) for cell in row] for row in rows]
