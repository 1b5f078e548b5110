"""Builds click commands from functions whose parameters are declared as in `declarations`."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import click

from tuibench.cli.parsing.declarations import Argument, OmitOptions, Option, help_with_default
from tuibench.cli.parsing.help import SectionedCommand


class SectionedOption(click.Option):
    """An option with its section of the help."""

    def __init__(self, *args: Any, section: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section


class _Group(NamedTuple):
    """A dataclass among a command's parameters."""

    kind: Any
    omitted: frozenset[str]

    @property
    def names(self) -> list[str]:
        return [field.name for field in fields(self.kind) if field.name not in self.omitted]

    def parameters(self) -> Iterator[click.Parameter]:
        hints = get_type_hints(self.kind, include_extras=True)
        defaults = {field.name: field.default for field in fields(self.kind)}
        section = getattr(self.kind, "SECTION", "")
        for name in self.names:
            yield _parameter(name, hints[name], defaults[name], section)


def build_command(
    function: Callable[..., None], *, name: str = "", help: str = "", context_settings: Any = None
) -> click.Command:
    """Convert the function to a click command. Each group is passed as one value."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    groups = {each.name: group for each in parameters if (group := _group_of(hints[each.name])) is not None}
    contexts = [each.name for each in parameters if hints[each.name] is click.Context]

    def call(**given: Any) -> None:
        given = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
        for key, group in groups.items():
            given[key] = group.kind(**{each: given.pop(each) for each in group.names})
        function(**given, **{key: click.get_current_context() for key in contexts})

    params: list[click.Parameter] = []
    for each in parameters:
        if each.name in groups:
            params += groups[each.name].parameters()
        elif each.name not in contexts:
            params.append(_parameter(each.name, hints[each.name], each.default))
    return SectionedCommand(
        name or function.__name__, callback=call, params=params, help=help, context_settings=context_settings
    )


def _group_of(hint: Any) -> _Group | None:
    kind, *extras = get_args(hint) or (hint,)
    if not is_dataclass(kind):
        return None
    return _Group(
        kind, frozenset(name for one in extras if isinstance(one, OmitOptions) for name in one.names)
    )


def _parameter(name: str, hint: Any, default: Any, section: str = "") -> click.Parameter:
    kind, declared = get_args(hint)[:2]
    if isinstance(declared, Argument):
        return _argument(name, _bare_type(kind), default, declared)
    return _option(name, _bare_type(kind), default, declared, section)


def _bare_type(kind: Any) -> Any:
    """`str` for `str | None`."""
    if get_origin(kind) in (Union, UnionType):
        return next(each for each in get_args(kind) if each is not NoneType)
    return kind


def _argument(name: str, kind: Any, default: Any, declared: Argument) -> click.Argument:
    is_list, required = get_origin(kind) is list, default is inspect.Parameter.empty
    return click.Argument(
        [name],
        type=get_args(kind)[0] if is_list else kind,
        nargs=-1 if is_list else 1,
        required=required,
        metavar=declared.metavar,
        help=declared.help
        if required or not declared.show_default
        else help_with_default(declared.help, default),
        **({} if required or is_list else {"default": default}),
    )


def _option(name: str, kind: Any, default: Any, declared: Option, section: str) -> click.Option:
    is_list = get_origin(kind) is list
    is_switch = kind is bool or declared.count
    taken = {"is_flag": True} if kind is bool else {"count": declared.count, "multiple": is_list}
    if not is_switch:
        taken["type"] = get_args(kind)[0] if is_list else kind
    return SectionedOption(
        [*(declared.names or [f"--{name.replace('_', '-')}"]), name],
        default=default,
        help=help_with_default(declared.help, default) if declared.show_default else declared.help,
        hidden=declared.hidden,
        metavar=declared.metavar,
        section=declared.section or section,
        **taken,
    )
