"""What a profile compiles to: a serialisable program that an engine can run without knowing TOML or options.

Options and lists are resolved, steps that never happen are gone, each statement has its SQL for every table.
"""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from tuibench.model.headline import Headline
from tuibench.model.plan import OptionValue
from tuibench.workload.expression import Expression
from tuibench.workload.value import (
    Digits,
    Distribution,
    Gaussian,
    Key,
    Pareto,
    Special,
    Sum,
    Uniform,
    Value,
    Zipfian,
)

__all__ = [
    "Digits", "Distribution", "FlatStatement", "Gaussian", "Key", "Pareto", "Part", "Program", "Special",
    "Statement", "StatementClass", "Step", "Sum", "Transaction", "Turns", "Uniform", "Value", "Zipfian",
    "flat_indexes", "flat_of", "flat_statements",
]  # fmt: skip

MOST_CARDS = 10_000
"""A deck holds no more."""

CONNECTION = "connection"
"""The variable that every transaction has: the number of its connection, from 0."""


class StatementClass(StrEnum):
    """Where a statement is counted: SELECT reads, INSERT, UPDATE, DELETE and REPLACE write."""

    READ = "read"
    WRITE = "write"
    OTHER = "other"


Bind = tuple[str | Expression, ...]
"""What goes into placeholders, in their order: variables by name, or expressions of them."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of SQL that is repeated in its statement: `sql`, `repeat` times, with `join` in between.

    Its variables are drawn anew for every repetition. `before` is how many placeholders of the statement come
    before it.
    """

    field: str
    sql: str
    repeat: int
    join: str = ", "
    before: int = 0
    let: dict[str, Value] = {}
    bind: Bind = ()

    @property
    def text(self) -> str:
        """The whole of it."""
        return self.join.join([self.sql] * self.repeat)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement: `sql` once for each table, or just once when it names none.

    `prepared` is False for statements that servers refuse to prepare (BEGIN) or that shall be sent as text.
    `capture` names the variables that take the first row's columns, null without a row; `rows` the variable
    that takes all rows as a list.
    """

    name: str
    cls: StatementClass
    sql: tuple[str, ...]
    bind: Bind = ()
    prepared: bool = True
    capture: tuple[str, ...] = ()
    rows: str = ""
    part: Part | None = None

    @property
    def captures(self) -> bool:
        """Whether its rows are needed."""
        return bool(self.capture or self.rows)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Statements done `repeat` times, and after them the inner `steps`.

    The table is drawn once (or is `table`, counted from 0), the variables are set anew at every repetition.
    `each` goes over a list instead of a count, its items or their columns being put into `names`; `index`
    counts the repetitions from 1. `when` is asked once, before all. A step with `rollback` happens with that
    chance, 0 to 1, and ends the transaction: its statement is ROLLBACK.
    """

    repeat: int | Expression
    let: dict[str, Value]
    statements: tuple[Statement, ...]
    when: Expression | None = None
    each: Expression | None = None
    names: tuple[str, ...] = ()
    index: str = ""
    table: Expression | None = None
    steps: tuple["Step", ...] = ()
    rollback: float = 0.0


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of transaction. `explicit` ones have BEGIN and COMMIT as steps of their own.

    In a closed loop, `keying_seconds` pass before it, and `think_seconds` at the mean after it.
    """

    name: str
    weight: float
    explicit: bool
    steps: tuple[Step, ...]
    keying_seconds: float = 0.0
    think_seconds: float = 0.0

    @property
    def interactive(self) -> bool:
        """Whether rows that come back decide what is sent next."""
        return any(statement.captures for step in all_steps(self.steps) for statement in step.statements)


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """What each connection does, in this order: `count` transactions of a cycle, and then those of `ending`.

    Transactions are named by their index. Before those at the places `anew` of the cycle the connection logs
    in again, except at the very beginning.
    """

    cycle: tuple[int, ...]
    count: int
    ending: tuple[int, ...] = ()
    anew: frozenset[int] = frozenset()

    @property
    def total(self) -> int:
        """Transactions of one connection."""
        return self.count + len(self.ending)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """All that an engine needs. `options` are the profile's, resolved: the data set is made from them.

    With a `deck`, transactions are dealt from a shuffled deck that holds each as often as its weight says,
    so that every stretch of that many transactions has the exact mix. With `turns` they come in a fixed
    order, and a connection ends with the last of them. `empty` data sets are made without rows. `headline`
    is the figure that the profile is known by, if there is one.
    """

    profile: str
    data_set: str
    tables: tuple[str, ...]
    options: dict[str, OptionValue]
    transactions: tuple[Transaction, ...]
    deck: bool = False
    empty: bool = False
    turns: Turns | None = None
    headline: Headline | None = None

    @property
    def interactive(self) -> bool:
        """Whether any transaction is."""
        return any(transaction.interactive for transaction in self.transactions)


class FlatStatement(msgspec.Struct, frozen=True):
    """One entry of the flat list that a call's statement index points into.

    `captures` tells that its rows must be handed back.
    """

    name: str
    cls: StatementClass
    sql: str
    prepared: bool = True
    captures: bool = False


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """The steps with their inner ones, in the order of the profile."""
    for step in steps:
        yield step
        yield from all_steps(step.steps)


def flat_statements(program: Program) -> tuple[FlatStatement, ...]:
    """Every statement for every table, in the order a Generator counts them; equal ones appear once."""
    return tuple(flat_indexes(program))


def flat_indexes(program: Program) -> dict[FlatStatement, int]:
    """Each flat statement with its index. The tables of one statement have consecutive indexes."""
    indexes: dict[FlatStatement, int] = {}
    for transaction in program.transactions:
        for step in all_steps(transaction.steps):
            for statement in step.statements:
                for flat in _per_table(statement):
                    indexes.setdefault(flat, len(indexes))
    return indexes


def _per_table(statement: Statement) -> tuple[FlatStatement, ...]:
    return tuple(flat_of(statement, table) for table in range(len(statement.sql)))


def flat_of(statement: Statement, table: int = 0) -> FlatStatement:
    """The flat statement for a table, the first one unless told."""
    sql = statement.sql[table]
    if statement.part is not None:
        sql = sql.replace(f"{{{statement.part.field}}}", statement.part.text)
    return FlatStatement(statement.name, statement.cls, sql, statement.prepared, statement.captures)
