"""How keys are distributed: sysbench's formulas, drawn from a given stream of random numbers.

`drawer` gives a function without arguments, made once per stream and called for every key. Sources:
sysbench's sb_rand.c; zipfian is the rejection inversion of Hörmann and Derflinger (1996).
"""

import math
from collections.abc import Callable
from random import Random
from typing import assert_never

from tuibench.workload.program import Distribution, Gaussian, Pareto, Special, Uniform, Zipfian

Draw = Callable[[], int]


def drawer(distribution: Distribution, low: int, high: int, stream: Random) -> Draw:
    """Draws whole numbers from `low` to `high`, both included."""
    match distribution:
        case Uniform():
            return _uniform(low, high, stream)
        case Gaussian(iterations=iterations):
            return _gaussian(low, high, stream, iterations)
        case Special():
            return _special(low, high, stream, distribution)
        case Pareto(h=h):
            return _pareto(low, high, stream, h)
        case Zipfian(exponent=exponent):
            return _zipfian(low, high, stream, exponent)
        case _:
            assert_never(distribution)


def _uniform(low: int, high: int, stream: Random) -> Draw:
    random, keys = stream.random, high - low + 1
    return lambda: low + int(random() * keys)


def _gaussian(low: int, high: int, stream: Random, iterations: int) -> Draw:
    uniforms = _sum_of_uniforms(iterations, stream)
    scale = (high - low + 1) / iterations
    return lambda: low + int(uniforms() * scale)


def _sum_of_uniforms(iterations: int, stream: Random) -> Callable[[], float]:
    """The sum of `iterations` uniform draws; the usual twelve are written out, at half the time."""
    r = stream.random
    if iterations == 12:
        return lambda: r() + r() + r() + r() + r() + r() + r() + r() + r() + r() + r() + r()
    return lambda: sum([r() for _ in range(iterations)])


def _special(low: int, high: int, stream: Random, special: Special) -> Draw:
    """The hot keys reuse the number that chose them, so only the last `hot_share` of the window is hit."""
    random, uniforms = stream.random, _sum_of_uniforms(special.iterations, stream)
    span = high - low
    cold_below, cold_scale = 1 - special.hot_share, span / special.iterations
    hot_scale = special.hot_width * span + 1
    hot_from = span / 2 - special.hot_width * span / 2

    def draw() -> int:
        chosen = random()
        if chosen >= cold_below:
            return low + int(chosen * hot_scale + hot_from)
        return low + int(uniforms() * cold_scale)

    return draw


def _pareto(low: int, high: int, stream: Random, h: float) -> Draw:
    random, keys = stream.random, high - low + 1
    power = math.log(h) / math.log(1 - h)
    return lambda: low + int(keys * random() ** power)


def _zipfian(low: int, high: int, stream: Random, exponent: float) -> Draw:
    random, keys, below = stream.random, high - low + 1, low - 1
    hat, inverse = _zipf_hat(exponent)
    top, bottom = hat(keys + 0.5), hat(1.5) - 1
    shortcut = 2 - inverse(hat(2.5) - 2**-exponent)

    def draw() -> int:
        while True:
            area = top + random() * (bottom - top)
            exact = inverse(area)
            rank = min(max(int(exact + 0.5), 1), keys)
            if rank - exact <= shortcut or area >= hat(rank + 0.5) - rank**-exponent:
                return below + rank

    return draw


def _zipf_hat(exponent: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """The integral of x ** -exponent from 1, and its inverse; logarithm and exponential at exponent 1."""
    rest = 1 - exponent
    if abs(rest) < 1e-9:
        return math.log, math.exp
    return lambda x: (x**rest - 1) / rest, lambda area: (1 + area * rest) ** (1 / rest)
