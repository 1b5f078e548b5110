"""Base class of a session with a load (`load_run`) and of one without (`watch_run`): start, run, end.

Whatever fails in `run`, every step of the end is executed: the load ends, the settings are restored, summary
and record are written. An error in tuibench itself makes the outcome "failed", as an error of the load does.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, assert_never

from msgspec.structs import replace

from tuibench.errors import UsageError
from tuibench.model.command import (
    AbTestCommand,
    Command,
    StartAbTest,
    StartTune,
    StopAbTest,
    StopTune,
    TuneCommand,
)
from tuibench.model.event import EventKind
from tuibench.model.experiments.effect import AbTestResult
from tuibench.model.experiments.tune import TunePlan, TuneProgress, TuneResult
from tuibench.model.message import Hello, RunState
from tuibench.model.results.summary import RunOutcome, Summary
from tuibench.model.tick import Tick
from tuibench.record.files.tune_log import TuneLog
from tuibench.session.control.laboratory import Experiment, ExperimentSession, Laboratory
from tuibench.session.effects.ab_test import AbTest, ordered_test, present_values
from tuibench.session.effects.tracker import EffectTracker
from tuibench.session.lifecycle.closing import run_steps
from tuibench.session.load.load_controller import LoadController
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.run_summary import RunEnding, ServerReading
from tuibench.session.tune.runner import TuneRun, ordered_screening, prepare_screening
from tuibench.session.watcher import Watcher
from tuibench.units import duration, pluralize


class SessionRun(AbstractAsyncContextManager[Any], ABC):
    """A run on one server. `watcher` has the connection, the record, the settings and the viewers."""

    def __init__(self, spec: SessionSpec, watcher: Watcher) -> None:
        self.spec = spec
        self.watcher = watcher
        self.effect_tracker: EffectTracker
        self._experiment_session: ExperimentSession
        self._ab_tests = 0
        self._tune_log = TuneLog(Path(spec.run_directory))
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

    @property
    @abstractmethod
    def tick(self) -> Tick:
        """The sum of everything measured so far."""

    @abstractmethod
    async def _measure(self) -> None: ...

    def _make_effect_tracker(self, load: LoadController | None) -> EffectTracker:
        watcher = self.watcher
        self._experiment_session = ExperimentSession(
            load,
            watcher.settings,
            watcher.lifecycle,
            watcher.log,
            self.submit,
            watcher.tasks.start,
            watcher.bus.publish,
        )
        return EffectTracker(self.spec.plan.interval_seconds, self._experiment_session, self._on_news)

    def _on_news(self, experiment: Experiment) -> None:
        if isinstance(experiment, TuneRun):
            self._tune_log.write(experiment.head, experiment.blocks)

    # Experiments

    @property
    def laboratory(self) -> Laboratory:
        return self.effect_tracker.laboratory

    @property
    def ab(self) -> AbTestResult | None:
        """The result of the A/B test so far, or of the last one."""
        test = self.laboratory.last(AbTest)
        return test.result if test is not None else None

    @property
    def ab_so_far(self) -> AbTestResult | None:
        """The same without its pairs, for viewers."""
        result = self.ab
        return None if result is None else replace(result, pairs=())

    @property
    def tune(self) -> TuneResult | None:
        """The result of the screening so far, or of the last one."""
        screening = self.laboratory.last(TuneRun)
        return screening.result if screening is not None else None

    @property
    def tune_progress(self) -> TuneProgress | None:
        """The same for viewers."""
        screening = self.laboratory.last(TuneRun)
        return screening.message if screening is not None else None

    async def _plan_experiment(self) -> None:
        """Before the load starts: refuse an A/B test or a screening that is not possible."""
        plan = self.spec.plan
        if plan.tune is not None:
            await self.laboratory.plan(await self._screening_of(plan.tune))
        elif plan.trial is not None:
            await self.laboratory.plan(AbTest(plan.trial))

    async def _screening_of(self, order: TunePlan, *, is_by_hand: bool = False) -> TuneRun:
        watcher, is_private = self.watcher, bool(self.spec.private_server)
        return await prepare_screening(
            order,
            self.spec.plan,
            watcher.server,
            watcher.settings,
            is_private=is_private,
            is_by_hand=is_by_hand,
        )

    async def _experiment(self, command: AbTestCommand | TuneCommand) -> str:
        """Starts or ends an operator's experiment; returns the reply as text. Raises TuibenchError for a
        refusal.
        """
        session, plan = self._experiment_session, self.spec.plan
        match command:
            case StartAbTest():
                self._check_startable(AbTest, "an A/B test is already running")
                self._ab_tests += 1
                trial = ordered_test(command, plan, session.load, self._ab_tests)
                before = present_values(trial, session.load, session.settings.states)
                text = (
                    f"A/B test of {trial.subject}: {trial.a} against {trial.b}, at most {trial.seconds:g} s, "
                    f"equal within ±{trial.tolerance_percent:g} %"
                )
                return await self.laboratory.start(AbTest(trial, is_by_hand=True, before=before), text)
            case StartTune(plan=order):
                self._check_startable(TuneRun, "a screening is already running")
                order = ordered_screening(order, plan, session)
                run = await self._screening_of(order, is_by_hand=True)
                self._check_startable(TuneRun, "a screening is already running")
                values = pluralize(len(run.candidates), "value")
                text = f"screening {values}, at most {duration(order.budget_seconds)}"
                return await self.laboratory.start(run, text)
            case StopAbTest():
                return self._stop_experiment(AbTest, "no A/B test is running", "the A/B test is stopped")
            case StopTune():
                return self._stop_experiment(TuneRun, "no screening is running", "the screening is stopped")
            case _:
                assert_never(command)

    def _check_startable(self, kind: type[Experiment], again: str) -> None:
        """Raises UsageError while another experiment is under way, or the load does not run."""
        plan, state, present = self.spec.plan, self.watcher.lifecycle.state, self.laboratory.present
        if plan.trial is not None or plan.tune is not None:
            raise UsageError("this run is an A/B test or a screening itself; no other one can be started")
        if state is not RunState.RUNNING:
            raise UsageError(f"the load is not running: {state}")
        if isinstance(present, kind):
            raise UsageError(again, "stop it first")
        if present is not None:
            raise UsageError(f"{present.name} is running", "end it first")

    def _stop_experiment(self, kind: type[Experiment], none: str, reply: str) -> str:
        if not self.laboratory.is_stoppable(kind):
            raise UsageError(none)
        self.laboratory.stop("stopped by the operator")
        return reply

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
        result = self.tune
        return replace(result, not_restored=self.watcher.not_restored) if result is not None else None

    def _ending(self) -> RunEnding:
        """The end of the run, with everything that is not in the totals."""
        tracker = self.effect_tracker
        tests = [one for one in self.laboratory.begun if isinstance(one, AbTest)]
        before, after = self._readings
        return replace(
            self._bare_ending(),
            before=before,
            after=after,
            effects=tuple(tracker.effects),
            costs=tracker.costs,
            ab=tests[-1].result if tests else None,
            earlier_ab_tests=tuple(test.result for test in tests[:-1]),
            tune=self._screening(),
            steadiness=tracker.steadiness,
            slowest=tracker.slowest,
            operation_cost=tracker.operation_cost,
            replication=self.watcher.lag.total(),
            tick=self.tick,
        )
