"""Whether the values in a profile mean something: their names, kinds and limits."""

import re
from collections.abc import Mapping

from tuibench.workload import kinds
from tuibench.workload.expression import Expression, of_value
from tuibench.workload.fault import Fault
from tuibench.workload.kinds import Kind
from tuibench.workload.parse import RESERVED, parse
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

_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*")
MAX_GROUPS = 1000
MAX_PLACES = 12
KINDS: dict[type, Kind] = {DigitsValue: "text", ChanceValue: "flag", ListValue: "list"}
"""What a draw gives; all others give a number."""


class ValueChecker:
    """Checks values in the scope of those that are known before them."""

    def __init__(self, fault: Fault, known: Mapping[str, Kind]) -> None:
        self._fault = fault
        self._known = known

    def kind(self, path: str, text: str, scope: Mapping[str, Kind]) -> Kind:
        """The kind of an expression's value."""
        with self._fault.at(path):
            return kinds.kind_of(parse(text), scope)

    def expect(self, path: str, text: str, scope: Mapping[str, Kind], wanted: Kind) -> None:
        found = self.kind(path, text, scope)
        if found not in (wanted, "any"):
            self._fault.fail(path, f"'{text}' is a {found}, not a {wanted}")

    def define(self, path: str, name: str, scope: dict[str, Kind], kind: Kind) -> None:
        """A variable that is set from here on."""
        if name in self._known:
            self._fault.fail(path, f"'{name}' is the name of an option or list, or given, and cannot be set")
        if not _IDENTIFIER.fullmatch(name) or name in RESERVED:
            self._fault.fail(path, f"'{name}' is no name: lower-case letters, digits and _, and no word")
        scope[name] = kind if scope.get(name, kind) == kind else "any"

    def check_lets(self, path: str, lets: Mapping[str, Let], scope: dict[str, Kind]) -> None:
        """Each may use those before it."""
        for name, let in lets.items():
            self.define(f"{path}.{name}", name, scope, self._check(f"{path}.{name}", let, scope))

    def _check(self, path: str, let: Let, scope: Mapping[str, Kind]) -> Kind:
        if isinstance(let, str):
            return self.kind(path, let, scope)
        if isinstance(let, bool | int | float):
            return kinds.kind_of(self._literal(path, let), scope)
        self._check_make(path, let, scope)
        return KINDS.get(type(let), "number")

    def _literal(self, path: str, value: float) -> Expression:
        if value != value or value in (float("inf"), float("-inf")):
            self._fault.fail(path, f"{value} is not a number to calculate with")
        return of_value(value)

    def _check_make(self, path: str, make: Make, scope: Mapping[str, Kind]) -> None:
        match make:
            case KeyValue() | UniformValue():
                self._check_operands(path, low=make.low, high=make.high)
            case NurandValue():
                self._check_operands(path, a=make.a, low=make.low, high=make.high, loaded_c=make.loaded_c)
            case DecimalValue():
                self._check_operands(path, low=make.low, high=make.high)
                if not 0 <= make.places <= MAX_PLACES:
                    self._fault.fail(f"{path}.places", f"0 to {MAX_PLACES} places")
            case DigitsValue(groups=groups):
                if not 1 <= groups <= MAX_GROUPS:
                    self._fault.fail(f"{path}.groups", f"1 to {MAX_GROUPS} groups")
            case ChanceValue(percent=percent):
                self._check_percent(f"{path}.percent", percent)
            case ListValue(of=of, count=count):
                self._check_make(f"{path}.of", of, scope)
                if isinstance(count, str):
                    self.expect(f"{path}.count", count, scope, "number")
            case SerialValue() | UniqueValue():
                pass

    def _check_operands(self, path: str, **operands: Operand | None) -> None:
        for name, operand in operands.items():
            if isinstance(operand, str):
                self.expect(f"{path}.{name}", operand, self._known, "number")

    def _check_percent(self, path: str, percent: float | str) -> None:
        if isinstance(percent, str):
            self.expect(path, percent, self._known, "number")
        elif not 0 <= percent <= 100:
            self._fault.fail(path, "0 to 100 percent")
