"""Widgets that paint the lines of a pure function: panel, chart, stack of charts.

Textual sends every cell of a refreshed region. Therefore the lines are made once per sample and compared with
those on screen, and only cells that differ are refreshed, so that slow connections stay responsive.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import Horizontal, Vertical
from textual.events import MouseDown, MouseMove
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tuibench.model.message import Command
from tuibench.tui.charts import MAX_FIGURES
from tuibench.tui.panels.load import Measure
from tuibench.tui.panels.time_chart import (
    AXIS_WIDTH,
    MEAN_ROLE,
    ON_BAR,
    ROLE,
    SHADES,
    STACKED,
    UNCERTAIN_ROLE,
    figure_chart,
    figure_title,
    time_chart,
)
from tuibench.tui.steering import ViewChange, point_cursor
from tuibench.tui.text import ROLES, TextLine, TextSpan, plain_text, to_ascii
from tuibench.tui.view import View

CURSOR_JUMP_CELLS = 16
"""Number of unchanged cells that take as many bytes as moving the cursor and setting colours again."""

DARKEST_SHADE = 0.45
"""Brightness of the measure's colour at the baseline, as a share of the full colour."""
STACK_SHARE = 0.6
"""Brightness of the colours of a stack, as a share of the full colour."""

DrawFunction = Callable[[View, int, int], Sequence[TextLine]]
"""Converts a view, a width and a height to lines."""


