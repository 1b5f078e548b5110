"""The search of a probe for the saturation point: the next level, when a step is over, why the search ends.

    scale (by rate only) ── up: each level doubles the one before ── refine: levels between two ── confirm

The way up ends with a doubling that gains no throughput while p95 doubles. The search then refines two
places: where the objectives are lost, and the bracket of the saturation point (`metrics.saturation`), until
its ends lie less than a quarter apart. While noise keeps the bracket wide, the levels that decide are visited
in turn; at the end the recommended level is confirmed beside its neighbours. If noise ended the way up too
early, the search resumes it.

A step is one visit of a level and collects ticks. A tick counts once all connections are open and if it began
after the level was set. The first tick that counts is discarded, and further ones until throughput and p95
are at rest (`settling_slots`). The step is over when the 95 % interval of the mean throughput is narrower
than ±3 % (±7 % on the way up), from five ticks on; after eight ticks that count; or when its time is up. A
longer step does not average noise that outlasts it; several visits do.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from statistics import median, pstdev, pvariance
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.metrics.ab_windows import settling_slots
from tuibench.metrics.diagnosis import LOG_GAIN, ThroughputPoint, throughput_curve, throughput_gain
from tuibench.metrics.figures import read
from tuibench.metrics.inference import SymmetricEstimate, estimate_mean, mean_with_interval
from tuibench.metrics.measurement_warnings import (
    collect_evidence,
    cpu_of_host,
    is_dominant_share,
    is_rate_met,
)
from tuibench.metrics.saturation import Saturation, Visit
from tuibench.metrics.series import is_at_rest
from tuibench.metrics.thresholds import Threshold
from tuibench.model.findings import Mean
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeStep, StepPurpose
from tuibench.model.schedule import MAX_RATE, Quantity
from tuibench.model.tick import RESPONSE, US_PER_MS, Sample, Tick, merge_histograms, total_tick

FINE = {Quantity.THREADS: 1.25, Quantity.RATE: 1.12}
"""Neighbouring levels with at most this ratio need no level between them."""

FINE_PEAK = 1.08
LOSS = math.log(0.8)
"""Gain of a doubling, as a logarithm, below which throughput has fallen and the way up is over."""
LEAST_LEFT, TAKEN = 0.05, 0.1
"""The least share of the host that counts as left by other programs.

If that share falls by more than `TAKEN` (as a logarithm) from one step to the next, it is corrected for.
"""
UNKNOWN_ERROR, MODERATION = 0.4, 2.0
"""The standard error of a step's throughput, as a share of it, if it cannot be estimated.

`MODERATION` is the weight of the usual error, in steps, in the estimate of a step's own.
"""

ERRORS_WIDE = 3.0
"""Standard errors in half of a 95 % interval of a few ticks: Student's t with three degrees of freedom."""

QUEUE_GROWTH = 1.5
"""A doubling without gain that multiplies p95 by more than this only makes the queue longer."""

COLLAPSE_SHARE, COLLAPSE_ERRORS = 0.5, 50.0
"""Throughput has collapsed below this share of the best, or with more than this percentage of errors."""

AIM = 0.965
"""The recommended share of the plateau: a little above the share that defines the saturation point."""

CLEARLY, UNLIKELY, EVEN, PROBABLY, LIKELY, SURELY = 0.03, 0.025, 0.5, 0.6, 0.8, 0.975
"""Probabilities: `CLEARLY` is a difference between two chances that counts, the others are limits of a
chance.
"""
UNLIKELY_BELOW = 0.2
"""A higher level is tried only if the saturation point lies more than `FARTHEST` times below it with at most
this probability.
"""

NARROW = 2.0
"""A bracket with at most this ratio of its ends is narrow: it is a step of the way up."""

NARROWING_SECONDS = 90.0
"""After this time a probe visits levels again only if its choice of a level is not yet likely to be good, no
longer to narrow the bracket.
"""

NEARLY = 0.97
"""A level with this share of the highest throughput counts as a maximum."""

CALM_P95 = 5.0
"""A rate whose p95 exceeds the lowest p95 by more than this factor is too near the capacity."""

FEWEST_UP, FEWEST_UP_TO_A_LOSS = 4, 3
"""Levels of the way up before it may end without a gain, and with a loss: a host that is busy from the second
or third level on is not saturated by the load.
"""

FARTHEST = 4.0
"""The highest level to visit, as a multiple of the saturation point."""

FEWEST_LOOKS, MOST_LOOKS = 2, 3
"""By how many visits those that miss the objectives must outnumber those that meet them, or the reverse, and
the number of visits after which a level is judged anyway.
"""
FAR = math.log(2)
"""Slack, as a logarithm, beyond which noise does not explain that an objective is missed: a factor of two."""

