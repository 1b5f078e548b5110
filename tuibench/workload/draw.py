"""Values of a connection's statements: expressions and generators, compiled to functions.

An expression becomes a function of a list of values. `+` concatenates texts and lists; `/` is exact division,
`//` and `%` are integer division and remainder; list indexes start at 0.

Random numbers are taken in the order of the draws, which must not change: every run of a seed depends on it.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from random import Random
from typing import Any, assert_never

from tuibench.base.errors import UsageError
from tuibench.workload.expressions import (
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
    substitute,
)
from tuibench.workload.limits import (
    INTEGER_LIMIT,
    MAX_BOUND_CHARACTERS,
    MAX_CHARACTERS,
    MAX_DECIMAL_DIGITS,
    MAX_DISTINCT_ITEMS,
    MAX_ITEMS,
    MAX_TRIES,
    TOO_DEEP,
    TOO_FEW_DISTINCT,
    TOO_LARGE_DECIMAL,
    TOO_LONG,
    TOO_MANY_BYTES,
    TOO_MANY_DIGITS,
    TOO_MANY_DISTINCT,
    TOO_MANY_ITEMS,
    TOO_MUCH_BOUND,
    LimitError,
)
from tuibench.workload.program import CONNECTION, Bind, RepeatedPart, Statement
from tuibench.workload.values import PRECISION, Bound, Draw, Formula, List, Sum, Value, with_operands

TOO_LONG_QUOTIENT = f"a quotient has more than {PRECISION} digits"

VariableRow = list[Any]
"""The values of variables by index."""

Evaluate = Callable[[VariableRow], Any]

EVALUATION_ERRORS = (TypeError, ArithmeticError, LookupError, ValueError)
"""Exceptions for incompatible values: wrong types, division by zero, index out of range."""


NUMBERS = frozenset({bool, int, Decimal})
"""The types of numbers in calculations. A float is a number that no DECIMAL can hold; it can only be passed
on.
"""

ORDERED = frozenset({str, bytes, float, date, datetime, timedelta})
"""Other types that have an order, each among its own values."""


def kind_of(value: Any) -> str:
    """The type of a value, for messages."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def checked_decimal(number: Decimal) -> Decimal:
    """The number, unless it has too many digits before or after the point. Raises LimitError."""
    if number.adjusted() >= MAX_DECIMAL_DIGITS or int(number.as_tuple().exponent) < -MAX_DECIMAL_DIGITS:
        raise LimitError(TOO_LARGE_DECIMAL)
    return number


def whole_number(value: Any) -> int:
    """The integer part of a number. Raises TypeError for any other type."""
    if type(value) not in NUMBERS:
        raise TypeError(f"a {kind_of(value)} is no number")
    return _checked_integer(int(value))


def repetitions(value: Any, too_many: str) -> int:
    """A number of repetitions or items. Raises LimitError with the text `too_many` above `MAX_ITEMS`, and
    TypeError if it is not a number.
    """
    if type(value) not in NUMBERS:
        raise TypeError(f"a {kind_of(value)} is no number")
    if value > MAX_ITEMS:
        raise LimitError(too_many)
    return int(value)


def loop_items(value: Any) -> Sequence[Any]:
    """The items of a loop: those of a list, or the characters of a text. Raises TypeError for any
    other type.
    """
    if type(value) not in (list, str):
        raise TypeError(f"'{kind_of(value)}' object is not iterable")
    if len(value) > MAX_ITEMS:
        raise LimitError(TOO_MANY_ITEMS)
    items: Sequence[Any] = value
    return items


def _checked_integer(number: int) -> int:
    if not -INTEGER_LIMIT < number < INTEGER_LIMIT:
        raise LimitError(TOO_MANY_DIGITS)
    return number


