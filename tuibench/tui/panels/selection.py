"""Selection in a changing list: by identity, or by position if the item is gone."""

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
"""Number of lines that each key moves down."""


class Selection(NamedTuple):
    """The selected id, and its last position."""

    id: int | None = None
    place: int = 0

    def settled(self, ids: Sequence[int]) -> "Selection":
        """The selection in a new list: the same id, or the one at its former position."""
        if not ids:
            return Selection()
        if self.id in ids:
            return Selection(self.id, ids.index(self.id))
        place = min(self.place, len(ids) - 1)
        return Selection(ids[place], place)

    def moved(self, ids: Sequence[int], by: int) -> "Selection":
        """The selection moved down by this number of lines, within the list."""
        place = min(max(self.settled(ids).place + by, 0), len(ids) - 1)
        return Selection(ids[place], place) if ids else Selection()


def first_visible(chosen: int, count: int, height: int) -> int:
    """First visible line, such that the selected one is among `height` lines, near the middle."""
    return max(0, min(chosen - height // 2, count - height))