USUAL_NOISE, BUSY_NOISE, USUAL_VISITS = 0.05, 0.25, 2
"""The prior of the standard deviation of a level's slack from visit to visit, on a calm and on a busy host.

It counts as `USUAL_VISITS` visits.
"""
ONE_OF_TEN = 1.28
"""Standard deviations that a normal value exceeds in one of ten cases."""

BUSY_PERCENT = 50.0
"""The share of the host's CPU that other programs take, from which the host is busy."""
CONFIRMING_STEPS = 3
VISITED = 0.02
"""How much a plateau level's log share is lowered for each of its visits when the level of comparison is
chosen, so that visits alternate.
"""

FIRST_RATE_SHARE = 0.125
"""The first rate, as a share of the throughput without a rate."""
CALM_BACKLOG, CALM_BACKLOG_SECONDS = 3.0, 0.02
"""The backlog that random arrivals explain: this number of transactions, or the arrivals of this many
seconds.
"""

RATE_SHARES = (0.85, 0.75, 0.65, 0.5)
"""The shares of the capacity that are tried as the recommended rate, until one leaves no backlog."""
SHORTEST_STEP_SECONDS = 3.0
RISES_WITH_LOAD = ("tps", "qps")
"""Figures whose objectives may be missed because there is too little load."""


class NextLevel(NamedTuple):
    """The next level, and why."""

    level: float
    purpose: StepPurpose


class ProbeProgress(NamedTuple):
    """The steps of a probe so far, and its time."""

    order: ProbeOrder
    ceiling: float
    """The highest level."""
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
    def visits(self) -> list[ProbeStep]:
        """The steps at a level, in order."""
        return self.of(StepPurpose.UP, StepPurpose.REFINE, StepPurpose.CONFIRM)

    @property
    def measured(self) -> list[ProbeStep]:
        """One step for each level, by level: its latest visit, with the throughput and the p95 of
        all visits.
        """
        by_level = groupby(sorted(self.visits, key=lambda step: step.level), key=lambda step: step.level)
        return [_together(list(visits)) for _, visits in by_level]

    @property
    def levels(self) -> list[float]:
        return sorted({step.level for step in self.visits})


def _together(visits: Sequence[ProbeStep]) -> ProbeStep:
    """All visits of one level as one step."""
    (point,) = throughput_curve(map(point_of, visits)) or (point_of(visits[-1]),)
    known = [step.p95_ms for step in visits if step.p95_ms is not None]
    slacks = [step.slack for step in visits if step.slack is not None]
    half_width = point.half_width if math.isfinite(point.half_width) else None
    missed = [step.missed for step in visits if step.missed]
    return replace(
        visits[-1],
        tps=point.tps,
        half_width=half_width,
        p95_ms=median(known) if known else None,
        missed=missed[-1] if 2 * len(missed) >= len(visits) and missed else (),
        slack=math.fsum(slacks) / len(slacks) if slacks else None,
    )


def next_level(progress: ProbeProgress) -> NextLevel | None:
    """The next level; None if the probe is over."""
    if not progress.steps:
        if progress.order.by is Quantity.RATE and not progress.order.least:
            return NextLevel(0.0, StepPurpose.SCALE)
        return NextLevel(max(1.0, progress.order.least), StepPurpose.UP)
    if progress.left_seconds < SHORTEST_STEP_SECONDS:
        return None
    ups = progress.of(StepPurpose.UP)
    if ups and _is_doubtful_miss(progress, ups[-1].level):
        return NextLevel(ups[-1].level, StepPurpose.REFINE)
    if end_of_climb(progress) is None:
        if ups:
            return NextLevel(min(_rounded(progress, ups[-1].level * 2), progress.ceiling), StepPurpose.UP)
        scale = progress.of(StepPurpose.SCALE)[-1].tps
        return NextLevel(
            min(max(1.0, _rounded(progress, scale * FIRST_RATE_SHARE)), progress.ceiling), StepPurpose.UP
        )
    if progress.order.by is Quantity.RATE:
        return _contradicted(progress) or _between(progress) or _confirmed_rate(progress)
    return _farther(progress) or _contradicted(progress) or _between(progress) or _decisive(progress)


