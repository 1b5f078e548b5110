"""Planted changes: loads whose true course is known, through the detector of effects.

The logarithm of TPS is noise, plus the effect of the change from its delay on, at once or as an exponential
approach, plus a step that has nothing to do with the change. That of p95 has the opposite course and noise of
its own.
"""

import math
import random
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from tests.ticks import measured_tick
from tests.unit.metrics.noises import Noise
from tuibench.metrics.effect_detection import EffectDetector
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import Comparison, Effect
from tuibench.model.tick import Tick

STEPS_A_SECOND = 10
LEVEL, LATENCY_MS = 1000.0, 10.0


class Planted(NamedTuple):
    """A change `before` seconds into a load, and a foreign step at a time from the change."""

    effect: float = 0.0
    delay: float = 0.0
    approach: float = 0.0
    step: float = 0.0
    step_seconds: float = 0.0
    before: float = 90.0
    after: float = 60.0
    interval: float = 1.0
    size: float = 0.04

    def course(self, seconds: float) -> float:
        """What was planted, at a time from the change."""
        acting = seconds - self.delay
        share = 0.0 if acting < 0 else 1 - math.exp(-acting / self.approach) if self.approach else 1.0
        return self.effect * share + (self.step if seconds >= self.step_seconds else 0.0)


def per_tick(noise: Noise, rng: random.Random, count: int, interval: float, size: float) -> list[float]:
    """The noise, which has a value a second, in ticks of another length: means, or interpolated halves."""
    seconds = noise(rng, math.ceil(count * interval) + 1, size)
    if interval >= 1:
        length = round(interval)
        return [math.fsum(seconds[at * length : (at + 1) * length]) / length for at in range(count)]
    own = [rng.gauss(0, size) for _ in range(count)]
    return [seconds[int(at * interval)] + own[at] for at in range(count)]


def effects(
    planted: Planted,
    noise: Noise,
    rng: random.Random,
    *,
    base: Callable[[float], float] = lambda _: 0.0,
    slots: int = 0,
    reads: str = "",
) -> list[Effect]:
    """What the detector says of the change, in this order, in windows of so many `slots`; the usual ones by
    default. `base` is what the load does by itself, by the time from its start. `reads` is the sum of a tick
    that takes what makes a transaction slower than a warm one; empty without an account of its time.
    """
    interval = planted.interval
    count = round((planted.before + planted.after) / interval)
    at = planted.before + rng.random() * interval
    tps, p95 = (per_tick(noise, rng, count, interval, planted.size) for _ in range(2))
    detector, found, is_changed = EffectDetector(interval, slots=slots), [], False
    parts = round(STEPS_A_SECOND * interval)
    for place in range(count):
        start = place * interval
        if not is_changed and start + interval > at:
            found.append(detector.change(1, "change", began_seconds=at, at_seconds=at))
            is_changed = True
        times = [start + (part + 0.5) / STEPS_A_SECOND - at for part in range(parts)]
        level = math.log(
            math.fsum(math.exp(planted.course(time) + base(time + at)) for time in times) / parts
        )
        slot = measured_tick(
            start + interval,
            interval,
            LEVEL * interval * math.exp(level + tps[place]),
            p95_ms=LATENCY_MS * math.exp(p95[place] - level),
        )
        if reads:
            slot = replace(slot, sums=slot.sums | account(slot, reads, rng))
        found.append(detector.slot(slot))
    found.append(detector.boundary())
    return [one for one in found if one is not None]


def account(slot: Tick, reads: str, rng: random.Random) -> dict[str, float]:
    """The account of a tick's time: what a transaction takes on the processor, in its queue and for its
    commit varies by a tenth, and `reads` are the rest.
    """
    completed, whole = slot.sums["completed"], 1e6 * slot.levels["threads"] * slot.seconds
    usual = {WaitClass.CPU: 2e3, WaitClass.RUN_QUEUE: 2e3, WaitClass.COMMIT: 3e3}
    times = {wait.key: completed * us * math.exp(rng.gauss(0, 0.1)) for wait, us in usual.items()}
    times[reads] = max(0.0, whole - math.fsum(times.values()))
    return {TIME + "completed": completed, TIME + "connections_us": math.fsum(times.values()), **times}


class Outcome(NamedTuple):
    """What was said of one figure, and whether it was true."""

    comparison: Comparison
    truth: float
    settled: bool

    @property
    def is_false(self) -> bool:
        """A verdict that the truth contradicts."""
        one = self.comparison
        if one.differs:
            return one.delta * self.truth <= 0
        limit = math.log1p(one.tolerance_percent / 100)
        return one.verdict == "equal" and abs(self.truth) > limit

    @property
    def covers(self) -> bool:
        """True if the interval, if there is one, contains the truth."""
        low, high = self.comparison.percent_low, self.comparison.percent_high
        if low is None or high is None:
            return True
        return low <= 100 * math.expm1(self.truth) <= high


def outcomes(planted: Planted, noise: Noise, rng: random.Random) -> list[Outcome]:
    """The last word on TPS and p95."""
    found = effects(planted, noise, rng)
    if not found:
        return []
    truths = {"tps": planted.effect, "p95_ms": -planted.effect}
    return [
        Outcome(one, truths[one.figure], found[-1].settled)
        for one in found[-1].comparisons
        if one.figure in truths
    ]
