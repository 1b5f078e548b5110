"""What a probe found, put together from its steps: saturation, objectives, limiter, recovery, doubts."""

import math
from collections.abc import Callable, Sequence

from tuibench.errors import RunError
from tuibench.metrics.knee import curve, gain
from tuibench.metrics.usl import FARTHEST_PEAK, Usl, curve_of, fit
from tuibench.model.probe import (
    Limiter,
    Objective,
    ProbeEnd,
    ProbeResult,
    ProbeStep,
    Purpose,
    Recovery,
    UslFit,
)
from tuibench.model.schedule import Quantity
from tuibench.session.probe_ladder import (
    Gone,
    end_of_climb,
    is_collapsed,
    is_refused,
    knee_of,
    objective_edge,
    point_of,
    points_of,
)
from tuibench.session.probe_limiter import is_client_limited, limiter_of

NEARLY = 0.97
"""A level with this part of the highest throughput has nearly all of it."""

GROWN = 1.1
"""A level with this times the throughput of another has more of it, beyond noise."""

FOREIGN_PERCENT = 10.0
DRIFT_PERCENT = 5.0
WIDE = 4.0


def answer(
    gone: Gone, end: ProbeEnd, reason: str, fitted: UslFit | None, disturbances: Sequence[str]
) -> ProbeResult:
    """The result without its words. `disturbances` are what others did meanwhile."""
    steps = gone.measured
    climbed = end_of_climb(gone)
    knee = knee_step(gone)
    limited = client_limited(gone, knee)
    bend = knee_of(gone) if not limited else None
    recovery = recovery_of(gone)
    doubts = doubts_of(gone, end, climbed, recovery, disturbances)
    return ProbeResult(
        order=gone.order,
        end=end if end is ProbeEnd.ABORTED or climbed is None else climbed,
        reason=reason,
        seconds=gone.elapsed_seconds,
        steps=tuple(gone.steps),
        ceiling=gone.ceiling,
        knee=None if limited else knee,
        knee_low=_outwards(gone, bend.low, math.floor) if bend else None,
        knee_high=_outwards(gone, bend.high, math.ceil) if bend else None,
        peak=max(steps, key=lambda step: step.tps, default=None),
        limiter=limiter(gone, knee, limited=limited),
        objective=objective_of(gone),
        recovery=recovery,
        fit=fitted,
        confidence=confidence_of(doubts, end, limited=limited),
        doubts=doubts,
        client_limited=limited,
    )


def knee_step(gone: Gone) -> ProbeStep | None:
    """The measured step that lies nearest to the bend of the curve."""
    bend = knee_of(gone)
    if bend is None:
        return None
    return min(gone.measured, key=lambda step: abs(math.log(step.level / bend.level)))


def client_limited(gone: Gone, knee: ProbeStep | None) -> bool:
    """Whether the throughput stopped growing, or failed to, where the client was the bottleneck."""
    steps = gone.measured
    if not steps:
        return False
    pressed = [step for step in steps if knee is None or step.level >= knee.level] if knee else steps[-1:]
    return any(is_client_limited(step) for step in pressed[:3])


def limiter(gone: Gone, knee: ProbeStep | None, *, limited: bool) -> Limiter | None:
    """What holds the throughput back; None where nothing does yet."""
    pressed = [step for step in gone.measured if knee is not None and step.level >= knee.level]
    if limited:
        guilty = next(step for step in reversed(gone.measured) if is_client_limited(step))
        return limiter_of(guilty, threads_of(gone, guilty))
    refused = [step for step in gone.measured if is_refused(step)]
    if refused and gone.order.by is Quantity.THREADS:
        return limiter_of(refused[0], refused[0].level)
    if not pressed:
        return None
    strained = pressed[min(1, len(pressed) - 1)]
    return limiter_of(strained, threads_of(gone, strained))


def threads_of(gone: Gone, step: ProbeStep) -> float:
    return step.level if gone.order.by is Quantity.THREADS else float(step.evidence.connections)


def objective_of(gone: Gone) -> Objective | None:
    """The levels that keep all objectives; None without any, or where nothing was measured."""
    if not gone.order.slo or not gone.measured:
        return None
    most, missed = objective_edge(gone)
    kept = [step for step in gone.measured if not step.missed and most and step.level <= most.level]
    enough = NEARLY * max((step.tps for step in kept), default=0.0)
    best = next((step for step in kept if step.tps >= enough), None)
    return Objective(
        slo=gone.order.slo,
        most=most.level if most else None,
        missed_at=missed.level if missed else None,
        missed=missed.missed if missed else (),
        best=best.level if best else None,
        tps=best.tps if best else None,
        p95_ms=best.p95_ms if best else None,
    )


