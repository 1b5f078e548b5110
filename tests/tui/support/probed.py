"""A probe for the screens: a made-up server by the law, as the session would tell of it."""

import functools
from typing import NamedTuple

from msgspec.structs import replace

from tests.unit.features.probe.simulated_probe import Curve, Noise, probe
from tuibench.base.units import milliseconds
from tuibench.features.probe.experiment import result_of
from tuibench.features.probe.text import probe_lines
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeState, StepPurpose, UslFit

LAW = Curve()
ORDER = ProbeOrder(slo=("p95<40ms",), seconds=82.0)
FIT = UslFit(
    lam=LAW.lam,
    sigma=LAW.sigma,
    kappa=LAW.kappa,
    r2=0.998,
    peak_level=43.6,
    peak_tps=LAW.tps(43.6),
    highest_fitted=128.0,
    curve=tuple((2 ** (place / 5), LAW.tps(2 ** (place / 5))) for place in range(36)),
)


class Probed(NamedTuple):
    """The probe while it measures, and when it is over."""

    under_way: ProbeState
    over: ProbeState


@functools.cache
def probed() -> Probed:
    """It takes half a second: not for those that only import it."""
    plan = probe(ProbeOrder(seconds=82.0), LAW, 3, Noise(0.015))
    steps = tuple(
        replace(step, missed=(f"p95<40ms: {milliseconds(step.p95_ms)}",) if (step.p95_ms or 0.0) > 40 else ())
        for step in plan.steps
    )
    under_way = ProbeState(
        order=ORDER,
        steps=steps[:5],
        ceiling=1024.0,
        purpose=StepPurpose.UP,
        level=32.0,
        step_seconds=3.5,
        elapsed_seconds=24.5,
        tps=2051.0,
        half_width=0.041,
        p95_ms=28.1,
        waiting="a throughput known to ±3.0 %: now ±4.1 %",
    )
    gone = plan.progress._replace(order=ORDER, steps=steps)
    found = result_of(gone, ProbeEnd.KNEE, "", FIT, ())
    over = ProbeState(
        order=ORDER,
        steps=steps,
        ceiling=1024.0,
        elapsed_seconds=found.seconds,
        fit=FIT,
        result=replace(found, lines=probe_lines(found)),
    )
    return Probed(under_way, over)
