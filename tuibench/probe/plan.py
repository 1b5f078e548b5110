"""The search of a probe for the saturation point: the next level, when a step is over, why the search ends.

    scale (with a rate only) ── up, each level twice the one before ── refine, between two levels ── back

The way up goes one doubling beyond the knee, to be sure of it. What is refined is where the objectives are
lost, then the knee, until two levels lie less than a quarter apart. Back goes to a level of the way up.

A step collects ticks until its level is known well enough. A tick counts once all connections are open and it
began after the level was set. The first that counts is discarded, and more of them until throughput and p95
are at rest (`settling_slots`). The step is over when the 95 % interval of the mean throughput is narrower
than ±3 %, from at least five ticks, or when its time is up.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.ab.windows import settling_slots
from tuibench.metrics.figures import read
from tuibench.metrics.inference import estimate_mean
from tuibench.metrics.measurement_warnings import collect_evidence, is_rate_met
from tuibench.metrics.scaling import (
    LOG_GAIN,
    Gain,
    Knee,
    ThroughputPoint,
    find_knee,
    throughput_curve,
    throughput_gain,
)
from tuibench.metrics.series import is_at_rest
from tuibench.metrics.thresholds import Threshold
from tuibench.model.findings import Evidence
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeStep, StepPurpose
from tuibench.model.sample import Sample
from tuibench.model.schedule import MAX_RATE, Quantity
from tuibench.model.tick import RESPONSE, US_PER_MS, Tick, merge_histograms, total_tick

FINE = {Quantity.THREADS: 1.25, Quantity.RATE: 1.12}
"""Two neighbouring levels at most this far apart need no level in between."""

LOSS = math.log(0.8)
COLLAPSE_SHARE, COLLAPSE_ERRORS = 0.5, 50.0
"""Less than this part of the best throughput, or more than this many percent errors."""

FIRST_RATE_SHARE = 0.125
SHORTEST_STEP_SECONDS = 3.0
RISES_WITH_LOAD = ("tps", "qps")
"""Figures that may miss an objective because there is too little load."""


class NextLevel(NamedTuple):
    """The next level, and why."""

    level: float
    purpose: StepPurpose


class ProbeProgress(NamedTuple):
    """The steps of a probe and its time so far. `ceiling` is the highest level."""

    order: ProbeOrder
    ceiling: float
    steps: Sequence[ProbeStep]
    elapsed_seconds: float

    @property
    def left_seconds(self) -> float:
        return self.order.seconds - self.elapsed_seconds

    @property
    def usual_seconds(self) -> float:
        """The usual duration of a step."""
        spent = [step.seconds + step.settling_seconds for step in self.steps]
        return max(SHORTEST_STEP_SECONDS, math.fsum(spent) / len(spent)) if spent else SHORTEST_STEP_SECONDS

    def of(self, *purposes: StepPurpose) -> list[ProbeStep]:
        return [step for step in self.steps if step.purpose in purposes]

    @property
    def measured(self) -> list[ProbeStep]:
        """The steps of the increase and in between, by level."""
        return sorted(self.of(StepPurpose.UP, StepPurpose.REFINE), key=lambda step: step.level)


def next_level(progress: ProbeProgress) -> NextLevel | None:
    """The next level; None if the probe is over."""
    if not progress.steps:
        return start_level(progress)
    if progress.left_seconds < SHORTEST_STEP_SECONDS:
        return None
    if end_of_climb(progress) is None:
        return _higher(progress)
    return _between(progress) or _back(progress)


def start_level(progress: ProbeProgress) -> NextLevel:
    if progress.order.by is Quantity.RATE and not progress.order.least:
        return NextLevel(0.0, StepPurpose.SCALE)
    return NextLevel(max(1.0, progress.order.least), StepPurpose.UP)


def end_of_climb(progress: ProbeProgress) -> ProbeEnd | None:
    """Why the increase has ended; None while it continues."""
    ups = progress.of(StepPurpose.UP)
    if not ups:
        return None
    last = ups[-1]
    if last.missed and not _wants_load(progress):
        return ProbeEnd.SLO
    if progress.order.by is Quantity.THREADS and is_connection_limited(last):
        return ProbeEnd.CONNECTIONS
    if is_collapsed(last, ups):
        return ProbeEnd.COLLAPSE
    if is_saturated(progress.order.by, ups):
        return ProbeEnd.KNEE
    return ProbeEnd.LIMIT if last.level >= progress.ceiling else None


def is_collapsed(step: ProbeStep, steps: Sequence[ProbeStep]) -> bool:
    """True if more load has caused throughput to collapse."""
    best = max(each.tps for each in steps)
    return step.tps < COLLAPSE_SHARE * best or step.errors_percent > COLLAPSE_ERRORS


def is_saturated(by: Quantity, ups: Sequence[ProbeStep]) -> bool:
    """True if a higher level gains nothing beyond the noise; for a rate, if the server falls behind."""
    if by is Quantity.RATE:
        return not keeps_up(ups[-1])
    gains = [_per_doubling(before, after) for before, after in pairwise(ups)]
    if gains and gains[-1].is_surely_loss and gains[-1].value < LOSS:
        return True
    if len(gains) < 2 or not (gains[-1].is_small and gains[-2].is_small):
        return False
    together = throughput_gain(point_of(ups[-3]), point_of(ups[-1]))
    surely = together.value + together.margin < 2 * LOG_GAIN or gains[-1].is_surely_small
    return surely or (len(gains) > 2 and gains[-3].is_small)


def keeps_up(step: ProbeStep) -> bool:
    """True if the server reached the step's rate."""
    return is_rate_met(step.tps, step.level, step.evidence.backlog, step.half_width or 0.0)


