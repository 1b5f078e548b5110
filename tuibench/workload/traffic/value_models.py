"""Models of a slot's values: a constant, a range, a list, an earlier value plus a number."""

from collections.abc import Sequence
from decimal import Decimal
from math import ceil, floor
from typing import NamedTuple

from tuibench.workload.traffic.templates import Value

MAX_LISTED = 100
"""Maximum values of a list, to limit the size of the file."""

FEW_SHARE = 0.3
"""With fewer distinct values than this share of all, their frequency matters: the profile has a list."""

MIN_RELATED = 3
"""The least observations for a relation between two values."""

MAX_INTEGER = 2**63 - 1


class Constant(NamedTuple):
    """The same number each time; it is written into the SQL."""

    number: int | Decimal


class IntegerRange(NamedTuple):
    low: int
    high: int


class DecimalSpan(NamedTuple):
    low: int
    high: int
    places: int


class Listed(NamedTuple):
    """One of these values, with the frequency that it has in the list."""

    values: tuple[int | str, ...]


class Related(NamedTuple):
    """The value of an earlier slot plus a number."""

    slot: int
    plus: int


class UniqueNumber(NamedTuple):
    """A new number each time, for a key."""


class RandomDigits(NamedTuple):
    """Texts of digits, in groups of eleven with dashes."""

    groups: int


ValueModel = Constant | IntegerRange | DecimalSpan | Listed | Related | UniqueNumber | RandomDigits


def model_of(values: Sequence[Value]) -> ValueModel:
    """The model of a slot's values; at least one is required."""
    if any(isinstance(value, str) for value in values):
        return Listed(tuple(str(value) for value in _spread(values)))
    numbers = [value for value in values if not isinstance(value, str)]
    if len(set(numbers)) == 1:
        return Constant(numbers[0])
    integers = [value for value in numbers if isinstance(value, int)]
    if len(integers) < len(numbers):
        places = max(_places(value) for value in numbers)
        return DecimalSpan(floor(min(numbers)), ceil(max(numbers)), min(places, 10))
    if len(set(integers)) <= FEW_SHARE * len(integers) or max(integers) > MAX_INTEGER:
        return Listed(tuple(int(value) for value in _spread(integers)))
    return IntegerRange(min(integers), max(integers))


def _places(value: int | Decimal) -> int:
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _spread(values: Sequence[Value]) -> Sequence[Value]:
    """At most `MAX_LISTED` of the values, evenly chosen."""
    if len(values) <= MAX_LISTED:
        return values
    return [values[number * len(values) // MAX_LISTED] for number in range(MAX_LISTED)]


def relation(earlier: Sequence[Value], values: Sequence[Value]) -> int | None:
    """The constant difference between a value and that of an earlier slot; None if it varies."""
    pairs = list(zip(earlier, values, strict=True))
    if len(pairs) < MIN_RELATED:
        return None
    differences = {b - a if isinstance(a, int) and isinstance(b, int) else None for a, b in pairs}
    (first, *others) = differences
    return None if others else first
