"""Compilation of generators and bindings to functions, once per connection.

Random numbers are used in the order of the draws: a change of the order, or of the count of numbers per draw,
changes every run of a seed.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import count
from operator import itemgetter
from random import Random
from typing import Any, assert_never

from tuibench.workload.generate.distributions import key_draw
from tuibench.workload.generate.evaluate import (
    Evaluate,
    VariableRow,
    compile_expression,
    constant_value,
    fold_constants,
    repetitions,
)
from tuibench.workload.generate.random_values import (
    GROUP_DIGITS,
    digit_groups_draw,
    nurand_constant,
    nurand_draw,
    unique_draw,
)
from tuibench.workload.language.expressions import Constant, Expression, Variable, substitute
from tuibench.workload.program.limits import (
    MAX_BOUND_CHARACTERS,
    MAX_CHARACTERS,
    TOO_MANY_ITEMS,
    TOO_MUCH_BOUND,
    LimitError,
)
from tuibench.workload.program.program import CONNECTION, Bind, RepeatedPart, Statement
from tuibench.workload.program.values import (
    Bound,
    Chance,
    DecimalRange,
    Digits,
    Draw,
    Formula,
    Key,
    ListDraw,
    Nurand,
    Serial,
    Sum,
    Unique,
    Value,
)


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

    def function(self, expression: Expression, places: Mapping[str, int]) -> Evaluate:
        return compile_expression(self.resolve(expression), places)

    def bound(self, bound: Bound) -> int:
        return bound if isinstance(bound, int) else int(constant_value(self.resolve(bound)))

    def draw(self, value: Draw) -> Callable[[], Any]:
        """The function that generates the value."""
        numbers = self.numbers
        match value:
            case Key(low=low, high=high, distribution=distribution):
                first = self.bound(low)
                return key_draw(distribution, first, max(first, self.bound(high)), numbers)
            case Digits(groups=groups):
                return digit_groups_draw(groups, numbers)
            case Nurand():
                return nurand_draw(value, nurand_constant(self._seed, value), numbers)
            case DecimalRange():
                return _decimal_draw(value, numbers)
            case Chance(percent=percent):
                return _chance_draw(percent / 100, numbers)
            case Serial(first=first):
                return count(first).__next__
            case Unique(connections=connections):
                return unique_draw(self._seed, self._connection, connections)
            case _:
                assert_never(value)


def sum_evaluator(value: Sum, places: Mapping[str, int]) -> Evaluate:
    """A sum over a row; without a loop for the most frequent case, one variable and a constant."""
    constant, terms = value.constant, [places[name] for name in value.variables]
    if len(terms) == 1:
        place = terms[0]
        return lambda row: row[place] + constant
    return lambda row: sum((row[term] for term in terms), constant)


def _decimal_draw(value: DecimalRange, numbers: Random) -> Callable[[], Decimal]:
    random, unit = numbers.random, 10**value.places
    low, amounts = value.low * unit, (value.high - value.low) * unit + 1
    return lambda: Decimal(low + int(random() * amounts)).scaleb(-value.places)


def _chance_draw(share: float, numbers: Random) -> Callable[[], bool]:
    random = numbers.random
    return lambda: random() < share


BoundValues = tuple[Any, ...]
BindRow = Callable[[VariableRow], BoundValues]


def statement_binder(statement: Statement, places: Mapping[str, int], source: DrawSource) -> BindRow:
    """The function that returns a statement's values."""
    if statement.part is None:
        bind = _bind_variables(statement.bind, places, source)
        return _limited(bind) if len(statement.bind) > FEW_VALUES else bind
    return _bind_around_part(statement.bind, statement.part, places, source)


FEW_VALUES = MAX_BOUND_CHARACTERS // MAX_CHARACTERS
"""So many texts are always within the limit."""


def _limited(bind: BindRow) -> BindRow:
    def values(row: VariableRow) -> BoundValues:
        bound = bind(row)
        if characters(bound) > MAX_BOUND_CHARACTERS:
            raise LimitError(TOO_MUCH_BOUND)
        return bound

    return values


