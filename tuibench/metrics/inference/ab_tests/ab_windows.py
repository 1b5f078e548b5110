"""Windows of an A/B test: the schedule of the two values, and the slots of a window that count.

A B | B A | A B | …     one cycle between two bars

A fair coin, seeded by the plan, decides the order in each cycle (`sequential`). After a change, a window's
slots are discarded until the remaining ones have settled (see `settling`), at most half of them.
"""

import math
from collections.abc import Sequence

from tuibench.metrics.inference.ab_tests.sequential import random_orders
from tuibench.metrics.inference.effects.effect import window_figures
from tuibench.metrics.series.operation_cost import window_cost
from tuibench.metrics.series.settling import is_at_rest
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.effect import AbTestPair, AbTestPlan
from tuibench.model.measurements.operation_cost import OperationCost

ROUNDING_SECONDS = 1e-3
FEWEST_SLOTS = 3
"""A window with fewer slots, because the change took long, is not used."""


class TrialWindow:
    """One window: its value, and the slots measured in it."""

    def __init__(self, cycle: int, value: str) -> None:
        self.cycle = cycle
        self.value = value
        self.slots: list[Slot] = []
        self.changed_at = float("-inf")
        self.was_changed = False
        self.disturbed = False
        self.why: list[str] = []

    def spoil(self, why: str) -> None:
        """Exclude the window, for this reason."""
        self.disturbed = True
        if why not in self.why:
            self.why.append(why)

    @property
    def settled(self) -> list[Slot]:
        """The slots that count."""
        return self.slots[settling_slots(self.slots) :] if self.was_changed else self.slots


class TrialWindows:
    """All windows of a trial, filled during the test. The first begins at second `start_seconds`."""

    def __init__(self, trial: AbTestPlan, start_seconds: float = 0.0) -> None:
        self.trial = trial
        self.start_seconds = start_seconds
        self.all = [
            TrialWindow(cycle, value)
            for cycle, a_first in enumerate(random_orders(trial.cycles, trial.seed), 1)
            for value in ((trial.a, trial.b) if a_first else (trial.b, trial.a))
        ]

    def at(self, elapsed_seconds: float) -> TrialWindow | None:
        """The window at a moment; None after the last one."""
        place = math.floor(self._since_start(elapsed_seconds) / self.trial.window_seconds)
        return self.all[place] if 0 <= place < len(self.all) else None

    def add_slot(self, slot: Slot) -> None:
        """Add a slot to the window that contains its middle, if it began after the value was set."""
        window = self.at(slot.end_seconds - slot.seconds / 2)
        if window is not None and slot.start_seconds >= window.changed_at:
            window.slots.append(slot)

    def disturb(self, slot: Slot, why: str) -> None:
        """Exclude the windows that overlap a slot, for this reason."""
        for window in (self.at(slot.start_seconds), self.at(slot.end_seconds - 2 * ROUNDING_SECONDS)):
            if window is not None:
                window.spoil(why)

    def disturbances(self, until_seconds: float) -> tuple[str, ...]:
        """The reasons why completed cycles were excluded, without duplicates."""
        over = self.all[: 2 * self.over(until_seconds)]
        return tuple(dict.fromkeys(why for window in over for why in window.why))

    def pairs(self, until_seconds: float) -> tuple[AbTestPair, ...]:
        """The completed cycles without disturbance."""
        cycles = list(zip(self.all[0::2], self.all[1::2], strict=True))
        over = cycles[: self.over(until_seconds)]
        return tuple(self._pair(first, second) for first, second in over if is_usable(first, second))

    def cost(self, value: str, until_seconds: float) -> OperationCost | None:
        """The cost of an operation under a value, in the cycles that count."""
        cycles = list(zip(self.all[0::2], self.all[1::2], strict=True))[: self.over(until_seconds)]
        windows = [window for pair in cycles if is_usable(*pair) for window in pair]
        return window_cost(slot for window in windows if window.value == value for slot in window.settled)

    def left_out(self, until_seconds: float) -> int:
        """The number of completed cycles that were excluded."""
        return self.over(until_seconds) - len(self.pairs(until_seconds))

    def over(self, until_seconds: float) -> int:
        """The number of completed cycles."""
        done = int(self._since_start(until_seconds) / (2 * self.trial.window_seconds))
        return min(max(done, 0), self.trial.cycles)

    def _since_start(self, elapsed_seconds: float) -> float:
        return elapsed_seconds - self.start_seconds + ROUNDING_SECONDS

    def _pair(self, first: TrialWindow, second: TrialWindow) -> AbTestPair:
        a, b = (first, second) if first.value == self.trial.a else (second, first)
        kept = sum(slot.seconds for window in (a, b) for slot in window.settled)
        return AbTestPair(
            cycle=first.cycle,
            order="AB" if a is first else "BA",
            a=window_figures(a.settled),
            b=window_figures(b.settled),
            settling_seconds=max(0.0, 2 * self.trial.window_seconds - kept),
        )


def is_usable(*windows: TrialWindow) -> bool:
    """True for undisturbed windows with enough slots."""
    return all(not window.disturbed and len(window.slots) >= FEWEST_SLOTS for window in windows)


def settling_slots(slots: Sequence[Slot]) -> int:
    """The number of slots to discard after a change."""
    rates = [slot.throughput for slot in slots]
    latencies = [slot.own_p95_ms or 0.0 for slot in slots]
    half = len(slots) // 2
    return next(
        (start for start in range(half) if is_at_rest(rates[start:]) and is_at_rest(latencies[start:])), half
    )
