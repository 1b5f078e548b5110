"""Windows of an A/B test: the schedule of the two values, and the slots of a window that count.

    A B | B A | A B | …     one cycle between two bars

A fair coin, seeded by the plan, decides the order in each cycle. After a change, a window's slots are
discarded until the remaining ones have settled (`settling_slots`), at most half of them. If a late effect is
found, the slots before it begins are discarded in all windows (`TrialWindows.lateness`), as long as enough
remain. Each figure has its own lateness: what changes the fsyncs at once may change the throughput late.

A slot in which a value was set contains both values. In windows of two slots that is half of the measurement,
so there the part after the change counts for the throughput: before the change, the load is assumed to have
run as in the slot before.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from statistics import median
from typing import NamedTuple

from tuibench.metrics.ab_analysis import BINS_PER_WINDOW, Lateness, find_lateness, random_orders
from tuibench.metrics.costs import window_cost
from tuibench.metrics.effect_detection import window_figures
from tuibench.metrics.figures import figure_named, read, throughput
from tuibench.metrics.inference import Scale
from tuibench.metrics.series import is_at_rest
from tuibench.metrics.wait_changes import is_explicable, time_changes, time_parts, verdict_direction
from tuibench.model.effect import AbTestPair, AbTestPlan, Comparison
from tuibench.model.findings import OperationCost
from tuibench.model.tick import Tick, total_tick

ROUNDING_SECONDS = 1e-3
FEWEST_SLOTS = 3
"""A window with fewer slots, because the change took long, does not count."""

THROUGHPUT = "tps"
MOST_OF = 0.85
"""Share of a window that counts as nearly all of it."""

TOO_FEW = "too few samples after the change"


class Course(NamedTuple):
    """A figure over time, in bins of equal length."""

    bin_seconds: float
    slot_seconds: float
    levels: list[float | None]
    """None if unknown."""
    values: list[float]
    """0 is A, 1 is B."""

    @classmethod
    def empty(cls, window_seconds: float, slot_seconds: float) -> "Course":
        """A course without bins, whose bins are whole slots as far as possible."""
        slots = max(1, round(window_seconds / slot_seconds))
        bins = round(slots / math.ceil(slots / BINS_PER_WINDOW))
        return cls(window_seconds / bins, slot_seconds, [], [])


class TrialWindow:
    """One window with its value, and the slots measured in it."""

    def __init__(self, cycle: int, value: str) -> None:
        self.cycle = cycle
        self.value = value
        self.slots: list[Tick] = []
        self.part: Tick | None = None
        """The part, after the change, of the slot in which the value was set."""
        self.changed_at = float("-inf")
        self.was_changed = False
        self.disturbed = False
        self.why: list[str] = []

    @property
    def seconds(self) -> float:
        """The measured time, including the part of a slot."""
        return sum(slot.seconds for slot in (*self.slots, *filter(None, [self.part])))

    def spoil(self, why: str) -> None:
        """Exclude the window for this reason."""
        self.disturbed = True
        if why not in self.why:
            self.why.append(why)

    def settled(self, unsettled_seconds: float = 0.0) -> list[Tick]:
        """The slots that count: those after the load has settled, and at least `unsettled_seconds` after the
        change.
        """
        if not self.was_changed or not self.slots:
            return self.slots
        acts_at = max(self.changed_at, self.slots[0].start) + unsettled_seconds - ROUNDING_SECONDS
        late = sum(slot.start < acts_at for slot in self.slots) if unsettled_seconds else 0
        return self.slots[max(late, settling_slots(self.slots)) :]


class TrialWindows:
    """All windows of a test, filled while it runs. The first begins at second `start_seconds`.

    `before` are the windows of the same test when they were shorter; `unsettled_seconds` is the time that a
    change needed in them. `fewest_slots` is the least number of slots of a usable window; below the usual
    number, late effects are not looked for. A slot counts in part if at most the share `most_before` of it is
    before a change.
    """

    def __init__(
        self,
        trial: AbTestPlan,
        start_seconds: float = 0.0,
        *,
        before: "TrialWindows | None" = None,
        unsettled_seconds: float = 0.0,
        fewest_slots: int = FEWEST_SLOTS,
        most_before: float = 0.0,
    ) -> None:
        self.trial = trial
        self.fewest_slots = fewest_slots
        self._most_before = most_before
        self._last: Tick | None = None
        self.start_seconds = start_seconds
        self._before = before
        self._unsettled_seconds = unsettled_seconds
        self._lateness: dict[str, tuple[int, Lateness | None]] = {}
        self.all = [
            TrialWindow(cycle, value)
            for cycle, a_first in enumerate(random_orders(trial.cycles, trial.seed), 1)
            for value in ((trial.a, trial.b) if a_first else (trial.b, trial.a))
        ]

    def is_usable(self, *windows: TrialWindow) -> bool:
        """True for undisturbed windows with enough slots."""
        return all(not window.disturbed and len(window.slots) >= self.fewest_slots for window in windows)

    def at(self, elapsed_seconds: float) -> TrialWindow | None:
        """The window at a time; None after the last one."""
        place = math.floor(self._since_start(elapsed_seconds) / self.trial.window_seconds)
        return self.all[place] if 0 <= place < len(self.all) else None

    def add_slot(self, slot: Tick, window: TrialWindow | None) -> None:
        """Add a slot to the window in which it was measured, if it began after the value was set."""
        before, self._last = self._last, slot
        if window is None:
            return
        if slot.start >= window.changed_at:
            window.slots.append(slot)
        elif before is not None and window.changed_at - slot.start <= self._most_before * slot.seconds:
            window.part = part_after(slot, window.changed_at, before)

    def disturb(self, slot: Tick, why: str) -> None:
        """Exclude the windows that overlap a slot, for this reason."""
        for window in (self.at(slot.start), self.at(slot.end - 2 * ROUNDING_SECONDS)):
            if window is not None:
                window.spoil(why)

    def disturbances(self, until_seconds: float) -> tuple[str, ...]:
        """The reasons why completed cycles were excluded, without duplicates."""
        over, unsettled = self.all[: 2 * self.over(until_seconds)], self._unsettled(until_seconds)
        found = dict.fromkeys(why for window in over for why in window.why)
        is_short = any(
            not window.disturbed and (len(window.slots) < self.fewest_slots or not window.settled(unsettled))
            for window in over
        )
        return (*found, *([TOO_FEW] if is_short else []))

    def pairs(self, until_seconds: float) -> tuple[AbTestPair, ...]:
        """The completed cycles without disturbance."""
        unsettled = self._unsettled(until_seconds)
        return tuple(
            self._pair(*pair, unsettled)
            for pair in self._usable(until_seconds)
            if all(window.settled(unsettled) for window in pair)
        )

    def cost(self, value: str, until_seconds: float) -> OperationCost | None:
        """The cost of an operation under a value, in the cycles that count."""
        return window_cost(self._settled(value, until_seconds))

    def time(self, value: str, until_seconds: float) -> dict[str, float]:
        """Where the time of a transaction went under a value, in the cycles that count."""
        return time_parts(self._settled(value, until_seconds))

    def because(self, primary: Comparison | None, until_seconds: float) -> tuple[Comparison, ...]:
        """The wait classes that certainly differ between the values, in the cycles that count; empty without
        a verdict to explain.
        """
        if primary is None or not is_explicable(primary):
            return ()
        sides = (self._settled(value, until_seconds) for value in (self.trial.a, self.trial.b))
        return time_changes(*sides, towards=verdict_direction(primary))

    def are_whole(self, until_seconds: float) -> bool:
        """True if nearly all of each window counts for the throughput."""
        usable = (window for pair in self._usable(until_seconds) for window in pair)
        return all(window.seconds >= MOST_OF * self.trial.window_seconds for window in usable)

    def _usable(self, until_seconds: float) -> list[tuple[TrialWindow, TrialWindow]]:
        """The windows of each completed cycle, if both can be used."""
        cycles = zip(self.all[0::2], self.all[1::2], strict=True)
        return [pair for pair in islice(cycles, self.over(until_seconds)) if self.is_usable(*pair)]

    def _settled(self, value: str, until_seconds: float) -> list[Tick]:
        """The slots under a value that count."""
        unsettled = self._unsettled(until_seconds)
        windows = [window for pair in self._usable(until_seconds) for window in pair if window.value == value]
        return [slot for window in windows for slot in window.settled(unsettled)]

    def left_out(self, until_seconds: float) -> int:
        """The number of completed cycles that were excluded."""
        return self.over(until_seconds) - len(self.pairs(until_seconds))

    def over(self, until_seconds: float) -> int:
        """The number of completed cycles."""
        done = int(self._since_start(until_seconds) / (2 * self.trial.window_seconds))
        return min(max(done, 0), self.trial.cycles)

    def lateness(self, until_seconds: float, figure: str | None = None) -> Lateness | None:
        """When the values act on a figure (by default the primary one), from all completed cycles; computed
        once for each cycle.
        """
        figure, over = figure or self.trial.primary, self.over(until_seconds)
        known_for, found = self._lateness.get(figure, (-1, None))
        if known_for != over:
            found = self._find_lateness(figure, over)
            self._lateness[figure] = over, found
        return found

    def is_in_time(self, figure: str, until_seconds: float) -> bool:
        """True if the values certainly act on the figure within these windows."""
        found = self.lateness(until_seconds, figure)
        return found is not None and found.is_in_time

    def _find_lateness(self, figure: str, cycles: int) -> Lateness | None:
        course, window_seconds = self.course(figure, cycles), self.trial.window_seconds
        if course is None or self.fewest_slots < FEWEST_SLOTS:
            return None
        sides = [
            [
                level
                for level, value in zip(course.levels, course.values, strict=True)
                if level is not None and value == side
            ]
            for side in (0, 1)
        ]
        scale = Scale.of(*sides) if figure_named(figure).may_be_zero else Scale()
        return find_lateness(
            [None if level is None else scale(level) for level in course.levels],
            course.values,
            bin_seconds=course.bin_seconds,
            window=max(1, round(window_seconds / course.bin_seconds)),
            before=(0.0, 1.0),
            limit=max(window_seconds / 2, window_seconds - FEWEST_SLOTS * course.slot_seconds),
        )

    def course(self, figure: str, cycles: int) -> Course | None:
        """A figure and the values, from the start of the test to the end of this number of cycles; None
        without slots.
        """
        windows, before = self.all[: 2 * cycles], self._before
        earlier = None if before is None else before.course(figure, before.over(self.start_seconds))
        lengths = [slot.seconds for window in windows for slot in window.slots]
        if not lengths:
            return earlier
        course = earlier or Course.empty(self.trial.window_seconds, median(lengths))
        by_bin = defaultdict[int, list[Tick]](list)
        for window in windows:
            for slot in () if window.disturbed else window.slots:
                middle = slot.end - slot.seconds / 2 - self.start_seconds
                by_bin[math.floor(middle / course.bin_seconds)].append(slot)
        count = round(len(windows) * self.trial.window_seconds / course.bin_seconds)
        middles = (self.start_seconds + (place + 0.5) * course.bin_seconds for place in range(count))
        values = [
            float(window is not None and window.value == self.trial.b) for window in map(self.at, middles)
        ]
        levels = [figure_level(figure, by_bin[place]) for place in range(count)]
        return course._replace(levels=[*course.levels, *levels], values=[*course.values, *values])

    def _unsettled(self, until_seconds: float) -> float:
        found = self.lateness(until_seconds)
        return max(self._unsettled_seconds, 0.0 if found is None else found.unsettled)

    def _since_start(self, elapsed_seconds: float) -> float:
        return elapsed_seconds - self.start_seconds + ROUNDING_SECONDS

    def _pair(self, first: TrialWindow, second: TrialWindow, unsettled_seconds: float) -> AbTestPair:
        a, b = (first, second) if first.value == self.trial.a else (second, first)
        settled = {window: window.settled(unsettled_seconds) for window in (a, b)}
        kept = sum(slot.seconds for slots in settled.values() for slot in slots)
        sums = [total_tick(settled[window]) for window in (a, b)]
        figures = [window_figures(each, self.trial.primary) for each in sums]
        for known, window in zip(figures, (a, b), strict=True):
            if THROUGHPUT in known and window.part is not None and len(settled[window]) == len(window.slots):
                known[THROUGHPUT] = figure_level(THROUGHPUT, [window.part, *window.slots]) or 0.0
        events = {key: max(map(figure_named(key).event, sums)) for key in figures[0]}
        return AbTestPair(
            cycle=first.cycle,
            order="AB" if a is first else "BA",
            a=figures[0],
            b=figures[1],
            settling_seconds=max(0.0, 2 * self.trial.window_seconds - kept),
            event={key: event for key, event in events.items() if event},
        )


def part_after(slot: Tick, at_seconds: float, before: Tick) -> Tick:
    """The transactions of a slot that were completed after a time; before that time, the load is assumed to
    have run as in the slot before.
    """
    unchanged_seconds = at_seconds - slot.start
    rate = figure_level(THROUGHPUT, [before]) or 0.0
    completed = slot.sums.get("completed", 0.0) - unchanged_seconds * rate
    return Tick(
        end=slot.end, seconds=slot.seconds - unchanged_seconds, sums={"completed": max(0.0, completed)}
    )


def figure_level(name: str, slots: Sequence[Tick]) -> float | None:
    """A figure in a few slots; None if unknown. If there is no throughput at all, the load stood still, which
    tells nothing about the values; zero fsyncs may be the effect of a value.
    """
    figure = figure_named(name)
    level = figure.value(total_tick(slots) if len(slots) > 1 else slots[0]) if slots else None
    return level if figure.may_be_zero else level or None


def settling_slots(slots: Sequence[Tick]) -> int:
    """The number of slots to discard after a change."""
    rates = [throughput(slot) for slot in slots]
    latencies = [read("p95", slot) or 0.0 for slot in slots]
    half = len(slots) // 2
    return next(
        (start for start in range(half) if is_at_rest(rates[start:]) and is_at_rest(latencies[start:])), half
    )
