"""The laboratory: sets what an experiment wants, measures, puts it back.

Reasons why a sample is not comparable: an outage, lost connections, an overloaded host.

Figures measured during a disturbance are not attributed to a change.

The laboratory of a session: carries out one experiment at a time, and puts back what it has set.

An experiment (A/B test, screening of settings) is a state machine without I/O. It asks for a state of server
and load (`wanted`), is told when that holds (`applied`), gets every tick, and asks for the next state:

    experiment ── wanted ──> laboratory ── commands ──> session
        ^                        │
        └── applied, tick, disturb, refused

Changes are commands like an operator's: journalled, guarded, emitted as events, restored at the end of the
session or by the guardian. They are made in a task, so that a tick waits for none. A change by anybody else
is a disturbance; afterwards nothing is known of what holds, and what is wanted is set again.

The experiment of a plan (`--ab`, `tune`) begins with the load and ends the run. One that an operator starts
begins with the next tick, so that no tick belongs to two states, and its values are put back at its end.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple, TypeVar, assert_never

from tuibench.errors import ConnectionLostError, ServerUnreachableError, TuibenchError, UsageError
from tuibench.metrics.measurement_warnings import is_host_starved
from tuibench.model.command import ApplyPreset, ChangeSetting, Command, RestoreSettings, SetThreads
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.message import NO_LOAD_REFUSAL, SessionMessage
from tuibench.model.sample import Sample
from tuibench.model.schedule import checked_threads
from tuibench.model.tick import ERROR, Tick
from tuibench.mysql.errors import UNREACHABLE_CODES
from tuibench.session.event_log import EventLog
from tuibench.session.lifecycle import Lifecycle, StartTask
from tuibench.session.load import LoadController
from tuibench.session.settings import Settings

NO_ANSWER = "the server did not answer"
NOT_COUNTED = "the server does not count its statements"
CONNECTIONS_LOST = "connections to the server were lost"
HOST_STARVED = "this host was suspended, or tuibench got no CPU time"
WORKER_SILENT = "a worker process did not report"

OF_EVENTS = {
    EventKind.PAUSE: "the load was paused",
    EventKind.RESUME: "the load was paused",
    EventKind.RESET: "the figures were reset",
    EventKind.RESTART: "the server was restarted",
    EventKind.PROBE: "a probe changed the load",
}
"""Events that end a window, with their descriptions."""


def disturbance(sample: Sample, interval_seconds: float) -> str:
    """The reason why this sample is not comparable; empty if it is."""
    if sample.traffic is not None:
        return HOST_STARVED if is_host_starved(sample, interval_seconds) else ""
    if sample.load is None:
        return WORKER_SILENT
    if sample.server is None and not sample.load.sums.get("completed"):
        return NO_ANSWER
    if _lost_connections(sample.load):
        return CONNECTIONS_LOST
    return HOST_STARVED if is_host_starved(sample, interval_seconds) else ""


def _lost_connections(load: Tick) -> bool:
    lost = any(int(code) in UNREACHABLE_CODES for code in load.counts(ERROR))
    return lost or bool(load.sums.get("reconnects"))


Submit = Callable[[Command], Awaitable[str]]
"""Executes a command of the session; returns the reply as text."""

Change = ApplyPreset | ChangeSetting | RestoreSettings | SetThreads

Wanted = Mapping[str, Change]
"""The state to set: a change for each subject."""


class ExperimentSession(NamedTuple):
    """The parts of a session, which has no `load` if it watches the server's own traffic."""

    load: LoadController | None
    settings: Settings
    lifecycle: Lifecycle
    log: EventLog
    submit: Submit
    start_task: StartTask
    publish: Callable[[SessionMessage], None]


