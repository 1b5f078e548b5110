"""Commands made from functions whose parameters declare options and arguments; messages of their parser.

    def run(context: click.Context, server: ServerOptions, options: Annotated[PlanValues, Takes("run")],
            profile: Annotated[str, Argument(help="…")] = "")

A parameter is an option, an argument, or a group of options. A group is a dataclass whose fields are options,
shared by several commands, or the options of a plan that the command takes. `Annotated[Group,
OmitOptions("threads")]` omits fields, which keep their defaults. The `SECTION` of a dataclass is its section
in the help, unless an option names another. Messages of the parser are replaced, because they use click's
terms.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import click

from tuibench.base.errors import UsageError
from tuibench.cli.arguments import SectionedCommand
from tuibench.model.option import (
    ELSEWHERE,
    SECONDS,
    BoundOption,
    NotANumberError,
    bare_type,
    bind_option,
    bind_options,
    help_with_default,
    parse_duration,
)
from tuibench.model.plan import PLAN_COMMANDS, PlanCommand

DEFAULT_METAVAR = "N"


class Argument:
    """A positional argument."""

    def __init__(self, *, help: str = "", metavar: str | None = None, show_default: bool = True) -> None:
        self.help = help
        self.metavar = metavar
        self.show_default = show_default


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


class DeclaredOption(click.Option):
    """An option with its declaration, its section of the help, and the words that complete it."""

    def __init__(self, *args: Any, bound: BoundOption, section: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.bound = bound
        self.section = section


def _converter(bound: BoundOption, low: float | None) -> Callable[[str], Any]:
    """The function that converts the text of an option as declared; `low` is the minimum of the command."""

    def convert(text: str) -> Any:
        if not bound.is_number:
            return bound.parse(text)
        return bound.checked(bound.number(text), low)

    return convert


def _time_converter(bound: BoundOption) -> Callable[[str], float]:
    """The function that converts the first word of an option that takes a time and a text."""

    def convert(text: str) -> float:
        try:
            return parse_duration(text)
        except UsageError as error:
            raise UsageError(f"{bound.name}: {error.message}", error.hint) from error

    return convert


def _axis_converter(bound: BoundOption) -> Callable[[str], tuple[AxisValue, ...]]:
    """The function that converts the values of an axis, which are separated by commas."""

    def convert(text: str) -> tuple[AxisValue, ...]:
        from tuibench.model.option import parse_words

        words = parse_words(bound.name, text) if text else []
        try:
            return tuple(AxisValue(word, bound.parse(word)) for word in words)
        except NotANumberError:
            raise UsageError(
                f"{bound.name} takes numbers separated by commas, not '{text}'", "for example 100,200"
            ) from None

    return convert


class _Group(NamedTuple):
    """A dataclass among a command's parameters."""

    kind: Any
    omitted: frozenset[str]

    def parameters(self) -> Iterator[click.Parameter]:
        section = getattr(self.kind, "SECTION", "")
        for bound in bind_options(self.kind, self.omitted.__contains__):
            yield _option(bound, section)

    def value(self, given: dict[str, Any]) -> Any:
        names = (bound.field for bound in bind_options(self.kind, self.omitted.__contains__))
        return self.kind(**{name: _as_list(given.pop(name)) for name in names})


class _PlanGroup(NamedTuple):
    """The options of a plan among a command's parameters."""

    command: PlanCommand

    def parameters(self) -> Iterator[click.Parameter]:
        return plan_parameters(self.command)

    def value(self, given: dict[str, Any]) -> PlanValues:
        context = click.get_current_context()
        values = {key: given.pop(key) for key in self.command.options}
        return PlanValues(self.command, {key: values[key] for key in values if is_given(context, key)})


def plan_parameters(command: PlanCommand) -> Iterator[click.Parameter]:
    """click's parameters for the options of a plan that a command takes."""
    for key, (_, bound) in command.options.items():
        option, default = bound.option, command.default(key)
        taken: dict[str, Any] = {"default": None}
        if bound.is_switch:
            taken = {"is_flag": True, "default": False}
        elif bound.is_repeatable:
            taken = {"multiple": True}
            if bound.is_timed:
                taken["type"] = click.Tuple([click.types.convert_type(_time_converter(bound)), click.STRING])
        else:
            is_axis, low = command.is_axis(key), command.low.get(key)
            taken["type"] = _axis_converter(bound) if is_axis else _converter(bound, low)
        help = command.helps.get(key, option.help)
        is_shown = option.show_default and not bound.is_repeatable and not bound.is_switch
        is_shown = is_shown and (default is not None or bound.is_number)
        yield DeclaredOption(
            [*(option.names or [bound.name]), key],
            bound=bound,
            section=option.section,
            help=help_with_default(help, bound.format(default)) if is_shown else help,
            metavar=f"{bound.metavar or DEFAULT_METAVAR}{',…' * command.is_axis(key)}",
            hidden=option.hidden,
            **taken,
        )


def parse_plan_words(command: str, words: Sequence[str]) -> tuple[PlanValues, list[str]]:
    """Parse a command's plan options without running the command; returns them, and the other words."""
    known = PLAN_COMMANDS[command]
    parser = click.Command(
        command,
        params=list(plan_parameters(known)),
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        add_help_option=False,
    )
    try:
        context = parser.make_context(command, list(words))
    except click.ClickException as error:
        raise UsageError(explain_parser_error(error, command)) from error
    given = {key: context.params[key] for key in known.options if is_given(context, key)}
    return PlanValues(known, given), context.args


def is_given(context: click.Context, key: str) -> bool:
    """True if the parameter was given on the command line."""
    source = context.get_parameter_source(key)
    return source is not None and source.name == "COMMANDLINE"


