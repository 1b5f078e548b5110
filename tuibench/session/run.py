"""A session on a server: the watcher that every session has, and the run that only watches.

    async with WatchRun(spec) as run:         connects, reads the settings, opens the record
        summary = await run.run()             sampling ──> end

A run has a watcher, effects of changes, experiments, and a dispatcher of commands. The watcher samples a
server, records it, changes its settings and restores them. Leaving its context restores the settings, closes
the record and the connections. The run with a load (`load_run`) samples at its own ticks and adds the state
of its load to the status.

Every step of the end is executed, even if another one fails: the load ends, the settings are restored,
summary and record are written. An error in tuibench itself makes the outcome "failed", as an error of the
load does.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import tuibench.session.commands  # noqa: F401  It declares the handlers of a session's commands.
from tuibench.base.clock import NS_PER_SECOND, Clock, ScheduledTick, SystemClock, ticks
from tuibench.base.errors import UsageError
from tuibench.base.feature import installed
from tuibench.base.feature import resolve as resolve_reference
from tuibench.load.fleet import Fleet
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.findings import Culprit
from tuibench.model.message import (
    NO_LOAD_REFUSAL,
    Hello,
    RunState,
    SessionSpec,
    Status,
)
from tuibench.model.plan import EngineChoice
from tuibench.model.server import ServerInfo
from tuibench.model.summary import RunOutcome, Summary
from tuibench.model.tick import Sample, Tick
from tuibench.mysql.connection import OwnConnections
from tuibench.observe.host_facts import read_environment
from tuibench.observe.sessions import ActivitySampler
from tuibench.observe.statements import StatementSampler
from tuibench.record.recorder import PlanRecord, RunRecorder
from tuibench.record.summary import summary_of
from tuibench.report.text import watch_text
from tuibench.session.account import Account, Cut
from tuibench.session.dispatch import Dispatcher, Origin, SteeredLoad, SteeredSession, levels_of
from tuibench.session.effects import EffectTracker
from tuibench.session.events import EventBus, EventLog, build_hello, build_plan_record, history_fields
from tuibench.session.hardware import SimulatedHardware
from tuibench.session.instrument import Instrument, InstrumentSession, instruments_of
from tuibench.session.interventions import Interventions
from tuibench.session.laboratory import (
    NO_ANSWER,
    NOT_COUNTED,
    ExperimentSession,
    Laboratory,
    experiment_kinds,
)
from tuibench.session.lifecycle import (
    BackgroundTasks,
    ClosingStep,
    EndStep,
    Lifecycle,
    PrivateServerWatch,
    run_steps,
    ticks_until,
)
from tuibench.session.load import LoadController
from tuibench.session.preflight import identify_server
from tuibench.session.reconciliation import Reading, counter_deltas, reconcile
from tuibench.session.replicas import LagTotals
from tuibench.session.sampling import ActivityMonitor, Sampler, StatementMonitor, TickObservation
from tuibench.session.settings import ProductionGuard, Settings
from tuibench.session.undo import UndoStack
from tuibench.tuning.trial_subject import THREADS
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program

if TYPE_CHECKING:
    from tuibench.observe.cpu_profile import CpuProfiling

REMAINDER_SHARE = 0.05
"""At its end, a session samples the time after its last tick if that is longer than this share of a tick."""

SERVER_ENDED = "The private server has ended, and its settings with it: there was nothing to restore"

Identify = Callable[[], Awaitable[tuple[ServerInfo, tuple[str, ...]]]]
"""Returns the server, and the signs of a production server that it shows."""


class Watcher(AbstractAsyncContextManager["Watcher"]):
    """One session on one server."""

    def __init__(
        self, spec: SessionSpec, clock: Clock | None = None, identify: Identify | None = None
    ) -> None:
        self.spec = spec
        self.clock = clock or SystemClock()
        self.viewer_pids: set[int] = set()
        self.own = OwnConnections()
        """All connections of the session apart from its load."""
        self.fleet: Fleet | None = None
        """The workers of a load on the server; None without one."""
        self.extend_status: Callable[[Status], Status] = lambda status: status
        """Adds the state of the load to each status."""
        self.on_tick: Callable[[Sample, TickObservation], None] = lambda sample, observed: None
        """Gets each sample that the watcher takes at its own ticks."""
        self.bus = EventBus(
            RunRecorder(Path(spec.run_directory), partial(self.emit, EventKind.WARNING)), self.clock
        )
        self.log = EventLog(self.clock, self.bus.event)
        self.lifecycle = Lifecycle(self.log, self.publish_status)
        self.tasks = BackgroundTasks(self.lifecycle.fail)
        self.dispatcher = Dispatcher()
        """Executes the commands of the session, once the run has set its parts."""
        self._private_server = PrivateServerWatch(spec.private_server, self.clock)
        self.hardware = SimulatedHardware(spec.private_server, self.clock)
        self.server: ServerInfo
        self.record: PlanRecord
        """What is run, and on which server; known when recording has started."""
        self.settings: Settings
        self.sampler: Sampler
        self.activity_monitor: ActivityMonitor
        self.statement_monitor: StatementMonitor
        self.interventions: Interventions
        self.instruments: tuple[Instrument, ...] = ()
        self._identify = identify or partial(identify_server, spec.target, self.clock)
        self._stack = AsyncExitStack()
        self._ending: dict[EndStep, ClosingStep] = {}
        """The steps of the end, as far as their parts exist."""
        self._is_restored = self._is_closed = False
        self.not_restored = ""
        self.account = Account()
        """The sums of all samples."""
        self.lag = LagTotals()
        self.is_traffic_uncounted = False

    async def __aenter__(self) -> "Watcher":
        """Connects and reads the settings. Raises a TuibenchError that says what is missing."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.tasks)
            self.server, signs = await self._identify()
            guard = ProductionGuard(self.server, signs, self.clock)
            if self.spec.yes_this_server:
                guard.confirm()
            self.settings = await Settings.open(
                self.spec, self.server, guard, self.clock, self.emit, self.own
            )
            self._ending = {
                EndStep.STOP: self._stop,
                EndStep.RESTORE: self.restore,
                EndStep.HARDWARE: self.hardware.close,
                EndStep.TASKS: self.tasks.close,
                EndStep.SETTINGS: self.settings.close,
            }
            stack.push_async_callback(self._close_all)
            self._assemble()
            await self.sampler.log_in()
            await self.hardware.open(self.spec.plan.hardware)
            if self.hardware.has_disk:
                self.tasks.start(self.hardware.keep(), "simulated disk")
            if self._private_server.is_needed:
                self.tasks.start(self._private_server.until_end(), "private server")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _assemble(self) -> None:
        """Create the parts that sample the server, without sending anything."""
        self.sampler = Sampler.of(
            self.spec.target,
            self.server,
            self.clock,
            self.spec.plan.interval_seconds,
            self._own_pids,
            self.settings.author_of,
            with_traffic=self.spec.plan.shows_traffic,
            host_metrics=self.spec.plan.host_metrics,
            replicas=self.spec.replicas,
            accounted=self._accounted(),
            keeps_keys=not self.spec.plan.no_keys,
            own=self.own,
        )
        self.sampler.own_values = lambda: self.settings.ours
        self.sampler.own_changes = lambda: self.settings.changes
        self.activity_monitor = ActivityMonitor(
            ActivitySampler(self.spec.target, self.clock, self.server.flavour, self.own),
            self._own_connections,
            self.bus.publish,
            self.clock,
            self.spec.plan.interval_seconds,
            self._expect_kill,
            self.tasks.start,
        )
        self.statement_monitor = StatementMonitor(
            StatementSampler(self.spec.target, self.clock, self.server.flavour, self.own),
            self.bus.publish,
            self.clock,
            self.tasks.start,
        )
        self.bus.event_listeners.append(self.statement_monitor.on_event)
        self.interventions = Interventions(
            self.spec,
            partial(self.dispatcher.submit, origin=Origin.SESSION),
            self.settings.guard,
            self.lifecycle,
            self.log,
            self.tasks.start,
            self.clock,
            self.own,
        )
        self.bus.listeners.append(self.interventions.on_message)
        self.interventions.check_allowed()
        parts = InstrumentSession(
            self.spec,
            self.server,
            self.clock,
            self.log,
            self.tasks.start,
            self.own,
            self._load_connections,
            lambda: self.sampler.server_pid,
            self.sampler.timer,
        )
        self.instruments = tuple(instruments_of(parts))
        for instrument in self.instruments:
            self.bus.sample_listeners.append(instrument.on_sample)
            self.bus.event_listeners.append(instrument.on_event)
        self._ending |= {
            EndStep.PROFILING: self._close_profiling,
            EndStep.INTERVENTIONS: self.interventions.close,
            EndStep.INSTRUMENTS: self.close_instruments,
            EndStep.ACTIVITY: self.activity_monitor.close,
            EndStep.STATEMENTS: self.statement_monitor.close,
            EndStep.SAMPLER: self.sampler.close,
        }

    async def start_recording(self, program: Program | None = None) -> None:
        """Begins the record, without a program for a session without load.

        Raises RunError if it cannot be written.
        """
        tables = build_data_set(program).table_names() if program is not None else ()
        environment = await read_environment(self.spec.target, self.server, self.clock.now_ns, tables)
        self.record = build_plan_record(self.spec, self.server, program, self.clock.wall_seconds())
        self.bus.recorder.open(self.record, environment)
        if self.spec.plan.cpu_profile:
            await self.profiling.record_all()
        for instrument in self.instruments:
            await instrument.begin()

    async def close_instruments(self) -> None:
        await run_steps([instrument.close for instrument in self.instruments], self.lifecycle.fail)

    async def observe(self, tick: int, transactions_total: int | None = None) -> TickObservation:
        """Samples server and host, and reports what has changed."""
        observed = await self.sampler.observe(tick, transactions_total)
        self.lag.add(observed.replicas)
        if observed.server is not None:
            self.is_traffic_uncounted = Counter.QUESTIONS not in observed.server.levels
        if (waiting := self.sampler.time_report) is not None:
            self.bus.publish(waiting)
        return observed

    async def report(self, observed: TickObservation) -> None:
        """Emits the events of a tick, and reads the settings again if others changed some."""
        for kind, text in observed.events:
            self.emit(kind, text)
        if observed.settings_changed or self.settings.is_behind:
            for text in await self.settings.catch_up(restarted=observed.restarted):
                self.emit(EventKind.RESTORE, text)
        if text := await self.settings.keep():
            self.emit(EventKind.WARNING, text)

    @cached_property
    def profiling(self) -> "CpuProfiling":
        """The CPU profile of the server; few runs record one."""
        from tuibench.observe.cpu_profile import CpuProfiling

        return CpuProfiling(
            Path(self.spec.run_directory),
            lambda: self.sampler.server_pid,
            self.emit,
            self.tasks.start,
            self.clock,
        )

    async def _close_profiling(self) -> None:
        if "profiling" in self.__dict__:
            await self.profiling.close()

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        """The first message to a viewer, with up to `samples` past samples."""
        now = build_hello(self.spec, self.server, self.status())
        return replace(now, **history_fields(self.log, self.bus.history, samples, with_events=with_events))

    def status(self) -> Status:
        """The current state of the session."""
        return self.extend_status(
            Status(
                state=self.lifecycle.state,
                threads=0,
                workers=0,
                hardware=self.hardware.present,
                settings=self.settings.states,
                presets=self.settings.presets,
                production_signs=self.settings.guard.signs,
            )
        )

    def publish_status(self) -> None:
        self.bus.publish(self.status())

    def emit(self, kind: EventKind, text: str) -> None:
        self.log.emit(kind, text)

    async def restore(self) -> None:
        """Restores the settings, once. Waits for a server that does not answer.

        The settings of a private server end with it. `not_restored` says afterwards what was not restored.
        """
        if self._is_restored:
            return
        self._is_restored = True
        if ended := await self._private_server.end():
            self.not_restored = SERVER_ENDED
            await self.settings.drop_changes(ended.message)
            return
        for text in await self.settings.restore(partial(self.emit, EventKind.RESTORE)):
            self.emit(EventKind.RESTORE, text)
        self.lifecycle.not_restored = self.settings.not_restored
        if kept := self.settings.kept:
            self.not_restored = f"Not restored: {', '.join(kept)}; the events have the reason"

    async def close(self) -> None:
        """Restores the settings, ends the tasks and closes the connections. Harmless to repeat."""
        if self._is_closed:
            return
        self._is_closed = True
        steps = [self._ending[step] for step in EndStep if step in self._ending]
        await run_steps(steps, self.lifecycle.fail)

    async def _close_all(self) -> None:
        await run_steps((self.close, self.bus.close, self._ended), self.lifecycle.fail)

    async def _stop(self) -> None:
        self.lifecycle.over.set()
        if not self.lifecycle.is_ending:
            self.lifecycle.set_state(RunState.STOPPING)

    async def _ended(self) -> None:
        if self.lifecycle.state is not RunState.ENDED:
            self.lifecycle.set_state(RunState.ENDED)

    async def watch(self) -> None:
        """Samples until the time of the plan is up or the session is over. The record must be open."""
        await self.sampler.begin()
        start_ns = self.clock.now_ns()
        self.log.start(start_ns)
        self.account.cut(Cut.START)
        self.emit(EventKind.START, f"watching {self.server.where}")
        self.interventions.schedule()
        self.lifecycle.set_state(RunState.RUNNING)
        plan = self.spec.plan
        interval_ns = int(plan.interval_seconds * NS_PER_SECOND)
        end_ns = self.lifecycle.end_ns(start_ns, plan.seconds)
        schedule = ticks(self.clock, start_ns, interval_ns, end_ns)
        last = ScheduledTick(0, start_ns, 0)
        async for last in ticks_until(self.lifecycle.over, schedule):
            await self._tick(last)
        now_ns = self.clock.now_ns()
        if now_ns - last.due_ns > REMAINDER_SHARE * interval_ns and self.lifecycle.error is None:
            await self._tick(ScheduledTick(last.number + 1, now_ns, 0))

    def add_last_readings(self) -> None:
        """Add the traffic after the last sample that had an answer. Levels stay those of the samples."""
        for observed in self.sampler.last_observations:
            if observed.traffic is not None and observed.tick is not None:
                last = TickObservation(server=observed.tick, traffic=observed.traffic)
                tick = last.tick(self.log.elapsed_seconds(), None, shows_traffic=True)
                self.account.add(replace(tick, levels={}))

    async def _tick(self, tick: ScheduledTick) -> None:
        observed = await self.observe(tick.number)
        sample = Sample(
            number=tick.number,
            at=self.clock.wall_seconds(),
            late_ms=tick.late_ns / 1e6,
            tick=observed.tick(self.log.elapsed_at(tick.due_ns), None, shows_traffic=True),
            shows_traffic=True,
            replicas=observed.replicas,
            culprit=self.sampler.present_culprit,
        )
        self.account.add(sample.tick)
        self.bus.sample(sample)
        self.activity_monitor.tick()
        self.on_tick(sample, observed)
        await self.report(observed)

    def _accounted(self) -> Callable[[], Awaitable[set[int]]] | None:
        """The connections whose time is accounted for; with traffic, the connections whose time is left out.
        None without an account.
        """
        if self.spec.plan.no_waits:
            return None
        if self.fleet is None or self.spec.plan.shows_traffic:
            return self._own_connections
        return self.fleet.connection_ids

    async def _own_connections(self) -> set[int]:
        """The server's ids of all connections of this session."""
        return await self._load_connections() | self.own.ids

    async def _load_connections(self) -> set[int]:
        return await self.fleet.connection_ids() if self.fleet is not None else set()

    def culprit_of(self, start_seconds: float, end_seconds: float) -> Culprit | None:
        """The connection that blocked the others in a span of the run."""
        start_ns, end_ns = (
            self.log.zero_ns + int(seconds * NS_PER_SECOND) for seconds in (start_seconds, end_seconds)
        )
        return self.sampler.culprit(start_ns, end_ns)

    async def _expect_kill(self, connection_id: int) -> None:
        if self.fleet is not None:
            await self.fleet.expect_kill(connection_id)

    def _own_pids(self) -> set[int]:
        workers = self.fleet.pids if self.fleet is not None else []
        return {os.getpid(), *workers, *self.viewer_pids, self.settings.guardian_pid} - {0}


