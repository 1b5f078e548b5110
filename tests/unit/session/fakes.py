"""Played parts of a session, for its commands and its service: they note what they are asked to do."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests import examples
from tests.fakes import FakeClock
from tuibench.base.errors import ExitCode, TuibenchError, UsageError
from tuibench.model.callers import CallerPolicy
from tuibench.model.event import Event, EventKind
from tuibench.model.message import (
    READ_ONLY_REFUSAL,
    Command,
    Hello,
    RunState,
    ServiceSpec,
    SessionMessage,
    SessionSpec,
    Stop,
)
from tuibench.model.plan import policy_texts
from tuibench.model.schedule import Quantity, Schedule, format_schedule
from tuibench.model.server import Target
from tuibench.model.settings import PresetState, SettingState
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample
from tuibench.session.dispatch import (
    Dispatcher,
    Origin,
    SteeredLoad,
    SteeredSession,
    handler_of,
    levels_of,
)
from tuibench.session.events import EventLog
from tuibench.session.hardware import SimulatedHardware
from tuibench.session.laboratory import ExperimentSession, Laboratory
from tuibench.session.lifecycle import BackgroundTasks, Lifecycle
from tuibench.session.load import LoadController
from tuibench.session.sampling import ActivityMonitor, StatementMonitor
from tuibench.session.settings import ProductionGuard, Settings
from tuibench.session.timeline import FollowPlan, PlannedLevel, PlanRunner, PlanTimeline
from tuibench.session.undo import UndoStack
from tuibench.tuning.changer import ProductionError, SettingsManager
from tuibench.tuning.restore import RestoreOutcome, RestoreResult


class FakeSettingsManager:
    """Every setting is "old" and becomes "new"; raises `refusal`, waits while `gate` is closed."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.refusal: TuibenchError | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.working = 0
        self.most_working = 0
        self.known: tuple[SettingState, ...] = ()
        self.presets: tuple[PresetState, ...] = ()
        self.changed: set[str] = set()

    async def change(self, name: str, value: str) -> SettingState:
        await self._work(name, value)
        self.known = (_setting(name, "old"),)
        return _setting(name, value)

    async def apply(self, preset: str) -> tuple[SettingState, ...]:
        await self._work(preset)
        return (_setting("s", "0"), _setting("t", "1"))

    async def restore(self, only: Collection[str] = ()) -> list[RestoreResult]:
        """Restores what was changed."""
        await self._work(*sorted(only))
        return [
            RestoreResult(
                setting=name, outcome=RestoreOutcome.RESTORED, value="1", original="1", text=f"{name} is back"
            )
            for name in sorted(self.changed)
        ]

    async def keep_values(self, only: Collection[str] = ()) -> list[tuple[SettingState, SettingState]]:
        """Keeps what was changed."""
        await self._work(*sorted(only))
        if not self.changed:
            raise UsageError("there is nothing to keep")
        return [(_setting(name, "0"), _setting(name, "0")) for name in sorted(self.changed)]

    def rounding(self, name: str, value: str, now: str) -> str:
        return ""

    async def _work(self, *words: str) -> None:
        self.asked.append(words)
        self.working += 1
        self.most_working = max(self.most_working, self.working)
        await self.gate.wait()
        self.working -= 1
        if self.refusal:
            raise self.refusal


def _setting(name: str, value: str) -> SettingState:
    return SettingState(name=name, value=value, original="old", meaning="", at_risk=False)


class FakeGuard:
    """The gate before the settings; closed as long as there are `signs`."""

    def __init__(self) -> None:
        self.signs: tuple[str, ...] = ()

    def require_confirmation(self) -> None:
        if self.signs:
            raise ProductionError("db1", self.signs)

    def confirm(self) -> str:
        self.signs = ()
        return "it may be changed"