def build_command(
    function: Callable[..., None], *, name: str = "", help: str = "", context_settings: Any = None
) -> click.Command:
    """Make a click command of the function, which gets each group as one argument."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    groups = {each.name: group for each in parameters if (group := _group_of(hints[each.name])) is not None}
    contexts = [each.name for each in parameters if hints[each.name] is click.Context]

    def call(**given: Any) -> None:
        grouped = {key: group.value(given) for key, group in groups.items()}
        own = {key: _as_list(value) for key, value in given.items()}
        function(**own, **grouped, **{key: click.get_current_context() for key in contexts})

    params: list[click.Parameter] = []
    for each in parameters:
        if each.name in groups:
            params += groups[each.name].parameters()
        elif each.name not in contexts:
            params.append(_parameter(each.name, hints[each.name], each.default))
    return SectionedCommand(
        name or function.__name__, callback=call, params=params, help=help, context_settings=context_settings
    )


def _as_list(value: Any) -> Any:
    return list(value) if type(value) is tuple else value


def _group_of(hint: Any) -> _Group | _PlanGroup | None:
    kind, *extras = get_args(hint) or (hint,)
    if kind is PlanValues:
        return _PlanGroup(next(one.command for one in extras if isinstance(one, Takes)))
    if not is_dataclass(kind):
        return None
    return _Group(
        kind, frozenset(name for one in extras if isinstance(one, OmitOptions) for name in one.names)
    )


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    kind, declared = get_args(hint)[:2]
    if isinstance(declared, Argument):
        return _argument(name, bare_type(kind), default, declared)
    return _option(next(bind_option(name, hint, default)))


def _argument(name: str, kind: Any, default: Any, declared: Argument) -> click.Argument:
    is_list, required = get_origin(kind) is list, default is inspect.Parameter.empty
    is_shown = declared.show_default and not required and default is not None
    return click.Argument(
        [name],
        type=get_args(kind)[0] if is_list else kind,
        nargs=-1 if is_list else 1,
        required=required,
        metavar=declared.metavar,
        help=help_with_default(declared.help, str(default)) if is_shown else declared.help,
        **({} if required or is_list else {"default": default}),
    )


def _option(bound: BoundOption, section: str = "") -> click.Option:
    """The option of a function's parameter or of a dataclass's field; the command checks its value."""
    option, default = bound.option, bound.default
    is_switch = bound.kind is bool or option.count
    taken: dict[str, Any] = {"is_flag": True} if bound.kind is bool else {"count": option.count}
    if not is_switch:
        taken |= {"multiple": bound.is_repeatable}
        number = bound.number if option.metavar == SECONDS else bound.kind
        taken["type"] = get_args(bound.kind)[0] if bound.is_repeatable else number
    is_shown = option.show_default and default is not None and default is not False
    text = f"{default:g}" if isinstance(default, float) else str(default)
    return DeclaredOption(
        [*(option.names or [bound.name]), bound.field],
        bound=bound,
        section=option.section or section,
        default=default,
        help=help_with_default(option.help, text) if is_shown else option.help,
        hidden=option.hidden,
        metavar=option.metavar or DEFAULT_METAVAR,
        **taken,
    )


HOSTS_OPTION = r"--(?:cluster(?:-(?:program|lease|hosts|ca|cert|key|insecure))?|on-host-loss)"
"""Options of a cluster run."""

DASHES = "‐‑‒–—―−"
"""Characters by which web pages and word processors replace hyphens."""

WITHOUT_HOSTS = "is an option of run, live, probe, sweep, tune, versions and demo"
OPTION_EXAMPLE = "options look like --table-size=1000"
LOGIN_EXAMPLE = "a password stands behind --password= or directly behind -p; without it, both ask"
MESSAGES = (
    (rf"no such option '({HOSTS_OPTION})'.*", rf"\1 {WITHOUT_HOSTS}"),
    *((rf"no such option '({name})'.*", rf"unknown option \1 ({hint})") for name, hint in ELSEWHERE.items()),
    (r"invalid value for '(-[^']*)'.* is not a valid integer( range)?", r"\1 takes a whole number"),
    (r"invalid value for '(-[^']*)'.* is not a valid float( range)?", r"\1 takes a number"),
    (
        r"no such option '(\S+)'\. \(?(?:did you mean|possible options:).*?(--[\w-]+)\b.*",
        r"unknown option \1 (did you mean '\2'?)",
    ),
    (r"no such option '(\S+)'", r"unknown option \1"),
    (r"option '([^']*)' requires an argument", r"\1 needs a value"),
    (
        rf"got unexpected extra arguments? \(([{DASHES}]+)(\S+).*\)",
        r"'\1\2' begins with a dash, not with hyphens: type --\2",
    ),
    (r"got unexpected extra arguments? \((.*)\)", r"unexpected argument: \1"),
)


def explain_parser_error(error: Any, command: str = "") -> str:
    """An error of the parser on one line, with the command whose help explains it: that of the parser, or
    `command`.
    """
    context = error.ctx
    if context is not None:
        command = context.info_name if context.parent is not None else ""
    command = f" {command}" if command else ""
    text = error.format_message().rstrip(".")
    words = translate_message(text[:1].lower() + text[1:])
    return words if words.endswith("?)") else f"{words} (see tuibench{command} --help)"


def option_hint(argument: str) -> str:
    """The hint for an unknown argument: the option that it means, or an example of an option."""
    name = argument.lstrip(DASHES)
    if name != argument:
        return f"it begins with a dash, not with hyphens: type --{name}"
    return LOGIN_EXAMPLE if "-p" in sys.argv[1:] else OPTION_EXAMPLE


def translate_message(text: str) -> str:
    """The replacement of a parser's message, or the message itself if the table has none."""
    for pattern, words in MESSAGES:
        if found := re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL):
            return found.expand(words)
    return text
