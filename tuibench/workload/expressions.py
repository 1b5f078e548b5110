"""Expressions of the profile language: serialisable syntax tree, parser, constant folding, type check.

Numbers are exact: integers are `int`, decimals are `Decimal`, like the server's DECIMAL columns. `draw`
compiles a tree to a function. The grammar has operators and a few functions only:

    a if test else b · or · and · not · == != < <= > >= · + - · * / // % · -a · a[i] · f(a, b) · (a) [a, b]

from lowest to highest precedence. Names are variables, options and lists; texts are in 'single quotes'. A
captured column may have any type: it is checked at run time.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Literal

import msgspec

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.workload.options import ProfileOption


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """An integer, a quoted text, `true`, `false` or `null`."""

    value: bool | int | str | None


class DecimalConstant(msgspec.Struct, frozen=True, tag="exact"):
    """A decimal number."""

    value: Decimal


class Variable(msgspec.Struct, frozen=True, tag="variable"):
    """A variable, an option or a list, by name."""

    name: str


class Operation(msgspec.Struct, frozen=True, tag="apply"):
    """An operator or function with its operands; see `draw.OPERATORS`."""

    operator: str
    operands: tuple["Expression", ...]


class Conditional(msgspec.Struct, frozen=True, tag="choose"):
    """`yes if test else no`: only the selected operand is evaluated."""

    test: "Expression"
    yes: "Expression"
    no: "Expression"


class ListExpression(msgspec.Struct, frozen=True, tag="items"):
    """A list, `[a, b, c]`."""

    of: tuple["Expression", ...]


Expression = Constant | DecimalConstant | Variable | Operation | Conditional | ListExpression


def subexpressions(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Operation(operands=inner) | ListExpression(of=inner):
            return inner
        case Conditional(test=test, yes=yes, no=no):
            return (test, yes, no)
        case _:
            return ()


def variable_names(expression: Expression) -> Iterator[str]:
    """All names in it, from left to right, with duplicates."""
    if isinstance(expression, Variable):
        yield expression.name
    for part in subexpressions(expression):
        yield from variable_names(part)


def map_subexpressions(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """A copy with each operand transformed."""
    match expression:
        case Operation(operator=operator, operands=operands):
            return Operation(operator, tuple(map(change, operands)))
        case ListExpression(of=inner):
            return ListExpression(tuple(map(change, inner)))
        case Conditional(test=test, yes=yes, no=no):
            return Conditional(change(test), change(yes), change(no))
        case _:
            return expression


def substitute(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    """A copy with names replaced by their values."""
    if isinstance(expression, Variable):
        return known.get(expression.name, expression)
    return map_subexpressions(expression, lambda part: substitute(part, known))


def is_constant(expression: Expression) -> bool:
    """True if it is constant: it contains no names."""
    return next(variable_names(expression), None) is None


def literal(value: object) -> Expression:
    """The expression of a Python value. Decimals keep their written digits."""
    match value:
        case Decimal():
            return DecimalConstant(value)
        case float():
            return DecimalConstant(Decimal(str(value)))
        case tuple() | list():
            return ListExpression(tuple(map(literal, value)))
        case bool() | int() | str() | None:
            return Constant(value)
        case _:
            raise TypeError(f"{value!r} is not allowed in an expression")


MAX_CHARACTERS = 2000
MAX_TOKENS = 200
MAX_DEPTH = 30
PRECEDENCE = {
    **dict.fromkeys(("or",), 1),
    **dict.fromkeys(("and",), 2),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
}
"""Precedence of the operators; `not` has 3, unary minus 7."""

NOT_PRECEDENCE, SIGN_PRECEDENCE = 3, 7
FUNCTIONS = {"min": 2, "max": 2, "len": 1}
"""Functions with their number of operands."""

LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
RESERVED_WORDS = frozenset({*LITERALS, *FUNCTIONS, "and", "or", "not", "if", "else"})
"""Keywords: not allowed as names of variables."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[a-z_][a-z0-9_]*)|(?P<text>'[^']*')"
    r"|(?P<sign>//|[=!<>]=|[-+*/%<>()\[\],]))"
)


