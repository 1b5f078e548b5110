"""Random values: TPC-C's NURand (clause 2.1.6), unique 32-bit numbers, strings of digits.

Unique numbers are those of sysbench's sb_rand_unique: a counter, permuted twice, which repeats nothing before
all 2³² numbers were used. sysbench has one counter for all threads; here connection i of n takes every n-th
number from i on, independently of other connections. Connections beyond n, added during a run, count down
from the other end, 1,024 per step.
"""

from collections.abc import Callable
from random import Random

from tuibench.workload.program.values import Nurand

_ALLOWED_DISTANCES = frozenset(range(65, 120)) - {96, 112}
"""The allowed distance between the constants C of run and load for last names (2.1.6.1)."""


def allowed_nurand_constants(a: int, loaded_c: int | None) -> range | list[int]:
    """The constants that TPC-C allows."""
    if loaded_c is None:
        return range(a + 1)
    near = range(max(0, loaded_c - 119), min(a, loaded_c + 119) + 1)
    return [c for c in near if abs(c - loaded_c) in _ALLOWED_DISTANCES]


def nurand_constant(seed: int, value: Nurand) -> int:
    """The constant C of a run, the same on all connections."""
    allowed = allowed_nurand_constants(value.a, value.loaded_c)
    return allowed[int(Random(f"tuibench:{seed}:nurand:{value.a}").random() * len(allowed))]


def nurand_draw(value: Nurand, c: int, stream: Random) -> Callable[[], int]:
    """Generate (((random(0, a) | random(low, high)) + c) mod (high - low + 1)) + low."""
    random, low, keys, numbers = stream.random, value.low, value.high - value.low + 1, value.a + 1
    return lambda: ((int(random() * numbers) | low + int(random() * keys)) + c) % keys + low


PERMUTATION_PRIME = 4294967291
UINT32_MASK = 0xFFFFFFFF
ADDED_STRIDE = 1024


def permute32(number: int) -> int:
    """A permutation of the 32-bit numbers by quadratic residues (Preshing's, as sysbench uses it)."""
    if number >= PERMUTATION_PRIME:
        return number
    residue = number * number % PERMUTATION_PRIME
    return residue if number <= PERMUTATION_PRIME // 2 else PERMUTATION_PRIME - residue


def unique_draw(seed: int, connection: int, connections: int) -> Callable[[], int]:
    """Generate the numbers of one connection, -2³¹ to 2³¹ - 1."""
    start = Random(f"tuibench:{seed}:unique")
    first, offset = start.getrandbits(32), start.getrandbits(32)
    if connection < connections:
        number, step = first + connection, connections
    else:
        number, step = first - 1 - (connection - connections) % ADDED_STRIDE, -ADDED_STRIDE

    def draw() -> int:
        nonlocal number
        here, number = number & UINT32_MASK, number + step
        return permute32(((permute32(here) + offset) & UINT32_MASK) ^ 0x5BF03635) - 2**31

    return draw


GROUP_DIGITS = 11
C_GROUPS = 10
PAD_GROUPS = 5
EXTRA_BITS = 24
"""Additional random bits, so that the bias of a string's first digit is below 10⁻⁷."""


def digit_groups_draw(groups: int, stream: Random) -> Callable[[], str]:
    """Generate `groups` groups of eleven digits separated by `-`: 119 characters for c, 59 for pad.

    The last digits of one large random number are used (the first are not uniform), and every twelfth is
    overwritten. This takes about 1.5 µs for c; digit by digit takes ten times as long.
    """
    length = groups * (GROUP_DIGITS + 1) - 1
    bits = int(length * 3.3219281) + 1 + EXTRA_BITS
    template = b"%%0%dd" % length
    dashes = b"-" * (groups - 1)
    getrandbits = stream.getrandbits

    def draw() -> str:
        text = bytearray(template % getrandbits(bits))
        del text[:-length]
        text[GROUP_DIGITS :: GROUP_DIGITS + 1] = dashes
        return text.decode("ascii")

    return draw
