"""Values of variables: a class for each kind, from the text of a profile to the numbers of a connection.

A profile names a kind with `make`. Its operands are integers or texts of expressions in a profile, integers
or expressions of the connection's number in a program, and integers on a connection: `with_operands` converts
from one form to the next. A class has the fields of its kind, their conditions, and the function that
generates its values. To add a kind, add it to `Draw`, and to `native/src/values/draw.rs` for the native
engine.

A generator is a function without arguments, created once for each random stream. The order and the count of
random numbers that it takes must not change: every run of a seed depends on them.
"""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from itertools import count
from operator import add
from random import Random
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload.expressions import Expression, ExpressionType
from tuibench.workload.limits import (
    INTEGER_LIMIT,
    TOO_MANY_DIGITS,
)
from tuibench.workload.options import THREADS, ProfileOption, integer_option

PRECISION = 28
"""Digits in the calculation of decimal numbers: those of Python's default context."""

Operand = int | str
"""In a profile: a number, or an expression of options, lists and variables."""

Bound = int | Expression
"""In a program: a number, or an expression of the connection's number."""

OperandKind = Literal["own", "shared", "percent"]
""""own" is an integer that may differ by connection, "shared" one that is the same on all, "percent" a number
from 0 to 100.
"""

N = TypeVar("N", covariant=True)
M = TypeVar("M")


class Generator(
    msgspec.Struct, Generic[N], frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="make"
):
    """A kind of value."""

    OPERANDS: ClassVar[Mapping[str, OperandKind]] = {}
    TYPE: ClassVar[ExpressionType] = "number"
    """The type of its values in expressions."""

    @property
    def most_characters(self) -> int:
        """The maximum length of its texts; 0 if it generates none."""
        return 0

    def check(self, name: str) -> None:
        """Raises UsageError if operands of the variable `name` that are known already are invalid."""

    def function(self: "Generator[int]", stream: Random, seed: int, connection: int) -> Callable[[], Any]:
        """The function that generates the values of a connection."""
        raise NotImplementedError


class Interval(Generator[N], frozen=True, kw_only=True):
    """An integer from `low` to `high`."""

    low: N = 1  # type: ignore[assignment]  # an integer is an operand everywhere
    high: N

    OPERANDS: ClassVar[Mapping[str, OperandKind]] = {"low": "own", "high": "own"}

    def check(self, name: str) -> None:
        _check_range(name, self.low, self.high)

    def function(self: "Interval[int]", stream: Random, seed: int, connection: int) -> Callable[[], int]:
        return self.keys(self.low, max(self.low, self.high), stream)

    def keys(self, low: int, high: int, stream: Random) -> Callable[[], int]:
        """The function that generates integers from `low` to `high`, inclusive. The distributions have
        sysbench's formulas (sb_rand.c).
        """
        raise NotImplementedError


class Key(Interval[N], frozen=True, kw_only=True, tag="key"):
    """A key from `low` to `high`, distributed by --rand-type."""


class Uniform(Interval[N], frozen=True, kw_only=True, tag="uniform"):
    """An integer from `low` to `high`, uniformly distributed."""

    def keys(self, low: int, high: int, stream: Random) -> Callable[[], int]:
        random, keys = stream.random, high - low + 1
        return lambda: low + int(random() * keys)


def _check_range(name: str, low: object, high: object) -> None:
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise UsageError(f"the range of '{name}' from {low:,} to {high:,} is empty")
    if sum(abs(bound) for bound in (low, high) if isinstance(bound, int)) >= INTEGER_LIMIT:
        raise UsageError(f"the range of '{name}': {TOO_MANY_DIGITS}")


Iterations = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Gaussian(Interval[N], frozen=True, kw_only=True, tag="gaussian"):
    """The mean of uniform values from `low` to `high`."""

    iterations: Iterations = 12
    """Number of uniform values."""

    def keys(self, low: int, high: int, stream: Random) -> Callable[[], int]:
        uniforms = _sum_of_uniforms(self.iterations, stream)
        scale = float(high - low + 1) / self.iterations
        return lambda: low + int(uniforms() * scale)


