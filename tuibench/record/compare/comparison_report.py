"""Text and Markdown of a comparison of runs."""

from collections.abc import Sequence

from tuibench import units
from tuibench.model.results.comparison import (
    ComparisonRow,
    ComparisonVerdict,
    Contrast,
    RunComparison,
    SetupDifference,
)

FIRST = 1.0
PAIR = 2
LONGEST_VALUE = 40
SIGNS = {ComparisonVerdict.EQUAL: " =", ComparisonVerdict.CANNOT_TELL: " ?"}
KEY = "=  equal within ±5 %;  ?  cannot tell"

TextRows = list[tuple[str, ...]]


def comparison_text(found: RunComparison) -> str:
    """The text for the terminal, ending in a newline."""
    letters = run_letters(found)
    parts = [*(f"{letter}  {side}" for letter, side in zip(letters, side_titles(found), strict=True)), ""]
    parts += [f"note: {doubt}" for doubt in found.doubts]
    parts += [""] * bool(found.doubts)
    parts.append("what differs" if found.differences else "plan, server and host are the same")
    parts += _aligned(difference_table(found, LONGEST_VALUE), len(found.runs) + 1)
    if has_relative_table(found):
        parts += ["", f"relative to {letters[0]}", *_aligned(relative_table(found), 1), f"  {KEY}"]
    for place, letter in enumerate(letters[1:]):
        parts += ["", f"{letter} against {letters[0]}", *_aligned(verdict_table(found, place), 1)]
    for title, texts in _stalls_and_slowest(found):
        parts += ["", title, *(f"  {letter}  {text}" for letter, text in zip(letters, texts, strict=True))]
    return "\n".join(parts) + "\n"


def comparison_markdown(found: RunComparison) -> str:
    """The Markdown, ending in a newline."""
    letters = run_letters(found)
    parts = ["# Comparison", ""]
    parts += [f"- **{letter}**: `{side}`" for letter, side in zip(letters, side_titles(found), strict=True)]
    parts += [""] if not found.doubts else ["", *(f"> {doubt}" for doubt in found.doubts), ""]
    parts += ["## What differs", ""]
    parts += (
        _piped(difference_table(found), 0) if found.differences else ["Plan, server and host are the same."]
    )
    if has_relative_table(found):
        parts += ["", f"## Relative to {letters[0]}", "", *_piped(relative_table(found), 1), "", KEY]
    for place, letter in enumerate(letters[1:]):
        parts += ["", f"## {letter} against {letters[0]}", "", *_piped(verdict_table(found, place), 1)]
    for title, texts in _stalls_and_slowest(found):
        parts += ["", f"## {title.capitalize()}", ""]
        parts += [f"- **{letter}**: {text}" for letter, text in zip(letters, texts, strict=True)]
    return "\n".join(parts) + "\n"


def _stalls_and_slowest(found: RunComparison) -> list[tuple[str, tuple[str, ...]]]:
    """Stalls and slowest transactions, a text for each side; without stalls if no side had one."""
    rows = []
    if any(text != "none" for text in found.stalls):
        rows.append(("stalls", found.stalls))
    if any(text not in ("", units.DASH) for text in found.slowest):
        rows.append(("slowest transaction", found.slowest))
    return rows


def side_titles(found: RunComparison) -> list[str]:
    """The runs of each side, with the number of server starts if there are several."""
    return [
        f"{runs} ({starts} starts)" if starts > 1 else runs
        for runs, starts in zip(found.runs, found.starts, strict=True)
    ]


def run_letters(found: RunComparison) -> list[str]:
    """The letters of the runs in the tables."""
    return [chr(ord("A") + place) if place < 26 else f"#{place + 1}" for place in range(len(found.runs))]


def difference_table(found: RunComparison, longest: int = 0) -> TextRows:
    """A row for each value that differs; `longest` is the maximum number of characters shown, 0 for all."""
    if not found.differences:
        return []
    rows = [(f"{one.group}: {one.path}", *_shortened(one, longest)) for one in found.differences]
    return [("", *run_letters(found)), *rows]


def has_relative_table(found: RunComparison) -> bool:
    """True for three sides or more: for two, the table with the verdicts says the same."""
    return len(found.runs) > PAIR


def relative_table(found: RunComparison) -> TextRows:
    """A row for each figure: the first run's, 1.00, and the ratios of the others to it."""
    letters = run_letters(found)
    heading = ("", letters[0], *(f"{letter}/{letters[0]}" for letter in letters))
    return [heading, *(_relative(row) for row in found.rows if has_figure(row))]


def verdict_table(found: RunComparison, place: int) -> TextRows:
    """A row for each figure of one run against the first: both values, difference, interval, verdict."""
    letters = run_letters(found)
    heading = ("", letters[0], letters[place + 1], "difference", "95 % interval", "verdict")
    return [heading, *(_judged(row, row.others[place]) for row in found.rows if has_figure(row))]


def has_figure(row: ComparisonRow) -> bool:
    """True if any run has the figure."""
    return row.first is not None or any(other.value is not None for other in row.others)


def row_title(row: ComparisonRow) -> str:
    return f"{row.title} ({row.unit})" if row.unit and row.unit != "/s" else row.title


def figure_text(number: float | None) -> str:
    """A figure with three or four significant digits, or a dash."""
    if number is None:
        return units.DASH
    if number >= 1000 or number == 0:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 100 else f"{number:#.3g}"


def ratio_text(other: Contrast) -> str:
    """The ratio to the first run's figure, marked if it may be chance or there is no verdict."""
    if other.relative is None:
        return units.DASH
    return f"{other.relative:.2f}{SIGNS.get(other.verdict, '  ')}"


def change_percent_text(other: Contrast) -> str:
    return units.DASH if other.percent is None else f"{units.signed(other.percent, _digits(other))} %"


def interval_text(other: Contrast) -> str:
    if other.low is None or other.high is None:
        return units.DASH
    return f"{units.range_text(other.low, other.high, _digits(other))} %"


def _digits(other: Contrast) -> int:
    known = [edge for edge in (other.percent, other.low, other.high) if edge is not None]
    return units.digits_for(*known) if known else 1


def _relative(row: ComparisonRow) -> tuple[str, ...]:
    first = f"{FIRST:.2f}" if row.first is not None else units.DASH
    return (row_title(row), figure_text(row.first), first, *(ratio_text(other) for other in row.others))


def _judged(row: ComparisonRow, other: Contrast) -> tuple[str, ...]:
    return (
        row_title(row),
        figure_text(row.first),
        figure_text(other.value),
        change_percent_text(other),
        interval_text(other),
        str(other.verdict),
    )


def _shortened(one: SetupDifference, longest: int) -> list[str]:
    return [f"{each[: longest - 1]}…" if longest and len(each) > longest else each for each in one.values]


def _aligned(table: TextRows, words: int) -> list[str]:
    """Aligned columns; the first `words` of them to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def _piped(table: Sequence[tuple[str, ...]], words: int) -> list[str]:
    """A Markdown table; with `words`, all columns after the first `words` are numbers."""
    heading, *rows = table
    rule = ["---" if not words or place < words else "---:" for place in range(len(heading))]
    return [_pipes(heading), _pipes(rule), *(_pipes(row) for row in rows)]


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.strip().replace("|", "\\|") for cell in cells) + " |"
