"""A probe for the saturation point, of a run (`probe`) or by an operator (key `P`, `ctl probe`).

    level wanted ── applied ──> step ── tick, tick, … ──> step over ──> next level wanted, or the end
         next_step: the step ends now      a change: it starts over      by hand: the probe ends now

The search (`plan`) decides what is measured next, and when a step is over. However a probe ends, its result
covers what was measured: the saturation point, the bottleneck, the fitted scalability law, and the commands
of a formal run. Then the load returns to what it was, unless the operator has set the threads or the rate by
hand.
"""

import asyncio
import math
import os
from collections.abc import Callable, Sequence
from statistics import median
from typing import Self

from msgspec.structs import replace

from tuibench.base.errors import RunError, UsageError
from tuibench.base.units import pluralize
from tuibench.features.probe.plan import (
    ARRIVALS_SECONDS,
    LIKELY,
    MORE_CONNECTIONS,
    NEXT_ARRIVALS_SECONDS,
    SHORTEST_STEP_SECONDS,
    Bracket,
    NextLevel,
    ProbeProgress,
    StepRun,
    best_within,
    bracket_of,
    capacity_of,
    end_of_climb,
    is_busy_host,
    is_collapsed,
    is_connection_limited,
    level_ceiling,
    most_arrivals,
    most_step,
    next_arrivals,
    next_level,
    objective_edge,
    objective_noise,
    others_percents,
    point_of,
    points_of,
    recommended_level,
    saturation_of,
)
from tuibench.features.probe.recovery import (
    ONE_ATTEMPT,
    REMEDIES,
    RecoverySearch,
    remedies_against,
)
from tuibench.features.probe.text import probe_level_text, probe_lines
from tuibench.metrics.diagnosis import (
    QUEUE_OUTSIDE,
    diagnose,
    fit_usl_curve,
    is_client_limited,
    throughput_curve,
    throughput_gain,
)
from tuibench.metrics.measurement_warnings import (
    TickAlarm,
    busy_host,
    cpu_of_hosts,
    is_dominant_share,
    worst_of,
)
from tuibench.metrics.thresholds import parse_objectives
from tuibench.model.callers import CallerPolicy
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import Finding, Mean
from tuibench.model.message import NO_LOAD_REFUSAL, Hello, NextStep, SetCallers, StartProbe
from tuibench.model.plan import RunPlan, policy_texts
from tuibench.model.probe import (
    LOW,
    SWEEP,
    ArrivalCheck,
    ProbeEnd,
    ProbeOrder,
    ProbeResult,
    ProbeState,
    ProbeStep,
    Recovery,
    SloResult,
    StepPurpose,
    UslFit,
    check_recovery,
)
from tuibench.model.schedule import Quantity, format_rate
from tuibench.model.server import Target
from tuibench.model.settings import SettingRole, SettingState, settings_with
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample, Tick
from tuibench.report.reproduce import LEVEL_AND_TIME, command_line, sysbench_command_line
from tuibench.servers.process import is_private_socket
from tuibench.session.dispatch import Needs, SteeredSession, handles
from tuibench.session.laboratory import OF_EVENTS, Change, Experiment, ExperimentSession, LoadLevel

GROWN = 1.1
"""Throughput higher by this factor exceeds the noise."""

FOREIGN_PERCENT = OTHERS_PERCENT = 10.0
"""Percentages that are worth a remark: statements of other clients, and CPU that other programs took."""
FEWEST_VISITS = 3
"""With fewer steps the result is doubtful."""
NOTABLE_READS = 0.1
"""Pages read from disk per transaction, from which a level was still warming up."""
DRIFT_PERCENT = 5.0
"""A level that differs by less before and after the highest load has recovered."""