def knee_of(progress: ProbeProgress) -> Knee | None:
    """The saturation point of the measured curve; for a rate, the highest rate that was reached."""
    steps = progress.measured
    if progress.order.by is Quantity.THREADS:
        return find_knee(throughput_curve(points_of(steps)))
    failed = min((step.level for step in steps if not keeps_up(step)), default=None)
    kept = [step.level for step in steps if failed is None or step.level < failed]
    return Knee(kept[-1], kept[-1], failed) if failed is not None and kept else None


def points_of(steps: Sequence[ProbeStep]) -> list[ThroughputPoint]:
    """The steps as points of a curve, without those whose level was not reached."""
    return [point_of(step) for step in steps if step.tps > 0 and not is_connection_limited(step)]


def is_connection_limited(step: ProbeStep) -> bool:
    """True if not all requested threads had a connection."""
    return 0 < step.evidence.connections < step.level


def point_of(step: ProbeStep) -> ThroughputPoint:
    return ThroughputPoint(step.level, step.tps, math.inf if step.half_width is None else step.half_width)


def objective_edge(progress: ProbeProgress) -> tuple[ProbeStep | None, ProbeStep | None]:
    """The highest level that meets the objectives, and the lowest above it that does not."""
    most: ProbeStep | None = None
    for step in progress.measured:
        if not step.missed:
            most = step
        elif most is not None or not _wants_load(progress):
            return most, step
    return most, None


def _wants_load(progress: ProbeProgress) -> bool:
    """No level has kept the objectives yet, and that may be because there is too little load."""
    rises = any(text.strip().lower().startswith(RISES_WITH_LOAD) for text in progress.order.slo)
    return rises and all(step.missed for step in progress.measured)


def _per_doubling(before: ProbeStep, after: ProbeStep) -> Gain:
    """What a doubling would gain; the last step of a way up may be a shorter one."""
    found = throughput_gain(point_of(before), point_of(after))
    doublings = math.log2(after.level / before.level)
    return Gain(found.value / doublings, found.margin / doublings)


