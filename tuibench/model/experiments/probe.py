"""Saturation probe: its steps of increasing load and its result.

Levels are threads or transactions per second, depending on the order; half-widths are those of 95 %
intervals, as a share of the value (0.03 is 3 %).
"""

from enum import StrEnum

import msgspec

from tuibench.model.measurements.finding import Evidence, Finding
from tuibench.model.schedule import Quantity


class ProbeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to probe. `slo` are objectives such as `p95<20ms`; a level keeps them or misses them.

    `least` and `most` bound the levels; 0 is for as low and as high as makes sense. A step takes at most
    `step_seconds`, all of it together about `seconds`.
    """

    by: Quantity = Quantity.THREADS
    slo: tuple[str, ...] = ()
    least: float = 0.0
    most: float = 0.0
    step_seconds: float = 8.0
    seconds: float = 90.0


class StepPurpose(StrEnum):
    """Why a level is measured: on the way up, between two others, or again on the way back down.

    With a rate the first step finds out, without one, how much there can be at all.
    """

    SCALE = "scale"
    UP = "up"
    REFINE = "refine"
    BACK = "back"


class ProbeEnd(StrEnum):
    """Why the way up ended, or all of it."""

    KNEE = "knee"
    SLO = "slo"
    COLLAPSE = "collapse"
    CONNECTIONS = "connections"
    LIMIT = "limit"
    TIME = "time"
    ABORTED = "aborted"


class ProbeStep(msgspec.Struct, frozen=True, kw_only=True):
    """One level as it was measured, for `seconds` after `settling_seconds`; both add up over its ticks.

    `is_stable` is True if its throughput is known well enough. `missed` says, for each objective that was not
    kept, what was measured instead.
    """

    level: float
    purpose: StepPurpose
    at_seconds: float
    seconds: float
    settling_seconds: float
    tps: float
    half_width: float | None
    is_stable: bool
    qps: float = 0.0
    p95_ms: float | None = None
    errors_percent: float = 0.0
    missed: tuple[str, ...] = ()
    evidence: Evidence = Evidence()


class SloResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for the objectives together. `most` is the highest level that keeps them, None if none does;
    `missed_at` the lowest above it that does not, with what was `missed` there.
    `best` is the fewest threads that give nearly all that can be had.
    """

    slo: tuple[str, ...]
    most: float | None
    missed_at: float | None
    missed: tuple[str, ...]
    best: float | None
    tps: float | None
    p95_ms: float | None


class UslFit(msgspec.Struct, frozen=True, kw_only=True):
    """The Universal Scalability Law through the measured levels, or in `refusal` why there is no such curve.

    `peak_level` is None where none can be told from what was measured. `curve` are points to draw.
    """

    refusal: str = ""
    lam: float = 0.0
    sigma: float = 0.0
    kappa: float = 0.0
    r2: float = 0.0
    peak_level: float | None = None
    peak_tps: float | None = None
    highest_fitted: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The same level before and after the highest load; `percent` is the difference, `margin` half of its
    interval, in points. `differs` is True if it is more than noise.
    """

    level: float
    before: float
    after: float
    percent: float
    margin: float | None
    differs: bool


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that a probe found. `knee` is the measured step at the saturation point, None if there is none;
    `knee_low` and `knee_high` are the levels between which it lies for all that the noise allows.

    `reason` says why the way up ended. `peak` is the step with the most throughput. `doubts` are what speaks
    against it, `confidence` what they come to. Where the client was the limit there is no knee. `lines` say
    it all in words, `commands` are for a formal run. `durability` are the values, by name, of the settings
    that decide what a commit waits for.
    """

    order: ProbeOrder
    end: ProbeEnd
    reason: str
    seconds: float
    steps: tuple[ProbeStep, ...]
    ceiling: float
    knee: ProbeStep | None = None
    knee_low: float | None = None
    knee_high: float | None = None
    peak: ProbeStep | None = None
    bottleneck: Finding | None = None
    objective: SloResult | None = None
    recovery: Recovery | None = None
    fit: UslFit | None = None
    confidence: str = "low"
    doubts: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    commands: dict[str, str] = {}
    client_limited: bool = False
    durability: dict[str, str] = {}


class ProbeState(msgspec.Struct, frozen=True, tag="probe", kw_only=True):
    """Progress of a probe; sent with every tick. `result` is set at its end.

    `level` is the level under measurement; `tps` and `half_width` are its figures so far, `waiting` is what
    the step waits for.
    """

    order: ProbeOrder
    steps: tuple[ProbeStep, ...] = ()
    ceiling: float = 0.0
    purpose: StepPurpose = StepPurpose.UP
    level: float = 0.0
    step_seconds: float = 0.0
    elapsed_seconds: float = 0.0
    tps: float | None = None
    half_width: float | None = None
    p95_ms: float | None = None
    waiting: str = ""
    knee: float | None = None
    fit: UslFit | None = None
    result: ProbeResult | None = None

    @property
    def is_over(self) -> bool:
        return self.result is not None