def result_of(
    progress: ProbeProgress, end: ProbeEnd, reason: str, fitted: UslFit | None, disturbances: Sequence[str]
) -> ProbeResult:
    """The result without its text. `disturbances` are changes of the load during the probe."""
    climbed = end_of_climb(progress)
    bracket = bracket_of(progress)
    knee = next((step for step in progress.measured if bracket and step.level == bracket.level), None)
    limited = client_limited(progress, knee)
    recovery = recovery_of(progress)
    doubts = doubts_of(progress, end, climbed, recovery, disturbances)
    is_shown = bracket is not None and not limited
    confidence = confidence_of(progress, doubts, end, bracket, limited=limited)
    recommended = recommended_level(progress)
    is_decided = confidence != LOW or limited or bool(progress.order.slo) or bracket is None
    return ProbeResult(
        order=progress.order,
        end=end if end is ProbeEnd.ABORTED or climbed is None else climbed,
        reason=reason,
        seconds=progress.elapsed_seconds,
        steps=tuple(progress.steps),
        ceiling=progress.ceiling,
        knee=knee if is_shown else None,
        knee_low=bracket.low if bracket and is_shown else None,
        knee_high=bracket.high if bracket and is_shown else None,
        recommended=recommended if is_decided else None,
        plateau=plateau_of(progress),
        bottleneck=bottleneck_of(progress, knee, limited=limited),
        objective=objective_of(progress),
        recovery=recovery,
        fit=fitted,
        confidence=confidence,
        doubts=doubts,
        client_limited=limited,
    )


def plateau_of(progress: ProbeProgress) -> Mean | None:
    """The highest throughput that can be sustained. By threads, it is that of the fitted curve; by rate, that
    of the steps that fell behind their rate. While throughput still grows, it is that of the best level.
    """
    if not progress.measured:
        return None
    believed = saturation_of(progress)
    if progress.order.by is Quantity.RATE:
        capacity = capacity_of(progress)
        if capacity is not None:
            return capacity
    elif believed is not None and bracket_of(progress) is not None:
        tps, low, high = believed.plateau
        return Mean(mean=tps, half_width=(high - low) / 2, count=len(progress.visits))
    best = most_step(progress.measured)
    half_width = None if best.half_width is None else best.tps * best.half_width
    return Mean(mean=best.tps, half_width=half_width, count=1)


def client_limited(progress: ProbeProgress, knee: ProbeStep | None) -> bool:
    """True if throughput stopped growing, or collapsed, at levels where the client was the bottleneck."""
    steps = progress.measured
    if not steps or _has_queue_outside(steps):
        return False
    pressed = steps[-1:] if knee is None else [step for step in steps if step.level >= knee.level]
    return any(is_client_limited(step.evidence) for step in pressed[:3])


def _has_queue_outside(steps: Sequence[ProbeStep]) -> bool:
    """True if the highest level shows a queue in front of the server.

    Such a queue grows with the level. At low levels a wait for a processor, in the client or in the server,
    may be as long.
    """
    return diagnose(steps[-1].evidence, is_saturated=True).id == QUEUE_OUTSIDE


def bottleneck_of(progress: ProbeProgress, knee: ProbeStep | None, *, limited: bool) -> Finding | None:
    """The bottleneck at the level above the saturation point; None without a saturation point."""
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
    most, missed, contrary = objective_edge(progress)
    if most is None and missed is None:  # they rise with load, and no load was enough
        missed = max(progress.measured, key=lambda step: -math.inf if step.slack is None else step.slack)
    best = best_within(progress)
    return SloResult(
        slo=progress.order.slo,
        most=most.level if most else None,
        missed_at=missed.level if missed else None,
        missed=missed.missed if missed else (),
        best=best.level if best else None,
        tps=best.tps if best else None,
        p95_ms=best.p95_ms if best else None,
        contrary=tuple(step.level for step in contrary),
        noise_percent=100 * math.expm1(objective_noise(progress)),
    )


def recovery_of(progress: ProbeProgress) -> Recovery | None:
    """The lowest level that was visited before and after the highest load, and the change of
    its throughput.
    """
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
    """The first and the last visit of the lowest level that was visited both before and after the highest
    one.
    """
    ups = progress.of(StepPurpose.UP)
    highest = max(ups, key=lambda step: step.level, default=None)
    for before in ups:
        later = [step for step in progress.of(StepPurpose.CONFIRM) if step.level == before.level]
        if later and highest is not None and before.at_seconds < highest.at_seconds:
            return before, later[-1]
    return None, None


def _why_more(progress: ProbeProgress) -> str:
    """Why the same level yields more after the highest load, if a measurement tells."""
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