def end_of_climb(progress: ProbeProgress) -> ProbeEnd | None:
    """Why the way up has ended; None while it continues."""
    ups = progress.of(StepPurpose.UP)
    if not ups:
        return None
    last = ups[-1]
    if _is_missed(progress, last.level):
        return ProbeEnd.SLO
    if progress.order.by is Quantity.THREADS and is_connection_limited(last):
        return ProbeEnd.CONNECTIONS
    if is_collapsed(last, ups):
        return ProbeEnd.COLLAPSE
    if is_saturated(progress.order.by, ups) or _is_surely_saturated(progress):
        return ProbeEnd.KNEE
    return ProbeEnd.LIMIT if last.level >= progress.ceiling else None


def _visits_of(progress: ProbeProgress, level: float) -> list[ProbeStep]:
    return [step for step in progress.visits if step.level == level]


def _is_missed(progress: ProbeProgress, level: float) -> bool:
    """True if a level certainly misses the objectives, and too little load is not the reason."""
    together = _together(_visits_of(progress, level))
    return bool(together.missed) and not _wants_load(progress) and not _is_doubtful_miss(progress, level)


def _is_doubtful_miss(progress: ProbeProgress, level: float) -> bool:
    """True if noise may be the reason why a level misses the objectives.

    A level is visited up to three times, until the visits that miss the objectives outnumber those that meet
    them by two, or the reverse. One visit is enough on a calm host if a lower level meets the objectives or
    the level misses them by far.
    """
    visits = _visits_of(progress, level)
    missed = sum(bool(step.missed) for step in visits)
    if not missed or len(visits) >= MOST_LOOKS or abs(2 * missed - len(visits)) >= FEWEST_LOOKS:
        return False
    if _wants_load(progress):
        return False
    last = visits[-1]
    is_far = last.slack is not None and last.slack <= -FAR
    is_above = any(not step.missed for step in progress.measured if step.level < level)
    is_calm_host = not is_dominant_share(last.evidence.cpu_others, last.evidence.cpu_total)
    return not (is_calm_host and last.is_stable and (is_above or is_far))


def _contradicted(progress: ProbeProgress) -> NextLevel | None:
    """A level that contradicts the others about the objectives, to be visited again while there is time."""
    if progress.left_seconds < (CONFIRMING_STEPS + 1) * progress.usual_seconds:
        return None
    edge = objective_edge(progress)
    open_to_doubt = [*edge.contrary, *filter(None, [edge.missed if edge.contrary else None])]
    visits = {step.level: len(_visits_of(progress, step.level)) for step in open_to_doubt}
    left = [level for level, count in visits.items() if count < MOST_LOOKS]
    return NextLevel(min(left, key=lambda each: visits[each]), StepPurpose.REFINE) if left else None


def _is_surely_saturated(progress: ProbeProgress) -> bool:
    """True if all steps together show the saturation that noise hides in each of them."""
    believed = saturation_of(progress)
    if progress.order.by is Quantity.RATE or believed is None or len(believed.levels) < FEWEST_UP:
        return False
    return believed.is_below(believed.levels[-1]) >= PROBABLY


def is_collapsed(step: ProbeStep, steps: Sequence[ProbeStep]) -> bool:
    """True if more load has caused throughput to collapse."""
    best = max(each.tps for each in steps)
    return step.tps < COLLAPSE_SHARE * best or step.errors_percent > COLLAPSE_ERRORS


def is_saturated(by: Quantity, ups: Sequence[ProbeStep]) -> bool:
    """True if the last step up gained nothing beyond the noise; for a rate, if the server fell behind."""
    if by is Quantity.RATE:
        return not keeps_up(ups[-1])
    gains = [_per_doubling(before, after) for before, after in pairwise(ups)]
    if len(ups) < FEWEST_UP_TO_A_LOSS or gains[-1].value >= LOG_GAIN:
        return False
    before, last = ups[-2:]
    is_longer_queue = (last.p95_ms or 0.0) >= QUEUE_GROWTH ** math.log2(last.level / before.level) * (
        before.p95_ms or math.inf
    )
    is_loss = gains[-1].value + gains[-1].margin < 0 and gains[-1].value < LOSS
    return is_loss or (len(ups) >= FEWEST_UP and (is_longer_queue or gains[-2].value < LOG_GAIN))


def keeps_up(step: ProbeStep) -> bool:
    """True if the server reached the step's rate."""
    return is_rate_met(step.tps, step.level, step.evidence.backlog, step.half_width or 0.0)


class Bracket(NamedTuple):
    """The saturation point: a measured level, and the measured levels between which it almost
    certainly lies.
    """

    level: float
    low: float
    high: float
    chance: float = 1.0
    """Probability that the level yields 90 % of the plateau with at most twice the threads that
    this takes.
    """

    @property
    def is_narrow(self) -> bool:
        return self.high <= NARROW * self.low


