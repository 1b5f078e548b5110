"""A run: a load on a watched server, its measuring, its plan and probe, and the effects of its changes.

async with LoadRun(spec) as run:     preflight check, workers, watcher
    summary = await run.run()        connections ──> warm-up ──> measuring ──> end
"""

from contextlib import AsyncExitStack

from msgspec.structs import replace

from tuibench.clock import Clock
from tuibench.diagnosis.measurement_warnings import measurement_warnings, simulated_network_warning
from tuibench.errors import UsageError
from tuibench.load.engine.choice import choose, choose_before_login
from tuibench.model.command import (
    AbTestCommand,
    Command,
    LoadCommand,
    ResumePlan,
    SetPlan,
    StartAbTest,
    StartProbe,
    StartTune,
    TuneCommand,
)
from tuibench.model.event import EventKind
from tuibench.model.message import Hello, Status
from tuibench.model.results.summary import Summary
from tuibench.model.schedule import PlanPhase, checked_threads
from tuibench.model.server import ServerInfo
from tuibench.model.tick import Tick, total_tick
from tuibench.record.report.addenda import addenda
from tuibench.record.report.watch_report import watch_text
from tuibench.record.sysbench_report import report_text
from tuibench.session.control.lag_guard import LagGuard
from tuibench.session.control.load_commands import LoadChanges, LoadCommands
from tuibench.session.load.hosts import host_totals, make_fleet
from tuibench.session.load.load_controller import LoadController
from tuibench.session.measuring import MeasuringLoop
from tuibench.session.plan.runner import DueChanges, PlanRunner
from tuibench.session.preflight import run_preflight
from tuibench.session.probe.runner import LoadLevel, ProbeRunner
from tuibench.session.run import SessionRun
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.report_aggregation import LoadTotals
from tuibench.session.totals.run_summary import RunEnding, build_summary
from tuibench.session.totals.watch_totals import build_watch_summary
from tuibench.session.watcher import Watcher
from tuibench.workload import library
from tuibench.workload.datasets import build_data_set

MOVES_LOAD = (StartProbe, SetPlan, ResumePlan)
"""Commands that would move the load during an experiment."""


