"""A/B tests: of a run (`--ab`), or started by an operator during a run (key `A`, `ctl ab`).

Another change, a pause or an outage of the server invalidates the cycle in which it happens.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Self

from msgspec.structs import replace

from tuibench.base.errors import UsageError
from tuibench.base.units import significant
from tuibench.metrics.ab_analysis import (
    CERTAIN,
    compare_pairs,
    compare_so_far,
    noise_before,
    pairs_needed,
    window_for,
)
from tuibench.metrics.ab_windows import FEWEST_SLOTS, ROUNDING_SECONDS, THROUGHPUT, TrialWindow, TrialWindows
from tuibench.metrics.effect_detection import TOLERANCE_PERCENT
from tuibench.metrics.figures import deciding_figure
from tuibench.metrics.thresholds import parse_guard
from tuibench.model.effect import (
    MAX_CYCLES,
    MIN_CYCLES,
    AbTestPair,
    AbTestPlan,
    AbTestResult,
    Comparison,
    Effect,
    Verdict,
    comparison_of,
    until_window_seconds,
)
from tuibench.model.event import Event, EventKind
from tuibench.model.hardware import Hardware, hardware_text, part_of_subject
from tuibench.model.message import (
    NO_LOAD_REFUSAL,
    ChangeSetting,
    RunState,
    SetHardware,
    SetThreads,
    StartAbTest,
    Status,
)
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import parse_ab, settings_of
from tuibench.model.settings import SettingState, ab_order
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.report.effects import with_sentence
from tuibench.session.dispatch import Needs, SteeredSession, handles
from tuibench.session.effects import Alternation, DoubtfulEffect, Turn
from tuibench.session.laboratory import Change, Experiment, ExperimentSession
from tuibench.session.load import LoadController
from tuibench.tuning import catalogue
from tuibench.tuning.trial_subject import PRESET, THREADS, SubjectChange, changes_to, resolve_subject

SWITCHES = {"ON": "1", "OFF": "0"}

EQUAL_SECONDS = 60.0
"""A test that ends with its verdict does not give the verdict "equal" earlier."""


def present_values(
    trial: AbTestPlan,
    load: LoadController | None,
    states: Sequence[SettingState],
    hardware: Hardware | None = None,
) -> dict[str, tuple[Change, ...]]:
    """The changes that restore everything that the test changes."""
    if trial.subject == THREADS and load is not None:
        return {THREADS: (SetThreads(load.threads),)}
    if part := part_of_subject(trial.subject):
        now = hardware_text(hardware or Hardware(), part)
        return {trial.subject: (SetHardware(f"{part}={now}"),)}
    present = {state.name: state.value for state in states}
    if trial.subject == PRESET:
        names = {name for value in (trial.a, trial.b) for name in _values_of(PRESET, value)}
        return {PRESET: tuple(ChangeSetting(name, now) for name, now in present.items() if name in names)}
    # The settings are restored from the value that they do not have at present.
    other = trial.a if _is_present(_values_of(trial.subject, trial.b), present) else trial.b
    values = _values_of(trial.subject, other)
    own = {name: present[name] for name in values if name in present}
    return {name: (ChangeSetting(name, own[name]),) for name in catalogue.order_by_limits(own, values)}


def _values_of(subject: str, value: str) -> dict[str, str]:
    """The values of the settings that a test's subject stands for: of a preset, or of the settings named."""
    if subject == PRESET:
        return catalogue.find_preset(catalogue.all_presets(), value).values
    return settings_of(subject, value)


def _holds(subject: str, value: str, before: Mapping[str, Sequence[Change]]) -> bool:
    """True if this value of the subject is the one that is restored after the test."""
    changes = [change for changes in before.values() for change in changes]
    if subject == THREADS:
        return SetThreads(int(value)) in changes
    if part_of_subject(subject):
        return changes == list(changes_to(subject, value, value).values())
    present = {change.name: change.value for change in changes if isinstance(change, ChangeSetting)}
    return _is_present(_values_of(subject, value), present)


