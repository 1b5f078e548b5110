"""Transaction generator of one connection: statements with values. No I/O.

The random stream depends only on the seed and the connection's number, so that a seed gives the same calls
for any number of workers. A connection that reconnects must keep its generator: a new one would repeat serial
and unique numbers.

Static transactions have independent steps, and all their calls are known before the first is sent
(`program.ProgramLayout` determines which they are). They run for every statement of sysbench's tests, so each
of their steps is compiled once to closures with a short list of its own variables.

Interactive transactions have shared variables, loops, conditions, captured rows, and rollback. One is a
Python generator that yields calls and receives captured rows, so that engines and tests can run it.

Waits: keying times are constant; think times have a negative exponential distribution with a maximum (TPC-C
5.2.5.4). They use a separate random stream and do not change other values.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate, repeat
from math import log
from random import Random
from typing import Any

from tuibench.base.errors import RunError, UsageError
from tuibench.workload.draw import (
    EVALUATION_ERRORS,
    BindRow,
    DrawSource,
    Evaluate,
    VariableRow,
    characters,
    checked_decimal,
    constant_value,
    drawn_characters,
    loop_items,
    repetitions,
    statement_binder,
    variable_setter,
    whole_number,
)
from tuibench.workload.expressions import is_constant
from tuibench.workload.limits import (
    MAX_BOUND_CHARACTERS,
    MAX_CHARACTERS,
    MAX_DRAWN_CHARACTERS,
    TOO_MANY_REPETITIONS,
    TOO_MUCH_DRAWN,
    LimitError,
    checked_bytes,
    checked_text,
)
from tuibench.workload.program import (
    CONNECTION,
    Program,
    ProgramLayout,
    ProgramStep,
    Statement,
    Transaction,
    Turns,
    all_steps,
)
from tuibench.workload.values import Formula, List, Sum

DERIVED_VALUES = (Sum, Formula, List)

Call = tuple[int, tuple[Any, ...]]
"""A flat statement's index (see `flat_statements`) and the values of its placeholders."""

Calls = Callable[[], Sequence[Call]]
"""Returns the calls of a transaction, or of a step, with new values each time."""


def limited_calls(calls: Iterable[Call]) -> Sequence[Call]:
    """All calls of a step or a transaction. Raises LimitError if their texts are too long together."""
    made, left = [], MAX_DRAWN_CHARACTERS
    for call in calls:
        left -= characters(call[1])
        if left < 0:
            raise LimitError(TOO_MUCH_DRAWN)
        made.append(call)
    return tuple(made)


def _may_exceed(step: ProgramStep, repeat: int) -> bool:
    """True if the texts of a step may exceed the limit of texts drawn at once."""
    drawn = {name: drawn_characters(value) for name, value in step.let.items()}
    texts = sum(
        MAX_BOUND_CHARACTERS
        if statement.part is not None
        else sum(
            drawn.get(one, MAX_CHARACTERS) if isinstance(one, str) else MAX_CHARACTERS
            for one in statement.bind
        )
        for statement in step.statements
    )
    return repeat * texts > MAX_DRAWN_CHARACTERS


def _concatenate_calls(steps: Sequence[Calls]) -> Calls:
    def together() -> list[Call]:
        made: list[Call] = []
        for step in steps:
            made += step()
        return made

    return together


def _step_calls(step: ProgramStep, layout: ProgramLayout, source: DrawSource) -> Calls:
    tables, repeat = layout.tables, int(step.repeat) if isinstance(step.repeat, int) else 0
    is_varying = any(len(one.sql) > 1 or one.bind or one.part is not None for one in step.statements)
    if not step.let and not is_varying:
        once = [(layout.first(statement), ()) for statement in step.statements]
        fixed_calls = tuple(once * repeat)
        return lambda: fixed_calls
    derived = {name: value for name, value in step.let.items() if isinstance(value, DERIVED_VALUES)}
    drawn = [name for name in step.let if name not in derived]
    places = {name: place for place, name in enumerate((*drawn, *derived))}
    binds = [
        (layout.first(statement), len(statement.sql) > 1, statement_binder(statement, places, source))
        for statement in step.statements
    ]
    draws = [source.draw(value) for value in step.let.values() if not isinstance(value, DERIVED_VALUES)]
    sums = [variable_setter(value, places, source) for value in derived.values()]
    table = None if step.table is None else int(constant_value(source.resolve(step.table))) % tables
    if table is None and not step.let and _is_single_without_values(step.statements):
        return _calls_without_values(repeat, tables, binds[0][0], source.numbers.random)
    may_exceed = _may_exceed(step, repeat)
    if table is None and not sums and len(draws) == len(binds) == 1 and not may_exceed:
        return _single_variable_calls(repeat, tables, draws[0], binds[0], source.numbers.random)
    general = _general_calls(repeat, tables, table, draws, sums, binds, source.numbers.random)
    return (lambda: limited_calls(general())) if may_exceed else lambda: list(general())


