"""The account of a session: everything that it has measured, as sums of ticks.

    ── warm-up ──┬── section ──┬── section ──┬── section ──>
               START         RESET      CHECKPOINT

A session adds each of its samples, and at its end what came after the last one. Cuts divide the time into
sections; a section is a tick that grows. Every total is the sum of the sections since a cut: the summary that
since the last reset, the report of a checkpoint that since the last checkpoint, exported counters that since
the start. So a total is always the sum of the ticks in the record.

Sections that no total tells apart any more are joined: there are at most three, however long a session is.
"""

from enum import IntEnum

from tuibench.model.tick import Tick, TickSum, total_tick


class Cut(IntEnum):
    """What ends a section. A total begins at the last cut of its kind, or of a later kind in this list."""

    CHECKPOINT = 1
    """sysbench's report begins again."""
    RESET = 2
    """The figures of the run begin again."""
    START = 3
    """The measurement begins: the warm-up is over."""


class Account:
    """The sections of a session, in order."""

    def __init__(self) -> None:
        self._sections = [(Cut.START, _section())]

    def add(self, tick: Tick) -> None:
        """Add a tick to the present section."""
        _, section = self._sections[-1]
        section.add(tick)

    def cut(self, why: Cut) -> None:
        """End the present section, and begin the next one. What was measured before a START is dropped."""
        while len(self._sections) > 1 and self._sections[-1][0] <= why:
            _, section = self._sections.pop()
            self.add(section.tick)
        if why is Cut.START:
            self._sections = []
        self._sections.append((why, _section()))

    def since(self, cut: Cut) -> Tick:
        """The sum since the last such cut. It stays as it is when the account grows."""
        first = max(place for place, (why, _) in enumerate(self._sections) if why >= cut)
        return total_tick(section.tick for _, section in self._sections[first:])

    def total(self) -> Tick:
        """The sum since the measurement began, over all resets."""
        return self.since(Cut.START)


def _section() -> TickSum:
    return TickSum(with_first_arrears=True)