class SessionRun(AbstractAsyncContextManager[Any], ABC):
    """A run on one server. `watcher` has the connection, the record, the settings and the viewers."""

    def __init__(self, spec: SessionSpec, watcher: Watcher) -> None:
        self.spec = spec
        self.watcher = watcher
        self.submit = watcher.dispatcher.submit
        """Executes a command; returns the reply as text. Raises TuibenchError for a refusal."""
        self.effect_tracker: EffectTracker
        self._undo: UndoStack
        self._experiment_session: ExperimentSession
        self._readings: tuple[Reading, Reading] = (None, None)
        self._summary: Summary | None = None
        self._stack = AsyncExitStack()

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def run(self) -> Summary:
        """Run until the time is up, a stop is requested, or an error occurs; then end the session."""
        try:
            await self._measure()
        except Exception as error:
            self.watcher.lifecycle.fail(error)
        finally:
            summary = await self._end()
        return summary

    def request_stop(self, outcome: RunOutcome = "stopped") -> None:
        """End the run in an orderly way; `outcome` is written to the summary."""
        self.watcher.lifecycle.request_stop(outcome)

    @abstractmethod
    def text(self, summary: Summary) -> str:
        """The summary for the terminal."""

    @abstractmethod
    def hello(self, samples: int, *, with_events: bool) -> Hello:
        """The first message to a viewer, with up to `samples` past samples."""

    @property
    @abstractmethod
    def seconds(self) -> float:
        """The time measured so far."""

    @property
    @abstractmethod
    def total(self) -> Tick:
        """What was measured since the last reset of the figures, as the summary shows it."""

    @abstractmethod
    async def _measure(self) -> None: ...

    def _make_effect_tracker(self, load: LoadController | None) -> EffectTracker:
        watcher = self.watcher
        self._experiment_session = ExperimentSession(
            self.spec,
            watcher.server,
            load,
            watcher.settings,
            watcher.hardware,
            watcher.lifecycle,
            watcher.log,
            partial(self.submit, origin=Origin.SESSION),
            watcher.tasks.start,
            watcher.bus.publish,
        )
        plan = self.spec.plan
        is_resolved = self.spec.private_server and plan.trial is None
        resolver = next((one.resolver for one in installed() if one.resolver), "") if is_resolved else ""
        resolve = partial(resolve_reference(resolver), self._experiment_session) if resolver else None
        return EffectTracker(
            plan.interval_seconds, self._experiment_session, plan.figure, resolve, watcher.culprit_of
        )

    def _accept_commands(self, load: SteeredLoad | None) -> None:
        """From now on, the session executes commands."""
        watcher, parts = self.watcher, self._experiment_session
        self._undo = UndoStack(
            watcher.clock, partial(levels_of, watcher.settings, watcher.hardware, parts.load)
        )
        watcher.dispatcher.session = SteeredSession(
            settings=watcher.settings,
            lifecycle=watcher.lifecycle,
            log=watcher.log,
            laboratory=self.laboratory,
            parts=parts,
            interventions=watcher.interventions,
            instruments=watcher.instruments,
            activity_monitor=watcher.activity_monitor,
            statement_monitor=watcher.statement_monitor,
            watch_time=watcher.sampler.watch_time,
            record_cpu_profile=lambda seconds: watcher.profiling.record(seconds),
            command_running=self.effect_tracker.command_running,
            undo=self._undo,
            submit=self.submit,
            steered_load=load,
        )

    # Experiments

    @property
    def laboratory(self) -> Laboratory:
        return self.effect_tracker.laboratory

    def _with_experiments(self, hello: Hello) -> Hello:
        """The greeting of a viewer with the state of the experiments."""
        for kind, begun in self.laboratory.by_kind().items():
            hello = kind.in_hello(hello, begun[-1])
        return hello

    def _status_with_experiments(self, status: Status) -> Status:
        for kind, begun in self.laboratory.by_kind().items():
            status = kind.in_status(status, begun[-1])
        return status

    def _with_results(self, summary: Summary) -> Summary:
        """The summary with the results of the experiments."""
        for kind, begun in self.laboratory.by_kind().items():
            summary = kind.in_summary(summary, begun, self.watcher.not_restored)
        return summary

    async def _plan_experiment(self) -> None:
        """Prepare the plan's experiment before the load starts. Raises TuibenchError if it is impossible."""
        for kind in experiment_kinds() if self.spec.plan.has_experiment else ():
            if (experiment := await kind.of_plan(self._experiment_session)) is not None:
                await self.laboratory.plan(experiment)

    # End

    async def _end(self) -> Summary:
        """End the load and restore the settings, in this order; then compute the summary. Every step runs."""
        watcher = self.watcher
        steps = (
            self._end_effects,
            self._stop,
            self._end_load,
            watcher.restore,
            watcher.close_instruments,
            watcher.tasks.close,
            self.laboratory.finish,
            watcher.activity_monitor.close,
            watcher.statement_monitor.close,
            self._read_last,
            watcher.close,
            self._announce_end,
            self._write_summary,
            watcher.bus.close,
            self._ended,
        )
        await run_steps(steps, watcher.lifecycle.fail)
        # A summary that cannot be built is replaced by a bare one with the error.
        lifecycle = self.watcher.lifecycle
        summary = self._summary
        if summary is None:
            summary = self._bare_summary()
            self.watcher.bus.recorder.summary(summary)
        if lifecycle.error is None or summary.outcome == lifecycle.outcome:
            return summary
        return replace(summary, outcome=lifecycle.outcome, failure=str(lifecycle.error))

    async def _end_effects(self) -> None:
        self.watcher.lifecycle.over.set()
        self.effect_tracker.end()

    async def _stop(self) -> None:
        self.watcher.lifecycle.set_state(RunState.STOPPING)

    async def _end_load(self) -> None:
        """End the load, if there is one, and report the last stalls."""
        self.effect_tracker.end_stalls()

    @abstractmethod
    async def _read_last(self) -> None:
        """Read the server's counters for the last time."""

    async def _announce_end(self) -> None:
        self.watcher.publish_status()
        self.watcher.emit(EventKind.STOP, f"{self.watcher.lifecycle.outcome} after {self.seconds:.1f} s")

    @abstractmethod
    async def _write_summary(self) -> None:
        """Build the summary and write it to the record."""

    async def _ended(self) -> None:
        self.watcher.lifecycle.set_state(RunState.ENDED)

    def _bare_summary(self) -> Summary:
        """The summary without figures."""
        return self._with_outcome(
            summary_of(self.watcher.record, Tick(seconds=self.seconds), is_traffic=self.spec.plan.is_watch)
        )

    def _with_outcome(self, summary: Summary) -> Summary:
        """The summary with the end of the run, which needs nothing that may have failed."""
        lifecycle = self.watcher.lifecycle
        return replace(
            summary,
            threads=0,
            rate=0.0,
            outcome=lifecycle.outcome,
            failure=str(lifecycle.error) if lifecycle.error else "",
            events=tuple(self.watcher.log.events),
            client=replace(summary.client, engine=EngineChoice.ASYNCIO),
            not_restored=lifecycle.not_restored,
        )

    def _with_findings(self, summary: Summary) -> Summary:
        """The summary with the end of the run, and with what is not in its ticks."""
        tracker, deltas = self.effect_tracker, counter_deltas(*self._readings) or {}
        found = replace(
            self._with_outcome(summary),
            server=replace(summary.server, deltas=deltas),
            reconciliation=reconcile(
                summary.reconciliation, *self._readings, is_complete=summary.is_complete
            ),
            effects=tuple(tracker.effects),
            costs=tracker.costs,
            steadiness=tracker.steadiness,
            hot_rows=self.watcher.sampler.hot_rows,
            slowest=tracker.slowest,
            operation_cost=tracker.operation_cost,
            replication=self.watcher.lag.total(),
        )
        return self._with_results(found)

    def _traffic_summary(self) -> Summary:
        """The summary of the traffic of the server's clients."""
        found = self._with_findings(summary_of(self.watcher.record, self.total, is_traffic=True))
        return found if found.transactions.total else replace(found, steadiness=None)