def bracket_of(progress: ProbeProgress) -> Bracket | None:
    """The saturation point of the measured curve; for a rate, the highest rate that was reached. None while
    throughput still grows.
    """
    end = end_of_climb(progress)
    if end is None:
        return None
    if progress.order.by is Quantity.RATE:
        steps = progress.measured
        failed = min((step.level for step in steps if not keeps_up(step)), default=None)
        kept = [step.level for step in steps if failed is None or step.level < failed]
        return Bracket(kept[-1], kept[-1], failed) if failed is not None and kept else None
    visits = _visits(progress.visits)
    if not visits:
        return None
    top = max(visit.level for visit in visits)
    is_flat = end in (ProbeEnd.KNEE, ProbeEnd.COLLAPSE) or (
        len(visits) >= FEWEST_UP and _saturation(visits, progress.ceiling).is_below(top) >= LIKELY
    )
    return _bracket(visits, progress.ceiling) if is_flat else None


def saturation_of(progress: ProbeProgress) -> Saturation | None:
    """The curve's saturation as estimated from the steps; None without steps."""
    return _saturation(visits, progress.ceiling) if (visits := _visits(progress.visits)) else None


_saturation = lru_cache(4)(Saturation)


@lru_cache(2)
def _bracket(visits: tuple[Visit, ...], ceiling: float) -> Bracket:
    believed = _saturation(visits, ceiling)
    levels = believed.levels
    likely = (level for level in levels if believed.reaches(level, AIM) >= LIKELY)
    level = next(likely, None) or max(levels, key=believed.reaches)
    chances = {each: believed.chance_of(each) for each in levels}
    as_good = [each for each in levels if chances[each] >= max(chances.values()) - CLEARLY]
    if level not in as_good:
        middle = believed.point(EVEN)
        level = min(as_good, key=lambda each: abs(math.log(each / middle)))
    below = (each for each in levels if each < level and believed.is_below(each) <= UNLIKELY)
    above = (each for each in levels if each >= level and believed.is_below(each) >= SURELY)
    low, high = max(below, default=levels[0]), min(above, default=levels[-1])
    return Bracket(level, low, high, chances[level])


def _log_left(cpu_others: float | None) -> float:
    """The logarithm of the share of the host that other programs leave."""
    return math.log(max(LEAST_LEFT, 1 - (cpu_others or 0.0) / 100))


def _visits(steps: Sequence[ProbeStep]) -> tuple[Visit, ...]:
    """The steps whose level was reached, in order. When other programs take more or less of the host than
    usual, throughput loses between nothing and the same proportion: half of that is corrected, and added to
    the error.
    """
    steps = [step for step in steps if step.tps > 0 and not is_connection_limited(step)]
    left = [_log_left(step.evidence.cpu_others) for step in steps]
    usual = median(left) if left else 0.0
    visits = []
    for step, own, error in zip(steps, left, _errors(steps), strict=True):
        half = (own - usual) / 2
        middle = step.at_seconds + step.settling_seconds + step.seconds / 2
        visits.append(Visit(step.level, step.tps * math.exp(-half), middle, math.hypot(error, half)))
    return tuple(visits)


def _errors(steps: Sequence[ProbeStep]) -> list[float]:
    """The standard error of each step's throughput, as a share of it. A few ticks estimate their own noise
    poorly, so each step's error is combined with the usual one, which has the weight `MODERATION`. Otherwise
    a step whose ticks agree by chance would outweigh all others.
    """
    own = [UNKNOWN_ERROR if step.half_width is None else step.half_width / ERRORS_WIDE for step in steps]
    usual = median(own) if own else 0.0
    return [
        min(math.sqrt((error**2 + MODERATION * usual**2) / (1 + MODERATION)), UNKNOWN_ERROR) for error in own
    ]


def points_of(steps: Sequence[ProbeStep]) -> list[ThroughputPoint]:
    """The steps as points of a curve, without steps whose level was not reached."""
    return [point_of(step) for step in steps if step.tps > 0 and not is_connection_limited(step)]


def is_connection_limited(step: ProbeStep) -> bool:
    """True if not all requested threads had a connection."""
    return 0 < step.evidence.connections < step.level


def point_of(step: ProbeStep) -> ThroughputPoint:
    return ThroughputPoint(step.level, step.tps, math.inf if step.half_width is None else step.half_width)


