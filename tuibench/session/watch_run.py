"""A session on a server's own traffic: a watched server without a load, and effects of changes.

    async with WatchRun(spec) as run:    watcher
        summary = await run.run()        sampling ──> end

It has the surface of a run with load (`load_run`), so that both are served, shown and recorded alike.
"""

from contextlib import AbstractAsyncContextManager, AsyncExitStack

from msgspec.structs import replace

from tuibench.clock import Clock
from tuibench.errors import UsageError
from tuibench.model.command import AbTestCommand, Command, TuneCommand
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import NO_LOAD_REFUSAL, Hello, RunState, Status
from tuibench.model.results.summary import RunOutcome, Summary
from tuibench.record.report.watch_report import watch_text
from tuibench.session.disturbances import NO_ANSWER, NOT_COUNTED
from tuibench.session.effects.ab_test import THREADS
from tuibench.session.effects.tracker import EffectTracker
from tuibench.session.lifecycle.closing import run_steps
from tuibench.session.sampling.sampler import TickObservation
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.run_summary import RunEnding, ServerReading
from tuibench.session.totals.watch_totals import WatchTotals, build_watch_summary
from tuibench.session.tune_maker import tune_maker
from tuibench.session.watcher import Watcher


class WatchRun(AbstractAsyncContextManager["WatchRun"]):
    """One session without load. `watcher` has the connection, the record, the settings and the viewers."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        plan = spec.plan
        if plan.trial is not None and plan.trial.subject == THREADS:
            raise UsageError(NO_LOAD_REFUSAL, "compare two values of a setting or a preset")
        self.spec = spec
        self.watcher = Watcher(spec, clock)
        self.totals = WatchTotals()
        self.effect_tracker: EffectTracker
        self._readings: tuple[ServerReading | None, ServerReading | None] = (None, None)
        self._summary: Summary | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "WatchRun":
        """Connects, reads the settings, opens the record. Raises a TuibenchError if that is not possible."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.watcher)
            self._assemble()
            await self.effect_tracker.dry_run()
            await self.watcher.start_recording()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def run(self) -> Summary:
        """Samples until its time is up, a stop is requested, or it fails; then restores the settings."""
        try:
            await self.watcher.watch()
        except Exception as error:
            self.watcher.lifecycle.fail(error)
        finally:
            summary = await self._end()
        return summary

    async def submit(self, command: Command) -> str:
        """Executes a command; returns the reply as text. Raises TuibenchError for a refusal."""
        with self.effect_tracker.command_running():
            if isinstance(command, AbTestCommand | TuneCommand):
                return await self.effect_tracker.execute(command)
            return await self.watcher.submit(command)

    def request_stop(self, outcome: RunOutcome = "stopped") -> None:
        """Ends the session in good order; `outcome` goes into the summary."""
        self.watcher.lifecycle.request_stop(outcome)

    def text(self, summary: Summary) -> str:
        """The summary for the terminal."""
        return watch_text(summary)

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        """The first message to a viewer, with up to `samples` past samples."""
        hello = self.watcher.hello(samples, with_events=with_events)
        return replace(hello, costs=self.effect_tracker.costs, tune=self.effect_tracker.tune_progress)

    def _assemble(self) -> None:
        watcher = self.watcher
        self.effect_tracker = EffectTracker(
            self.spec.plan,
            None,
            watcher.settings,
            watcher.lifecycle,
            watcher.log,
            watcher.bus.publish,
            self.submit,
            watcher.tasks.start,
            make_tune=tune_maker(watcher, self.spec, self.submit),
        )
        watcher.bus.event_listeners.append(self.effect_tracker.on_event)
        watcher.on_tick = self._on_tick
        watcher.extend_status = self._extend_status

    def _extend_status(self, status: Status) -> Status:
        return replace(status, ab=self.effect_tracker.ab_so_far)

    def _on_tick(self, sample: Sample, observed: TickObservation) -> None:
        """Passes a tick on to the totals, the interval lines and the effects."""
        traffic = observed.traffic
        if traffic is None:
            self.effect_tracker.gap(NOT_COUNTED if self.watcher.is_traffic_uncounted else NO_ANSWER)
            return
        interval = self.totals.add(traffic, self._threads_running(sample))
        self.watcher.bus.interval(sample.elapsed_seconds, interval)
        self.effect_tracker.tick(sample, interval)

    def _threads_running(self, sample: Sample) -> int | None:
        return sample.server.threads_running if sample.server else None

    # The end

    async def _end(self) -> Summary:
        """Restores the settings, then sums up. Every step is taken."""
        watcher = self.watcher
        steps = (
            self._end_effects,
            self._stop,
            watcher.restore,
            watcher.tasks.close,
            watcher.activity_monitor.close,
            watcher.statement_monitor.close,
            self._read_last,
            watcher.close,
            self._announce_end,
            self._write_summary,
            watcher.bus.recording.close,
            self._ended,
        )
        await run_steps(steps, watcher.lifecycle.fail)
        return self._final_summary()

    async def _end_effects(self) -> None:
        self.watcher.lifecycle.over.set()
        self.effect_tracker.end()

    async def _stop(self) -> None:
        self.watcher.lifecycle.set_state(RunState.STOPPING)

    async def _read_last(self) -> None:
        """Counts what the last tick has not seen: a short rest, or a tick without an answer."""
        sampler = self.watcher.sampler
        self._readings = await sampler.end(self.watcher.own_statements, 0)
        self.totals.add_last(sampler.last_observations)

    async def _announce_end(self) -> None:
        lifecycle = self.watcher.lifecycle
        self.watcher.publish_status()
        self.watcher.emit(EventKind.STOP, f"{lifecycle.outcome} after {self._seconds:.1f} s")

    async def _write_summary(self) -> None:
        self._summary = build_watch_summary(
            self.spec, self.watcher.server, self.totals, self._ending(self._readings)
        )
        self.watcher.bus.recording.write_summary(self._summary)

    async def _ended(self) -> None:
        self.watcher.lifecycle.set_state(RunState.ENDED)

    @property
    def _seconds(self) -> float:
        return self.totals.seconds

    def _final_summary(self) -> Summary:
        """The summary, a bare one where it could not be built, with an error that came after it."""
        lifecycle = self.watcher.lifecycle
        summary = self._summary
        if summary is None:
            bare = self._ending((None, None))
            summary = build_watch_summary(self.spec, self.watcher.server, WatchTotals(), bare)
            self.watcher.bus.recording.write_summary(summary)
        if lifecycle.error is None or summary.outcome == lifecycle.outcome:
            return summary
        return replace(summary, outcome=lifecycle.outcome, failure=str(lifecycle.error))

    def _ending(self, readings: tuple[ServerReading | None, ServerReading | None]) -> RunEnding:
        lifecycle, tracker = self.watcher.lifecycle, self.effect_tracker
        before, after = readings
        return RunEnding(
            seconds=self._seconds,
            threads=0,
            rate=0.0,
            workers=0,
            outcome=lifecycle.outcome,
            failure=str(lifecycle.error) if lifecycle.error else "",
            limited=False,
            client_delay_ms=0.0,
            warnings=(f"{NOT_COUNTED}: no traffic",) if self.watcher.is_traffic_uncounted else (),
            events=tuple(self.watcher.log.events),
            before=before,
            after=after,
            effects=tuple(tracker.effects),
            costs=tracker.costs,
            ab=tracker.ab,
            tune=tracker.tune,
            earlier_ab_tests=tracker.earlier_ab_tests,
            steadiness=tracker.steadiness,
            operation_cost=tracker.operation_cost,
            replication=self.watcher.lag.total(),
        )