class WatchRun(SessionRun):
    """A session without load."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        plan = spec.plan
        if plan.trial is not None and plan.trial.subject == THREADS:
            raise UsageError(NO_LOAD_REFUSAL, "compare two values of a setting or a preset")
        super().__init__(spec, Watcher(spec, clock))

    async def __aenter__(self) -> "WatchRun":
        """Connects, reads the settings, opens the record. Raises a TuibenchError if that is not possible."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.watcher)
            watcher = self.watcher
            self.effect_tracker = self._make_effect_tracker(None)
            self._accept_commands(None)
            watcher.bus.event_listeners.append(self.effect_tracker.on_event)
            watcher.on_tick = self._on_tick
            watcher.extend_status = self._extend_status
            await self._plan_experiment()
            await self.watcher.start_recording()
            self._stack = stack.pop_all()
        return self

    async def _measure(self) -> None:
        await self.watcher.watch()

    @property
    def seconds(self) -> float:
        return self.total.seconds

    @property
    def total(self) -> Tick:
        return self.watcher.account.total()

    def text(self, summary: Summary) -> str:
        return watch_text(summary)

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        hello = self.watcher.hello(samples, with_events=with_events)
        return self._with_experiments(replace(hello, costs=self.effect_tracker.costs))

    def _extend_status(self, status: Status) -> Status:
        found = replace(status, effect=self.effect_tracker.effect_progress, undo=self._undo.texts)
        return self._status_with_experiments(found)

    def _on_tick(self, sample: Sample, observed: TickObservation) -> None:
        """Passes a tick on to the interval lines and the effects."""
        if observed.traffic is None:
            self.effect_tracker.gap(NOT_COUNTED if self.watcher.is_traffic_uncounted else NO_ANSWER)
            return
        self.watcher.bus.interval(sample.tick)
        self.effect_tracker.tick(sample)

    # End

    async def _read_last(self) -> None:
        """Counts the traffic after the last tick that had an answer."""
        self._readings = await self.watcher.sampler.end(0)
        self.watcher.add_last_readings()

    async def _write_summary(self) -> None:
        self._summary = self._traffic_summary()
        self.watcher.bus.recorder.summary(self._summary)

    def _with_outcome(self, summary: Summary) -> Summary:
        warnings = (f"{NOT_COUNTED}: no traffic",) if self.watcher.is_traffic_uncounted else ()
        return replace(super()._with_outcome(summary), warnings=warnings)
