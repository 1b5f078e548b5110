"""The probe: carries out the search, and states its result.

Result of a probe: saturation, objectives, bottleneck, recovery, doubts, commands of a formal run.

Runner of a probe: sets its levels, publishes its state every tick, and its result.

What to measure is decided by the plan (`plan`). A level takes its turn among the operator's commands: threads
or a rate set by hand end the probe, another change restarts its step. However it ends, there is a result of
what was measured, and the load returns to what it was.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from tuibench.demo.process import is_private_socket
from tuibench.errors import RunError, UsageError
from tuibench.metrics.diagnosis import QUEUE_OUTSIDE, diagnose, is_client_limited
from tuibench.metrics.scaling import (
    FARTHEST_PEAK,
    UslCurve,
    curve_points,
    fit_usl_curve,
    throughput_curve,
    throughput_gain,
)
from tuibench.metrics.thresholds import parse_objectives
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import Finding
from tuibench.model.message import RunState, SessionMessage
from tuibench.model.plan import RunPlan
from tuibench.model.probe import (
    ProbeEnd,
    ProbeOrder,
    ProbeResult,
    ProbeState,
    ProbeStep,
    Recovery,
    SloResult,
    StepPurpose,
    UslFit,
)
from tuibench.model.sample import Sample
from tuibench.model.schedule import Quantity
from tuibench.model.server import Target
from tuibench.model.settings import SettingRole, SettingState, settings_with
from tuibench.model.summary import RunOutcome
from tuibench.probe.plan import (
    ProbePlan,
    ProbeProgress,
    end_of_climb,
    is_collapsed,
    is_connection_limited,
    keeps_up,
    knee_of,
    level_ceiling,
    objective_edge,
    point_of,
    points_of,
    probe_tick,
)
from tuibench.probe.text import probe_level_text, probe_lines
from tuibench.report.reproduce import LEVEL_AND_TIME, command_line, sysbench_command_line
from tuibench.session.events import EventLog
from tuibench.session.lifecycle import Lifecycle, StartTask
from tuibench.session.load import LoadController
from tuibench.session.timeline import PlanRunner

NEARLY = 0.97
"""A level with this fraction of the highest throughput has almost the maximum."""

GROWN = 1.1
"""A level with this multiple of another level's throughput is higher beyond noise."""

CALM_P95 = 5.0
"""A rate at which p95 is a higher multiple of the lowest one is too near the capacity."""

FOREIGN_PERCENT = OTHERS_PERCENT = 10.0
NOTABLE_READS = 0.1
DRIFT_PERCENT = 5.0
WIDE = 4.0


def probe_result(
    progress: ProbeProgress, end: ProbeEnd, reason: str, fitted: UslFit | None, disturbances: Sequence[str]
) -> ProbeResult:
    """The result without its text. `disturbances` are changes by others during the probe."""
    climbed = end_of_climb(progress)
    knee = knee_step(progress)
    limited = client_limited(progress, knee)
    bend = knee_of(progress) if not limited else None
    recovery = recovery_of(progress)
    doubts = probe_doubts(progress, end, climbed, recovery, disturbances)
    return ProbeResult(
        order=progress.order,
        end=end if end is ProbeEnd.ABORTED or climbed is None else climbed,
        reason=reason,
        seconds=progress.elapsed_seconds,
        steps=tuple(progress.steps),
        ceiling=progress.ceiling,
        knee=None if limited else knee,
        knee_low=_outwards(progress, bend.low, math.floor) if bend else None,
        knee_high=_outwards(progress, bend.high, math.ceil) if bend else None,
        peak=peak_step(progress),
        bottleneck=probe_bottleneck(progress, knee, limited=limited),
        objective=objective_of(progress),
        recovery=recovery,
        fit=fitted,
        confidence=confidence_of(doubts, end, limited=limited),
        doubts=doubts,
        client_limited=limited,
    )


