"""Whose turn it is on one connection: transactions in a fixed order, with an end."""

from tuibench.workload.program import Turns


class TurnTaker:
    """Deals the turns of one connection."""

    __slots__ = ("_count", "_cycle", "_done", "_left_at", "_length", "_total", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._cycle, self._length, self._count = turns.cycle, len(turns.cycle), turns.count
        self._total = turns.total
        self._done = 0
        self._left_at = 0

    @property
    def is_spent(self) -> bool:
        return self._done >= self._total

    @property
    def stretch(self) -> int:
        """How many turns may be taken before `is_spent` and `takes_leave` are to be looked at."""
        left = self._total - self._done
        return min(1, left) if self._turns.anew else left

    def take(self) -> int:
        """The index of the next transaction. There must be one."""
        done = self._done
        self._done = done + 1
        if done < self._count:
            return self._cycle[done % self._length]
        return self._turns.ending[done - self._count]

    def takes_leave(self) -> bool:
        """Whether the connection logs in again before the next one; told once for each."""
        turns, done = self._turns, self._done
        if (
            not turns.anew
            or done in (self._left_at, 0)
            or done >= turns.count
            or done % len(turns.cycle) not in turns.anew
        ):
            return False
        self._left_at = done
        return True