class Palette(Widget):
    """The component classes `role--NAME` of the stylesheet, once for all panels of a screen; never displayed.

    Component classes are expensive: their styles are computed whenever the stylesheet is applied to their
    widget.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"role--{role}" for role in ROLES}

    def role_style(self, role: str) -> Style:
        """The style of a role, without what the panel sets."""
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
        if role.startswith(STACKED):
            return self._dimmed(self.role_style(role.removeprefix(STACKED)), STACK_SHARE)
        # Without colours, a faint text is dim, so that a key that does nothing now differs from the others.
        dim = Style(dim=True) if role == "faint" and "NO_COLOR" in os.environ else Style()
        return self.rich_style + self.screen.query_one(Palette).role_style(role) + dim

    def _dimmed(self, full: Style, share: float) -> Style:
        """The style with its colour reduced to this share; unchanged on a terminal with few colours."""
        if self.app.current_theme.ansi or full.color is None or full.bgcolor is None:
            return full
        ground, ink = Color.from_rich_color(full.bgcolor), Color.from_rich_color(full.color)
        return full + Style(color=ground.blend(ink, share).rich_color)

    def text(self) -> str:
        """The painted text, without styles."""
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
        """The cells of a row that differ, as regions of this widget."""
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


class Requested(Message):
    """The operator requests a command or a change of the charts; `at_home` means those of the first
    screen.
    """

    def __init__(self, request: Command | ViewChange, *, at_home: bool = False) -> None:
        super().__init__()
        self.request = request
        self.at_home = at_home


class TimePanel(Panel):
    """A panel with one column per tick, right of its axis labels; a column can be selected with the mouse.

    Roles shade0 to shade7 are shades of the colour of `role`, if the terminal has enough colours. A mean over
    a bar is a line on the darkest shade. The role `a+b` is that of a cell whose upper half has the role a,
    and whose lower half has the role b.
    """

    def __init__(self, draw: DrawFunction, role: str, *, ascii_only: bool, id: str) -> None:
        super().__init__(draw, ascii_only=ascii_only, id=id)
        self._role = role

    @property
    def columns(self) -> int:
        """Number of columns that fit."""
        return max(self.size.width - AXIS_WIDTH, 0)

    def on_mouse_down(self, event: MouseDown) -> None:
        self.capture_mouse()
        self._point(event.x)

    def on_mouse_move(self, event: MouseMove) -> None:
        if event.button:
            self._point(event.x)

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def _point(self, x: int) -> None:
        if 0 <= x - AXIS_WIDTH < self.columns:
            self.post_message(Requested(partial(point_cursor, column=x - AXIS_WIDTH)))

    def role_style(self, role: str) -> Style:
        if "+" in role:
            upper, lower = role.split("+")
            return self.role_style(lower) + Style(bgcolor=self.role_style(upper).color)
        if role.startswith((MEAN_ROLE, UNCERTAIN_ROLE)):
            line = super().role_style("strong" if role.startswith(MEAN_ROLE) else "muted")
            if not role.endswith(ON_BAR):
                return line
            if self.app.current_theme.ansi:
                # Without colours, a mean over a bar is in reverse video, so that the bar has no hole.
                return line + Style(reverse=True) if "NO_COLOR" in os.environ else line
            return line + Style(bgcolor=self._shade(0).color)
        if not role.startswith("shade"):
            return super().role_style(role)
        return self._shade(int(role.removeprefix("shade")))

    def _shade(self, number: int) -> Style:
        share = DARKEST_SHADE + (1 - DARKEST_SHADE) * number / (SHADES - 1)
        return self._dimmed(super().role_style(self._role), share)


class AsidePanel(TimePanel):
    """The screen beside another one, with the roles of its charts; a click leads to that screen."""

    def __init__(self, draw: DrawFunction, *, ascii_only: bool, id: str) -> None:
        super().__init__(draw, "server", ascii_only=ascii_only, id=id)

    def _point(self, x: int) -> None:
        """Leave the cursor where it is."""


class Chart(TimePanel):
    """The bars of a measure, or of the one that the function `measure` returns for a view, in the colour of
    `role`.
    """

    def __init__(
        self,
        measure: Measure | Callable[[View], Measure],
        *,
        numbered: bool,
        ascii_only: bool,
        name: str = "",
        role: str = "",
    ) -> None:
        def draw(view: View, width: int, height: int) -> list[TextLine]:
            found = measure if isinstance(measure, Measure) else measure(view)
            return time_chart(found, view, width, height, numbered=numbered, ascii_only=ascii_only)

        role = measure.role if isinstance(measure, Measure) else role
        super().__init__(draw, role, ascii_only=ascii_only, id=f"chart-{name or role}")


KeysOf = Callable[[View], Sequence[str]]
"""Returns the keys of the figures on the charts of a view."""


class FigureStack(Vertical):
    """A container with the maximum number of charts, of which `set_charts` shows the used ones.

    With `is_numbered`, the first chart has the markers' numbers.
    """

    def __init__(self, keys_of: KeysOf, *, ascii_only: bool, id: str, numbered: bool = False) -> None:
        super().__init__(id=id, classes="figures")
        self._keys_of = keys_of
        self._ascii_only = ascii_only
        self.is_numbered = numbered

    def compose(self) -> ComposeResult:
        for place in range(MAX_FIGURES):
            with Horizontal(classes="figure-band"):
                title = partial(self._title, place)
                yield Panel(
                    title, ascii_only=self._ascii_only, classes="figure", id=f"{self.id}-title-{place}"
                )
                chart = partial(self._chart, place)
                yield TimePanel(chart, ROLE, ascii_only=self._ascii_only, id=f"{self.id}-chart-{place}")

    @property
    def columns(self) -> int:
        """Number of columns of its charts; 0 while none is shown."""
        return self.query(TimePanel).first().columns if self.display else 0

    def set_charts(self, charts: int, rows: int) -> None:
        """Show this number of charts, each `rows` high."""
        self.display = charts > 0
        self.styles.height = charts * rows
        for place, band in enumerate(self.query(".figure-band")):
            band.display = place < charts
            band.styles.height = rows

    def _title(self, place: int, view: View, width: int, height: int) -> list[TextLine]:
        return figure_title(self._keys_of(view), place, view, width, height)

    def _chart(self, place: int, view: View, width: int, height: int) -> list[TextLine]:
        return figure_chart(
            self._keys_of(view),
            place,
            view,
            width,
            height,
            numbered=self.is_numbered and place == 0,
            ascii_only=self._ascii_only,
        )
