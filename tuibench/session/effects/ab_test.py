"""Execution of an A/B test (`--ab`): sets the next value, and reports the comparison.

Its changes are ordinary commands: journalled, emitted as events, restored at the end. Another change, a pause
or an outage of the server invalidates the cycle in which it happens.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from tuibench.errors import ConnectionLostError, ServerUnreachableError, TuibenchError, UsageError
from tuibench.metrics.inference.ab_tests.ab_windows import ROUNDING_SECONDS, TrialWindow, TrialWindows
from tuibench.metrics.inference.ab_tests.lateness import CERTAIN, window_for
from tuibench.metrics.inference.ab_tests.paired import compare_pairs, compare_so_far, pairs_needed
from tuibench.metrics.series.slots import Slot
from tuibench.model.command import ApplyPreset, ChangeSetting, SetThreads
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.experiments.effect import MAX_CYCLES, MIN_CYCLES, AbTestPlan, AbTestResult, Verdict
from tuibench.model.message import NO_LOAD_REFUSAL
from tuibench.model.schedule import checked_threads
from tuibench.record.report.effect_text import with_sentence
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.disturbances import NO_ANSWER, OF_EVENTS
from tuibench.tuning.catalogue import preset_lookup, setting_lookup

PRESET, THREADS = "preset", "threads"

EQUAL_SECONDS = 60.0
"""A test that ends with its verdict does not find the values equal before."""


def command_for(subject: str, value: str) -> ApplyPreset | SetThreads | ChangeSetting:
    """The command that sets a value of a trial's subject. Raises UsageError if there is none."""
    if subject == PRESET:
        return ApplyPreset(value)
    if subject == THREADS:
        if not value.isdigit():
            raise UsageError(f"threads takes whole numbers, not '{value}'")
        return SetThreads(int(value))
    return ChangeSetting(subject, value)


def resolve_subject(subject: str, values: Sequence[str]) -> str:
    """The subject by its canonical name. Raises UsageError for an unknown subject or an invalid value."""
    for value in values:
        command = command_for(subject, value)
        if isinstance(command, SetThreads):
            checked_threads(command.threads)
        if isinstance(command, ApplyPreset):
            preset_lookup.find_preset(preset_lookup.all_presets(), value)
    return subject if subject in (PRESET, THREADS) else setting_lookup.find_setting(subject).name


