"""What may stand in a profile: the structure of the TOML file, key by key.

The meaning beyond the structure (that a name is defined, that placeholders match) is checked in `check`,
the way to numbers is `compile`. An `Operand` is a number or an expression of options, lists and variables.
"""

from typing import Literal, get_args

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.options import Option

Operand = int | str


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Keys that are not listed are errors."""


class KeyValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="key"):
    """A row's key from `low` to `high`, by the distribution that --rand-type chooses."""

    low: Operand = 1
    high: Operand


class UniformValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="uniform"):
    """A whole number from `low` to `high`, each equally often."""

    low: Operand = 1
    high: Operand


class NurandValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="nurand"):
    """TPC-C's non-uniform NURand(a, low, high). `loaded_c` is the C that last names were loaded with."""

    a: Operand
    low: Operand
    high: Operand
    loaded_c: Operand | None = None


class DecimalValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="decimal"):
    """An exact number from `low` to `high` with `places` digits after the point: an amount of money."""

    low: Operand
    high: Operand
    places: int = 2


class DigitsValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="digits"):
    """Groups of eleven random digits joined by `-`: ten for sbtest's c, five for its pad."""

    groups: int


class ChanceValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="chance"):
    """True in `percent` of the cases."""

    percent: float | str


class SerialValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="serial"):
    """Counts up with every use, on each connection by itself."""

    first: int = 1


class UniqueValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="unique"):
    """A number of 32 bits with sign that occurs only once in the run."""


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


class ListValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="list"):
    """`count` draws of the same kind; in ascending order if `ordered`."""

    of: DrawValue
    count: Operand
    ordered: bool = False


Make = DrawValue | ListValue
Let = Make | str | int | float | bool
"""A draw, or an expression of what is known already."""


class PartText(Strict, frozen=True, kw_only=True):
    """A piece of SQL for `{its name}` in the statement, `repeat` times with `join` in between."""

    sql: str
    repeat: Operand
    join: str = ", "
    let: dict[str, Let] = {}
    bind: tuple[str, ...] = ()


class StatementText(Strict, frozen=True, kw_only=True):
    """A statement with `?` placeholders, bound to variables or expressions. `{table}` is the step's table."""

    name: str
    sql: str
    bind: tuple[str, ...] = ()
    prepared: bool = True
    capture: tuple[str, ...] = ()
    rows: str = ""
    parts: dict[str, PartText] = {}


class StepText(Strict, frozen=True, kw_only=True):
    """Statements that are done `repeat` times or for `each` item of a list, only `when` a condition holds."""

    repeat: Operand = 1
    each: str = ""
    into: tuple[str, ...] = ()
    index: str = ""
    when: str = ""
    table: str = ""
    let: dict[str, Let] = {}
    statements: tuple[StatementText, ...] = ()
    steps: tuple["StepText", ...] = ()
    rollback: bool | float = False


class TransactionText(Strict, frozen=True, kw_only=True):
    """One kind of transaction. It stands between BEGIN and COMMIT unless `autocommit` (or its flag) is on.

    A step is written in place, or named if it stands in the profile's `steps`. `keying_seconds` pass before
    it, `think_seconds` at the mean after it, in a closed loop.
    """

    name: str
    weight: float = 1.0
    autocommit: bool | str = False
    keying_seconds: float = 0.0
    think_seconds: float = 0.0
    steps: tuple[StepText | str, ...]


class HeadlineText(Strict, frozen=True, kw_only=True):
    """The figure that the profile is known by: how often a transaction is completed in `per_seconds`.

    `ideal` is the most there can be, an expression of options. Unless the flag `needs` is on, it is no
    measure: `doubt` says so.
    """

    title: str
    transaction: str
    per_seconds: float = 60.0
    note: str = ""
    ideal: str = ""
    needs: str = ""
    doubt: str = ""


class Profile(Strict, frozen=True, kw_only=True):
    """A whole file. `defaults` gives the data set's options other defaults, `options` adds new ones.

    With `extends`, all that is not said here is as in another profile, and the tables add to its tables.
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
    options: dict[str, Option] = {}
    lists: dict[str, tuple[int | float | str, ...]] = {}
    steps: dict[str, StepText] = {}
    transactions: tuple[TransactionText, ...] = ()


ELEMENTS = {
    "let": Let,
    "options": Option,
    "defaults": OptionValue,
    "lists": tuple[int | float | str, ...],
    "parts": PartText,
    "steps": StepText,
}
"""What the tables with free keys hold, so that an error in one can be pinned on its key."""

MAKES = {make.__struct_config__.tag: make for make in get_args(Make)}
"""Every kind of draw by the word after `make`."""


def key_names() -> frozenset[str]:
    """Every key that means something in a profile, to suggest the nearest."""
    tables = (
        Profile,
        HeadlineText,
        TransactionText,
        StepText,
        StatementText,
        PartText,
        Option,
        *MAKES.values(),
    )
    return frozenset(name for table in tables for name in table.__struct_fields__) | {"make"}


def extended(child: Profile, base: Profile) -> Profile:
    """The child with all that it does not say taken from the base."""
    tables = {
        name: {**getattr(base, name), **getattr(child, name)}
        for name in ("defaults", "options", "lists", "steps")
    }
    words = {
        name: getattr(child, name) or getattr(base, name)
        for name in ("data_set", "draw", "empty_unless", "pauses_if", "headline", "transactions")
    }
    return msgspec.structs.replace(child, extends="", **tables, **words)