class Special(Interval[N], frozen=True, kw_only=True, tag="special"):
    """sysbench's default: most values are in the middle of the range, the others are the mean of uniform
    ones.
    """

    iterations: Iterations = 12
    """Number of uniform values of the mean."""
    hot_width: Share = 0.01
    """The share of the range, 0 to 1, that is its middle."""
    hot_share: Share = 0.75
    """The share of the values, 0 to 1, that are there."""

    def keys(self, low: int, high: int, stream: Random) -> Callable[[], int]:
        """Hot keys reuse the number that selected them: only the last `hot_share` of the window is used."""
        random, uniforms = stream.random, _sum_of_uniforms(self.iterations, stream)
        span = high - low
        cold_below, cold_scale = 1 - self.hot_share, float(span) / self.iterations
        hot_scale = self.hot_width * span + 1
        hot_from = span / 2 - self.hot_width * span / 2

        def draw() -> int:
            chosen = random()
            if chosen >= cold_below:
                return low + int(chosen * hot_scale + hot_from)
            return low + int(uniforms() * cold_scale)

        return draw


class Pareto(Interval[N], frozen=True, kw_only=True, tag="pareto"):
    """A self-similar distribution."""

    h: Annotated[float, msgspec.Meta(ge=1e-6, le=0.999999)] = 0.2
    """The first `h` of the values get 1 - h of the accesses."""

    def keys(self, low: int, high: int, stream: Random) -> Callable[[], int]:
        random, keys = stream.random, high - low + 1
        power = math.log(self.h) / math.log(1 - self.h)
        return lambda: low + int(keys * random() ** power)


class Zipfian(Interval[N], frozen=True, kw_only=True, tag="zipfian"):
    """The value number i has a frequency proportional to 1 / i ** exponent."""

    exponent: Annotated[float, msgspec.Meta(ge=0.0, le=100.0)] = 0.8

    def keys(self, low: int, high: int, stream: Random) -> Callable[[], int]:
        """Rejection inversion (Hörmann and Derflinger, ACM TOMACS 6, 1996), as in sysbench."""
        random, keys, below, exponent = stream.random, high - low + 1, low - 1, self.exponent
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


class Nurand(Generator[N], frozen=True, kw_only=True, tag="nurand"):
    """TPC-C's non-uniform NURand(a, low, high)."""

    a: N
    low: N
    high: N
    loaded_c: N | None = None
    """The constant with which last names were loaded."""

    OPERANDS: ClassVar[Mapping[str, OperandKind]] = dict.fromkeys(("a", "low", "high", "loaded_c"), "shared")

    def check(self, name: str) -> None:
        _check_range(name, self.low, self.high)
        a, low, loaded_c = self.a, self.low, self.loaded_c
        if isinstance(a, int) and isinstance(low, int) and (not 0 <= a < 2**31 or low < 0):
            raise UsageError(f"NURand of '{name}' must be between 0 and 2³¹ − 1")
        if isinstance(a, int) and isinstance(loaded_c, int) and not allowed_nurand_constants(a, loaded_c):
            raise UsageError(f"no constant of '{name}' is as far from {loaded_c} as TPC-C requires")

    def function(self: "Nurand[int]", stream: Random, seed: int, connection: int) -> Callable[[], int]:
        return self.with_constant(self.constant(seed), stream)

    def constant(self: "Nurand[int]", seed: int) -> int:
        """The constant C of a run, the same on all connections.

        It has the distance from `loaded_c` that TPC-C requires for last names (2.1.6.1).
        """
        allowed = allowed_nurand_constants(self.a, self.loaded_c)
        return allowed[int(Random(f"tuibench:{seed}:nurand:{self.a}").random() * len(allowed))]

    def with_constant(self: "Nurand[int]", c: int, stream: Random) -> Callable[[], int]:
        """Generates (((random(0, a) | random(low, high)) + c) mod (high - low + 1)) + low (TPC-C 2.1.6)."""
        random, low, keys, numbers = stream.random, self.low, self.high - self.low + 1, self.a + 1
        return lambda: ((int(random() * numbers) | low + int(random() * keys)) + c) % keys + low


