"""The laboratory: sets the values that an experiment wants, measures, and restores the original values.

A laboratory carries out one experiment of a session at a time. An experiment (A/B test, screening of
settings, probe) is a state machine without I/O. It asks for a state of server and load (`wanted`), is told
when that state is reached (`applied`), gets every tick, and asks for the next state:

    experiment ── wanted ──> laboratory ── changes ──> settings, load
        ^                        │
        └── applied, tick, on_change, refused

Changes of settings are commands like an operator's: journalled, guarded, emitted as events, restored at the
end of the session or by the guardian. A task makes them, so that no tick waits for a change. If anybody else
changes something, the experiment is told, and the laboratory sets the wanted state again, because it no
longer knows which values hold.

The experiment of a plan (`--ab`, `tune`, `probe`) begins with the load and ends the run. With a guard, it
begins as soon as the guard knows the level and holds. An operator's experiment begins with the next tick, so
that no tick belongs to two states, and all that it has set is put back at its end. A planned experiment puts
back only what `before` names; the end of the session restores the settings.

The guard rail (`metrics.thresholds`) judges each sample while a value is tried. A value that breaks it in two
samples in a row is put back, and the experiment is told; a new value is tried once the guard holds again. A
level that has changed for other reasons becomes the reference after `MOST_REST_SAMPLES`.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Self, TypeVar

from tuibench.base.errors import (
    ConnectionLostError,
    RunError,
    ServerUnreachableError,
    TuibenchError,
    UsageError,
)
from tuibench.base.feature import installed, resolve
from tuibench.base.units import pluralize
from tuibench.metrics.measurement_warnings import is_host_starved
from tuibench.metrics.thresholds import BROKEN_SAMPLES, Guard, parse_guard
from tuibench.model.event import CHANGE_KINDS, Event, EventKind, Trouble, TroubleKind
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Hello,
    RestoreSettings,
    RunState,
    SessionMessage,
    SessionSpec,
    SetCallers,
    SetDelay,
    SetHardware,
    SetThreads,
    Status,
)
from tuibench.model.schedule import Quantity
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Summary
from tuibench.model.tick import ERROR, Sample, Tick
from tuibench.mysql.errors import UNREACHABLE_CODES
from tuibench.session.events import EventLog, Steps
from tuibench.session.hardware import SimulatedHardware
from tuibench.session.lifecycle import Lifecycle, StartTask
from tuibench.session.load import LoadController
from tuibench.session.settings import Settings

NO_ANSWER = "the server did not answer"
NOT_COUNTED = "the server does not count its statements"
CONNECTIONS_LOST = "connections to the server were lost"
HOST_STARVED = "this host was suspended, or tuibench got no CPU time"
WORKER_SILENT = "a worker process did not report"
ANOTHER_CHANGE = "another change was made"

REST_SAMPLES, MOST_REST_SAMPLES = 2, 10
ROUNDING_SECONDS = 1e-3

OF_EVENTS = {
    EventKind.PAUSE: "the load was paused",
    EventKind.RESUME: "the load was paused",
    EventKind.RESET: "the figures were reset",
    EventKind.RESTART: "the server was restarted",
}
"""Events that end a window, with their descriptions."""


def disturbance(sample: Sample, interval_seconds: float) -> str:
    """The reason why a sample is not comparable; empty if it is.

    Reasons are an outage, lost connections, and an overloaded host.
    """
    if sample.traffic is not None:
        return HOST_STARVED if is_host_starved(sample, interval_seconds) else ""
    if sample.load is None:
        return WORKER_SILENT
    if sample.server is None and not sample.load.sums.get("completed"):
        return NO_ANSWER
    lost = any(int(code) in UNREACHABLE_CODES for code in sample.load.counts(ERROR))
    if lost or sample.load.sums.get("reconnects"):
        return CONNECTIONS_LOST
    return HOST_STARVED if is_host_starved(sample, interval_seconds) else ""


class LoadLevel(NamedTuple):
    """Threads and rate, set without the events of the commands."""

    threads: int
    rate: float
    text: str = ""
    """The event of a probe's step; empty for none."""
    keeps_backlog: bool = False
    """False to begin without what was due at another rate."""


