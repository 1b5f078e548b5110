"""The profile language: schema of the TOML file, options, decoding, errors.

`checker` checks the semantics (defined names, matching placeholders). An `Operand` is a number or an
expression of options, lists and variables. Names of options may use `-` or `_`; values are texts from a
command line or typed values from a plan. Errors name file, key and the nearest valid name.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NoReturn, get_args

import msgspec

from tuibench.errors import UsageError, did_you_mean
from tuibench.files import DECODE_ERRORS
from tuibench.model.plan import PLAN_COMMANDS, OptionValue

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
    """One option. `minimum` and `maximum` are inclusive; `choices` applies to the type "choice"."""

    type: OptionType
    default: OptionValue
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


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
            raise UsageError(f"unknown option {option}", did_you_mean(option, valid))
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


Operand = int | str


class StrictStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Unknown keys are errors."""


class KeyValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="key"):
    """A key from `low` to `high`, distributed by --rand-type."""

    low: Operand = 1
    high: Operand


class UniformValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="uniform"):
    """An integer from `low` to `high`, uniformly distributed."""

    low: Operand = 1
    high: Operand


class NurandValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="nurand"):
    """TPC-C's non-uniform NURand(a, low, high). `loaded_c` is the constant used for loading last names."""

    a: Operand
    low: Operand
    high: Operand
    loaded_c: Operand | None = None


class DecimalValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="decimal"):
    """An exact number from `low` to `high` with `places` decimals."""

    low: Operand
    high: Operand
    places: int = 2


class DigitsValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="digits"):
    """Groups of eleven random digits joined by `-`: ten for sbtest's c, five for its pad."""

    groups: int


class ChanceValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="chance"):
    """True with a probability of `percent`."""

    percent: float | str


class SerialValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="serial"):
    """A counter per connection."""

    first: int = 1


class UniqueValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="unique"):
    """A signed 32-bit number, unique in the run."""


DrawValue = (
    KeyValue
    | UniformValue
    | NurandValue
    | DecimalValue
    | DigitsValue
    | ChanceValue
    | SerialValue
    | UniqueValue
)


class ListValue(StrictStruct, frozen=True, kw_only=True, tag_field="make", tag="list"):
    """A list of `count` values of one generator; ascending if `ordered`."""

    of: DrawValue
    count: Operand
    ordered: bool = False


DrawSpec = DrawValue | ListValue
LetSpec = DrawSpec | str | int | float | bool
"""A generator, or an expression of variables defined before."""


class PartText(StrictStruct, frozen=True, kw_only=True):
    """A part of the SQL that replaces `{its name}`, `repeat` times, separated by `join`."""

    sql: str
    repeat: Operand
    join: str = ", "
    let: dict[str, LetSpec] = {}
    bind: tuple[str, ...] = ()


class StatementText(StrictStruct, frozen=True, kw_only=True):
    """A statement with `?` placeholders, bound to variables or expressions. `{table}` is the step's table."""

    name: str
    sql: str
    bind: tuple[str, ...] = ()
    prepared: bool = True
    capture: tuple[str, ...] = ()
    rows: str = ""
    parts: dict[str, PartText] = {}


class StepText(StrictStruct, frozen=True, kw_only=True):
    """Statements, executed `repeat` times or for `each` item of a list, if the condition `when` holds."""

    repeat: Operand = 1
    each: str = ""
    into: tuple[str, ...] = ()
    index: str = ""
    when: str = ""
    table: str = ""
    let: dict[str, LetSpec] = {}
    statements: tuple[StatementText, ...] = ()
    steps: tuple["StepText", ...] = ()
    rollback: bool | float = False


class TransactionText(StrictStruct, frozen=True, kw_only=True):
    """One kind of transaction, with BEGIN and COMMIT unless `autocommit` (or its flag) is on.

    A step is inline, or the name of one of the profile's `steps`. In a closed loop, `keying_seconds` is the
    wait before the transaction, `think_seconds` the mean wait after it.
    """

    name: str
    weight: float = 1.0
    autocommit: bool | str = False
    keying_seconds: float = 0.0
    think_seconds: float = 0.0
    steps: tuple[StepText | str, ...]


class HeadlineText(StrictStruct, frozen=True, kw_only=True):
    """The profile's main figure: how often a transaction is completed in `per_seconds`.

    `ideal` is its maximum, an expression of options. The efficiency is valid only if the flag `needs` is on;
    otherwise `doubt` is shown.
    """

    title: str
    transaction: str
    per_seconds: float = 60.0
    note: str = ""
    ideal: str = ""
    needs: str = ""
    doubt: str = ""


