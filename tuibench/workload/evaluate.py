"""How an expression is evaluated: turned once into a function of a list of values, then called for each use.

Texts are joined with `+`; `/` divides exactly, `//` and `%` as whole numbers; a list is counted from 0.
"""

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, assert_never

from tuibench.errors import UsageError
from tuibench.workload.expression import (
    Apply,
    Choose,
    Constant,
    Exact,
    Expression,
    Items,
    Variable,
    is_fixed,
    of_value,
    rebuilt,
)

Row = list[Any]
"""The values of variables, each at its place."""

Evaluate = Callable[[Row], Any]

FAULTS = (TypeError, ArithmeticError, LookupError, ValueError)
"""What goes wrong when values do not fit: text times null, a division by zero, a list that is too short."""


def _times(left: Any, right: Any) -> Any:
    """Numbers only: Python would repeat a text, and fill the memory with it."""
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError("a text cannot be multiplied")
    return left * right


def _rest(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise TypeError("a text cannot be divided")
    return left % right


def _divide(left: Any, right: Any) -> Decimal:
    return Decimal(left) / Decimal(right)


def _pick(items: Any, place: Any) -> Any:
    if place < 0:
        raise IndexError(f"no item {place} in a list")
    return items[int(place)]


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": _times,
    "/": _divide,
    "//": operator.floordiv,
    "%": _rest,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "negative": operator.neg,
    "pick": _pick,
    "min": min,
    "max": max,
    "len": len,
}


def evaluator(expression: Expression, places: Mapping[str, int]) -> Evaluate:
    """The function that evaluates an expression, its variables being at `places` of the row."""
    match expression:
        case Constant(value=value) | Exact(value=value):
            return lambda row: value
        case Variable(name=name):
            return operator.itemgetter(places[name])
        case Choose(test=test, yes=yes, no=no):
            return _choose(*(evaluator(part, places) for part in (test, yes, no)))
        case Items(of=inner):
            return _items([evaluator(part, places) for part in inner], is_fixed(expression))
        case Apply(operator=name, operands=operands):
            return _apply(name, [evaluator(operand, places) for operand in operands])
        case _:
            assert_never(expression)


def fixed(expression: Expression) -> Any:
    """The value of an expression that names nothing. Raises UsageError when it has none."""
    try:
        return evaluator(expression, {})([])
    except FAULTS as error:
        raise UsageError(f"an expression has no value: {error}") from None


def folded(expression: Expression) -> Expression:
    """The same with everything computed that names nothing."""
    if isinstance(expression, Choose) and is_fixed(expression.test):
        return folded(expression.yes if fixed(expression.test) else expression.no)
    inner = rebuilt(expression, folded)
    if isinstance(inner, Apply):
        if is_fixed(inner):
            return of_value(fixed(inner))
        return _decided(inner)
    return inner


def _decided(expression: Apply) -> Expression:
    """`a and false`, `true and a` and the like need no run to be told."""
    if expression.operator not in ("and", "or"):
        return expression
    settling = expression.operator == "or"
    open_ones = []
    for operand in expression.operands:
        if not is_fixed(operand):
            open_ones.append(operand)
        elif bool(fixed(operand)) is settling:
            return Constant(settling)
    return open_ones[0] if len(open_ones) == 1 else expression


def _choose(test: Evaluate, yes: Evaluate, no: Evaluate) -> Evaluate:
    return lambda row: yes(row) if test(row) else no(row)


def _items(inner: list[Evaluate], is_constant: bool) -> Evaluate:
    if is_constant:
        made = tuple([evaluate([]) for evaluate in inner])
        return lambda row: made
    return lambda row: [evaluate(row) for evaluate in inner]


def _apply(name: str, operands: list[Evaluate]) -> Evaluate:
    if name == "and":
        left, right = operands
        return lambda row: bool(left(row) and right(row))
    if name == "or":
        left, right = operands
        return lambda row: bool(left(row) or right(row))
    function = OPERATORS[name]
    if len(operands) == 1:
        (operand,) = operands
        return lambda row: function(operand(row))
    left, right = operands
    return lambda row: function(left(row), right(row))
