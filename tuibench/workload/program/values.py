"""Values of a program's variables: distributions, generators, formulas.

`generate.distributions` and `generate.draw` implement them.
"""

import msgspec

from tuibench.workload.language.expressions import Expression


class Uniform(msgspec.Struct, frozen=True, tag="uniform"):
    """Uniform distribution."""


class Gaussian(msgspec.Struct, frozen=True, tag="gaussian"):
    """The mean of `iterations` uniform values."""

    iterations: int


class Special(msgspec.Struct, frozen=True, tag="special"):
    """sysbench's default: `hot_share` of the values are in the middle `hot_width` of the keys.

    Both are shares from 0 to 1; the other values are the mean of `iterations` uniform ones.
    """

    iterations: int
    hot_width: float
    hot_share: float


class Pareto(msgspec.Struct, frozen=True, tag="pareto"):
    """Self-similar: the first `h` of the keys get 1 - h of the accesses."""

    h: float


class Zipfian(msgspec.Struct, frozen=True, tag="zipfian"):
    """Key number i has a frequency proportional to 1 / i ** exponent."""

    exponent: float


Distribution = Uniform | Gaussian | Special | Pareto | Zipfian

Bound = int | Expression
"""A number, or an expression of the connection's number."""


class Key(msgspec.Struct, frozen=True, tag="key"):
    """An integer from low to high, inclusive."""

    low: Bound
    high: Bound
    distribution: Distribution


class Nurand(msgspec.Struct, frozen=True, tag="nurand"):
    """TPC-C's NURand(a, low, high). Its constant C comes from the run's seed, the same for all connections.

    `loaded_c` is the constant used for loading; C then has the distance from it that TPC-C requires for last
    names (2.1.6.1). None for any C.
    """

    a: int
    low: int
    high: int
    loaded_c: int | None = None


class DecimalRange(msgspec.Struct, frozen=True, tag="decimal"):
    """An exact number from low to high, inclusive, with `places` decimals."""

    low: int
    high: int
    places: int


class Digits(msgspec.Struct, frozen=True, tag="digits"):
    """Groups of eleven random digits joined by `-`."""

    groups: int


class Chance(msgspec.Struct, frozen=True, tag="chance"):
    """True with a probability of `percent`."""

    percent: float


class Serial(msgspec.Struct, frozen=True, tag="serial"):
    """A counter per connection."""

    first: int


class Unique(msgspec.Struct, frozen=True, tag="unique"):
    """A signed 32-bit number, unique in the run, in pseudo-random order.

    The numbers are divided among `connections`; connections added during the run have a few million each.
    """

    connections: int


class ListDraw(msgspec.Struct, frozen=True, tag="list"):
    """A list of `count` values, ascending if `ordered`."""

    of: "Draw"
    count: Expression
    ordered: bool


class Sum(msgspec.Struct, frozen=True, tag="sum"):
    """The sum of variables and a constant: the most frequent formula, with the fastest evaluation."""

    variables: tuple[str, ...]
    constant: int


class Formula(msgspec.Struct, frozen=True, tag="formula"):
    """Any expression of other variables."""

    expression: Expression


Draw = Key | Nurand | DecimalRange | Digits | Chance | Serial | Unique
Value = Draw | ListDraw | Sum | Formula
