"""Seven kinds of noise that a load's level can have while nothing is changed, as logarithms.

`size` is the standard deviation of one second where that is defined; 0.06 is a busy host.

And seeded make-believe loads: rates with the autocorrelation of a real one, latencies around a median.
"""

import math
import random
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from tests.ticks import measured_tick
from tuibench.model.tick import RESPONSE, Histogram, Tick

Noise = Callable[[random.Random, int, float], list[float]]


def white(rng: random.Random, count: int, size: float) -> list[float]:
    return [rng.gauss(0, size) for _ in range(count)]


def autoregressive(phi: float) -> Noise:
    def series(rng: random.Random, count: int, size: float) -> list[float]:
        value, values = rng.gauss(0, size), []
        for _ in range(count):
            values.append(value)
            value = phi * value + rng.gauss(0, size * math.sqrt(1 - phi * phi))
        return values

    return series


def random_walk(rng: random.Random, count: int, size: float) -> list[float]:
    """A level that wanders by a quarter of the noise each second."""
    level, values = 0.0, []
    for _ in range(count):
        level += rng.gauss(0, size / 4)
        values.append(level + rng.gauss(0, size / 2))
    return values


def drift(rng: random.Random, count: int, size: float) -> list[float]:
    """A fall of 0.4 % a second."""
    return [-0.004 * place + rng.gauss(0, size) for place in range(count)]


def step(rng: random.Random, count: int, size: float) -> list[float]:
    """One step of five times the noise, up or down, at some time."""
    place, height = rng.randrange(count), rng.choice((-5, 5)) * size
    return [rng.gauss(height if at >= place else 0.0, size) for at in range(count)]


def sawtooth(rng: random.Random, count: int, size: float) -> list[float]:
    """Flushing: the level rises for 10 to 80 s by five times the noise, then drops."""
    period, phase = rng.uniform(10, 80), rng.random()
    return [rng.gauss(5 * size * ((at / period + phase) % 1), size) for at in range(count)]


NOISES: dict[str, Noise] = {
    "white": white,
    "AR 0.6": autoregressive(0.6),
    "AR 0.9": autoregressive(0.9),
    "random walk": random_walk,
    "drift": drift,
    "step": step,
    "sawtooth": sawtooth,
}


def random_walk_of(share: float) -> Noise:
    """A level that wanders by this share of the noise each second."""

    def series(rng: random.Random, count: int, size: float) -> list[float]:
        level, values = 0.0, []
        for _ in range(count):
            level += rng.gauss(0, size * share)
            values.append(level + rng.gauss(0, size / 2))
        return values

    return series


def drift_of(slope: float) -> Noise:
    """A trend of so much a second."""
    return lambda rng, count, size: [slope * place + rng.gauss(0, size) for place in range(count)]


def heavy_tails(rng: random.Random, count: int, size: float) -> list[float]:
    """Independent, with Student's t of three degrees of freedom, of the same standard deviation."""
    return [
        size * rng.gauss(0, 1) / math.sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3))) for _ in range(count)
    ]


def bursts(rng: random.Random, count: int, size: float) -> list[float]:
    """Other work on the host: every 20 to 60 s, for 2 to 10 s, the level is lower by five times the noise."""
    values = white(rng, count, size)
    place = rng.randrange(20)
    while place < count:
        length = rng.randrange(2, 11)
        values[place : place + length] = [value - 5 * size for value in values[place : place + length]]
        place += length + rng.randrange(20, 61)
    return values


def sawtooth_of(shortest: float, longest: float, height: float) -> Noise:
    """The same with other periods, in seconds, and another height, in sizes of the noise."""

    def series(rng: random.Random, count: int, size: float) -> list[float]:
        period, phase = rng.uniform(shortest, longest), rng.random()
        return [rng.gauss(height * size * ((at / period + phase) % 1), size) for at in range(count)]

    return series


def steps(rng: random.Random, count: int, size: float) -> list[float]:
    """A step of three times the noise about every 60 s."""
    level, values = 0.0, []
    for _ in range(count):
        level += rng.choice((-3, 3)) * size if rng.random() < 1 / 60 else 0.0
        values.append(rng.gauss(level, size))
    return values


def swinging(rng: random.Random, count: int, size: float) -> list[float]:
    """A swing of 30 % every 24 s."""
    phase = rng.uniform(0, 24)
    return [0.15 * math.sin(math.tau * (at + phase) / 24) + rng.gauss(0, size / 3) for at in range(count)]


def others_take_half(rng: random.Random, count: int, size: float) -> list[float]:
    """Other programs take up to half of the processors, for 3 to 20 s with as much between."""
    values, is_busy = list[float](), rng.random() < 0.5
    while len(values) < count:
        level = math.log(2) * rng.uniform(0.7, 1) if is_busy else 0.0
        values += [rng.gauss(level, size) for _ in range(rng.randrange(3, 21))]
        is_busy = not is_busy
    return values[:count]


SHARED: dict[str, Noise] = {**NOISES, "swing": swinging, "others take half": others_take_half}
"""What a host does to all statements of a load."""

HELD_OUT: dict[str, Noise] = {
    "heavy tails": heavy_tails,
    "AR 0.35": autoregressive(0.35),
    "AR 0.8": autoregressive(0.8),
    "AR 0.97": autoregressive(0.97),
    "random walk, slow": random_walk_of(0.1),
    "random walk, fast": random_walk_of(0.5),
    "drift +0.15 %/s": drift_of(0.0015),
    "drift -1 %/s": drift_of(-0.01),
    "steps": steps,
    "sawtooth, short": sawtooth_of(4, 15, 3),
    "sawtooth, high": sawtooth_of(20, 150, 10),
    "bursts": bursts,
}
"""Noises by which nothing was tuned."""


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