def _is_present(wanted: Mapping[str, str], present: Mapping[str, str]) -> bool:
    known = [(value, present[name]) for name, value in wanted.items() if name in present]
    return bool(known) and all(_plain(each) == _plain(now) for each, now in known)


def _value_set(reply: str) -> str:
    """The value that a command has set, from its reply: `sync_binlog 1 → 0`, `threads: 8, as before`."""
    before, arrow, after = reply.partition("→")
    return after if arrow else before.partition(": ")[2].removesuffix(", as before")


def _plain(value: str) -> str:
    return SWITCHES.get(value.upper(), value)


class _Compared(NamedTuple):
    """The comparisons of an A/B test so far."""

    comparisons: tuple[Comparison, ...]
    acts_after_seconds: float | None = None
    """How long a change takes to act; None if it acts at once."""
    is_late: bool = False
    """True if the windows are too short for a verdict, because the change acts late."""


class AbTest(Experiment):
    """One A/B test: the value of each window, and the result of the completed cycles."""

    called, name = "A/B test", "an A/B test"
    starts, kind = StartAbTest, "ab"
    fewest_slots: ClassVar[int] = FEWEST_SLOTS
    most_before: ClassVar[float] = 0.0

    def __init__(
        self,
        trial: AbTestPlan,
        *,
        is_by_hand: bool = False,
        before: Mapping[str, Sequence[Change]] = MappingProxyType({}),
    ) -> None:
        super().__init__(is_by_hand=is_by_hand, before=before)
        self._trial = trial
        self._windows = self._new_windows()
        first, second = self._windows.all[:2]
        self.first = [*self._changes_to(second.value).values(), *self._changes_to(first.value).values()]
        self._window: TrialWindow | None = None
        self._current = ""
        self._is_setting = False
        self._is_known = True
        self._cycles_reported = 0
        self._now = self._until = self._ends_at = 0.0
        self._is_aligned = False
        self._final: AbTestResult | None = None
        self._harm = ""
        self._is_guarded_plan = not is_by_hand and bool(before)
        present = (value for value in (trial.a, trial.b) if _holds(trial.subject, value, before))
        self._original = next(present, "")
        self.reply = (
            f"A/B test of {trial.subject}: {trial.a} against {trial.b}, at most {trial.seconds:g} s, "
            f"equal within ±{trial.tolerance_percent:g} %"
        )

    @classmethod
    async def of_plan(cls, session: ExperimentSession) -> "AbTest | None":
        trial = session.spec.plan.trial
        if trial is None:
            return None
        plan = session.spec.plan
        session.hardware.check(part_of_subject(trial.subject))
        is_guarded = parse_guard(plan.guard, is_traffic=plan.shows_traffic)
        states = session.settings.states
        return cls(
            trial,
            before=present_values(trial, session.load, states, session.hardware.present)
            if is_guarded
            else {},
        )

    @classmethod
    def in_status(cls, status: Status, last: Self) -> Status:
        """Viewers get the result so far without its pairs."""
        return replace(status, ab=replace(last.result, pairs=()))

    @classmethod
    def in_summary(cls, summary: Summary, begun: Sequence[Self], not_restored: str) -> Summary:
        *earlier, last = (test.result for test in begun)
        return replace(summary, ab=last, earlier_ab_tests=tuple(earlier))

    def _changes_to(self, value: str) -> dict[str, SubjectChange]:
        trial = self._trial
        return changes_to(trial.subject, value, trial.b if value == trial.a else trial.a)

    def check_first(self, replies: Sequence[str]) -> None:
        half = len(replies) // 2
        values = [
            {reply.partition(" ")[0]: _value_set(reply) for reply in part}
            for part in (replies[:half], replies[half:])
        ]
        if all(values[0].values()) and values[0] == values[1]:
            trial = self._trial
            raise UsageError(f"{trial.subject} has the same value with {trial.a} and {trial.b}")

    def begin(self, now: float) -> None:
        """Start the first window with its value. That value holds already; in a plan with a guard, the
        restored value does.
        """
        self._now, self._until, self._ends_at = now, now, now + self._trial.seconds
        self._is_aligned = False
        self._windows = self._new_windows(now)
        first = self._windows.all[0]
        if self._is_guarded_plan:
            self._current = self._original
            self._enter(first)
            return
        self._window, self._current = first, first.value
        first.was_changed = True
        if self.is_by_hand:
            first.changed_at = now

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        # A window begins with the tick nearest to its time, because a tick has only one value.
        self._now, self._until = slot.end, slot.end + slot.seconds / 2
        if not self._is_aligned and abs(slot.start - self._windows.start_seconds) < slot.seconds:
            self._windows.start_seconds = slot.start
        self._is_aligned = True
        self._windows.add_slot(slot, self._window)
        if disturbance:
            self._windows.disturb(slot, disturbance)
        has_news = self._report_cycle()
        window = self._windows.at(self._until)
        if not self.is_over and window is not None and window is not self._window:
            self._enter(window)
        return has_news

    def _enter(self, window: TrialWindow) -> None:
        """Begin a window; its value is set unless it holds already."""
        self._window = window
        if window.value == self._current and not self._is_setting:
            return
        window.was_changed = self._is_setting = self._is_known = True
        window.changed_at = float("inf")
        self.wanted = self._changes_to(window.value)

    def applied(self, now: float) -> None:
        """The value of the window is set, unless the next window has begun meanwhile and needs its own."""
        if self.wanted is None and self._window is not None:
            self._is_setting = False
            self._current = self._window.value if self._is_known else ""
            self._window.changed_at = now

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        """Exclude the window, and the one before it if the change may have happened in that. The next window
        sets its value again.
        """
        self._current, self._is_known = "", False
        place = self._windows.all.index(self._window) if self._window else 0
        for window in self._windows.all[max(place - is_late, 0) : place + 1]:
            window.spoil(why)

    def end(self, now: float, why: str = "") -> None:
        """End with the completed cycles; slots are not kept."""
        if not self.is_over:
            super().end(now, why)
            self._now, self._until = max(now, self._now), max(now, self._until)
            self._final = self.result
            self._window, self._windows = None, self._new_windows()

    def _new_windows(self, start_seconds: float = 0.0) -> TrialWindows:
        return TrialWindows(
            self._trial, start_seconds, fewest_slots=self.fewest_slots, most_before=self.most_before
        )

    @property
    def is_on_trial(self) -> bool:
        if self._window is None and self._is_guarded_plan:
            return False
        window = self._window or self._windows.all[0]
        return self.is_guarded and window.value != self._original

    def broke_guard(self, seen: str, now: float, *, is_blamed: bool) -> None:
        if is_blamed and self._window is not None:
            self._harm = f"{self._trial.subject} {self._window.value} is harmful: {seen}"
        self.end(now, self._harm or seen)

    @property
    def end_text(self) -> str:
        return f"A/B test ended: {self.why_ended}" if self.why_ended else ""

    @property
    def result(self) -> AbTestResult:
        """The result of all completed cycles."""
        if self._final is not None:
            return self._final
        trial, until, pairs = self._trial, self._until, self._windows.pairs(self._until)
        tolerance = trial.tolerance_percent / 100
        found = self._compared(pairs)
        primary = None if found.is_late else comparison_of(trial.primary, found.comparisons)
        needed = pairs_needed(pairs, tolerance=tolerance, primary=trial.primary)
        acts_after = found.acts_after_seconds
        return with_sentence(
            AbTestResult(
                subject=trial.subject,
                a=trial.a,
                b=trial.b,
                cycles=trial.cycles,
                window_seconds=trial.window_seconds,
                pairs=pairs,
                left_out=self._windows.left_out(until),
                cost_a=self._windows.cost(trial.a, until),
                cost_b=self._windows.cost(trial.b, until),
                because=self._windows.because(primary, until),
                disturbances=self._windows.disturbances(until),
                comparisons=found.comparisons,
                sentence="",
                verdict=Verdict.CANNOT_TELL if primary is None else primary.verdict,
                is_sequential=trial.is_sequential,
                tolerance_percent=trial.tolerance_percent,
                more_seconds=None if needed is None or found.is_late else 2 * trial.window_seconds * needed,
                acts_after_seconds=acts_after,
                needs_window_seconds=window_for(acts_after) if found.is_late and acts_after else None,
                ended_seconds=self.ended_at,
                by_hand=self.is_by_hand,
                harm=self._harm,
            )
        )

    def _compared(self, pairs: Sequence[AbTestPair]) -> _Compared:
        """Compare the pairs so far. If the values act late and this contradicts the verdict, only the figures
        that act in time are left; if it does not show clearly, the intervals of the others are widened.
        """
        trial, windows, until = self._trial, self._windows, self._until
        is_at_the_end = not trial.is_sequential and windows.over(until) == trial.cycles
        compare = compare_pairs if is_at_the_end else compare_so_far
        comparisons = compare(pairs, tolerance=trial.tolerance_percent / 100, primary=trial.primary)
        late = windows.lateness(until)
        if late is None:
            return _Compared(comparisons)
        acts_after = late.contradiction(comparison_of(trial.primary, comparisons))
        if acts_after is not None and late.is_shown:
            in_time = tuple(one for one in comparisons if windows.is_in_time(one.figure, until))
            return _Compared(in_time, acts_after, is_late=True)
        if acts_after is not None:
            comparisons = tuple(
                one if windows.is_in_time(one.figure, until) else late.covering(one) for one in comparisons
            )
        return _Compared(comparisons, late.seconds if late.unsettled else None)

    def _report_cycle(self) -> bool:
        """Report a completed cycle, and end the test if it has its verdict; False if no cycle
        was completed.
        """
        over = self._windows.over(self._until)
        if over <= self._cycles_reported:
            return False
        self._cycles_reported = over
        result, trial = self.result, self._trial
        self.told.append(f"A/B: {result.sentence}")
        is_decided = trial.is_sequential and self._is_decided(result)
        if trial.is_sequential and result.needs_window_seconds is not None:
            is_decided = self._lengthen(result.needs_window_seconds)
        if is_decided or (over == trial.cycles and (self.is_by_hand or self._is_guarded_plan)):
            self.end(self._now)
        return True

    def _is_decided(self, result: AbTestResult) -> bool:
        """True with a verdict; "equal" also needs the time in which a late effect would have shown."""
        seconds = 2 * result.window_seconds * self._cycles_reported
        is_early = result.verdict is Verdict.EQUAL and seconds < EQUAL_SECONDS
        return result.verdict is not Verdict.CANNOT_TELL and not is_early

    def _lengthen(self, window_seconds: float) -> bool:
        """Begin again with longer windows if the values certainly act late; True if too little time is left
        for that.
        """
        now, late = self._now, self._windows.lateness(self._until)
        if late is None or not late.is_certain():
            return False
        cycles = int((self._ends_at - now + ROUNDING_SECONDS) / (2 * window_seconds))
        if cycles < MIN_CYCLES:
            return late.evidence > 2 * CERTAIN
        self._trial = replace(
            self._trial, cycles=cycles, window_seconds=window_seconds, seed=self._trial.seed + MAX_CYCLES
        )
        self._windows = TrialWindows(self._trial, now, before=self._windows, unsettled_seconds=late.seconds)
        self._cycles_reported = 0
        self.told.append(
            f"A/B: a change takes about {significant(late.seconds)} s to act; begins again, in windows of "
            f"{window_seconds:g} s"
        )
        return False