def recommended_level(progress: ProbeProgress) -> float | None:
    """The level for the formal run; None if no level meets the objectives.

    With objectives it is the lowest with almost the highest throughput of those that meet them; without, the
    saturation point, or the best level while throughput grows.
    """
    if progress.order.slo:
        best = best_within(progress)
        return best.level if best else None
    if progress.order.by is Quantity.RATE:
        # The highest rate that leaves no backlog, clearly below the capacity, with a p95 near the lowest.
        capacity = capacity_of(progress)
        most = math.inf if capacity is None else capacity.mean * RATE_SHARES[0] * 1.01
        kept = [step for step in progress.measured if step.level <= most and is_calm(step)]
        least_ms = min((step.p95_ms for step in kept if step.p95_ms is not None), default=0.0)
        return max((step.level for step in kept if (step.p95_ms or 0.0) <= CALM_P95 * least_ms), default=None)
    bracket = bracket_of(progress)
    if bracket is not None:
        return bracket.level
    return most_step(progress.measured).level if progress.measured else None


def most_step(steps: Sequence[ProbeStep]) -> ProbeStep:
    """The lowest level with almost the highest throughput."""
    enough = NEARLY * max(step.tps for step in steps)
    return next(step for step in steps if step.tps >= enough)


def best_within(progress: ProbeProgress) -> ProbeStep | None:
    """The lowest level with almost the highest throughput, among the levels that meet the objectives by more
    than the noise of a run.
    """
    most, noise = objective_edge(progress).most, objective_noise(progress)
    kept = [
        step
        for step in progress.measured
        if not step.missed
        and most is not None
        and step.level <= most.level
        and (
            step.slack is None
            or step.slack >= ONE_OF_TEN * noise * math.sqrt(1 + 1 / len(_visits_of(progress, step.level)))
        )
    ]
    return most_step(kept) if kept else None


def objective_noise(progress: ProbeProgress) -> float:
    """The standard deviation of a level's slack (a logarithm) from one visit to the next: that of levels
    visited again, pooled with a usual value that counts as `USUAL_VISITS` visits.
    """
    left = [_log_left(step.evidence.cpu_others) for step in progress.visits]
    usual = max(BUSY_NOISE if is_busy_host(progress) else USUAL_NOISE, pstdev(left) / 2 if left else 0.0)
    squares, freedom = USUAL_VISITS * usual**2, USUAL_VISITS
    for level in progress.levels:
        slacks = [step.slack for step in _visits_of(progress, level) if step.slack is not None]
        if len(slacks) > 1:
            squares += len(slacks) * pvariance(slacks)
            freedom += len(slacks) - 1
    return math.sqrt(squares / freedom)


def is_busy_host(progress: ProbeProgress) -> bool:
    """True if other programs take so much of the host that they determine its throughput."""
    return bool(progress.visits) and median(others_percents(progress)) >= BUSY_PERCENT


def others_percents(progress: ProbeProgress) -> list[float]:
    """The share of the host's processors that other programs took during each visit."""
    return [step.evidence.cpu_others or 0.0 for step in progress.visits]


class ObjectiveEdge(NamedTuple):
    """Where the objectives are lost."""

    most: ProbeStep | None
    """The highest level up to which the objectives are met."""
    missed: ProbeStep | None
    """The lowest level above `most` that misses them."""
    contrary: tuple[ProbeStep, ...]
    """Levels on the wrong side of the edge, because of noise; without `most`, all levels at which a visit met
    the objectives.
    """


def objective_edge(progress: ProbeProgress) -> ObjectiveEdge:
    """The edge that the fewest levels contradict; of two such edges, the lower one. Levels that miss an
    objective because of too little load contradict nothing.
    """
    steps = progress.measured if progress.order.slo else []
    if _rises(progress):
        first = next((place for place, step in enumerate(steps) if not step.missed), len(steps))
        if first == len(steps):
            return ObjectiveEdge(None, None, _met_once(progress, steps))
        steps = steps[first:]

    def contrary_to(edge: int) -> list[ProbeStep]:
        return [step for place, step in enumerate(steps) if bool(step.missed) is (place < edge)]

    edge = min(range(len(steps) + 1), key=lambda each: len(contrary_to(each)))
    most = next((step for step in reversed(steps[:edge]) if not step.missed), None)
    missed = next((step for step in steps[edge:] if step.missed), None)
    if most is None:
        return ObjectiveEdge(None, missed, _met_once(progress, steps))
    return ObjectiveEdge(most, missed, tuple(contrary_to(edge)))


def _met_once(progress: ProbeProgress, steps: Sequence[ProbeStep]) -> tuple[ProbeStep, ...]:
    """The levels at which a visit met the objectives."""
    met = {step.level for step in progress.visits if not step.missed}
    return tuple(step for step in steps if step.level in met)