def _higher(progress: ProbeProgress) -> NextLevel:
    ups = progress.of(StepPurpose.UP)
    if ups:
        return NextLevel(min(_rounded(progress, ups[-1].level * 2), progress.ceiling), StepPurpose.UP)
    scale = progress.of(StepPurpose.SCALE)[-1].tps
    return NextLevel(
        min(max(1.0, _rounded(progress, scale * FIRST_RATE_SHARE)), progress.ceiling), StepPurpose.UP
    )


def _between(progress: ProbeProgress) -> NextLevel | None:
    """A level between two that are too far apart, if there is time for it and for the way back."""
    if progress.left_seconds < 2 * progress.usual_seconds:
        return None
    for low, high in _brackets(progress):
        middle = _rounded(progress, math.sqrt(low * high))
        if high / low > FINE[progress.order.by] and low < middle < high:
            return NextLevel(middle, StepPurpose.REFINE)
    return None


def _brackets(progress: ProbeProgress) -> list[tuple[float, float]]:
    """Neighbouring levels between which something is lost: the objectives, then the gain."""
    found: list[tuple[float, float]] = []
    most, missed = objective_edge(progress)
    if most is not None and missed is not None:
        found.append((most.level, missed.level))
    bend = knee_of(progress)
    if bend is None:
        return found
    levels = [step.level for step in progress.measured]
    below = max((level for level in levels if level <= bend.level * (1 + 1e-9)), default=None)
    above = min((level for level in levels if level > bend.level * (1 + 1e-9)), default=None)
    return [*found, (below, above)] if below is not None and above is not None else found


def _back(progress: ProbeProgress) -> NextLevel | None:
    """To the level of the way up at the knee or just below it, then to a quarter of that."""
    done = progress.of(StepPurpose.BACK)
    if len(done) >= 2 or progress.left_seconds < progress.usual_seconds * (0.6 if not done else 1.2):
        return None
    ups = [step.level for step in progress.of(StepPurpose.UP)]
    bend = knee_of(progress)
    top = bend.level * (1 + 1e-9) if bend else ups[-1] / 2
    below = [level for level in ups[:-1] if level <= (done[-1].level / 4 if done else top)]
    return NextLevel(below[-1], StepPurpose.BACK) if below else None


def _rounded(progress: ProbeProgress, level: float) -> float:
    """Whole threads; of a rate, three digits."""
    if progress.order.by is Quantity.THREADS:
        return float(round(level))
    return float(f"{level:.3g}")


WIDTH = 0.03
FEWEST_TICKS = 5
DISCARDED = 1
CHANCE = 2.0
"""Arrivals of an open loop come at random: their number is known no better than this many roots of it."""


