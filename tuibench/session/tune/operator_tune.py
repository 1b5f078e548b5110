"""Screenings that an operator starts during a run or on a server's own traffic (key `U`, `ctl tune`).

    start ──> candidates found ──> blocks of windows ──all known, time up, stop──> values set back

The settings have the values from before it afterwards; a setting that the session has changed already would
not, and must be restored first.
"""

from collections.abc import Callable

from msgspec.structs import replace

from tuibench.errors import TuibenchError, UsageError
from tuibench.metrics.series.slots import Slot
from tuibench.model.command import StopTune, TuneCommand
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.effect import primary_figure
from tuibench.model.experiments.tune import TunePlan, TuneProgress, TuneResult
from tuibench.model.message import RunState
from tuibench.model.plan import RunPlan
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.tune.candidates import wanted_settings
from tuibench.session.tune.runner import TuneRun
from tuibench.units import duration, pluralize

TUNE_RUNS = "a screening of settings is running; its load must not be changed"
SLOTS_PER_WINDOW = 10
MIN_BUDGET_SECONDS, MAX_BUDGET_SECONDS = 20.0, 7 * 86_400.0

MakeTune = Callable[[TunePlan, Callable[[], None]], TuneRun]
"""Makes a screening; the function is called when it ends by itself."""


class OperatorTune:
    """Starts, follows and ends them, one at a time. `on_change` is called at the start and after the end."""

    def __init__(
        self,
        plan: RunPlan,
        make: MakeTune,
        session: ExperimentSession,
        on_change: Callable[[], None],
    ) -> None:
        self.is_under_way = False
        self._plan = plan
        self._make = make
        self._session = session
        self._on_change = on_change
        self._run: TuneRun | None = None
        self._is_running = False

    @property
    def result(self) -> TuneResult | None:
        """Of the one under way, or the last one."""
        return self._run.result if self._run is not None else None

    @property
    def progress(self) -> TuneProgress | None:
        """The same for viewers."""
        return self._run.progress if self._run is not None else None

    async def execute(self, command: TuneCommand) -> str:
        """Executes a command; returns the reply as text. Raises TuibenchError for a refusal."""
        if isinstance(command, StopTune):
            return self._stop()
        order = self._order(command.plan)
        run = self._make(order, self._ended)
        await run.dry_run()
        self._run, self._is_running, self.is_under_way = run, True, True
        self._on_change()
        text = (
            f"screening {pluralize(len(run.candidates), 'value')}, at most {duration(order.budget_seconds)}"
        )
        self._session.log.emit(EventKind.EFFECT, text)
        run.start()
        return text

    def tick(self, slot: Slot, *, disturbance: str = "") -> None:
        """One more slot of the run."""
        if self._run is not None and self._is_running:
            self._run.tick(slot, disturbance=disturbance)

    def on_event(self, event: Event) -> None:
        """Something else is changed meanwhile."""
        if self._run is not None and self._is_running and event.kind is not EventKind.START:
            self._run.on_event(event)

    def end(self) -> None:
        """The session ends; the journal restores the settings."""
        self._is_running = False
        if self._run is not None:
            self._run.end()

    def _order(self, plan: TunePlan) -> TunePlan:
        """The screening that was ordered. Raises UsageError for one that cannot be, or not now."""
        if self._plan.trial is not None or self._plan.tune is not None:
            raise UsageError("this run is an A/B test or a screening itself; no other one can be started")
        if self._session.lifecycle.state is not RunState.RUNNING:
            raise UsageError(f"the load is not running: {self._session.lifecycle.state}")
        if self.is_under_way:
            raise UsageError("a screening is already running", "stop it first")
        if not MIN_BUDGET_SECONDS <= plan.budget_seconds <= MAX_BUDGET_SECONDS:
            raise UsageError("a screening takes 20 s to 7 days", "for example ctl tune 10m")
        changed = [state.name for state in self._session.settings.states if state.changed_by == "us"]
        if changed:
            raise UsageError(
                f"this session has changed {', '.join(changed)}", "restore that first: tuibench ctl restore"
            )
        wanted_settings(plan.only)
        return replace(
            plan,
            window_seconds=max(plan.window_seconds, SLOTS_PER_WINDOW * self._plan.interval_seconds),
            seed=self._plan.seed,
            primary=primary_figure(is_watch=self._plan.shows_traffic, rate=self._session.rate),
        )

    def _stop(self) -> str:
        if self._run is None or not self._is_running:
            raise UsageError("no screening is running")
        self._run.end()
        self._ended()
        return "the screening is stopped"

    def _ended(self) -> None:
        self._is_running = False
        self._session.log.emit(EventKind.EFFECT, "the screening has ended; the settings are restored")
        self._session.start_task(self._restore_values(), "tune")

    async def _restore_values(self) -> None:
        """Unless the session ends: then all settings are restored."""
        try:
            if self._run is not None and not self._session.lifecycle.is_ending:
                await self._run.restore_values()
        except TuibenchError as error:
            self._session.log.emit(
                EventKind.WARNING, f"a value could not be restored after the screening: {error}"
            )
        finally:
            self.is_under_way = False
            self._on_change()
            self._session.lifecycle.publish_status()
