"""Runner of a probe: sets its levels, publishes its state every tick, and its result.

What to measure is decided by the plan (`plan`). A level takes its turn among the operator's commands: threads
or a rate set by hand end the probe, another change restarts its step. However it ends, there is a result of
what was measured, and the load returns to what it was.
"""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from tuibench.demo.layout import is_private_socket
from tuibench.errors import UsageError
from tuibench.metrics.thresholds.absolute import parse_objectives
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.probe import ProbeOrder, ProbeResult, ProbeState, StepPurpose, UslFit
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import RunState, SessionMessage
from tuibench.model.plan import RunPlan
from tuibench.model.results.summary import RunOutcome
from tuibench.model.schedule import Quantity
from tuibench.model.settings import SettingRole, SettingState, settings_with
from tuibench.model.target import Target
from tuibench.record.report.probe_text import probe_level_text, probe_lines
from tuibench.record.sysbench_report import IntervalCounts
from tuibench.session.events.event_log import EventLog
from tuibench.session.lifecycle.lifecycle import Lifecycle
from tuibench.session.lifecycle.tasks import StartTask
from tuibench.session.load.load_controller import LoadController
from tuibench.session.plan.runner import PlanRunner
from tuibench.session.probe.level_search import ProbeProgress
from tuibench.session.probe.plan import ProbePlan
from tuibench.session.probe.result import formal_level, formal_run_commands, probe_result, usl_of
from tuibench.session.probe.step import level_ceiling, probe_tick

DISTURBING = frozenset({EventKind.SETTING, EventKind.FOREIGN, EventKind.WEIGHTS, EventKind.DELAY})
BY_HAND = "set manually"

PRIVATE_SERVER_NOTE = (
    "The commands below name a private server: replace its address with that of the server to test."
)

LoadLevel = tuple[int, float]
"""Threads, and a rate."""