class Profile(StrictStruct, frozen=True, kw_only=True):
    """A profile file. `defaults` replaces defaults of the data set's options, `options` adds options.

    With `extends`, missing keys are inherited from another profile, and tables are merged.
    """

    name: str
    summary: str
    extends: str = ""
    data_set: str = ""
    draw: Literal["", "weight", "deck"] = ""
    empty_unless: str = ""
    pauses_if: str = ""
    headline: HeadlineText | None = None
    defaults: dict[str, OptionValue] = {}
    options: dict[str, ProfileOption] = {}
    lists: dict[str, tuple[int | float | str, ...]] = {}
    steps: dict[str, StepText] = {}
    transactions: tuple[TransactionText, ...] = ()


ELEMENTS = {
    "let": LetSpec,
    "options": ProfileOption,
    "defaults": OptionValue,
    "lists": tuple[int | float | str, ...],
    "parts": PartText,
    "steps": StepText,
}
"""Types of the tables with user-defined keys, to locate errors."""

DRAW_KINDS = {make.__struct_config__.tag: make for make in get_args(DrawSpec)}
"""The generators by the value of `make`."""


def key_names() -> frozenset[str]:
    """All valid keys, for suggestions."""
    tables = (
        Profile,
        HeadlineText,
        TransactionText,
        StepText,
        StatementText,
        PartText,
        ProfileOption,
        *DRAW_KINDS.values(),
    )
    return frozenset(name for table in tables for name in table.__struct_fields__) | {"make"}


def extend_profile(child: Profile, base: Profile) -> Profile:
    """The child merged with its base."""
    tables = {
        name: {**getattr(base, name), **getattr(child, name)}
        for name in ("defaults", "options", "lists", "steps")
    }
    words = {
        name: getattr(child, name) or getattr(base, name)
        for name in ("data_set", "draw", "empty_unless", "pauses_if", "headline", "transactions")
    }
    return msgspec.structs.replace(child, extends="", **tables, **words)


_PATH = re.compile(r" - at `(?:key in )?\$?(?P<path>[^`]*)`$")
_QUOTED = re.compile(r"(?:field|value) [`'](?P<word>[^`']*)[`']")
_FREE_KEY = "[...]"


def decode_profile(text: str, source: str) -> Profile:
    """Decode a profile. Raises UsageError with `source`, the key and the expected value."""
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply") from None
    except DECODE_ERRORS as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    try:
        return msgspec.convert(raw, Profile)
    except msgspec.ValidationError as error:
        path, message = _locate_error(raw, error)
    except RecursionError:
        raise UsageError(f"{source}: steps are nested too deeply") from None
    raise UsageError(f"{source}: {path or 'top level'}: {message}", _hint(message))


def _split_path(error: msgspec.ValidationError) -> tuple[str, str]:
    """The key path and message of an error."""
    message = str(error)
    found = _PATH.search(message)
    if not found:
        return "", message
    return found["path"].lstrip("."), message[: found.start()]


def _locate_error(raw: Any, error: msgspec.ValidationError) -> tuple[str, str]:
    """Path and message; finds the user-defined keys that msgspec omits by decoding each entry."""
    path, message = _split_path(error)
    before, free, _ = path.partition(_FREE_KEY)
    if not free:
        return path, message
    for key, value in _value_at(raw, before).items():
        try:
            msgspec.convert(value, ELEMENTS[before.rpartition(".")[2]])
        except msgspec.ValidationError as inner:
            rest, message = _locate_error(value, inner)
            dot = "." if rest and not rest.startswith("[") else ""
            return f"{before}.{key}{dot}{rest}", message
    return path, message


def _value_at(raw: Any, path: str) -> Any:
    for part in re.findall(r"[^.\[\]]+", path):
        raw = raw[int(part)] if isinstance(raw, list) else raw[part]
    return raw


def _hint(message: str) -> str:
    found = _QUOTED.search(message)
    return did_you_mean(found["word"], _valid_names(message)) if found else ""


def _valid_names(message: str) -> frozenset[str]:
    if "unknown field" in message:
        return key_names()
    return frozenset({*map(str, DRAW_KINDS), *get_args(OptionType), "weight", "deck"})


class ProfileErrorReporter:
    """The errors of one file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def fail(self, path: str, message: str, hint: str = "") -> NoReturn:
        raise UsageError(f"{self._source}: {path}: {message}", hint)

    def unknown(self, path: str, what: str, name: str, valid: Iterable[str]) -> NoReturn:
        self.fail(path, f"unknown {what} '{name}'", did_you_mean(name, valid))

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Add file and key path to errors raised in the block."""
        try:
            yield
        except UsageError as error:
            self.fail(path, error.message, error.hint)
