"""Cropping of partial repaints to the cells that were refreshed, without control characters.

Textual 8.2 writes each refreshed region from the left edge of its widget (`ChopsUpdate.render_segments`). On
a screen whose panels refresh a few cells each second that is most of the output, which matters on a slow
connection.
"""

from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from textual.strip import Strip

from tuibench import sanitize
from tuibench.tui.terminal.textual_internals import ChopsUpdate, LayoutUpdate


def harmless(strip: Strip) -> Strip:
    """The strip without control characters, which occupy no cell.

    Foreign text is escaped where it is displayed; this catches cases where that was missed.
    """
    if all(segment.text.isprintable() for segment in strip):
        return strip
    return Strip([Segment(sanitize.without(text), style) for text, style, _ in strip], strip.cell_length)


def harmless_layout(update: LayoutUpdate) -> LayoutUpdate:
    """A whole-screen update without control characters."""
    return LayoutUpdate([[harmless(strip) for strip in line] for line in update.strips], update.region)


class CellsUpdate(ChopsUpdate):
    """Partial update cropped on both sides."""

    @classmethod
    def of(cls, update: ChopsUpdate) -> "CellsUpdate":
        return cls(update.chops, update.spans, update.chop_ends)

    def render_segments(self, console: Console) -> str:
        """Output for the terminal: a cursor movement to each span, and its cells."""
        return "".join(
            f"{Control.move_to(start, y).segment.text}{strip.render(console)}"
            for y, first, last in self.spans
            for start, strip in self._pieces(y, first, last)
        )

    def _pieces(self, y: int, first: int, last: int) -> list[tuple[int, Strip]]:
        """Strips of a line within a span, cropped to it, each with its first column."""
        pieces = []
        for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
            start, stop = max(x, first), min(end, last)
            if strip is not None and start < stop:
                pieces.append((start, harmless(strip.crop(start - x, stop - x))))
        return pieces
