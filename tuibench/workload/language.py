"""The profile language: schema of the TOML file, decoding, errors, and texts of generated profiles.

`checker` checks the semantics (defined names, matching placeholders). Errors name the file, the key and the
nearest valid name.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NoReturn, get_args, get_origin

import msgspec

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.base.files import DECODE_ERRORS
from tuibench.model.plan import OptionValue
from tuibench.workload.options import OptionType, ProfileOption
from tuibench.workload.values import Draw, List, Operand, Uniform


class StrictStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Unknown keys are errors."""


LetSpec = Draw[Operand] | List[Operand] | str | int | float | bool
"""A generator, or an expression of variables defined before."""


class PartText(StrictStruct, frozen=True, kw_only=True):
    """A part of a statement's SQL, repeated."""

    sql: str
    """The SQL of one repetition. In the statement `{its name}` stands for all repetitions."""
    repeat: Operand
    """Number of repetitions. A variable is possible, too, if only `uniform` draws it: then there is a
    statement for each of its values.
    """
    join: str = ", "
    """What separates the repetitions."""
    index: str = ""
    """A variable that counts the repetitions from 1."""
    let: dict[str, LetSpec] = {}
    """Variables of the part, set at each repetition."""
    bind: tuple[str, ...] = ()
    """Values of each repetition."""


class StatementText(StrictStruct, frozen=True, kw_only=True):
    """A statement."""

    name: str
    """Name in reports; statements of one name have the same SQL."""
    sql: str
    """A `?` stands for each value, `{table}` for the step's table."""
    bind: tuple[str, ...] = ()
    """Values of the placeholders: variables or expressions."""
    prepared: bool = True
    """False sends the statement as text."""
    capture: tuple[str, ...] = ()
    """Variables for the columns of the first row; null if there is no row."""
    rows: str = ""
    """A variable for all rows, as a list of lists."""
    parts: dict[str, PartText] = {}
    """Repeated parts of the SQL, by name."""


class StepText(StrictStruct, frozen=True, kw_only=True):
    """Statements that are executed together."""

    repeat: Operand = 1
    """Number of repetitions."""
    each: str = ""
    """Instead of `repeat`: a list; the step is executed for each item."""
    into: tuple[str, ...] = ()
    """Variables for the item, or for its columns."""
    index: str = ""
    """A variable that counts the repetitions from 1."""
    when: str = ""
    """A condition; if it is false, the step is skipped."""
    table: str = ""
    """Table number, from 0; by default one random table for each execution of the step."""
    let: dict[str, LetSpec] = {}
    """Variables, set at each repetition in this order."""
    statements: tuple[StatementText, ...] = ()
    steps: tuple["StepText", ...] = ()
    """Inner steps, executed after the statements."""
    rollback: bool | float = False
    """True or a probability: the transaction ends with ROLLBACK, and counts as completed."""


class TransactionText(StrictStruct, frozen=True, kw_only=True):
    """One kind of transaction, with BEGIN and COMMIT."""

    name: str
    """Name in reports."""
    weight: float = 1.0
    """Relative frequency; in a deck, the number of cards."""
    autocommit: bool | str = False
    """True, or a flag option that is on: no BEGIN and COMMIT."""
    keying_seconds: float = 0.0
    """Wait before the transaction, in a closed loop."""
    think_seconds: float = 0.0
    """Mean wait after the transaction, in a closed loop."""
    steps: tuple[StepText | str, ...]
    """Steps, inline or by their name in the profile's `steps`."""


class HeadlineText(StrictStruct, frozen=True, kw_only=True):
    """The profile's main figure: how often a transaction is completed in a unit of time."""

    title: str
    """Label of the figure."""
    transaction: str
    """Name of the transaction that is counted."""
    per_seconds: float = 60.0
    """Unit of time, in seconds."""
    note: str = ""
    """Note in parentheses after the title."""
    note_if: dict[str, str] = {}
    """Further notes, each by the flag option that must be on."""
    ideal: str = ""
    """The maximum, an expression of options, to which the efficiency is relative."""
    needs: str = ""
    """A flag option without which the efficiency is not valid."""
    doubt: str = ""
    """Text that is shown if that option is off."""


