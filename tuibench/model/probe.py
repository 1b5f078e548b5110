"""Saturation probe: its steps of increasing load and its result.

Levels are threads or transactions per second, depending on the order; half-widths are those of 95 %
intervals, as a share of the value (0.03 is 3 %).
"""

import math
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.callers import CallerPolicy
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
    """What to probe."""

    by: Annotated[
        Quantity, Option(help="What to increase: threads, or rate (with --threads connections).")
    ] = Quantity.THREADS
    slo: Annotated[
        tuple[str, ...],
        Option(metavar="CONDITION", help='Objective: "p95<20ms", "errors<1%", "tps>500"; repeatable.'),
    ] = ()
    """Objectives such as `p95<20ms`, which a level meets or misses."""
    step_seconds: Annotated[
        float,
        Option(
            "--max-step-time", metavar="SECONDS", low=2, high=600, help="Time limit of a step in seconds."
        ),
    ] = 8.0
    """The maximum time of a step."""
    seconds: Annotated[
        float,
        Option(
            "--max-time",
            metavar="SECONDS",
            help="Time limit of the probe in seconds.",
            read=lambda plan: plan.probe.seconds + plan.warmup_seconds,
        ),
    ] = 180.0
    """The approximate maximum of the whole probe."""
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
    """The lowest level; 0 for an automatic limit."""
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
    """The highest level; 0 for an automatic limit."""
    recover: Annotated[
        bool,
        Option(
            help="With --by rate and --deadline: also find the highest rate that recovers from a burst by "
            "itself, some minutes more.",
            when=_by_rate,
        ),
    ] = False
    remedies: Annotated[
        bool,
        Option(
            help="With --recover: also what --queue=shed, --queue=lifo, a retry budget, a breaker and "
            "--on-deadline=kill change.",
            when=_by_rate,
        ),
    ] = False


MOST_DEADLINE_MS = 10_000.0
"""For a search of the vulnerable range: a trial takes several deadlines."""


def check_recovery(order: ProbeOrder, policy: CallerPolicy) -> None:
    """Raises UsageError unless a probe can look for the vulnerable range of a load with such callers."""
    if order.remedies and not order.recover:
        raise UsageError("--remedies needs --recover")
    if not order.recover:
        return
    if order.by is not Quantity.RATE:
        raise UsageError("--recover needs arrivals that do not wait", "add --by rate")
    if not policy.deadline_ms:
        raise UsageError("--recover needs a deadline", "for example --deadline=200ms")
    if policy.deadline_ms > MOST_DEADLINE_MS:
        raise UsageError(f"--recover takes a deadline of at most {MOST_DEADLINE_MS / 1000:g}s")


class StepPurpose(StrEnum):
    """Why a level is measured."""

    SCALE = "scale"
    """With a rate, the first step runs without one, to measure the maximum throughput."""
    UP = "up"
    """While the load increases."""
    REFINE = "refine"
    """Between two other levels."""
    CONFIRM = "confirm"
    """Once more."""
    ARRIVALS = "as arrivals"
    """The recommended throughput of a probe by threads, as a rate."""


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
    """The measurement of one level."""

    level: float
    purpose: StepPurpose
    at_seconds: float
    seconds: float
    """The measured time, added up over its samples."""
    settling_seconds: float
    """The time before, added up over its samples."""
    tps: float
    half_width: float | None
    is_stable: bool
    """True if the throughput is known precisely enough."""
    qps: float = 0.0
    p95_ms: float | None = None
    errors_percent: float = 0.0
    missed: tuple[str, ...] = ()
    """Each objective that was not met, with the measured value."""
    slack: float | None = None
    """The logarithm of the factor by which the nearest objective was met, negative if it was missed; None
    without an objective, or if it was not measured.
    """
    evidence: Evidence = Evidence()


class SloResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result for all objectives together."""

    slo: tuple[str, ...]
    most: float | None
    """The highest level up to which they are met; None if they are met at no level, or only at contrary ones.
    """
    missed_at: float | None
    """The lowest level above `most` that does not meet them."""
    missed: tuple[str, ...]
    """The objectives that it does not meet."""
    best: float | None
    """The lowest level with almost the maximum throughput of those that would meet the objectives again in 9
    of 10 runs: by more than the noise. None if there is no such level.
    """
    tps: float | None
    p95_ms: float | None
    contrary: tuple[float, ...] = ()
    """The levels that contradict `most` because of noise: levels below it that missed the objectives, and
    levels above it that met them.
    """
    noise_percent: float = 0.0


class UslFit(msgspec.Struct, frozen=True, kw_only=True):
    """Fit of the Universal Scalability Law to the measured levels."""

    refusal: str = ""
    """The reason why there is no fit."""
    lam: float = 0.0
    sigma: float = 0.0
    kappa: float = 0.0
    r2: float = 0.0
    """The share of the variance that the fit explains."""
    peak_level: float | None = None
    """The level with the highest throughput; None if it cannot be determined."""
    peak_tps: float | None = None
    highest_fitted: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()
    """Points to draw."""

    def tps(self, level: float) -> float:
        return self.lam * level / (1 + self.sigma * (level - 1) + self.kappa * level * (level - 1))


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The same level before and after the highest load."""

    level: float
    before: float
    after: float
    percent: float
    """The difference."""
    margin: float | None
    """Half of the interval of the difference, in percentage points."""
    differs: bool
    """True if the difference is significant."""


class ArrivalCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The recommendation of a probe by threads, run as arrivals that do not wait for each other."""

    threads: float
    """The recommended number."""
    tps: float
    p95_ms: float | None
    """With these threads."""
    connections: int
    """Those of the arrivals: more than the threads, so that a cluster of them waits in the server."""
    steps: tuple[ProbeStep, ...]
    """In order, each with its rate as level: first that of `tps`, then lower ones while objectives are
    missed.
    """
    most: float | None
    """The highest of these rates that was reached and meets the objectives; None if none does."""


class TrialEnd(StrEnum):
    """What became of a load after a burst."""

    RECOVERED = "recovered"
    DRAINS = "drains"
    """The queue falls, and the load will be back when it is empty."""
    STAYS = "stays"
    """It does not recover by itself: the queue grows, or stays."""
    UNSTEADY = "unsteady"
    """The rate does not hold even without a burst."""


class RecoveryTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A burst at one rate, from an empty queue. Goodputs are per second."""

    rate: float
    remedy: str = ""
    """The option that was changed for it: queue=shed."""
    end: TrialEnd
    before: float
    """The goodput before the burst."""
    lowest: float
    after: float | None
    """The goodput of the last seconds; None if there was no burst."""
    seconds: float | None
    """From the end of the burst to the recovery; None without one."""
    backlog: float = 0.0
    """Transactions that waited at the end."""
    growth: float | None = None
    """Of the backlog per second at the end, negative while it drained; None if unknown."""
    is_sure: bool = True
    """False if the queue neither grew nor drained beyond the noise: this rate is near the edge."""

    @property
    def is_recovered(self) -> bool:
        """True if the load recovers by itself."""
        return self.end in (TrialEnd.RECOVERED, TrialEnd.DRAINS)

    @property
    def left_seconds(self) -> float | None:
        """Until a queue that drained at the end is empty; None if it did not."""
        return self.backlog / -self.growth if self.growth is not None and self.growth < 0 else None


class RecoveryEdge(msgspec.Struct, frozen=True, kw_only=True):
    """The interval in which the highest rate lies that recovers by itself."""

    remedy: str = ""
    low: float | None
    """The highest rate that recovered, below all that did not; None if none did."""
    high: float | None
    """The lowest rate that did not recover, above all that did; None if all did, up to the highest tried."""
    trials: int


