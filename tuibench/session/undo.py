"""Undo: an operator's changes of load and settings, taken back one after the other, the last one first."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import UsageError
from tuibench.model.command import (
    ApplyPreset,
    ChangeSetting,
    Command,
    RestoreSettings,
    SetDelay,
    SetRate,
    SetThreads,
    SetWeights,
)
from tuibench.model.message import Status
from tuibench.model.schedule import format_delay, format_weights
from tuibench.session.events import ONE_CHANGE_SECONDS

UNDOABLE = (SetThreads, SetRate, SetWeights, SetDelay, ChangeSetting, ApplyPreset, RestoreSettings)

MOST_STEPS = 100

Execute = Callable[[Command], Awaitable[str]]


class _Step(NamedTuple):
    """A change, with what held before and after it, and the clock's time (ns) at its end."""

    kind: type[Command]
    before: Status
    after: Status
    at_ns: int

    @property
    def text(self) -> str:
        return ", ".join(text for text, _ in _differences(self.before, self.after))

    @property
    def commands(self) -> list[Command]:
        """What takes it back."""
        return _as_preset([command for _, command in _differences(self.before, self.after)], self.before)


def _differences(before: Status, after: Status) -> Iterator[tuple[str, Command]]:
    """Each difference between two states, with the command for the first one."""
    if before.threads != after.threads:
        yield f"threads {before.threads} → {after.threads}", SetThreads(before.threads)
    if before.rate != after.rate:
        rates = (f"{rate:,g}/s" if rate else "open" for rate in (before.rate, after.rate))
        yield f"rate {' → '.join(rates)}", SetRate(before.rate)
    if before.weights != after.weights:
        weights = f"{format_weights(before.weights)} → {format_weights(after.weights)}"
        yield f"weights {weights}", SetWeights(before.weights)
    if before.client_delay_ms != after.client_delay_ms:
        delays = f"{format_delay(before.client_delay_ms)} → {format_delay(after.client_delay_ms)}"
        yield f"network delay {delays}", SetDelay(before.client_delay_ms)
    values = {setting.name: setting.value for setting in before.settings}
    for setting in after.settings:
        old = values.get(setting.name)
        if old is not None and setting.value is not None and old != setting.value:
            yield f"{setting.name} {old} → {setting.value}", ChangeSetting(setting.name, old)


def _as_preset(commands: Sequence[Command], before: Status) -> list[Command]:
    """The same with several settings as one preset, if their values before were one: that is one change,
    whose effect can be compared.
    """
    settings = {one.name: one.value for one in commands if isinstance(one, ChangeSetting)}
    values = {setting.name: setting.value for setting in before.settings}
    for preset in before.presets if len(settings) > 1 else ():
        held = all(values.get(name) == value for name, value in preset.values.items())
        if held and settings.keys() <= preset.values.keys():
            rest = [one for one in commands if not isinstance(one, ChangeSetting)]
            return [*rest, ApplyPreset(preset.name)]
    return list(commands)


class UndoStack:
    """The changes that can be taken back. `status` says what holds now."""

    def __init__(self, clock: Clock, status: Callable[[], Status]) -> None:
        self._clock = clock
        self._status = status
        self._steps: list[_Step] = []

    @property
    def texts(self) -> tuple[str, ...]:
        """The changes, the last one first."""
        return tuple(step.text for step in reversed(self._steps))

    async def run(self, command: Command, execute: Execute) -> str:
        """Executes a command, and remembers what it changed; returns the reply as text."""
        if not isinstance(command, UNDOABLE):
            return await execute(command)
        step = _Step(type(command), self._status(), self._status(), 0)
        try:
            return await execute(command)
        finally:
            self._push(step._replace(after=self._status(), at_ns=self._clock.now_ns()))

    async def undo(self, execute: Execute) -> str:
        """Takes the last change back; returns the reply as text. Raises TuibenchError for a refusal."""
        if not self._steps:
            raise UsageError("there is nothing to undo")
        step = self._steps[-1]
        for command in step.commands:
            await execute(command)
        if step in self._steps:
            self._steps.remove(step)
        left = self.texts
        return f"undone: {step.text}; " + (f"next: {left[0]}" if left else "nothing is left to undo")

    def _push(self, step: _Step) -> None:
        last = self._steps[-1] if self._steps else None
        is_one = last is not None and last.kind is step.kind is SetThreads
        if last is not None and is_one and step.at_ns - last.at_ns <= ONE_CHANGE_SECONDS * NS_PER_SECOND:
            step = step._replace(before=last.before)
            self._steps.pop()
        if step.commands:
            self._steps = [*self._steps[1 - MOST_STEPS :], step]
