"""Comparison of runs as a document: what differs, every figure against the first run, stalls."""

from collections.abc import Iterator

from tuibench import units
from tuibench.document import (
    Block,
    Document,
    Section,
    Shape,
    Table,
    Text,
    section,
    write_markdown,
    write_text,
)
from tuibench.metrics.inference import TOO_NOISY
from tuibench.model.summary import ComparisonRow, ComparisonVerdict, Contrast, RunComparison, SetupDifference

PAIR = 2
LONGEST_VALUE = 40
SIGNS = {ComparisonVerdict.EQUAL: " =", ComparisonVerdict.CANNOT_TELL: " ?", ComparisonVerdict.STARTS: " *"}
KEY = f"=  equal within ±5 %;  ?  {TOO_NOISY};  *  may be due to the starts of the server"


def comparison_text(found: RunComparison) -> str:
    """The text for the terminal, ending in a newline."""
    document = comparison_document(found, LONGEST_VALUE)
    return write_text((*document.lead, *document.sections))


def comparison_markdown(found: RunComparison) -> str:
    """The Markdown, ending in a newline."""
    return write_markdown(comparison_document(found))


def comparison_document(found: RunComparison, longest: int = 0) -> Document:
    """The document; `longest` is the maximum number of characters of a value that differs, 0 for all."""
    letters = run_letters(found)
    lead: list[Block] = [Table(rows=tuple(zip(letters, side_titles(found), strict=True)), words=2)]
    if found.doubts:
        lead.append(Text(tuple(f"note: {doubt}" for doubt in found.doubts), Shape.LIST))
    return Document(title="Comparison", lead=tuple(lead), sections=tuple(_sections(found, letters, longest)))


def _sections(found: RunComparison, letters: list[str], longest: int) -> Iterator[Section]:
    if found.differences:
        rows = tuple((f"{one.group}: {one.path}", *_shortened(one, longest)) for one in found.differences)
        yield section("What differs", Table(header=("", *letters), rows=rows, words=1 + len(letters)))
    else:
        yield section("What differs", Text(("Plan, server and host are the same.",)))
    shown = [row for row in found.rows if has_figure(row)]
    first, *others = letters
    if len(found.runs) > PAIR:
        # For two runs, the table with the verdicts says the same.
        heading = ("", first, *(f"{letter}/{first}" for letter in others))
        ratios = tuple(
            (row_title(row), figure_text(row.first), *map(ratio_text, row.others)) for row in shown
        )
        yield section(f"Relative to {first}", Table(header=heading, rows=ratios, notes=(KEY,)))
    for place, letter in enumerate(others):
        judged = tuple(_judged(row, row.others[place]) for row in shown)
        heading = ("", first, letter, "difference", "95 % interval", "verdict")
        because = found.because[place] if found.because else ""
        words = Text((because,)) if because else None
        yield section(f"{letter} against {first}", Table(header=heading, rows=judged), words)
    for title, texts in (("Stalls", found.stalls), ("Slowest transaction", found.slowest)):
        if any(text not in ("", "none", units.DASH) for text in texts):
            yield section(
                title,
                Table(rows=tuple(zip(letters, texts, strict=True)), words=2),
            )


def side_titles(found: RunComparison) -> list[str]:
    """The runs of each side, with the number of server starts if there are several."""
    return [
        f"{runs} ({starts} starts)" if starts > 1 else runs
        for runs, starts in zip(found.runs, found.starts, strict=True)
    ]


def run_letters(found: RunComparison) -> list[str]:
    """The letters of the runs in the tables."""
    return [chr(ord("A") + place) if place < 26 else f"#{place + 1}" for place in range(len(found.runs))]


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


def _difference(other: Contrast) -> tuple[str, str]:
    """The difference, and its interval."""
    if other.percent is None:
        return units.DASH, units.DASH
    if other.low is None or other.high is None:
        return units.difference(other.percent), units.DASH
    return units.difference_and_interval(other.percent, other.low, other.high)


def _verdict(other: Contrast) -> str:
    if other.percent is None:
        return units.DASH
    return TOO_NOISY if other.verdict is ComparisonVerdict.CANNOT_TELL else str(other.verdict)


def _judged(row: ComparisonRow, other: Contrast) -> tuple[str, ...]:
    return (
        row_title(row),
        figure_text(row.first),
        figure_text(other.value),
        *_difference(other),
        _verdict(other),
    )


def _shortened(one: SetupDifference, longest: int) -> list[str]:
    return [f"{each[: longest - 1]}…" if longest and len(each) > longest else each for each in one.values]
