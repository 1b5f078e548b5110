"""The measurement of a run: warm-up, samples until its end, and the reset of its figures.

Taking a sample never overlaps with another one, a reset, or the end of the load. After a reset, client and
server count from the same transaction: the load is held and drained, both sides are read, then it continues.
"""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from tuibench.clock import NS_PER_SECOND, ScheduledTick, ticks
from tuibench.diagnosis.measurement_warnings import ClientLimit
from tuibench.errors import UsageError
from tuibench.load.completion_gaps import CompletionGaps
from tuibench.load.engine.choice import Chosen
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import RunState
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Tick
from tuibench.session.control.lag_guard import LagGuard
from tuibench.session.effects.tracker import EffectTracker
from tuibench.session.lifecycle.tasks import cancel_all
from tuibench.session.lifecycle.ticking import ticks_until
from tuibench.session.load.load_controller import LoadController, LoadTick
from tuibench.session.plan.runner import PlanRunner
from tuibench.session.probe.runner import ProbeRunner
from tuibench.session.sampling.sampler import Sampler, TickObservation
from tuibench.session.totals.watch_totals import WatchTotals
from tuibench.session.watcher import Watcher
from tuibench.units import pluralize


def check_reset_possible(plan: RunPlan, *, is_over: bool) -> None:
    """Raises UsageError if the run is limited by its figures, or is ending."""
    if plan.events is not None:
        raise UsageError("the figures of a run with --events cannot be reset")
    if is_over:
        raise UsageError("the run is ending; nothing can be changed any more")


async def drain_and_reset(
    load: LoadController, sampler: Sampler, own_statements: int, drain_seconds: float
) -> None:
    """Hold the load until no transaction is in flight, read both sides, and leave it held."""
    await load.drain(drain_seconds)
    await sampler.reset_stats(own_statements, load.accounting.transactions_total)
    await load.reset_stats()


class MeasuringLoop:
    """One run's ticks. `tick_lock` is held while the load is read; `limit` detects a client-limited run."""

    def __init__(
        self,
        watcher: Watcher,
        load: LoadController,
        engine: Chosen,
        plan_runner: PlanRunner,
        effect_tracker: EffectTracker,
        probe_runner: ProbeRunner,
        lag_guard: LagGuard,
    ) -> None:
        self.tick_lock = asyncio.Lock()
        self.limit = ClientLimit()
        self._watcher = watcher
        self._lifecycle = watcher.lifecycle
        self._plan = watcher.spec.plan
        self._drain_seconds = watcher.spec.drain_seconds
        self._load = load
        self._engine = engine
        self._plan_runner = plan_runner
        self._effect_tracker = effect_tracker
        self._probe_runner = probe_runner
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
        """The times without a completed transaction; None if the server's traffic is what is shown."""
        return None if self._plan.shows_traffic else self._load.accounting.completion_gaps

    async def warm_up(self) -> None:
        """Run for a time without measuring, then drain: the measurement starts with nothing in flight or
        due.
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
        await watcher.sampler.begin(watcher.own_statements)
        zero_ns = await self._load.begin()
        watcher.log.start(zero_ns)
        if self._lifecycle.over.is_set():
            return
        self._load.resume()
        watcher.emit(EventKind.START, self._start_text())
        self._lifecycle.set_state(RunState.RUNNING)
        end_ns = zero_ns + int(plan.seconds * NS_PER_SECOND) if plan.seconds else None
        checkpoints = [zero_ns + seconds * NS_PER_SECOND for seconds in plan.checkpoints]
        tasks = (
            watcher.tasks.start(self._wait_for_work(), "work"),
            watcher.tasks.start(self._plan_runner.run(), "plan"),
        )
        try:
            await self._tick_until(zero_ns, end_ns, checkpoints)
        finally:
            await cancel_all(tasks)

    def _start_text(self) -> str:
        """The start event: profile, threads, and the reason for an engine other than the native one."""
        text = f"{self._plan.profile} with {pluralize(self._load.threads, 'thread')}"
        engine = self._engine
        return f"{text} on the {engine.name} engine: {engine.reason}" if engine.reason else text

    async def reset_stats(self) -> None:
        """Reset the run's figures; its time axis, samples and end do not change."""
        watcher = self._watcher
        async with self.tick_lock:
            check_reset_possible(self._plan, is_over=self._lifecycle.over.is_set())
            try:
                own = watcher.own_statements
                await drain_and_reset(self._load, watcher.sampler, own, self._drain_seconds)
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
        """A limit of transactions ends the run as soon as they are done."""
        await self._load.fleet.finished()
        self._lifecycle.over.set()

    async def _tick_until(self, start_ns: int, end_ns: int | None, checkpoints: Sequence[int] = ()) -> None:
        """Ticks until the end, or until the run is over."""
        interval_ns = int(self._plan.interval_seconds * NS_PER_SECOND)
        schedule = ticks(self._watcher.clock, start_ns, interval_ns, end_ns, checkpoints)
        async for tick in ticks_until(self._lifecycle.over, schedule):
            async with self.tick_lock:
                await (self._tick(tick) if tick.number else self._load.checkpoint())

    async def _tick(self, tick: ScheduledTick) -> None:
        """One sample: the load, the server, the host."""
        watcher = self._watcher
        self._ticked += 1
        measured = await self._load.tick()
        is_traffic = self._plan.shows_traffic
        own_total = None if is_traffic else self._load.accounting.transactions_total
        observed = await watcher.observe(tick.number, own_total)
        self._has_had_threads |= measured.tick.levels["threads"] > 0
        end = watcher.log.elapsed_at(tick.due_ns)
        load = measured.tick if measured.has_reported else None
        sample = Sample(
            number=self._ticked,
            at=watcher.clock.wall_seconds(),
            late_ms=tick.late_ns / 1e6,
            tick=observed.tick(end, load, shows_traffic=is_traffic),
            shows_traffic=is_traffic,
            slowest=tuple(replace(each, at_seconds=end) for each in measured.slowest) if load else (),
            replicas=observed.replicas.samples,
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
        """Passes a measured tick on to the interval lines, the effects and the probe; effects are about what
        is shown: the load, or all of the server's traffic.
        """
        if not is_measured or sample.throughput is None:
            self._effect_tracker.gap()
            return
        self._watcher.count(sample)
        self._watcher.bus.interval(sample.tick)
        self._effect_tracker.tick(sample, self.completion_gaps)
        self._probe_runner.tick(sample)

    async def _report(self, sample: Sample, measured: LoadTick, observed: TickObservation) -> None:
        """Emits what the operator needs to know of this tick."""
        await self._watcher.report(observed)
        if self._lifecycle.state is not RunState.WARMING:
            self._lag_guard.tick(observed.replicas.samples)
        for kind, text in self._load.alarms.check(measured.tick):
            self._watcher.emit(kind, text)
        if measured.has_reported:
            self._check_client_limit(sample)
        self.emit_refused(measured.refused)

    def _check_client_limit(self, sample: Sample) -> None:
        """Raises or lowers the warning that the client, not the server, is the bottleneck."""
        before = self.limit.raised
        if sample.load is not None:
            self.limit.add(sample.load, sample.client_host or sample.host, sample.hosts)
        if self.limit.raised != before:
            for warning in self.limit.active_warnings:
                if warning.partition(":")[0] not in before:
                    self._watcher.emit(EventKind.WARNING, warning)
            self._watcher.publish_status()
