"""What tuibench's commands have that typer does not: groups of options and the options of a plan.

    def run(context: typer.Context, server: ServerOptions, options: Annotated[PlanValues, Takes("run")],
            profile: Annotated[str, typer.Argument(help="…")] = "")

typer makes the command of a function. A parameter may also be a group of options: a struct whose fields
are declared with `typer.Option`, shared by several commands, or the options of the plan that a command takes.
typer gets a signature in which each group is replaced by its options. `OmitOptions` in the annotation of a
group names fields that the command does not offer, which keep their defaults. The `SECTION` of a group is
its section in the help, unless an option names another.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

import msgspec
import typer
from typer.core import TyperCommand
from typer.main import get_command
from typer.models import ArgumentInfo, OptionInfo

from tuibench.base.errors import UsageError
from tuibench.cli import candidates
from tuibench.cli.help_layout import SectionedCommand, unbroken
from tuibench.cli.parameters import DEFAULT_METAVAR, Converter, Parameter, adopt, help_with_default, is_given
from tuibench.cli.usage_errors import usage_error
from tuibench.model.option import (
    SECONDS,
    At,
    BoundOption,
    NotANumberError,
    bare_type,
    parse_duration,
    parse_number,
    parse_words,
)
from tuibench.model.plan import PLAN_COMMANDS, PlanCommand


class OmitOptions:
    """Fields of a group that a command does not offer as options."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


class Takes:
    """Names the entry of `PLAN_COMMANDS` whose options a command takes."""

    def __init__(self, command: str) -> None:
        self.command = PLAN_COMMANDS[command]


class AxisValue(NamedTuple):
    """One of the values of an option that is an axis of a sweep."""

    word: str
    """The value as typed."""
    value: Any
    """The parsed value."""


class PlanValues(dict[str, Any]):
    """Values of a command's plan options by key: those on the command line, otherwise the command's defaults.

    The value of an axis is a tuple of `AxisValue`. `given` are the keys on the command line.
    """

    def __init__(self, command: PlanCommand, given: Mapping[str, Any]) -> None:
        super().__init__({key: command.default(key) for key in command.options} | dict(given))
        self.command = command
        self.given = frozenset(given)

    def replaced(self, **changes: Any) -> "PlanValues":
        """The same values with these changes, which do not count as given."""
        changed = PlanValues(self.command, {key: self[key] for key in self.given})
        changed.update(self | changes)
        return changed

    def of_part(self, part: str) -> dict[str, Any]:
        """Values of the options of a part of the plan by field; the first one if a field has several
        options.
        """
        own = ((key, bound.field) for key, (each, bound) in self.command.options.items() if each == part)
        found: dict[str, Any] = {}
        for key, field in own:
            found.setdefault(field, self[key])
        return found

    def axis(self, key: str) -> tuple[AxisValue, ...]:
        """The values of an axis; its default if it was not given."""
        if key in self.given and self[key]:
            return tuple(self[key])
        default = self.command.default(key)
        return (AxisValue(self.command.options[key][1].format(default), default),)


def build_command(
    function: Callable[..., None], *, name: str = "", help: str = "", context_settings: Any = None
) -> TyperCommand:
    """Make the command of the function, which gets each group as one argument."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, _Group | _PlanGroup] = {}
    parameters: list[Parameter] = []
    for each in inspect.signature(function).parameters.values():
        hint = hints[each.name]
        if (group := _group_of(hint)) is not None:
            groups[each.name] = group
            parameters += group.parameters()
        elif hint is not typer.Context:
            parameters.append(_parameter(each.name, hint, each.default))
    contexts = [name for name, hint in hints.items() if hint is typer.Context]

    def call(context: typer.Context, **given: Any) -> None:
        grouped = {key: group.value(context, given) for key, group in groups.items()}
        function(**given, **grouped, **dict.fromkeys(contexts, context))

    return _typer_command(
        name or function.__name__, call, parameters, help=unbroken(help), context_settings=context_settings
    )


def parse_plan_words(command: str, words: Sequence[str]) -> tuple[PlanValues, list[str]]:
    """Parse a command's plan options without running the command; returns them, and the other words."""
    known = PLAN_COMMANDS[command]
    parser = _typer_command(
        command,
        lambda context, **given: None,
        plan_parameters(known),
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        add_help_option=False,
    )
    try:
        context = parser.make_context(command, list(words))
    except typer.TyperException as error:
        raise usage_error(error, command) from error
    return _plan_values(known, context), context.args


def unchecked_options(choices: Mapping[str, Sequence[str]]) -> list[Any]:
    """Options of these names that take any text, for completion; each with its choices."""
    parameters = (
        Parameter(
            _keyword(
                name.strip("-").replace("-", "_"),
                str | None,
                typer.Option(name, autocompletion=candidates.words(*words)),
                None,
            ),
            str,
        )
        for name, words in choices.items()
    )
    return _typer_command("", lambda context, **given: None, parameters).params


def _typer_command(
    name: str, call: Callable[..., None], parameters: Iterable[Parameter], **settings: Any
) -> TyperCommand:
    known = {each.declared.name: each for each in parameters}
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    def callback(**given: Any) -> None:
        call(**given)

    callback.__signature__ = inspect.Signature([context, *(each.declared for each in known.values())])  # type: ignore[attr-defined]
    callback.__annotations__ = {}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=SectionedCommand, **settings)(callback)
    command = cast("TyperCommand", get_command(app))
    adopt(command.params, known)
    return command


