"""What a profile compiles to: a serialisable program that an engine can run without knowing TOML or options.

Numbers are resolved, steps that never happen are gone, each statement has its SQL for every table.
"""

from enum import StrEnum

import msgspec

from tuibench.model.plan import OptionValue


class StatementClass(StrEnum):
    """Where a statement is counted: SELECT reads, INSERT, UPDATE, DELETE and REPLACE write."""

    READ = "read"
    WRITE = "write"
    OTHER = "other"


class Uniform(msgspec.Struct, frozen=True, tag="uniform"):
    """Every key equally often."""


class Gaussian(msgspec.Struct, frozen=True, tag="gaussian"):
    """The mean of `iterations` uniform draws."""

    iterations: int


class Special(msgspec.Struct, frozen=True, tag="special"):
    """sysbench's default: `hot_share` of the draws fall into the middle `hot_width` of the keys.

    Both are shares from 0 to 1; the other draws are the mean of `iterations` uniform ones.
    """

    iterations: int
    hot_width: float
    hot_share: float


class Pareto(msgspec.Struct, frozen=True, tag="pareto"):
    """Self-similar: the first `h` of the keys take 1 - h of the draws."""

    h: float


class Zipfian(msgspec.Struct, frozen=True, tag="zipfian"):
    """Key number i as often as 1 / i ** exponent."""

    exponent: float


Distribution = Uniform | Gaussian | Special | Pareto | Zipfian


class Key(msgspec.Struct, frozen=True, tag="key"):
    """A whole number from low to high, both included."""

    low: int
    high: int
    distribution: Distribution


class Digits(msgspec.Struct, frozen=True, tag="digits"):
    """Groups of eleven random digits joined by `-`."""

    groups: int


class Sum(msgspec.Struct, frozen=True, tag="sum"):
    """The sum of earlier variables of the step, and a constant."""

    variables: tuple[str, ...]
    constant: int


Value = Key | Digits | Sum


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement: `sql` once for each table, or just once when it names none.

    `bind` names the variables for its placeholders, in order. `prepared` is False for statements
    that servers refuse to prepare (BEGIN): they are sent as text.
    """

    name: str
    cls: StatementClass
    sql: tuple[str, ...]
    bind: tuple[str, ...] = ()
    prepared: bool = True


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Statements done `repeat` times: the table is drawn once, the variables anew at every repetition."""

    repeat: int
    let: dict[str, Value]
    statements: tuple[Statement, ...]


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of transaction. `explicit` ones have BEGIN and COMMIT as steps of their own."""

    name: str
    weight: float
    explicit: bool
    steps: tuple[Step, ...]

    @property
    def statements(self) -> int:
        """How many statements one transaction sends."""
        return sum(step.repeat * len(step.statements) for step in self.steps)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """All that an engine needs. `options` are the profile's, resolved: the data set is made from them."""

    profile: str
    data_set: str
    tables: tuple[str, ...]
    options: dict[str, OptionValue]
    transactions: tuple[Transaction, ...]


class FlatStatement(msgspec.Struct, frozen=True):
    """One entry of the flat list that a call's statement index points into."""

    name: str
    cls: StatementClass
    sql: str
    prepared: bool = True


def flat_statements(program: Program) -> tuple[FlatStatement, ...]:
    """Every statement for every table, in the order a Generator counts them; equal ones appear once."""
    return tuple(flat_indexes(program))


def flat_indexes(program: Program) -> dict[FlatStatement, int]:
    """Each flat statement with its index. The tables of one statement have consecutive indexes."""
    indexes: dict[FlatStatement, int] = {}
    for transaction in program.transactions:
        for step in transaction.steps:
            for statement in step.statements:
                for flat in _per_table(statement):
                    indexes.setdefault(flat, len(indexes))
    return indexes


def _per_table(statement: Statement) -> tuple[FlatStatement, ...]:
    return tuple(
        FlatStatement(statement.name, statement.cls, sql, statement.prepared) for sql in statement.sql
    )


def first_index(indexes: dict[FlatStatement, int], statement: Statement) -> int:
    """The flat index of a statement for the first table."""
    return indexes[_per_table(statement)[0]]