class VulnerableRange(msgspec.Struct, frozen=True, kw_only=True):
    """The rates at which a load runs well until something makes everything late: above the edge, below the
    capacity.
    """

    capacity: Mean
    deadline_ms: float
    attempts: int
    highest: float
    """The highest rate to try: above it, the queues of random arrivals are too long."""
    edges: tuple[RecoveryEdge, ...]
    """Without a remedy, then with each."""
    trials: tuple[RecoveryTrial, ...]
    """In order."""

    @property
    def hysteresis(self) -> dict[str, list[tuple[float, float]]]:
        """Goodput by rate, without a remedy: before a burst and after it. A queue that drains ends at the
        level before.
        """
        own = sorted((each for each in self.trials if not each.remedy), key=lambda each: each.rate)
        before: dict[float, list[float]] = {}
        after: dict[float, list[float]] = {}
        for each in own:
            before.setdefault(each.rate, []).append(each.before)
            if each.after is not None:
                end = each.before if each.end is TrialEnd.DRAINS else each.after
                after.setdefault(each.rate, []).append(end)
        ways = {"before the burst": before, "after it": after}
        return {
            name: [(rate, math.fsum(values) / len(values)) for rate, values in way.items()]
            for name, way in ways.items()
        }


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a probe. If the client was the bottleneck, there is no knee."""

    order: ProbeOrder
    end: ProbeEnd
    reason: str
    """Why the increase ended."""
    seconds: float
    steps: tuple[ProbeStep, ...]
    ceiling: float
    knee: ProbeStep | None = None
    """The measured level at the saturation point, the lowest with 95 % of the `plateau`; None if there is
    none.
    """
    knee_low: float | None = None
    """The lower limit of the saturation point."""
    knee_high: float | None = None
    """The upper limit of the saturation point."""
    recommended: float | None = None
    """The level for the formal run; None without one."""
    plateau: Mean | None = None
    """The highest throughput that can be sustained; with a rate, the capacity."""
    bottleneck: Finding | None = None
    objective: SloResult | None = None
    recovery: Recovery | None = None
    arrivals: ArrivalCheck | None = None
    """None for a probe by rate, without a recommendation, and if no time was left."""
    vulnerable: VulnerableRange | None = None
    """None unless it was asked for, and the capacity is known."""
    fit: UslFit | None = None
    confidence: str = "low"
    """Summarises the doubts."""
    doubts: tuple[str, ...] = ()
    """Reasons against the result."""
    lines: tuple[str, ...] = ()
    """The result in words."""
    commands: dict[str, str] = {}
    """Commands for the formal test."""
    client_limited: bool = False
    durability: dict[str, str] = {}
    """The values, by name, of the settings that determine what a commit waits for."""

    @property
    def is_inconclusive(self) -> bool:
        """True if it has a saturation point that is not reliable."""
        return self.knee is not None and self.confidence == LOW


class ProbeState(msgspec.Struct, frozen=True, tag="probe", kw_only=True):
    """Progress of a probe, sent with every sample."""

    order: ProbeOrder
    steps: tuple[ProbeStep, ...] = ()
    ceiling: float = 0.0
    purpose: StepPurpose = StepPurpose.UP
    level: float = 0.0
    """The level under measurement."""
    step_seconds: float = 0.0
    elapsed_seconds: float = 0.0
    tps: float | None = None
    """The throughput of the level so far."""
    half_width: float | None = None
    p95_ms: float | None = None
    waiting: str = ""
    """What the step waits for."""
    busy: str = ""
    """Says that other programs use the host; empty if they do not."""
    trial: str = ""
    """What a trial of the recovery does, or a rate of the check by arrivals; empty while levels are
    measured.
    """
    arrivals: tuple[ProbeStep, ...] = ()
    """The rates of the check by arrivals so far."""
    vulnerable: VulnerableRange | None = None
    """Its trials so far."""
    knee: float | None = None
    fit: UslFit | None = None
    result: ProbeResult | None = None
    """Set at the end of the probe."""

    @property
    def is_over(self) -> bool:
        return self.result is not None

    @property
    def left_seconds(self) -> float:
        """The approximate remaining time of the probe. The time is known in advance; the number of steps is
        not.
        """
        return self.order.seconds - self.elapsed_seconds