Change = (
    ApplyPreset
    | ChangeSetting
    | RestoreSettings
    | SetCallers
    | SetDelay
    | SetHardware
    | SetThreads
    | LoadLevel
)

Submit = Callable[[Change], Awaitable[str]]
"""Makes a change of an experiment, in order with the operators' commands; returns the reply as text."""

Wanted = Mapping[str, Change]
"""The state to set: a change for each subject."""


class ExperimentSession(NamedTuple):
    """The parts of a session that an experiment uses."""

    spec: SessionSpec
    server: ServerInfo
    load: LoadController | None
    """None if the session watches the server's own traffic."""
    settings: Settings
    hardware: SimulatedHardware
    lifecycle: Lifecycle
    log: EventLog
    submit: Submit
    start_task: StartTask
    publish: Callable[[SessionMessage], None]


class Experiment(ABC):
    """Decides what to set, and for how long, from what was measured so far. Times are seconds of the run."""

    called: ClassVar[str]
    name: ClassVar[str]
    """Its name at its end, and as the subject of a sentence."""

    starts: ClassVar[type | None] = None
    """The operator's command that starts it; None for an experiment of plans only."""
    kind: ClassVar[str] = ""
    """Its name in the command that stops it; empty if no command does."""

    told_kind: ClassVar[EventKind] = EventKind.EFFECT
    """The kind of the events with the sentences of `told`."""
    is_announced: ClassVar[bool] = True
    """True if `reply` is an event, too."""
    is_guarded: ClassVar[bool] = True
    """True if the guard judges its values. Before any of them is set, the guard must know the level and hold.
    """

    gives_way: ClassVar[bool] = False
    """True if it ends before an operator's command is executed, and has no marker on the time axis, because
    it decides a change that has one.
    """

    first: Sequence[Change] = ()
    """Changes that are tried before the experiment begins. The last one sets the state in which it begins."""
    reply = ""
    """The answer to the command that starts it."""

    @classmethod
    async def of_plan(cls, session: ExperimentSession) -> "Experiment | None":
        """The experiment of the run's plan; None if the plan has none of this kind. Raises TuibenchError."""
        return None

    def __init__(
        self, *, is_by_hand: bool = False, before: Mapping[str, Sequence[Change]] = MappingProxyType({})
    ) -> None:
        self.is_by_hand = is_by_hand
        self.before = before
        """The changes that put back each subject. A setting that is not in it is restored."""
        self.wanted: Wanted | None = None
        """The state to set now; None while one is measured."""
        self.told: list[str] = []
        """Sentences for the event log."""
        self.ended_at: float | None = None
        self.why_ended = ""
        self.error: TuibenchError | None = None
        """The error that has ended the experiment."""

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None

    @property
    def refusal(self) -> str:
        """Why load and settings cannot be changed now; empty if they can."""
        return ""

    @property
    def is_on_trial(self) -> bool:
        """True while it wants values other than the original ones, which the guard may end."""
        return False

    def broke_guard(self, seen: str, now: float, *, is_blamed: bool) -> None:
        """The values on trial are put back, because they break the guard. `is_blamed` is False if the guard
        was broken before.

        The experiment may want the next values when the guard holds again (`rested`).
        """
        self.end(now, seen)

    def rested(self, now: float) -> None:
        """The guard holds again, with the original values."""
        return

    @property
    def message(self) -> SessionMessage | None:
        """The message to viewers after each step; None if the status has all of it."""
        return None

    def on_news(self) -> None:
        """Called after each step."""
        return

    @classmethod
    def in_hello(cls, hello: Hello, last: Self) -> Hello:
        """The greeting of a viewer with the state of the last experiment of this kind."""
        return hello

    @classmethod
    def in_status(cls, status: Status, last: Self) -> Status:
        """The status with the state of the last experiment of this kind."""
        return status

    @classmethod
    def in_summary(cls, summary: Summary, begun: Sequence[Self], not_restored: str) -> Summary:
        """The summary with the results of the experiments of this kind, at least one. `not_restored` says
        which settings were not restored at the end.
        """
        return summary

    def check_first(self, replies: Sequence[str]) -> None:
        """Raises UsageError if the replies to the `first` changes show that there is nothing to compare."""
        return

    @abstractmethod
    def begin(self, now: float) -> None:
        """The load has started."""

    @abstractmethod
    def applied(self, now: float) -> None:
        """The wanted values are set, apart from those that were refused."""

    @abstractmethod
    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        """Process a tick; a `disturbance` is a reason why it does not count. Returns True if there is
        news.
        """

    @abstractmethod
    def disturb(self, why: str, *, is_late: bool = False) -> None:
        """Somebody else has changed something, or the server did not answer. `is_late` if the change may have
        been noticed late.
        """

    def on_change(self, event: Event) -> None:
        """Somebody else has changed something."""
        why = OF_EVENTS.get(event.kind, event.text)
        self.disturb(why, is_late=event.kind is EventKind.FOREIGN)

    def on_manual_load(self, quantity: Quantity, now: float) -> None:
        """An operator has set the threads or the rate. `on_change` is called with that event, too."""
        return

    async def evaluate(self) -> bool:
        """Compute what takes long. Awaited before each change and after the end. Returns True if there is
        news.
        """
        return False

    def refused(self, subject: str, error: TuibenchError, now: float) -> None:
        """The server refused the value of a subject."""
        self.fail(error, now)

    def fail(self, error: TuibenchError, now: float) -> None:
        self.error = error
        self.end(now, str(error))

    def end(self, now: float, why: str = "") -> None:
        """End with what is known; `why` is the reason for an early end."""
        if self.ended_at is None:
            self.ended_at, self.why_ended = now, why
            self.wanted = None

    @property
    def end_text(self) -> str:
        """The event at the end of an operator's experiment; empty for none."""
        return ""