class Experiment(ABC):
    """What to set and for how long, by what was measured so far. Times are seconds of the run.

    `wanted` is the state to set now, None while one is measured. `first` are changes that are tried before it
    begins; the last of them is the state in which it begins. `before` are the changes that put back each
    subject; a setting that is not in it is restored. `told` are sentences for the event log. An `error` has
    ended it.
    """

    called: ClassVar[str]
    name: ClassVar[str]
    """What it is called at its end, and as the subject of a sentence."""

    first: Sequence[Change] = ()

    def __init__(
        self, *, is_by_hand: bool = False, before: Mapping[str, Sequence[Change]] = MappingProxyType({})
    ) -> None:
        self.is_by_hand = is_by_hand
        self.before = before
        self.wanted: Wanted | None = None
        self.told: list[str] = []
        self.ended_at: float | None = None
        self.error: TuibenchError | None = None

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None

    @property
    def message(self) -> SessionMessage | None:
        """What viewers get with each step; None if the status has it."""
        return None

    def check_first(self, replies: Sequence[str]) -> None:
        """Raises UsageError if the replies to the `first` changes show that there is nothing to compare."""
        return

    @abstractmethod
    def begin(self, now: float) -> None:
        """The load runs."""

    @abstractmethod
    def applied(self, now: float) -> None:
        """What was wanted is set, as far as that was possible."""

    @abstractmethod
    def tick(self, slot: Tick, disturbance: str = "") -> bool:
        """One more slot; a `disturbance` is a reason why it does not count. True if there is news."""

    @abstractmethod
    def disturb(self, why: str, *, is_late: bool = False) -> None:
        """Somebody else has changed something, which may be noticed late, or the server did not answer."""

    def refused(self, subject: str, error: TuibenchError, now: float) -> None:
        """The server refused the value of a subject."""
        self.fail(error, now)

    def fail(self, error: TuibenchError, now: float) -> None:
        """End with an error."""
        self.error = error
        self.end(now)

    def end(self, now: float) -> None:
        """End with what is known."""
        if self.ended_at is None:
            self.ended_at = now
            self.wanted = None

    @abstractmethod
    def end_text(self, why: str) -> str:
        """The event at the end of an operator's experiment; empty for none."""


AnyExperiment = TypeVar("AnyExperiment", bound=Experiment)