def _wants_load(progress: ProbeProgress) -> bool:
    """True if no level has met the objectives yet, and too little load may be the reason."""
    return _rises(progress) and all(step.missed for step in progress.measured)


def _rises(progress: ProbeProgress) -> bool:
    """True if there is an objective that too little load may miss."""
    return any(text.strip().lower().startswith(RISES_WITH_LOAD) for text in progress.order.slo)


def _per_doubling(before: ProbeStep, after: ProbeStep) -> SymmetricEstimate:
    """The gain in throughput per doubling of the level, as a logarithm; the last step of a way up may be less
    than a doubling. CPU that other programs have taken between the steps does not count as a loss.
    """
    found = throughput_gain(point_of(before), point_of(after))
    taken = _log_left(before.evidence.cpu_others) - _log_left(after.evidence.cpu_others)
    doublings = math.log2(after.level / before.level)
    value = found.value + (taken if taken > TAKEN else 0.0)
    return SymmetricEstimate(value / doublings, found.margin / doublings)


def _between(progress: ProbeProgress) -> NextLevel | None:
    """A level between two that are too far apart, if there is time to visit it and to confirm the result."""
    if progress.left_seconds < (CONFIRMING_STEPS + 1) * progress.usual_seconds:
        return None
    for low, high, finest in _gaps(progress):
        middle = _rounded(progress, math.sqrt(low * high))
        if high / low > finest and low < middle < high:
            return NextLevel(middle, StepPurpose.REFINE)
    return None


def _gaps(progress: ProbeProgress) -> list[tuple[float, float, float]]:
    """Pairs of neighbouring levels to refine, each with the ratio of levels at which it is fine enough: first
    around the edge of the objectives, then where the saturation point most probably lies. Beside a peak so
    narrow that no measured level is on it, the levels must be closer.
    """
    fine = FINE[progress.order.by]
    found: list[tuple[float, float, float]] = []
    most, missed, _ = objective_edge(progress)
    if most is not None and missed is not None:
        found.append((most.level, missed.level, fine))
    bracket = bracket_of(progress)
    if bracket is None:
        return found
    believed = saturation_of(progress)
    if progress.order.by is Quantity.RATE or believed is None:
        return [*found, (bracket.low, bracket.high, fine)]
    gaps = list(pairwise(progress.levels))
    inside = [gap for gap in gaps if bracket.low <= gap[0] and gap[1] <= bracket.high]
    by_chance = sorted(inside, key=lambda gap: believed.is_below(gap[0]) - believed.is_below(gap[1]))
    found += [(*gap, fine) for gap in by_chance[:2]]
    if bracket.is_narrow and believed.reaches(bracket.level, AIM) < LIKELY:
        found += [(*gap, FINE_PEAK) for gap in gaps if bracket.level in gap]
    return found


def _farther(progress: ProbeProgress) -> NextLevel | None:
    """The next level above all others, while the saturation point may lie there and is not known to lie far
    below: on a curve that bends gently, no other level tells more.
    """
    believed = saturation_of(progress) if bracket_of(progress) is not None else None
    if believed is None:
        return None
    top = believed.levels[-1]
    is_open = believed.is_below(top) < LIKELY
    is_near = 2 * top <= min(progress.ceiling, FARTHEST * believed.point(UNLIKELY_BELOW))
    return NextLevel(2 * top, StepPurpose.UP) if is_open and is_near else None


def _decisive(progress: ProbeProgress) -> NextLevel | None:
    """A level to visit again.

    With a wide bracket: a level that may be the saturation point, then a level of the plateau for comparison.
    With a narrow one: the recommended level and its neighbours, unless they were just visited.
    """
    bracket, believed = bracket_of(progress), saturation_of(progress)
    level = recommended_level(progress)
    place = progress.levels.index(level) if level is not None else 0
    beside = progress.levels[max(0, place - 1) : place + 2] if level is not None else []
    if bracket is None or believed is None:
        return _again(progress, beside)
    is_narrowed = bracket.is_narrow or progress.elapsed_seconds >= NARROWING_SECONDS
    is_decided = is_narrowed and bracket.chance >= LIKELY
    if not is_decided and progress.left_seconds > CONFIRMING_STEPS * progress.usual_seconds:
        last = progress.steps[-1].level
        visits = Counter(step.level for step in progress.visits)
        inside = [each for each in believed.levels if bracket.low <= each <= bracket.high]

        def doubt(each: float) -> float:
            chance = believed.reaches(each)
            return chance * (1 - chance) / visits[each]

        def height(each: float) -> float:
            return believed.log_share(each) - VISITED * visits[each]

        doubtful = max(inside, key=doubt)
        plateau = [each for each in believed.levels if each <= 2 * bracket.high and each != doubtful]
        reference = max(plateau, key=height, default=doubtful)
        return NextLevel(doubtful if last != doubtful else reference, StepPurpose.CONFIRM)
    return _again(progress, beside)


