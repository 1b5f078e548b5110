"""The windows of a trial: which value is due when, and which slots of a window count.

    A B | B A | A B | …     one cycle between two bars

The order turns with every cycle, so that each value comes first as often as the other and only every second
window needs a change. After a change a window's slots are discarded until the rest of it is at rest (see
`settling`), at most half of them.
"""

from collections.abc import Sequence

from tuibench.metrics.effect import levels
from tuibench.metrics.settling import is_at_rest
from tuibench.metrics.slots import Slot
from tuibench.model.trial import Trial, TrialPair

ROUNDING_SECONDS = 1e-3
FEWEST_SLOTS = 3
"""A window that was cut to fewer by a change that took its time is of no use."""


class Window:
    """One window: its value, and the slots measured in it."""

    def __init__(self, cycle: int, value: str) -> None:
        self.cycle = cycle
        self.value = value
        self.slots: list[Slot] = []
        self.changed_at = float("-inf")
        self.was_changed = False
        self.disturbed = False

    @property
    def settled(self) -> list[Slot]:
        """The slots that count."""
        return self.slots[settled_from(self.slots) :] if self.was_changed else self.slots


class Windows:
    """All windows of a trial, filled as time goes by."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.all = [
            Window(cycle, value)
            for cycle in range(1, trial.cycles + 1)
            for value in ((trial.a, trial.b) if cycle % 2 else (trial.b, trial.a))
        ]

    def at(self, elapsed_seconds: float) -> Window | None:
        """The window that a moment belongs to; None after the last one."""
        place = int((elapsed_seconds + ROUNDING_SECONDS) / self.trial.window_seconds)
        return self.all[place] if 0 <= place < len(self.all) else None

    def take(self, slot: Slot) -> None:
        """A slot belongs to the window that its middle lies in, if it began after the value was set."""
        window = self.at(slot.end_seconds - slot.seconds / 2)
        if window is not None and slot.start_seconds >= window.changed_at:
            window.slots.append(slot)

    def disturb(self, slot: Slot) -> None:
        """The windows that a slot reaches into are of no use."""
        for window in (self.at(slot.start_seconds), self.at(slot.end_seconds - 2 * ROUNDING_SECONDS)):
            if window is not None:
                window.disturbed = True

    def pairs(self, until_seconds: float) -> tuple[TrialPair, ...]:
        """The cycles that are over and were not disturbed."""
        cycles = list(zip(self.all[0::2], self.all[1::2], strict=True))
        over = cycles[: self.over(until_seconds)]
        return tuple(self._pair(first, second) for first, second in over if usable(first, second))

    def left_out(self, until_seconds: float) -> int:
        """How many cycles are over, but of no use."""
        return self.over(until_seconds) - len(self.pairs(until_seconds))

    def over(self, until_seconds: float) -> int:
        """How many cycles are over."""
        done = int((until_seconds + ROUNDING_SECONDS) / (2 * self.trial.window_seconds))
        return min(max(done, 0), self.trial.cycles)

    def _pair(self, first: Window, second: Window) -> TrialPair:
        a, b = (first, second) if first.value == self.trial.a else (second, first)
        kept = sum(slot.seconds for window in (a, b) for slot in window.settled)
        return TrialPair(
            cycle=first.cycle,
            order="AB" if a is first else "BA",
            a=levels(a.settled),
            b=levels(b.settled),
            settling_seconds=max(0.0, 2 * self.trial.window_seconds - kept),
        )


def usable(*windows: Window) -> bool:
    """True if nobody disturbed them and enough was measured."""
    return all(not window.disturbed and len(window.slots) >= FEWEST_SLOTS for window in windows)


def settled_from(slots: Sequence[Slot]) -> int:
    """How many slots to discard after a change."""
    rates = [slot.tps for slot in slots]
    latencies = [slot.own_p95_ms or 0.0 for slot in slots]
    half = len(slots) // 2
    return next(
        (start for start in range(half) if is_at_rest(rates[start:]) and is_at_rest(latencies[start:])), half
    )
