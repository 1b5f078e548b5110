"""Options and arguments as typer makes them, with own conversions and the default as text of the help.

typer converts each value by pydantic, whose import takes longer than the rest of a start.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from typer.core import TyperArgument, TyperOption

DEFAULT_METAVAR = "N"
"""The placeholder for the value of an option that names none."""

Converter = Callable[[str], Any]
"""Converts the text of an option or argument. Raises UsageError."""


class Parameter(NamedTuple):
    """A parameter of a signature for typer, and the function that converts its text."""

    declared: inspect.Parameter
    convert: Converter | None
    """None for a context, and for the number of times that an option is given."""
    words_each: int = 1
    """The number of words that each value takes."""


class _Converted:
    """A parameter whose values are converted by its own function."""

    convert: Converter | None

    def converted(self, value: Any, *, is_list: bool) -> Any:
        if self.convert is None or isinstance(value, bool):
            return value
        return [self.convert(each) for each in value] if is_list else self.convert(value)


class DeclaredOption(TyperOption, _Converted):
    """An option of a command."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        if is_given(ctx, self.name):
            value = self.converted(value, is_list=self.multiple)
        return value if self.callback is None else self.callback(ctx, self, value)


class DeclaredArgument(TyperArgument, _Converted):
    """An argument of a command."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        if self.required and self.value_is_missing(value):
            return super().process_value(ctx, None)  # raises the error of typer
        return self.converted(value, is_list=self.nargs != 1) if is_given(ctx, self.name) else value


def is_given(context: Any, key: str) -> bool:
    """True if the parameter was given on the command line."""
    source = context.get_parameter_source(key)
    return source is not None and source.name == "COMMANDLINE"


def adopt(params: Iterable[Any], known: Mapping[str, Parameter] | None = None) -> None:
    """Give the parameters that typer made their own conversion, and their defaults as text of the help.

    A parameter that is not in `known` keeps its text.
    """
    for each in params:
        each.__class__ = DeclaredOption if isinstance(each, TyperOption) else DeclaredArgument
        own = known[each.name] if known else None
        each.convert = own.convert if own else str
        each.metavar = each.metavar or (
            DEFAULT_METAVAR if isinstance(each, TyperOption) else each.name.upper()
        )
        if isinstance(each, TyperOption):
            each.nargs = own.words_each if own else 1
        if each.show_default and each.default is not None and each.default is not False:
            text = f"{each.default:g}" if isinstance(each.default, float) else str(each.default)
            each.help = help_with_default(each.help or "", text)
        each.show_default = False


def help_with_default(help: str, default: str) -> str:
    """The help with the default in brackets, as in sysbench: `Arguments [5].` A help that already ends with a
    bracket stays as it is.
    """
    has_own = help.endswith("].")
    return help if has_own or not default.strip() else f"{help.removesuffix('.')} [{default}]."
