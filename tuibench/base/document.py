"""Documents: sections of text, tables and charts, and their writers for a terminal, Markdown and CSV.

A report is built once as blocks and sections, for all formats. HTML is written by `report/html_chart.py`,
panels of the screen by `tui/text.py`. Blocks contain untrusted text (names, SQL, messages of the server) in
its original form: each writer escapes it.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from tuibench.base import sanitize

BAR_CELLS = 41
"""Width of a bar in characters: an odd number, so that the middle is one of them."""
_INDENT = "  "


class Styled(msgspec.Struct, frozen=True):
    """A text with a role."""

    text: str
    role: str = ""
    """Its meaning, such as better or worse; each writer has a style for it."""
    note: str = ""
    """A note in smaller print."""


class Bar(msgspec.Struct, frozen=True):
    """An interval with its estimate, drawn as a bar on an axis with zero in the middle."""

    low: float | None
    value: float | None
    """The estimate."""
    high: float | None
    most: float
    """The end of the axis, which begins at -`most`."""
    role: str = ""


Cell = str | Styled | Bar


class TableStyle(StrEnum):
    """The kind of a table's rows."""

    FIGURES = "figures"
    """Cells below a header."""
    PROPERTIES = "properties"
    """A name and a value."""
    TILES = "tiles"
    """A name, a figure and a remark."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows below a header."""

    header: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...]
    """A row with a single cell is a heading of the rows below it."""
    words: int = 1
    """The number of columns at the start that are words; the columns after them are numbers."""
    remarks: int = 0
    """The number of columns at the end that are words."""
    title: str = ""
    notes: tuple[str, ...] = ()
    """Lines below the table."""
    style: TableStyle = TableStyle.FIGURES

    @property
    def columns(self) -> int:
        return len(self.header) or max(map(len, self.rows), default=0)

    def is_words(self, column: int) -> bool:
        return column < self.words or column >= self.columns - self.remarks


class Shape(StrEnum):
    """How lines of text are written: as paragraphs, as items of a list, or preformatted."""

    PARAGRAPHS = "paragraphs"
    LIST = "list"
    CODE = "code"


class Text(msgspec.Struct, frozen=True):
    """Lines of text."""

    lines: tuple[str, ...]
    shape: Shape = Shape.PARAGRAPHS
    role: str = ""
    """note, warnings, verdict, answer, fine, soft, or empty."""
    title: str = ""


class HtmlChart(msgspec.Struct, frozen=True):
    """A chart, which only HTML contains."""

    draw: Callable[[], str | None]
    """Draws the chart; returns None for no chart."""


class Section(msgspec.Struct, frozen=True):
    """Blocks below a title."""

    title: str
    blocks: tuple["Block | Section", ...]
    badge: str = ""
    """The number of a change; a section with a badge is a card."""
    folded: bool = False
    """Whether the section is folded; only HTML contains it then."""


Block = Text | Table | HtmlChart


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report."""

    title: str = ""
    lead: tuple[Block, ...] = ()
    """The blocks before the sections."""
    sections: tuple[Section, ...] = ()
    foot: str = ""
    """The last line."""


def section(title: str, *blocks: Block | Section | None, badge: str = "", folded: bool = False) -> Section:
    """A section of these blocks; None is omitted."""
    return Section(title, tuple(each for each in blocks if each is not None), badge, folded)


def properties(rows: Iterable[tuple[str, str]]) -> Table:
    """A table of names and values; rows without a value are omitted."""
    return Table(rows=tuple(row for row in rows if row[1]), words=2, style=TableStyle.PROPERTIES)


def bar_text(bar: Bar, cells_wide: int = BAR_CELLS) -> str:
    """A bar as a line of text with zero in the middle: `      │──●───  `.

    An arrow marks an end of the interval that is beyond the axis.
    """
    low, middle, high = (_cell(value, bar.most, cells_wide) for value in (bar.low, bar.value, bar.high))
    cells = ["─" if low <= place <= high else " " for place in range(cells_wide)]
    cells[cells_wide // 2] = "│"
    if (bar.low or 0.0) < -bar.most:
        cells[0] = "◂"
    if (bar.high or 0.0) > bar.most:
        cells[-1] = "▸"
    cells[middle] = "●"
    return "".join(cells)


def _cell(value: float | None, most: float, cells_wide: int) -> int:
    share = 0.0 if value is None else max(-1.0, min(1.0, value / most))
    return round((cells_wide - 1) / 2 * (1 + share))


def axis_text(most: float, cells_wide: int = BAR_CELLS) -> str:
    """The ends and the middle of a bar's axis, in percent."""
    return f"{f'−{most:g} %':<{cells_wide // 2}}0{f'{most:g} %':>{cells_wide // 2}}"


def axis_of(table: Table, column: int) -> float | None:
    """The end of the axis of a column of bars; None for a column without bars."""
    cells = (row[column] for row in table.rows if len(row) > max(column, 1))
    return next((cell.most for cell in cells if isinstance(cell, Bar)), None)