LOOKS = (4, 6, 9, 12, 16)
"""Cycles after which the alternation of a doubtful effect may be decided."""

MOST_HELD = 4
"""Number of values before the present one of which the time is known."""

LOOK_SECONDS, LOOK_SLOTS = 2.0, 2
"""Length of its windows: short, because a change that acts on commits acts at once; but at least this number
of slots.
"""


class Resolution(AbTest, Alternation):
    """Decides a doubtful effect of a change: its two values alternate in short windows until the first
    planned look with a verdict. The new value stays. The operator's next change ends the alternation at once.
    """

    called, name = "alternation", "the alternation of both values"
    fewest_slots, most_before = 1, 0.25
    is_guarded = False
    gives_way = True
    is_announced = False

    def __init__(
        self, trial: AbTestPlan, *, before: Mapping[str, Sequence[Change]], history: Sequence[Tick] = ()
    ) -> None:
        """`history` are the ticks before the change, from which the noise is known."""
        super().__init__(trial, is_by_hand=True, before=before)
        self.first = self.first[len(self.first) // 2 :]
        seconds = total_tick(history).seconds / len(history) if history else 1.0
        apart = max(1, round(trial.window_seconds / seconds))
        self._noise = noise_before(history, apart, trial.primary)
        whole = noise_before(history, apart, trial.primary, counted=apart)
        self._noise_of_whole = {THROUGHPUT: whole[THROUGHPUT]} if THROUGHPUT in whole else {}
        self.comparisons: tuple[Comparison, ...] = ()
        self.because: tuple[Comparison, ...] = ()
        self.times: tuple[dict[str, float], ...] = ({}, {})
        self._held: list[tuple[float, str]] = []

    @classmethod
    def in_status(cls, status: Status, last: Self) -> Status:
        """Viewers get the effect that it decides, and no A/B test."""
        return status

    @classmethod
    def in_summary(cls, summary: Summary, begun: Sequence[Self], not_restored: str) -> Summary:
        """The effects have the result."""
        return summary

    @property
    def seconds(self) -> tuple[float, float]:
        """Shortest and longest duration."""
        return 2 * LOOKS[0] * self._trial.window_seconds, self._trial.seconds

    @property
    def alternated_seconds(self) -> float:
        """The time for which both values have alternated."""
        return 2 * self._cycles_reported * self._trial.window_seconds

    def effect_of(self, doubtful: DoubtfulEffect) -> Effect | None:
        if not self.comparisons or self.why_ended:
            return None
        result = self.result
        return Effect(
            markers=(doubtful.marker,),
            change=doubtful.change,
            at_seconds=doubtful.at_seconds,
            window_seconds=self.alternated_seconds / 2,
            settling_seconds=0.0,
            settled=True,
            comparisons=self.comparisons,
            cost_before=result.cost_a,
            cost_after=result.cost_b,
            alternated_seconds=self.alternated_seconds,
            time_before=self.times[0],
            time_after=self.times[1],
            because=self.because,
        )

    @property
    def turn(self) -> Turn:
        trial, window = self._trial, self._window
        if window is None:
            return Turn("", 0, trial.cycles)
        value = window.value if trial.subject == PRESET else f"{trial.subject} {window.value}"
        return Turn(value, window.cycle, trial.cycles)

    def new_share(self, slot: Tick) -> float | None:
        if self._is_setting:
            return None
        held = [*self._held, (math.inf, "")]
        parts = [
            (value, min(until, slot.end) - max(since, slot.start))
            for (since, value), (until, _) in pairwise(held)
            if since < slot.end - ROUNDING_SECONDS and until > slot.start + ROUNDING_SECONDS
        ]
        known = math.fsum(seconds for value, seconds in parts if value)
        if known < slot.seconds - len(parts) * ROUNDING_SECONDS:
            return None
        return math.fsum(seconds for value, seconds in parts if value == self._trial.b) / known

    def begin(self, now: float) -> None:
        super().begin(now)
        self._held = [(now, self._current)]

    def applied(self, now: float) -> None:
        super().applied(now)
        if self.wanted is None:
            self._held = [*self._held[-MOST_HELD:], (now, self._current)]

    def on_change(self, event: Event) -> None:
        """End, because something else has been changed."""
        if event.kind is not EventKind.MARK:
            self.end(self._now, event.text)

    def check_first(self, replies: Sequence[str]) -> None:
        """Nothing to check: the change was between the two values, so they differ."""

    def _report_cycle(self) -> bool:
        """End at the first planned look that has a verdict."""
        over = self._windows.over(self._until)
        if over <= self._cycles_reported:
            return False
        self._cycles_reported = over
        if over in LOOKS:
            trial, pairs = self._trial, self._windows.pairs(self._until)
            self.comparisons = compare_pairs(
                pairs,
                tolerance=trial.tolerance_percent / 100,
                primary=trial.primary,
                looks=len(LOOKS),
                noise=self._noise | (self._noise_of_whole if self._windows.are_whole(self._until) else {}),
            )
            found = comparison_of(trial.primary, self.comparisons)
            self.because = self._windows.because(found, self._until)
            self.times = tuple(self._windows.time(value, self._until) for value in (trial.a, trial.b))
            if over == LOOKS[-1] or (found is not None and found.verdict is not Verdict.CANNOT_TELL):
                self.end(self._now)
        return True


def ordered_resolution(subject: str, a: str, b: str, plan: RunPlan, rate: float, number: int) -> AbTestPlan:
    """The plan that decides a doubtful effect. `number` counts the session's alternations, `rate` is that of
    the load.
    """
    return AbTestPlan(
        subject=subject,
        a=a,
        b=b,
        cycles=LOOKS[-1],
        window_seconds=max(LOOK_SECONDS, LOOK_SLOTS * plan.interval_seconds),
        seed=plan.seed - number,
        primary=deciding_figure(plan.figure, is_traffic=plan.shows_traffic, rate=rate).key,
        tolerance_percent=TOLERANCE_PERCENT,
    )


def resolution(
    session: ExperimentSession, change: str, number: int, history: Sequence[Tick]
) -> Resolution | None:
    """The test that decides the effect of a change of settings; None if the change has no value before and
    after, or if the load does not run.
    """
    order = ab_order(change, session.settings.presets)
    if not order or session.lifecycle.state is not RunState.RUNNING:
        return None
    subject, a, b = parse_ab(order)
    rate = session.load.rate if session.load is not None else 0.0
    trial = ordered_resolution(subject, a, b, session.spec.plan, rate, number)
    before = present_values(trial, session.load, session.settings.states, session.hardware.present)
    return Resolution(trial, before=before, history=history)


def ordered_test(order: StartAbTest, plan: RunPlan, load: LoadController | None, number: int) -> AbTestPlan:
    """The plan of a test that an operator starts. `number` counts the session's tests. Raises UsageError if
    it is not possible.
    """
    subject = resolve_subject(order.subject, order.a, order.b)
    if subject == THREADS and load is None:
        raise UsageError(NO_LOAD_REFUSAL, "compare two values of a setting or a preset")
    return AbTestPlan.until_decided(
        subject,
        order.a,
        order.b,
        tolerance_percent=order.tolerance_percent,
        max_seconds=order.max_seconds,
        window_seconds=until_window_seconds(plan.interval_seconds),
        seed=plan.seed + number,
        primary=deciding_figure(
            plan.figure, is_traffic=plan.shows_traffic, rate=load.rate if load is not None else 0.0
        ).key,
    )


@handles(StartAbTest, needs=Needs.CONSTANT_LOAD)
async def start_ab_test(session: SteeredSession, command: StartAbTest) -> str:
    parts = session.parts
    trial = ordered_test(command, parts.spec.plan, parts.load, session.laboratory.next_number())
    parts.hardware.check(part_of_subject(trial.subject))
    before = present_values(trial, parts.load, session.settings.states, parts.hardware.present)
    return await session.laboratory.start(AbTest(trial, is_by_hand=True, before=before))