def knee_step(progress: ProbeProgress) -> ProbeStep | None:
    """The measured step closest to the saturation point of the curve."""
    bend = knee_of(progress)
    if bend is None:
        return None
    return min(progress.measured, key=lambda step: abs(math.log(step.level / bend.level)))


def peak_step(progress: ProbeProgress) -> ProbeStep | None:
    """The step with the highest throughput; of a plateau over rates, which is the capacity, the lowest."""
    most = max(progress.measured, key=lambda step: step.tps, default=None)
    if most is None or progress.order.by is Quantity.THREADS:
        return most
    return next(step for step in progress.measured if step.tps >= NEARLY * most.tps)


def formal_level(result: ProbeResult) -> float | None:
    """The level that is worth a formal run; None if there is none.

    Without objectives a rate must be below the capacity, where queues do not grow.
    """
    if result.objective and result.objective.best is not None:
        return result.objective.best
    if result.order.by is Quantity.THREADS:
        step = result.knee or result.peak
        return step.level if step else None
    measured = [step for step in result.steps if step.purpose in (StepPurpose.UP, StepPurpose.REFINE)]
    failed = min((step.level for step in measured if not keeps_up(step)), default=math.inf)
    capacity = NEARLY * result.peak.tps if result.peak and failed < math.inf else math.inf
    kept = [step for step in measured if step.level < min(failed, capacity)]
    least_ms = min((step.p95_ms for step in kept if step.p95_ms is not None), default=0.0)
    calm = [step.level for step in kept if (step.p95_ms or 0.0) <= CALM_P95 * least_ms]
    return max(calm, default=None)


def client_limited(progress: ProbeProgress, knee: ProbeStep | None) -> bool:
    """True if the throughput stopped growing, or collapsed, at levels where the client was the bottleneck."""
    steps = progress.measured
    if not steps or _has_queue_outside(steps):
        return False
    pressed = [step for step in steps if knee is None or step.level >= knee.level] if knee else steps[-1:]
    return any(is_client_limited(step.evidence) for step in pressed[:3])


def _has_queue_outside(steps: Sequence[ProbeStep]) -> bool:
    """True if the highest level shows a queue in front of the server.

    Such a queue grows with the level. At low levels a wait for a processor, of the client or in the server,
    may be as long.
    """
    return diagnose(steps[-1].evidence, is_saturated=True).id == QUEUE_OUTSIDE


def probe_bottleneck(progress: ProbeProgress, knee: ProbeStep | None, *, limited: bool) -> Finding | None:
    """The bottleneck at the level after the knee; None if there is no knee."""
    pressed = [step for step in progress.measured if knee is not None and step.level >= knee.level]
    if limited:
        guilty = next(step for step in reversed(progress.measured) if is_client_limited(step.evidence))
        return diagnose(guilty.evidence, is_saturated=True)
    refused = [step for step in progress.measured if is_connection_limited(step)]
    if refused and progress.order.by is Quantity.THREADS:
        return diagnose(refused[0].evidence, is_saturated=True)
    if not pressed:
        return None
    if _has_queue_outside(pressed):
        return diagnose(pressed[-1].evidence, is_saturated=True)
    return diagnose(pressed[min(1, len(pressed) - 1)].evidence, is_saturated=True)


def objective_of(progress: ProbeProgress) -> SloResult | None:
    """The levels that meet all objectives; None without objectives or measurements."""
    if not progress.order.slo or not progress.measured:
        return None
    most, missed = objective_edge(progress)
    kept = [step for step in progress.measured if not step.missed and most and step.level <= most.level]
    enough = NEARLY * max((step.tps for step in kept), default=0.0)
    best = next((step for step in kept if step.tps >= enough), None)
    return SloResult(
        slo=progress.order.slo,
        most=most.level if most else None,
        missed_at=missed.level if missed else None,
        missed=missed.missed if missed else (),
        best=best.level if best else None,
        tps=best.tps if best else None,
        p95_ms=best.p95_ms if best else None,
    )