def parse_expression(text: str) -> Expression:
    """Parse an expression. Raises UsageError for a syntax error."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"an expression has at most {MAX_CHARACTERS:,} characters")
    return _ExpressionParser(_tokenize(text.strip())).whole()


def is_variable_name(text: str) -> bool:
    return re.fullmatch(r"[a-z_][a-z0-9_]*", text) is not None and text not in RESERVED_WORDS


def _tokenize(text: str) -> list[tuple[str, str]]:
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise UsageError(f"'{text[place:].strip()[:1]}' is not valid in an expression")
        found.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    if len(found) > MAX_TOKENS:
        raise UsageError("this expression is too long", "split it into variables with `let`")
    return found


class _ExpressionParser:
    """A precedence climbing parser."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "the end")]
        self._place = 0
        self._depth = 0

    def whole(self) -> Expression:
        expression = self._expression()
        if self._next[0] != "end":
            raise self._unexpected()
        return expression

    @property
    def _next(self) -> tuple[str, str]:
        return self._tokens[self._place]

    def _unexpected(self) -> UsageError:
        kind, word = self._next
        if kind == "end":
            return UsageError("unexpected end of the expression")
        return UsageError(f"'{word}' is unexpected in the expression")

    def _take(self, word: str) -> bool:
        """Consume this token if it is next."""
        taken = self._next[0] in ("name", "sign") and self._next[1] == word
        self._place += taken
        return taken

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._unexpected()

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UsageError("the expression is nested too deeply", "split it into variables with `let`")
        value = self._binary(1)
        if self._take("if"):
            test = self._binary(1)
            self._expect("else")
            value = Conditional(test, value, self._expression())
        self._depth -= 1
        return value

    def _binary(self, loosest: int) -> Expression:
        left = self._unary()
        while (binding := PRECEDENCE.get(self._next[1], 0)) >= loosest and self._next[0] in ("name", "sign"):
            operator = self._next[1]
            self._place += 1
            left = Operation(operator, (left, self._binary(binding + 1)))
        return left

    def _unary(self) -> Expression:
        for word, operator, binding in (("not", "not", NOT_PRECEDENCE), ("-", "negative", SIGN_PRECEDENCE)):
            if self._take(word):
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise UsageError("the expression is nested too deeply")
                operand = self._binary(binding)
                self._depth -= 1
                return Operation(operator, (operand,))
        value = self._atom()
        while self._take("["):
            value = Operation("pick", (value, self._expression()))
            self._expect("]")
        return value

    def _atom(self) -> Expression:
        kind, word = self._next
        makers: dict[str, Callable[[str], Expression]] = {
            "number": _number,
            "text": lambda text: Constant(text[1:-1]),
            "name": self._named,
        }
        if kind in makers:
            self._place += 1
            return makers[kind](word)
        if self._take("("):
            value = self._expression()
            self._expect(")")
            return value
        if self._take("["):
            return ListExpression(self._operands("]"))
        raise self._unexpected()

    def _named(self, word: str) -> Expression:
        if word in LITERALS:
            return Constant(LITERALS[word])
        if word in FUNCTIONS:
            self._expect("(")
            operands = self._operands(")")
            if len(operands) != FUNCTIONS[word]:
                raise UsageError(f"{word}() takes {FUNCTIONS[word]} values, not {len(operands)}")
            return Operation(word, operands)
        if word in RESERVED_WORDS:
            self._place -= 1
            raise self._unexpected()
        return Variable(word)

    def _operands(self, closing: str) -> tuple[Expression, ...]:
        if self._take(closing):
            return ()
        found = [self._expression()]
        while self._take(","):
            found.append(self._expression())
        self._expect(closing)
        return tuple(found)


def _number(word: str) -> Expression:
    if len(word) > 40:
        raise UsageError(f"the number {word[:10]}… is too long")
    return DecimalConstant(Decimal(word)) if "." in word else Constant(int(word))


ExpressionType = Literal["number", "text", "flag", "list", "any"]

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


def type_of(expression: Expression, scope: Mapping[str, ExpressionType]) -> ExpressionType:
    """The type of an expression's value. Raises UsageError for unknown names and incompatible types."""
    match expression:
        case Constant(value=value):
            kinds: dict[type, ExpressionType] = {bool: "flag", int: "number", str: "text"}
            return kinds.get(type(value), "any")
        case DecimalConstant():
            return "number"
        case Variable(name=name):
            if name not in scope:
                raise UsageError(f"unknown variable or option '{name}'", did_you_mean(name, scope))
            return scope[name]
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
    if "flag" in found:
        raise UsageError("'+' does not take a flag")
    return _common_type(left, right)


def _common_type(left: ExpressionType, right: ExpressionType) -> ExpressionType:
    return left if left == right else "any"
