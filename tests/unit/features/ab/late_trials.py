"""Simulated A/B tests of settings that act late: whole tests, tick by tick, through `AbTest`.

The bench `tests.bench.late_validity` prints many of them; the unit tests hold a few to their limits.
"""

import math
import random
from statistics import fmean
from typing import NamedTuple

from tests.examples import SAMPLE
from tests.ticks import measured_tick
from tests.unit.metrics.noises import Noise
from tuibench.features.ab.experiment import AbTest
from tuibench.model.effect import DEFAULT_MAX_SECONDS, AbTestPlan, AbTestResult, Verdict
from tuibench.model.message import ChangeSetting
from tuibench.session.laboratory import Change

A, B = "1", "10"
EFFECTS = (0.0, math.log(1.2), math.log(0.8))
RESPONSES = ((0.0, 0.0), (3.0, 0.0), (6.0, 0.0), (20.0, 0.0), (0.0, 5.0), (0.0, 20.0))
"""Delays and time constants, in seconds."""


class Judged(NamedTuple):
    """What became of a test, against the truth. `covers` is None without an interval."""

    is_false: bool
    is_found: bool
    covers: bool | None
    needs: float | None
    seconds: float
    result: AbTestResult


class LateServer:
    """A server on which the effect of B comes after a delay, or with a time constant. Before, it has A."""

    def __init__(self, effect: float, response: tuple[float, float]) -> None:
        self.effect, (self.delay, self.constant), self.value = effect, response, A
        self._changes = [(-math.inf, 0.0, 0.0)]

    def set(self, now: float, value: str) -> None:
        """A change; what is reached by then is where an approach begins."""
        self._changes.append((now, self.effect * (value == B), self.at(now)))
        self.value = value

    def at(self, now: float) -> float:
        """The effect at a moment."""
        since, target, reached = next(one for one in reversed(self._changes) if one[0] <= now - self.delay)
        if not self.constant or since == -math.inf:
            return target
        return target + (reached - target) * math.exp((since - now) / self.constant)

    def level(self, now: float, seconds: float, parts: int = 8) -> float:
        """The mean of the effect over the slot that ends now."""
        return fmean(self.at(now - (part + 0.5) * seconds / parts) for part in range(parts))


def plan(window: float, *, until: bool, seed: int, cycles: int = 5) -> AbTestPlan:
    if not until:
        return AbTestPlan(
            subject="long_query_time", a=A, b=B, cycles=cycles, window_seconds=window, seed=seed
        )
    return AbTestPlan.until_decided(
        "long_query_time",
        A,
        B,
        tolerance_percent=2.0,
        max_seconds=DEFAULT_MAX_SECONDS,
        window_seconds=window,
        seed=seed,
        primary="tps",
    )


def late_trial(
    trial: AbTestPlan,
    noise: Noise,
    rng: random.Random,
    *,
    effect: float,
    response: tuple[float, float],
    size: float = 0.03,
    interval: float = 1.0,
    fsyncs: tuple[float, float] | None = None,
) -> Judged:
    """A test of a setting with this effect and response, to its end.

    `fsyncs` are those of a transaction under A and B; they change at once.
    """
    test = AbTest(trial)
    test.begin(0.0)
    ticks = round(trial.seconds / interval)
    level = noise(rng, ticks, size / math.sqrt(interval))
    server = LateServer(effect, response)
    server.set(0.0, value_of(test.first[-1]))
    now = 0.0
    for place in range(ticks):
        now = (place + 1) * interval
        rate = 1000.0 * math.exp(level[place] + server.level(now, interval))
        count = None if fsyncs is None else rng.gauss(1, size) * rate * interval * fsyncs[server.value == B]
        slot = measured_tick(now, interval, rate * interval, p95_ms=1e4 / rate, log_fsyncs=count)
        test.tick(slot, SAMPLE)
        if test.wanted is not None:
            (change,) = test.wanted.values()
            server.set(now, value_of(change))
            test.wanted = None
            test.applied(now)
        if test.is_over:
            break
    test.end(now)
    return judged(test.result, effect, now)


def value_of(change: Change) -> str:
    assert isinstance(change, ChangeSetting)
    return change.value


def judged(result: AbTestResult, effect: float, seconds: float) -> Judged:
    wrong = {Verdict.HIGHER: effect <= 0, Verdict.LOWER: effect >= 0}
    found = next((one for one in result.comparisons if one.figure == "tps"), None)
    covers = None
    if found is not None and found.percent_low is not None and found.percent_high is not None:
        covers = found.percent_low <= 100 * math.expm1(effect) <= found.percent_high
    return Judged(
        is_false=any(wrong.get(one.verdict, False) for one in result.comparisons[:1]),
        is_found=result.verdict in (Verdict.HIGHER, Verdict.LOWER) and not wrong[result.verdict],
        covers=covers,
        needs=result.needs_window_seconds,
        seconds=seconds,
        result=result,
    )
