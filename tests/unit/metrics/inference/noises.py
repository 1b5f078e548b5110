"""Seven kinds of noise that a load's level can have while nothing is changed, as logarithms.

`size` is the standard deviation of one second where that is defined; 0.06 is a busy host.
"""

import math
import random
from collections.abc import Callable

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
