"""Schema of profiles: the structure of the TOML file.

`profile_checker` and `step_checker` check the semantics (defined names, matching placeholders). An `Operand`
is a number or an expression of options, lists and variables.
"""

from typing import Literal, get_args

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.language.options import ProfileOption

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
