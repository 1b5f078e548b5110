"""From the values in a profile to those of a program: options and lists put in, everything fixed computed."""

from collections.abc import Mapping
from decimal import Decimal

from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload import distribution
from tuibench.workload.evaluate import fixed, folded
from tuibench.workload.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    is_fixed,
    of_value,
    replaced,
)
from tuibench.workload.nurand import constants
from tuibench.workload.parse import parse
from tuibench.workload.profile import (
    ChanceValue,
    DecimalValue,
    DigitsValue,
    KeyValue,
    Let,
    ListValue,
    Make,
    NurandValue,
    Operand,
    SerialValue,
    UniformValue,
    UniqueValue,
)
from tuibench.workload.value import (
    Bound,
    Chance,
    Digits,
    Draw,
    Formula,
    Key,
    Many,
    Money,
    Nurand,
    Serial,
    Sum,
    Uniform,
    Unique,
    Value,
)

Linear = tuple[tuple[str, ...], int]
"""Variables to add up, and a constant."""


class ValueCompiler:
    """Knows the options of a run and the lists of its profile."""

    def __init__(
        self, values: Mapping[str, OptionValue], lists: Mapping[str, tuple[int | float | str, ...]]
    ) -> None:
        self._values = values
        self._known = {name: of_value(value) for name, value in (*values.items(), *lists.items())}
        self._distribution = distribution.chosen(values)

    def flag(self, name: str) -> bool:
        return bool(self._values[name])

    def is_known(self, name: str) -> bool:
        """Whether it is an option or list, whose value stands in its place."""
        return name in self._known

    def expression(self, text: str) -> Expression:
        return folded(replaced(parse(text), self._known))

    def number(self, operand: Operand) -> int:
        """An operand that is the same on every connection."""
        bound = self.bound(operand)
        if not isinstance(bound, int):
            raise UsageError(f"'{operand}' must be the same on every connection")
        return bound

    def bound(self, operand: Operand) -> Bound:
        """An operand as a number if it is one, else as an expression of the connection's number."""
        if isinstance(operand, int):
            return operand
        expression = self.expression(operand)
        if not is_fixed(expression):
            return expression
        value = fixed(expression)
        if not isinstance(value, int | Decimal) or value != int(value):
            raise UsageError(f"'{operand}' is {value}, not a whole number")
        return int(value)

    def lets(self, lets: Mapping[str, Let]) -> dict[str, Value]:
        """The variables of a step. Sums of keys are told apart, as they can be added up faster."""
        made: dict[str, Value] = {}
        for name, let in lets.items():
            keys = {earlier for earlier, value in made.items() if isinstance(value, Key | Sum)}
            made[name] = self._let(name, let, keys)
        return made

    def _let(self, name: str, let: Let, keys: set[str]) -> Value:
        if isinstance(let, bool | int | float):
            return Formula(of_value(let))
        if isinstance(let, str):
            expression = self.expression(let)
            linear = _linear(expression, keys)
            return Sum(*linear) if linear is not None and linear[0] else Formula(expression)
        if isinstance(let, ListValue):
            count = of_value(let.count) if isinstance(let.count, int) else self.expression(let.count)
            return Many(self._draw(name, let.of), count, let.ordered)
        return self._draw(name, let)

    def _draw(self, name: str, make: Make) -> Draw:
        match make:
            case KeyValue():
                return Key(*self._range(name, make.low, make.high), self._distribution)
            case UniformValue():
                return Key(*self._range(name, make.low, make.high), Uniform())
            case NurandValue():
                return self._nurand(name, make)
            case DecimalValue(places=places):
                low, high = self._numbers(name, make.low, make.high)
                return Money(low, high, places)
            case DigitsValue(groups=groups):
                return Digits(groups)
            case ChanceValue(percent=percent):
                return Chance(self._percent(name, percent))
            case SerialValue(first=first):
                return Serial(first)
            case UniqueValue():
                return Unique(int(self._values["threads"]))
            case ListValue():
                raise TypeError("a list holds draws, not lists")

    def _nurand(self, name: str, make: NurandValue) -> Nurand:
        low, high = self._numbers(name, make.low, make.high)
        a = self.number(make.a)
        loaded_c = None if make.loaded_c is None else self.number(make.loaded_c)
        if not 0 <= a < 2**31 or low < 0:
            raise UsageError(f"NURand of '{name}' takes no numbers below 0, nor more than 31 bits")
        if not constants(a, loaded_c):
            raise UsageError(f"no constant of '{name}' is as far from {loaded_c} as TPC-C demands")
        return Nurand(a, low, high, loaded_c)

    def _percent(self, name: str, percent: float | str) -> float:
        value = float(fixed(self._expression_of(name, percent))) if isinstance(percent, str) else percent
        if not 0 <= value <= 100:
            raise UsageError(f"the chance '{name}' is 0 to 100 percent, not {value:g}")
        return value

    def _expression_of(self, name: str, text: str) -> Expression:
        expression = self.expression(text)
        if not is_fixed(expression):
            raise UsageError(f"the chance '{name}' must be the same on every connection")
        return expression

    def _numbers(self, name: str, low: Operand, high: Operand) -> tuple[int, int]:
        first, last = self.number(low), self.number(high)
        self._range(name, first, last)
        return first, last

    def _range(self, name: str, low: Operand, high: Operand) -> tuple[Bound, Bound]:
        first, last = self.bound(low), self.bound(high)
        if isinstance(first, int) and isinstance(last, int) and first > last:
            raise UsageError(f"the values of '{name}' go from {first:,} to {last:,}: nothing lies between")
        return first, last


def _linear(expression: Expression, keys: set[str]) -> Linear | None:
    """The expression as a sum of keys and a constant, if it is one."""
    match expression:
        case Variable(name=name) if name in keys:
            return (name,), 0
        case Constant(value=int() as value) if not isinstance(value, bool):
            return (), value
        case Apply(operator="+" | "-" as sign, operands=(left, right)):
            first, second = _linear(left, keys), _linear(right, keys)
            if first is None or second is None or (sign == "-" and second[0]):
                return None
            return first[0] + second[0], first[1] + (second[1] if sign == "+" else -second[1])
        case _:
            return None
