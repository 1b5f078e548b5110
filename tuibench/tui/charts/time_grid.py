"""Time grid of the charts: the time of each column, at every zoom.

Columns are aligned to the run's ticks, not to the newest one: a column keeps its ticks while the chart moves
on, so that merged columns do not flicker. At the start of a run each tick is two columns wide, until the
ticks need the whole width.
"""

import math
from typing import NamedTuple

from tuibench.tui.charts.history import ChartHistory, slots_per_column

SLOT_TOLERANCE = 1e-6
STARTING_CELLS = 2


class Zoom(NamedTuple):
    """Minimum time that the charts show. `seconds` is 0 for one tick per column."""

    label: str
    seconds: float


ZOOMS = (
    Zoom("1 min", 0),
    Zoom("5 min", 300),
    Zoom("15 min", 900),
    Zoom("60 min", 3600),
    Zoom("all", math.inf),
)


class TimeGrid(NamedTuple):
    """Blocks of equal numbers of slots, each drawn in `cells` columns; `last` is the number of the newest
    block, counted from the run's start.
    """

    slots: int
    last: int
    columns: int
    interval_seconds: float
    cells: int = 1

    @property
    def column_seconds(self) -> float:
        return self.slots * self.interval_seconds / self.cells

    @property
    def blocks(self) -> int:
        """Number of visible blocks; the leftmost one may be partly visible."""
        return -(-self.columns // self.cells)

    def column_of(self, slot: int) -> int:
        """First column of a tick, counted from the left; outside 0 to columns − 1 it is not visible."""
        return ((slot - 1) // self.slots - self.last - 1) * self.cells + self.columns

    def column_at(self, elapsed_seconds: float) -> int:
        """Column of a time: that of the first tick that ends after it."""
        return self.column_of(math.ceil(elapsed_seconds / self.interval_seconds - SLOT_TOLERANCE))

    def stretch_of(self, column: int) -> tuple[float, float]:
        """Start and end of the block of a column, in seconds into the run."""
        seconds = self.slots * self.interval_seconds
        end = (self.last - (self.columns - 1 - column) // self.cells + 1) * seconds
        return end - seconds, end


def slot_of(elapsed_seconds: float, interval_seconds: float) -> int:
    """Number of the tick due at that time, starting at 1."""
    return round(elapsed_seconds / interval_seconds)


def make_grid(history: ChartHistory, zoom: Zoom, count: int, interval_seconds: float) -> TimeGrid:
    """Grid of a chart that is `count` cells wide, with the newest column at its right edge."""
    slots = slots_per_column(_wanted_slots(history, zoom, count, interval_seconds), count)
    is_young = not zoom.seconds and (history.last_slot - history.first_slot + 1) * STARTING_CELLS <= count
    cells = STARTING_CELLS if is_young else 1
    return TimeGrid(slots, (history.last_slot - 1) // slots, count, interval_seconds, cells)


def _wanted_slots(history: ChartHistory, zoom: Zoom, count: int, interval_seconds: float) -> float:
    if not zoom.seconds:
        return 1
    if math.isinf(zoom.seconds):
        # one column more: the first and the last one may be partial
        return (history.last_slot - history.first_slot + 1) / max(count - 1, 1)
    return zoom.seconds / interval_seconds / count
