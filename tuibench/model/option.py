"""Declaration of a command-line option, as metadata of the field that holds its value.

    reconnect: Annotated[int, Option(high=10**9, help="Log in again after …")] = 0

The declaration is all that is written about an option: the command line, its help and completion, the start
form, sweeps, the report's table of the setup, and the commands that repeat a run all read it. The type of the
field selects the notation of a value, unless the option has its own (`parse` and `format`):

    int, float        a number between `low` and `high`; 0 is None if the field may be None; with the
                      placeholder `SECONDS`, also a duration with its unit
    StrEnum           one of its words
    bool              a switch without a value, or with `words` a word for each value
    tuple[str, ...]   an option that can be given several times
    tuple[At, ...]    the same, with two words: a time and a text
    str               any text
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from tuibench.base.errors import UsageError

DEFAULT_MAXIMUM = 10**9
"""Limit beyond any sensible value."""

SWITCH = {"on": True, "off": False, "1": True, "0": False, "true": True, "false": False}
"""Words of an option that is on or off."""

SECONDS = "SECONDS"
"""The placeholder of a number of seconds."""

ELSEWHERE = dict.fromkeys(
    ("--set", "--setting"),
    "settings: tuibench ctl set NAME=VALUE in a running session, --ab NAME=V1,V2, or tuibench sweep "
    "--setting NAME=V1,V2",
)
"""Options of other commands, with what is used here instead."""

Number = TypeVar("Number", int, float)
Choice = TypeVar("Choice", bound=str)


SECONDS_PER_UNIT = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
NUMBER = r"\d+(?:\.\d+)?"
_PART = re.compile(rf"({NUMBER})(us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"{NUMBER}(?:us|µs|ms|s|m|h)(?:{NUMBER}(?:us|µs|ms|s|m|h))*|0")


def parse_duration(text: str) -> float:
    """Parse a duration to seconds. Raises UsageError without a unit and for anything else."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise UsageError(f"'{text}' is not a duration", "a number with its unit: 20ms, 30s, 1m30s")
    return sum(float(number) * SECONDS_PER_UNIT[unit] for number, unit in _PART.findall(text))


class At(NamedTuple):
    """A text with a time of the run, in seconds after its start."""

    seconds: float
    what: str


class NotANumberError(UsageError):
    """A text is not a number."""


def parse_number(name: str, text: str, kind: type[Number], *, is_seconds: bool) -> Number:
    """The value of the option `name`, not checked; with `is_seconds`, also a duration with its unit.

    Raises NotANumberError.
    """
    with suppress(ValueError):
        return kind(text)
    with suppress(UsageError):
        if is_seconds and (seconds := parse_duration(text)) == kind(seconds):
            return kind(seconds)
    words = "a whole number" if kind is int else "a number"
    units = " of seconds, or a duration such as 1m30s" if is_seconds else ""
    raise NotANumberError(f"{name} takes {words}{units}, not '{text}'")


class Option:
    """An option of a command line.

    `names`         its names; by default that of its parameter
    `section`       its section of the help
    `metavar`       the placeholder for its value
    `label`         its row in the table of the setup
    `read`          takes the value from the whole plan instead of the field
    `always`        a command line that repeats a run has the option even if its value is the default
    `when`          if False, such a command line never has the option
    `sysbench`      True if sysbench 1.0 has the option too, or the format of its value there
    `axis`          False if a sweep does not take several values of it
    `affects_load`  False if it is no reason why two runs differ
    """

    def __init__(
        self,
        *names: str,
        help: str = "",
        section: str = "",
        metavar: str | None = None,
        hidden: bool = False,
        show_default: bool = True,
        count: bool = False,
        kind: Any = None,
        low: float = 0,
        high: float = DEFAULT_MAXIMUM,
        words: Mapping[str, Any] | None = None,
        parse: Callable[[str], Any] | None = None,
        format: Callable[[Any], str] | None = None,
        read: Callable[[Any], Any] | None = None,
        when: Callable[[Any], bool] | None = None,
        always: Callable[[Any], bool] | None = None,
        sysbench: bool | Callable[[Any], str] = False,
        axis: bool = True,
        affects_load: bool = True,
        label: str = "",
    ) -> None:
        self.names = names
        self.help = help
        self.section = section
        self.metavar = metavar
        self.hidden = hidden
        self.show_default = show_default
        self.count = count
        self.kind = kind
        self.low = low
        self.high = high
        self.words = words
        self.parse = parse
        self.format = format
        self.read = read
        self.when = when
        self.always = always
        self.sysbench = sysbench
        self.axis = axis
        self.affects_load = affects_load
        self.label = label


