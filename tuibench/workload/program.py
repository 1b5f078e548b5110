"""Compiled programs: a serialisable structure that an engine runs without TOML and options.

Options and lists are resolved, steps that never run are omitted, each statement has its SQL for every table.
Weights can be changed during a run.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tuibench.errors import UsageError, did_you_mean
from tuibench.model.findings import Headline
from tuibench.model.plan import OptionValue
from tuibench.workload.expressions import Expression, variable_names
from tuibench.workload.sql import StatementClass, fill_field
from tuibench.workload.values import Formula, List, Sum, Value

MAX_DECK_CARDS = 10_000
"""Maximum number of cards in a deck."""

CONNECTION = "connection"
"""The predefined variable with the connection's number, from 0."""


Bind = tuple[str | Expression, ...]
"""Values of placeholders, in their order: variables by name, or expressions."""


class RepeatedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A repeated part of a statement: `sql`, `repeat` times, separated by `join`.

    Its variables are drawn for each repetition, and `index` counts these from 1. `before` is the number of
    the statement's placeholders before it.
    """

    field: str
    sql: str
    repeat: int
    join: str = ", "
    index: str = ""
    before: int = 0
    let: dict[str, Value] = {}
    bind: Bind = ()

    @property
    def text(self) -> str:
        return self.join.join([self.sql] * self.repeat)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement: `sql` per table, or once if it uses no table.

    `prepared` is False for statements that are to be sent as text. `capture`
    names the variables for the first row's columns, null without a row; `rows` the variable for the list of
    all rows.
    """

    name: str
    cls: StatementClass
    sql: tuple[str, ...]
    bind: Bind = ()
    prepared: bool = True
    capture: tuple[str, ...] = ()
    rows: str = ""
    part: RepeatedPart | None = None

    @property
    def captures(self) -> bool:
        return bool(self.capture or self.rows)


class ProgramStep(msgspec.Struct, frozen=True, kw_only=True):
    """Statements and then inner `steps`, executed `repeat` times.

    The table is drawn once (or is `table`, from 0); the variables are set at every repetition. `each`
    iterates over a list instead, with its items or their columns in `names`; `index` counts the repetitions
    from 1. `when` is evaluated once, before all. A step with `rollback` is executed with that probability, 0
    to 1, and ends the transaction with ROLLBACK.
    """

    repeat: int | Expression
    let: dict[str, Value]
    statements: tuple[Statement, ...]
    when: Expression | None = None
    each: Expression | None = None
    names: tuple[str, ...] = ()
    index: str = ""
    table: Expression | None = None
    steps: tuple["ProgramStep", ...] = ()
    rollback: float = 0.0


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of transaction. `explicit` ones have BEGIN and COMMIT as separate steps.

    In a closed loop, `keying_seconds` is the wait before it, `think_seconds` the mean wait after it.
    """

    name: str
    weight: float
    explicit: bool
    steps: tuple[ProgramStep, ...]
    keying_seconds: float = 0.0
    think_seconds: float = 0.0

    @property
    def interactive(self) -> bool:
        """True if later statements depend on captured rows."""
        return any(statement.captures for step in all_steps(self.steps) for statement in step.statements)

    @property
    def writes(self) -> bool:
        """True if it has a statement that inserts, updates or deletes."""
        return any(
            statement.cls is StatementClass.WRITE
            for step in all_steps(self.steps)
            for statement in step.statements
        )


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """A fixed sequence for each connection: `count` transactions of a cycle, then those of `ending`.

    Transactions are indexes. The connection logs in again before the positions `reconnect_at` of the cycle,
    except before the first transaction.
    """

    cycle: tuple[int, ...]
    count: int
    ending: tuple[int, ...] = ()
    reconnect_at: frozenset[int] = frozenset()

    @property
    def total(self) -> int:
        """Number of transactions of one connection."""
        return self.count + len(self.ending)


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A Lua script of sysbench: its file and text, and the folders that its `require` searches.

    `command` is the command that is run, `run` for events. With `allows_io` it may use files and programs.
    `general` are the values of sysbench's own options: those of the run and of the server.
    """

    path: str
    text: str
    command: str = "run"
    search: tuple[str, ...] = ()
    allows_io: bool = False
    general: tuple[tuple[str, bool | float | str | tuple[str, ...]], ...] = ()


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled program. `options` are the profile's resolved options, which define the data set.

    With `deck`, transactions are taken from a shuffled deck with as many cards of each kind as its weight, so
    that each deck has the exact mix. With `turns` they have a fixed order, and a connection ends with the
    last one. `empty` data sets are created without rows. `headline` is the profile's main figure, if it has
    one. A `script` sends statements of its own in place of the transactions'.
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
    script: Script | None = None

    @property
    def interactive(self) -> bool:
        """True if any transaction is interactive."""
        return any(transaction.interactive for transaction in self.transactions)


class FlatStatement(msgspec.Struct, frozen=True):
    """One entry of the flat list of statements, which calls refer to by index.

    `captures` means that its rows are returned.
    """

    name: str
    cls: StatementClass
    sql: str
    prepared: bool = True
    captures: bool = False


