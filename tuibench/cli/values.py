"""How the text of an option becomes its value: at once, where it is plain text or a plain number.

Typer reads every value by a validator of a library that takes longer to import than all the rest of a short
command. What is not plain is still read by that, and so is what is wrong: the words for it are typer's.
"""

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from typer.core import TyperCommand

Parameter = TypeVar("Parameter")

PLAIN_NUMBERS = {int: re.compile(r"[+-]?[0-9]{1,15}"), float: re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")}
"""The texts that nobody reads in another way."""


class NotPlainError(ValueError):
    """Left to typer."""


class QuickCommand(TyperCommand):
    """A command that reads plain values by itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        return quick(super().get_params(ctx))


class Plain:
    """Reads the values of one parameter; `typers` makes the reader of all that is not plain."""

    def __init__(self, kind: Any, typers: Any) -> None:
        self._kind = kind
        self._typers = typers

    def reader(self) -> "Plain":
        """In place of typer's own."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Typer's name for it, and typer's errors."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        try:
            return read(self._kind, value)
        except NotPlainError:
            return self._typers().coerce(value, param=param, ctx=ctx)


def quick(parameters: Iterable[Parameter]) -> list[Parameter]:
    """The same parameters, reading plain values. With a typer that needs no library they stay as they are."""
    return [_quick(parameter) for parameter in parameters]


def read(kind: Any, value: Any) -> Any:
    """A default, or what was given for it. Raises NotPlainError for what typer has to look at."""
    if kind in (int, float, bool) and type(value) is kind:
        return value
    if kind is str and isinstance(value, str):
        return str.__str__(value)
    if kind == list[str] and isinstance(value, list | tuple) and all(type(one) is str for one in value):
        return list(value)
    if kind is float and type(value) is int:
        return float(value)
    form = PLAIN_NUMBERS.get(kind)
    if form is None or type(value) is not str or not form.fullmatch(value):
        raise NotPlainError
    return kind(value)


def _quick(parameter: Any) -> Any:
    typers = getattr(parameter, "get_runtime_param", None)
    if typers is not None and not isinstance(getattr(typers, "__self__", None), Plain):
        described = parameter.type_descriptor
        if not _is_limited(described.parameter_info):
            parameter.get_runtime_param = Plain(described.annotation, typers).reader
    return parameter


def _is_limited(options: Any) -> bool:
    return any(getattr(options, name, None) is not None for name in ("min", "max", "parser"))
