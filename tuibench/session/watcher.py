"""A session without load: watches a server, records it, changes its settings and restores them.

    async with Watcher(spec) as watcher:      connects, reads the settings, takes its connections
        await watcher.run()                   samples until the session is over

A run with load stands on top of it (`load_run`): it samples by its own ticks, and adds what it knows of its
load to the status. Leaving the context restores the settings, closes the record and the connections; each of
these steps runs whatever the others did, and an error of one ends the session as failed.
"""

import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial

from msgspec.structs import replace

from tuibench.clock import NS_PER_SECOND, Clock, ScheduledTick, SystemClock, ticks
from tuibench.load.workers.fleet import Fleet
from tuibench.model.command import Command, PollCommand
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import Hello, RunState, Status
from tuibench.model.server import ServerInfo
from tuibench.model.tick import Tick, total_tick
from tuibench.observe.activity.statements import StatementSampler
from tuibench.session.control.production_guard import ProductionGuard
from tuibench.session.control.session_commands import SessionCommands
from tuibench.session.control.settings import Settings
from tuibench.session.events.event_bus import EventBus, SessionRecorder
from tuibench.session.events.event_log import EventLog
from tuibench.session.events.hello import build_hello, history_fields
from tuibench.session.lifecycle.closing import ClosingStep, run_steps
from tuibench.session.lifecycle.lifecycle import Lifecycle
from tuibench.session.lifecycle.private_server import PrivateServerWatch
from tuibench.session.lifecycle.tasks import BackgroundTasks
from tuibench.session.lifecycle.ticking import ticks_until
from tuibench.session.preflight import identify_server
from tuibench.session.sampling.activity_monitor import ActivityMonitor
from tuibench.session.sampling.sampler import Sampler, TickObservation
from tuibench.session.sampling.statement_monitor import StatementMonitor
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.lag_totals import LagTotals
from tuibench.workload.program.program import Program

REMAINDER_SHARE = 0.05
"""At its end, a session samples what came after its last tick, if that is longer than this part of a tick."""

SERVER_ENDED = "The private server has ended, and its settings with it: there was nothing to restore"

Identify = Callable[[], Awaitable[tuple[ServerInfo, tuple[str, ...]]]]
"""Says what the server is, and which signs of a production server it shows."""


