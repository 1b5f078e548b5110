"""Options of profiles: declaration, names on a command line, values from text.

Names may use `-` or `_`; values are texts from a command line or typed values from a plan.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.model.option import ELSEWHERE
from tuibench.model.plan import PLAN_COMMANDS, OptionValue

THREADS = "threads"
"""The option of every profile with the number of connections planned for the run."""

OptionType = Literal["integer", "number", "flag", "text", "choice"]

FLAG_WORDS = {
    "on": True,
    "true": True,
    "yes": True,
    "1": True,
    "": True,
    "off": False,
    "false": False,
    "no": False,
    "0": False,
}
"""Spellings of a flag's value; as in sysbench, an option without a value is on."""


class ProfileOption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One option."""

    type: OptionType
    default: OptionValue
    help: str
    """Its description in the help."""
    minimum: float | None = None
    """The least value that is allowed."""
    maximum: float | None = None
    """The greatest value that is allowed."""
    choices: tuple[str, ...] = ()
    """The values of an option of the type "choice"."""


def canonical_name(name: str) -> str:
    """The canonical name of an option: `table_size` for `--table-size`."""
    return name.lstrip("-").replace("-", "_").lower()


def command_line_name(name: str) -> str:
    return "--" + name.replace("_", "-")


def resolve_options(
    known: Mapping[str, ProfileOption], given: Mapping[str, object]
) -> dict[str, OptionValue]:
    """All options with their values: the given ones, checked, and the defaults of the others.

    Raises UsageError for an unknown name, an invalid value, or a value out of range.
    """
    values = {name: option.default for name, option in known.items()}
    for written, value in given.items():
        name = canonical_name(written)
        if name not in known:
            option = command_line_name(name)
            valid = map(command_line_name, (*known, *PLAN_COMMANDS["run"].options))
            raise UsageError(f"unknown option {option}", ELSEWHERE.get(option) or did_you_mean(option, valid))
        values[name] = parse_option_value(name, known[name], value)
    return values


def parse_option_value(name: str, option: ProfileOption, value: object) -> OptionValue:
    """A value converted to the option's type. Raises UsageError if it is invalid."""
    read_kind: dict[OptionType, Callable[[object], OptionValue]] = {
        "integer": _integer,
        "number": _number,
        "flag": _flag,
        "text": _text,
        "choice": _text,
    }
    try:
        result = read_kind[option.type](value)
    except (ValueError, OverflowError):
        raise UsageError(f"{command_line_name(name)}: '{value}' is not {_EXPECTED[option.type]}") from None
    _check_limits(name, option, result)
    return result


_EXPECTED = {
    "integer": "an integer",
    "number": "a number",
    "flag": "on or off",
    "text": "a text",
    "choice": "a text",
}


def _integer(value: object) -> int:
    if isinstance(value, str):
        return int(value.replace(",", ""))
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(value)
    number = float(value)
    if number - number != 0:
        raise ValueError(value)
    return number


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in FLAG_WORDS:
        raise ValueError(value)
    return FLAG_WORDS[word]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _check_limits(name: str, option: ProfileOption, value: OptionValue) -> None:
    if option.choices and value not in option.choices:
        raise UsageError(
            f"{command_line_name(name)}: '{value}' is unknown",
            did_you_mean(str(value), option.choices),
        )
    if isinstance(value, str | bool):
        return
    if option.minimum is not None and value < option.minimum:
        raise UsageError(
            f"{command_line_name(name)}: {value} is too small", f"at least {option.minimum:,.10g}"
        )
    if option.maximum is not None and value > option.maximum:
        raise UsageError(
            f"{command_line_name(name)}: {value} is too large", f"at most {option.maximum:,.10g}"
        )


def integer_option(default: int, text: str, *, minimum: int = 0, maximum: int = 2**31 - 1) -> ProfileOption:
    return ProfileOption(type="integer", default=default, help=text, minimum=minimum, maximum=maximum)


def flag_option(default: bool, text: str) -> ProfileOption:
    return ProfileOption(type="flag", default=default, help=text)
