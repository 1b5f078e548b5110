"""A make-believe server with a known curve and noise, and a probe of it: seeded, without a clock."""

import math
import random
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

from msgspec.structs import replace

from tests.examples import PLAN
from tuibench.features.probe.experiment import LOAD, Probe
from tuibench.metrics.saturation import NEAR_PLATEAU
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Quantity
from tuibench.model.server import Target
from tuibench.model.tick import RESPONSE, Histogram, Sample, Tick, bucket_index
from tuibench.session.laboratory import LoadLevel

PLACES = 40
_NORMAL = NormalDist()
SHAPE = tuple(
    math.exp(0.5 * (_NORMAL.inv_cdf((place + 0.5) / PLACES) - _NORMAL.inv_cdf(0.95)))
    for place in range(PLACES)
)
"""Latencies of a tick, in the tick's p95: a lognormal distribution."""

TICK_SECONDS = 0.5
HIGHEST = 1024
BUSY_SECONDS = 10.0


class Curve(NamedTuple):
    """A server by the law. Its p95 is a multiple of what Little's law makes of the throughput."""

    lam: float = 200.0
    sigma: float = 0.05
    kappa: float = 0.0005

    def tps(self, threads: float) -> float:
        others = threads - 1
        return self.lam * threads / (1 + self.sigma * others + self.kappa * threads * others)

    def p95_ms(self, threads: float) -> float:
        return 1800 * threads / self.tps(threads)

    @property
    def plateau(self) -> float:
        """The most that whole threads give."""
        return max(map(self.tps, range(1, HIGHEST + 1)))

    @property
    def saturation(self) -> int:
        """The fewest threads on the plateau."""
        enough = NEAR_PLATEAU * self.plateau
        return next(threads for threads in range(1, HIGHEST + 1) if self.tps(threads) >= enough)

    def most_within(self, p95_ms: float) -> float:
        """The most threads with such a p95."""
        return bisected(lambda n: self.p95_ms(n) > p95_ms)


class Queue(Curve):
    """A closed queue for 1/`sigma` servers; each thread beyond them costs `kappa`."""

    def tps(self, threads: float) -> float:
        beyond = max(0.0, threads - 1 / self.sigma)
        return self.lam * min(threads, 1 / self.sigma) / (1 + self.kappa * beyond)


def bisected(is_beyond: Callable[[float], bool]) -> float:
    low, high = 1.0, 100_000.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return low


class Noise(NamedTuple):
    """What makes a tick differ from the curve: the deviation of an AR(1) series, how fast a level is
    approached after it was set, and the deviation of what a host does that is busy for some ten seconds.
    """

    deviation: float = 0.02
    phi: float = 0.35
    settling_seconds: float = 1.0
    wandering: float = 0.0


def histogram(p95_ms: float, count: int) -> Histogram:
    """So many latencies with this p95, about."""
    each = max(1, count // len(SHAPE))
    values = [round(1000 * p95_ms * share) for share in SHAPE]
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_index(value)] = counts.get(bucket_index(value), 0) + each
    return Histogram(counts, each * len(SHAPE), sum(values) * each, values[0], values[-1])


def probe_of(order: ProbeOrder, ceiling: float = 1024) -> Probe:
    """A probe on an idle server, which has seen the tick that ends at second 0."""
    order = replace(order, most=order.most or ceiling)
    started = Probe(order, PLAN, Target(), lambda: (), threads=8, rate=0.0)
    started.begin(-TICK_SECONDS)
    idle = Tick(seconds=TICK_SECONDS)
    started.tick(idle, Sample(number=1, at=0.0, late_ms=0.0, tick=idle))
    return started


def wanted_level(started: Probe) -> float:
    """The level that the probe wants now."""
    assert started.wanted is not None
    wanted = started.wanted[LOAD]
    assert isinstance(wanted, LoadLevel)
    return wanted.threads if started.order.by is Quantity.THREADS else wanted.rate


def wanted_rate(started: Probe) -> float:
    """The rate that the probe wants now; 0 for none."""
    wanted = started.wanted[LOAD] if started.wanted is not None else None
    return wanted.rate if isinstance(wanted, LoadLevel) and started.order.by is Quantity.THREADS else 0.0


def probe(order: ProbeOrder, curve: Curve, seed: int, noise: Noise, ceiling: float = 1024) -> Probe:
    """The whole probe of a server, which is over in an instant."""
    rng = random.Random(seed)
    now, level, ill, busy, rate = 0.0, 0.0, 0.0, 0.0, 0.0
    lasting = math.exp(-TICK_SECONDS / BUSY_SECONDS)
    run = probe_of(order, ceiling)
    level_applied = now
    while not run.is_over:
        if run.wanted is not None:
            before, level, level_applied, rate = level, wanted_level(run), now, wanted_rate(run)
            run.wanted = None
            run.applied(now)
        now += TICK_SECONDS
        ill = noise.phi * ill + rng.gauss(0, noise.deviation * math.sqrt(1 - noise.phi**2))
        reached = (
            1 - math.exp(-(now - level_applied) / noise.settling_seconds * 2)
            if noise.settling_seconds
            else 1.0
        )
        at = before + (level - before) * reached if before else level
        busy = lasting * busy + rng.gauss(0, noise.wandering * math.sqrt(1 - lasting**2))
        most = curve.tps(at) * math.exp(ill + busy)
        p95 = curve.p95_ms(at) * math.exp(rng.gauss(0, 2 * min(noise.deviation, 0.05)) - busy)
        tps, backlog = most, 0.0
        if rate:
            # An open queue: the nearer to what the server can do, the longer.
            tps, backlog = min(rate, most), max(0.0, rate - most) * (now - level_applied)
            p95 /= max(0.02, 1 - tps / most)
        count = max(1, round(tps * TICK_SECONDS))
        part = Tick(
            end=now,
            seconds=TICK_SECONDS,
            sums={"completed": count},
            levels={"threads": level, "connections": level, "rate": rate, "backlog": backlog},
            hists={RESPONSE: histogram(p95, count)},
        )
        run.tick(replace(part, end=now), Sample(number=1, at=now, late_ms=0.0, tick=part))
    return run
