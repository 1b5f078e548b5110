"""Runs a trial (`--ab`): sets the value that is due, as an operator would, and tells what comes of it.

Its changes are commands like any other: journalled, seen as events, put back at the end. Another change, a
pause or a server that goes away while it runs spoils the cycle it falls into.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from tuibench.errors import ConnectionLostError, ServerAwayError, TuibenchError, UsageError
from tuibench.metrics.pairs import compare_pairs
from tuibench.metrics.slots import Slot
from tuibench.metrics.windows import Window, Windows
from tuibench.model.command import ApplyPreset, ChangeSetting, Command, SetThreads
from tuibench.model.event import CHANGES, Event, EventKind
from tuibench.model.trial import Trial, TrialResult
from tuibench.record.effects import with_sentence
from tuibench.session.ranges import checked_threads
from tuibench.session.steered import Gate, SettingsHand, SteeredLoad

PRESET, THREADS = "preset", "threads"


class TrialHand(SettingsHand, Protocol):
    """Changes settings, and puts them back."""

    async def restore(self) -> list[str]: ...


class Trying(Protocol):
    """What a trial needs of a session."""

    @property
    def pace(self) -> SteeredLoad: ...

    @property
    def settings(self) -> TrialHand: ...

    @property
    def gate(self) -> Gate: ...

    async def submit(self, command: Command) -> str: ...

    def tell(self, kind: EventKind, text: str) -> None: ...

    def fail(self, error: TuibenchError) -> None: ...


def command_for(subject: str, value: str) -> ApplyPreset | SetThreads | ChangeSetting:
    """What sets a value of a trial's subject. Raises UsageError if it cannot be one."""
    if subject == PRESET:
        return ApplyPreset(value)
    if subject == THREADS:
        if not value.isdigit():
            raise UsageError(f"threads takes whole numbers, not '{value}'")
        return SetThreads(int(value))
    return ChangeSetting(subject, value)


class TrialRun:
    """Slots and events in; commands out, each as a task of its own: a tick waits for nobody."""

    def __init__(self, trial: Trial, session: Trying, elapsed_seconds: Callable[[], float]) -> None:
        self._trial = trial
        self._session = session
        self._elapsed = elapsed_seconds
        self._windows = Windows(trial)
        self._window: Window | None = None
        self._current = ""
        self._told = 0
        self._setting: asyncio.Task[None] | None = None
        self._ended_at: float | None = None

    async def rehearse(self) -> None:
        """Sets both values before the load starts, and leaves A. What cannot be is put back, and raised:
        the server's refusal, or a UsageError when it makes one value of both.
        """
        try:
            b, a = [await self._try(value) for value in (self._trial.b, self._trial.a)]
            if a == b:
                raise UsageError(
                    f"{self._trial.subject} has the same value with {self._trial.a} and {self._trial.b}"
                )
        except TuibenchError:
            await self._session.settings.restore()
            raise

    def tick(self, slot: Slot, *, is_lost: bool = False) -> None:
        """One more slot; the value that is due now, if it is not the present one.

        In one that `is_lost` the server went away, or was: what was measured is not the value's doing.
        """
        self._windows.take(slot)
        if is_lost:
            self._windows.disturb(slot)
        self._tell_progress(slot.end_seconds)
        self._enter(self._windows.at(slot.end_seconds))

    def heard(self, event: Event) -> None:
        """The load has started, with A; or somebody else changes something while we measure."""
        if event.kind is EventKind.START:
            self._window = self._windows.all[0]
            self._window.was_changed = True
            self._current = self._window.value
        elif event.kind in CHANGES and self._window is not None and not self._is_ours(event):
            self._spoil(event)

    def end(self) -> None:
        """No more changes; one that is under way is waited for when the settings are put back."""
        self._ended_at = self._elapsed()

    @property
    def result(self) -> TrialResult:
        """What is known so far: of all cycles that are over."""
        until = self._elapsed() if self._ended_at is None else self._ended_at
        pairs = self._windows.pairs(until)
        return with_sentence(
            TrialResult(
                subject=self._trial.subject,
                a=self._trial.a,
                b=self._trial.b,
                cycles=self._trial.cycles,
                window_seconds=self._trial.window_seconds,
                pairs=pairs,
                left_out=self._windows.left_out(until),
                comparisons=compare_pairs(pairs),
                sentence="",
            )
        )

    async def _try(self, value: str) -> str:
        """Sets a value while there is no load; what it was taken for."""
        command = command_for(self._trial.subject, value)
        if isinstance(command, SetThreads):
            self._session.pace.threads = checked_threads(command.threads)
            return str(command.threads)
        self._session.gate.demand_yes()
        hand = self._session.settings
        if isinstance(command, ApplyPreset):
            return (await hand.apply(command.name)).partition("→")[2]
        return (await hand.change(command.name, command.value)).partition("→")[2]

    def _enter(self, window: Window | None) -> None:
        if window is None or window is self._window:
            return
        self._window = window
        if window.value == self._current:
            return
        window.was_changed = True
        window.changed_at = float("inf")
        self._setting = asyncio.create_task(self._set(window), name="trial")

    async def _set(self, window: Window) -> None:
        try:
            await self._session.submit(command_for(self._trial.subject, window.value))
        except (ServerAwayError, ConnectionLostError):
            # The next window tries again. Some of a preset may have been set.
            self._current, window.disturbed = "", True
            return
        except TuibenchError as error:
            if self._ended_at is None:
                self._session.fail(error)
            return
        finally:
            self._setting = None
        self._current = window.value
        window.changed_at = self._elapsed()

    def _is_ours(self, event: Event) -> bool:
        return self._setting is not None and event.kind in (EventKind.SETTING, EventKind.THREADS)

    def _spoil(self, event: Event) -> None:
        """A foreign change is noticed late: it may have fallen into the window before, too."""
        self._current = ""
        place = self._windows.all.index(self._window) if self._window else 0
        first = place - 1 if event.kind is EventKind.FOREIGN else place
        for window in self._windows.all[max(first, 0) : place + 1]:
            window.disturbed = True

    def _tell_progress(self, elapsed_seconds: float) -> None:
        over = self._windows.over(elapsed_seconds)
        if over > self._told:
            self._told = over
            self._session.tell(EventKind.EFFECT, f"A/B: {self.result.sentence}")
