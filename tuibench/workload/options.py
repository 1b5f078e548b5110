"""Options of a profile or data set: what they are called, what they may be, and how a user's value is read.

Names are written with `-` or `_` alike; values come as text from a command line or typed from a plan.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload import nearest

Kind = Literal["integer", "number", "flag", "text", "choice"]

FLAGS = {
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
"""How a flag may be written; with nothing after its name it is on, as sysbench has it."""


class Option(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One option. `minimum` and `maximum` are included; `choices` belong to the kind "choice"."""

    type: Kind
    default: OptionValue
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


def canonical(name: str) -> str:
    """The one spelling of an option's name: `--table-size` is `table_size`."""
    return name.lstrip("-").replace("-", "_").lower()


def spoken(name: str) -> str:
    """How the option is written on a command line."""
    return "--" + name.replace("_", "-")


def resolve(known: Mapping[str, Option], given: Mapping[str, object]) -> dict[str, OptionValue]:
    """All options with their values: the given ones checked, the others by default.

    Raises UsageError for an unknown name, a value that cannot be read, or one beyond its limits.
    """
    values = {name: option.default for name, option in known.items()}
    for written, value in given.items():
        name = canonical(written)
        if name not in known:
            raise UsageError(f"unknown option {spoken(name)}", _hint(name, known))
        values[name] = read(name, known[name], value)
    return values


def _hint(name: str, known: Iterable[str]) -> str:
    return nearest.hint(spoken(name), map(spoken, known))


def read(name: str, option: Option, value: object) -> OptionValue:
    """A user's value in the option's own type. Raises UsageError if it is not one."""
    read_kind: dict[Kind, Callable[[object], OptionValue]] = {
        "integer": _integer,
        "number": _number,
        "flag": _flag,
        "text": _text,
        "choice": _text,
    }
    try:
        result = read_kind[option.type](value)
    except (ValueError, OverflowError):
        raise UsageError(f"{spoken(name)}: '{value}' is not {_EXPECTED[option.type]}") from None
    _check_limits(name, option, result)
    return result


_EXPECTED = {
    "integer": "a whole number",
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
    if word not in FLAGS:
        raise ValueError(value)
    return FLAGS[word]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _check_limits(name: str, option: Option, value: OptionValue) -> None:
    if option.choices and value not in option.choices:
        raise UsageError(f"{spoken(name)}: '{value}' is unknown", nearest.hint(str(value), option.choices))
    if isinstance(value, str | bool):
        return
    if option.minimum is not None and value < option.minimum:
        raise UsageError(f"{spoken(name)}: {value} is too small", f"at least {option.minimum:,.10g}")
    if option.maximum is not None and value > option.maximum:
        raise UsageError(f"{spoken(name)}: {value} is too large", f"at most {option.maximum:,.10g}")


def integer(default: int, text: str, *, minimum: int = 0, maximum: int = 2**31 - 1) -> Option:
    """Declares an option that is a whole number."""
    return Option(type="integer", default=default, help=text, minimum=minimum, maximum=maximum)


def flag(default: bool, text: str) -> Option:
    """Declares an option that is on or off."""
    return Option(type="flag", default=default, help=text)