class Profile(StrictStruct, frozen=True, kw_only=True):
    """A profile file."""

    name: str
    summary: str
    """Description in one line."""
    extends: str = ""
    """Another profile, by name or file: missing keys are inherited from it, and tables are merged."""
    data_set: str = ""
    """Name of the data set, which defines the tables."""
    draw: Literal["", "weight", "deck"] = ""
    """`weight` draws each transaction independently; `deck` takes it from a shuffled deck, which has the
    exact mix.
    """
    empty_unless: str = ""
    """A flag option; if it is off, the tables are created without rows."""
    pauses_if: str = ""
    """A flag option; if it is off, there are no keying and think times."""
    headline: HeadlineText | None = None
    """The main figure."""
    defaults: dict[str, OptionValue] = {}
    """Other defaults for options of the data set."""
    options: dict[str, ProfileOption] = {}
    """Further options, by name."""
    lists: dict[str, tuple[int | float | str, ...]] = {}
    """Lists of numbers or texts, by name."""
    steps: dict[str, StepText] = {}
    """Steps that transactions share, by name."""
    transactions: tuple[TransactionText, ...] = ()


ELEMENTS = {
    "let": LetSpec,
    "options": ProfileOption,
    "defaults": OptionValue,
    "note_if": str,
    "lists": tuple[int | float | str, ...],
    "parts": PartText,
    "steps": StepText,
}
"""Types of the tables with user-defined keys, to locate errors."""

_KINDS: tuple[Any, ...] = (*map(get_origin, get_args(Draw)), List)
KINDS = {str(kind.__struct_config__.tag): kind for kind in _KINDS}
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
        *KINDS.values(),
    )
    return frozenset(name for table in tables for name in table.__struct_fields__) | {"make"}


def extend_profile(child: Profile, base: Profile) -> Profile:
    tables = {
        name: {**getattr(base, name), **getattr(child, name)}
        for name in ("defaults", "options", "lists", "steps")
    }
    words = {
        name: getattr(child, name) or getattr(base, name)
        for name in ("data_set", "draw", "empty_unless", "pauses_if", "headline", "transactions")
    }
    return msgspec.structs.replace(child, extends="", **tables, **words)


MAX_PART_SIZES = 100
"""Most statements of different length for one part."""


def all_step_texts(steps: Iterable[StepText]) -> Iterator[StepText]:
    """The steps, including inner ones."""
    for step in steps:
        yield step
        yield from all_step_texts(step.steps)


def drawn_sizes(steps: Iterable[StepText]) -> dict[str, Uniform[Operand]]:
    """The variables of a transaction that can be the size of a part: only `uniform` draws them."""
    found: dict[str, Uniform[Operand]] = {}
    others: set[str] = set()
    for step in all_step_texts(steps):
        others |= {*step.into, step.index}
        for statement in step.statements:
            others |= {*statement.capture, statement.rows}
        for name, let in step.let.items():
            if isinstance(let, Uniform) and name not in found:
                found[name] = let
            else:
                others.add(name)
    return {name: made for name, made in found.items() if name not in others}


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
    found = _QUOTED.search(message)
    raise UsageError(
        f"{source}: {path or 'top level'}: {message}",
        did_you_mean(
            found["word"],
            (
                key_names()
                if "unknown field" in message
                else frozenset({*KINDS, *get_args(OptionType), "weight", "deck"})
            ),
        )
        if found
        else "",
    )


def _locate_error(raw: Any, error: msgspec.ValidationError) -> tuple[str, str]:
    """Path and message; finds the user-defined keys that msgspec omits by decoding each entry."""
    message = str(error)
    found = _PATH.search(message)
    path, message = (found["path"].lstrip("."), message[: found.start()]) if found else ("", message)
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


def toml_text(text: str) -> str:
    """A text as TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def generator_text(make: Draw[Operand]) -> str:
    """A generator as profile text, without the keys that have their default value."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(make)}
    keys = (
        f"{name} = {toml_text(value) if isinstance(value, str) else value}"
        for name, value in msgspec.to_builtins(make).items()
        if value != defaults.get(name, msgspec.NODEFAULT)
    )
    return f"{{ {', '.join(keys)} }}"


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
