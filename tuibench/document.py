"""Documents: sections of text, tables and charts, and their writers for a terminal, Markdown and CSV.

A report is built once as blocks and sections; its reader chooses the writer. HTML is written by
`report/html_chart.py`, panels of the screen by `tui/text.py`. Blocks contain foreign text (names, SQL,
messages of the server) as it is: each writer escapes it.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from tuibench import sanitize

BAR_CELLS = 41
"""Characters of a bar, odd, so that its middle has its own cell."""
_INDENT = "  "


class Styled(msgspec.Struct, frozen=True):
    """A text with a role, such as better or worse, and a note in smaller print."""

    text: str
    role: str = ""
    note: str = ""


class Bar(msgspec.Struct, frozen=True):
    """An interval with its estimate on an axis from -most to most."""

    low: float | None
    value: float | None
    high: float | None
    most: float
    role: str = ""


Cell = str | Styled | Bar


class TableStyle(StrEnum):
    """FIGURES: rows under a header. PROPERTIES: names and values. TILES: a name, its figure and a remark."""

    FIGURES = "figures"
    PROPERTIES = "properties"
    TILES = "tiles"


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under a header: the first `words` columns and the last `remarks` are words, the others numbers.

    A row of one cell is a heading of the rows below it. `notes` are written below the table.
    """

    header: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1
    remarks: int = 0
    title: str = ""
    notes: tuple[str, ...] = ()
    style: TableStyle = TableStyle.FIGURES

    @property
    def columns(self) -> int:
        return len(self.header) or max(map(len, self.rows), default=0)

    def is_words(self, column: int) -> bool:
        return column < self.words or column >= self.columns - self.remarks


class Shape(StrEnum):
    """PARAGRAPHS: one for each line. LIST: an item for each. CODE: preformatted."""

    PARAGRAPHS = "paragraphs"
    LIST = "list"
    CODE = "code"


class Text(msgspec.Struct, frozen=True):
    """Lines of text. `role` is note, warnings, verdict, fine or soft."""

    lines: tuple[str, ...]
    shape: Shape = Shape.PARAGRAPHS
    role: str = ""
    title: str = ""


class Chart(msgspec.Struct, frozen=True):
    """A chart, which only HTML contains: a function that draws it."""

    draw: Callable[[], str | None]


class Section(msgspec.Struct, frozen=True):
    """Blocks under a title.

    One with a `badge`, the number of a change, is a card. A `folded` one is for HTML only.
    """

    title: str
    blocks: tuple["Block | Section", ...]
    badge: str = ""
    folded: bool = False


Block = Text | Table | Chart


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A title, what comes before the sections, the sections, and a last line."""

    title: str = ""
    lead: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    foot: str = ""


def section(title: str, *blocks: Block | Section | None, badge: str = "", folded: bool = False) -> Section:
    """A section of the blocks that there are."""
    return Section(title, tuple(each for each in blocks if each is not None), badge, folded)


def properties(rows: Iterable[tuple[str, str]]) -> Table:
    """A table of names and values; rows without a value are omitted."""
    return Table(rows=tuple(row for row in rows if row[1]), words=2, style=TableStyle.PROPERTIES)


def bar_text(bar: Bar, cells_wide: int = BAR_CELLS) -> str:
    """The interval as a line with its estimate, zero in the middle: `      │──●───  `.

    Arrows are ends beyond the axis.
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
    """The end of the axis of a column of bars; None for another column."""
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
    """The blocks, one below the other, with an empty line between them; ends in a newline, or is empty."""
    written = ["\n".join(lines) for each in blocks if (lines := list(text_lines(each)))]
    return "\n\n".join(written) + "\n" if written else ""


def text_lines(block: Block | Section) -> Iterator[str]:
    """The lines of a block: a table is aligned; what stands under the title of a section is indented."""
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
        case Chart():
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
    """The whole document without its charts and what is folded; ends in a newline."""
    blocks = [f"# {sanitize.markdown_text(document.title)}"] * bool(document.title)
    blocks += markdown_blocks(document.lead)
    blocks += markdown_blocks(document.sections)
    blocks += [sanitize.markdown_text(document.foot)] * bool(document.foot)
    return "\n\n".join(blocks) + "\n"


def markdown_blocks(blocks: Iterable[Block | Section], level: int = 2) -> Iterator[str]:
    """The blocks as Markdown, to be joined by empty lines."""
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
            case Chart():
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
    """CSV with a header; None is empty. Ends in a newline."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([sanitize.text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return stream.getvalue()
