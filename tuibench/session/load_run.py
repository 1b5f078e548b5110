"""A run with a load: its workers on a watched server, its measurement, plan, experiments, and end.

    async with LoadRun(spec) as run:     preflight check, workers, watcher
        summary = await run.run()        connections ──> warm-up ──> measurement ──> end

A sample never overlaps with another one, a reset, or the end of the load. After a reset, client and server
count from the same transaction: the load is held and drained, both sides are read, then it continues.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND, Clock, ScheduledTick, ticks
from tuibench.base.errors import RunError, UsageError
from tuibench.base.units import pluralize
from tuibench.load.messages import CompletionGaps
from tuibench.load.native_engine import Chosen, choose, choose_before_login
from tuibench.metrics.measurement_warnings import ClientLimit, measurement_warnings, simulated_network_warning
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
from tuibench.model.summary import Summary
from tuibench.model.tick import RESPONSE, STATEMENT, Sample, Tick, total_tick
from tuibench.observe.tally import TallyReader, with_sums
from tuibench.observe.wait_detail import transactions_by_statement
from tuibench.record.sysbench_report import report_text
from tuibench.record.watch_totals import WatchTotals
from tuibench.report.analysis import addenda
from tuibench.report.text import watch_text
from tuibench.session.dispatch import Origin, SteeredLoad
from tuibench.session.effects import EffectTracker
from tuibench.session.lifecycle import cancel_all, ticks_until
from tuibench.session.load import LoadController, LoadTick, host_totals, make_fleet
from tuibench.session.preflight import run_preflight
from tuibench.session.replicas import LagGuard
from tuibench.session.run import SessionRun, Watcher
from tuibench.session.sampling import TickObservation
from tuibench.session.timeline import PlanRunner
from tuibench.session.totals import LoadTotals, add_last_readings, build_summary, build_watch_summary
from tuibench.workload import library, script
from tuibench.workload.dataset import build_data_set


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
        self._ticked = 0
        self._watched = WatchTotals()
        self._has_had_threads = False

    @property
    def watched_alone(self) -> WatchTotals | None:
        """The server's traffic, for a load that never had a thread; None for any other."""
        has_worked = self._has_had_threads or self._load.accounting.transactions_total > 0
        return self._watched if self._plan.starts_idle and not has_worked else None

    @property
    def completion_gaps(self) -> CompletionGaps | None:
        """The times without a completed transaction; None if the run shows the server's traffic."""
        return None if self._shows_traffic else self._load.accounting.completion_gaps

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
                await watcher.sampler.reset_stats(self._load.accounting.transactions_total)
                await self._load.reset_stats()
                self.limit = ClientLimit()
                self._watched = WatchTotals()
                watcher.total = Tick()
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
                await (self._tick(tick) if tick.number else self._load.checkpoint())

    async def _tick(self, tick: ScheduledTick) -> None:
        """One sample: the load, the server, the host."""
        watcher = self._watcher
        self._ticked += 1
        measured = await self._load.tick()
        own_total = None if self._shows_traffic else self._load.accounting.transactions_total
        observed = await watcher.observe(tick.number, own_total)
        self._has_had_threads |= measured.tick.levels["threads"] > 0
        end = watcher.log.elapsed_at(tick.due_ns)
        load = measured.tick if measured.has_reported else None
        sample = Sample(
            number=self._ticked,
            at=watcher.clock.wall_seconds(),
            late_ms=tick.late_ns / 1e6,
            tick=observed.tick(end, load, shows_traffic=self._shows_traffic),
            shows_traffic=self._shows_traffic,
            slowest=tuple(replace(each, at_seconds=end) for each in measured.slowest) if load else (),
            replicas=observed.replicas,
            hosts=measured.hosts,
        )
        if observed.traffic is not None:
            self._watched.add(sample.tick)
        watcher.bus.sample(sample)
        watcher.activity_monitor.tick()
        if self._lifecycle.state is not RunState.WARMING:
            self._evaluate(sample, is_measured=measured.has_reported)
        await self._report(sample, measured, observed)

    def _evaluate(self, sample: Sample, *, is_measured: bool) -> None:
        """Passes a measured tick on to the interval lines, the effects and the experiment. They evaluate what
        the run shows: the load, or all of the server's traffic.
        """
        if not is_measured or sample.throughput is None:
            self._effect_tracker.gap()
            return
        self._watcher.count(sample)
        self._watcher.bus.interval(sample.tick)
        self._effect_tracker.tick(sample, self.completion_gaps)

    async def _report(self, sample: Sample, measured: LoadTick, observed: TickObservation) -> None:
        """Emits the events of a tick for the operator."""
        await self._watcher.report(observed)
        if self._lag_guard is not None and self._lifecycle.state is not RunState.WARMING:
            self._lag_guard.tick(observed.replicas)
        for kind, text in self._load.alarms.check(measured.tick):
            self._watcher.emit(kind, text)
        if measured.has_reported:
            before = self.limit.raised
            if sample.load is not None:
                self.limit.add(sample.load, sample.client_host or sample.host, sample.hosts)
            if self.limit.raised != before:
                for warning in self.limit.active_warnings:
                    if warning.partition(":")[0] not in before:
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
            self.load.checkpoint_listeners.append(self.watcher.bus.recorder.report)
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
        for warning in (*self._warnings, *simulated_network_warning(self.load.client_delay_ms)):
            self.watcher.emit(EventKind.WARNING, warning)
        self.measuring.emit_refused(await self.load.open(self.watcher.lifecycle.over.is_set))
        await self.measuring.warm_up()
        await self.measuring.measure()

    @property
    def seconds(self) -> float:
        return self.load.seconds

    @property
    def tick(self) -> Tick:
        """The load's totals, including what came after the last sample, with those of server and host. If the
        load never had a thread, the totals of the server's traffic.
        """
        if (watched := self.measuring.watched_alone) is not None:
            return watched.added_to(self.watcher.total)
        sampled, load = self.watcher.total, total_tick((Tick(), self.load.accounting.run.tick()))
        rest = {name: value for name, value in sampled.sums.items() if name not in load.sums}
        return replace(
            sampled,
            seconds=self.seconds,
            sums=rest | load.sums | self.load.seen_in_all(),
            peaks=sampled.peaks | {"outage_seconds": self.effect_tracker.outage_seconds},
            arrears={},
            hists=load.hists,
        )

    def text(self, summary: Summary) -> str:
        """The summary for the terminal; as sysbench's, it begins at the last checkpoint. For a load that
        never had a thread, it is that of the server's traffic.
        """
        if summary.watched is not None:
            return watch_text(summary)
        return report_text(self.load.since_checkpoint()) + addenda(summary)

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
        self._warnings = (*warnings, *self._host_warnings)
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
        watcher.statement_monitor.own = lambda: self.load.accounting.run.named(STATEMENT)
        watcher.extend_status = self._extend_status

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
                self.effect_tracker.end_stalls(self.measuring.completion_gaps)
        totals, lifecycle = self.load.accounting.totals, self.watcher.lifecycle
        if self.load.failure is not None and lifecycle.outcome == "done":
            lifecycle.fail(self.load.failure)
        if (of_load := self.program.script) is None or lifecycle.outcome != "done":
            return
        is_begun = totals.failed > 0 or totals.abandoned > 0 or totals.in_flight > 0
        if self.load.unresponsive or (is_begun and not totals.completed):
            lifecycle.fail(self._no_event_ended(of_load.path))

    def _no_event_ended(self, path: str) -> RunError:
        """The error that no event of a script was completed, or that its last results are unknown."""
        totals = self.load.accounting.totals
        failed, again = pluralize(totals.failed, "event"), pluralize(totals.retries, "time")
        what = "no event ended during the run"
        hint = "an event may be an endless loop; a longer --time names its line after 20 s of computing"
        if self.load.unresponsive:
            what = "a worker does not answer at the end"
        elif totals.failed or totals.retries:
            what = f"no event was completed: {failed} failed, and they were begun again {again}"
            hint = "the report has the errors by code"
        return RunError(f"{path}: {what}", hint)

    async def _read_last(self) -> None:
        questions = self.load.accounting.totals.questions
        sampler, watched = self.watcher.sampler, self.measuring.watched_alone
        unknown = self.load.accounting.totals.unknown_commits
        last = await sampler.last_tally(self.load.acknowledged(), unknown)
        self.watcher.total = with_sums(self.watcher.total, last)
        self._readings = await sampler.end(questions)
        await self._run_of_script(script.DONE)
        if watched is not None:
            add_last_readings(watched, sampler.last_observations)

    async def _write_summary(self) -> None:
        server, watched, ending = self.watcher.server, self.measuring.watched_alone, self._ending()
        if watched is None:
            found = build_summary(self.spec, server, self.load.accounting, **ending)
        else:
            alone = ending | {"seconds": watched.tick.seconds, "headline": None}
            found = build_watch_summary(self.spec, server, watched, alone)
        self._summary = self._with_results(found)
        load, recorder = self.load, self.watcher.bus.recorder
        if (remainder := load.remainder()) is not None:
            recorder.remainder(remainder)
        latencies = load.accounting.since_checkpoint.hist(RESPONSE)
        recorder.report(load.since_checkpoint(), latencies, last=True)
        recorder.summary(self._summary)

    def _bare_summary(self) -> Summary:
        return build_summary(self.spec, self.watcher.server, LoadTotals(), **self._bare_ending())

    async def _end_workers(self) -> None:
        """Ends the workers of a load that was never run."""
        if self.watcher.fleet is not None and not self._is_load_ended:
            self._is_load_ended = True
            await self.watcher.fleet.kill()

    def _bare_ending(self) -> dict[str, Any]:
        return super()._bare_ending() | {
            "threads": self.load.threads,
            "rate": self.load.rate,
            "workers": self.load.fleet.worker_count,
            "is_complete": False,
            "client_delay_ms": self.load.max_client_delay_ms,
            "warnings": self._warnings,
            "engine": self.engine,
        }

    def _ending(self) -> dict[str, Any]:
        load, limit = self.load, self.measuring.limit
        return super()._ending() | {
            "is_complete": not load.unresponsive and not any(loss.is_host for loss in load.fleet.losses),
            "is_limited": limit.overall,
            "warnings": (
                *self._warnings,
                *measurement_warnings(load.max_client_delay_ms, limit, load.unresponsive),
                *(loss.warning for loss in load.fleet.losses),
            ),
            "headline": load.headline,
            "kinds": tuple(load.weights),
            "hosts": host_totals(load),
        }
