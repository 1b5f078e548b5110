"""Commands of a running session: their order, what they do to the load, and how they are undone.

Changes of settings are executed one after the other, and so are changes of the load; the two do not wait for
each other. A stop waits for neither, and neither does the end of a query, because a change of a setting may
wait for that very query.

Undo takes back the operator's changes of load and settings one after the other, the last one first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, assert_never

from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import UsageError
from tuibench.model import message as commands
from tuibench.model.event import EventKind
from tuibench.model.message import (
    NO_LOAD_REFUSAL,
    ApplyPreset,
    ChangeSetting,
    Command,
    KillQuery,
    Mark,
    RecordCpuProfile,
    RestoreSettings,
    RunSql,
    RunState,
    SetDelay,
    SetRate,
    SetThreads,
    SettingCommand,
    SetWeights,
    Status,
    Stop,
    Watch,
)
from tuibench.model.schedule import (
    Quantity,
    checked_delay_ms,
    checked_rate,
    checked_threads,
    format_delay,
    format_weights,
)
from tuibench.observe.cpu_profile import CpuProfiling
from tuibench.session.events import ONE_CHANGE_SECONDS, EventLog
from tuibench.session.interventions import Interventions
from tuibench.session.laboratory import Laboratory
from tuibench.session.lifecycle import Lifecycle
from tuibench.session.load import LoadController
from tuibench.session.sampling import ActivityMonitor, StatementMonitor
from tuibench.session.settings import Settings
from tuibench.session.timeline import PlanRunner


class SessionCommands:
    """Executes all commands. A refusal is raised as a TuibenchError and changes nothing."""

    def __init__(
        self,
        settings: Settings,
        activity_monitor: ActivityMonitor,
        statement_monitor: StatementMonitor,
        watch_time: Callable[[], None],
        profiling: CpuProfiling,
        interventions: Interventions,
        lifecycle: Lifecycle,
        emit: Callable[[EventKind, str], object],
    ) -> None:
        self._settings = settings
        self._activity_monitor = activity_monitor
        self._statement_monitor = statement_monitor
        self._watch_time = watch_time
        self._profiling = profiling
        self._interventions = interventions
        self._lifecycle = lifecycle
        self._emit = emit
        self._settings_lock = asyncio.Lock()

    async def execute(self, command: Command) -> str:
        """Executes a command; returns the reply as text."""
        match command:
            case Stop():
                self._lifecycle.request_stop()
                return "stopping"
            case Watch(what="activity"):
                self._activity_monitor.renew()
                return "watching"
            case Watch(what="statements"):
                self._statement_monitor.renew()
                return "reading statements"
            case Watch():
                self._watch_time()
                return "reading who waits"
            case RecordCpuProfile(seconds=seconds):
                self._lifecycle.check_running()
                return await self._profiling.record(seconds)
            case KillQuery(id=id):
                self._lifecycle.check_running()
                text = await self._activity_monitor.kill(id)
                self._emit(EventKind.KILL, text)
                return text
            case RunSql(sql=sql):
                self._lifecycle.check_running()
                return self._interventions.run_sql(sql)
            case Mark(text=text):
                self._lifecycle.check_running()
                self._emit(EventKind.MARK, text or "mark")
                return "marked"
        if isinstance(command, SettingCommand):
            async with self._settings_lock:
                self._lifecycle.check_running()
                return await self._settings.execute(command)
        raise UsageError(NO_LOAD_REFUSAL)


def rate_text(rate: float) -> str:
    return f"{rate:,g}/s" if rate else "none"


class LoadCommands:
    """Executes the commands of the load. A refusal is raised as a TuibenchError and changes nothing."""

    def __init__(
        self,
        load: LoadController,
        lifecycle: Lifecycle,
        log: EventLog,
        plan_runner: PlanRunner,
        laboratory: Laboratory,
        reset_stats: Callable[[], Awaitable[None]],
    ) -> None:
        self._load = load
        self._lifecycle = lifecycle
        self._log = log
        self._plan_runner = plan_runner
        self._laboratory = laboratory
        self._reset_stats = reset_stats

    async def execute(self, command: commands.LoadCommand) -> str:
        """Execute a command after the previous ones; returns the reply as text."""
        async with self._load.lock:
            self._lifecycle.check_running()
            return await self._execute(command)

    async def _execute(self, command: commands.LoadCommand) -> str:
        match command:
            case commands.SetThreads(threads=threads):
                return await self._threads(checked_threads(threads, self._load.fewest_threads))
            case commands.SetRate(rate=rate):
                return self._rate(checked_rate(rate))
            case commands.SetWeights(weights=weights):
                return self._weights(weights)
            case commands.SetPlan(stages=stages):
                return self._plan_runner.set(stages)
            case commands.HoldPlan():
                return self._plan_runner.hold()
            case commands.ResumePlan():
                return self._plan_runner.resume()
            case commands.SetDelay(milliseconds=milliseconds):
                delay_ms = checked_delay_ms(milliseconds)
                before = self._load.client_delay_ms
                self._load.set_delay(delay_ms)
                change = f"{format_delay(before)} → {format_delay(delay_ms)}"
                self._log.emit(EventKind.DELAY, f"simulated network delay {change} on each round trip")
                return f"simulated network delay: {format_delay(delay_ms)} on each round trip"
            case commands.Pause():
                return self._pause()
            case commands.Resume():
                if self._lifecycle.state is not RunState.PAUSED:
                    return "not paused"
                self._load.resume()
                self._plan_runner.unpause()
                self._lifecycle.set_state(RunState.RUNNING)
                self._log.emit(EventKind.RESUME, "resumed")
                return "resumed"
            case commands.ResetStats():
                if self._lifecycle.state in (RunState.STARTING, RunState.WARMING):
                    raise UsageError("nothing has been measured yet")
                await self._reset_stats()
                self._log.emit(EventKind.RESET, "figures of the run are reset")
                return "the figures of the run are reset"
            case _:
                assert_never(command)

    def _rate(self, rate: float) -> str:
        if self._load.users:
            raise UsageError(
                f"{self._load.users:,} users share the connections: a rate cannot be set",
                "change the threads, or start a load without --users",
            )
        before = self._load.rate
        self._load.set_rate(rate)
        self._log.emit(EventKind.RATE, f"rate {rate_text(before)} → {rate_text(rate)}")
        return f"rate: {rate_text(rate)}" + self._override(Quantity.RATE)

    def _weights(self, given: Mapping[str, float]) -> str:
        load = self._load
        before = load.weights
        load.set_weights(given)
        after = load.weights
        if after == before:
            return f"weights: {format_weights(after)}, as before"
        changed = ", ".join(
            f"{name} {before[name]:g} → {weight:g}"
            for name, weight in after.items()
            if weight != before[name]
        )
        self._log.emit(EventKind.WEIGHTS, f"weights: {changed}")
        return f"weights: {format_weights(after)}"

    async def _threads(self, threads: int) -> str:
        before = self._load.threads
        if threads == before:
            return f"threads: {threads}, as before"
        self._load.accepted_connections = None
        await self._load.set_threads(threads)
        self._log.emit_threads(before, threads)
        return f"threads: {threads}" + self._override(Quantity.THREADS)

    def _override(self, quantity: Quantity) -> str:
        """End a probe, or hold a plan, whose load the operator has changed; returns an addition to
        the reply.
        """
        return self._laboratory.on_manual_load(quantity) + self._plan_runner.on_manual_change(quantity)

    def _pause(self) -> str:
        if self._lifecycle.state is RunState.STARTING:
            raise UsageError("the load has not started yet")
        if self._lifecycle.state is RunState.WARMING:
            raise UsageError("the load is still warming up", "pause it after the warm-up")
        if self._lifecycle.state is RunState.PAUSED:
            return "already paused"
        self._load.pause()
        self._plan_runner.pause()
        self._lifecycle.set_state(RunState.PAUSED)
        self._log.emit(EventKind.PAUSE, "paused")
        return "paused"


UNDOABLE = (SetThreads, SetRate, SetWeights, SetDelay, ChangeSetting, ApplyPreset, RestoreSettings)

MOST_STEPS = 100

Execute = Callable[[Command], Awaitable[str]]


class _Step(NamedTuple):
    """A change that can be taken back."""

    kind: type[Command]
    before: Status
    """What held before the change."""
    after: Status
    at_ns: int
    """The clock's time at the end of the change."""

    @property
    def text(self) -> str:
        return ", ".join(text for text, _ in _differences(self.before, self.after))

    @property
    def commands(self) -> list[Command]:
        """The commands that take the change back."""
        return _as_preset([command for _, command in _differences(self.before, self.after)], self.before)


def _differences(before: Status, after: Status) -> Iterator[tuple[str, Command]]:
    """Each difference between two states in words, with the command that restores the first one."""
    if before.threads != after.threads:
        yield f"threads {before.threads} → {after.threads}", SetThreads(before.threads)
    if before.rate != after.rate:
        yield f"rate {rate_text(before.rate)} → {rate_text(after.rate)}", SetRate(before.rate)
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
    """The commands with several settings replaced by one preset, if their values before were those of one:
    that is one change, whose effect can be compared.
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
    """The changes that can be taken back."""

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