class FakeWatch:
    """Ends queries, unless `refusal` speaks against it."""

    def __init__(self, done: list[str]) -> None:
        self.refusal: TuibenchError | None = None
        self._done = done

    def renew(self, connection: int = 0) -> None:
        self._done.append(f"renew {connection}" if connection else "renew")

    async def kill(self, id: int) -> str:
        if self.refusal:
            raise self.refusal
        self._done.append(f"kill {id}")
        return f"killed {id}"


class FakeLoad:
    """How hard the load works; what it is told goes to `done`, once `gate` is open."""

    def __init__(self, done: list[str], threads: int) -> None:
        self.threads = threads
        self.rate = 0.0
        self.users = 0
        self.client_delay_ms = 0.0
        self.callers = CallerPolicy()
        self.fewest_threads = 1
        self.accepted_connections: int | None = None
        self.weights: dict[str, float] = {"new": 90.0, "old": 10.0}
        self.lock = asyncio.Lock()
        self.gate = asyncio.Event()
        self.gate.set()
        self._done = done

    async def set_threads(self, threads: int) -> None:
        await self.gate.wait()
        self.threads = threads
        self._done.append(f"threads {threads}")

    def set_rate(self, rate_per_second: float) -> None:
        self.rate = rate_per_second
        self._done.append(f"rate {rate_per_second:g}")

    def set_weights(self, given: Mapping[str, float]) -> None:
        self.weights = {**self.weights, **given}
        self._done.append(f"weights {self.weights}")

    def pause(self) -> None:
        self._done.append("pause")

    def resume(self) -> None:
        self._done.append("resume")

    def set_delay(self, milliseconds: float) -> None:
        self.client_delay_ms = milliseconds
        self._done.append(f"delay {milliseconds:g}")

    def set_callers(self, policy: CallerPolicy) -> None:
        self.callers = policy
        self._done.append(f"callers {policy_texts(policy)['deadline']}")


class FakePlan(PlanRunner):
    """The plan; what it is told goes to `done`, and the changes of `moves` are due."""

    def __init__(self, load: LoadController, lifecycle: Lifecycle, log: EventLog, done: list[str]) -> None:
        async def submit(_: FollowPlan) -> str:
            raise AssertionError("the plan does not run")

        super().__init__((), load, submit, lifecycle, log, FakeClock())
        self.moves: list[PlannedLevel] = []
        self._timeline = cast(PlanTimeline, SimpleNamespace(due=lambda now: self.moves))
        self._done = done

    @property
    def state(self) -> None:
        return None

    def set(self, stages: Schedule) -> str:
        self._done.append(f"plan {format_schedule(stages)}")
        return "planned"

    def hold(self) -> str:
        self._done.append("hold plan")
        return "held"

    def resume(self) -> str:
        self._done.append("resume plan")
        return "resumed"

    def pause(self) -> None:
        self._done.append("pause plan")

    def unpause(self) -> None:
        self._done.append("unpause plan")

    def on_manual_change(self, quantity: Quantity) -> str:
        self._done.append(f"{quantity} by hand")
        return ""


class FakeLaboratory:
    """No experiment runs."""

    present = None

    async def give_way(self, *, is_experiment: bool = False) -> None:
        return

    def check_load_is_free(self) -> None:
        return

    def on_manual_load(self, quantity: Quantity) -> str:
        return ""