class Laboratory:
    """Carries out the experiments of a session; `begun` are all of them.

    `present` is the one whose values are not put back yet. `on_change` is called when an
    operator's experiment begins to set values and when they are put back, `on_news` after each step.
    """

    def __init__(
        self,
        session: ExperimentSession,
        on_change: Callable[[], None] = lambda: None,
        on_news: Callable[[Experiment], None] = lambda _: None,
    ) -> None:
        self.begun: list[Experiment] = []
        self.present: Experiment | None = None
        self._session = session
        self._on_change = on_change
        self._on_news = on_news
        self._is_due = self._is_running = self._is_moving = self._is_closed = False
        self._changing: EventKind | None = None
        self._holds: dict[str, Change | None] = {}
        self._is_disturbed = False

    def last(self, kind: type[AnyExperiment]) -> AnyExperiment | None:
        """The present or last experiment of a kind."""
        return next((one for one in reversed(self.begun) if isinstance(one, kind)), None)

    async def plan(self, experiment: Experiment) -> None:
        """Tries the experiment of the run's plan before the load starts; it begins with the load.

        Raises the server's refusal when everything is restored.
        """
        self.begun.append(experiment)
        try:
            experiment.check_first([await self._set_quietly(change) for change in experiment.first])
        except TuibenchError:
            await self._session.settings.restore()
            raise
        self.present = experiment

    async def _set_quietly(self, change: Change) -> str:
        """A change before the load starts is no event."""
        session = self._session
        match change:
            case SetThreads(threads=threads):
                if session.load is None:
                    raise UsageError(NO_LOAD_REFUSAL)
                session.load.threads = checked_threads(threads)
                return f"→ {threads}"
            case ApplyPreset(name=name):
                session.settings.guard.require_confirmation()
                return await session.settings.apply(name)
            case ChangeSetting(name=name, value=value):
                session.settings.guard.require_confirmation()
                return await session.settings.change(name, value)
            case RestoreSettings(names=names):
                return "; ".join(await session.settings.restore_named(names))
            case _:
                assert_never(change)

    async def start(self, experiment: Experiment, text: str) -> str:
        """Starts an operator's experiment, whose event is `text`; it begins with the next tick.

        Raises the server's refusal when everything is put back.
        """
        self.present = experiment
        self._on_change()
        self._holds = dict.fromkeys(experiment.before)
        try:
            experiment.check_first([await self._session.submit(change) for change in experiment.first])
        except BaseException:
            experiment.end(self._now)
            await self._put_back_all(experiment)
            raise
        self._is_due = True
        self._session.log.emit(EventKind.EFFECT, text)
        return text

    def stop(self, why: str) -> None:
        """Ends an operator's experiment."""
        if self.present is not None:
            self.present.end(self._now)
            self._conclude(self.present, why)

    def is_stoppable(self, kind: type[Experiment]) -> bool:
        """Whether an operator's experiment of this kind runs."""
        return isinstance(self.present, kind) and (self._is_due or self._is_running)

    def close(self) -> None:
        """The session ends: nothing is set any more, and the journal restores the settings."""
        self._is_due = self._is_running = False
        self._is_closed = True
        if self.present is not None and not self.present.is_over:
            self.present.end(self._now)
            self._report(self.present)

    def tick(self, slot: Tick, disturbance: str = "") -> None:
        """Process one sample of the measured run."""
        experiment = self.present
        if experiment is None:
            return
        if self._is_due:
            self.begun.append(experiment)
            self._begin(experiment, slot.end)
        elif self._is_running and not experiment.is_over:
            has_news = experiment.tick(slot, disturbance)
            self._follow(experiment, has_news=has_news)

    def on_event(self, event: Event) -> None:
        """Process an event: the load has started, or something has changed."""
        experiment = self.present
        if experiment is None:
            return
        if event.kind is EventKind.START:
            self._begin(experiment, 0.0)
        elif self._is_running and event.kind in CHANGE_KINDS and event.kind is not self._changing:
            self._holds, self._is_disturbed = dict.fromkeys(self._holds), True
            why = OF_EVENTS.get(event.kind, event.text)
            experiment.disturb(why, is_late=event.kind is EventKind.FOREIGN)

    @property
    def _now(self) -> float:
        return self._session.log.elapsed_seconds()

    def _begin(self, experiment: Experiment, now: float) -> None:
        self._is_due, self._is_running = False, True
        experiment.begin(now)
        self._session.lifecycle.publish_status()
        self._follow(experiment, has_news=True)

    def _report(self, experiment: Experiment) -> None:
        for text in experiment.told:
            self._session.log.emit(EventKind.EFFECT, text)
        if experiment.told:
            self._session.lifecycle.publish_status()
        experiment.told.clear()
        self._on_news(experiment)
        if (message := experiment.message) is not None:
            self._session.publish(message)

    def _follow(self, experiment: Experiment, *, has_news: bool = False) -> None:
        """Reports what is new, and starts the next change; a tick waits for none."""
        if experiment.is_over:
            self._conclude(experiment, str(experiment.error or ""))
            return
        if has_news:
            self._report(experiment)
        if experiment.wanted is not None and not self._is_moving:
            self._is_moving = True
            self._session.start_task(self._move(experiment), experiment.called)

    async def _move(self, experiment: Experiment) -> None:
        """Makes changes until what is wanted holds; then puts everything back, if it ended meanwhile."""
        try:
            while (wanted := experiment.wanted) is not None:
                experiment.wanted = None
                await self._apply(experiment, wanted)
        finally:
            self._is_moving = False
        if self._is_closed or not experiment.is_over:
            return
        if self._is_running:
            self._conclude(experiment, str(experiment.error or ""))
        elif experiment.is_by_hand:
            await self._put_back_all(experiment)

    async def _apply(self, experiment: Experiment, wanted: Wanted) -> None:
        """Puts back what is not wanted any more, then sets what is."""
        subject, is_put_back = "", True
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
        if not experiment.is_over:
            experiment.applied(self._now)

    async def _submit(self, change: Change) -> None:
        self._changing = EventKind.THREADS if isinstance(change, SetThreads) else EventKind.SETTING
        try:
            await self._session.submit(change)
        finally:
            self._changing = None

    async def _put_back(self, experiment: Experiment, subject: str) -> None:
        now = {state.name: state.value for state in self._session.settings.states}
        for change in experiment.before.get(subject, (RestoreSettings((subject,)),)):
            if not isinstance(change, ChangeSetting) or now.get(change.name) != change.value:
                await self._submit(change)
        del self._holds[subject]

    def _conclude(self, experiment: Experiment, why: str) -> None:
        """Ends the run with the experiment of its plan; puts back what an operator's has set."""
        self._is_due = self._is_running = False
        session = self._session
        if not experiment.is_by_hand:
            self._report(experiment)
            if experiment.error is not None:
                session.lifecycle.fail(experiment.error)
            else:
                session.lifecycle.request_stop("done")
            return
        if text := experiment.end_text(why):
            experiment.told.append(text)
        self._report(experiment)
        if not self._is_moving:
            self._is_moving = True
            session.start_task(self._move(experiment), experiment.called)

    async def _put_back_all(self, experiment: Experiment) -> None:
        """Puts back what the experiment has set, unless the session ends: then all settings are restored."""
        lifecycle = self._session.lifecycle
        try:
            for subject in tuple(self._holds):
                if not lifecycle.is_ending:
                    await self._put_back(experiment, subject)
        except TuibenchError as error:
            if not lifecycle.is_ending:
                text = f"a value could not be restored after the {experiment.called}: {error}"
                self._session.log.emit(EventKind.WARNING, text)
        finally:
            self._holds = {}
            self.present = None
            self._on_change()
            lifecycle.publish_status()
