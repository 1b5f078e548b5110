"""What may stand in a profile: the structure of the TOML file, key by key.

The meaning beyond the structure (that a name is defined, that placeholders match) is checked in `check`,
the way to numbers is `compile`.
"""

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.options import Option


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Keys that are not listed are errors."""


class KeyValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="key"):
    """A row's key from `low` to `high`, by the distribution that --rand-type chooses."""

    low: int | str = 1
    high: int | str


class UniformValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="uniform"):
    """A whole number from `low` to `high`, each equally often."""

    low: int | str = 1
    high: int | str


class DigitsValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="digits"):
    """Groups of eleven random digits joined by `-`: ten for sbtest's c, five for its pad."""

    groups: int


class SumValue(Strict, frozen=True, kw_only=True, tag_field="make", tag="sum"):
    """A sum of earlier variables of the step, options and numbers: the upper bound of a range."""

    of: tuple[int | str, ...]


Make = KeyValue | UniformValue | DigitsValue | SumValue


class StatementText(Strict, frozen=True, kw_only=True):
    """A statement with `?` placeholders, bound to variables by name. `{table}` is the step's table."""

    name: str
    sql: str
    bind: tuple[str, ...] = ()


class StepText(Strict, frozen=True, kw_only=True):
    """Statements that are done `repeat` times (a number or an option), only `when` a flag is on."""

    repeat: int | str = 1
    when: str = ""
    let: dict[str, Make] = {}
    statements: tuple[StatementText, ...]


class TransactionText(Strict, frozen=True, kw_only=True):
    """One kind of transaction. It stands between BEGIN and COMMIT unless `autocommit` (or its flag) is on."""

    name: str
    weight: float = 1.0
    autocommit: bool | str = False
    steps: tuple[StepText, ...]


class Profile(Strict, frozen=True, kw_only=True):
    """A whole file. `defaults` gives the data set's options other defaults, `options` adds new ones."""

    name: str
    summary: str
    data_set: str
    defaults: dict[str, OptionValue] = {}
    options: dict[str, Option] = {}
    transactions: tuple[TransactionText, ...]


ELEMENTS = {"let": Make, "options": Option, "defaults": OptionValue}
"""What the tables with free keys hold, so that an error in one can be pinned on its key."""


def key_names() -> frozenset[str]:
    """Every key that means something in a profile, to suggest the nearest."""
    tables = (Profile, TransactionText, StepText, StatementText, Option, *Make.__args__)
    return frozenset(name for table in tables for name in table.__struct_fields__) | {"make"}
