"""Numbers of 32 bits that never come twice: sysbench's sb_rand_unique, dealt out to connections.

Counting up and permuting twice looks random and repeats nothing before all 2³² numbers were used. sysbench
counts for all threads at once; here connection i of n takes every n-th number from i on, so that what it
draws depends on nobody else. Connections beyond n, added while a run goes on, count from the other end,
1,024 to a step.
"""

from collections.abc import Callable
from random import Random

PRIME = 4294967291
MASK = 0xFFFFFFFF
ADDED_STRIDE = 1024


def permuted(number: int) -> int:
    """A permutation of the 32-bit numbers by quadratic residues (Preshing's, as sysbench uses it)."""
    if number >= PRIME:
        return number
    residue = number * number % PRIME
    return residue if number <= PRIME // 2 else PRIME - residue


def unique(seed: int, connection: int, connections: int) -> Callable[[], int]:
    """Draws the numbers of one connection, -2³¹ to 2³¹ - 1."""
    start = Random(f"tuibench:{seed}:unique")
    first, offset = start.getrandbits(32), start.getrandbits(32)
    if connection < connections:
        number, step = first + connection, connections
    else:
        number, step = first - 1 - (connection - connections) % ADDED_STRIDE, -ADDED_STRIDE

    def draw() -> int:
        nonlocal number
        here, number = number & MASK, number + step
        return permuted(((permuted(here) + offset) & MASK) ^ 0x5BF03635) - 2**31

    return draw