class DecimalRange(Generator[N], frozen=True, kw_only=True, tag="decimal"):
    """An exact number from `low` to `high`."""

    low: N
    high: N
    places: Annotated[int, msgspec.Meta(ge=0, le=12)] = 2
    """Digits after the point."""

    OPERANDS: ClassVar[Mapping[str, OperandKind]] = {"low": "shared", "high": "shared"}

    def check(self, name: str) -> None:
        _check_range(name, self.low, self.high)
        known = [abs(bound) for bound in (self.low, self.high) if isinstance(bound, int)]
        if max(known, default=0) * 10**self.places >= 10**PRECISION:
            raise UsageError(f"the range of '{name}' has numbers of more than {PRECISION} digits")

    def function(
        self: "DecimalRange[int]", stream: Random, seed: int, connection: int
    ) -> Callable[[], Decimal]:
        random, unit, places = stream.random, 10**self.places, self.places
        low, amounts = self.low * unit, (self.high - self.low) * unit + 1
        return lambda: Decimal(low + int(random() * amounts)).scaleb(-places)


GROUP_DIGITS = 11
C_GROUPS = 10
PAD_GROUPS = 5
EXTRA_BITS = 24
"""Additional random bits, so that the bias of a string's first digit is below 10⁻⁷."""


class Digits(Generator[N], frozen=True, kw_only=True, tag="digits"):
    """Groups of eleven random digits joined by `-`."""

    groups: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    """Ten for sbtest's c, five for its pad."""

    TYPE: ClassVar[ExpressionType] = "text"

    @property
    def most_characters(self) -> int:
        return self.groups * (GROUP_DIGITS + 1) - 1

    def function(self: "Digits[int]", stream: Random, seed: int, connection: int) -> Callable[[], str]:
        """The function that generates such a text. It uses the last digits of one large random number (the
        first ones are not uniform), and overwrites every twelfth with `-`. This takes about 1.5 µs for c;
        digit by digit takes ten times as long.
        """
        length = self.most_characters
        bits = int(length * 3.3219281) + 1 + EXTRA_BITS
        template = b"%%0%dd" % length
        dashes = b"-" * (self.groups - 1)
        getrandbits = stream.getrandbits

        def draw() -> str:
            text = bytearray(template % getrandbits(bits))
            del text[:-length]
            text[GROUP_DIGITS :: GROUP_DIGITS + 1] = dashes
            return text.decode("ascii")

        return draw


class Chance(Generator[N], frozen=True, kw_only=True, tag="chance"):
    """True or false."""

    percent: float | N
    """The probability of true."""

    OPERANDS: ClassVar[Mapping[str, OperandKind]] = {"percent": "percent"}
    TYPE: ClassVar[ExpressionType] = "flag"

    def check(self, name: str) -> None:
        percent = self.percent
        if isinstance(percent, int | float) and not 0 <= percent <= 100:
            raise UsageError(f"the chance '{name}' is 0 to 100 percent, not {percent:g}")

    def function(self: "Chance[int]", stream: Random, seed: int, connection: int) -> Callable[[], bool]:
        random, share = stream.random, self.percent / 100
        return lambda: random() < share


class Serial(Generator[N], frozen=True, kw_only=True, tag="serial"):
    """A counter of each connection."""

    first: int = 1

    def function(self: "Serial[int]", stream: Random, seed: int, connection: int) -> Callable[[], int]:
        return count(self.first).__next__


class Unique(Generator[N], frozen=True, kw_only=True, tag="unique"):
    """A signed 32-bit number, unique in the run."""

    connections: N = THREADS  # type: ignore[assignment]  # the default is for profiles
    """The numbers are divided among this many connections. Connections added during the run have a few
    million each.
    """

    OPERANDS: ClassVar[Mapping[str, OperandKind]] = {"connections": "shared"}

    def check(self, name: str) -> None:
        if isinstance(self.connections, int) and self.connections < 1:
            raise UsageError(f"the numbers of '{name}' are divided among {self.connections} connections")

    def function(self: "Unique[int]", stream: Random, seed: int, connection: int) -> Callable[[], int]:
        """Generates -2³¹ to 2³¹ - 1 in pseudo-random order, as sysbench's sb_rand_unique: a counter, permuted
        twice, which repeats no number before all 2³² were used.

        sysbench has one counter for all threads. Here connection i of n takes every n-th number from i on,
        independently of other connections. Connections beyond n, added during a run, count down from the
        other end, in steps of 1,024.
        """
        start, connections = Random(f"tuibench:{seed}:unique"), self.connections
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


Distribution = Uniform[N] | Gaussian[N] | Special[N] | Pareto[N] | Zipfian[N]
"""The distributions that --rand-type selects."""