def recovery_of(progress: ProbeProgress) -> Recovery | None:
    """The first level after the highest load, compared with the same level during the increase."""
    before, back = _same_level(progress)
    if back is None or before is None or not before.tps or not back.tps:
        return None
    change = throughput_gain(point_of(before), point_of(back))
    differs = abs(change.value) > max(change.margin, DRIFT_PERCENT / 100)
    return Recovery(
        level=back.level,
        before=before.tps,
        after=back.tps,
        percent=100 * math.expm1(change.value),
        margin=100 * change.margin if math.isfinite(change.margin) else None,
        differs=differs,
    )


def _same_level(progress: ProbeProgress) -> tuple[ProbeStep | None, ProbeStep | None]:
    """The step after the highest load, and the one at its level during the increase before it."""
    back = next(iter(progress.of(StepPurpose.BACK)), None)
    before = next((step for step in progress.of(StepPurpose.UP) if back and step.level == back.level), None)
    return before, back


def _why_more(progress: ProbeProgress) -> str:
    """Why the same level gives more after the highest load, as far as it was measured."""
    before, back = _same_level(progress)
    if before is None or back is None:
        return ""
    first, then = before.evidence, back.evidence
    others = (first.cpu_others or 0.0) - (then.cpu_others or 0.0)
    if others >= OTHERS_PERCENT:
        return f": other programs used {others:.0f} % of the host's CPU more at first"
    if not before.is_stable:
        return ": it was not stable at first"
    read, reads = first.disk_reads_per_transaction or 0.0, then.disk_reads_per_transaction or 0.0
    if read >= NOTABLE_READS and reads <= read / 2:
        return f": it was still warming up at first ({read:.2g} pages read from disk per transaction)"
    return ""


