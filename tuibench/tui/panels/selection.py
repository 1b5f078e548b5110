"""Selection in a list that changes: by identity, or by position if the item is gone."""

from collections.abc import Sequence
from typing import NamedTuple

PAGE_LINES = 10
MOVE_KEYS = {
    "up": -1,
    "down": 1,
    "pageup": -PAGE_LINES,
    "pagedown": PAGE_LINES,
    "home": -(10**6),
    "end": 10**6,
}
"""By key: how many lines further down."""


class Selection(NamedTuple):
    """The chosen id, and where it was last seen."""

    id: int | None = None
    place: int = 0

    def settled(self, ids: Sequence[int]) -> "Selection":
        """The same line in a new list; whoever took its place if it is gone."""
        if not ids:
            return Selection()
        if self.id in ids:
            return Selection(self.id, ids.index(self.id))
        place = min(self.place, len(ids) - 1)
        return Selection(ids[place], place)

    def moved(self, ids: Sequence[int], by: int) -> "Selection":
        """So many lines further down, as far as there are any."""
        place = min(max(self.settled(ids).place + by, 0), len(ids) - 1)
        return Selection(ids[place], place) if ids else Selection()


def first_visible(chosen: int, count: int, height: int) -> int:
    """The first line to show so that the chosen one is among `height` lines, near their middle."""
    return max(0, min(chosen - height // 2, count - height))
