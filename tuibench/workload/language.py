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

from tuibench.errors import UsageError, did_you_mean
from tuibench.files import DECODE_ERRORS
from tuibench.model.plan import OptionValue
from tuibench.workload.options import OptionType, ProfileOption
from tuibench.workload.values import Draw, List, Operand, Uniform


class StrictStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Unknown keys are errors."""


LetSpec = Draw[Operand] | List[Operand] | str | int | float | bool
"""A generator, or an expression of variables defined before."""


class PartText(StrictStruct, frozen=True, kw_only=True):
    """A part of the SQL that replaces `{its name}`, `repeat` times, separated by `join`.

    `index` counts the repetitions from 1. `repeat` may also be a variable that is drawn with `uniform`: then
    there is a statement for each of its values.
    """

    sql: str
    repeat: Operand
    join: str = ", "
    index: str = ""
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

    `note` stands after the title, with the texts of `note_if` whose flag is on. `ideal` is the maximum, an
    expression of options. The efficiency is valid only if the flag `needs` is on; otherwise `doubt` is shown.
    """

    title: str
    transaction: str
    per_seconds: float = 60.0
    note: str = ""
    note_if: dict[str, str] = {}
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
