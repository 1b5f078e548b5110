"""The dispatch of a session: one table of its commands, and the one way to execute them.

    key, palette, ctl, scene ──socket──┐
    plan, intervention, experiment, ───┼─> Dispatcher.submit ── conditions, turn ──> handler(session, command)
    lag guard, sweep                   ┘         └─ afterwards: undo, status

A handler is declared where its subject is: those of load, settings and server in `session.commands`, those of
an experiment in the module of the experiment. It executes one type of command and returns the reply. A
refusal is a TuibenchError, and changes nothing.

Changes of settings take turns, and so do changes of the load; the two do not wait for each other, because a
server may be slow to change a setting. A stop waits for neither, and neither does the end of a query, because
a change of a setting may wait for that very query.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple, TypeVar

from tuibench.base.errors import UsageError
from tuibench.model.callers import CallerPolicy
from tuibench.model.message import NO_LOAD_REFUSAL, READ_ONLY_REFUSAL, Command
from tuibench.model.schedule import PlanPhase
from tuibench.session.events import EventLog
from tuibench.session.hardware import SimulatedHardware
from tuibench.session.instrument import Instrument, instrument_kinds
from tuibench.session.interventions import Intervene, Interventions
from tuibench.session.laboratory import ExperimentSession, Laboratory, LoadLevel, experiment_kinds
from tuibench.session.lifecycle import Lifecycle
from tuibench.session.load import LoadController
from tuibench.session.sampling import ActivityMonitor, StatementMonitor
from tuibench.session.settings import Settings
from tuibench.session.timeline import FollowPlan, PlanRunner
from tuibench.session.undo import Levels, UndoStack

AnyCommand = Command | FollowPlan | Intervene | LoadLevel
"""The commands of viewers, and those that a session gives itself."""


class Origin(Enum):
    """Who gives a command."""

    OPERATOR = auto()
    READER = auto()
    """A viewer that may only read."""
    UNDO = auto()
    SESSION = auto()
    """The session's plan, intervention or experiment."""


class SteeredLoad(NamedTuple):
    """The load, as commands change it."""

    controller: LoadController
    plan_runner: PlanRunner
    reset_stats: Callable[[], Awaitable[None]]
    """Resets the run's figures."""


@dataclass(kw_only=True)
class SteeredSession:
    """The parts of a session that commands act on."""

    settings: Settings
    lifecycle: Lifecycle
    log: EventLog
    laboratory: Laboratory
    parts: ExperimentSession
    """The parts that an experiment uses."""
    interventions: Interventions
    instruments: tuple[Instrument, ...]
    activity_monitor: ActivityMonitor
    statement_monitor: StatementMonitor
    watch_time: Callable[[], None]
    """Reads who waits, for a few seconds."""
    record_cpu_profile: Callable[[float], Awaitable[str]]
    """Records for this many seconds; returns the reply as text."""
    command_running: Callable[[Origin], AbstractContextManager[None]]
    """The context of a change by an operator."""
    undo: UndoStack
    submit: Callable[[AnyCommand, Origin], Awaitable[str]]
    """Executes the commands that another one consists of."""
    steered_load: SteeredLoad | None = None
    """None if the session only watches the server."""

    @property
    def load(self) -> SteeredLoad:
        """Raises UsageError without a load."""
        if self.steered_load is None:
            raise UsageError(NO_LOAD_REFUSAL)
        return self.steered_load

    @property
    def follows_plan(self) -> bool:
        """True if the load follows a plan that is not held."""
        plan = self.steered_load.plan_runner.state if self.steered_load is not None else None
        return plan is not None and plan.phase in (PlanPhase.RUNNING, PlanPhase.WAITING)


class Needs(Enum):
    """The condition of a command; it is checked when the command has its turn."""

    NOTHING = auto()
    """Possible even while the session ends."""
    SESSION = auto()
    """A session that does not end yet."""
    SETTINGS = auto()
    """The same, and its turn among the changes of settings."""
    LOAD = auto()
    """A session with load that does not end yet, and its turn among the changes of the load."""
    FREE_LOAD = auto()
    """The same, and no experiment of the operator."""
    EXPERIMENT = auto()
    """An experiment; its handler checks of which kind."""
    IDLE_LABORATORY = auto()
    """A session that runs, and no experiment."""
    CONSTANT_LOAD = auto()
    """The same, and no plan of the load that is under way."""

    @property
    def is_of_experiment(self) -> bool:
        return self in (Needs.EXPERIMENT, Needs.IDLE_LABORATORY, Needs.CONSTANT_LOAD)

    @property
    def is_change(self) -> bool:
        """True for commands that change what an experiment measures: an experiment may end before them."""
        return self not in (Needs.NOTHING, Needs.SESSION)


