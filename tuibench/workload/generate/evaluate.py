"""Evaluation of expressions: compiled once to a function of a list of values.

`+` concatenates texts; `/` is exact division, `//` and `%` are integer division and remainder; list indexes
start at 0.
"""

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, assert_never

from tuibench.errors import UsageError
from tuibench.workload.language.expressions import (
    Conditional,
    Constant,
    DecimalConstant,
    Expression,
    ListExpression,
    Operation,
    Variable,
    is_constant,
    literal,
    map_subexpressions,
)

VariableRow = list[Any]
"""The values of variables by index."""

Evaluate = Callable[[VariableRow], Any]

EVALUATION_ERRORS = (TypeError, ArithmeticError, LookupError, ValueError)
"""Exceptions for incompatible values: wrong types, division by zero, index out of range."""


def _times(left: Any, right: Any) -> Any:
    """Numbers only: Python would repeat a text, which could fill the memory."""
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError("a text cannot be multiplied")
    return left * right


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise TypeError("a text cannot be divided")
    return left % right


def _divide(left: Any, right: Any) -> Decimal:
    return Decimal(left) / Decimal(right)


def _item(items: Any, place: Any) -> Any:
    if place < 0:
        raise IndexError(f"no item {place} in a list")
    return items[int(place)]


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": _times,
    "/": _divide,
    "//": operator.floordiv,
    "%": _modulo,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "negative": operator.neg,
    "pick": _item,
    "min": min,
    "max": max,
    "len": len,
}


def compile_expression(expression: Expression, places: Mapping[str, int]) -> Evaluate:
    """The function that evaluates an expression; `places` are the indexes of its variables in the row."""
    match expression:
        case Constant(value=value) | DecimalConstant(value=value):
            return lambda row: value
        case Variable(name=name):
            return operator.itemgetter(places[name])
        case Conditional(test=test, yes=yes, no=no):
            return _conditional(*(compile_expression(part, places) for part in (test, yes, no)))
        case ListExpression(of=inner):
            return _list_evaluator(
                [compile_expression(part, places) for part in inner], is_constant(expression)
            )
        case Operation(operator=name, operands=operands):
            return _operation(name, [compile_expression(operand, places) for operand in operands])
        case _:
            assert_never(expression)


def constant_value(expression: Expression) -> Any:
    """The value of a constant expression. Raises UsageError if it has none."""
    try:
        return compile_expression(expression, {})([])
    except EVALUATION_ERRORS as error:
        raise UsageError(f"an expression has no value: {error}") from None


def fold_constants(expression: Expression) -> Expression:
    """A copy with constant parts evaluated."""
    if isinstance(expression, Conditional) and is_constant(expression.test):
        return fold_constants(expression.yes if constant_value(expression.test) else expression.no)
    inner = map_subexpressions(expression, fold_constants)
    if isinstance(inner, Operation):
        if is_constant(inner):
            return literal(constant_value(inner))
        return _short_circuit(inner)
    return inner


def _short_circuit(expression: Operation) -> Expression:
    """Fold `a and false`, `true and a` and the like."""
    if expression.operator not in ("and", "or"):
        return expression
    settling = expression.operator == "or"
    open_ones = []
    for operand in expression.operands:
        if not is_constant(operand):
            open_ones.append(operand)
        elif bool(constant_value(operand)) is settling:
            return Constant(settling)
    return open_ones[0] if len(open_ones) == 1 else expression


def _conditional(test: Evaluate, yes: Evaluate, no: Evaluate) -> Evaluate:
    return lambda row: yes(row) if test(row) else no(row)


def _list_evaluator(inner: list[Evaluate], is_constant: bool) -> Evaluate:
    if is_constant:
        made = tuple([evaluate([]) for evaluate in inner])
        return lambda row: made
    return lambda row: [evaluate(row) for evaluate in inner]


def _operation(name: str, operands: list[Evaluate]) -> Evaluate:
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
