"""What a program's variables are made of: distributions, draws, formulas. A part of the program.

How they are drawn is decided in `keys` and `draw`.
"""

import msgspec

from tuibench.workload.expression import Expression


class Uniform(msgspec.Struct, frozen=True, tag="uniform"):
    """Every key equally often."""


class Gaussian(msgspec.Struct, frozen=True, tag="gaussian"):
    """The mean of `iterations` uniform draws."""

    iterations: int


class Special(msgspec.Struct, frozen=True, tag="special"):
    """sysbench's default: `hot_share` of the draws fall into the middle `hot_width` of the keys.

    Both are shares from 0 to 1; the other draws are the mean of `iterations` uniform ones.
    """

    iterations: int
    hot_width: float
    hot_share: float


class Pareto(msgspec.Struct, frozen=True, tag="pareto"):
    """Self-similar: the first `h` of the keys take 1 - h of the draws."""

    h: float


class Zipfian(msgspec.Struct, frozen=True, tag="zipfian"):
    """Key number i as often as 1 / i ** exponent."""

    exponent: float


Distribution = Uniform | Gaussian | Special | Pareto | Zipfian

Bound = int | Expression
"""A number, or an expression of the connection's own number."""


class Key(msgspec.Struct, frozen=True, tag="key"):
    """A whole number from low to high, both included."""

    low: Bound
    high: Bound
    distribution: Distribution


class Nurand(msgspec.Struct, frozen=True, tag="nurand"):
    """TPC-C's NURand(a, low, high). Its constant C comes from the run's seed, the same for all connections.

    `loaded_c` is the C that the data was made with; C then keeps the distance from it that TPC-C demands of
    last names (2.1.6.1). None for any C.
    """

    a: int
    low: int
    high: int
    loaded_c: int | None = None


class Money(msgspec.Struct, frozen=True, tag="decimal"):
    """An exact number from low to high, both included, with `places` digits after the point."""

    low: int
    high: int
    places: int


class Digits(msgspec.Struct, frozen=True, tag="digits"):
    """Groups of eleven random digits joined by `-`."""

    groups: int


class Chance(msgspec.Struct, frozen=True, tag="chance"):
    """True in `percent` of the draws."""

    percent: float


class Serial(msgspec.Struct, frozen=True, tag="serial"):
    """Counts up by one with every draw of this connection."""

    first: int


class Unique(msgspec.Struct, frozen=True, tag="unique"):
    """A number of 32 bits with sign that no other draw of the run has, in an order that looks random.

    The numbers are dealt out to `connections`; those beyond, added while a run goes on, have a few million
    each.
    """

    connections: int


class Many(msgspec.Struct, frozen=True, tag="list"):
    """A list of `count` draws, in ascending order if `ordered`."""

    of: "Draw"
    count: Expression
    ordered: bool


class Sum(msgspec.Struct, frozen=True, tag="sum"):
    """The sum of variables and a constant: the commonest formula, and evaluated fastest."""

    variables: tuple[str, ...]
    constant: int


class Formula(msgspec.Struct, frozen=True, tag="formula"):
    """Any expression of other variables."""

    expression: Expression


Draw = Key | Nurand | Money | Digits | Chance | Serial | Unique
Value = Draw | Many | Sum | Formula
