"""Undo: the operator's changes of load and settings, taken back one after the other, the last one first.

A step of the stack is what a command has changed, found by comparing the levels before it and after it. So a
preset that fails halfway can be undone, too.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import UsageError
from tuibench.model.callers import CallerPolicy
from tuibench.model.hardware import NONE, Hardware, hardware_change
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    SetCallers,
    SetDelay,
    SetHardware,
    SetRate,
    SetThreads,
    SetWeights,
)
from tuibench.model.plan import policy_texts
from tuibench.model.schedule import format_delay, format_rate, format_weights
from tuibench.model.settings import PresetState

MOST_STEPS = 100

Reversal = (
    SetThreads | SetRate | SetWeights | SetDelay | SetHardware | SetCallers | ChangeSetting | ApplyPreset
)
"""A command that restores a level."""


class Levels(NamedTuple):
    """What undo restores: the levels of the load, and the values of the settings."""

    threads: int
    """0 without a load, as is `rate`."""
    rate: float
    weights: dict[str, float]
    """Those of the profile's transactions; empty if it has only one."""
    client_delay_ms: float
    hardware: Hardware | None
    """None for a server that is not private."""
    callers: CallerPolicy
    settings: dict[str, str]
    """The values by setting."""
    presets: tuple[PresetState, ...]

    def differences(self, after: "Levels") -> Iterator[tuple[str, Reversal]]:
        """Each difference to later levels in words, with the command that restores this level."""
        if self.threads != after.threads:
            yield f"threads {self.threads} → {after.threads}", SetThreads(self.threads)
        if self.rate != after.rate:
            yield f"rate {format_rate(self.rate)} → {format_rate(after.rate)}", SetRate(self.rate)
        if self.weights != after.weights:
            weights = f"{format_weights(self.weights)} → {format_weights(after.weights)}"
            yield f"weights {weights}", SetWeights(self.weights)
        if self.client_delay_ms != after.client_delay_ms:
            delays = f"{format_delay(self.client_delay_ms)} → {format_delay(after.client_delay_ms)}"
            yield f"network delay {delays}", SetDelay(self.client_delay_ms)
        hardware, later = self.hardware, after.hardware
        if hardware is not None and later is not None and hardware != later:
            yield hardware_change(hardware, later), SetHardware(f"{NONE},{hardware}")
        texts = policy_texts(after.callers)
        for option, text in policy_texts(self.callers).items():
            if text != texts[option]:
                yield f"{option} {text} → {texts[option]}", SetCallers(option, text)
        for name, value in after.settings.items():
            old = self.settings.get(name)
            if old is not None and old != value:
                yield f"{name} {old} → {value}", ChangeSetting(name, old)


class _UndoStep(NamedTuple):
    """A change that can be taken back."""

    kind: type
    """The type of its command."""
    before: Levels
    after: Levels
    at_ns: int
    """The clock's time at the end of the change."""

    @property
    def text(self) -> str:
        return ", ".join(text for text, _ in self.before.differences(self.after))

    @property
    def reversals(self) -> list[Reversal]:
        """The commands that take the change back.

        Several settings whose values before were those of a preset are restored by that preset: that is one
        change, whose effect can be compared.
        """
        found = [command for _, command in self.before.differences(self.after)]
        changed = {one.name for one in found if isinstance(one, ChangeSetting)}
        for preset in self.before.presets if len(changed) > 1 else ():
            held = all(self.before.settings.get(name) == value for name, value in preset.values.items())
            if held and changed <= preset.values.keys():
                return [
                    *(one for one in found if not isinstance(one, ChangeSetting)),
                    ApplyPreset(preset.name),
                ]
        return found


class UndoStack:
    """The changes that can be taken back."""

    def __init__(self, clock: Clock, levels: Callable[[], Levels]) -> None:
        self.levels = levels
        """Returns the present levels."""
        self._clock = clock
        self._steps: list[_UndoStep] = []

    @property
    def texts(self) -> tuple[str, ...]:
        """The changes, the last one first."""
        return tuple(step.text for step in reversed(self._steps))

    def remember(self, kind: type, before: Levels, coalesces_seconds: float) -> None:
        """Adds what a command of this type has changed. It is one change with the last one, if that is of the
        same type and less than `coalesces_seconds` old.
        """
        step = _UndoStep(kind, before, self.levels(), self._clock.now_ns())
        last = self._steps[-1] if self._steps else None
        if (
            last is not None
            and last.kind is kind
            and step.at_ns - last.at_ns <= coalesces_seconds * NS_PER_SECOND
        ):
            step = step._replace(before=last.before)
            self._steps.pop()
        if step.reversals:
            self._steps = [*self._steps[1 - MOST_STEPS :], step]

    async def undo(self, submit: Callable[[Reversal], Awaitable[str]]) -> str:
        """Takes the last change back with the commands that `submit` executes; returns the reply as text.

        Raises UsageError without a change, and the TuibenchError of a refused command.
        """
        if not self._steps:
            raise UsageError("there is nothing to undo")
        step = self._steps[-1]
        for command in step.reversals:
            await submit(command)
        if step in self._steps:
            self._steps.remove(step)
        left = self.texts
        return f"undone: {step.text}; " + (f"next: {left[0]}" if left else "nothing is left to undo")