def cell_text(cell: Cell) -> str:
    """A cell as plain text on one line."""
    match cell:
        case Bar():
            return bar_text(cell)
        case Styled():
            note = f": {cell.note}" if "(" in cell.note else f" ({cell.note})"
            return sanitize.text(f"{cell.text}{note * bool(cell.note)}")
        case _:
            return sanitize.text(cell)


# Terminal


def write_text(blocks: Sequence[Block | Section]) -> str:
    """The blocks as text, separated by empty lines; ends in a newline unless it is empty."""
    written = ["\n".join(lines) for each in blocks if (lines := list(text_lines(each)))]
    return "\n\n".join(written) + "\n" if written else ""


def text_lines(block: Block | Section) -> Iterator[str]:
    """The lines of a block. The columns of a table are aligned; the blocks of a section are indented."""
    match block:
        case Section():
            if not block.folded:
                title = f"{block.badge} {block.title}".strip()
                yield from [sanitize.text(title)] * bool(title)
                indent = _INDENT * bool(title)
                for place, inner in enumerate(block.blocks):
                    lines = list(text_lines(inner))
                    is_apart = place and lines and isinstance(inner, Section | Table)
                    yield from (
                        ["", *(indent + line for line in lines)]
                        if is_apart
                        else (indent + line for line in lines)
                    )
        case Table():
            yield from _table_lines(block)
        case Text():
            yield from [sanitize.text(block.title)] * bool(block.title)
            indent = _INDENT * (bool(block.title) or block.shape is Shape.CODE)
            yield from (indent + sanitize.text(line) for line in block.lines)
        case HtmlChart():
            return


def _table_lines(table: Table) -> Iterator[str]:
    columns = range(table.columns)
    header = [
        axis_text(most) if (most := axis_of(table, place)) else sanitize.text(title)
        for place, title in enumerate(table.header)
    ]
    lines = [[cell_text(cell) for cell in row] for row in table.rows]
    grid = [header] * bool(header) + [line for line in lines if len(line) > 1]
    widths = [max((len(line[column]) for line in grid), default=0) for column in columns]
    yield from [sanitize.text(table.title)] * bool(table.title)
    if any(header):
        yield _aligned(table, header, widths)
    for line in lines:
        yield from ["", *line] if len(line) == 1 else [_aligned(table, line, widths)]
    yield from map(sanitize.text, table.notes)


def _aligned(table: Table, line: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.ljust(width) if table.is_words(column) else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


# Markdown


def write_markdown(document: Document) -> str:
    """The document as Markdown, without charts and folded sections; ends in a newline."""
    blocks = [f"# {sanitize.markdown_text(document.title)}"] * bool(document.title)
    blocks += markdown_blocks(document.lead)
    blocks += markdown_blocks(document.sections)
    blocks += [sanitize.markdown_text(document.foot)] * bool(document.foot)
    return "\n\n".join(blocks) + "\n"


def markdown_blocks(blocks: Iterable[Block | Section], level: int = 2) -> Iterator[str]:
    """Each block as Markdown; the caller joins them by empty lines."""
    for block in blocks:
        match block:
            case Section():
                inner = [] if block.folded else list(markdown_blocks(block.blocks, level + 1))
                if inner:
                    title = f"{block.badge} {block.title}".strip()
                    yield from [f"{'#' * level} {sanitize.markdown_text(title)}"] * bool(title)
                    yield from inner
            case Table():
                yield from [f"**{sanitize.markdown_text(block.title)}**"] * bool(block.title)
                if block.rows:
                    yield _markdown_table(block)
                yield from map(sanitize.markdown_text, block.notes)
            case Text():
                yield from [f"**{sanitize.markdown_text(block.title)}**"] * bool(block.title)
                yield from _markdown_text(block)
            case HtmlChart():
                pass


def _markdown_text(block: Text) -> Iterator[str]:
    match block.shape:
        case Shape.CODE:
            inside = "\n".join(map(sanitize.text, block.lines))
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", inside)), default=0))
            yield f"{fence}\n{inside}\n{fence}"
        case Shape.LIST:
            yield "\n".join(f"- {sanitize.markdown_text(line)}" for line in block.lines)
        case Shape.PARAGRAPHS:
            yield from (sanitize.markdown_text(line.strip()) for line in block.lines if line.strip())


def _markdown_table(table: Table) -> str:
    columns = [place for place in range(table.columns) if axis_of(table, place) is None]
    header = [sanitize.markdown_text(table.header[place] if table.header else "") for place in columns]
    rules = [":--" if table.is_words(place) else "--:" for place in columns]
    rows = [
        [sanitize.markdown_text(cell_text(row[place])) for place in columns]
        if len(row) > 1
        else [f"**{sanitize.markdown_text(cell_text(row[0]))}**", *[""] * (len(columns) - 1)]
        for row in table.rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rules, *rows))


# CSV


def write_csv(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """CSV with a header; None is written as an empty field. Ends in a newline."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([sanitize.text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return stream.getvalue()
