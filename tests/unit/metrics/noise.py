"""Seeded make-believe loads: rates with the autocorrelation of a real one, latencies around a median."""

import math
import random
from collections.abc import Iterable

from msgspec.structs import replace

from tests.ticks import measured_tick
from tuibench.model.tick import RESPONSE, Histogram, Tick

LEVEL = 1000.0


def ar1(rng: random.Random, count: int, phi: float, deviation: float, level: float = LEVEL) -> list[float]:
    """A stationary AR(1) series."""
    value, values = rng.gauss(0, deviation), []
    for _ in range(count):
        values.append(level + value)
        value = phi * value + rng.gauss(0, deviation * math.sqrt(1 - phi * phi))
    return values


def slots(rates: Iterable[float], *, first_end: float = 1.0, fsyncs: float | None = 1.0) -> list[Tick]:
    """One-second slots with these rates."""
    return [
        measured_tick(first_end + place, 1.0, rate, log_fsyncs=None if fsyncs is None else rate * fsyncs)
        for place, rate in enumerate(rates)
    ]


def with_latencies(rng: random.Random, made: Iterable[Tick], median_us: float, count: int) -> list[Tick]:
    """The slots with latencies; some seconds are slower than others, as in a real server."""
    told = []
    for slot in made:
        middle = math.log(median_us) + rng.gauss(0, 0.05)
        latencies = [round(rng.lognormvariate(middle, 0.4)) for _ in range(count)]
        told.append(replace(slot, hists={RESPONSE: Histogram.of(latencies)}))
    return told
