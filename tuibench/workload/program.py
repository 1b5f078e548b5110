"""Compiled programs: a serialisable structure that an engine runs without TOML and options.

Options and lists are resolved, steps that never run are omitted, and each statement has its SQL for every
table. Weights can be changed during a run.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tuibench.base.errors import UsageError, did_you_mean
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
    """A part of a statement: `sql`, repeated and separated by `join`."""

    field: str
    """Its place in the statement: `{field}`."""
    sql: str
    repeat: int
    join: str = ", "
    index: str = ""
    """Name of a variable that counts the repetitions from 1."""
    before: int = 0
    """Number of the statement's placeholders before it."""
    let: dict[str, Value] = {}
    """Variables drawn for each repetition."""
    bind: Bind = ()

    @property
    def text(self) -> str:
        return self.join.join([self.sql] * self.repeat)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement."""

    name: str
    cls: StatementClass
    sql: tuple[str, ...]
    """For each table; a single one if the statement uses no table."""
    bind: Bind = ()
    prepared: bool = True
    """False for a statement that is sent as text."""
    capture: tuple[str, ...] = ()
    """Variables for the columns of the first row; they are null without a row."""
    rows: str = ""
    """Variable for the list of all rows."""
    part: RepeatedPart | None = None

    @property
    def captures(self) -> bool:
        return bool(self.capture or self.rows)


class ProgramStep(msgspec.Struct, frozen=True, kw_only=True):
    """Statements and then inner `steps`, executed `repeat` times."""

    repeat: int | Expression
    let: dict[str, Value]
    """Variables set at every repetition."""
    statements: tuple[Statement, ...]
    when: Expression | None = None
    """Condition, evaluated once before all repetitions."""
    each: Expression | None = None
    """List to iterate over instead of `repeat`."""
    names: tuple[str, ...] = ()
    """Variables for the items of `each`, or for the columns of the items."""
    index: str = ""
    """Variable that counts the repetitions from 1."""
    table: Expression | None = None
    """Number of the table, from 0; without it, one table is drawn for all repetitions."""
    steps: tuple["ProgramStep", ...] = ()
    rollback: float = 0.0
    """Probability, 0 to 1, with which the step is executed; if not 0, the step ends the transaction with
    ROLLBACK.
    """


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of transaction."""

    name: str
    weight: float
    explicit: bool
    """True if BEGIN and COMMIT are steps of it."""
    steps: tuple[ProgramStep, ...]
    keying_seconds: float = 0.0
    """Wait before it, in a closed loop."""
    think_seconds: float = 0.0
    """Mean wait after it, in a closed loop."""

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
    """A fixed sequence of transactions (by index) for each connection: `count` transactions of a cycle, then
    those of `ending`.
    """

    cycle: tuple[int, ...]
    count: int
    ending: tuple[int, ...] = ()
    reconnect_at: frozenset[int] = frozenset()
    """Positions in the cycle before which the connection logs in again, except before its
    first transaction.
    """

    @property
    def total(self) -> int:
        """Number of transactions of one connection."""
        return self.count + len(self.ending)


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A Lua script of sysbench."""

    path: str
    text: str
    command: str = "run"
    """The command to run: `run` for events."""
    search: tuple[str, ...] = ()
    """Folders that its `require` searches."""
    allows_io: bool = False
    """True if it may use files and programs."""
    general: tuple[tuple[str, bool | float | str | tuple[str, ...]], ...] = ()
    """Values of sysbench's own options: those of the run and of the server."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled program."""

    profile: str
    data_set: str
    tables: tuple[str, ...]
    options: dict[str, OptionValue]
    """The profile's resolved options, which define the data set."""
    transactions: tuple[Transaction, ...]
    deck: bool = False
    """Transactions are taken from a shuffled deck with as many cards of each kind as its weight, so that each
    deck has the exact mix.
    """
    empty: bool = False
    """The tables are created without rows."""
    turns: Turns | None = None
    """A fixed order of transactions; a connection ends with the last one."""
    headline: Headline | None = None
    """The profile's main figure, if it has one."""
    script: Script | None = None
    """Sends its own statements in place of the transactions'."""

    @property
    def interactive(self) -> bool:
        """True if any transaction is interactive."""
        return any(transaction.interactive for transaction in self.transactions)


class FlatStatement(msgspec.Struct, frozen=True):
    """One entry of the flat list of statements, to which calls refer by index."""

    name: str
    cls: StatementClass
    sql: str
    prepared: bool = True
    captures: bool = False
    """True if its rows are returned."""


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
    """The layout of a program, shared by the generators of all connections.

    Statements are looked up by identity: they must belong to this program, or to a copy with other weights.
    """

    def __init__(self, program: Program) -> None:
        indexes = flat_indexes(program)
        self.statements: tuple[FlatStatement, ...] = tuple(indexes)
        """The flat list of statements."""
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
    """The program with these weights, in the order of its transactions."""
    pairs = zip(program.transactions, weights, strict=True)
    changed = tuple(msgspec.structs.replace(transaction, weight=weight) for transaction, weight in pairs)
    return msgspec.structs.replace(program, transactions=changed)


def validated_mix(program: Program, given: Mapping[str, float]) -> dict[str, float]:
    """All weights; the given ones replace the program's. A transaction with weight 0 is not used.

    Raises UsageError for an unknown name, a weight out of range, or weights that are all 0.
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
