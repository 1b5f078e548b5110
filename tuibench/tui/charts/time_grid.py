"""The time of each column of a chart, at every zoom.

Columns are aligned to the run's ticks and not to the newest one: a column keeps its ticks while the chart
moves on, so that merged columns do not flicker. While a run is young each tick is two columns wide, until
the ticks need the whole width.
"""

import math
from typing import NamedTuple

from tuibench.tui.charts.history import ChartHistory, slots_per_column

SLOT_TOLERANCE = 1e-6
STARTING_CELLS = 2


class Zoom(NamedTuple):
    """How much time the charts show at least. `seconds` is 0 for a column each tick."""

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
    """Blocks of so many slots, each drawn in so many `cells`; `last` is the number of the newest block,
    counted from the run's start.
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
        """How many blocks are shown, the leftmost one perhaps in part."""
        return -(-self.columns // self.cells)

    def column_of(self, slot: int) -> int:
        """The first column of a tick, 0 is the leftmost; outside of 0 to columns − 1 it is not shown."""
        return ((slot - 1) // self.slots - self.last - 1) * self.cells + self.columns

    def column_at(self, elapsed_seconds: float) -> int:
        """The column of a moment: that of the first tick that ends after it."""
        return self.column_of(math.ceil(elapsed_seconds / self.interval_seconds - SLOT_TOLERANCE))

    def stretch_of(self, column: int) -> tuple[float, float]:
        """Start and end of the block that a column belongs to, in seconds into the run."""
        seconds = self.slots * self.interval_seconds
        end = (self.last - (self.columns - 1 - column) // self.cells + 1) * seconds
        return end - seconds, end


def slot_of(elapsed_seconds: float, interval_seconds: float) -> int:
    """The number of the tick that was due then; the first one has number 1."""
    return round(elapsed_seconds / interval_seconds)


def make_grid(history: ChartHistory, zoom: Zoom, count: int, interval_seconds: float) -> TimeGrid:
    """The columns of a chart that is `count` cells wide, the newest one at its right edge."""
    slots = slots_per_column(_wanted_slots(history, zoom, count, interval_seconds), count)
    is_young = not zoom.seconds and (history.last_slot - history.first_slot + 1) * STARTING_CELLS <= count
    cells = STARTING_CELLS if is_young else 1
    return TimeGrid(slots, (history.last_slot - 1) // slots, count, interval_seconds, cells)


def _wanted_slots(history: ChartHistory, zoom: Zoom, count: int, interval_seconds: float) -> float:
    if not zoom.seconds:
        return 1
    if math.isinf(zoom.seconds):
        # one column more: neither the first one nor the last need be full
        return (history.last_slot - history.first_slot + 1) / max(count - 1, 1)
    return zoom.seconds / interval_seconds / count
