"""Random numbers: distributions of keys, NURand, unique numbers, digits; the layout of a program.

Distributions of keys have sysbench's formulas (sb_rand.c); zipfian is the rejection inversion of Hörmann and
Derflinger (1996). A function without arguments is created once per random stream and called for every key.

NURand is TPC-C's (clause 2.1.6). Unique numbers are those of sysbench's sb_rand_unique: a counter, permuted
twice, which repeats nothing before all 2³² numbers were used. sysbench has one counter for all threads; here
connection i of n takes every n-th number from i on, independently of other connections. Connections beyond n,
added during a run, count down from the other end, 1,024 per step.

`ProgramLayout` is shared by the generators of all connections: the flat indexes of statements, and which
transactions are static (their steps depend neither on each other nor on captured rows).
"""

import math
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from random import Random
from typing import assert_never

from tuibench.model.plan import OptionValue
from tuibench.workload.expressions import Expression, variable_names
from tuibench.workload.language import ProfileOption, integer_option
from tuibench.workload.program import (
    CONNECTION,
    Distribution,
    FlatStatement,
    Formula,
    Gaussian,
    ListDraw,
    Nurand,
    Pareto,
    Program,
    ProgramStep,
    Special,
    Statement,
    Sum,
    Uniform,
    Zipfian,
    all_steps,
    flat_indexes,
    flat_of,
)

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
    scale = float(high - low + 1) / iterations
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
    cold_below, cold_scale = 1 - special.hot_share, float(span) / special.iterations
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


class ProgramLayout:
    """The layout of a program; `statements` is its flat list, `steps` are those of all transactions.

    Statements are looked up by identity: they must belong to this program, or to a copy with other weights.
    """

    def __init__(self, program: Program) -> None:
        indexes = flat_indexes(program)
        self.statements: tuple[FlatStatement, ...] = tuple(indexes)
        self.tables = len(program.tables)
        self.steps = [step for each in program.transactions for step in all_steps(each.steps)]
        self.are_static = [all(map(_is_static, each.steps)) for each in program.transactions]
        self.names_tables = any(step.table is not None for step in self.steps)
        self._first = {
            id(statement): indexes[flat_of(statement)] for step in self.steps for statement in step.statements
        }

    def first(self, statement: Statement) -> int:
        """The flat index of a statement for the first table."""
        return self._first[id(statement)]


def _is_static(step: ProgramStep) -> bool:
    return (
        isinstance(step.repeat, int)
        and step.when is step.each is None
        and not (step.index or step.steps or step.rollback)
        and not any(statement.captures for statement in step.statements)
        and not any(isinstance(value, ListDraw) for value in step.let.values())
        and (step.table is None or set(variable_names(step.table)) <= {CONNECTION})
        and _used_variables(step) <= {*step.let, CONNECTION}
    )


def _used_variables(step: ProgramStep) -> set[str]:
    """The variables that a step's formulas and statements use, without those of parts."""
    used: set[str] = set()
    for value in step.let.values():
        used |= _variables_of_value(value)
    for statement in step.statements:
        used |= _bound_variables(statement.bind)
        if statement.part is not None:
            inner = _bound_variables(statement.part.bind).union(
                *map(_variables_of_value, statement.part.let.values())
            )
            used |= inner - set(statement.part.let)
    return used


def _variables_of_value(value: object) -> set[str]:
    match value:
        case Formula(expression=expression) | ListDraw(count=expression):
            return set(variable_names(expression))
        case Sum(variables=variables):
            return set(variables)
        case _:
            return set()


def _bound_variables(bind: tuple[str | Expression, ...]) -> set[str]:
    return {name for one in bind for name in ([one] if isinstance(one, str) else variable_names(one))}
