"""An interval drawn on a scale of differences that never changes, so that one sees it shrink.

The scale is logarithmic, from a fifth to five times the level before: `·····┿━━━●━━┫····`. What is beyond it
ends with an arrow.
"""

import math

from tuibench.model.effect import Comparison
from tuibench.tui.text import TextLine, TextSpan

LAST_FACTOR = 5.0
"""The factor at the right end; at the left end its inverse."""

LABELS = ("−80 % ", " +400 %")
FEWEST_CELLS, FEWEST_WITH_LABELS, MOST_CELLS = 15, 29, 41


def scale_cells(room: int) -> int:
    """The cells of a scale, without its labels, that has this room: an odd number; 0 if it is too narrow."""
    if room < FEWEST_CELLS:
        return 0
    labels = sum(map(len, LABELS))
    cells = min(room - labels, MOST_CELLS) if room - labels >= FEWEST_WITH_LABELS else room
    return cells - (cells + 1) % 2


def interval_line(one: Comparison, room: int, role: str) -> TextLine:
    """The interval of a relative difference in at most `room` cells; empty without one, or without room."""
    cells = scale_cells(room)
    if not cells or one.percent is None or one.percent_low is None or one.percent_high is None:
        return ()
    low, estimate, high = (
        _cell(percent, cells) for percent in (one.percent_low, one.percent, one.percent_high)
    )
    first, last, middle = max(low, 0), min(high, cells - 1), cells // 2
    drawn = ["·"] * cells
    drawn[middle] = "│"
    for place in range(max(0, min(first, cells - 1)), max(last, 0) + 1):
        drawn[place] = "┿" if place == middle else "━"
    if 0 <= low < cells - 1 and low < high:
        drawn[low] = "┣"
    if 0 < high < cells and low < high:
        drawn[high] = "┫"
    if 0 <= estimate < cells:
        drawn[estimate] = "●"
    if low < 0:
        drawn[0] = "◂"
    if high >= cells:
        drawn[-1] = "▸"
    text, start = "".join(drawn), max(0, min(first, cells - 1))
    end = max(last, 0) + 1
    parts = TextSpan(text[:start], "faint"), TextSpan(text[start:end], role), TextSpan(text[end:], "faint")
    line = tuple(part for part in parts if part.text)
    if room - cells < sum(map(len, LABELS)):
        return line
    return (TextSpan(LABELS[0], "muted"), *line, TextSpan(LABELS[1], "muted"))


def _cell(percent: float, cells: int) -> int:
    """The cell of a relative difference; outside of 0 to `cells` − 1 if it is beyond the scale."""
    factor = 1 + percent / 100
    if factor <= 0:
        return -1
    share = (math.log(factor) / math.log(LAST_FACTOR) + 1) / 2
    return min(max(round(share * (cells - 1)), -1), cells)
