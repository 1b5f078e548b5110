"""TPC-C's non-uniform random numbers, NURand(A, x, y) of its clause 2.1.6, and their constants C."""

from collections.abc import Callable
from random import Random

from tuibench.workload.value import Nurand

_DISTANCES = frozenset(range(65, 120)) - {96, 112}
"""How far the constant of a run's last names must be from that of the load (2.1.6.1)."""


def constants(a: int, loaded_c: int | None) -> range | list[int]:
    """The constants that TPC-C allows."""
    if loaded_c is None:
        return range(a + 1)
    near = range(max(0, loaded_c - 119), min(a, loaded_c + 119) + 1)
    return [c for c in near if abs(c - loaded_c) in _DISTANCES]


def constant(seed: int, value: Nurand) -> int:
    """The C of a run: the same on all its connections."""
    allowed = constants(value.a, value.loaded_c)
    return allowed[int(Random(f"tuibench:{seed}:nurand:{value.a}").random() * len(allowed))]


def nurand(value: Nurand, c: int, stream: Random) -> Callable[[], int]:
    """Draws (((random(0, a) | random(low, high)) + c) mod (high - low + 1)) + low."""
    random, low, keys, numbers = stream.random, value.low, value.high - value.low + 1, value.a + 1
    return lambda: ((int(random() * numbers) | low + int(random() * keys)) + c) % keys + low