AnyC = TypeVar("AnyC", bound=AnyCommand)

Handle = Callable[[SteeredSession, AnyC], Awaitable[str]]


class Handler(NamedTuple):
    """The entry of a type of command."""

    handle: Handle[Any]
    """Executes the command; returns the reply as text."""
    needs: Needs
    undoable: bool
    """True if `Undo` takes back what it changes."""
    read_only: bool
    """True for a request of viewers that changes nothing: the status stays the same, too."""
    coalesces_seconds: float
    """Changes by this type of command within this time are one change for `Undo`."""


HANDLERS: dict[type, Handler] = {}
"""The handlers by type of command. An experiment's are in it once its module is imported (`handler_of`)."""


def handles(
    kind: type[AnyC],
    *,
    needs: Needs,
    undoable: bool = False,
    read_only: bool = False,
    coalesces_seconds: float = 0.0,
) -> Callable[[Handle[AnyC]], Handle[AnyC]]:
    """Declares the handler of a type of command."""

    def declare(handle: Handle[AnyC]) -> Handle[AnyC]:
        if kind in HANDLERS:
            raise ValueError(f"{kind.__name__} has a handler already: {HANDLERS[kind].handle}")
        HANDLERS[kind] = Handler(handle, needs, undoable, read_only, coalesces_seconds)
        return handle

    return declare


def handler_of(kind: type) -> Handler:
    """The handler of a type of command."""
    if kind not in HANDLERS:
        experiment_kinds()
        instrument_kinds()
    return HANDLERS[kind]


class Dispatcher:
    """Executes the commands of a session."""

    def __init__(self) -> None:
        self.session: SteeredSession
        """Set before the first command."""
        self._settings_turn = asyncio.Lock()

    async def submit(self, command: AnyCommand, origin: Origin = Origin.OPERATOR) -> str:
        """Executes a command when it has its turn; returns the reply as text. Raises TuibenchError for a
        refusal.
        """
        session, handler, before = self.session, handler_of(type(command)), None
        needs = handler.needs
        if origin is Origin.READER and not handler.read_only:
            raise UsageError(READ_ONLY_REFUSAL)
        is_change = needs.is_change and origin is not Origin.SESSION
        if is_change:
            await session.laboratory.give_way(is_experiment=needs.is_of_experiment)
        if handler.undoable and origin is Origin.OPERATOR and session.laboratory.present is None:
            before = session.undo.levels()
        try:
            with session.command_running(origin) if is_change else nullcontext():
                async with self._turn(needs):
                    self._check(needs, type(command))
                    return await handler.handle(session, command)
        finally:
            if before is not None:
                session.undo.remember(type(command), before, handler.coalesces_seconds)
            if not handler.read_only and origin is not Origin.UNDO:
                session.lifecycle.publish_status()

    def _turn(self, needs: Needs) -> AbstractAsyncContextManager[object]:
        """The turn among the changes of the same kind. Raises UsageError if there is no load to change."""
        if needs in (Needs.LOAD, Needs.FREE_LOAD):
            return self.session.load.controller.lock
        return self._settings_turn if needs is Needs.SETTINGS else nullcontext()

    def _check(self, needs: Needs, kind: type) -> None:
        """Raises UsageError unless the condition of a type of command holds."""
        session = self.session
        if needs in (Needs.SESSION, Needs.SETTINGS, Needs.LOAD, Needs.FREE_LOAD):
            session.lifecycle.check_running()
        if needs is Needs.FREE_LOAD:
            session.laboratory.check_load_is_free()
        if needs is Needs.CONSTANT_LOAD and session.follows_plan:
            raise UsageError("the load follows a plan; a test needs a constant load", "hold it first")
        if needs in (Needs.IDLE_LABORATORY, Needs.CONSTANT_LOAD):
            session.laboratory.check_idle(kind)


def levels_of(settings: Settings, hardware: SimulatedHardware, load: LoadController | None) -> Levels:
    """The present levels of a session."""
    weights = load.weights if load is not None else {}
    return Levels(
        threads=load.threads if load is not None else 0,
        rate=load.rate if load is not None else 0.0,
        weights=weights if len(weights) > 1 else {},
        client_delay_ms=load.client_delay_ms if load is not None else 0.0,
        hardware=hardware.present,
        callers=load.callers if load is not None else CallerPolicy(),
        settings={state.name: state.value for state in settings.states},
        presets=settings.presets,
    )