def probe_doubts(
    progress: ProbeProgress,
    end: ProbeEnd,
    climbed: ProbeEnd | None,
    recovery: Recovery | None,
    disturbances: Sequence[str],
) -> tuple[str, ...]:
    """Reasons against the result, one sentence each."""
    found = list(disturbances)
    shaky = [
        step
        for step in progress.measured
        if not step.is_stable and step.level >= _lowest_that_matters(progress)
    ]
    if shaky:
        levels = ", ".join(f"{step.level:g}" for step in shaky)
        found.append(f"throughput was not stable in {progress.order.step_seconds:g} s at {levels}")
    if 2 * len(shaky) > len(
        [step for step in progress.measured if step.level >= _lowest_that_matters(progress)]
    ):
        found.append("these are most of the relevant levels: other activity disturbs this machine")
    bend = knee_of(progress)
    if bend is not None and bend.high > WIDE * bend.low:
        found.append("the noise does not show where between these two levels throughput stops growing")
    foreign = [step.evidence.foreign_percent or 0.0 for step in progress.measured]
    if foreign and sorted(foreign)[len(foreign) // 2] > FOREIGN_PERCENT:
        found.append("other clients are active on the server")
    if recovery is not None and recovery.differs:
        is_less = recovery.percent < 0
        later = f"{abs(recovery.percent):.0f} % {'less' if is_less else 'more'}"
        why = ": it has not recovered" if is_less else _why_more(progress)
        found.append(f"after the highest load the same level gives {later}{why}")
    if climbed is None and end is not ProbeEnd.ABORTED:
        found.append("the time limit was reached while the load was increased: use a longer --max-time")
    return tuple(found)


def _lowest_that_matters(progress: ProbeProgress) -> float:
    """A level far below the knee may be as shaky as it likes."""
    bend = knee_of(progress)
    return (bend.level if bend else max(step.level for step in progress.measured)) / 2


def _outwards(progress: ProbeProgress, level: float, whole: Callable[[float], int]) -> float:
    """The end of an interval in whole threads; a rate stays as it is."""
    return float(whole(level)) if progress.order.by is Quantity.THREADS else level


def confidence_of(doubts: Sequence[str], end: ProbeEnd, *, limited: bool) -> str:
    if limited or end is ProbeEnd.ABORTED or len(doubts) > 1:
        return "low"
    return "medium" if doubts else "high"


def usl_of(progress: ProbeProgress) -> UslFit:
    """The fit, up to the level at which something other than the law set the limit; or the reason why there
    is none.
    """
    if progress.order.by is not Quantity.THREADS:
        return UslFit(refusal="the law applies to threads, not to a rate")
    steps = usl_steps(progress.measured)
    if len(steps) < len(progress.measured) and not steps:
        return UslFit(refusal="the client was the bottleneck from the first level on")
    points = throughput_curve(points_of(steps))
    try:
        found = fit_usl_curve(points)
    except RunError as error:
        return UslFit(refusal=error.message)
    return _usl_fit(found, points[-1].level)


def usl_steps(steps: Sequence[ProbeStep]) -> list[ProbeStep]:
    """The levels below the first at which client, connections or a collapse set the limit.

    A client that got more done at a higher level did not set it at this one.
    """
    for place, step in enumerate(steps):
        is_clients = is_client_limited(step.evidence) and not _grew(step, steps[place + 1 :])
        if is_clients or is_connection_limited(step) or is_collapsed(step, steps[: place + 1]):
            return list(steps[:place])
    return list(steps)


def _grew(step: ProbeStep, higher: Sequence[ProbeStep]) -> bool:
    return any(other.tps > GROWN * step.tps for other in higher)


def _usl_fit(found: UslCurve, highest: float) -> UslFit:
    peak = found.peak_level
    if peak is not None and peak > FARTHEST_PEAK * highest:
        peak = None
    return UslFit(
        lam=found.lam,
        sigma=found.sigma,
        kappa=found.kappa,
        r2=found.r2,
        peak_level=peak,
        peak_tps=found.tps(peak) if peak is not None else None,
        highest_fitted=highest,
        curve=curve_points(found, max(highest, peak or 0.0)),
    )


SECONDS, WARMUP_SECONDS, REPORT_SECONDS = 300, 30, 10


def formal_run_commands(
    plan: RunPlan,
    target: Target,
    by: Quantity,
    level: float,
    threads: int,
    *,
    has_password: bool,
    settings: Sequence[SettingState] = (),
) -> dict[str, str]:
    """Commands by program name; `level` is the level to run at, `threads` the connections for a rate.

    Settings that the session has changed must be set again before the formal run, because the session
    restores them: these statements are under `mysql`.
    """
    load = (
        [f"--threads={level:.0f}"]
        if by is Quantity.THREADS
        else [f"--threads={threads}", f"--rate={level:g}"]
    )
    load += [f"--time={SECONDS}", f"--report-interval={REPORT_SECONDS}"]
    warmup = f"--warmup-time={WARMUP_SECONDS}"
    found = {
        "tuibench": command_line(plan, target, *load, warmup, command="run", without=LEVEL_AND_TIME),
    }
    theirs = sysbench_command_line(plan, target, *load, has_password=has_password, without=LEVEL_AND_TIME)
    if theirs is not None:
        found = {"sysbench": theirs, **found}
    changed = [f"SET GLOBAL {each.name} = {each.value};" for each in settings if each.changed]
    return {"mysql": " ".join(changed), **found} if changed else found


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

    def tick(self, sample: Sample) -> None:
        """Process one sample of the measured run."""
        now = self._log.elapsed_seconds()
        if self._ordered is not None and self._lifecycle.state is RunState.RUNNING:
            self._begin(self._ordered, sample, now)
        plan = self._plan
        if plan is None or plan.is_over or self._lifecycle.state is not RunState.RUNNING:
            return
        if self._is_away(sample):
            self._wait_for_server(plan, now)
        else:
            plan.add_tick(probe_tick(sample, now, self._load.threads), now)
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

    def _is_away(self, sample: Sample) -> bool:
        """Whether a server that has answered before does not answer: no collapse, and nothing to measure."""
        self._has_answered = self._has_answered or sample.server is not None
        return self._has_answered and sample.server is None and not sample.tick.sums.get("completed")

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
