"""A session on a server's own traffic: a watched server without a load, and effects of changes.

    async with WatchRun(spec) as run:    watcher
        summary = await run.run()        sampling ──> end

The base class in `run` executes the steps of the end.
"""

from contextlib import AsyncExitStack

from msgspec.structs import replace

from tuibench.clock import Clock
from tuibench.errors import UsageError
from tuibench.model.command import AbTestCommand, Command, TuneCommand
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import NO_LOAD_REFUSAL, Hello, Status
from tuibench.model.results.summary import Summary
from tuibench.model.tick import Tick
from tuibench.record.report.watch_report import watch_text
from tuibench.session.disturbances import NO_ANSWER, NOT_COUNTED
from tuibench.session.effects.ab_test import THREADS
from tuibench.session.run import SessionRun
from tuibench.session.sampling.sampler import TickObservation
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.run_summary import RunEnding
from tuibench.session.totals.watch_totals import WatchTotals, build_watch_summary
from tuibench.session.watcher import Watcher


class WatchRun(SessionRun):
    """One session without load."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        plan = spec.plan
        if plan.trial is not None and plan.trial.subject == THREADS:
            raise UsageError(NO_LOAD_REFUSAL, "compare two values of a setting or a preset")
        super().__init__(spec, Watcher(spec, clock))
        self.totals = WatchTotals()

    async def __aenter__(self) -> "WatchRun":
        """Connects, reads the settings, opens the record. Raises a TuibenchError if that is not possible."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.watcher)
            self._assemble()
            await self._plan_experiment()
            await self.watcher.start_recording()
            self._stack = stack.pop_all()
        return self

    async def _measure(self) -> None:
        await self.watcher.watch()

    async def submit(self, command: Command) -> str:
        with self.effect_tracker.command_running():
            if isinstance(command, AbTestCommand | TuneCommand):
                return await self._experiment(command)
            return await self.watcher.submit(command)

    @property
    def seconds(self) -> float:
        return self.totals.tick.seconds

    @property
    def tick(self) -> Tick:
        return replace(self.watcher.total, hists=self.totals.tick.hists)

    def text(self, summary: Summary) -> str:
        return watch_text(summary)

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        hello = self.watcher.hello(samples, with_events=with_events)
        return replace(hello, costs=self.effect_tracker.costs, tune=self.tune_progress)

    def _assemble(self) -> None:
        watcher = self.watcher
        self.effect_tracker = self._make_effect_tracker(None)
        watcher.bus.event_listeners.append(self.effect_tracker.on_event)
        watcher.on_tick = self._on_tick
        watcher.extend_status = self._extend_status

    def _extend_status(self, status: Status) -> Status:
        return replace(status, ab=self.ab_so_far, effect=self.effect_tracker.effect_progress)

    def _on_tick(self, sample: Sample, observed: TickObservation) -> None:
        """Passes a tick on to the totals, the interval lines and the effects."""
        if observed.traffic is None:
            self.effect_tracker.gap(NOT_COUNTED if self.watcher.is_traffic_uncounted else NO_ANSWER)
            return
        self.totals.add(sample.tick)
        self.watcher.bus.interval(sample.tick)
        self.effect_tracker.tick(sample)

    # The end

    async def _read_last(self) -> None:
        """Counts what the last tick has not seen: a short rest, or a tick without an answer."""
        sampler = self.watcher.sampler
        self._readings = await sampler.end(self.watcher.own_statements, 0)
        self.totals.add_last(sampler.last_observations)

    async def _write_summary(self) -> None:
        self._summary = build_watch_summary(self.spec, self.watcher.server, self.totals, self._ending())
        self.watcher.bus.recording.write_summary(self._summary)

    def _bare_summary(self) -> Summary:
        return build_watch_summary(self.spec, self.watcher.server, WatchTotals(), self._bare_ending())

    def _bare_ending(self) -> RunEnding:
        warnings = (f"{NOT_COUNTED}: no traffic",) if self.watcher.is_traffic_uncounted else ()
        return replace(super()._bare_ending(), warnings=warnings)