def _is_single_without_values(statements: tuple[Statement, ...]) -> bool:
    """True if there is exactly one statement, and it has no values."""
    return len(statements) == 1 and not statements[0].bind and statements[0].part is None


def _calls_without_values(repeat: int, tables: int, first: int, random: Callable[[], float]) -> Calls:
    """Calls of one statement without values, on a random table."""
    return lambda: ((first + int(random() * tables), ()),) * repeat


def _single_variable_calls(
    repeat: int,
    tables: int,
    draw: Callable[[], Any],
    bind: tuple[int, bool, BindRow],
    random: Callable[[], float],
) -> Calls:
    """Calls of one statement with one variable: a point SELECT, an UPDATE by key, a DELETE."""
    first, per_table, values = bind
    repetitions = range(repeat)

    def once() -> tuple[Call]:
        table = int(random() * tables)
        return ((first + table if per_table else first, values([draw()])),)

    def repeated() -> list[Call]:
        table = int(random() * tables)
        index = first + table if per_table else first
        return [(index, values([draw()])) for _ in repetitions]

    return once if repeat == 1 else repeated


def _general_calls(
    repeat: int,
    tables: int,
    fixed_table: int | None,
    draws: list[Callable[[], Any]],
    sums: list[Evaluate],
    binds: list[tuple[int, bool, BindRow]],
    random: Callable[[], float],
) -> Callable[[], Iterator[Call]]:
    repetitions = range(repeat)

    def several() -> Iterator[Call]:
        table = int(random() * tables) if fixed_table is None else fixed_table
        chosen = [(first + table if per_table else first, bind) for first, per_table, bind in binds]
        for _ in repetitions:
            row = [draw() for draw in draws]
            for derive in sums:
                row.append(derive(row))
            for index, bind in chosen:
                yield index, bind(row)

    return several


MAX_INTEGER_DIGITS, MAX_DECIMAL_PLACES = 35, 30
"""The digits before and after the point that every server's DECIMAL supports."""

Rows = Sequence[Sequence[Any]]
"""The rows of a statement."""

Conversation = Generator[Call, Rows | None, None]
"""Yields calls; expects the rows of calls that capture, None for all others."""

_RunStep = Callable[[VariableRow], Generator[Call, Rows | None, bool]]
"""Executes a step with the transaction's variables; returns True if the step ended the transaction."""

_StoreRows = Callable[[VariableRow, Rows], None]
_Loop = Callable[[VariableRow], Iterable[Any]]


def interactive_transaction(
    transaction: Transaction, layout: ProgramLayout, source: DrawSource
) -> Callable[[], Conversation]:
    """The function that starts a transaction with new variables."""
    variables = _variables(transaction)
    places = {name: place for place, name in enumerate(variables)}
    steps = _StepBuilder(layout, source, places)
    runs = [steps.run(step) for step in transaction.steps]

    def start() -> Conversation:
        row: VariableRow = [None] * len(variables)
        for run in runs:
            if (yield from run(row)):
                return

    return start


def _variables(transaction: Transaction) -> list[str]:
    """All variables that a transaction sets, without duplicates."""
    found: dict[str, None] = {}
    for step in all_steps(transaction.steps):
        found |= dict.fromkeys((*step.names, *([step.index] if step.index else []), *step.let))
        for statement in step.statements:
            found |= dict.fromkeys((*statement.capture, *([statement.rows] if statement.rows else [])))
    found.pop(CONNECTION, None)
    return list(found)