class BoundOption(NamedTuple):
    """An option with its field."""

    field: str
    option: Option
    kind: Any
    """The type without None."""
    is_optional: bool
    """True if the value may be None."""
    default: Any

    @property
    def name(self) -> str:
        """Its name on the command line: the first long one."""
        own = f"--{self.field.replace('_', '-')}"
        return next((name for name in self.option.names if name.startswith("--")), own)

    @property
    def key(self) -> str:
        """Its name as an identifier."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def is_switch(self) -> bool:
        return self.kind is bool and self.option.words is None

    @property
    def is_repeatable(self) -> bool:
        return get_origin(self.kind) in (tuple, list) and self.option.parse is None

    @property
    def is_timed(self) -> bool:
        """True if it takes two words, a time and a text."""
        return self.is_repeatable and get_args(self.kind)[0] is At

    @property
    def is_number(self) -> bool:
        return self.kind in (int, float) and self.option.parse is None

    @property
    def choices(self) -> tuple[str, ...]:
        """Its possible words, if they are few; synonyms are left out."""
        if self.option.words is not None:
            values = list(self.option.words.values())
            return tuple(word for n, word in enumerate(self.option.words) if values[n] not in values[:n])
        return tuple(self.kind) if isinstance(self.kind, type) and issubclass(self.kind, StrEnum) else ()

    @property
    def metavar(self) -> str | None:
        """The placeholder for a value; None for the default of the command line."""
        return self.option.metavar or "|".join(self.choices) or None

    def parse(self, text: str) -> Any:
        """The value of a text. Raises UsageError with the name of the option."""
        if self.option.parse is not None:
            try:
                return self.option.parse(text)
            except UsageError as error:
                own = error.message.startswith(self.name)
                raise UsageError(
                    error.message if own else f"{self.name}: {error.message}", error.hint
                ) from error
        if self.option.words is not None:
            if self.kind is str and not text:
                return text
            word = text.lower() if text.lower() in self.option.words else text
            return self.option.words[check_choice(self.name, word, self.option.words)]
        if self.choices:
            return self.kind(check_choice(self.name, text, self.choices))
        if not self.is_number:
            return text
        return self.checked(self.number(text))

    def number(self, text: str) -> float:
        """The number of a text, not checked. Raises NotANumberError."""
        kind: type[int] | type[float] = self.kind
        return parse_number(self.name, text, kind, is_seconds=self.option.metavar == SECONDS)

    def checked(self, number: float, low: float | None = None) -> float | None:
        """A number as the value. Raises UsageError if it is out of range; `low` replaces its lower limit."""
        checked = check_range(self.name, number, self.option.low if low is None else low, self.option.high)
        return None if self.is_optional and not checked else checked

    def format(self, value: Any) -> str:
        """A value for `parse`."""
        if self.option.format is not None:
            return self.option.format(value)
        if self.option.words is not None:
            return next((word for word, each in self.option.words.items() if each == value), "")
        if value is None:
            return "0" if self.is_number else ""
        return plain_number(value) if self.is_number else str(value)

    def value(self, part: Any, plan: Any) -> Any:
        """The value in a plan; `part` is the struct of the plan that has the field."""
        return self.option.read(plan) if self.option.read is not None else getattr(part, self.field)

    def words(self, value: Any) -> list[str]:
        """The words of a command line that give the value."""
        if self.is_switch:
            return [self.name] * bool(value)
        if self.is_timed:
            return [
                word for seconds, what in value for word in (self.name, f"{plain_number(seconds)}s", what)
            ]
        if self.is_repeatable:
            return [f"{self.name}={each}" for each in value]
        return [f"{self.name}={self.format(value)}"]


def bind_options(kind: type[msgspec.Struct]) -> Iterator[BoundOption]:
    """The options of a struct, in the order of its fields; a field may have several."""
    for field in msgspec.structs.fields(kind):
        base, *extras = get_args(field.type) if hasattr(field.type, "__metadata__") else (field.type,)
        bare = bare_type(base)
        default = None if field.default is msgspec.NODEFAULT else field.default
        for each in extras:
            if isinstance(each, Option):
                yield BoundOption(field.name, each, each.kind or bare, bare is not base, default)


def bare_type(kind: Any) -> Any:
    """`str` for `str | None`."""
    if get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind):
        return next(each for each in get_args(kind) if each is not NoneType)
    return kind


def check_range(name: str, value: Number, low: float, high: float = DEFAULT_MAXIMUM) -> Number:
    """The value of the option `name`. Raises UsageError if it is out of range."""
    if not low <= value <= high:
        raise UsageError(f"{name} must be between {low:,.12g} and {high:,.12g}, not {value:,.12g}")
    return value


def check_choice(name: str, word: str, choices: Iterable[Choice]) -> Choice:
    """The choice with this name. Raises UsageError with the list of choices for any other word."""
    for choice in choices:
        if choice == word:
            return choice
    raise UsageError(f"{name} is one of {', '.join(choices)}, not '{word}'")


def plain_number(value: float) -> str:
    """The shortest text of a number that is read back as the same number, without an exponent."""
    text = repr(value)
    if "e" in text:
        from decimal import Decimal

        text = f"{Decimal(text):f}"
    return text.removesuffix(".0")


def parse_words(option: str, text: str) -> list[str]:
    """The words between commas. Raises UsageError for an empty word or a repeated one."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise UsageError(f"{option} takes values separated by commas, not '{text}'")
    twice = next((word for word in words if words.count(word) > 1), "")
    if twice:
        raise UsageError(f"{option}: {twice} is given twice")
    return words
