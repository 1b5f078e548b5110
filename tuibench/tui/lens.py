"""How the operator looks at the charts: zoom, cursor, and the spans that are to be compared.

The cursor is a stretch of the run and not a column, so it stays with what it points at while the charts move.
"""

import msgspec

from tuibench.tui.comparing import SpanDifference
from tuibench.tui.grid import ZOOMS, Zoom

Stretch = tuple[float, float]
"""From when to when, in seconds into the run."""

MARKS = 4


class Lens(msgspec.Struct, frozen=True, kw_only=True):
    """`zoom` is a place in `ZOOMS`; `cursor` is the time of the column pointed at, None when there is none.

    `marks` are the columns that were marked for a comparison: A's two ends, then B's. `difference` is what
    came of it, once there are four.
    """

    zoom: int = 0
    cursor: Stretch | None = None
    marks: tuple[Stretch, ...] = ()
    difference: SpanDifference | None = None

    @property
    def zoomed(self) -> Zoom:
        return ZOOMS[self.zoom]

    @property
    def is_engaged(self) -> bool:
        """Whether there is something to be ended: a cursor, or spans."""
        return self.cursor is not None or bool(self.marks)

    def points_at(self, elapsed_seconds: float) -> bool:
        """Whether the cursor points at this moment."""
        return self.cursor is not None and self.cursor[0] < elapsed_seconds <= self.cursor[1]

    @property
    def spans(self) -> tuple[Stretch, ...]:
        """Span A, and span B; one that has no second mark yet is as long as its first."""
        pairs = (self.marks[:2], self.marks[2:])
        return tuple((min(start for start, _ in pair), max(end for _, end in pair)) for pair in pairs if pair)