class FakeControllable:
    """The commands of a run on played parts; what they are asked to do goes to `done`, events to `told`."""

    def __init__(self, state: RunState = RunState.RUNNING, threads: int = 8) -> None:
        self.done: list[str] = []
        self.log = EventLog(FakeClock(), lambda event: None)
        self.lifecycle = Lifecycle(self.log, lambda: None)
        self.lifecycle.state = state
        self.manager = FakeSettingsManager()
        self.guard = FakeGuard()
        self.load = FakeLoad(self.done, threads)
        self.activity_monitor = FakeWatch(self.done)
        nothing: Any = None
        self.hardware = SimulatedHardware("", FakeClock())
        settings = Settings(
            cast(SettingsManager, self.manager),
            nothing,
            nothing,
            cast(ProductionGuard, self.guard),
            FakeClock(),
            self.log.emit,
        )
        load = cast(LoadController, self.load)
        self.plan = FakePlan(load, self.lifecycle, self.log, self.done)
        self.dispatcher = Dispatcher()
        self.dispatcher.session = self.session = SteeredSession(
            settings=settings,
            lifecycle=self.lifecycle,
            log=self.log,
            laboratory=cast(Laboratory, FakeLaboratory()),
            parts=cast(ExperimentSession, SimpleNamespace(hardware=self.hardware, server=examples.SERVER)),
            interventions=nothing,
            instruments=(),
            activity_monitor=cast(ActivityMonitor, self.activity_monitor),
            statement_monitor=cast(StatementMonitor, self.activity_monitor),
            watch_time=nothing,
            record_cpu_profile=nothing,
            command_running=lambda origin: nullcontext(),
            undo=UndoStack(FakeClock(), partial(levels_of, settings, self.hardware, load)),
            submit=self.dispatcher.submit,
            steered_load=SteeredLoad(load, self.plan, self._reset_stats),
        )
        self.execute = self.dispatcher.submit

    @property
    def told(self) -> list[tuple[EventKind, str]]:
        return [(event.kind, event.text) for event in self.log.events]

    @property
    def state(self) -> RunState:
        return self.lifecycle.state

    async def _reset_stats(self) -> None:
        self.done.append("reset")


class FakeSettings:
    async def start_guardian(self) -> None:
        return


class FakeWatcher:
    """What the service needs of a watcher."""

    def __init__(self) -> None:
        self.bus = SimpleNamespace(listeners=[])
        self.viewer_pids: set[int] = set()
        self.settings = FakeSettings()
        self.tasks = BackgroundTasks(_raise)
        self.lifecycle = SimpleNamespace(exit_code=ExitCode.DONE)


def _raise(error: Exception) -> None:
    raise error


class FakeSession:
    """What the service needs of a session; it runs until `end` or until it is asked to stop."""

    def __init__(self, folder: Path) -> None:
        self.spec = SessionSpec(
            session="s1", plan=examples.PLAN, target=Target(), run_directory=str(folder / "runs" / "s1")
        )
        self.watcher = FakeWatcher()
        self.viewer_pids = self.watcher.viewer_pids
        self.name = examples.hello().session
        self.stops_when_told = False
        self.past: list[Sample] = []
        self.told: list[Event] = []
        self.submitted: list[Command] = []
        self.stops: list[str] = []
        self.refusal: Exception | None = None
        self.answering = asyncio.Event()
        self.answering.set()
        self._over = asyncio.Event()

    async def __aenter__(self) -> "FakeSession":
        await self.watcher.tasks.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.watcher.tasks.__aexit__()

    async def run(self) -> Summary:
        await self._over.wait()
        return examples.summary()

    def end(self) -> None:
        self._over.set()

    def request_stop(self, outcome: str = "stopped") -> None:
        self.stops.append(outcome)
        self._over.set()

    async def submit(self, command: Command, origin: Origin = Origin.OPERATOR) -> str:
        if origin is Origin.READER and not handler_of(type(command)).read_only:
            raise UsageError(READ_ONLY_REFUSAL)
        self.submitted.append(command)
        await self.answering.wait()
        if self.refusal:
            raise self.refusal
        if self.stops_when_told and isinstance(command, Stop):
            self.end()
        return f"did {len(self.submitted)}"

    def text(self, summary: Summary) -> str:
        return "the summary\n"

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        past = tuple(self.past[-samples:]) if samples else ()
        return examples.hello(session=self.name, samples=past, events=tuple(self.told) if with_events else ())

    def say(self, message: SessionMessage) -> None:
        for listener in self.watcher.bus.listeners:
            listener(message)


def service_spec(session: FakeSession, socket: Path, grace_seconds: float | None = 60.0) -> ServiceSpec:
    return ServiceSpec(session=session.spec, socket=str(socket), grace_seconds=grace_seconds)
