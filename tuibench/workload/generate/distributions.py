"""Key distributions: uniform, gaussian, special, pareto, zipfian, with sysbench's formulas.

A function without arguments is created once per random stream and called for every key. Sources:
sysbench's sb_rand.c; zipfian is the rejection inversion of Hörmann and Derflinger (1996).

The options that choose distribution of keys, by sysbench's names. All profiles have them.
"""

import math
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from random import Random
from typing import assert_never

from tuibench.model.plan import OptionValue
from tuibench.workload.language.options import ProfileOption, integer_option
from tuibench.workload.program.values import Distribution, Gaussian, Pareto, Special, Uniform, Zipfian

KeyDraw = Callable[[], int]


def key_draw(distribution: Distribution, low: int, high: int, stream: Random) -> KeyDraw:
    """Generate integers from `low` to `high`, inclusive."""
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


def _uniform(low: int, high: int, stream: Random) -> KeyDraw:
    random, keys = stream.random, high - low + 1
    return lambda: low + int(random() * keys)


def _gaussian(low: int, high: int, stream: Random, iterations: int) -> KeyDraw:
    uniforms = _sum_of_uniforms(iterations, stream)
    scale = (high - low + 1) / iterations
    return lambda: low + int(uniforms() * scale)


def _sum_of_uniforms(iterations: int, stream: Random) -> Callable[[], float]:
    """The sum of `iterations` uniform values; the default of twelve is unrolled, for half the time.

    Added from left to right, as the native engine does. sum() compensates from Python 3.12 on, so
    that the keys of one seed would depend on the version.
    """
    r = stream.random
    if iterations == 12:
        return lambda: r() + r() + r() + r() + r() + r() + r() + r() + r() + r() + r() + r()
    return lambda: reduce(add, [r() for _ in range(iterations)])


def _special(low: int, high: int, stream: Random, special: Special) -> KeyDraw:
    """Hot keys reuse the number that selected them, so only the last `hot_share` of the window is used."""
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


def _pareto(low: int, high: int, stream: Random, h: float) -> KeyDraw:
    random, keys = stream.random, high - low + 1
    power = math.log(h) / math.log(1 - h)
    return lambda: low + int(keys * random() ** power)


def _zipfian(low: int, high: int, stream: Random, exponent: float) -> KeyDraw:
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


DISTRIBUTION_OPTIONS: dict[str, ProfileOption] = {
    "rand_type": ProfileOption(
        type="choice",
        default="special",
        help="distribution of keys",
        choices=("uniform", "gaussian", "special", "pareto", "zipfian"),
    ),
    "rand_spec_iter": integer_option(12, "uniform values per gaussian value", minimum=1, maximum=1000),
    "rand_spec_pct": integer_option(1, "percent of the keys that are special", maximum=100),
    "rand_spec_res": integer_option(75, "percent of the accesses to special keys", maximum=100),
    "rand_pareto_h": ProfileOption(
        type="number", default=0.2, help="shape of the pareto distribution", minimum=1e-6, maximum=0.999999
    ),
    "rand_zipfian_exp": ProfileOption(
        type="number", default=0.8, help="exponent of the zipfian distribution", minimum=0.0, maximum=100.0
    ),
}


def chosen_distribution(options: Mapping[str, OptionValue]) -> Distribution:
    """The distribution of resolved options."""
    makers: dict[str, Distribution] = {
        "uniform": Uniform(),
        "gaussian": Gaussian(int(options["rand_spec_iter"])),
        "special": Special(
            iterations=int(options["rand_spec_iter"]),
            hot_width=float(options["rand_spec_pct"]) / 100,
            hot_share=float(options["rand_spec_res"]) / 100,
        ),
        "pareto": Pareto(float(options["rand_pareto_h"])),
        "zipfian": Zipfian(float(options["rand_zipfian_exp"])),
    }
    return makers[str(options["rand_type"])]
