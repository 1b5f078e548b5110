"""Options that several commands share, declared once as the fields of a dataclass.

A command takes such a dataclass as a parameter; `grouped` spreads its fields into options for the parser.
`Annotated[Options, Without("threads")]` leaves some out: they keep their defaults. The
dataclass's `SECTION` is where its options stand in the help, unless one names another.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

Command = TypeVar("Command", bound=Callable[..., Any])


class Without:
    """The fields of a group that a command does not have as options."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


class _Group(NamedTuple):
    kind: Any
    without: frozenset[str]

    @property
    def fields(self) -> list[Any]:
        return [field for field in fields(self.kind) if field.name not in self.without]


def grouped(command: Command) -> Command:
    """The command with each dataclass parameter replaced by an option for each of its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: group for name, hint in hints.items() if (group := _group(hint)) is not None}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        parameters += _spread(group) if group is not None else [_keyword(parameter, hints)]

    def spread(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group.kind(**{field.name: given.pop(field.name) for field in group.fields})
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


def _group(hint: Any) -> _Group | None:
    """The dataclass that a parameter stands for, if it stands for one."""
    kind, *extras = get_args(hint) or (hint,)
    if not is_dataclass(kind):
        return None
    return _Group(kind, frozenset(name for one in extras if isinstance(one, Without) for name in one.names))


def _spread(group: _Group) -> list[inspect.Parameter]:
    hints = get_type_hints(group.kind, include_extras=True)
    for option in (extra for hint in hints.values() for extra in get_args(hint)[1:]):
        option.rich_help_panel = option.rich_help_panel or getattr(group.kind, "SECTION", None)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in group.fields
    ]