class _StepBuilder:
    """Compiles the steps of one transaction to functions."""

    def __init__(self, layout: ProgramLayout, source: DrawSource, places: Mapping[str, int]) -> None:
        self._layout = layout
        self._source = source
        self._places = places

    def run(self, step: ProgramStep) -> _RunStep:
        when = None if step.when is None else self._source.function(step.when, self._places)
        chance, random = step.rollback, self._source.numbers.random
        loop, table = self._loop(step), self._table(step)
        body = self._body(step)

        def run(row: VariableRow) -> Generator[Call, Rows | None, bool]:
            if when is not None and not when(row):
                return False
            if 0 < chance < 1 and random() >= chance:
                return False
            chosen = table(row)
            for _ in loop(row):
                if (yield from body(row, chosen)):
                    return True
            return chance > 0

        return run

    def _body(self, step: ProgramStep) -> Callable[[VariableRow, int], Generator[Call, Rows | None, bool]]:
        """One repetition: variables, statements, inner steps."""
        lets = [
            (self._places[name], variable_setter(value, self._places, self._source))
            for name, value in step.let.items()
        ]
        sent = [
            (
                self._layout.first(statement),
                len(statement.sql) > 1,
                statement_binder(statement, self._places, self._source),
                self._keep(statement) if statement.captures else None,
            )
            for statement in step.statements
        ]
        inner = [self.run(one) for one in step.steps]

        def body(row: VariableRow, table: int) -> Generator[Call, Rows | None, bool]:
            for place, value in lets:
                row[place] = value(row)
            for first, per_table, bind, keep in sent:
                rows = yield (first + table if per_table else first, bind(row))
                if keep is not None:
                    keep(row, rows or ())
            for run in inner:
                if (yield from run(row)):
                    return True
            return False

        return body

    def _keep(self, statement: Statement) -> _StoreRows:
        columns = [self._places[name] for name in statement.capture]
        whole = self._places[statement.rows] if statement.rows else None

        def keep(row: VariableRow, rows: Rows) -> None:
            # Floating-point numbers are converted to exact numbers.
            kept = [
                [check(value) if (check := _CHECKS.get(type(value))) else value for value in one]
                for one in rows
            ]
            if columns:
                first = kept[0] if kept else [None] * len(columns)
                _assign_columns(row, columns, first, statement.name)
            if whole is not None:
                row[whole] = kept

        return keep

    def _table(self, step: ProgramStep) -> Callable[[VariableRow], int]:
        """The function that draws the table, if a statement uses one."""
        random, tables = self._source.numbers.random, self._layout.tables
        if step.table is not None:
            number = self._source.function(step.table, self._places)
            return lambda row: whole_number(number(row)) % tables
        if any(len(statement.sql) > 1 for statement in step.statements):
            return lambda row: int(random() * tables)
        return lambda row: 0

    def _loop(self, step: ProgramStep) -> _Loop:
        """Iterate over the repetitions and set the variables of each."""
        if step.each is not None:
            items = self._source.function(step.each, self._places)
            loop = _item_loop(items, [self._places[name] for name in step.names])
        elif isinstance(step.repeat, int):
            loop = _fixed_loop(step.repeat)
        else:
            loop = _counted_loop(self._source.function(step.repeat, self._places))
        return _numbered_loop(loop, self._places[step.index]) if step.index else loop


def _fixed_loop(repeat: int) -> _Loop:
    repetitions = range(repeat)
    return lambda row: repetitions


def _counted_loop(count: Evaluate) -> _Loop:
    return lambda row: range(repetitions(count(row), TOO_MANY_REPETITIONS))


def _item_loop(items: Evaluate, columns: list[int]) -> _Loop:
    """Assign each item to its variables: a row by columns, any other value to the single variable."""

    def loop(row: VariableRow) -> Iterator[None]:
        for item in loop_items(items(row)):
            _assign_columns(row, columns, item if type(item) is list else [item], "each")
            yield

    return loop


def _numbered_loop(loop: _Loop, place: int) -> _Loop:
    def numbered(row: VariableRow) -> Iterator[None]:
        for number, _ in enumerate(loop(row), 1):
            row[place] = number
            yield

    return numbered


def _assign_columns(row: VariableRow, columns: list[int], values: Sequence[Any], where: str) -> None:
    if len(values) < len(columns):
        raise UsageError(f"'{where}' gives {len(values)} columns, {len(columns)} variables are declared")
    for place, value in zip(columns, values, strict=False):
        row[place] = value


def _as_decimal(value: float) -> Decimal | float:
    """The shortest decimal form of a float; a number beyond DECIMAL's range stays a float."""
    exact = Decimal(str(value))
    exponent = exact.as_tuple().exponent
    fits = (
        isinstance(exponent, int)
        and exponent >= -MAX_DECIMAL_PLACES
        and exact.adjusted() < MAX_INTEGER_DIGITS
    )
    return exact if fits else value


