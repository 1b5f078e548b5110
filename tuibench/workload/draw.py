"""How the variables of one connection are drawn: each kind of draw as a function, made once.

The numbers of a stream come in the order of the draws; a change of order, or of how many numbers a draw
takes, changes every run of the same seed.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import count
from random import Random
from typing import Any, assert_never

from tuibench.workload.evaluate import Evaluate, evaluator, fixed, folded
from tuibench.workload.expression import Constant, Expression, replaced
from tuibench.workload.keys import drawer
from tuibench.workload.nurand import constant, nurand
from tuibench.workload.program import CONNECTION
from tuibench.workload.unique import unique
from tuibench.workload.value import (
    Bound,
    Chance,
    Digits,
    Draw,
    Key,
    Money,
    Nurand,
    Serial,
    Sum,
    Unique,
)
from tuibench.workload.values import digit_groups


def stream(seed: int, connection: int) -> Random:
    """The random numbers of one connection.

    Seeded with the text `tuibench:SEED:CONNECTION`, which Python hashes with SHA-512: the same on every
    machine and version, and unrelated for neighbouring seeds and connections.
    """
    return Random(f"tuibench:{seed}:{connection}")


class Source:
    """What one connection draws from: its stream, its number, and the run's seed."""

    def __init__(self, seed: int, connection: int) -> None:
        self.numbers = stream(seed, connection)
        self._seed = seed
        self._connection = connection
        self._given: dict[str, Expression] = {CONNECTION: Constant(connection)}

    def own(self, expression: Expression) -> Expression:
        """The expression as it is on this connection."""
        return folded(replaced(expression, self._given))

    def function(self, expression: Expression, places: Mapping[str, int]) -> Evaluate:
        return evaluator(self.own(expression), places)

    def bound(self, bound: Bound) -> int:
        return bound if isinstance(bound, int) else int(fixed(self.own(bound)))

    def draw(self, value: Draw) -> Callable[[], Any]:
        """The function that draws it."""
        numbers = self.numbers
        match value:
            case Key(low=low, high=high, distribution=distribution):
                first = self.bound(low)
                return drawer(distribution, first, max(first, self.bound(high)), numbers)
            case Digits(groups=groups):
                return digit_groups(groups, numbers)
            case Nurand():
                return nurand(value, constant(self._seed, value), numbers)
            case Money():
                return _money(value, numbers)
            case Chance(percent=percent):
                return _chance(percent / 100, numbers)
            case Serial(first=first):
                return count(first).__next__
            case Unique(connections=connections):
                return unique(self._seed, self._connection, connections)
            case _:
                assert_never(value)


def summed(value: Sum, places: Mapping[str, int]) -> Evaluate:
    """A sum over a row; the commonest, one variable and a constant, without a loop."""
    constant, terms = value.constant, [places[name] for name in value.variables]
    if len(terms) == 1:
        place = terms[0]
        return lambda row: row[place] + constant
    return lambda row: sum((row[term] for term in terms), constant)


def _money(value: Money, numbers: Random) -> Callable[[], Decimal]:
    random, unit = numbers.random, 10**value.places
    low, amounts = value.low * unit, (value.high - value.low) * unit + 1
    return lambda: Decimal(low + int(random() * amounts)).scaleb(-value.places)


def _chance(share: float, numbers: Random) -> Callable[[], bool]:
    random = numbers.random
    return lambda: random() < share