def _calculation(sign: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator of two numbers."""

    def calculate(left: Any, right: Any) -> Any:
        if type(left) not in NUMBERS or type(right) not in NUMBERS:
            raise TypeError(
                f"unsupported operand type(s) for {sign}: '{kind_of(left)}' and '{kind_of(right)}'"
            )
        try:
            made = function(left, right)
        except ArithmeticError:
            raise ValueError("division by zero" if not right else TOO_LONG_QUOTIENT) from None
        if type(made) is not Decimal:
            return _checked_integer(made)
        # A calculated number has few digits, so its exponent tells whether it must be checked.
        is_short = PRECISION - MAX_DECIMAL_DIGITS <= made.adjusted() < MAX_DECIMAL_DIGITS
        return made if is_short else checked_decimal(made)

    return calculate


_sum = _calculation("+", operator.add)


def add(left: Any, right: Any) -> Any:
    """The sum of numbers; texts, bytes and lists are joined."""
    kind = type(left)
    if kind in NUMBERS or kind is not type(right) or kind not in (str, bytes, list):
        return _sum(left, right)
    if len(left) + len(right) > (MAX_ITEMS if kind is list else MAX_CHARACTERS):
        raise LimitError({str: TOO_LONG, bytes: TOO_MANY_BYTES, list: TOO_MANY_ITEMS}[kind])
    return left + right


def _equal(left: Any, right: Any) -> bool:
    kind, other = type(left), type(right)
    if kind in NUMBERS and other in NUMBERS:
        return bool(left == right)
    if kind is list and other is list:
        return len(left) == len(right) and all(map(_equal, left, right))
    return kind is other and bool(left == right)


def _comparison(sign: str, function: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """An operator of two values with an order. Lists are compared by the first items that differ."""

    def compare(left: Any, right: Any) -> bool:
        kind, other = type(left), type(right)
        if (kind in NUMBERS and other in NUMBERS) or (kind is other and kind in ORDERED):
            return function(left, right)
        if kind is list and other is list:
            for one, another in zip(left, right, strict=False):
                if not _equal(one, another):
                    return compare(one, another)
            return function(len(left), len(right))
        raise TypeError(
            f"'{sign}' not supported between instances of '{kind_of(left)}' and '{kind_of(right)}'"
        )

    return compare


_less, _greater = _comparison("<", operator.lt), _comparison(">", operator.gt)


def _negative(value: Any) -> Any:
    if type(value) not in NUMBERS:
        raise TypeError(f"bad operand type for unary -: '{kind_of(value)}'")
    return checked_decimal(-value) if type(value) is Decimal else -value


def _length(value: Any) -> int:
    if type(value) not in (list, str, bytes):
        raise TypeError(f"object of type '{kind_of(value)}' has no len()")
    return len(value)


def _item(items: Any, place: Any) -> Any:
    if type(place) not in NUMBERS:
        raise TypeError(f"a {kind_of(place)} is no number")
    if type(items) not in (list, str, bytes):
        raise TypeError(f"'{kind_of(items)}' object is not subscriptable")
    if not 0 <= place < len(items):
        raise IndexError("list index out of range")
    return items[int(place)]


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": add,
    "-": _calculation("-", operator.sub),
    "*": _calculation("*", operator.mul),
    "/": _calculation("/", lambda left, right: Decimal(left) / Decimal(right)),
    "//": _calculation("//", operator.floordiv),
    "%": _calculation("%", operator.mod),
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _less,
    "<=": _comparison("<=", operator.le),
    ">": _greater,
    ">=": _comparison(">=", operator.ge),
    "not": operator.not_,
    "negative": _negative,
    "pick": _item,
    "min": lambda left, right: right if _less(right, left) else left,
    "max": lambda left, right: right if _greater(right, left) else left,
    "len": _length,
}


def compile_expression(expression: Expression, places: Mapping[str, int]) -> Evaluate:
    """The function that evaluates an expression; `places` are the indexes of its variables in the row."""
    match expression:
        case Constant(value=value) | DecimalConstant(value=value):
            return lambda row: value
        case Variable(name=name):
            return operator.itemgetter(places[name])
        case Conditional(test=test, yes=yes, no=no):
            decides, then, otherwise = (compile_expression(part, places) for part in (test, yes, no))
            return lambda row: then(row) if decides(row) else otherwise(row)
        case ListExpression(of=inner):
            items = [compile_expression(part, places) for part in inner]
            if is_constant(expression):
                made = [evaluate([]) for evaluate in items]
                return lambda row: made
            return lambda row: [_checked_item(evaluate(row)) for evaluate in items]
        case Operation(operator=name, operands=operands):
            return _operation(name, [compile_expression(operand, places) for operand in operands])
        case _:
            assert_never(expression)


def constant_value(expression: Expression) -> Any:
    """The value of a constant expression. Raises UsageError if it cannot be computed."""
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
        # Fold `a and false`, `true and a` and the like.
        if inner.operator not in ("and", "or"):
            return inner
        settling = inner.operator == "or"
        open_ones = []
        for operand in inner.operands:
            if not is_constant(operand):
                open_ones.append(operand)
            elif bool(constant_value(operand)) is settling:
                return Constant(settling)
        return open_ones[0] if len(open_ones) == 1 else inner
    return inner


def _checked_item(item: Any) -> Any:
    """An item of a list. Raises LimitError if it is a list of lists: deeply nested lists cannot
    be compared.
    """
    if type(item) is list and any(type(inner) is list for inner in item):
        raise LimitError(TOO_DEEP)
    return item


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


def stream(seed: int, connection: int) -> Random:
    """The random numbers of one connection.

    Seeded with the text `tuibench:SEED:CONNECTION`, which Python hashes with SHA-512: the same on
    every machine and version, and independent for adjacent seeds and connections.
    """
    return Random(f"tuibench:{seed}:{connection}")


class DrawSource:
    """The random stream of one connection, its number, and the run's seed."""

    def __init__(self, seed: int, connection: int) -> None:
        self.numbers = stream(seed, connection)
        self._seed = seed
        self._connection = connection
        self._given: dict[str, Expression] = {CONNECTION: Constant(connection)}

    def resolve(self, expression: Expression) -> Expression:
        """Substitute this connection's number in the expression."""
        return fold_constants(substitute(expression, self._given))

    def function(self, bound: Bound, places: Mapping[str, int]) -> Evaluate:
        expression = Constant(bound) if isinstance(bound, int) else self.resolve(bound)
        return compile_expression(expression, places)

    def bound(self, bound: Bound) -> int:
        return bound if isinstance(bound, int) else int(constant_value(self.resolve(bound)))

    def draw(self, value: Draw[Bound]) -> Callable[[], Any]:
        """The function that generates the value."""
        own = with_operands(
            value, lambda kind, operand: operand if kind == "percent" else self.bound(operand)
        )
        return own.function(self.numbers, self._seed, self._connection)


BoundValues = tuple[Any, ...]
BindRow = Callable[[VariableRow], BoundValues]


def statement_binder(statement: Statement, places: Mapping[str, int], source: DrawSource) -> BindRow:
    """The function that returns a statement's values."""
    if statement.part is None:
        bind = _bind_variables(statement.bind, places, source)
        return _limited(bind) if len(statement.bind) > FEW_VALUES else bind
    return _bind_around_part(statement.bind, statement.part, places, source)


FEW_VALUES = MAX_BOUND_CHARACTERS // MAX_CHARACTERS
"""This many texts of any length are within the limit."""


def _limited(bind: BindRow) -> BindRow:
    def values(row: VariableRow) -> BoundValues:
        bound = bind(row)
        if characters(bound) > MAX_BOUND_CHARACTERS:
            raise LimitError(TOO_MUCH_BOUND)
        return bound

    return values


def characters(values: Iterable[Any]) -> int:
    """The total length of the texts among the values."""
    return sum([len(value) for value in values if type(value) is str or type(value) is bytes])


def drawn_characters(value: Value) -> int:
    """The maximum length of a variable's value."""
    match value:
        case Formula():
            return MAX_CHARACTERS
        case Sum():
            return 0
        case _:
            return value.most_characters


def variable_setter(value: Value, places: Mapping[str, int], source: DrawSource) -> Evaluate:
    """The function that returns a variable's value."""
    match value:
        case Sum():
            # The most frequent case, one variable and a constant, has no loop.
            constant, terms = value.constant, [places[name] for name in value.variables]
            if len(terms) == 1:
                place = terms[0]
                return lambda row: row[place] + constant
            return lambda row: sum((row[term] for term in terms), constant)
        case Formula(expression=expression):
            return source.function(expression, places)
        case List(of=of, count=count):
            return _list_draw(value, source.draw(of), source.function(count, places))
        case _:
            draw = source.draw(value)
            return lambda row: draw()


def _list_draw(value: List[Bound], draw: Callable[[], Any], times: Evaluate) -> Evaluate:
    items = _distinct_items if value.distinct else _items

    def many(row: VariableRow) -> list[Any]:
        drawn = items(draw, repetitions(times(row), TOO_MANY_ITEMS))
        return sorted(drawn) if value.ordered else drawn

    return many


def _items(draw: Callable[[], Any], count: int) -> list[Any]:
    return [draw() for _ in range(count)]


def _distinct_items(draw: Callable[[], Any], count: int) -> list[Any]:
    """`count` different values, in the order in which they were first drawn."""
    if count > MAX_DISTINCT_ITEMS:
        raise LimitError(TOO_MANY_DISTINCT)
    found: dict[Any, None] = {}
    for _ in range(count * MAX_TRIES):
        if len(found) == count:
            break
        found[draw()] = None
    if len(found) < count:
        raise LimitError(TOO_FEW_DISTINCT)
    return list(found)


def _bind_variables(bind: Bind, places: Mapping[str, int], source: DrawSource) -> BindRow:
    bound = [places[name] for name in bind if isinstance(name, str) and name in places]
    if len(bound) < len(bind):
        expressions = [Variable(one) if isinstance(one, str) else one for one in bind]
        functions = [source.function(expression, places) for expression in expressions]
        return lambda row: tuple([function(row) for function in functions])
    if not bound:
        return lambda row: ()
    if len(bound) == 1:
        place = bound[0]
        return lambda row: (row[place],)
    return itemgetter(*bound)


def _bind_around_part(
    bind: Bind, part: RepeatedPart, places: Mapping[str, int], source: DrawSource
) -> BindRow:
    """The values before the part, those of each of its repetitions, and those after it."""
    before = _bind_variables(bind[: part.before], places, source)
    after = _bind_variables(bind[part.before :], places, source)
    repetition = _bind_repetition(part, places, source)
    repeat = range(1, part.repeat + 1)

    def values(row: VariableRow) -> BoundValues:
        bound = [*before(row)]
        for number in repeat:
            bound += repetition(row, number)
        return (*bound, *after(row))

    def limited(row: VariableRow) -> BoundValues:
        bound = [*before(row)]
        left = MAX_BOUND_CHARACTERS - characters(bound)
        for number in (*repeat, None):
            more = after(row) if number is None else repetition(row, number)
            left -= characters(more)
            if left < 0:
                raise LimitError(TOO_MUCH_BOUND)
            bound += more
        return tuple(bound)

    # The limit is checked at run time only if the longest possible texts could exceed it.
    drawn = {name: drawn_characters(value) for name, value in part.let.items()}
    each = sum(
        drawn.get(one, MAX_CHARACTERS) if isinstance(one, str) else MAX_CHARACTERS for one in part.bind
    )
    return limited if len(bind) * MAX_CHARACTERS + part.repeat * each > MAX_BOUND_CHARACTERS else values


def _bind_repetition(
    part: RepeatedPart, places: Mapping[str, int], source: DrawSource
) -> Callable[[VariableRow, int], BoundValues]:
    """The values of one repetition. The row is extended by the repetition's number and the
    part's variables.
    """
    first = max(places.values(), default=-1) + 1
    extended = {**places, **{name: first + number for number, name in enumerate((part.index, *part.let))}}
    setters = [variable_setter(value, extended, source) for value in part.let.values()]
    bind = _bind_variables(part.bind, extended, source)

    def values(row: VariableRow, number: int) -> BoundValues:
        full = [*row, number]
        for one in setters:
            full.append(one(full))
        return bind(full)

    return values