def doubts_of(
    progress: ProbeProgress,
    end: ProbeEnd,
    climbed: ProbeEnd | None,
    recovery: Recovery | None,
    disturbances: Sequence[str],
) -> tuple[str, ...]:
    """Reasons to doubt the result, one sentence each."""
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
    bracket = bracket_of(progress)
    if bracket is not None and not bracket.is_narrow and bracket.chance < LIKELY:
        found.append("the noise does not show where between these two levels throughput stops growing")
    busy = [
        step.evidence.cpu_others or 0.0
        for step in progress.visits
        if is_dominant_share(step.evidence.cpu_others, step.evidence.cpu_total)
    ]
    others = others_percents(progress)
    if is_busy_host(progress) or 2 * len(busy) > len(progress.visits):
        used = median(busy if 2 * len(busy) > len(progress.visits) else others)
        found.append(f"measured on a busy host: other programs used {used:.0f} % of its CPU")
    if 0 < len(progress.visits) < FEWEST_VISITS:
        found.append(f"few levels: {pluralize(len(progress.visits), 'step')} at a level")
    if progress.order.slo and (contrary := objective_edge(progress).contrary):
        levels = ", ".join(f"{step.level:g}" for step in contrary)
        found.append(f"noise: the objectives were judged otherwise at {levels} than at the levels around")
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
    """The lowest level whose instability is worth a remark: half of the saturation point or, without one, of
    the highest level.
    """
    bracket = bracket_of(progress)
    return (bracket.level if bracket else max(step.level for step in progress.measured)) / 2


def confidence_of(
    progress: ProbeProgress, doubts: Sequence[str], end: ProbeEnd, bracket: Bracket | None, *, limited: bool
) -> str:
    """Low if the result is not the server's own, or would probably differ next time; also where other
    programs take most of the host, after a single step, or after a few of which none was stable.
    """
    edge = objective_edge(progress)
    is_undecided = edge.most is None and bool(edge.contrary)
    is_unlikely = bracket is not None and bracket.chance < LIKELY
    if limited or end is ProbeEnd.ABORTED or is_unlikely or is_undecided:
        return LOW
    is_unsteady = len(progress.visits) <= FEWEST_VISITS and not any(
        step.is_stable for step in progress.measured
    )
    if is_busy_host(progress) or len(progress.visits) <= 1 or is_unsteady:
        return LOW
    return "medium" if doubts or (bracket is not None and not bracket.is_narrow) else "high"


def usl_of(progress: ProbeProgress) -> UslFit:
    """The fit of the Universal Scalability Law, up to the level at which something else set the limit; or the
    reason why there is no fit.
    """
    if progress.order.by is not Quantity.THREADS:
        return UslFit(refusal="the law applies to threads, not to a rate")
    steps = usl_steps(progress.measured)
    if len(steps) < len(progress.measured) and not steps:
        return UslFit(refusal="the client was the bottleneck from the first level on")
    points = throughput_curve(points_of(steps))
    try:
        return fit_usl_curve(points)
    except RunError as error:
        return UslFit(refusal=error.message)