def _again(progress: ProbeProgress, levels: Sequence[float]) -> NextLevel | None:
    """The first of these levels that the latest confirming steps have not visited."""
    latest: set[float] = set()
    for step in reversed(progress.steps):
        if step.purpose is not StepPurpose.CONFIRM:
            break
        latest.add(step.level)
    left = [level for level in levels if level not in latest]
    return NextLevel(left[0], StepPurpose.CONFIRM) if left else None


def capacity_of(progress: ProbeProgress) -> Mean | None:
    """The mean throughput of the steps in which the server fell behind the rate; None if it kept up
    in all.
    """
    full = [step.tps for step in progress.measured if not keeps_up(step)]
    return (
        mean_with_interval([*full, *(step.tps for step in progress.of(StepPurpose.SCALE))]) if full else None
    )


def is_calm(step: ProbeStep) -> bool:
    """True if the step left no transactions waiting."""
    return keeps_up(step) and step.evidence.backlog <= max(CALM_BACKLOG, CALM_BACKLOG_SECONDS * step.level)


def _confirmed_rate(progress: ProbeProgress) -> NextLevel | None:
    """The next lower share of the capacity, until one leaves no backlog."""
    capacity, tried = capacity_of(progress), progress.of(StepPurpose.CONFIRM)
    if capacity is None or len(tried) == len(RATE_SHARES) or (tried and is_calm(tried[-1])):
        return None
    return NextLevel(
        max(1.0, _rounded(progress, capacity.mean * RATE_SHARES[len(tried)])), StepPurpose.CONFIRM
    )


def _rounded(progress: ProbeProgress, level: float) -> float:
    """Whole threads; a rate with three significant digits."""
    if progress.order.by is Quantity.THREADS:
        return float(round(level))
    return float(f"{level:.3g}")


ARRIVALS_SECONDS, NEXT_ARRIVALS_SECONDS = 15.0, 8.0
"""How long the recommended throughput runs as arrivals, and each lower rate."""

MORE_CONNECTIONS = 2
"""Connections of arrivals for each recommended thread."""

LOWER = 0.8
"""The next lower rate, as a share of one that misses the objectives."""

FINE_ARRIVALS, MOST_ARRIVALS = 1.12, 5


def meets_as_arrivals(step: ProbeStep) -> bool:
    """True if the rate was reached and meets the objectives."""
    return keeps_up(step) and not step.missed


def next_arrivals(steps: Sequence[ProbeStep], rate: float, *, has_objectives: bool) -> float | None:
    """The next rate of arrivals, `rate` at first; None if it is known which one meets the objectives."""
    if not steps:
        return float(f"{rate:.3g}")
    if not has_objectives or meets_as_arrivals(steps[0]) or len(steps) >= MOST_ARRIVALS:
        return None
    most = most_arrivals(steps)
    missed = min(step.level for step in steps if not meets_as_arrivals(step))
    following = LOWER * missed if most is None else math.sqrt(most * missed)
    following = float(f"{following:.3g}")
    if following < 1 or (most is not None and missed / most <= FINE_ARRIVALS):
        return None
    return following


def most_arrivals(steps: Sequence[ProbeStep]) -> float | None:
    """The highest rate below all that miss the objectives."""
    missed = min((step.level for step in steps if not meets_as_arrivals(step)), default=math.inf)
    return max((step.level for step in steps if step.level < missed), default=None)


WIDTH, WIDTH_UP = 0.03, 0.07
"""Relative half-width at which a throughput is known well enough, and on the way up, where a doubling shows
without much precision.
"""

FEWEST_TICKS, MOST_TICKS = 5, 8
DISCARDED = 1
CHANCE = 2.0
"""The relative half-width of a throughput with random arrivals is at least this, divided by the root of the
number of transactions.
"""