class ProbeRunner:
    """Starts, runs and ends probes. `result` is that of the last one."""

    def __init__(
        self,
        plan: RunPlan,
        target: Target,
        is_local: bool,
        load: LoadController,
        plan_runner: PlanRunner,
        lifecycle: Lifecycle,
        log: EventLog,
        publish: Callable[[SessionMessage], None],
        set_level: Callable[[LoadLevel], Awaitable[None]],
        start_task: StartTask,
        settings: Callable[[], tuple[SettingState, ...]],
    ) -> None:
        self.result: ProbeResult | None = None
        self._load = load
        self._plan_runner = plan_runner
        self._lifecycle = lifecycle
        self._set_level = set_level
        self._start_task = start_task
        self._run_plan = plan
        self._target = target
        self._is_local = is_local
        self._settings = settings
        self._log = log
        self._publish = publish
        self._ordered: ProbeOrder | None = None
        self._plan: ProbePlan | None = None
        self._fit: UslFit | None = None
        self._disturbances: list[str] = []
        self._before: LoadLevel = (plan.threads, plan.rate)
        self._moving: asyncio.Task[None] | None = None
        self._has_answered = False

    @property
    def state(self) -> ProbeState | None:
        """The state of the probe, or the end of the last one; None if there was none."""
        if self._plan is None:
            return ProbeState(order=self._ordered) if self._ordered else None
        state = self._plan.state(self._log.elapsed_seconds(), self._fit)
        return replace(state, result=self.result)

    @property
    def is_under_way(self) -> bool:
        return self._ordered is not None or (self._plan is not None and not self._plan.is_over)

    def start(self, order: ProbeOrder) -> str:
        """Start with the next sample. Raises UsageError if the probe is not possible, or not now."""
        parse_objectives(order.slo)
        if self._run_plan.trial is not None:
            raise UsageError("an A/B test or a screening is running; its load must not be changed")
        if self._lifecycle.state is not RunState.RUNNING:
            raise UsageError(f"the load is not running: {self._lifecycle.state}")
        if self.is_under_way:
            raise UsageError("a probe is already running", "stop it first")
        self._ordered, self._plan, self.result = order, None, None
        self._fit, self._disturbances = None, []
        load = self._load
        self._before = (load.threads, load.rate)
        held = self._plan_runner.on_manual_change(order.by)
        return f"probing by {order.by}, about {order.seconds:g} s{held}"

    def stop(self) -> str:
        """End the probe and restore the load. Raises UsageError if none is running."""
        self._check_under_way()
        self._abort("stopped by the operator")
        return "the probe is stopped"

    def next_step(self) -> str:
        """Starts the next level. Raises UsageError if there is no step to end."""
        self._check_under_way()
        if self._plan is None or self._moving is not None:
            raise UsageError("no step is being measured now")
        self._plan.next_step(self._log.elapsed_seconds())
        self._follow()
        return "continuing with the next step"

    def on_manual_change(self, quantity: Quantity) -> str:
        """Ends a probe after the operator's change; returns an addition to the reply."""
        if not self.is_under_way:
            return ""
        self._before = (self._load.threads, self._load.rate)
        self._abort(f"the {quantity} {'were' if quantity is Quantity.THREADS else 'was'} {BY_HAND}")
        return "; the probe is stopped"

    def tick(self, sample: Sample, interval: IntervalCounts) -> None:
        """Process one sample of the measured run."""
        now = self._log.elapsed_seconds()
        if self._ordered is not None and self._lifecycle.state is RunState.RUNNING:
            self._begin(self._ordered, sample, now)
        plan = self._plan
        if plan is None or plan.is_over or self._lifecycle.state is not RunState.RUNNING:
            return
        if self._is_away(sample, interval):
            self._wait_for_server(plan, now)
        else:
            plan.add_tick(probe_tick(sample, interval, now, self._load.threads), now)
        self._follow()
        self._publish_state()

    def on_event(self, event: Event) -> None:
        """Starts, restarts or ends the probe, as the event requires."""
        if event.kind is EventKind.START and self._run_plan.probe is not None:
            self._ordered = self._run_plan.probe
        if self._plan is None or self._plan.is_over:
            return
        if event.kind is EventKind.RESTART:
            self._abort("the server was restarted")
        elif event.kind is EventKind.RESUME:
            self._plan.restart_step(event.elapsed_seconds)
        elif event.kind in DISTURBING:
            self._disturbances.append(f"the load was changed during the probe: {event.text}")
            self._plan.restart_step(event.elapsed_seconds)

    async def close(self, outcome: RunOutcome) -> None:
        """The run has ended: compute the result of what was measured."""
        self._ordered = None
        if self._plan is not None:
            self._plan.abort(f"the run was {outcome}", self._log.elapsed_seconds())
        if self._moving is not None:
            await asyncio.wait({self._moving})
        if self._plan is not None and self.result is None:
            await self._conclude(self._plan)

    def _is_away(self, sample: Sample, interval: IntervalCounts) -> bool:
        """Whether a server that has answered before does not answer: no collapse, and nothing to measure."""
        self._has_answered = self._has_answered or sample.server is not None
        return self._has_answered and sample.server is None and not interval.transactions

    def _wait_for_server(self, plan: ProbePlan, now: float) -> None:
        if plan.is_late(now):
            plan.abort("the server does not answer", now)
        else:
            plan.restart_step(now)

    def _check_under_way(self) -> None:
        if not self.is_under_way:
            raise UsageError("no probe is running")

    def _begin(self, order: ProbeOrder, sample: Sample, now: float) -> None:
        self._ordered = None
        self._plan = ProbePlan(order, level_ceiling(order, sample), now, is_local=self._is_local)
        self._follow()

    def _abort(self, reason: str) -> None:
        if self._plan is None:
            self._ordered = None
            return
        self._plan.abort(reason, self._log.elapsed_seconds())
        self._follow()

    def _follow(self) -> None:
        """Starts setting the next level, or concluding; a tick waits for neither."""
        plan = self._plan
        if plan is None or self._moving is not None or (plan.next_level is None and not plan.is_over):
            return
        self._moving = self._start_task(self._apply_levels(plan), "probe")

    async def _apply_levels(self, plan: ProbePlan) -> None:
        try:
            while plan.next_level is not None and not plan.is_over:
                level, purpose = plan.next_level
                if purpose in (StepPurpose.REFINE, StepPurpose.BACK) and self._fit is None:
                    self._fit = await fit_usl(plan.progress())
                words = (
                    "without a rate" if purpose is StepPurpose.SCALE else probe_level_text(plan.order, level)
                )
                self._log.emit(EventKind.PROBE, f"probe: {words} ({purpose})")
                await self._set_level(self._level(plan.order, level))
                plan.level_applied(self._log.elapsed_seconds())
            if plan.is_over and self.result is None:
                await self._set_level(self._before)
                await self._conclude(plan)
        finally:
            self._moving = None
            self._publish_state()

    def _level(self, order: ProbeOrder, level: float) -> LoadLevel:
        return (int(level), self._before[1]) if order.by is Quantity.THREADS else (self._before[0], level)

    async def _conclude(self, plan: ProbePlan) -> None:
        """The result in figures and words; it ends a run that is a probe."""
        progress = plan.progress()
        self._fit = await fit_usl(progress)
        if plan.end is None:
            return
        found = probe_result(progress, plan.end, plan.reason, self._fit, self._disturbances)
        found = replace(found, durability={each.name: each.value for each in self._durability})
        commands = self._commands(found)
        lines = probe_lines(found)
        if commands and is_private_socket(self._target.socket):
            lines = (*lines, PRIVATE_SERVER_NOTE)
        self.result = replace(found, lines=lines, commands=commands)
        self._log.emit(EventKind.PLAN, f"probe: {self.result.lines[0]}")
        self._publish_state()
        if self._run_plan.probe is not None:
            self._lifecycle.request_stop("done")

    def _commands(self, found: ProbeResult) -> dict[str, str]:
        """For the level that is worth a formal run."""
        level = formal_level(found)
        if level is None:
            return {}
        has_password = bool(self._target.password or self._target.password_command)
        return formal_run_commands(
            self._run_plan,
            self._target,
            found.order.by,
            level,
            self._before[0],
            has_password=has_password,
            settings=self._durability,
        )

    @property
    def _durability(self) -> tuple[SettingState, ...]:
        """The settings that decide what a commit waits for, as far as this server has them."""
        return tuple(each for each in settings_with(SettingRole.PANEL, self._settings()) if each.value)

    def _publish_state(self) -> None:
        if (state := self.state) is not None:
            self._publish(state)


async def fit_usl(progress: ProbeProgress) -> UslFit:
    """The curve through what was measured; in a thread, as its library takes a second to load."""
    return await asyncio.to_thread(usl_of, progress)