Draw = Key[N] | Distribution[N] | Nurand[N] | DecimalRange[N] | Digits[N] | Chance[N] | Serial[N] | Unique[N]
"""A single value. A program has no `Key`, because `distributed` replaces it."""


class List(Generator[N], frozen=True, kw_only=True, tag="list"):
    """A list of values of one generator."""

    of: Draw[N]
    count: N
    """Number of items."""
    ordered: bool = False
    """In ascending order."""
    distinct: bool = False
    """Without duplicates."""

    TYPE: ClassVar[ExpressionType] = "list"


class Sum(msgspec.Struct, frozen=True, tag_field="make", tag="sum"):
    """The sum of variables and a constant: the most frequent formula, with the fastest evaluation."""

    variables: tuple[str, ...]
    constant: int


class Formula(msgspec.Struct, frozen=True, tag_field="make", tag="formula"):
    """Any expression of other variables."""

    expression: Expression


Value = Draw[Bound] | List[Bound] | Sum | Formula
"""The value of a variable in a program."""


def with_operands(make: Draw[M], change: Callable[[OperandKind, Any], object]) -> Draw[Any]:
    """The same generator with other operands: `change` gets the kind of each operand and the operand."""
    changed = {
        name: change(kind, operand)
        for name, kind in make.OPERANDS.items()
        if (operand := getattr(make, name)) is not None
    }
    return msgspec.structs.replace(make, **changed)


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


def distributed(options: Mapping[str, OptionValue], low: M, high: M) -> Distribution[M]:
    """A key with the distribution that the resolved options select."""
    iterations = int(options["rand_spec_iter"])
    match options["rand_type"]:
        case "uniform":
            return Uniform(low=low, high=high)
        case "gaussian":
            return Gaussian(low=low, high=high, iterations=iterations)
        case "special":
            return Special(
                low=low,
                high=high,
                iterations=iterations,
                hot_width=float(options["rand_spec_pct"]) / 100,
                hot_share=float(options["rand_spec_res"]) / 100,
            )
        case "pareto":
            return Pareto(low=low, high=high, h=float(options["rand_pareto_h"]))
        case "zipfian":
            return Zipfian(low=low, high=high, exponent=float(options["rand_zipfian_exp"]))
        case other:
            raise ValueError(other)


def _sum_of_uniforms(iterations: int, stream: Random) -> Callable[[], float]:
    """The sum of `iterations` uniform values; the default of twelve is unrolled, which halves the time.

    It adds from left to right, as the native engine does. sum() compensates rounding from Python 3.12 on, so
    that the keys of a seed would depend on the version.
    """
    r = stream.random
    if iterations == 12:
        return lambda: r() + r() + r() + r() + r() + r() + r() + r() + r() + r() + r() + r()
    return lambda: reduce(add, [r() for _ in range(iterations)])


def _zipf_hat(exponent: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """The integral of x ** -exponent from 1, and its inverse; logarithm and exponential at exponent 1."""
    rest = 1 - exponent
    if abs(rest) < 1e-9:
        return math.log, math.exp
    return lambda x: (x**rest - 1) / rest, lambda area: (1 + area * rest) ** (1 / rest)


_ALLOWED_DISTANCES = frozenset(range(65, 120)) - {96, 112}
"""The allowed distance between the constants C of run and load for last names (2.1.6.1)."""


def allowed_nurand_constants(a: int, loaded_c: int | None) -> range | list[int]:
    """The constants C that TPC-C allows for NURand(a, …); `loaded_c` is the constant of the load."""
    if loaded_c is None:
        return range(a + 1)
    near = range(max(0, loaded_c - 119), min(a, loaded_c + 119) + 1)
    return [c for c in near if abs(c - loaded_c) in _ALLOWED_DISTANCES]


PERMUTATION_PRIME = 4294967291
UINT32_MASK = 0xFFFFFFFF
ADDED_STRIDE = 1024


def permute32(number: int) -> int:
    """A permutation of the 32-bit numbers by quadratic residues (Preshing's, as sysbench uses it)."""
    if number >= PERMUTATION_PRIME:
        return number
    residue = number * number % PERMUTATION_PRIME
    return residue if number <= PERMUTATION_PRIME // 2 else PERMUTATION_PRIME - residue