AnyExperiment = TypeVar("AnyExperiment", bound=Experiment)


def experiment_kinds() -> tuple[type[Experiment], ...]:
    """The kinds of experiments of all features, whose modules are imported here and declare the handlers of
    their commands: most runs need none of them. A run's plan has at most one experiment.
    """
    return tuple(resolve(one) for feature in installed() for one in feature.experiments)


class Laboratory:
    """Carries out the experiments of a session."""

    def __init__(
        self,
        session: ExperimentSession,
        on_change: Callable[[Experiment], None] = lambda _: None,
    ) -> None:
        """`on_change` is called when an operator's experiment begins to set values and when they are put
        back.
        """
        self.begun: list[Experiment] = []
        """All experiments so far."""
        self.present: Experiment | None = None
        """The experiment whose values are not put back yet."""
        self._session = session
        self._ordered = 0
        self._on_change = on_change
        self._is_due = self._is_running = self._is_moving = self._is_closed = False
        self._changing: EventKind | None = None
        self._has_left = asyncio.Event()
        self._holds: dict[str, Change | None] = {}
        self._is_disturbed = False
        plan = session.spec.plan
        self._guard = Guard(parse_guard(plan.guard, is_traffic=plan.shows_traffic))
        self._broken_samples = self._rest_samples = self._held_samples = 0
        self._is_resting, self._broken_before = False, ""
        self._original_since, self._trial_since = 0.0, math.inf
        self._is_numbered = True

    def last(self, kind: type[AnyExperiment]) -> AnyExperiment | None:
        """The present or last experiment of a kind."""
        return next(reversed(self.of_kind(kind)), None)

    def of_kind(self, kind: type[AnyExperiment]) -> list[AnyExperiment]:
        """All experiments of a kind so far."""
        return [one for one in self.begun if type(one) is kind]

    def by_kind(self) -> dict[type[Experiment], list[Experiment]]:
        """All experiments so far, in the order of the first of each kind."""
        return {kind: self.of_kind(kind) for kind in dict.fromkeys(map(type, self.begun))}

    def running(self, kind: type[AnyExperiment]) -> AnyExperiment:
        """The experiment of this kind that runs. Raises UsageError if there is none."""
        if isinstance(self.present, kind) and (self._is_due or self._is_running):
            return self.present
        raise UsageError(f"no {kind.called} is running")

    async def plan(self, experiment: Experiment) -> None:
        """Tries the first changes of the plan's experiment before the load starts; it begins with the load.

        Raises UsageError if the run has another experiment, or the server's refusal once everything is
        restored.
        """
        if self.present is not None:
            raise UsageError(f"this run is {self.present.name} itself; it cannot be {experiment.name}, too")
        self.begun.append(experiment)
        try:
            experiment.check_first([await self._submit(one, is_silent=True) for one in experiment.first])
            if self._waits_for_guard(experiment):
                for change in (change for changes in experiment.before.values() for change in changes):
                    await self._submit(change, is_silent=True)
        except TuibenchError:
            await self._session.settings.restore()
            raise
        self.present = experiment

    async def start(self, experiment: Experiment) -> str:
        """Starts an operator's experiment, which begins with the next tick; returns its reply.

        Raises the server's refusal once everything is put back, and UsageError while another experiment runs,
        or as long as the guard does not know the level, or does not hold.
        """
        self.check_idle(experiment.starts)
        if experiment.is_guarded:
            if missing := self._guard.missing_samples:
                raise UsageError(
                    "the guard does not know the level yet",
                    f"try again after {pluralize(missing, 'sample')}, or start the session with --guard=off",
                )
            if self._broken_before:
                raise UsageError(
                    f"the guard does not hold: {self._broken_before}",
                    "start the session with another --guard",
                )
        self.present = experiment
        self._is_numbered = not experiment.gives_way
        self._original_since = math.inf
        self._note_trial(experiment)
        self._has_left.clear()
        self._on_change(experiment)
        self._holds = dict.fromkeys(experiment.before)
        try:
            experiment.check_first([await self._submit(change) for change in experiment.first])
            if experiment.is_over:
                raise UsageError(experiment.why_ended)
        except BaseException:
            experiment.end(self._now)
            await self._put_back_all(experiment)
            self._leave(experiment)
            raise
        self._is_due = True
        if experiment.is_announced:
            self._session.log.emit(EventKind.EFFECT, experiment.reply)
        return experiment.reply

    def stop(self, why: str) -> None:
        """Ends the present experiment."""
        if self.present is not None:
            self.present.end(self._now, why)
            self._conclude(self.present)

    async def give_way(self, *, is_experiment: bool = False) -> None:
        """Ends an experiment that gives way before an operator's command, and waits until its values are put
        back. Raises UsageError if the experiment does not allow the change. `is_experiment` if the command
        starts or ends an experiment.
        """
        if self.present is None:
            return
        if self.present.refusal and not is_experiment:
            raise UsageError(self.present.refusal)
        if not self.present.gives_way:
            return
        if self._is_due or self._is_running:
            self.stop(ANOTHER_CHANGE)
        else:  # its first values are being set, or all are put back
            self.present.end(self._now, ANOTHER_CHANGE)
        await self._has_left.wait()

    def check_idle(self, starts: type | None) -> None:
        """Raises UsageError while an experiment runs, or while the load does not. `starts` is the type of
        command whose experiment is to be started.
        """
        state, present = self._session.lifecycle.state, self.present
        if present is not None and not present.is_by_hand:
            raise UsageError(f"this run is {present.name} itself; no other experiment can be started")
        if state is not RunState.RUNNING:
            raise UsageError(f"the load is not running: {state}")
        if present is not None and present.starts is starts:
            raise UsageError(f"{present.name} is already running", "stop it first")
        if present is not None:
            raise UsageError(f"{present.name} is running", "end it first")

    def check_load_is_free(self) -> None:
        """Raises UsageError while an operator's experiment runs, because it needs the load as it is."""
        if self.present is not None and self.present.is_by_hand:
            raise UsageError(
                f"{self.present.name} is running; its load must not be changed",
                f"end the {self.present.called} first",
            )

    def next_number(self) -> int:
        """The number of an experiment that an operator starts: from 1, in order."""
        self._ordered += 1
        return self._ordered

    def on_manual_load(self, quantity: Quantity) -> str:
        """Process a change of the threads or the rate by an operator; returns an addition to the reply."""
        experiment = self.present
        is_own = self._changing is EventKind.THREADS and quantity is Quantity.THREADS
        if experiment is None or is_own or not (self._is_due or self._is_running):
            return ""
        experiment.on_manual_load(quantity, self._now)
        if not experiment.is_over:
            return ""
        self._conclude(experiment)
        return f"; the {experiment.called} is stopped"

    def close(self) -> None:
        """End all changes, because the session ends: the journal restores the settings."""
        self._is_due = self._is_running = False
        self._is_closed = True
        self._has_left.set()
        if self.present is not None and not self.present.is_over:
            self.present.end(self._now, f"the run was {self._session.lifecycle.outcome}")
            self._report(self.present)

    async def finish(self) -> None:
        """The load has ended: evaluate the ticks that the present experiment has."""
        if self.present is not None and await self.present.evaluate():
            self._report(self.present)

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> None:
        """Process one sample of the measured run."""
        self._judge(slot, disturbance)
        experiment = self.present
        if experiment is None:
            return
        if self._is_due:
            if experiment.is_by_hand:
                self.begun.append(experiment)
            elif not self._may_begin(experiment, slot.end):
                return
            self._begin(experiment, slot.end)
        elif self._is_running and not experiment.is_over:
            has_news = experiment.tick(slot, sample, disturbance)
            self.follow(experiment, has_news=has_news)

    def _waits_for_guard(self, experiment: Experiment) -> bool:
        return experiment.is_guarded and bool(self._guard.limits) and not experiment.is_by_hand

    def _may_begin(self, experiment: Experiment, now: float) -> bool:
        """True if the guard knows the level and holds. A guard that many samples in a row have broken fails
        the planned experiment.
        """
        if self._guard.missing_samples:
            return False
        self._rest_samples = self._rest_samples + 1 if self._broken_before else 0
        if self._rest_samples > MOST_REST_SAMPLES:
            hint = "give another --guard, or --guard=off"
            experiment.fail(RunError(f"the guard does not hold: {self._broken_before}", hint), now)
            self.follow(experiment)
        return self._held_samples > 0

    def gap(self) -> None:
        """Process a sample without an answer of the server."""
        if self._guard.limits:
            self._judge_broken(NO_ANSWER, self._now)

    def _judge(self, slot: Tick, disturbance: str) -> None:
        """Learn the level from a sample of the original values; judge a sample of a value on trial."""
        experiment, guard = self.present, self._guard
        if not guard.limits or disturbance in (HOST_STARVED, WORKER_SILENT):
            return
        is_on_trial = experiment is not None and experiment.is_on_trial and not experiment.is_over
        share = (slot.end - self._trial_since) / slot.seconds if is_on_trial else 1.0
        broken = disturbance if disturbance == NO_ANSWER else guard.broken(slot, share)
        if is_on_trial:
            self._original_since = math.inf
            self._judge_broken(broken, slot.end)
            return
        self._broken_samples = 0
        if self._is_moving or slot.start < self._original_since - ROUNDING_SECONDS:
            return
        self._broken_before = broken
        self._held_samples = 0 if broken else self._held_samples + 1
        if not (broken and self._is_resting):
            guard.learn(slot)
        if self._is_resting:
            self._rest(slot.end)

    def _judge_broken(self, broken: str, now: float) -> None:
        experiment = self.present
        if experiment is None or not experiment.is_on_trial or experiment.is_over:
            return
        self._broken_samples = self._broken_samples + 1 if broken else 0
        if self._broken_samples < BROKEN_SAMPLES or not self._is_running:
            return
        self._broken_samples = 0
        self._is_resting, self._rest_samples, self._held_samples = True, 0, 0
        trouble = Trouble(TroubleKind.GUARD, min(self._trial_since, now), now)
        text = f"{broken}; what {experiment.name} has set is put back"
        self._session.log.emit(EventKind.WARNING, text, trouble=trouble)
        experiment.broke_guard(broken, now, is_blamed=not self._broken_before)
        self.follow(experiment, has_news=True)

    def _rest(self, now: float) -> None:
        """Process a sample of the original values, after a value was put back."""
        self._rest_samples += 1
        if self._rest_samples == MOST_REST_SAMPLES:
            self._guard.forget()
        is_over = self._rest_samples > MOST_REST_SAMPLES or self._held_samples >= REST_SAMPLES
        experiment = self.present
        if is_over and not self._guard.missing_samples:
            self._is_resting = False
            if experiment is not None and self._is_running and not experiment.is_over:
                experiment.rested(now)
                self.follow(experiment)

    def on_event(self, event: Event) -> None:
        """Process an event: the load has started, or something has changed."""
        if event.kind in CHANGE_KINDS - {self._changing, EventKind.MARK, EventKind.PROBE}:
            self._guard.forget()
        experiment = self.present
        if experiment is None:
            return
        if event.kind is EventKind.START:
            if self._waits_for_guard(experiment):
                self._is_due, self._session.lifecycle.is_timed = True, False
                return
            self._begin(experiment, 0.0)
        elif (self._is_due or self._is_running) and event.kind in CHANGE_KINDS - {self._changing}:
            self._holds, self._is_disturbed = dict.fromkeys(self._holds), True
            experiment.on_change(event)
            if experiment.is_over:
                self._conclude(experiment)

    def follow(self, experiment: Experiment, *, has_news: bool = False) -> None:
        """Reports news, and starts the next change in a task, so that a tick does not wait for it."""
        if experiment.is_over:
            self._conclude(experiment)
            return
        if has_news:
            self._report(experiment)
        if experiment.wanted is not None:
            self._start_moving(experiment)

    @property
    def _now(self) -> float:
        return self._session.log.elapsed_seconds()

    def _begin(self, experiment: Experiment, now: float) -> None:
        self._is_due, self._is_running = False, True
        experiment.begin(now)
        self._session.lifecycle.publish_status()
        self.follow(experiment, has_news=True)

    def _report(self, experiment: Experiment) -> None:
        for text in experiment.told:
            self._session.log.emit(experiment.told_kind, text, experiment=experiment.called)
        if experiment.told:
            self._session.lifecycle.publish_status()
        experiment.told.clear()
        experiment.on_news()
        if (message := experiment.message) is not None:
            self._session.publish(message)

    def _start_moving(self, experiment: Experiment) -> None:
        if not self._is_moving:
            self._is_moving = True
            self._session.start_task(self._move(experiment), experiment.called)

    async def _move(self, experiment: Experiment) -> None:
        """Makes changes until the wanted state is reached; ends the experiment if it is over meanwhile."""
        try:
            while (wanted := experiment.wanted) is not None:
                experiment.wanted = None
                await experiment.evaluate()
                await self._apply(experiment, wanted)
        finally:
            self._is_moving = False
        if not experiment.is_over or self._is_closed:
            return
        if self._is_running:
            self._conclude(experiment)
        else:
            await self._put_back_all(experiment)
            if await experiment.evaluate():
                self._report(experiment)
            self._leave(experiment)

    async def _apply(self, experiment: Experiment, wanted: Wanted) -> None:
        """Puts back what is no longer wanted, then sets what is wanted."""
        subject, is_put_back = "", True
        self._note_trial(experiment)
        try:
            for subject in [subject for subject in self._holds if subject not in wanted]:
                await self._put_back(experiment, subject)
            is_put_back = False
            for subject, change in wanted.items():
                if self._holds.get(subject) != change and not experiment.is_over:
                    self._holds[subject], self._is_disturbed = None, False
                    await self._submit(change)
                    self._holds[subject] = None if self._is_disturbed else change
        except TuibenchError as error:
            if experiment.is_over:
                return
            if isinstance(error, ServerUnreachableError | ConnectionLostError):
                experiment.disturb(NO_ANSWER)
            elif is_put_back:
                experiment.fail(error, self._now)
            else:
                experiment.refused(subject, error, self._now)
        if not experiment.is_on_trial:
            self._original_since = self._now
        if not experiment.is_over:
            experiment.applied(self._now)

    def _note_trial(self, experiment: Experiment) -> None:
        """Notes since when other values than the original ones hold: at the earliest from now on."""
        if not experiment.is_on_trial:
            self._trial_since = math.inf
        elif self._trial_since == math.inf:
            self._trial_since = self._now

    async def _submit(self, change: Change, *, is_silent: bool = False) -> str:
        """Makes a change, in order with the operators' commands; returns the reply as text. A silent change
        is no event, because the load has not started.
        """
        log = self._session.log
        match change:
            case LoadLevel():
                self._changing = EventKind.PROBE
            case SetThreads():
                self._changing = EventKind.THREADS
            case SetCallers():
                self._changing = EventKind.CALLERS
            case SetDelay():
                self._changing = EventKind.DELAY
            case SetHardware():
                self._changing = EventKind.HARDWARE
            case _:
                self._changing = EventKind.SETTING
        try:
            if is_silent:
                log.steps = Steps(self._changing, "", is_numbered=False, is_silent=True)
            elif self.present is not None:
                log.steps = Steps(self._changing, self.present.called, self._is_numbered)
            return await self._session.submit(change)
        finally:
            if log.steps is not None and not is_silent:
                self._is_numbered = log.steps.is_numbered
            self._changing = log.steps = None

    async def _put_back(self, experiment: Experiment, subject: str) -> None:
        now = {state.name: state.value for state in self._session.settings.states}
        for change in experiment.before.get(subject, (RestoreSettings((subject,)),)):
            if not isinstance(change, ChangeSetting) or now.get(change.name) != change.value:
                await self._submit(change)
        del self._holds[subject]

    def _conclude(self, experiment: Experiment) -> None:
        """Reports the end, and starts to put back what was set."""
        self._is_due = self._is_running = False
        if experiment.is_by_hand and experiment.end_text:
            experiment.told.append(experiment.end_text)
        self._report(experiment)
        self._start_moving(experiment)

    async def _put_back_all(self, experiment: Experiment) -> None:
        """Puts back what the experiment has set; of a planned one, what `before` names. Does nothing if the
        session ends, which restores all settings.
        """
        lifecycle = self._session.lifecycle
        try:
            for subject in tuple(self._holds):
                if not lifecycle.is_ending and (experiment.is_by_hand or subject in experiment.before):
                    await self._put_back(experiment, subject)
        except TuibenchError as error:
            if not lifecycle.is_ending:
                text = f"a value could not be restored after the {experiment.called}: {error}"
                self._session.log.emit(EventKind.WARNING, text)
        self._original_since, self._trial_since = self._now, math.inf

    def _leave(self, experiment: Experiment) -> None:
        """Conclude an experiment whose values are put back. The end of the planned experiment is the end of
        the run.
        """
        lifecycle = self._session.lifecycle
        if experiment.is_by_hand:
            self._holds = {}
            self.present = None
            self._has_left.set()
            self._on_change(experiment)
            lifecycle.publish_status()
        elif experiment.error is not None:
            lifecycle.fail(experiment.error)
        else:
            lifecycle.request_stop("done")