class AbTest:
    """Takes samples and events, returns commands. Each command is a separate task: a sample does not wait for
    it.

    The test of a run (`--ab`) starts with the load and ends the run with its verdict or an error. A test that
    an operator starts begins at `start_seconds`, when its first value is set, and calls `on_end` instead,
    with the error if there is one.
    """

    def __init__(
        self,
        trial: AbTestPlan,
        session: ExperimentSession,
        *,
        start_seconds: float = 0.0,
        on_end: Callable[[TuibenchError | None], None] | None = None,
    ) -> None:
        self._trial = trial
        self._ends_at = start_seconds + trial.seconds
        self._session = session
        self._windows = TrialWindows(trial, start_seconds)
        self._on_end = on_end
        self._window: TrialWindow | None = None
        self._current = ""
        self._cycles_reported = 0
        self._setting: asyncio.Task[None] | None = None
        self._ended_at: float | None = None

    async def dry_run(self) -> None:
        """Set both values before the load starts, and keep that of the first window. If a value cannot be
        set, restores and raises the server's error, or a UsageError if both are the same value on the server.
        """
        first, second = self._windows.all[:2]
        try:
            results = [await self._try(window.value) for window in (second, first)]
            if results[0] == results[1]:
                raise UsageError(
                    f"{self._trial.subject} has the same value with {self._trial.a} and {self._trial.b}"
                )
        except TuibenchError:
            await self._session.settings.restore()
            raise

    def tick(self, slot: Slot, *, disturbance: str = "") -> None:
        """Process one sample; returns the value to set now, if it is not the current one.

        A `disturbance` is the reason why the measurement does not count.
        """
        self._windows.add_slot(slot)
        if disturbance:
            self._windows.disturb(slot, disturbance)
        self._emit_progress(slot.end_seconds)
        if self._ended_at is None:
            self._enter(self._windows.at(slot.end_seconds))

    def on_event(self, event: Event) -> None:
        """Process an event: the load has started with the first window's value, or something else has
        changed.
        """
        if event.kind is EventKind.START:
            self.begin()
        elif event.kind in CHANGE_KINDS and self._window is not None and not self._is_ours(event):
            self._spoil(event)

    def begin(self) -> None:
        """Start the first window with its value."""
        self._window = self._windows.all[0]
        self._window.was_changed = True
        if self._on_end is not None:
            self._window.changed_at = self._windows.start_seconds
        self._current = self._window.value

    async def wait_for_change(self) -> None:
        """Wait for a change of value that is in progress."""
        if self._setting is not None:
            await asyncio.wait([self._setting])

    def end(self) -> None:
        """Stop changing values; the restore of the settings waits for a change in progress."""
        if self._ended_at is None:
            self._ended_at = self._session.log.elapsed_seconds()

    @property
    def result(self) -> AbTestResult:
        """The result of all completed cycles."""
        until = self._session.log.elapsed_seconds() if self._ended_at is None else self._ended_at
        trial, pairs = self._trial, self._windows.pairs(until)
        is_at_the_end = not trial.is_sequential and self._windows.over(until) == trial.cycles
        compare, tolerance = compare_pairs if is_at_the_end else compare_so_far, trial.tolerance_percent / 100
        late = self._windows.lateness(until)
        comparisons = compare(pairs, tolerance=tolerance, primary=trial.primary)
        verdicts = {one.figure: one.verdict for one in comparisons}
        verdict = verdicts.get(trial.primary, Verdict.CANNOT_TELL)
        is_late = late is not None and late.may_reverse(verdict)
        needed = pairs_needed(pairs, tolerance=tolerance, primary=trial.primary)
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
                disturbances=self._windows.disturbances(until),
                comparisons=tuple(
                    one for one in comparisons if not is_late or self._windows.is_in_time(one.figure, until)
                ),
                sentence="",
                verdict=Verdict.CANNOT_TELL if is_late else verdict,
                is_sequential=trial.is_sequential,
                tolerance_percent=trial.tolerance_percent,
                more_seconds=None if needed is None or is_late else 2 * trial.window_seconds * needed,
                acts_after_seconds=late.seconds if late is not None and (is_late or late.unsettled) else None,
                needs_window_seconds=window_for(late.seconds) if late is not None and is_late else None,
                ended_seconds=self._ended_at,
                by_hand=self._on_end is not None,
            )
        )

    async def _try(self, value: str) -> str:
        """Set a value while there is no load; returns the resulting value."""
        command = command_for(self._trial.subject, value)
        if isinstance(command, SetThreads):
            if self._session.load is None:
                raise UsageError(NO_LOAD_REFUSAL)
            self._session.load.threads = checked_threads(command.threads)
            return str(command.threads)
        settings = self._session.settings
        settings.guard.require_confirmation()
        if isinstance(command, ApplyPreset):
            return (await settings.apply(command.name)).partition("→")[2]
        return (await settings.change(command.name, command.value)).partition("→")[2]

    def _enter(self, window: TrialWindow | None) -> None:
        if window is None or window is self._window:
            return
        self._window = window
        if window.value == self._current:
            return
        window.was_changed = True
        window.changed_at = float("inf")
        self._setting = self._session.start_task(self._set(window), "A/B test")

    async def _set(self, window: TrialWindow) -> None:
        try:
            await self._session.submit(command_for(self._trial.subject, window.value))
        except (ServerUnreachableError, ConnectionLostError):
            # The next window tries again. Some of a preset may have been set.
            self._current = ""
            window.spoil(NO_ANSWER)
            return
        except TuibenchError as error:
            if self._ended_at is None:
                self._fail(error)
            return
        finally:
            self._setting = None
        self._current = window.value
        window.changed_at = self._session.log.elapsed_seconds()

    def _fail(self, error: TuibenchError) -> None:
        if self._on_end is None:
            self._session.lifecycle.fail(error)
            return
        self.end()
        self._on_end(error)

    def _is_ours(self, event: Event) -> bool:
        return self._setting is not None and event.kind in (EventKind.SETTING, EventKind.THREADS)

    def _spoil(self, event: Event) -> None:
        """Changes by others are noticed late: the change may have happened in the previous window."""
        self._current = ""
        place = self._windows.all.index(self._window) if self._window else 0
        first = place - 1 if event.kind is EventKind.FOREIGN else place
        for window in self._windows.all[max(first, 0) : place + 1]:
            window.spoil(OF_EVENTS.get(event.kind, event.text))

    def _emit_progress(self, elapsed_seconds: float) -> None:
        over = self._windows.over(elapsed_seconds)
        if over > self._cycles_reported:
            self._cycles_reported = over
            result = self.result
            self._session.log.emit(EventKind.EFFECT, f"A/B: {result.sentence}")
            self._session.lifecycle.publish_status()
            is_decided = self._trial.is_sequential and self._is_decided(result)
            if self._trial.is_sequential and result.needs_window_seconds is not None:
                is_decided = self._lengthen(result.needs_window_seconds, elapsed_seconds)
            if is_decided or (over == self._trial.cycles and self._on_end is not None):
                self.end()
                self._finish()

    def _is_decided(self, result: AbTestResult) -> bool:
        """True with a verdict; "equal" also takes the time in which a late effect would have shown."""
        seconds = 2 * result.window_seconds * self._cycles_reported
        is_early = result.verdict is Verdict.EQUAL and seconds < EQUAL_SECONDS
        return result.verdict is not Verdict.CANNOT_TELL and not is_early

    def _lengthen(self, window_seconds: float, now: float) -> bool:
        """Begins again with longer windows once it is known that the values act late; True if too little time
        is left for that.
        """
        late = self._windows.lateness(now)
        if late is None or not late.is_certain():
            return False
        cycles = int((self._ends_at - now + ROUNDING_SECONDS) / (2 * window_seconds))
        if cycles < MIN_CYCLES:
            return late.evidence > 2 * CERTAIN
        self._trial = msgspec.structs.replace(
            self._trial, cycles=cycles, window_seconds=window_seconds, seed=self._trial.seed + MAX_CYCLES
        )
        self._windows = TrialWindows(self._trial, now, before=self._windows, unsettled_seconds=late.seconds)
        self._cycles_reported = 0
        self._session.log.emit(
            EventKind.EFFECT,
            f"A/B: a change takes about {late.seconds:.2g} s to act; begins again, in windows of "
            f"{window_seconds:g} s",
        )
        return False

    def _finish(self) -> None:
        if self._on_end is None:
            self._session.lifecycle.request_stop("done")
        else:
            self._on_end(None)
