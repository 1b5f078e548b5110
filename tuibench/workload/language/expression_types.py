"""Type checks of expressions: numbers, texts, booleans, lists.

A captured column may have any type: it is checked at run time.
"""

from collections.abc import Mapping
from typing import Literal

from tuibench import suggestions
from tuibench.errors import UsageError
from tuibench.workload.language.expressions import (
    Conditional,
    Constant,
    DecimalConstant,
    Expression,
    ListExpression,
    Operation,
    Variable,
)
from tuibench.workload.language.options import ProfileOption

ExpressionType = Literal["number", "text", "flag", "list", "any"]
TypeScope = Mapping[str, ExpressionType]

OPTION_TYPES: dict[str, ExpressionType] = {
    "integer": "number",
    "number": "number",
    "flag": "flag",
    "text": "text",
    "choice": "text",
}
SIGNATURES: dict[str, tuple[tuple[ExpressionType, ...], ExpressionType]] = {
    **dict.fromkeys(("-", "*", "/", "//", "%", "min", "max"), (("number", "number"), "number")),
    "negative": (("number",), "number"),
    "and": (("flag", "flag"), "flag"),
    "or": (("flag", "flag"), "flag"),
    "not": (("flag",), "flag"),
    "pick": (("list", "number"), "any"),
    "len": (("list",), "number"),
}
"""Operand and result types of the operators; `+` and comparisons take two operands of one type."""


def option_type(option: ProfileOption) -> ExpressionType:
    return OPTION_TYPES[option.type]


def type_of(expression: Expression, scope: TypeScope) -> ExpressionType:
    """The type of an expression's value. Raises UsageError for unknown names and incompatible types."""
    match expression:
        case Constant(value=value):
            return _type_of_value(value)
        case DecimalConstant():
            return "number"
        case Variable(name=name):
            return _type_of_name(name, scope)
        case ListExpression(of=inner):
            for item in inner:
                type_of(item, scope)
            return "list"
        case Conditional(test=test, yes=yes, no=no):
            require_type("flag", type_of(test, scope), "if")
            return _common_type(type_of(yes, scope), type_of(no, scope))
        case Operation(operator=operator, operands=operands):
            return _type_of_operation(operator, [type_of(operand, scope) for operand in operands])


def require_type(wanted: ExpressionType, found: ExpressionType, where: str) -> None:
    """Raises UsageError unless the types are compatible."""
    if found not in (wanted, "any"):
        raise UsageError(f"'{where}' takes a {wanted}, not a {found}")


def _type_of_value(value: object) -> ExpressionType:
    kinds: dict[type, ExpressionType] = {bool: "flag", int: "number", str: "text"}
    return kinds.get(type(value), "any")


def _type_of_name(name: str, scope: TypeScope) -> ExpressionType:
    if name not in scope:
        raise UsageError(f"unknown variable or option '{name}'", suggestions.did_you_mean(name, scope))
    return scope[name]


def _type_of_operation(operator: str, found: list[ExpressionType]) -> ExpressionType:
    if operator in SIGNATURES:
        wanted, result = SIGNATURES[operator]
        for one, other in zip(wanted, found, strict=True):
            require_type(one, other, operator)
        return result
    left, right = found
    if "any" not in found and left != right:
        raise UsageError(f"'{operator}' takes two values of one kind, not a {left} and a {right}")
    if operator != "+":
        return "flag"
    for kind in found:
        if kind in ("flag", "list"):
            raise UsageError(f"'+' does not take a {kind}")
    return _common_type(left, right)


def _common_type(left: ExpressionType, right: ExpressionType) -> ExpressionType:
    return left if left == right else "any"