_CHECKS: dict[type, Callable[[Any], Any]] = {
    float: _as_decimal,
    Decimal: checked_decimal,
    str: checked_text,
    bytes: checked_bytes,
}


class TurnSequence:
    """The fixed sequence of transactions of one connection."""

    __slots__ = ("_count", "_cycle", "_done", "_left_at", "_length", "_total", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._cycle, self._length, self._count = turns.cycle, len(turns.cycle), turns.count
        self._total = turns.total
        self._done = 0
        self._left_at = 0

    @property
    def is_exhausted(self) -> bool:
        return self._done >= self._total

    @property
    def uninterrupted(self) -> int:
        """Number of turns until `is_exhausted` and `needs_reconnect` must be checked again."""
        left = self._total - self._done
        return min(1, left) if self._turns.reconnect_at else left

    def take(self) -> int:
        """The index of the next transaction, which must exist."""
        done = self._done
        self._done = done + 1
        if done < self._count:
            return self._cycle[done % self._length]
        return self._turns.ending[done - self._count]

    def needs_reconnect(self) -> bool:
        """True if the connection must log in again before the next transaction; True only once for each
        reconnect.
        """
        turns, done = self._turns, self._done
        if (
            not turns.reconnect_at
            or done in (self._left_at, 0)
            or done >= turns.count
            or done % len(turns.cycle) not in turns.reconnect_at
        ):
            return False
        self._left_at = done
        return True


MAX_THINK_MEANS = 10.0
"""The maximum think time, as a multiple of its mean."""


class Pauses:
    """The waits of one connection."""

    __slots__ = ("_keying", "_random", "_thinking", "are_any")

    def __init__(self, program: Program, seed: int, connection: int) -> None:
        self._keying = [transaction.keying_seconds for transaction in program.transactions]
        self._thinking = [transaction.think_seconds for transaction in program.transactions]
        self.are_any = any(self._keying) or any(self._thinking)
        self._random = Random(f"tuibench:{seed}:{connection}:think").random

    def before(self, which: int) -> float:
        """Seconds before a transaction."""
        return self._keying[which]

    def after(self, which: int) -> float:
        """Seconds after a transaction."""
        mean = self._thinking[which]
        return min(-mean * log(1.0 - self._random()), MAX_THINK_MEANS * mean) if mean else 0.0


class TransactionGenerator:
    """Generates transactions for one connection; connections are numbered from 0 over the whole run. All
    generators share the program's `layout`.

    An engine calls `draw` once for each transaction. A transaction that is retried keeps its kind and gets
    new values, because the old ones could deadlock again. For every attempt it then runs, depending on
    `Transaction.interactive` of the program's transaction:

    - not interactive: `calls[which]()` returns all calls; the rows of their statements are dropped;
    - interactive: `start_interactive(which)` yields the calls one by one, and receives captured rows:

        calls = generator.start_interactive(which)
        rows = None
        while True:
            try:
                index, values = calls.send(rows)
            except StopIteration:
                break
            if flat[index].captures:
                rows = await fetch[index](values)  # a sequence of rows, each a sequence of columns
            else:
                await execute[index](values)  # rows dropped
                rows = None

    An attempt that fails (SQL error, cancellation) is ended with `calls.close()`. `send` may raise a
    TuibenchError of the profile (a text is multiplied, a captured row is too short), which is not the
    server's error and must not be retried. The affected rows of a SELECT are the number of rows fetched.

    A transaction that ends with the flat statement `rollback` was rolled back on purpose: it is completed,
    but not committed. BEGIN, COMMIT and ROLLBACK are calls like all others; the engine itself rolls back only
    after an error.

    A program with `turns` ends when `is_exhausted`; if `needs_reconnect()`, the connection must log in again
    before the next draw.
    """

    __slots__ = ("_deck", "_numbers", "_starts", "_turns", "calls", "draw", "needed", "pauses", "profile")

    draw: Callable[[], int]
    """Returns the index of the next transaction, by weight, from the deck, or by turns. `set_weights`
    replaces it.
    """

    def __init__(
        self,
        program: Program,
        seed: int,
        connection: int,
        layout: ProgramLayout | None = None,
    ) -> None:
        source = DrawSource(seed, connection)
        layout = layout or ProgramLayout(program)
        self.calls: list[Calls] = []
        self._starts: dict[int, Callable[[], Conversation]] = {}
        for which, transaction in enumerate(program.transactions):
            if layout.are_static[which]:
                steps = [_step_calls(step, layout, source) for step in transaction.steps]
                self.calls.append(steps[0] if len(steps) == 1 else _concatenate_calls(steps))
            else:
                start = interactive_transaction(transaction, layout, source)
                self._starts[which] = guarded = _with_run_errors(start, program.profile, transaction.name)
                self.calls.append(_collect_calls(guarded))
        self._numbers = source.numbers
        self.profile = program.profile
        self._deck = program.deck
        self._turns = TurnSequence(program.turns) if program.turns is not None else None
        self.set_weights([transaction.weight for transaction in program.transactions])
        self.needed = needed_by_connection(layout, source)
        self.pauses = Pauses(program, seed, connection)

    def set_weights(self, weights: Sequence[float]) -> None:
        """Set the weights of the transactions. The rest of a deck is discarded; turns do not change."""
        turns = self._turns
        self.draw = turns.take if turns is not None else _chooser(weights, self._numbers, deck=self._deck)

    def uninterrupted(self) -> Iterable[None]:
        """An item for each transaction that may follow without a wait, a reconnect, or the end."""
        if self.pauses.are_any:
            return repeat(None, 1)
        return repeat(None) if self._turns is None else repeat(None, self._turns.uninterrupted)

    @property
    def is_exhausted(self) -> bool:
        return self._turns is not None and self._turns.is_exhausted

    def needs_reconnect(self) -> bool:
        """True if a reconnect is required before the next transaction; True only once for each reconnect."""
        return self._turns is not None and self._turns.needs_reconnect()

    def start_interactive(self, which: int) -> Conversation:
        """A transaction with new values, call by call; captured rows are sent to it. Works for any
        transaction.
        """
        if which in self._starts:
            return self._starts[which]()
        return _replay_calls(self.calls[which]())


def _collect_calls(start: Callable[[], Conversation]) -> Calls:
    """The calls of a transaction that captures no rows, all at once."""
    return lambda: limited_calls(start())


def _replay_calls(calls: Iterable[Call]) -> Conversation:
    yield from calls


def _with_run_errors(
    start: Callable[[], Conversation], profile: str, transaction: str
) -> Callable[[], Conversation]:
    """Convert errors of incompatible values into errors of the profile."""

    def guarded() -> Conversation:
        try:
            yield from start()
        except EVALUATION_ERRORS as error:
            raise uncomputable(profile, transaction, error) from error

    return guarded


def uncomputable(profile: str, transaction: str, error: Exception) -> RunError:
    """The error of a transaction whose values have the wrong type or exceed a limit."""
    return RunError(
        f"{profile}: the transaction '{transaction}' cannot be computed: {error}",
        "check its expressions and captured columns",
    )


def _chooser(weights: Sequence[float], numbers: Random, *, deck: bool) -> Callable[[], int]:
    """The function that selects the next transaction. If there is only one kind, it takes no
    random number.
    """
    if len(weights) == 1:
        return lambda: 0
    if deck:
        cards = [which for which, weight in enumerate(weights) for _ in range(int(weight))]
        return _deck_dealer(cards, numbers)
    cumulative, random = tuple(accumulate(weights)), numbers.random

    def choose() -> int:
        point = random() * cumulative[-1]
        return next(which for which, limit in enumerate(cumulative) if point < limit)

    return choose


def _deck_dealer(cards: list[int], numbers: Random) -> Callable[[], int]:
    """Deals a whole deck before it is shuffled again (Fisher and Yates)."""
    left: list[int] = []
    random = numbers.random

    def deal() -> int:
        if not left:
            left.extend(cards)
            for place in range(len(left) - 1, 0, -1):
                other = int(random() * (place + 1))
                left[place], left[other] = left[other], left[place]
        return left.pop()

    return deal


def needed_by_connection(layout: ProgramLayout, source: DrawSource) -> frozenset[int] | None:
    """The flat indexes that a connection may call, None for all; other statements need not be prepared."""
    if not layout.names_tables:
        return None
    return frozenset(index for step in layout.steps for index in _statements_of_step(step, layout, source))


def _statements_of_step(step: ProgramStep, layout: ProgramLayout, source: DrawSource) -> Iterable[int]:
    """The statements of all tables, unless the step uses one table on this connection."""
    resolve = None if step.table is None else source.resolve(step.table)
    for statement in step.statements:
        first = layout.first(statement)
        if len(statement.sql) == 1:
            yield first
        elif resolve is not None and is_constant(resolve):
            yield first + int(constant_value(resolve)) % layout.tables
        else:
            yield from range(first, first + layout.tables)