class StepRun:
    """The measurement of one level, which began at second `at_seconds` of the run."""

    def __init__(
        self, by: Quantity, level: float, purpose: StepPurpose, at_seconds: float, most_seconds: float
    ) -> None:
        self.by = by
        self.level = level
        self.purpose = purpose
        self.at_seconds = at_seconds
        self.most_seconds = most_seconds
        self._ticks: list[tuple[Tick, Sample]] = []
        self._kept: list[tuple[Tick, Sample]] = []
        self.known = estimate_mean([])
        """Throughput of the ticks that count so far."""
        self._connections: int | None = None
        self._threads: float | None = None

    def add_tick(self, slot: Tick, sample: Sample) -> None:
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
        """True if enough is known, if a longer step would not tell more, or if the time is up. Arrivals run
        for their whole time, because their p95 needs it.
        """
        if self.purpose is StepPurpose.ARRIVALS:
            return self.is_late(now)
        return self.is_stable or len(self._kept) >= MOST_TICKS or self.is_late(now)

    def is_late(self, now: float) -> bool:
        return now - self.at_seconds >= self.most_seconds - 1e-3

    @property
    def is_stable(self) -> bool:
        """True if the throughput is known precisely enough and is at rest."""
        rates = self._rates
        return len(rates) >= FEWEST_TICKS and self.known.margin <= self._wanted and is_at_rest(rates)

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
        width = self.known.margin
        known = f"±{100 * width:.1f} %" if math.isfinite(width) else "unknown"
        return f"a throughput known to ±{100 * self._wanted:.1f} %: now {known}"

    def finished(self, now: float, objectives: Sequence[Threshold], *, is_local: bool) -> ProbeStep:
        """The step as measured so far. An objective that cannot be judged counts as missed. `is_local` is
        True if the server runs on this host.
        """
        measured = total_tick(sample.tick for _, sample in self._kept)
        seconds = math.fsum(slot.seconds for slot, _ in self._kept)
        known = self.known
        # The threads are those of the step, even if the server refused some of them.
        found = collect_evidence([sample for _, sample in self._kept], is_local=is_local)
        threads = self.level if self.by is Quantity.THREADS else found.threads
        return ProbeStep(
            level=self.level,
            purpose=self.purpose,
            at_seconds=self.at_seconds,
            seconds=seconds,
            settling_seconds=max(0.0, now - self.at_seconds - seconds),
            tps=known.value,
            half_width=known.margin if math.isfinite(known.margin) else None,
            is_stable=len(self._kept) >= FEWEST_TICKS and known.margin <= max(self._wanted, WIDTH_UP),
            qps=read("qps", measured) or 0.0,
            p95_ms=self.p95_ms,
            errors_percent=read("errors_percent", measured) or 0.0,
            missed=tuple(
                f"{objective.text}: {objective.measured_text(measured)}"
                for objective in objectives
                if not objective.holds(measured)
            ),
            slack=min(
                (slack for each in objectives if (slack := each.slack(measured)) is not None), default=None
            ),
            evidence=replace(found, threads=threads, connections=self._connections or found.connections),
        )

    @property
    def is_connecting(self) -> bool:
        """True while connections are being opened; False if the server accepts no more."""
        if self.by is Quantity.RATE or self._connections is None:
            return False
        return self._connections < min(self.level, self._threads or self.level)

    @property
    def _wanted(self) -> float:
        """The sufficient relative half-width. With random arrivals it depends on the number
        of transactions.
        """
        if self.by is Quantity.THREADS:
            return WIDTH_UP if self.purpose is StepPurpose.UP else WIDTH
        transactions = math.fsum(slot.sums.get("completed", 0) for slot, _ in self._kept)
        return max(WIDTH, CHANCE / math.sqrt(transactions)) if transactions else WIDTH


MOST_THREADS, THREADS_PER_CORE = 1024, 64
"""The highest number of threads by default; for a server on this host also by the cores that other programs
leave.
"""

RESERVE, RESERVE_SHARE = 5, 20
"""Connections left for the operator: this number, or the server's limit divided by this one if that
is more.
"""


def level_ceiling(order: ProbeOrder, sample: Sample, cores: int | None = None) -> float:
    """The highest level: the requested one, limited so that connections remain for the operator. `cores` are
    the cores of the server's host, None if unknown.
    """
    if order.by is Quantity.RATE:
        return order.most or float(MAX_RATE)
    most = order.most or float(MOST_THREADS)
    if cores and not order.most:
        taken = 0.0 if sample.host is None else cpu_of_host("", sample.host).cpu_others or 0.0
        most = min(most, max(1.0, math.ceil(cores * (1 - taken / 100))) * THREADS_PER_CORE)
    allowed = sample.tick.levels.get("max_connections")
    if not allowed:
        return most
    others = max(
        0, (read("threads_connected", sample.server) or 0) - (read("open_connections", sample.load) or 0)
    )
    return max(1.0, min(most, allowed - others - max(RESERVE, allowed // RESERVE_SHARE)))