class StepRun:
    """A level under measurement, from second `at_seconds` of the run.

    `known` is what is known so far of its throughput, from the samples that count.
    """

    def __init__(
        self, by: Quantity, level: float, purpose: StepPurpose, at_seconds: float, most_seconds: float
    ) -> None:
        self.level = level
        self.purpose = purpose
        self.at_seconds = at_seconds
        self.most_seconds = most_seconds
        self._by = by
        self._ticks: list[tuple[Tick, Sample]] = []
        self._kept: list[tuple[Tick, Sample]] = []
        self.known = estimate_mean([])
        self._connections: int | None = None
        self._threads: float | None = None

    def add_tick(self, slot: Tick, sample: Sample) -> None:
        """Process one sample."""
        if slot.start < self.at_seconds - 1e-3:
            return
        connections = read("open_connections", sample.load)
        self._connections = None if connections is None else int(connections)
        self._threads = sample.tick.levels.get("threads")
        self._ticks = [] if self.is_connecting else [*self._ticks, (slot, sample)]
        after = self._ticks[DISCARDED:]
        self._kept = after[settling_slots([slot for slot, _ in after]) :]
        self.known = estimate_mean(self._rates)

    @property
    def _rates(self) -> list[float]:
        return [read("tps", slot) or 0.0 for slot, _ in self._kept]

    def is_over(self, now: float) -> bool:
        """True if enough is known, or the time is up."""
        return self.is_stable or self.is_late(now)

    def is_late(self, now: float) -> bool:
        return now - self.at_seconds >= self.most_seconds - 1e-3

    @property
    def is_stable(self) -> bool:
        """True if the throughput is known precisely enough and does not move any more."""
        rates = self._rates
        return len(rates) >= FEWEST_TICKS and self.known.half_width <= self._wanted and is_at_rest(rates)

    @property
    def p95_ms(self) -> float | None:
        latencies = merge_histograms(sample.tick.hist(RESPONSE) for _, sample in self._kept)
        return latencies.percentiles((95,))[0] / US_PER_MS if latencies.count else None

    def waiting(self) -> str:
        """What the step waits for, as text."""
        if self.is_connecting:
            return f"connections: {self._connections:,} of {self.level:,.0f} are open"
        if len(self._kept) < FEWEST_TICKS:
            return f"settled samples: {len(self._kept)} of {FEWEST_TICKS}"
        width = self.known.half_width
        known = f"±{100 * width:.1f} %" if math.isfinite(width) else "unknown"
        return f"a throughput known to ±{100 * self._wanted:.1f} %: now {known}"

    def finished(self, now: float, objectives: Sequence[Threshold], *, is_local: bool) -> ProbeStep:
        """The step as measured so far; an objective that cannot be judged is missed. `is_local` is True if
        the server runs on this host.
        """
        measured = total_tick(sample.tick for _, sample in self._kept)
        seconds = math.fsum(slot.seconds for slot, _ in self._kept)
        known = self.known
        return ProbeStep(
            level=self.level,
            purpose=self.purpose,
            at_seconds=self.at_seconds,
            seconds=seconds,
            settling_seconds=max(0.0, now - self.at_seconds - seconds),
            tps=known.mean,
            half_width=known.half_width if math.isfinite(known.half_width) else None,
            is_stable=self.is_stable,
            qps=read("qps", measured) or 0.0,
            p95_ms=self.p95_ms,
            errors_percent=read("errors_percent", measured) or 0.0,
            missed=tuple(
                f"{objective.text}: {objective.measured_text(measured)}"
                for objective in objectives
                if not objective.holds(measured)
            ),
            evidence=self._evidence(is_local=is_local),
        )

    def _evidence(self, *, is_local: bool) -> Evidence:
        """That of the samples; the threads are those of the step, also if the server refused some."""
        found = collect_evidence([sample for _, sample in self._kept], is_local=is_local)
        threads = self.level if self._by is Quantity.THREADS else found.threads
        return replace(found, threads=threads, connections=self._connections or found.connections)

    @property
    def is_connecting(self) -> bool:
        """Whether connections are still being opened. False where the server accepts no more."""
        if self._by is Quantity.RATE or self._connections is None:
            return False
        return self._connections < min(self.level, self._threads or self.level)

    @property
    def _wanted(self) -> float:
        """The half-width that will do; arrivals at random are not known better than chance lets them be."""
        if self._by is Quantity.THREADS:
            return WIDTH
        transactions = math.fsum(slot.sums.get("completed", 0) for slot, _ in self._kept)
        return max(WIDTH, CHANCE / math.sqrt(transactions)) if transactions else WIDTH


MOST_THREADS = 1024
"""Default maximum: enough to see a knee."""

RESERVE, RESERVE_SHARE = 5, 20
"""Connections reserved for the operator: this number, or this share of what the server allows."""


def level_ceiling(order: ProbeOrder, sample: Sample) -> float:
    """The highest level: the requested one, limited so that connections of the operator remain."""
    if order.by is Quantity.RATE:
        return order.most or float(MAX_RATE)
    most = order.most or float(MOST_THREADS)
    allowed = sample.tick.levels.get("max_connections")
    if not allowed:
        return most
    others = max(
        0, (read("threads_connected", sample.server) or 0) - (read("open_connections", sample.load) or 0)
    )
    return max(1.0, min(most, allowed - others - max(RESERVE, allowed // RESERVE_SHARE)))
