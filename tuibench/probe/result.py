"""The result of a probe: saturation point, objectives, bottleneck, recovery, doubts, formal run."""

import math
from collections.abc import Callable, Sequence

from tuibench.errors import RunError
from tuibench.metrics.diagnosis import QUEUE_OUTSIDE, diagnose, is_client_limited
from tuibench.metrics.scaling import (
    FARTHEST_PEAK,
    curve_points,
    fit_usl_curve,
    throughput_curve,
    throughput_gain,
)
from tuibench.model.findings import Finding
from tuibench.model.plan import RunPlan
from tuibench.model.probe import (
    ProbeEnd,
    ProbeResult,
    ProbeStep,
    Recovery,
    SloResult,
    StepPurpose,
    UslFit,
)
from tuibench.model.schedule import Quantity
from tuibench.model.server import Target
from tuibench.model.settings import SettingState
from tuibench.probe.plan import (
    ProbeProgress,
    end_of_climb,
    is_collapsed,
    is_connection_limited,
    keeps_up,
    knee_of,
    objective_edge,
    point_of,
    points_of,
)
from tuibench.report.reproduce import LEVEL_AND_TIME, command_line, sysbench_command_line

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


def result_of(
    progress: ProbeProgress, end: ProbeEnd, reason: str, fitted: UslFit | None, disturbances: Sequence[str]
) -> ProbeResult:
    """The result without its text. `disturbances` are changes by others during the probe."""
    climbed = end_of_climb(progress)
    knee = knee_step(progress)
    limited = client_limited(progress, knee)
    bend = knee_of(progress) if not limited else None
    recovery = recovery_of(progress)
    doubts = doubts_of(progress, end, climbed, recovery, disturbances)
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
        bottleneck=bottleneck_of(progress, knee, limited=limited),
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


def bottleneck_of(progress: ProbeProgress, knee: ProbeStep | None, *, limited: bool) -> Finding | None:
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


def doubts_of(
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
    highest, peak = points[-1].level, found.peak_level
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


def usl_steps(steps: Sequence[ProbeStep]) -> list[ProbeStep]:
    """The levels below the first at which client, connections or a collapse set the limit.

    A client that got more done at a higher level did not set it at this one.
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
