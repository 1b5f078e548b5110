"""Table of words and numbers, as text for a terminal, Markdown or CSV."""

import csv
import io

import msgspec

from tuibench import sanitize


class TextTable(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under a header; the first `words` columns are words, the others numbers. `notes` are printed
    below.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    notes: tuple[str, ...] = ()


def table_text(grid: TextTable) -> str:
    """Aligned columns under the title; ends in a newline."""
    lines = [tuple(map(sanitize.text, line)) for line in (grid.header, *grid.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(grid.header))]
    body = ["  ".join(_cells(line, widths, grid.words)).rstrip() for line in lines]
    return (
        "\n".join([*([sanitize.text(grid.title)] * bool(grid.title)), *body, *map(sanitize.text, grid.notes)])
        + "\n"
    )


def table_markdown(grid: TextTable) -> str:
    """A table under its title in bold, with the notes as a paragraph; ends in a newline."""
    rules = [":--" if column < grid.words else "--:" for column in range(len(grid.header))]
    lines = [_piped(line) for line in (grid.header, tuple(rules), *grid.rows)]
    title = [f"**{_escaped(grid.title)}**", ""] * bool(grid.title)
    notes = ["", *map(_escaped, grid.notes)] * bool(grid.notes)
    return "\n".join([*title, *lines, *notes]) + "\n"


def to_csv(header: tuple[str, ...], rows: tuple[tuple[object, ...], ...]) -> str:
    """CSV with a header; None is empty. Ends in a newline."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([sanitize.text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return stream.getvalue()


def _cells(line: tuple[str, ...], widths: list[int], words: int) -> list[str]:
    return [
        cell.ljust(width) if column < words else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]


def _piped(line: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_escaped, line))} |"


def _escaped(text: str) -> str:
    return sanitize.markdown_text(text)
