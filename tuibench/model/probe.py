"""Saturation probe: its steps of increasing load and its result.

Levels are threads or transactions per second, depending on the order; half-widths are those of 95 %
intervals, as a share of the value (0.03 is 3 %).
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from tuibench.model.findings import Evidence, Finding, Mean
from tuibench.model.option import Option
from tuibench.model.schedule import MAX_RATE, MAX_THREADS, Quantity

LOW = "low"
"""The confidence below which no saturation point is claimed."""

SWEEP = "sweep"
"""The command, by name, that decides what a probe has left open."""

MIN_SECONDS, MAX_SECONDS = 10.0, 86_400.0
"""Limits of a probe's time after its warm-up."""


def _by_threads(plan: Any) -> bool:
    return bool(plan.probe.by is Quantity.THREADS)


def _by_rate(plan: Any) -> bool:
    return not _by_threads(plan)


class ProbeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to probe. `slo` are objectives such as `p95<20ms`, which a level meets or misses.

    `least` and `most` limit the levels; 0 for automatic limits. A step takes at most `step_seconds`, the
    whole probe at most about `seconds`.
    """

    by: Annotated[
        Quantity, Option(help="What to increase: threads, or rate (with --threads connections).")
    ] = Quantity.THREADS
    slo: Annotated[
        tuple[str, ...],
        Option(metavar="CONDITION", help='Objective: "p95<20ms", "errors<1%", "tps>500"; repeatable.'),
    ] = ()
    step_seconds: Annotated[
        float,
        Option(
            "--max-step-time", metavar="SECONDS", low=2, high=600, help="Time limit of a step in seconds."
        ),
    ] = 8.0
    seconds: Annotated[
        float,
        Option(
            "--max-time",
            metavar="SECONDS",
            help="Time limit of the probe in seconds.",
            read=lambda plan: plan.probe.seconds + plan.warmup_seconds,
        ),
    ] = 180.0
    least: Annotated[
        float,
        Option(
            "--min-threads",
            kind=int,
            low=1,
            high=MAX_THREADS,
            help="Lowest number of threads.",
            when=_by_threads,
        ),
        Option("--min-rate", high=MAX_RATE, help="With --by rate: the lowest rate.", when=_by_rate),
    ] = 0.0
    most: Annotated[
        float,
        Option(
            "--max-threads",
            kind=int,
            high=MAX_THREADS,
            help="Highest number of threads; 0: up to 1,024, or the server's limit.",
            when=_by_threads,
        ),
        Option("--max-rate", high=MAX_RATE, help="With --by rate: the highest rate.", when=_by_rate),
    ] = 0.0


class StepPurpose(StrEnum):
    """Why a level is measured: while the load increases, between two other levels, or once more.

    With a rate, the first step measures the maximum throughput, without a rate.
    """

    SCALE = "scale"
    UP = "up"
    REFINE = "refine"
    CONFIRM = "confirm"


class ProbeEnd(StrEnum):
    """Why the increase, or the whole probe, ended."""

    KNEE = "knee"
    SLO = "slo"
    COLLAPSE = "collapse"
    CONNECTIONS = "connections"
    LIMIT = "limit"
    TIME = "time"
    ABORTED = "aborted"


class ProbeStep(msgspec.Struct, frozen=True, kw_only=True):
    """The measurement of one level, for `seconds` after `settling_seconds`, each added up over its samples.

    `is_stable` is True if the throughput is known precisely enough. `missed` has the measured value of each
    objective that was not met. `slack` is the logarithm of the factor by which the nearest objective was met,
    negative if it was missed; None without one, or if it was not measured.
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
    slack: float | None = None
    evidence: Evidence = Evidence()


class SloResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result for all objectives together. `most` is the highest level up to which they are met;
    `missed_at` is the lowest level above it that does not meet them, with the `missed` objectives. `contrary`
    are the levels that noise has put on the other side: below `most` they missed, above it they met. Where
    `most` is None, the objectives are met at no level, or only at contrary ones.

    `best` is the lowest level with almost the maximum throughput of those that would meet the objectives
    again: by more than the noise of `noise_percent`, in 9 of 10 runs. None if there is none.
    """

    slo: tuple[str, ...]
    most: float | None
    missed_at: float | None
    missed: tuple[str, ...]
    best: float | None
    tps: float | None
    p95_ms: float | None
    contrary: tuple[float, ...] = ()
    noise_percent: float = 0.0


class UslFit(msgspec.Struct, frozen=True, kw_only=True):
    """Fit of the Universal Scalability Law to the measured levels; without a fit, `refusal` is the reason.

    `r2` is the share of the variance that it explains, `peak_level` the level with the highest throughput,
    None if it cannot be determined. `curve` are points to draw.
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

    def tps(self, level: float) -> float:
        return self.lam * level / (1 + self.sigma * (level - 1) + self.kappa * level * (level - 1))


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The same level before and after the highest load; `percent` is the difference, `margin` half of its
    interval in percentage points. `differs` is True if it is significant.
    """

    level: float
    before: float
    after: float
    percent: float
    margin: float | None
    differs: bool


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a probe. `knee` is the measured level at the saturation point, the lowest with 95 % of the
    `plateau`; None if there is none. The saturation point lies between `knee_low` and `knee_high`.

    `recommended` is the level for the formal run, None without one. `reason` is why the increase ended.
    `plateau` is the highest throughput that can be sustained; of a rate, the capacity. `doubts` are reasons
    against the result; `confidence` summarises them. If the client was the bottleneck, there is no knee.
    `lines` are the result in words, `commands` are for the formal test. `durability` has the values, by name,
    of the settings that determine what a commit waits for.
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
    recommended: float | None = None
    plateau: Mean | None = None
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

    @property
    def is_inconclusive(self) -> bool:
        """True if it has a saturation point that is not reliable."""
        return self.knee is not None and self.confidence == LOW


class ProbeState(msgspec.Struct, frozen=True, tag="probe", kw_only=True):
    """Progress of a probe, sent with every sample. `result` is set at its end.

    `level` is the level under measurement; `tps` and `half_width` are its figures so far; `waiting` describes
    what the step waits for. `busy` says that other programs use the host.
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
    busy: str = ""
    knee: float | None = None
    fit: UslFit | None = None
    result: ProbeResult | None = None

    @property
    def is_over(self) -> bool:
        return self.result is not None

    @property
    def left_seconds(self) -> float:
        """About the time that it still takes, which is known in advance; its number of steps is not."""
        return self.order.seconds - self.elapsed_seconds
