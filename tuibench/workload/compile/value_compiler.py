"""Compilation of values: options and lists are substituted, constants are computed."""

from collections.abc import Mapping
from decimal import Decimal

from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload.generate import distributions
from tuibench.workload.generate.evaluate import constant_value, fold_constants
from tuibench.workload.generate.random_values import allowed_nurand_constants
from tuibench.workload.language import profile_schema as schema
from tuibench.workload.language.expressions import (
    Constant,
    Expression,
    Operation,
    Variable,
    is_constant,
    literal,
    parse_expression,
    substitute,
)
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
    Uniform,
    Unique,
    Value,
)

LinearSum = tuple[tuple[str, ...], int]
"""A sum of variables and a constant."""


class ValueCompiler:
    """Compiles values with the options of a run and the lists of its profile."""

    def __init__(
        self, values: Mapping[str, OptionValue], lists: Mapping[str, tuple[int | float | str, ...]]
    ) -> None:
        self._values = values
        self._known = {name: literal(value) for name, value in (*values.items(), *lists.items())}
        self._distribution = distributions.chosen_distribution(values)

    def flag(self, name: str) -> bool:
        return bool(self._values[name])

    def is_known(self, name: str) -> bool:
        """True if the name is an option or list, which is replaced by its value."""
        return name in self._known

    def expression(self, text: str) -> Expression:
        return fold_constants(substitute(parse_expression(text), self._known))

    def number(self, operand: schema.Operand) -> int:
        """An operand with the same value on every connection."""
        bound = self.bound(operand)
        if not isinstance(bound, int):
            raise UsageError(f"'{operand}' must be the same on every connection")
        return bound

    def bound(self, operand: schema.Operand) -> Bound:
        """An operand: a number, or an expression of the connection's number."""
        if isinstance(operand, int):
            return operand
        expression = self.expression(operand)
        if not is_constant(expression):
            return expression
        value = constant_value(expression)
        if not isinstance(value, int | Decimal) or value != int(value):
            raise UsageError(f"'{operand}' is {value}, not a whole number")
        return int(value)

    def lets(self, lets: Mapping[str, schema.LetSpec]) -> dict[str, Value]:
        """The variables of a step. Sums of keys are separate, because they are evaluated faster."""
        made: dict[str, Value] = {}
        for name, let in lets.items():
            keys = {earlier for earlier, value in made.items() if isinstance(value, Key | Sum)}
            made[name] = self._let(name, let, keys)
        return made

    def _let(self, name: str, let: schema.LetSpec, keys: set[str]) -> Value:
        if isinstance(let, bool | int | float):
            return Formula(literal(let))
        if isinstance(let, str):
            expression = self.expression(let)
            linear = _as_linear_sum(expression, keys)
            return Sum(*linear) if linear is not None and linear[0] else Formula(expression)
        if isinstance(let, schema.ListValue):
            count = literal(let.count) if isinstance(let.count, int) else self.expression(let.count)
            return ListDraw(self._draw(name, let.of), count, let.ordered)
        return self._draw(name, let)

    def _draw(self, name: str, make: schema.DrawSpec) -> Draw:
        match make:
            case schema.KeyValue():
                return Key(*self._range(name, make.low, make.high), self._distribution)
            case schema.UniformValue():
                return Key(*self._range(name, make.low, make.high), Uniform())
            case schema.NurandValue():
                return self._nurand(name, make)
            case schema.DecimalValue(places=places):
                low, high = self._numbers(name, make.low, make.high)
                return DecimalRange(low, high, places)
            case schema.DigitsValue(groups=groups):
                return Digits(groups)
            case schema.ChanceValue(percent=percent):
                return Chance(self._percent(name, percent))
            case schema.SerialValue(first=first):
                return Serial(first)
            case schema.UniqueValue():
                return Unique(int(self._values["threads"]))
            case schema.ListValue():
                raise TypeError("a list contains generators, not lists")

    def _nurand(self, name: str, make: schema.NurandValue) -> Nurand:
        low, high = self._numbers(name, make.low, make.high)
        a = self.number(make.a)
        loaded_c = None if make.loaded_c is None else self.number(make.loaded_c)
        if not 0 <= a < 2**31 or low < 0:
            raise UsageError(f"NURand of '{name}' must be between 0 and 2³¹ − 1")
        if not allowed_nurand_constants(a, loaded_c):
            raise UsageError(f"no constant of '{name}' is as far from {loaded_c} as TPC-C requires")
        return Nurand(a, low, high, loaded_c)

    def _percent(self, name: str, percent: float | str) -> float:
        value = (
            float(constant_value(self._expression_of(name, percent))) if isinstance(percent, str) else percent
        )
        if not 0 <= value <= 100:
            raise UsageError(f"the chance '{name}' is 0 to 100 percent, not {value:g}")
        return value

    def _expression_of(self, name: str, text: str) -> Expression:
        expression = self.expression(text)
        if not is_constant(expression):
            raise UsageError(f"the chance '{name}' must be the same on every connection")
        return expression

    def _numbers(self, name: str, low: schema.Operand, high: schema.Operand) -> tuple[int, int]:
        first, last = self.number(low), self.number(high)
        self._range(name, first, last)
        return first, last

    def _range(self, name: str, low: schema.Operand, high: schema.Operand) -> tuple[Bound, Bound]:
        first, last = self.bound(low), self.bound(high)
        if isinstance(first, int) and isinstance(last, int) and first > last:
            raise UsageError(f"the range of '{name}' from {first:,} to {last:,} is empty")
        return first, last


def _as_linear_sum(expression: Expression, keys: set[str]) -> LinearSum | None:
    """The expression as a sum of variables and a constant, if it is one."""
    match expression:
        case Variable(name=name) if name in keys:
            return (name,), 0
        case Constant(value=int() as value) if not isinstance(value, bool):
            return (), value
        case Operation(operator="+" | "-" as sign, operands=(left, right)):
            first, second = _as_linear_sum(left, keys), _as_linear_sum(right, keys)
            if first is None or second is None or (sign == "-" and second[0]):
                return None
            return first[0] + second[0], first[1] + (second[1] if sign == "+" else -second[1])
        case _:
            return None
