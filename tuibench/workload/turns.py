"""Whose turn it is on one connection: transactions in a fixed order, with an end."""

from tuibench.workload.program import Turns


class TurnTaker:
    """Deals the turns of one connection."""

    __slots__ = ("_done", "_left_at", "_total", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._total = turns.total
        self._done = 0
        self._left_at = 0

    @property
    def is_spent(self) -> bool:
        return self._done >= self._total

    @property
    def goes_on(self) -> bool:
        """Whether another turn follows without a new login; False, too, if that is not known."""
        return self._done < self._total and not self._turns.anew

    def take(self) -> int:
        """The index of the next transaction. There must be one."""
        turns, done = self._turns, self._done
        self._done += 1
        if done < turns.count:
            return turns.cycle[done % len(turns.cycle)]
        return turns.ending[done - turns.count]

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
