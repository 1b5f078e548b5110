"""Which time each column of a chart stands for, at every zoom.

Columns are aligned to the run's ticks and not to the newest one: a column keeps its ticks while the chart
moves on, so that merged columns do not flicker.
"""

import math
from typing import NamedTuple

from tuibench.tui.history import History, merging

ROUNDING = 1e-6


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


class Grid(NamedTuple):
    """Columns of so many slots; `last` is the number of the newest one, counted from the run's start."""

    slots: int
    last: int
    columns: int
    interval_seconds: float

    @property
    def column_seconds(self) -> float:
        return self.slots * self.interval_seconds

    def column_of(self, slot: int) -> int:
        """Where a tick stands, 0 is the leftmost column; outside of 0 to columns − 1 it is not shown."""
        return (slot - 1) // self.slots - self.last + self.columns - 1

    def column_at(self, elapsed_seconds: float) -> int:
        """Where a moment stands: with the first tick that ends after it."""
        return self.column_of(math.ceil(elapsed_seconds / self.interval_seconds - ROUNDING))

    def stretch_of(self, column: int) -> tuple[float, float]:
        """From when to when a column's time is, in seconds into the run."""
        end = (self.last - self.columns + 2 + column) * self.column_seconds
        return end - self.column_seconds, end


def slot_of(elapsed_seconds: float, interval_seconds: float) -> int:
    """The number of the tick that was due then; the first one has number 1."""
    return round(elapsed_seconds / interval_seconds)


def grid(history: History, zoom: Zoom, count: int, interval_seconds: float) -> Grid:
    """The columns of a chart that is `count` cells wide, the newest one at its right edge."""
    slots = merging(_wanted(history, zoom, count, interval_seconds), count)
    return Grid(slots, (history.last_slot - 1) // slots, count, interval_seconds)


def _wanted(history: History, zoom: Zoom, count: int, interval_seconds: float) -> float:
    if not zoom.seconds:
        return 1
    if math.isinf(zoom.seconds):
        # one column more: neither the first one nor the last need be full
        return (history.last_slot - history.first_slot + 1) / max(count - 1, 1)
    return zoom.seconds / interval_seconds / count
