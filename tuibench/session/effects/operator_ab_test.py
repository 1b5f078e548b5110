"""A/B tests that an operator starts during a run (key `A`, `ctl ab`): one at a time.

    start ──> both values tried ──next tick──> windows ──verdict, time up, stop──> values set back

A value that the server refuses is refused at once, and nothing has changed then. Afterwards the settings have
the values that they had before the test; at the end of the session the journal restores them.
"""

from collections.abc import Callable

from tuibench.errors import TuibenchError, UsageError
from tuibench.metrics.inference.ab_tests.sequential import random_orders
from tuibench.metrics.series.slots import Slot
from tuibench.model.command import AbTestCommand, ChangeSetting, Command, SetThreads, StartAbTest, StopAbTest
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.effect import AbTestPlan, AbTestResult, primary_figure, until_window_seconds
from tuibench.model.message import NO_LOAD_REFUSAL, RunState
from tuibench.model.plan import RunPlan
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.effects.ab_test import PRESET, THREADS, AbTest, command_for, resolve_subject
from tuibench.tuning.catalogue import preset_lookup

AB_TEST_RUNS = "an A/B test is running; its load must not be changed"
STOPPED = "stopped by the operator"


class OperatorAbTest:
    """Starts, runs and ends the tests. `on_change` is called at the start of a test and after its values are
    restored.
    """

    def __init__(
        self,
        plan: RunPlan,
        session: ExperimentSession,
        on_change: Callable[[], None],
    ) -> None:
        self.is_under_way = False
        self._earlier: list[AbTestResult] = []
        self._plan = plan
        self._session = session
        self._on_change = on_change
        self._due: AbTestPlan | None = None
        self._test: AbTest | None = None
        self._is_running = False
        self._before: list[Command] = []
        self._count = 0

    @property
    def result(self) -> AbTestResult | None:
        """The running test, or the last one."""
        return self._test.result if self._test is not None else None

    @property
    def earlier(self) -> tuple[AbTestResult, ...]:
        """Those before it."""
        return tuple(self._earlier)

    async def execute(self, command: AbTestCommand) -> str:
        """Executes a command; returns the reply as text. Raises TuibenchError for a refusal."""
        if isinstance(command, StopAbTest):
            return self._stop()
        trial = self._trial(command)
        self.is_under_way = True
        self._on_change()
        try:
            self._before = self._present_values(trial)
            await self._try(trial)
        except BaseException:
            await self._restore_values()
            raise
        self._due = trial
        text = (
            f"A/B test of {trial.subject}: {trial.a} against {trial.b}, at most {trial.seconds:g} s, "
            f"equal within ±{trial.tolerance_percent:g} %"
        )
        self._session.log.emit(EventKind.EFFECT, text)
        return text

    def tick(self, slot: Slot, *, disturbance: str = "") -> None:
        """Process one sample of the run."""
        if self._due is not None:
            self._begin(self._due, slot.end_seconds)
        elif self._test is not None and self._is_running:
            self._test.tick(slot, disturbance=disturbance)

    def on_event(self, event: Event) -> None:
        """Process an event: something else has changed."""
        if self._test is not None and self._is_running:
            self._test.on_event(event)

    def end(self) -> None:
        """End with the session; the journal restores the settings."""
        self._due = None
        self._is_running = False
        if self._test is not None:
            self._test.end()

    def _trial(self, order: StartAbTest) -> AbTestPlan:
        """The requested test. Raises UsageError if it is not possible, or not now."""
        if self._plan.trial is not None or self._plan.tune is not None:
            raise UsageError("this run is an A/B test or a screening itself; no other one can be started")
        if self._session.lifecycle.state is not RunState.RUNNING:
            raise UsageError(f"the load is not running: {self._session.lifecycle.state}")
        if self.is_under_way:
            raise UsageError("an A/B test is already running", "stop it first")
        subject = resolve_subject(order.subject, [order.a, order.b])
        if subject == THREADS and self._session.load is None:
            raise UsageError(NO_LOAD_REFUSAL, "compare two values of a setting or a preset")
        self._count += 1
        return AbTestPlan.until_decided(
            subject,
            order.a,
            order.b,
            tolerance_percent=order.tolerance_percent,
            max_seconds=order.max_seconds,
            window_seconds=until_window_seconds(self._plan.interval_seconds),
            seed=self._plan.seed + self._count,
            primary=primary_figure(is_watch=self._plan.shows_traffic, rate=self._session.rate),
        )

    def _present_values(self, trial: AbTestPlan) -> list[Command]:
        """The commands that restore everything that the test changes."""
        if trial.subject == THREADS and self._session.load is not None:
            return [SetThreads(self._session.load.threads)]
        names = {trial.subject}
        if trial.subject == PRESET:
            presets = preset_lookup.all_presets()
            found = (preset_lookup.find_preset(presets, value) for value in (trial.a, trial.b))
            names = {name for preset in found for name in preset.values}
        return [
            ChangeSetting(state.name, state.value)
            for state in self._session.settings.states
            if state.name in names
        ]

    async def _try(self, trial: AbTestPlan) -> None:
        """Set both values, that of the first window last. Raises the server's refusal."""
        first, second = (trial.a, trial.b) if random_orders(1, trial.seed)[0] else (trial.b, trial.a)
        replies = [await self._session.submit(command_for(trial.subject, value)) for value in (second, first)]
        results = [reply.partition("→")[2] for reply in replies]
        if all(results) and results[0] == results[1]:
            raise UsageError(f"{trial.subject} has the same value with {trial.a} and {trial.b}")

    def _begin(self, trial: AbTestPlan, start_seconds: float) -> None:
        """Start with a sample, so that no sample belongs to two windows."""
        if self._test is not None:
            self._earlier.append(self._test.result)
        self._due = None
        self._test = AbTest(trial, self._session, start_seconds=start_seconds, on_end=self._ended)
        self._test.begin()
        self._is_running = True
        self._session.lifecycle.publish_status()

    def _stop(self) -> str:
        if self._due is not None:
            self._due = None
        elif self._test is not None and self._is_running:
            self._test.end()
        else:
            raise UsageError("no A/B test is running")
        self._end(STOPPED)
        return "the A/B test is stopped"

    def _ended(self, error: TuibenchError | None) -> None:
        """Called after the verdict, at the time limit, or because a value could not be set."""
        self._end(str(error) if error is not None else "")

    def _end(self, why: str) -> None:
        self._is_running = False
        if why:
            self._session.log.emit(EventKind.EFFECT, f"A/B test ended: {why}")
        self._session.start_task(self._restore_values(), "A/B test")
        self._session.lifecycle.publish_status()

    async def _restore_values(self) -> None:
        """Sets the values that were there before, unless the session ends: then all settings are restored."""
        try:
            if self._test is not None:
                await self._test.wait_for_change()
            now = {state.name: state.value for state in self._session.settings.states}
            for command in self._before:
                if isinstance(command, ChangeSetting) and now.get(command.name) == command.value:
                    continue
                if not self._session.lifecycle.is_ending:
                    await self._session.submit(command)
        except TuibenchError as error:
            if not self._session.lifecycle.is_ending:
                self._session.log.emit(
                    EventKind.WARNING, f"a value could not be restored after the A/B test: {error}"
                )
        finally:
            self.is_under_way = False
            self._on_change()
            self._session.lifecycle.publish_status()
