"""What a repaint sends: of a partial one, the cells of the regions that were refreshed, and not those before
them; and never a control character inside a cell.

Textual 8.2 writes each such region from the left edge of its widget on (`ChopsUpdate.render_segments`). On a
screen whose panels refresh a few cells each second that is most of what a slow line would have to carry.
"""

from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from textual.strip import Strip

from tuibench import sanitize
from tuibench.tui.terminal.textual_internals import ChopsUpdate, LayoutUpdate


def harmless(strip: Strip) -> Strip:
    """The strip without control characters, which take no cell.

    Foreign text is escaped where it is shown; this keeps from the terminal what was forgotten.
    """
    if all(segment.text.isprintable() for segment in strip):
        return strip
    return Strip([Segment(sanitize.without(text), style) for text, style, _ in strip], strip.cell_length)


def harmless_layout(update: LayoutUpdate) -> LayoutUpdate:
    """The same for a whole screen."""
    return LayoutUpdate([[harmless(strip) for strip in line] for line in update.strips], update.region)


class CellsUpdate(ChopsUpdate):
    """The same update, cropped on both sides."""

    @classmethod
    def of(cls, update: ChopsUpdate) -> "CellsUpdate":
        return cls(update.chops, update.spans, update.chop_ends)

    def render_segments(self, console: Console) -> str:
        """The bytes for the terminal: a jump of the cursor to each span, and its cells."""
        return "".join(
            f"{Control.move_to(start, y).segment.text}{strip.render(console)}"
            for y, first, last in self.spans
            for start, strip in self._pieces(y, first, last)
        )

    def _pieces(self, y: int, first: int, last: int) -> list[tuple[int, Strip]]:
        """The strips of a line inside a span, cut to it, each with the column it begins at."""
        pieces = []
        for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
            start, stop = max(x, first), min(end, last)
            if strip is not None and start < stop:
                pieces.append((start, harmless(strip.crop(start - x, stop - x))))
        return pieces
