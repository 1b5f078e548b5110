"""Panel widget: paints the lines of a pure function, and sends the terminal only the cells that changed.

Textual sends every cell of a refreshed region. So the lines are made once per sample and compared with those
on screen, and only the runs of cells that differ are refreshed. That keeps a slow connection responsive.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tuibench.tui.text.drawing import to_ascii
from tuibench.tui.text.spans import ROLES, TextLine, TextSpan, plain_text
from tuibench.tui.view import View

CURSOR_JUMP_CELLS = 16
"""Number of unchanged cells that cost as much to send as moving the cursor and setting colours again."""

DrawFunction = Callable[[View, int, int], Sequence[TextLine]]
"""Converts a view, a width and a height to lines."""


class Palette(Widget):
    """Holds the component classes `role--NAME` of the stylesheet, once for all panels of a screen.

    It is never displayed. Component classes are expensive: the styles of each are computed whenever the
    stylesheet is applied to their widget.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"role--{role}" for role in ROLES}

    def role_style(self, role: str) -> Style:
        """The role's own part of a style; the panel sets the rest."""
        return self.get_component_rich_style(f"role--{role}", partial=True)


class Panel(Widget, can_focus=False):
    """A part of the screen. The styles of its roles come from its screen's `Palette`."""

    def __init__(
        self, draw: DrawFunction, *, ascii_only: bool = False, id: str | None = None, classes: str = ""
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._draw = draw
        self._ascii_only = ascii_only
        self._view: View | None = None
        self._lines: list[TextLine] = []
        self._painted: Size | None = None
        self._styles: dict[str, Style] = {}

    def show(self, view: View) -> None:
        """Paint this view."""
        self._view = view
        self._paint()

    def on_resize(self) -> None:
        self._paint()

    def notify_style_update(self) -> None:
        """Clear the resolved styles: the stylesheet or the theme has changed."""
        super().notify_style_update()
        self._styles.clear()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._painted != self.size and self._view is not None:
            self._lines = self._drawn(self._view)
        base = self.rich_style
        if y >= len(self._lines):
            return Strip.blank(width, base)
        segments = [Segment(span.text, self._style(span)) for span in self._lines[y]]
        return Strip(segments).adjust_cell_length(width, base)

    def role_style(self, role: str) -> Style:
        """Style of a role in this panel."""
        if not role:
            return self.rich_style
        return self.rich_style + self.screen.query_one(Palette).role_style(role)

    def text(self) -> str:
        """Text that is painted, without styles."""
        return "\n".join(plain_text(line).rstrip() for line in self._lines)

    def _paint(self) -> None:
        if self._view is None or not self.size.width or not self.size.height:
            return
        before, self._lines = self._lines, self._drawn(self._view)
        for row, (old, new) in enumerate(zip_longest(before, self._lines, fillvalue=())):
            if old != new:
                self.refresh(*self._stretches(row, old, new))

    def _drawn(self, view: View) -> list[TextLine]:
        """Lines for the panel's current size."""
        self._painted = self.size
        lines = self._draw(view, self.size.width, self.size.height)
        if not self._ascii_only:
            return list(lines)
        return [tuple(span._replace(text=to_ascii(span.text)) for span in line) for line in lines]

    def _stretches(self, row: int, old: TextLine, new: TextLine) -> list[Region]:
        """Cells of a row that differ, as regions of this widget."""
        width = self.size.width
        if len(plain_text(old)) != width or len(plain_text(new)) != width:
            return [Region(0, row, width, 1)]
        before, now = _styled_cells(old), _styled_cells(new)
        changed = [column for column in range(width) if before[column] != now[column]]
        return [Region(first, row, last - first + 1, 1) for first, last in column_runs(changed)]

    def _style(self, span: TextSpan) -> Style:
        style = self._styles.get(span.role)
        if style is None:
            style = self._styles[span.role] = self.role_style(span.role)
        return style + Style.from_meta({"@click": span.action}) if span.action else style


def column_runs(columns: Sequence[int]) -> list[tuple[int, int]]:
    """First and last column of each run; a gap shorter than a cursor movement is included."""
    found: list[tuple[int, int]] = []
    for column in columns:
        if found and column - found[-1][1] <= CURSOR_JUMP_CELLS:
            found[-1] = (found[-1][0], column)
        else:
            found.append((column, column))
    return found


def _styled_cells(line: TextLine) -> list[tuple[str, str]]:
    return [(character, span.role) for span in line for character in span.text]
