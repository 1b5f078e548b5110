"""What an expression of a profile is made of: a small serialisable tree, its names, and its folding.

Numbers are exact: whole ones are `int`, those with a point `Decimal`, as the server's DECIMAL columns are.
Text becomes a tree in `parse`, a tree becomes a function in `evaluate`.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

import msgspec

Scalar = bool | int | str | None


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """A whole number, a text in quotes, `true`, `false` or `null`."""

    value: Scalar


class Exact(msgspec.Struct, frozen=True, tag="exact"):
    """A number with a point."""

    value: Decimal


class Variable(msgspec.Struct, frozen=True, tag="variable"):
    """A variable, an option or a list, by name."""

    name: str


class Apply(msgspec.Struct, frozen=True, tag="apply"):
    """An operator or function with its operands; `evaluate.OPERATORS` knows them."""

    operator: str
    operands: tuple["Expression", ...]


class Choose(msgspec.Struct, frozen=True, tag="choose"):
    """`yes if test else no`: only the chosen one is evaluated."""

    test: "Expression"
    yes: "Expression"
    no: "Expression"


class Items(msgspec.Struct, frozen=True, tag="items"):
    """A list, `[a, b, c]`."""

    of: tuple["Expression", ...]


Expression = Constant | Exact | Variable | Apply | Choose | Items


def parts(expression: Expression) -> tuple[Expression, ...]:
    """The expressions it is made of."""
    match expression:
        case Apply(operands=inner) | Items(of=inner):
            return inner
        case Choose(test=test, yes=yes, no=no):
            return (test, yes, no)
        case _:
            return ()


def names(expression: Expression) -> Iterator[str]:
    """Every name in it, in the order of reading; a name that is used twice comes twice."""
    if isinstance(expression, Variable):
        yield expression.name
    for part in parts(expression):
        yield from names(part)


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same with each of its parts changed."""
    match expression:
        case Apply(operator=operator, operands=operands):
            return Apply(operator, tuple(map(change, operands)))
        case Items(of=inner):
            return Items(tuple(map(change, inner)))
        case Choose(test=test, yes=yes, no=no):
            return Choose(change(test), change(yes), change(no))
        case _:
            return expression


def replaced(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    """The same with known names replaced by what they stand for."""
    if isinstance(expression, Variable):
        return known.get(expression.name, expression)
    return rebuilt(expression, lambda part: replaced(part, known))


def is_fixed(expression: Expression) -> bool:
    """Whether it is the same always: it names nothing."""
    return next(names(expression), None) is None


def of_value(value: object) -> Expression:
    """The expression that stands for a Python value. Numbers with a point are taken as they are written."""
    match value:
        case Decimal():
            return Exact(value)
        case float():
            return Exact(Decimal(str(value)))
        case tuple() | list():
            return Items(tuple(map(of_value, value)))
        case bool() | int() | str() | None:
            return Constant(value)
        case _:
            raise TypeError(f"{value!r} has no place in an expression")
