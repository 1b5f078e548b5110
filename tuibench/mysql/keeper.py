"""An answer that is wanted itself: it is kept while `answer` finds its end.

Stands in the place of what reads the answers for as long as that takes, so that others pay nothing for it.
"""

from collections.abc import Callable

from tuibench.errors import SQLError
from tuibench.mysql.glance import glance
from tuibench.mysql.recall import Recall


class Keeper:
    """Takes one answer for its reader; at its end, good or bad, calls `leave`."""

    __slots__ = ("_answer", "_leave", "_pieces")

    is_new = False
    """Nobody else is to look at what comes."""

    def __init__(self, answer: Recall, leave: Callable[[], None]) -> None:
        self._answer = answer
        self._leave = leave
        self._pieces: list[bytes] = []

    def take(self, data: bytes) -> bytes | None:
        """Takes what has come; with the end of the answer, returns all of it. Raises as `Answer` does."""
        self._pieces.append(data)
        affected = glance(data) if self._answer.is_new else None
        if affected is None:
            try:
                affected = self._answer.take(data)
            except SQLError:
                self._leave()
                raise
            if affected is None:
                return None
        self._leave()
        return b"".join(self._pieces)