def usl_steps(steps: Sequence[ProbeStep]) -> list[ProbeStep]:
    """The levels below the first one that was limited by the client, by connections or by a collapse.

    The client did not limit a level if it achieved more at a higher one.
    """
    for place, step in enumerate(steps):
        grew = any(higher.tps > GROWN * step.tps for higher in steps[place + 1 :])
        is_clients = is_client_limited(step.evidence) and not grew
        if is_clients or is_connection_limited(step) or is_collapsed(step, steps[: place + 1]):
            return list(steps[:place])
    return list(steps)


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
    """Commands by program name. `level` is the level to run at; `threads` are the connections if it is a
    rate.

    The session restores the settings that it has changed, so they must be set again before the formal run:
    the statements are under `mysql`.
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


ARRIVALS = "arrivals"
"""The command, by name, of the same load as arrivals."""

SWEEP_SECONDS, SWEEP_REPEATS = 60, 3


def deciding_sweep(plan: RunPlan, target: Target, found: ProbeResult) -> dict[str, str]:
    """The sweep over the bracket, which decides what noise hid from the probe."""
    inside = sorted(
        {
            step.level
            for step in found.steps
            if (found.knee_low or 0.0) <= step.level <= (found.knee_high or 0.0)
        }
    )
    levels = ",".join(f"{level:g}" for level in inside)
    load = [f"--{found.order.by}={levels}", f"--repeat={SWEEP_REPEATS}", f"--time={SWEEP_SECONDS}"]
    line = command_line(
        plan, target, *load, f"--warmup-time={REPORT_SECONDS}", command="sweep", without=LEVEL_AND_TIME
    )
    return {SWEEP: line}


LOAD = "load"
"""The name of what a probe changes."""

DISTURBING = frozenset(
    {
        EventKind.SETTING,
        EventKind.FOREIGN,
        EventKind.WEIGHTS,
        EventKind.DELAY,
        EventKind.HARDWARE,
        EventKind.CALLERS,
    }
)
MOST_RECOVERY_SECONDS = 1200.0
"""Time limit of all trials of the recovery."""

PRIVATE_SERVER_NOTE = (
    "The commands below name a private server: replace its address with that of the server to test."
)


class Probe(Experiment):
    """One probe. `threads` and `rate` are the load before it; `is_local` is True if the server runs on this
    host; `settings` returns the present settings of the server.
    """

    called, name = "probe", "a probe"
    starts, kind = StartProbe, "probe"
    told_kind = EventKind.PLAN
    is_announced = False
    is_guarded = False

    def __init__(
        self,
        order: ProbeOrder,
        plan: RunPlan,
        target: Target,
        settings: Callable[[], tuple[SettingState, ...]],
        *,
        threads: int,
        rate: float,
        is_local: bool = True,
        cores: int | None = None,
        callers: CallerPolicy | None = None,
        is_by_hand: bool = False,
    ) -> None:
        """`callers` is what the callers do; None for the plan's."""
        self._policy = plan.callers if callers is None else callers
        before: dict[str, Sequence[Change]] = {LOAD: (LoadLevel(threads, rate),)}
        if order.recover:
            texts = policy_texts(self._policy)
            changed = {each.option for each in (ONE_ATTEMPT, *REMEDIES)}
            before |= {option: (SetCallers(option, texts[option]),) for option in sorted(changed)}
        super().__init__(is_by_hand=is_by_hand, before=before)
        self.order = order
        self.reply = f"probing by {order.by}, at most {order.seconds:g} s"
        self.ceiling = 0.0
        """The highest level; 0 until the first tick has shown how many connections the server allows."""
        self.steps: list[ProbeStep] = []
        self.end_kind = ProbeEnd.ABORTED
        self.result: ProbeResult | None = None
        """None until the probe is over."""
        self._plan = plan
        self._target = target
        self._settings = settings
        self._threads, self._rate = threads, rate
        self._is_local = is_local
        self._cores = cores
        self._objectives = parse_objectives(order.slo)
        self._now = self._began_at = 0.0
        self._next: NextLevel | None = None
        self._run: StepRun | None = None
        self._search: RecoverySearch | None = None
        self._checked: ArrivalCheck | None = None
        self._arrivals: list[ProbeStep] = []
        self._fit: UslFit | None = None
        self._bracket: Bracket | None = None
        self._busy = TickAlarm()
        self._disturbances: list[str] = []
        self._is_paused = self._has_answered = False
        self._search_since = 0.0

    @classmethod
    async def of_plan(cls, session: ExperimentSession) -> "Probe | None":
        order = session.spec.plan.probe
        return None if order is None else cls.of_order(order, session)

    @classmethod
    def in_hello(cls, hello: Hello, last: Self) -> Hello:
        return replace(hello, probe=last.message)

    @classmethod
    def in_summary(cls, summary: Summary, begun: Sequence[Self], not_restored: str) -> Summary:
        return replace(summary, probe=begun[-1].result)

    @classmethod
    def of_order(cls, order: ProbeOrder, session: ExperimentSession, *, is_by_hand: bool = False) -> "Probe":
        """A probe of the session's load. Raises UsageError without a load."""
        if session.load is None:
            raise UsageError(NO_LOAD_REFUSAL)
        check_recovery(order, session.load.callers)
        return cls(
            order,
            session.spec.plan,
            session.spec.target,
            lambda: session.settings.states,
            threads=session.load.threads,
            rate=session.load.rate,
            is_local=session.server.is_local,
            cores=os.cpu_count() if session.server.is_local else None,
            callers=session.load.callers,
            is_by_hand=is_by_hand,
        )

    @property
    def progress(self) -> ProbeProgress:
        """All measurements so far."""
        now = self._now if self.ended_at is None else self.ended_at
        return ProbeProgress(self.order, self.ceiling, self.steps, now - self._began_at)

    @property
    def message(self) -> ProbeState:
        progress, run = self.progress, self._run
        state = ProbeState(
            order=self.order,
            steps=tuple(self.steps),
            ceiling=self.ceiling,
            elapsed_seconds=progress.elapsed_seconds,
            knee=self._bracket.level if self._bracket else None,
            busy=self._busy.text.partition(": ")[2] if self._busy.now else "",
            fit=self._fit,
            arrivals=tuple(self._arrivals),
            vulnerable=self._search.found if self._search is not None else None,
            result=self.result,
        )
        if self._search is not None and (trial := self._search.run) is not None:
            remedy = f", {trial.remedy}" if trial.remedy else ""
            words = f"{probe_level_text(self.order, trial.rate)}{remedy}: {trial.words}"
            return replace(state, trial=words, level=trial.level, tps=trial.goodput)
        if run is None:
            return state
        known = run.known
        if run.purpose is StepPurpose.ARRIVALS and self._checked is not None:
            words = f"{format_rate(run.level)} as arrivals on {self._checked.connections:,} connections"
            waiting = f"{run.most_seconds - (self._now - run.at_seconds):.0f} s of arrivals"
            return replace(state, trial=words, tps=known.value or None, waiting=waiting)
        return replace(
            state,
            purpose=run.purpose,
            level=run.level,
            step_seconds=self._now - run.at_seconds,
            tps=known.value or None,
            half_width=known.margin if math.isfinite(known.margin) else None,
            p95_ms=run.p95_ms,
            waiting=run.waiting(),
        )

    def begin(self, now: float) -> None:
        self._now = self._began_at = now

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        self._now = slot.end
        self._busy.add(worst_of(map(busy_host, cpu_of_hosts(sample.hosts, sample.host))))
        if self._is_paused:
            return False
        if not self.ceiling:
            self._began_at = self._now
            self.ceiling = max(level_ceiling(self.order, sample, self._cores), self.order.least, 1.0)
            self._want_next()
        elif self._is_away(sample):
            if self.progress.left_seconds <= 0:
                self.end(self._now, "the server does not answer")
            self._restart_step(self._now)
        elif self._search is not None:
            self._try_recovery(slot, disturbance)
        elif self._run is not None:
            self._run.add_tick(slot, sample)
            if self._run.is_over(self._now):
                self._finish_step(self._now)
        return True

    def _is_away(self, sample: Sample) -> bool:
        """True if a server that has answered before does not answer now: that is not a collapse, and nothing
        is measured.
        """
        self._has_answered = self._has_answered or sample.server is not None
        return self._has_answered and sample.server is None and not sample.tick.sums.get("completed")

    def _want_next(self) -> None:
        """Ask for the next level; without one, the probe is over."""
        self._next = next_level(self.progress)
        if self._next is None:
            capacity = capacity_of(self.progress) if self.order.recover else None
            if capacity is None:
                self._want_arrivals()
                return
            remedies = remedies_against(self._policy) if self.order.remedies else ()
            self._search = RecoverySearch(capacity, self._threads, self._policy, remedies)
            self._search_since = self._now
            self.wanted = self._search.wanted
            return
        level, purpose = self._next
        words = "without a rate" if purpose is StepPurpose.SCALE else probe_level_text(self.order, level)
        by_threads = self.order.by is Quantity.THREADS
        threads, rate = (int(level), self._rate) if by_threads else (self._threads, level)
        self.wanted = {LOAD: LoadLevel(threads, rate, f"probe: {words} ({purpose})")}
        if self.order.recover:
            self.wanted = {ONE_ATTEMPT.option: ONE_ATTEMPT, **self.wanted}

    def _want_arrivals(self) -> None:
        """Ask for the recommended throughput as arrivals, or a lower rate; at the end, the probe is over."""
        rate = None
        if self._checked is None:
            self._checked = self._check_to_make()
        if (check := self._checked) is not None and self.progress.left_seconds >= NEXT_ARRIVALS_SECONDS:
            rate = next_arrivals(self._arrivals, check.tps, has_objectives=bool(self._objectives))
        if check is None or rate is None:
            self._end_of_search()
            return
        self._next = NextLevel(rate, StepPurpose.ARRIVALS)
        self.wanted = {LOAD: LoadLevel(check.connections, rate, f"probe: {format_rate(rate)} (as arrivals)")}

    def _check_to_make(self) -> ArrivalCheck | None:
        """The recommendation that arrivals can check; None if there is none."""
        if self.order.by is not Quantity.THREADS or self._rate or self._plan.users:
            return None
        end = end_of_climb(self.progress) or ProbeEnd.TIME
        level = result_of(self.progress, end, "", None, self._disturbances).recommended
        step = next((each for each in self.progress.measured if each.level == level), None)
        if level is None or step is None or step.tps < 1 or is_connection_limited(step):
            return None
        connections = int(max(level, min(MORE_CONNECTIONS * level, self.ceiling)))
        return ArrivalCheck(
            threads=level, tps=step.tps, p95_ms=step.p95_ms, connections=connections, steps=(), most=None
        )

    def _end_of_search(self) -> None:
        self._end(end_of_climb(self.progress) or ProbeEnd.TIME, "", self._now)

    def _try_recovery(self, slot: Tick, disturbance: str) -> None:
        """A tick of a trial of the recovery."""
        search = self._search
        if search is None:
            return
        if disturbance:
            search.restart()
        else:
            search.tick(slot)
        if self._now - self._search_since > MOST_RECOVERY_SECONDS:
            self._disturbances.append("the trials of the recovery were ended by their time limit")
            search.end()
        self.wanted, search.wanted = search.wanted, None
        if search.is_over:
            self._end_of_search()

    def applied(self, now: float) -> None:
        if self._search is not None:
            self._search.applied(now)
        if self._next is None:
            return
        self._now = max(self._now, now)
        level, purpose = self._next
        left = max(SHORTEST_STEP_SECONDS, self.progress.left_seconds)
        by, most = self.order.by, self.order.step_seconds
        if purpose is StepPurpose.ARRIVALS:
            by, most = Quantity.RATE, NEXT_ARRIVALS_SECONDS if self._arrivals else ARRIVALS_SECONDS
        self._run = StepRun(by, level, purpose, now, min(most, left))
        self._next = None

    def _finish_step(self, now: float) -> None:
        """Keep the step and ask for the next level. If its time was up before all connections were open, the
        probe ends with that reason.
        """
        self._now = max(self._now, now)
        if self._run is not None:
            if self._run.is_connecting:
                self._end(ProbeEnd.TIME, self._run.waiting(), now)
                return
            step = self._run.finished(now, self._objectives, is_local=self._is_local)
            if step.purpose is StepPurpose.ARRIVALS:
                self._arrivals.append(step)
                self._run = None
                self._want_arrivals()
                return
            self.steps.append(step)
        self._run = None
        self._bracket = bracket_of(self.progress)
        self._want_next()

    def next_step(self, now: float) -> None:
        """End the step with what is known. Raises UsageError if no step is under way, or nothing of it is
        measured.
        """
        if self._run is None:
            raise UsageError("no step of the load is being measured now")
        if not self._run.known.value:
            raise UsageError("nothing of this step is measured yet")
        self._finish_step(now)

    def on_change(self, event: Event) -> None:
        """A restart of the server ends the probe; a change that affects the transactions restarts
        its step.
        """
        now = event.elapsed_seconds
        if event.kind is EventKind.RESTART:
            self.end(now, OF_EVENTS[event.kind])
        elif event.kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = event.kind is EventKind.PAUSE
            self._restart_step(now)
        elif event.kind in DISTURBING:
            self._disturbances.append(f"the load was changed during the probe: {event.text}")
            self._restart_step(now)

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        self._restart_step(self._now)

    def _restart_step(self, now: float) -> None:
        if self._search is not None and not self.is_over:
            self._search.restart()
            self.wanted, self._search.wanted = self._search.wanted, None
        if (old := self._run) is not None:
            self._run = StepRun(old.by, old.level, old.purpose, now, old.most_seconds)

    def on_manual_load(self, quantity: Quantity, now: float) -> None:
        self.before = {LOAD: ()}
        self.end(now, f"the {quantity} {'were' if quantity is Quantity.THREADS else 'was'} set manually")

    def end(self, now: float, why: str = "") -> None:
        """End with what was measured; the step under way counts if its throughput is known."""
        if not self.is_over:
            is_level = self._run is not None and self._run.purpose is not StepPurpose.ARRIVALS
            if self._run is not None and is_level and self._run.is_stable:
                self.steps.append(self._run.finished(now, self._objectives, is_local=self._is_local))
            self._end(ProbeEnd.ABORTED, why, now)

    def _end(self, kind: ProbeEnd, why: str, now: float) -> None:
        super().end(now, why)
        self.end_kind = kind
        self._run = self._next = None
        if self._search is not None:
            self._search.end()

    async def evaluate(self) -> bool:
        """Fit the curve once levels in between are measured, and at the end; then state the result. True with
        news.
        """
        is_refined = self._next is not None and self._next.purpose in (
            StepPurpose.REFINE,
            StepPurpose.CONFIRM,
        )
        if self.is_over and self.ceiling and self.result is None:
            self._fit = await fit_usl(self.progress)
            self.result = self._stated()
            self.told.append(f"probe: {self.result.lines[0]}")
            return True
        if is_refined and self._fit is None:
            self._fit = await fit_usl(self.progress)
        return False

    def _check_made(self, recommended: float | None) -> ArrivalCheck | None:
        check, steps = self._checked, tuple(self._arrivals)
        if check is None or not steps or check.threads != recommended:
            return None
        return replace(check, steps=steps, most=most_arrivals(steps))

    def _stated(self) -> ProbeResult:
        """The result in figures and words, with the commands for the level that is worth a formal run."""
        found = result_of(self.progress, self.end_kind, self.why_ended, self._fit, self._disturbances)
        commit = tuple(each for each in settings_with(SettingRole.PANEL, self._settings()) if each.value)
        found = replace(
            found,
            durability={each.name: each.value for each in commit},
            vulnerable=self._search.found if self._search is not None else None,
            arrivals=self._check_made(found.recommended),
        )
        lines, level = probe_lines(found), found.recommended
        if level is not None:
            commands = formal_run_commands(
                self._plan,
                self._target,
                self.order.by,
                level,
                self._threads,
                has_password=bool(self._target.password or self._target.password_command),
                settings=commit,
            )
            if (check := found.arrivals) is not None and check.most is not None:
                theirs = formal_run_commands(
                    self._plan,
                    self._target,
                    Quantity.RATE,
                    check.most,
                    check.connections,
                    has_password=bool(self._target.password or self._target.password_command),
                )
                commands[ARRIVALS] = theirs["tuibench"]
        elif found.is_inconclusive and not self.order.slo:
            commands = deciding_sweep(self._plan, self._target, found)
        else:
            return replace(found, lines=lines)
        note = (PRIVATE_SERVER_NOTE,) if is_private_socket(self._target.socket) else ()
        return replace(found, lines=(*lines, *note), commands=commands)


async def fit_usl(progress: ProbeProgress) -> UslFit:
    """Fit the curve in a thread, because importing its library takes a second."""
    return await asyncio.to_thread(usl_of, progress)


@handles(StartProbe, needs=Needs.IDLE_LABORATORY)
async def start_probe(session: SteeredSession, command: StartProbe) -> str:
    probe = Probe.of_order(command.order, session.parts, is_by_hand=True)
    reply = await session.laboratory.start(probe)
    return reply + session.load.plan_runner.on_manual_change(command.order.by)


@handles(NextStep, needs=Needs.EXPERIMENT)
async def next_step(session: SteeredSession, command: NextStep) -> str:
    probe = session.laboratory.running(Probe)
    probe.next_step(session.log.elapsed_seconds())
    session.laboratory.follow(probe)
    return "continuing with the next step"
