"""Options that several commands share, declared once as the fields of a dataclass.

A command takes such a dataclass as a parameter; `grouped` spreads its fields into options for the parser.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

Command = TypeVar("Command", bound=Callable[..., Any])


def grouped(command: Command) -> Command:
    """The command with each dataclass parameter replaced by an option for each of its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        parameters += _spread(group) if group is not None else [_keyword(parameter, hints)]

    def spread(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})  # type: ignore[operator]
        return command(**given)

    spread.__name__ = command.__name__
    spread.__doc__ = command.__doc__
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    spread.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        sorted(parameters, key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    )
    return spread  # type: ignore[return-value]


def _keyword(parameter: inspect.Parameter, hints: dict[str, Any]) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])


def _spread(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
