"""Interactive transactions: shared variables, loops, conditions, captured rows, rollback.

A transaction is a Python generator: it yields calls and receives captured rows, so that engines and tests can
run it; this module does no I/O.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from tuibench.errors import UsageError
from tuibench.workload.generate.draw import BindRow, DrawSource, statement_binder, variable_setter
from tuibench.workload.generate.evaluate import (
    Evaluate,
    VariableRow,
    checked_decimal,
    loop_items,
    repetitions,
    whole_number,
)
from tuibench.workload.generate.layout import ProgramLayout
from tuibench.workload.generate.static import Call
from tuibench.workload.program.limits import TOO_MANY_REPETITIONS, checked_bytes, checked_text
from tuibench.workload.program.program import CONNECTION, ProgramStep, Statement, Transaction, all_steps

MAX_INTEGER_DIGITS, MAX_DECIMAL_PLACES = 35, 30
"""The digits before and after the point that every server's DECIMAL supports."""

Rows = Sequence[Sequence[Any]]
"""The rows of a statement."""

Conversation = Generator[Call, Rows | None, None]
"""Yields calls; expects the rows of calls that capture, None for all others."""

_RunStep = Callable[[VariableRow], Generator[Call, Rows | None, bool]]
"""Executes a step with the transaction's variables; True if the transaction ends with it."""

_StoreRows = Callable[[VariableRow, Rows], None]
_Loop = Callable[[VariableRow], Iterable[Any]]


class _StatementPlan(NamedTuple):
    """One compiled statement of a step: index, values, variables for its rows."""

    first: int
    per_table: bool
    bind: BindRow
    keep: _StoreRows | None


def interactive_transaction(
    transaction: Transaction, layout: ProgramLayout, source: DrawSource
) -> Callable[[], Conversation]:
    """A function that starts one transaction with new variables."""
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
    """All variables that it sets, without duplicates."""
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
        sent = [self._sent(statement) for statement in step.statements]
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

    def _sent(self, statement: Statement) -> _StatementPlan:
        return _StatementPlan(
            self._layout.first(statement),
            len(statement.sql) > 1,
            statement_binder(statement, self._places, self._source),
            self._keep(statement) if statement.captures else None,
        )

    def _keep(self, statement: Statement) -> _StoreRows:
        columns = [self._places[name] for name in statement.capture]
        whole = self._places[statement.rows] if statement.rows else None

        def keep(row: VariableRow, rows: Rows) -> None:
            kept = [_checked_row(one) for one in rows]
            if columns:
                first = kept[0] if kept else [None] * len(columns)
                _assign_columns(row, columns, first, statement.name)
            if whole is not None:
                row[whole] = kept

        return keep

    def _table(self, step: ProgramStep) -> Callable[[VariableRow], int]:
        """A table is drawn only for statements that use one."""
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


def _checked_row(values: Sequence[Any]) -> list[Any]:
    """A row with floating-point numbers converted to exact numbers. Raises LimitError."""
    return [check(value) if (check := _CHECKS.get(type(value))) else value for value in values]


def _as_decimal(value: float) -> Decimal | float:
    """Its shortest decimal form; a number beyond DECIMAL's range is not converted."""
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
