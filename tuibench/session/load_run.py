"""A run with a load: its workers on a watched server, its measurement, plan, experiments, and end.

    async with LoadRun(spec) as run:     preflight check, workers, watcher
        summary = await run.run()        connections ──> warm-up ──> measurement ──> end

A sample never overlaps with another one, or with the end of the load. A reset or a checkpoint ends a sample:
the samples after it are of the new figures. After a reset, client and server count from the same transaction:
the load is held and drained, both sides are read, then it continues.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND, Clock, ScheduledTick, ticks
from tuibench.base.errors import RunError, UsageError
from tuibench.base.units import pluralize
from tuibench.load.messages import CompletionGaps
from tuibench.load.native_engine import Chosen, choose, choose_before_login
from tuibench.metrics.measurement_warnings import (
    ClientLimit,
    measurement_warnings,
    simulated_hardware_warning,
    simulated_network_warning,
    time_limit_warning,
    warning_name,
)
from tuibench.model.event import EventKind
from tuibench.model.message import (
    Hello,
    RunState,
    SessionSpec,
    Status,
)
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import checked_threads
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Fairness, Summary
from tuibench.model.tick import RESPONSE, STATEMENT, Sample, Tick
from tuibench.observe.tally import TallyReader
from tuibench.observe.wait_detail import transactions_by_statement
from tuibench.record.summary import summary_of
from tuibench.record.sysbench_report import FullReport, full_report, report_text
from tuibench.report.analysis import addenda
from tuibench.report.text import watch_text
from tuibench.session.account import Cut
from tuibench.session.dispatch import Origin, SteeredLoad
from tuibench.session.effects import EffectTracker
from tuibench.session.lifecycle import cancel_all, ticks_until
from tuibench.session.load import LoadController, LoadTick, host_totals, make_fleet
from tuibench.session.preflight import run_preflight
from tuibench.session.replicas import LagGuard
from tuibench.session.run import SessionRun, Watcher
from tuibench.session.sampling import TickObservation
from tuibench.session.timeline import PlanRunner
from tuibench.workload import library, script
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import flat_statements


class MeasuringLoop:
    """The ticks of one run."""

    def __init__(
        self,
        watcher: Watcher,
        load: LoadController,
        engine: Chosen,
        plan_runner: PlanRunner,
        effect_tracker: EffectTracker,
        lag_guard: LagGuard | None,
    ) -> None:
        self.limit = ClientLimit()
        """Detects a run whose client is the bottleneck."""
        self._watcher = watcher
        self._lifecycle = watcher.lifecycle
        self._plan = watcher.spec.plan
        self._shows_traffic = self._plan.shows_traffic
        self._drain_seconds = watcher.spec.drain_seconds
        self._load = load
        self._engine = engine
        self._plan_runner = plan_runner
        self._effect_tracker = effect_tracker
        self._lag_guard = lag_guard
        self.checkpoint_listeners: list[Callable[[FullReport], None]] = []
        """They get the full reports of checkpoints."""
        self._account = watcher.account
        self._checkpoint_seconds = 0.0
        self._ticked = 0
        self._sampled_ns = 0
        self._has_had_threads = False

    @property
    def is_watched_alone(self) -> bool:
        """True for a load that never had a thread: the session shows the server's traffic."""
        has_worked = self._has_had_threads or self._load.reported.transactions > 0
        return self._plan.starts_idle and not has_worked

    @property
    def total(self) -> Tick:
        """The sum since the last reset. It is that of the load, over its measured time; if the session is
        `is_watched_alone`, that of the server's traffic.
        """
        total = self._account.since(Cut.RESET)
        if self.is_watched_alone:
            return total
        peaks = total.peaks | {"outage_seconds": self._effect_tracker.outage_seconds}
        return replace(total.of_load, seconds=self._load.seconds, peaks=peaks)

    @property
    def since_checkpoint(self) -> Tick:
        """The load's sum since the last checkpoint; since the last reset if there was none after it."""
        seconds = self._load.seconds - self._checkpoint_seconds
        return replace(self._account.since(Cut.CHECKPOINT).of_load, seconds=seconds)

    def full_report(self) -> FullReport:
        """The figures since the last checkpoint so far, as sysbench reports them at a checkpoint and at the
        end.
        """
        fairness = Fairness(**self._load.reported.fairness_since_checkpoint.moments)
        return full_report(self.since_checkpoint, self._load.seconds, self._plan.percentiles, fairness)

    @property
    def completion_gaps(self) -> CompletionGaps | None:
        """The times without a completed transaction; None if the run shows the server's traffic."""
        return None if self._shows_traffic else self._load.reported.completion_gaps

    async def warm_up(self) -> None:
        """Run for a time without measuring, then drain: no transaction is in flight or due when the
        measurement starts.
        """
        seconds = self._plan.warmup_seconds
        if not seconds or self._lifecycle.over.is_set():
            return
        log = self._watcher.log
        begun_ns = await self._load.begin()
        log.start(begun_ns + int(seconds * NS_PER_SECOND))
        self._lifecycle.set_state(RunState.WARMING)
        self._load.resume()
        await self._tick_until(begun_ns, log.zero_ns)
        await self._load.drain(self._drain_seconds)

    async def measure(self) -> None:
        """The measured part: from the server's first reading until the time is up or all work is done."""
        watcher, plan = self._watcher, self._plan
        self.limit = ClientLimit()
        await watcher.sampler.begin()
        zero_ns = await self._load.begin()
        self._account.cut(Cut.START)
        watcher.log.start(zero_ns)
        if self._lifecycle.over.is_set():
            return
        self._load.resume()
        # The event also says why the engine is not the native one.
        engine = self._engine
        note = f" on the {engine.name} engine: {engine.reason}" if engine.reason else ""
        threads = pluralize(self._load.threads, "thread")
        watcher.emit(EventKind.START, f"{self._plan.profile} with {threads}{note}")
        watcher.interventions.schedule()
        self._lifecycle.set_state(RunState.RUNNING)
        end_ns = self._lifecycle.end_ns(zero_ns, plan.seconds)
        checkpoints = [zero_ns + seconds * NS_PER_SECOND for seconds in plan.checkpoints]
        tasks = (
            watcher.tasks.start(self._wait_for_work(), "work"),
            watcher.tasks.start(self._plan_runner.run(), "plan"),
        )
        try:
            await self._tick_until(zero_ns, end_ns, checkpoints)
        finally:
            await cancel_all(tasks)

    async def reset_stats(self) -> None:
        """Reset the run's figures; its time axis, samples and end do not change."""
        watcher = self._watcher
        async with self._load.tick_lock:
            if self._plan.events is not None:
                raise UsageError("the figures of a run with --events cannot be reset")
            if self._lifecycle.over.is_set():
                raise UsageError("the run is ending; nothing can be changed any more")
            try:
                # Hold the load until no transaction is in flight, read both sides, and leave it held.
                await self._load.drain(self._drain_seconds)
                await self._tick(ScheduledTick(0, watcher.clock.now_ns(), 0))
                await watcher.sampler.reset_stats(self._load.reported.transactions)
                self._load.reset_stats()
                self._account.cut(Cut.RESET)
                self._checkpoint_seconds = 0.0
                self.limit = ClientLimit()
            finally:
                if self._lifecycle.state is RunState.RUNNING:
                    self._load.resume()

    def emit_refused(self, text: str) -> None:
        """Reports that the server refused connections; the run continues with the others."""
        if text:
            self._watcher.emit(EventKind.THREADS, text)
            self._watcher.publish_status()

    async def _wait_for_work(self) -> None:
        """Ends the run as soon as its limit of transactions is reached."""
        await self._load.fleet.finished()
        self._lifecycle.over.set()

    async def _tick_until(self, start_ns: int, end_ns: int | None, checkpoints: Sequence[int] = ()) -> None:
        """Ticks until the end, or until the run is over."""
        interval_ns = int(self._plan.interval_seconds * NS_PER_SECOND)
        schedule = ticks(self._watcher.clock, start_ns, interval_ns, end_ns, checkpoints)
        async for tick in ticks_until(self._lifecycle.over, schedule):
            async with self._load.tick_lock:
                # While a reset drained the load, it has taken the sample of a tick that came due.
                if tick.due_ns > self._sampled_ns:
                    await self._tick(tick)
                elif tick.is_extra:
                    await self._tick(ScheduledTick(0, self._watcher.clock.now_ns(), 0, is_extra=True))

    async def _tick(self, tick: ScheduledTick) -> None:
        """One sample: the load, the server, the host. An extra tick is a checkpoint."""
        watcher = self._watcher
        self._ticked += 1
        self._sampled_ns = tick.due_ns
        self._has_had_threads |= self._load.threads > 0
        measured = await self._load.tick(checkpoint=tick.is_extra)
        own_total = None if self._shows_traffic else self._load.reported.transactions
        observed = await watcher.observe(self._ticked, own_total)
        end, load = watcher.log.elapsed_at(tick.due_ns), measured.tick
        sample = Sample(
            number=self._ticked,
            at=watcher.clock.wall_seconds(),
            late_ms=tick.late_ns / 1e6,
            tick=observed.tick(end, load, shows_traffic=self._shows_traffic),
            shows_traffic=self._shows_traffic,
            slowest=tuple(replace(each, at_seconds=end) for each in measured.slowest) if load else (),
            replicas=observed.replicas,
            hosts=measured.hosts,
            culprit=watcher.sampler.present_culprit,
        )
        self._account.add(sample.tick)
        if tick.is_extra:
            self._report_checkpoint()
        watcher.bus.sample(sample)
        watcher.activity_monitor.tick()
        if self._lifecycle.state is not RunState.WARMING:
            self._evaluate(sample, is_measured=load is not None)
        await self._report(sample, measured, observed)

    def _report_checkpoint(self) -> None:
        report = self.full_report()
        for listener in self.checkpoint_listeners:
            listener(report)
        self._account.cut(Cut.CHECKPOINT)
        self._checkpoint_seconds = report.total_seconds

    def end(self) -> None:
        """Add what the load reported after the last sample."""
        if (remainder := self._load.remainder()) is None:
            return
        end, last = self._watcher.log.elapsed_seconds(), TickObservation(server=None)
        self._account.add(last.tick(end, remainder, shows_traffic=self._shows_traffic))
        self._watcher.bus.recorder.remainder(remainder)

    def _evaluate(self, sample: Sample, *, is_measured: bool) -> None:
        """Passes a measured tick on to the interval lines, the effects and the experiment. They evaluate what
        the run shows: the load, or all of the server's traffic.
        """
        if not is_measured or sample.throughput is None:
            self._effect_tracker.gap()
            return
        self._watcher.bus.interval(sample.tick)
        self._effect_tracker.tick(sample, self.completion_gaps)

    async def _report(self, sample: Sample, measured: LoadTick, observed: TickObservation) -> None:
        """Emits the events of a tick for the operator."""
        await self._watcher.report(observed)
        if self._lag_guard is not None and self._lifecycle.state is not RunState.WARMING:
            self._lag_guard.tick(observed.replicas)
        for kind, text in self._load.alarms.check(measured.tick or Tick()):
            self._watcher.emit(kind, text)
        if measured.tick is not None:
            before = self.limit.raised
            if sample.load is not None:
                self.limit.add(sample.load, sample.client_host or sample.host, sample.hosts)
            if self.limit.raised != before:
                for warning in self.limit.active_warnings:
                    if warning_name(warning) not in before:
                        self._watcher.emit(EventKind.WARNING, warning)
                self._watcher.publish_status()
        self.emit_refused(measured.refused)


