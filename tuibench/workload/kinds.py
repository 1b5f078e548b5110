"""Whether the values in an expression fit together: numbers with numbers, texts with texts.

A captured column may be anything: it fits everywhere, and what it is shows when it comes.
"""

from collections.abc import Mapping
from typing import Literal

from tuibench.errors import UsageError
from tuibench.workload import nearest
from tuibench.workload.expression import Apply, Choose, Constant, Exact, Expression, Items, Variable
from tuibench.workload.options import Option

Kind = Literal["number", "text", "flag", "list", "any"]
Scope = Mapping[str, Kind]

OF_OPTION: dict[str, Kind] = {
    "integer": "number",
    "number": "number",
    "flag": "flag",
    "text": "text",
    "choice": "text",
}
SIGNATURES: dict[str, tuple[tuple[Kind, ...], Kind]] = {
    **dict.fromkeys(("-", "*", "/", "//", "%", "min", "max"), (("number", "number"), "number")),
    "negative": (("number",), "number"),
    "and": (("flag", "flag"), "flag"),
    "or": (("flag", "flag"), "flag"),
    "not": (("flag",), "flag"),
    "pick": (("list", "number"), "any"),
    "len": (("list",), "number"),
}
"""What the operators take and give; `+` and comparisons take two of one kind."""


def of_option(option: Option) -> Kind:
    return OF_OPTION[option.type]


def kind_of(expression: Expression, scope: Scope) -> Kind:
    """The kind of its value. Raises UsageError for an unknown name, or for kinds that do not fit."""
    match expression:
        case Constant(value=value):
            return _of_value(value)
        case Exact():
            return "number"
        case Variable(name=name):
            return _of_name(name, scope)
        case Items(of=inner):
            for item in inner:
                kind_of(item, scope)
            return "list"
        case Choose(test=test, yes=yes, no=no):
            expect("flag", kind_of(test, scope), "if")
            return _common(kind_of(yes, scope), kind_of(no, scope))
        case Apply(operator=operator, operands=operands):
            return _of_operator(operator, [kind_of(operand, scope) for operand in operands])


def expect(wanted: Kind, found: Kind, where: str) -> None:
    """Raises UsageError unless the kinds fit."""
    if found not in (wanted, "any"):
        raise UsageError(f"'{where}' takes a {wanted}, not a {found}")


def _of_value(value: object) -> Kind:
    kinds: dict[type, Kind] = {bool: "flag", int: "number", str: "text"}
    return kinds.get(type(value), "any")


def _of_name(name: str, scope: Scope) -> Kind:
    if name not in scope:
        raise UsageError(f"unknown variable or option '{name}'", nearest.hint(name, scope))
    return scope[name]


def _of_operator(operator: str, found: list[Kind]) -> Kind:
    if operator in SIGNATURES:
        wanted, result = SIGNATURES[operator]
        for one, other in zip(wanted, found, strict=True):
            expect(one, other, operator)
        return result
    left, right = found
    if "any" not in found and left != right:
        raise UsageError(f"'{operator}' takes two of a kind, not a {left} and a {right}")
    if operator != "+":
        return "flag"
    for kind in found:
        if kind in ("flag", "list"):
            raise UsageError(f"'+' does not take a {kind}")
    return _common(left, right)


def _common(left: Kind, right: Kind) -> Kind:
    return left if left == right else "any"