def recovery_of(gone: Gone) -> Recovery | None:
    """The first level on the way back against the same level on the way up."""
    back = next(iter(gone.of(Purpose.BACK)), None)
    before = next((step for step in gone.of(Purpose.UP) if back and step.level == back.level), None)
    if back is None or before is None or not before.tps or not back.tps:
        return None
    change = gain(point_of(before), point_of(back))
    differs = abs(change.value) > max(change.margin, DRIFT_PERCENT / 100)
    return Recovery(
        level=back.level,
        before=before.tps,
        after=back.tps,
        percent=100 * math.expm1(change.value),
        margin=100 * change.margin if math.isfinite(change.margin) else None,
        differs=differs,
    )


def doubts_of(
    gone: Gone,
    end: ProbeEnd,
    climbed: ProbeEnd | None,
    recovery: Recovery | None,
    disturbances: Sequence[str],
) -> tuple[str, ...]:
    """What speaks against the answer, a sentence each."""
    found = list(disturbances)
    shaky = [
        step for step in gone.measured if not step.is_stable and step.level >= _lowest_that_matters(gone)
    ]
    if shaky:
        levels = ", ".join(f"{step.level:g}" for step in shaky)
        found.append(f"throughput was not stable in {gone.order.step_seconds:g} s at {levels}")
    if 2 * len(shaky) > len([step for step in gone.measured if step.level >= _lowest_that_matters(gone)]):
        found.append("that is most of those that matter: the machine is not calm")
    bend = knee_of(gone)
    if bend is not None and bend.high > WIDE * bend.low:
        found.append("the noise leaves open where between these two levels throughput stops growing")
    foreign = [step.evidence.foreign_percent or 0.0 for step in gone.measured]
    if foreign and sorted(foreign)[len(foreign) // 2] > FOREIGN_PERCENT:
        found.append("other clients are at work on the server")
    if recovery is not None and recovery.differs:
        later = "less" if recovery.percent < 0 else "more"
        why = "it has not recovered" if recovery.percent < 0 else "it was still warming up at first"
        found.append(
            f"after the highest load the same level gives {abs(recovery.percent):.0f} % {later}: {why}"
        )
    if climbed is None and end is not ProbeEnd.ABORTED:
        found.append("the time was up on the way up: a longer --max-time sees more")
    return tuple(found)


def _lowest_that_matters(gone: Gone) -> float:
    """A level far below the knee may be as shaky as it likes."""
    bend = knee_of(gone)
    return (bend.level if bend else max(step.level for step in gone.measured)) / 2


def _outwards(gone: Gone, level: float, whole: Callable[[float], int]) -> float:
    """The end of an interval in whole threads; a rate stays as it is."""
    return float(whole(level)) if gone.order.by is Quantity.THREADS else level


def confidence_of(doubts: Sequence[str], end: ProbeEnd, *, limited: bool) -> str:
    if limited or end is ProbeEnd.ABORTED or len(doubts) > 1:
        return "low"
    return "medium" if doubts else "high"


def usl_of(gone: Gone) -> UslFit:
    """The fit, up to where something else than the law set the limit; or why there is none."""
    if gone.order.by is not Quantity.THREADS:
        return UslFit(refusal="it is about threads, not about a rate")
    steps = lawful(gone.measured)
    if len(steps) < len(gone.measured) and not steps:
        return UslFit(refusal="the client was the limit from the first level on")
    points = curve(points_of(steps))
    try:
        found = fit(points)
    except RunError as error:
        return UslFit(refusal=error.message)
    return _told(found, points[-1].level)


def lawful(steps: Sequence[ProbeStep]) -> list[ProbeStep]:
    """The levels below the first at which client, connections or a collapse set the limit.

    A client that got more done at a higher level did not set it at this one.
    """
    for place, step in enumerate(steps):
        is_clients = is_client_limited(step) and not _grew(step, steps[place + 1 :])
        if is_clients or is_refused(step) or is_collapsed(step, steps[: place + 1]):
            return list(steps[:place])
    return list(steps)


def _grew(step: ProbeStep, higher: Sequence[ProbeStep]) -> bool:
    return any(other.tps > GROWN * step.tps for other in higher)


def _told(found: Usl, highest: float) -> UslFit:
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
        curve=curve_of(found, max(highest, peak or 0.0)),
    )
