"""Base class of a session with a load (`load_run`) and of one without (`watch_run`): start, run, end.

Whatever fails in `run`, every step of the end is executed: the load ends, the settings are restored, summary
and record are written. An error in tuibench itself makes the outcome "failed", as an error of the load does.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tuibench.model.command import Command
from tuibench.model.event import EventKind
from tuibench.model.experiments.tune import TunePlan, TuneResult
from tuibench.model.message import Hello, RunState
from tuibench.model.results.summary import RunOutcome, Summary
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.effects.tracker import EffectTracker
from tuibench.session.lifecycle.closing import run_steps
from tuibench.session.load.load_controller import LoadController
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.run_summary import RunEnding, ServerReading
from tuibench.session.tune.runner import TuneRun
from tuibench.session.watcher import Watcher


class SessionRun(AbstractAsyncContextManager[Any], ABC):
    """A run on one server. `watcher` has the connection, the record, the settings and the viewers."""

    def __init__(self, spec: SessionSpec, watcher: Watcher) -> None:
        self.spec = spec
        self.watcher = watcher
        self.effect_tracker: EffectTracker
        self._readings: tuple[ServerReading | None, ServerReading | None] = (None, None)
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
    async def submit(self, command: Command) -> str:
        """Execute a command; returns the reply as text. Raises TuibenchError for a refusal."""

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

    @abstractmethod
    async def _measure(self) -> None: ...

    def _make_effect_tracker(self, load: LoadController | None) -> EffectTracker:
        watcher, plan = self.watcher, self.spec.plan
        session = ExperimentSession(
            load, watcher.settings, watcher.lifecycle, watcher.log, self.submit, watcher.tasks.start
        )

        def make_tune(order: TunePlan, on_end: Callable[[], None] | None = None) -> TuneRun:
            """A screening that calls `on_end` at its end, or without it ends the run."""
            folder = Path(self.spec.run_directory)
            return TuneRun(
                order,
                plan,
                watcher.server,
                folder,
                session,
                watcher.bus.publish,
                on_end,
                is_private=bool(self.spec.private_server),
            )

        tune = make_tune(plan.tune) if plan.tune is not None else None
        return EffectTracker(plan, session, watcher.bus.publish, tune=tune, make_tune=make_tune)

    # The end

    async def _end(self) -> Summary:
        """End the load and restore the settings, in this order; then compute the summary. Every step runs."""
        watcher = self.watcher
        steps = (
            self._end_effects,
            self._stop,
            self._end_load,
            watcher.restore,
            self._end_probe,
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

    async def _end_load(self) -> None:
        """End the load, if there is one, and report the last stalls."""
        self.effect_tracker.end_stalls()

    async def _end_probe(self) -> None:
        """End the probe, if there is one."""

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

    def _final_summary(self) -> Summary:
        """The summary, or a bare one if it could not be built; with any later error."""
        lifecycle = self.watcher.lifecycle
        summary = self._summary
        if summary is None:
            summary = self._bare_summary()
            self.watcher.bus.recording.write_summary(summary)
        if lifecycle.error is None or summary.outcome == lifecycle.outcome:
            return summary
        return replace(summary, outcome=lifecycle.outcome, failure=str(lifecycle.error))

    @abstractmethod
    def _bare_summary(self) -> Summary:
        """The summary without the figures."""

    def _bare_ending(self) -> RunEnding:
        """The end of the run, without figures."""
        lifecycle = self.watcher.lifecycle
        return RunEnding(
            seconds=self.seconds,
            outcome=lifecycle.outcome,
            failure=str(lifecycle.error) if lifecycle.error else "",
            events=tuple(self.watcher.log.events),
        )

    def _screening(self) -> TuneResult | None:
        """The result of a screening, with what was not restored after it."""
        result = self.effect_tracker.tune
        return replace(result, not_restored=self.watcher.not_restored) if result is not None else None

    def _ending(self) -> RunEnding:
        """The end of the run, with everything that is not in the totals."""
        tracker = self.effect_tracker
        before, after = self._readings
        return replace(
            self._bare_ending(),
            before=before,
            after=after,
            effects=tuple(tracker.effects),
            costs=tracker.costs,
            ab=tracker.ab,
            earlier_ab_tests=tracker.earlier_ab_tests,
            tune=self._screening(),
            steadiness=tracker.steadiness,
            slowest=tracker.slowest,
            operation_cost=tracker.operation_cost,
            replication=self.watcher.lag.total(),
        )