class Watcher(AbstractAsyncContextManager["Watcher"]):
    """One session on one server. `fleet` holds the workers of a load on top of it, None without one.

    `extend_status` adds what the load knows to each status. `on_tick` gets each sample that the watcher takes
    by its own ticks.
    """

    def __init__(
        self, spec: SessionSpec, clock: Clock | None = None, identify: Identify | None = None
    ) -> None:
        self.spec = spec
        self.clock = clock or SystemClock()
        self.viewer_pids: set[int] = set()
        self.fleet: Fleet | None = None
        self.extend_status: Callable[[Status], Status] = lambda status: status
        self.on_tick: Callable[[Sample, TickObservation], None] = lambda sample, observed: None
        self.bus = EventBus(SessionRecorder(spec, self.clock, partial(self.emit, EventKind.WARNING)))
        self.log = EventLog(self.clock, self.bus.event)
        self.lifecycle = Lifecycle(self.log, self.publish_status)
        self.tasks = BackgroundTasks(self.lifecycle.fail)
        self._private_server = PrivateServerWatch(spec.private_server, self.clock)
        self.server: ServerInfo
        self.settings: Settings
        self.sampler: Sampler
        self.activity_monitor: ActivityMonitor
        self.statement_monitor: StatementMonitor
        self._commands: SessionCommands
        self._identify = identify or partial(identify_server, spec.target, self.clock)
        self._stack = AsyncExitStack()
        self._steps: list[ClosingStep] = []
        self._is_restored = self._is_closed = False
        self.not_restored = ""
        self.total = Tick()
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
            self.settings = await Settings.open(self.spec, self.server, guard, self.clock, self.emit)
            self._steps = [self._stop, self.restore, self.tasks.close, self.settings.close]
            stack.push_async_callback(self._close_all)
            self._assemble()
            await self.sampler.log_in()
            if self._private_server.is_needed:
                self.tasks.start(self._private_server.until_end(), "private server")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _assemble(self) -> None:
        """Makes what samples the server; nothing is sent yet."""
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
        )
        self.sampler.own_changes = lambda: self.settings.changes
        self.activity_monitor = ActivityMonitor.of(
            self.spec,
            self.server,
            self._own_connections,
            self.bus.publish,
            self.clock,
            self._expect_kill,
            self.tasks.start,
        )
        self.statement_monitor = StatementMonitor(
            StatementSampler(self.spec.target, self.clock, self.server.flavour),
            self.bus.publish,
            self.clock,
            self.tasks.start,
        )
        self.bus.event_listeners.append(self.statement_monitor.on_event)
        self._commands = SessionCommands(
            self.settings, self.activity_monitor, self.statement_monitor, self.lifecycle, self.emit
        )
        self._steps[-1:-1] = [self.activity_monitor.close, self.statement_monitor.close, self.sampler.close]

    async def start_recording(self, program: Program | None = None) -> None:
        """Begins the record. Raises RunError if it cannot be written."""
        await self.bus.recording.open(self.server, program)

    async def run(self) -> None:
        """Records and samples until the session is over, then restores the settings."""
        try:
            await self.start_recording()
            await self.watch()
        except Exception as error:
            self.lifecycle.fail(error)
        finally:
            await self.close()

    async def submit(self, command: Command) -> str:
        """Executes a command; returns the reply as text. Raises TuibenchError for a refusal."""
        try:
            return await self._commands.execute(command)
        finally:
            if not isinstance(command, PollCommand):
                self.publish_status()

    async def observe(self, tick: int, transactions_total: int | None = None) -> TickObservation:
        """Samples server and host, and reports what was noticed."""
        own = self.own_statements
        observed = await self.sampler.observe(tick, transactions_total, self.settings.ours, own)
        self.lag.add(observed.replicas.samples)
        if observed.server is not None:
            self.is_traffic_uncounted = Counter.QUESTIONS not in observed.server.levels
        return observed

    async def report(self, observed: TickObservation) -> None:
        """Emits the events of a tick, and reads the settings again where others changed some."""
        for kind, text in observed.events:
            self.emit(kind, text)
        if observed.settings_changed or self.settings.is_behind:
            for text in await self.settings.catch_up(restarted=observed.restarted):
                self.emit(EventKind.RESTORE, text)

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        """The first message to a viewer, with up to `samples` past samples."""
        now = build_hello(self.spec, self.server, self.status())
        return replace(now, **history_fields(self.log, self.bus.history, samples, with_events=with_events))

    def status(self) -> Status:
        """What holds now."""
        return self.extend_status(
            Status(
                state=self.lifecycle.state,
                threads=0,
                workers=0,
                settings=self.settings.states,
                presets=self.settings.presets,
                production_signs=self.settings.guard.signs,
            )
        )

    def publish_status(self) -> None:
        self.bus.publish(self.status())

    def emit(self, kind: EventKind, text: str) -> None:
        self.log.emit(kind, text)

    @property
    def own_statements(self) -> int:
        """Statements of settings and activity monitor; sampling counts its own."""
        ours = self.settings.statements + self.activity_monitor.statements
        return ours + self.sampler.replica_statements + self.statement_monitor.statements

    async def restore(self) -> None:
        """Restores the settings, once: a server that is away has been waited for.

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
        if left := self.settings.not_restored:
            self.not_restored = f"Not restored: {', '.join(left)}; the events have the reason"

    async def close(self) -> None:
        """Restores the settings, ends the tasks and closes the connections. Harmless to repeat."""
        if self._is_closed:
            return
        self._is_closed = True
        await run_steps(self._steps, self.lifecycle.fail)

    async def _close_all(self) -> None:
        await run_steps((self.close, self.bus.recording.close, self._ended), self.lifecycle.fail)

    async def _stop(self) -> None:
        self.lifecycle.over.set()
        if not self.lifecycle.is_ending:
            self.lifecycle.set_state(RunState.STOPPING)

    async def _ended(self) -> None:
        if self.lifecycle.state is not RunState.ENDED:
            self.lifecycle.set_state(RunState.ENDED)

    async def watch(self) -> None:
        """Samples until the time of the plan is up or the session is over. The record must be open."""
        await self.sampler.begin(self.own_statements)
        start_ns = self.clock.now_ns()
        self.log.start(start_ns)
        self.emit(EventKind.START, f"watching {self.server.where}")
        self.lifecycle.set_state(RunState.RUNNING)
        plan = self.spec.plan
        interval_ns = int(plan.interval_seconds * NS_PER_SECOND)
        end_ns = start_ns + int(plan.seconds * NS_PER_SECOND) if plan.seconds else None
        schedule = ticks(self.clock, start_ns, interval_ns, end_ns)
        last = ScheduledTick(0, start_ns, 0)
        async for last in ticks_until(self.lifecycle.over, schedule):
            await self._tick(last)
        now_ns = self.clock.now_ns()
        if now_ns - last.due_ns > REMAINDER_SHARE * interval_ns and self.lifecycle.error is None:
            await self._tick(ScheduledTick(last.number + 1, now_ns, 0))

    def count(self, sample: Sample) -> None:
        """Add a measured sample to the total of server and host."""
        self.total = total_tick((self.total, replace(sample.tick, hists={}, missing={})))

    async def _tick(self, tick: ScheduledTick) -> None:
        observed = await self.observe(tick.number)
        sample = Sample(
            number=tick.number,
            at=self.clock.wall_seconds(),
            late_ms=tick.late_ns / 1e6,
            tick=observed.tick(self.log.elapsed_at(tick.due_ns), None, shows_traffic=True),
            shows_traffic=True,
            replicas=observed.replicas.samples,
        )
        self.bus.sample(sample)
        self.count(sample)
        self.activity_monitor.tick()
        self.on_tick(sample, observed)
        await self.report(observed)

    async def _own_connections(self) -> set[int]:
        """The server's ids of all connections of this session."""
        load = await self.fleet.connection_ids() if self.fleet is not None else set()
        return (
            load
            | self.sampler.connection_ids
            | self.settings.connection_ids
            | self.statement_monitor.connection_ids
        )

    async def _expect_kill(self, connection_id: int) -> None:
        if self.fleet is not None:
            await self.fleet.expect_kill(connection_id)

    def _own_pids(self) -> set[int]:
        workers = self.fleet.pids if self.fleet is not None else []
        return {os.getpid(), *workers, *self.viewer_pids, self.settings.guardian_pid} - {0}