def characters(values: Iterable[Any]) -> int:
    """The length of the texts among values."""
    return sum([len(value) for value in values if type(value) is str or type(value) is bytes])


def drawn_characters(value: Value) -> int:
    """The most characters of a variable's value."""
    match value:
        case Digits(groups=groups):
            return groups * (GROUP_DIGITS + 1)
        case Formula():
            return MAX_CHARACTERS
        case _:
            return 0


def variable_setter(value: Value, places: Mapping[str, int], source: DrawSource) -> Evaluate:
    """The function that returns a variable's value."""
    match value:
        case Sum():
            return sum_evaluator(value, places)
        case Formula(expression=expression):
            return source.function(expression, places)
        case ListDraw(of=of, count=count, ordered=ordered):
            draw, times = source.draw(of), source.function(count, places)
            return _list_draw(draw, times, ordered)
        case _:
            draw = source.draw(value)
            return lambda row: draw()


def _list_draw(draw: Callable[[], Any], times: Evaluate, ordered: bool) -> Evaluate:
    def many(row: VariableRow) -> list[Any]:
        drawn = [draw() for _ in range(repetitions(times(row), TOO_MANY_ITEMS))]
        return sorted(drawn) if ordered else drawn

    return many


def _bind_variables(bind: Bind, places: Mapping[str, int], source: DrawSource) -> BindRow:
    bound = [places[name] for name in bind if isinstance(name, str) and name in places]
    if len(bound) < len(bind):
        return _bind_expressions(bind, places, source)
    if not bound:
        return lambda row: ()
    if len(bound) == 1:
        place = bound[0]
        return lambda row: (row[place],)
    return itemgetter(*bound)


def _bind_expressions(bind: Bind, places: Mapping[str, int], source: DrawSource) -> BindRow:
    expressions = [Variable(one) if isinstance(one, str) else one for one in bind]
    functions = [source.function(expression, places) for expression in expressions]
    return lambda row: tuple([function(row) for function in functions])


def _bind_around_part(
    bind: Bind, part: RepeatedPart, places: Mapping[str, int], source: DrawSource
) -> BindRow:
    """The values before the part, those of each of its repetitions, and those after it."""
    before = _bind_variables(bind[: part.before], places, source)
    after = _bind_variables(bind[part.before :], places, source)
    repetition = _bind_repetition(part, places, source)
    repeat = range(part.repeat)

    def values(row: VariableRow) -> BoundValues:
        inner: list[Any] = []
        for _ in repeat:
            inner += repetition(row)
        return (*before(row), *inner, *after(row))

    def limited(row: VariableRow) -> BoundValues:
        bound = [*before(row)]
        left = MAX_BOUND_CHARACTERS - characters(bound)
        for number in range(part.repeat + 1):
            more = repetition(row) if number < part.repeat else after(row)
            left -= characters(more)
            if left < 0:
                raise LimitError(TOO_MUCH_BOUND)
            bound += more
        return tuple(bound)

    return limited if _may_exceed(bind, part) else values


def _may_exceed(bind: Bind, part: RepeatedPart) -> bool:
    """Whether the texts of a statement may be more than it may have."""
    drawn = {name: drawn_characters(value) for name, value in part.let.items()}
    each = sum(
        drawn.get(one, MAX_CHARACTERS) if isinstance(one, str) else MAX_CHARACTERS for one in part.bind
    )
    return len(bind) * MAX_CHARACTERS + part.repeat * each > MAX_BOUND_CHARACTERS


def _bind_repetition(part: RepeatedPart, places: Mapping[str, int], source: DrawSource) -> BindRow:
    """One repetition: the part's variables are appended to those of the row."""
    first = max(places.values(), default=-1) + 1
    extended = {**places, **{name: first + number for number, name in enumerate(part.let)}}
    setters = [variable_setter(value, extended, source) for value in part.let.values()]
    bind = _bind_variables(part.bind, extended, source)

    def values(row: VariableRow) -> BoundValues:
        full = row.copy()
        for one in setters:
            full.append(one(full))
        return bind(full)

    return values