class LoadRun(SessionRun):
    """A load, and all that it needs."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        checked_threads(spec.plan.most_threads, least=0 if spec.plan.starts_idle else 1)
        super().__init__(spec, Watcher(spec, clock, self._identify))
        plan = spec.plan
        self.program = library.load_program(plan.profile, plan.profile_options, plan.profile_text)
        self.engine = choose_before_login(
            plan.engine, self.program, reconnect=plan.reconnect, users=plan.users
        )
        self.load: LoadController
        self.plan_runner: PlanRunner
        self.probe_runner: ProbeRunner
        self.measuring: MeasuringLoop
        self._changes: LoadChanges
        self._commands: LoadCommands
        self._warnings: tuple[str, ...] = ()
        self._host_warnings: tuple[str, ...] = ()
        self._is_load_ended = False

    async def __aenter__(self) -> "LoadRun":
        """Check that the run is possible, start the workers, open the record.

        Raises a TuibenchError with the reason; everything is cleaned up then.
        """
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._end_workers)
            await stack.enter_async_context(self.watcher)
            stack.push_async_callback(self._end_workers)
            self._assemble()
            await self._plan_experiment()
            await self.watcher.start_recording(self.program)
            self.load.checkpoint_listeners.append(self.watcher.bus.recording.report)
            self._stack = stack.pop_all()
        return self

    async def _measure(self) -> None:
        await self._open_connections()
        await self.measuring.warm_up()
        await self.measuring.measure()

    async def submit(self, command: Command) -> str:
        with self.effect_tracker.command_running():
            if isinstance(command, AbTestCommand | TuneCommand):
                if isinstance(command, StartAbTest | StartTune):
                    self._require_steady_load()
                return await self._experiment(command)
            present = self.laboratory.present
            if isinstance(command, MOVES_LOAD) and present is not None and present.is_by_hand:
                raise UsageError(
                    f"{present.name} is running; its load must not be changed",
                    f"end the {present.called} first",
                )
            if not isinstance(command, LoadCommand):
                return await self.watcher.submit(command)
            try:
                return await self._commands.execute(command)
            finally:
                self.watcher.publish_status()

    def _require_steady_load(self) -> None:
        """Raises UsageError while a probe or a plan moves the load."""
        plan = self.plan_runner.state
        if self.probe_runner.is_under_way:
            raise UsageError("a probe is running", "end it first")
        if plan is not None and plan.phase in (PlanPhase.RUNNING, PlanPhase.WAITING):
            raise UsageError("the load follows a plan; a test needs a constant load", "hold it first")

    @property
    def seconds(self) -> float:
        return self.load.seconds

    @property
    def tick(self) -> Tick:
        """The load's totals, which include what came after the last sample, with those of server and host."""
        sampled, load = self.watcher.total, total_tick((Tick(), self.load.accounting.run.tick()))
        rest = {name: value for name, value in sampled.sums.items() if name not in load.sums}
        return replace(sampled, seconds=self.seconds, sums=rest | load.sums, arrears={}, hists=load.hists)

    def text(self, summary: Summary) -> str:
        """The summary for the terminal; like sysbench's it begins at the last checkpoint. It is that of the
        server's traffic for a load that never had a thread.
        """
        if summary.watched is not None:
            return watch_text(summary)
        return report_text(self.load.since_checkpoint()) + addenda(summary)

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        return replace(
            self.watcher.hello(samples, with_events=with_events),
            data_set=self.data_set,
            costs=self.effect_tracker.costs,
            headline=self.load.headline,
            probe=self.probe_runner.state,
            tune=self.tune_progress,
            engine=self.engine.name,
            engine_reason=self.engine.reason,
        )

    @property
    def data_set(self) -> str:
        """A description of the tables."""
        return build_data_set(self.program).describe()

    # The beginning

    async def _identify(self) -> tuple[ServerInfo, tuple[str, ...]]:
        plan, target = self.spec.plan, self.spec.target
        server, found = await run_preflight(target, plan, self.program, self._start_workers)
        self._warnings = (*found.warnings, *self._host_warnings)
        return server, found.signs

    async def _start_workers(self, server: ServerInfo) -> None:
        plan, target = self.spec.plan, self.spec.target
        engine = await choose(plan.engine, self.program, target, reconnect=plan.reconnect, users=plan.users)
        made = await make_fleet(self.spec, self.program, engine, server, self.watcher.clock)
        self.engine, self._host_warnings = made.engine, made.warnings
        self.watcher.fleet = made.fleet
        self.load = LoadController(self.spec.plan, self.program, made.fleet, self.watcher.clock)
        await made.fleet.start()

    def _assemble(self) -> None:
        """Connect the parts; workers and watcher exist already."""
        watcher, plan = self.watcher, self.spec.plan
        log, lifecycle, publish = watcher.log, watcher.lifecycle, watcher.bus.publish
        watcher.settings.control_load(self.load.fleet.set_session)
        self._changes = LoadChanges(self.load, lifecycle, watcher.emit)
        self.plan_runner = PlanRunner(plan.schedule, log, watcher.clock, self._follow_plan)
        self.probe_runner = ProbeRunner(
            plan,
            self.spec.target,
            watcher.server.is_local,
            self.load,
            self.plan_runner,
            lifecycle,
            log,
            publish,
            self._set_level,
            watcher.tasks.start,
            lambda: watcher.settings.states,
        )
        self.effect_tracker = self._make_effect_tracker(self.load)
        self.measuring = MeasuringLoop(
            watcher,
            self.load,
            self.engine,
            self.plan_runner,
            self.effect_tracker,
            self.probe_runner,
            LagGuard(self.spec.plan.max_lag_seconds, self.submit, watcher.emit, watcher.tasks.start),
        )
        self._commands = LoadCommands(
            self._changes,
            self.plan_runner,
            self.probe_runner,
            self.measuring.reset_stats,
        )
        watcher.bus.event_listeners += (self.effect_tracker.on_event, self.probe_runner.on_event)
        watcher.statement_monitor.own = lambda: self.load.accounting.statements
        watcher.extend_status = self._extend_status

    async def _open_connections(self) -> None:
        """Opens the connections while the load is held."""
        for warning in (*self._warnings, *simulated_network_warning(self.load.client_delay_ms)):
            self.watcher.emit(EventKind.WARNING, warning)
        self.measuring.emit_refused(await self.load.open(self.watcher.lifecycle.over.is_set))

    def _extend_status(self, status: Status) -> Status:
        weights = self.load.weights
        return replace(
            status,
            threads=self.load.threads,
            rate=self.load.rate,
            weights=weights if len(weights) > 1 else {},
            client_delay_ms=self.load.client_delay_ms,
            workers=self.load.fleet.worker_count,
            ab=self.ab_so_far,
            effect=self.effect_tracker.effect_progress,
            plan=self.plan_runner.state,
            warnings=(*self._warnings, *self.measuring.limit.active_warnings),
        )

    async def _follow_plan(self, due: DueChanges) -> None:
        await self._changes.follow(due)
        self.watcher.publish_status()

    async def _set_level(self, level: LoadLevel) -> None:
        await self._changes.set_level(*level)
        self.watcher.publish_status()

    # The end

    async def _end_load(self) -> None:
        self._is_load_ended = True
        async with self.measuring.tick_lock:
            try:
                await self.load.finish(self.spec.drain_seconds)
            finally:
                self.effect_tracker.end_stalls(self.measuring.completion_gaps)

    async def _end_probe(self) -> None:
        await self.probe_runner.close(self.watcher.lifecycle.outcome)

    async def _read_last(self) -> None:
        questions = self.load.accounting.totals.questions
        sampler, watched = self.watcher.sampler, self.measuring.watched_alone
        self._readings = await sampler.end(self.watcher.own_statements, questions)
        if watched is not None:
            watched.add_last(sampler.last_observations)

    async def _write_summary(self) -> None:
        server, watched, ending = self.watcher.server, self.measuring.watched_alone, self._ending()
        if watched is None:
            self._summary = build_summary(self.spec, server, self.load.accounting, ending)
        else:
            alone = replace(ending, seconds=watched.tick.seconds, headline=None)
            self._summary = build_watch_summary(self.spec, server, watched, alone)
        self.watcher.bus.recording.summary(self._summary, self.load)

    def _bare_summary(self) -> Summary:
        return build_summary(self.spec, self.watcher.server, LoadTotals(), self._bare_ending())

    async def _end_workers(self) -> None:
        """Ends the workers of a load that was never run."""
        if self.watcher.fleet is not None and not self._is_load_ended:
            self._is_load_ended = True
            await self.watcher.fleet.kill()

    def _bare_ending(self) -> RunEnding:
        return replace(
            super()._bare_ending(),
            threads=self.load.threads,
            rate=self.load.rate,
            workers=self.load.fleet.worker_count,
            is_complete=False,
            client_delay_ms=self.load.max_client_delay_ms,
            warnings=self._warnings,
            engine=self.engine,
        )

    def _ending(self) -> RunEnding:
        load, limit = self.load, self.measuring.limit
        return replace(
            super()._ending(),
            is_complete=not load.unresponsive and not any(loss.is_host for loss in load.fleet.losses),
            limited=limit.overall,
            warnings=(
                *self._warnings,
                *measurement_warnings(load.max_client_delay_ms, limit, load.unresponsive),
                *(loss.warning for loss in load.fleet.losses),
            ),
            probe=self.probe_runner.result,
            headline=load.headline,
            kinds=tuple(load.weights),
            hosts=host_totals(load),
        )