def all_steps(steps: tuple[ProgramStep, ...]) -> Iterator[ProgramStep]:
    """All steps, including inner ones, in the order of the profile."""
    for step in steps:
        yield step
        yield from all_steps(step.steps)


def flat_statements(program: Program) -> tuple[FlatStatement, ...]:
    """Every statement for every table, in the order of the generator's indexes, without duplicates."""
    return tuple(flat_indexes(program))


def flat_indexes(program: Program) -> dict[FlatStatement, int]:
    """Each flat statement with its index. The tables of one statement have consecutive indexes."""
    indexes: dict[FlatStatement, int] = {}
    for transaction in program.transactions:
        for step in all_steps(transaction.steps):
            for statement in step.statements:
                for table in range(len(statement.sql)):
                    indexes.setdefault(flat_of(statement, table), len(indexes))
    return indexes


def flat_of(statement: Statement, table: int = 0) -> FlatStatement:
    """The flat statement for a table; by default the first one."""
    sql = statement.sql[table]
    if statement.part is not None:
        sql = fill_field(sql, statement.part.field, statement.part.text)
    return FlatStatement(statement.name, statement.cls, sql, statement.prepared, statement.captures)


class ProgramLayout:
    """The layout of a program, which the generators of all connections share.

    `statements` is its flat list, `steps` are those of all transactions. `are_static` says for each
    transaction whether its steps depend neither on each other nor on captured rows.

    Statements are looked up by identity: they must belong to this program, or to a copy with other weights.
    """

    def __init__(self, program: Program) -> None:
        indexes = flat_indexes(program)
        self.statements: tuple[FlatStatement, ...] = tuple(indexes)
        self.tables = len(program.tables)
        self.steps = [step for each in program.transactions for step in all_steps(each.steps)]
        self.are_static = [all(map(_is_static, each.steps)) for each in program.transactions]
        self.names_tables = any(step.table is not None for step in self.steps)
        self._first = {
            id(statement): indexes[flat_of(statement)] for step in self.steps for statement in step.statements
        }

    def first(self, statement: Statement) -> int:
        """The flat index of a statement for the first table."""
        return self._first[id(statement)]


def _is_static(step: ProgramStep) -> bool:
    return (
        isinstance(step.repeat, int)
        and step.when is step.each is None
        and not (step.index or step.steps or step.rollback)
        and not any(statement.captures for statement in step.statements)
        and not any(isinstance(value, List) for value in step.let.values())
        and (step.table is None or set(variable_names(step.table)) <= {CONNECTION})
        and _used_variables(step) <= {*step.let, CONNECTION}
    )


def _used_variables(step: ProgramStep) -> set[str]:
    """The variables that a step's formulas and statements use, without those of parts."""
    used: set[str] = set()
    for value in step.let.values():
        used |= _variables_of_value(value)
    for statement in step.statements:
        used |= _bound_variables(statement.bind)
        if statement.part is not None:
            inner = _bound_variables(statement.part.bind).union(
                *map(_variables_of_value, statement.part.let.values())
            )
            used |= inner - {*statement.part.let, statement.part.index}
    return used


def _variables_of_value(value: object) -> set[str]:
    match value:
        case Formula(expression=expression):
            return set(variable_names(expression))
        case List(count=count):
            return set() if isinstance(count, int) else set(variable_names(count))
        case Sum(variables=variables):
            return set(variables)
        case _:
            return set()


def _bound_variables(bind: tuple[str | Expression, ...]) -> set[str]:
    return {name for one in bind for name in ([one] if isinstance(one, str) else variable_names(one))}


MAX_WEIGHT = 1_000_000_000


def weights_of(program: Program) -> dict[str, float]:
    """The weights of the transactions, in the program's order."""
    return {transaction.name: transaction.weight for transaction in program.transactions}


def with_weights(program: Program, weights: Sequence[float]) -> Program:
    """The program with these weights for its transactions, in their order."""
    pairs = zip(program.transactions, weights, strict=True)
    changed = tuple(msgspec.structs.replace(transaction, weight=weight) for transaction, weight in pairs)
    return msgspec.structs.replace(program, transactions=changed)


def validated_mix(program: Program, given: Mapping[str, float]) -> dict[str, float]:
    """All weights; the given ones replace the program's.

    A transaction with weight 0 is not used. Raises UsageError for an unknown name, a weight out of range, or
    weights that are all 0.
    """
    now = weights_of(program)
    for name, weight in given.items():
        if name not in now:
            raise UsageError(f"{program.profile} has no transaction '{name}'", did_you_mean(name, now))
        if not 0 <= weight <= MAX_WEIGHT:
            raise UsageError(f"the weight of {name} must be between 0 and {MAX_WEIGHT:,}, not {weight:,g}")
        if program.deck and weight != int(weight):
            raise UsageError(f"{name}: in a deck a weight is a number of cards, not {weight:g}")
    mix = now | dict(given)
    if not any(mix.values()):
        raise UsageError("at least one transaction needs a weight above 0")
    if program.deck and sum(mix.values()) > MAX_DECK_CARDS:
        raise UsageError(f"a deck has at most {MAX_DECK_CARDS:,} cards")
    return mix