class _Group(NamedTuple):
    """A struct among a command's parameters."""

    kind: Any
    omitted: frozenset[str]

    def parameters(self) -> Iterator[Parameter]:
        section = getattr(self.kind, "SECTION", None)
        for field in self._own_fields():
            yield _parameter(field.name, field.type, field.default, section=section)

    def value(self, context: typer.Context, given: dict[str, Any]) -> Any:
        return self.kind(**{field.name: given.pop(field.name) for field in self._own_fields()})

    def _own_fields(self) -> Iterator[msgspec.structs.FieldInfo]:
        for field in msgspec.structs.fields(self.kind):
            if field.name not in self.omitted and get_origin(field.type) is Annotated:
                yield field


class _PlanGroup(NamedTuple):
    """The options of a plan among a command's parameters."""

    command: PlanCommand

    def parameters(self) -> Iterator[Parameter]:
        return plan_parameters(self.command)

    def value(self, context: typer.Context, given: dict[str, Any]) -> PlanValues:
        for key in self.command.options:
            del given[key]
        return _plan_values(self.command, context)


def _plan_values(command: PlanCommand, context: Any) -> PlanValues:
    given = {key: context.params[key] for key in command.options if is_given(context, key)}
    return PlanValues(
        command, {key: tuple(value) if type(value) is list else value for key, value in given.items()}
    )


def _group_of(hint: Any) -> _Group | _PlanGroup | None:
    kind, *extras = get_args(hint) or (hint,)
    if kind is PlanValues:
        return _PlanGroup(next(one.command for one in extras if isinstance(one, Takes)))
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return None
    return _Group(
        kind, frozenset(name for one in extras if isinstance(one, OmitOptions) for name in one.names)
    )


def plan_parameters(command: PlanCommand) -> Iterator[Parameter]:
    """The options of a plan that a command takes."""
    for key, (_, bound) in command.options.items():
        option, default = bound.option, command.default(key)
        is_axis = command.is_axis(key)
        help = command.helps.get(key, option.help)
        is_shown = option.show_default and not bound.is_repeatable and not bound.is_switch
        if is_shown and (default is not None or bound.is_number):
            help = help_with_default(help, bound.format(default))
        info = typer.Option(
            *(option.names or [bound.name]),
            help=help,
            metavar=f"{bound.metavar or DEFAULT_METAVAR}{',…' * is_axis}",
            hidden=option.hidden,
            show_default=False,
            rich_help_panel=option.section,
            autocompletion=_candidates_of(key, bound),
        )
        kind: Any = bool if bound.is_switch else list[str] if bound.is_repeatable else str
        convert = _axis_converter(bound) if is_axis else _plan_converter(bound, command.low.get(key))
        yield Parameter(
            _keyword(key, kind | None, info, False if bound.is_switch else None),
            convert,
            words_each=2 if bound.is_timed else 1,
        )


def _candidates_of(key: str, bound: BoundOption) -> Callable[[], candidates.Candidates] | None:
    return candidates.words(*bound.choices) if bound.choices else candidates.PLAN_OPTIONS.get(key)


def _plan_converter(bound: BoundOption, low: float | None) -> Converter:
    """The function that converts the text of an option as declared; `low` is the minimum of the command."""

    def convert_timed(words: Any) -> At:
        try:
            return At(parse_duration(words[0]), words[1])
        except UsageError as error:
            raise UsageError(f"{bound.name}: {error.message}", error.hint) from error

    if bound.is_timed:
        return convert_timed
    if bound.is_repeatable:
        return str
    return lambda text: bound.checked(bound.number(text), low) if bound.is_number else bound.parse(text)


def _axis_converter(bound: BoundOption) -> Converter:
    """The function that converts the values of an axis, which are separated by commas."""

    def convert(text: str) -> tuple[AxisValue, ...]:
        words = parse_words(bound.name, text) if text else []
        try:
            return tuple(AxisValue(word, bound.parse(word)) for word in words)
        except NotANumberError:
            raise UsageError(
                f"{bound.name} takes numbers separated by commas, not '{text}'", "for example 100,200"
            ) from None

    return convert


def _parameter(name: str, hint: Any, default: Any, *, section: str | None = None) -> Parameter:
    """A parameter of a function or a field of a group."""
    kind, declared = get_args(hint)[:2]
    info: OptionInfo | ArgumentInfo = copy(declared)
    info.rich_help_panel = info.rich_help_panel or section
    bare = bare_type(kind)
    own = get_args(bare)[0] if get_origin(bare) is list else bare
    convert: Converter | None = str
    if isinstance(info, OptionInfo) and info.count:
        convert = None
    elif own in (int, float):
        # typer.Option keeps the first of its names in the field of the default.
        names = (str(info.default), *(info.param_decls or ()))
        long = next((each for each in names if each.startswith("--")), f"--{name.replace('_', '-')}")
        convert = partial(parse_number, long, kind=own, is_seconds=info.metavar == SECONDS)
    return Parameter(_keyword(name, kind, info, default), convert)


def _keyword(name: str, kind: Any, info: OptionInfo | ArgumentInfo, default: Any) -> inspect.Parameter:
    """The parameter for typer, with the declaration as its default, which takes a third of the time of one in
    an annotation. There, `typer.Option` keeps the first name of the option in the field of the default.
    """
    if isinstance(info, OptionInfo) and info.default is not ...:
        info.param_decls = (str(info.default), *(info.param_decls or ()))
    info.default = ... if default is inspect.Parameter.empty else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info, annotation=kind)