class LoadRun(SessionRun):
    """A session with a load."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        checked_threads(spec.plan.most_threads, least=0 if spec.plan.starts_idle else 1)
        super().__init__(spec, Watcher(spec, clock, self._identify))
        plan = spec.plan
        self.program = library.load_program(plan.profile, plan.profile_options, plan.profile_text)
        if (own := self.program.script) is not None:
            own = script.with_general_options(own, spec.target, plan)
            self.program = replace(self.program, script=own)
        self.engine = choose_before_login(plan.engine, self.program)
        self.load: LoadController
        self.plan_runner: PlanRunner
        self.measuring: MeasuringLoop
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
            await self._keep_tally()
            await self._plan_experiment()
            await self.watcher.start_recording(self.program)
            self.measuring.checkpoint_listeners.append(self.watcher.bus.recorder.report)
            self._stack = stack.pop_all()
        return self

    async def _keep_tally(self) -> None:
        """Read the counts that the tables of the load keep, if they do, at every tick."""
        tally, watcher = build_data_set(self.program).TALLY, self.watcher
        if tally is not None:
            interval, target = self.spec.plan.interval_seconds, self.spec.target
            reader = TallyReader(target, tally, watcher.clock, interval, watcher.own)
            await watcher.sampler.keep_tally(reader)

    async def _measure(self) -> None:
        simulated = (
            *simulated_network_warning(self.load.client_delay_ms),
            *simulated_hardware_warning(self.watcher.hardware.used, self.watcher.hardware.used_limits),
        )
        for warning in (*self._warnings, *simulated):
            self.watcher.emit(EventKind.WARNING, warning)
        self.measuring.emit_refused(await self.load.open(self.watcher.lifecycle.over.is_set))
        await self.measuring.warm_up()
        await self.measuring.measure()

    @property
    def seconds(self) -> float:
        return self.load.seconds

    @property
    def total(self) -> Tick:
        return self.measuring.total

    def text(self, summary: Summary) -> str:
        """The summary for the terminal; as sysbench's, it begins at the last checkpoint. For a load that
        never had a thread, it is that of the server's traffic.
        """
        if summary.watched is not None:
            return watch_text(summary)
        return report_text(self.measuring.full_report()) + addenda(summary)

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        hello = replace(
            self.watcher.hello(samples, with_events=with_events),
            data_set=self.data_set,
            costs=self.effect_tracker.costs,
            headline=self.load.headline,
            engine=self.engine.name,
            engine_reason=self.engine.reason,
        )
        return self._with_experiments(hello)

    @property
    def data_set(self) -> str:
        return build_data_set(self.program).describe()

    # Start

    async def _identify(self) -> tuple[ServerInfo, tuple[str, ...]]:
        plan, target = self.spec.plan, self.spec.target
        server, warnings, signs = await run_preflight(target, plan, self.program, self._start_workers)
        self._warnings = (*warnings, *self._host_warnings, *time_limit_warning(plan.callers, server))
        return server, signs

    async def _start_workers(self, server: ServerInfo, plan: RunPlan) -> None:
        engine = await choose(plan.engine, self.program, self.spec.target)
        spec = replace(self.spec, plan=plan)
        made = await make_fleet(spec, self.program, engine, server, self.watcher.clock)
        fleet, self.engine, self._host_warnings = made
        self.watcher.fleet = fleet
        await self._run_of_script(script.INIT)
        self.load = LoadController(self.spec.plan, self.program, fleet, self.watcher.clock)
        await fleet.start()

    async def _run_of_script(self, name: str) -> None:
        """Runs the function that a script has for the time before or after its load."""
        own = self.program.script
        if own is not None and name in script.declared(own).hooks:
            from tuibench.load.script_commands import run_command

            is_prepared = self.spec.plan.prepared
            await run_command(
                self.spec.target, self.program, name, is_prepared=is_prepared, write=lambda _: None
            )

    def _assemble(self) -> None:
        """Connect the parts; workers and watcher exist already."""
        watcher, plan = self.watcher, self.spec.plan
        watcher.sampler.know_transactions(transactions_by_statement(self.program))
        lifecycle = watcher.lifecycle
        watcher.settings.control_load(self.load.fleet.set_session)
        submit = partial(self.submit, origin=Origin.SESSION)
        self.plan_runner = PlanRunner(plan.schedule, self.load, submit, lifecycle, watcher.log, watcher.clock)
        self.effect_tracker = self._make_effect_tracker(self.load)
        most_lag = plan.max_lag_seconds
        guard = LagGuard(most_lag, self.submit, watcher.emit, watcher.tasks.start) if most_lag else None
        self.measuring = MeasuringLoop(
            watcher, self.load, self.engine, self.plan_runner, self.effect_tracker, guard
        )
        self._accept_commands(SteeredLoad(self.load, self.plan_runner, self.measuring.reset_stats))
        watcher.bus.event_listeners.append(self.effect_tracker.on_event)
        watcher.statement_monitor.own = lambda: self.measuring.total.named(STATEMENT)
        watcher.statement_monitor.own_sql = self._sql_of
        watcher.extend_status = self._extend_status

    def _sql_of(self, name: str) -> str:
        """The text of a statement of the load, on its first table; empty if a script makes it."""
        return next((each.sql for each in flat_statements(self.program) if each.name == name), "")

    def _extend_status(self, status: Status) -> Status:
        weights = self.load.weights
        found = replace(
            status,
            threads=self.load.threads,
            rate=self.load.rate,
            weights=weights if len(weights) > 1 else {},
            client_delay_ms=self.load.client_delay_ms,
            callers=self.load.callers,
            workers=self.load.fleet.worker_count,
            effect=self.effect_tracker.effect_progress,
            undo=self._undo.texts,
            plan=self.plan_runner.state,
            warnings=(*self._warnings, *self.measuring.limit.active_warnings),
        )
        return self._status_with_experiments(found)

    # End

    async def _end_load(self) -> None:
        self._is_load_ended = True
        async with self.load.tick_lock:
            try:
                await self.load.finish(self.spec.drain_seconds)
            finally:
                self.measuring.end()
                self.effect_tracker.end_stalls(self.measuring.completion_gaps)
        sums, lifecycle = self.measuring.total.sums, self.watcher.lifecycle
        if self.load.failure is not None and lifecycle.outcome == "done":
            lifecycle.fail(self.load.failure)
        if (of_load := self.program.script) is None or lifecycle.outcome != "done":
            return
        is_begun = self.load.reported.in_flight or sums.get("failed") or sums.get("abandoned")
        if self.load.unresponsive or (is_begun and not sums.get("completed")):
            lifecycle.fail(self._no_event_ended(of_load.path))

    def _no_event_ended(self, path: str) -> RunError:
        """The error that no event of a script was completed, or that its last results are unknown."""
        sums = self.measuring.total.sums
        failures, retries = round(sums.get("failed", 0)), round(sums.get("retries", 0))
        failed, again = pluralize(failures, "event"), pluralize(retries, "time")
        what = "no event ended during the run"
        hint = "an event may be an endless loop; a longer --time names its line after 20 s of computing"
        if self.load.unresponsive:
            what = "a worker does not answer at the end"
        elif failures or retries:
            what = f"no event was completed: {failed} failed, and they were begun again {again}"
            hint = "the report has the errors by code"
        return RunError(f"{path}: {what}", hint)

    async def _read_last(self) -> None:
        is_alone, sums = self.measuring.is_watched_alone, self.total.sums
        questions, unknown = (round(sums.get(name, 0)) for name in ("questions", "unknown_commits"))
        sampler = self.watcher.sampler
        last = await sampler.last_tally(self.load.acknowledged(self.total), unknown)
        self.watcher.account.add(Tick(end=self.watcher.log.elapsed_seconds(), sums=last))
        self._readings = await sampler.end(0 if is_alone else questions)
        await self._run_of_script(script.DONE)
        if is_alone:
            self.watcher.add_last_readings()

    async def _write_summary(self) -> None:
        recorder, measuring = self.watcher.bus.recorder, self.measuring
        if measuring.is_watched_alone:
            self._summary = self._traffic_summary()
        else:
            found = summary_of(
                self.watcher.record,
                self.total,
                workers=self.load.fleet.worker_count,
                kinds=tuple(self.load.weights),
            )
            self._summary = self._with_findings(found)
        recorder.report(measuring.full_report(), measuring.since_checkpoint.hist(RESPONSE), last=True)
        recorder.summary(self._summary)

    async def _end_workers(self) -> None:
        """Ends the workers of a load that was never run."""
        if self.watcher.fleet is not None and not self._is_load_ended:
            self._is_load_ended = True
            await self.watcher.fleet.kill()

    def _with_outcome(self, summary: Summary) -> Summary:
        found, load = super()._with_outcome(summary), self.load
        client = replace(
            found.client,
            workers=load.fleet.worker_count,
            engine=self.engine.name,
            engine_reason=self.engine.reason,
        )
        return replace(
            found,
            threads=load.threads,
            rate=load.rate,
            client=client,
            client_delay_ms=load.max_client_delay_ms,
            warnings=self._warnings,
        )

    def _bare_summary(self) -> Summary:
        return replace(super()._bare_summary(), is_complete=False)

    def _with_findings(self, summary: Summary) -> Summary:
        load, limit = self.load, self.measuring.limit
        is_complete = not load.unresponsive and not any(loss.is_host for loss in load.fleet.losses)
        found = super()._with_findings(replace(summary, is_complete=is_complete))
        fairness = found.fairness if found.watched else Fairness(**load.reported.fairness.moments)
        return replace(
            found,
            fairness=fairness,
            client=replace(found.client, limited=limit.overall, hosts=host_totals(load)),
            warnings=(
                *self._warnings,
                *simulated_hardware_warning(self.watcher.hardware.used, self.watcher.hardware.used_limits),
                *measurement_warnings(load.max_client_delay_ms, limit, load.unresponsive),
                *(loss.warning for loss in load.fleet.losses),
            ),
        )
