"""The full language: steps that share variables, loop, choose, capture what servers answer, and roll back.

A transaction is a Python generator: it yields calls and is sent the rows of those that capture, so it can be
driven by any engine, and by a test, without I/O here.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from tuibench.errors import UsageError
from tuibench.workload.binding import BindRow, binder, setter
from tuibench.workload.draw import Source
from tuibench.workload.evaluate import Evaluate, Row
from tuibench.workload.layout import Layout
from tuibench.workload.program import (
    CONNECTION,
    Statement,
    Step,
    Transaction,
    all_steps,
)
from tuibench.workload.simple import Call

DECIMAL_WHOLES, DECIMAL_PLACES = 35, 30
"""Digits before and after the point that every server's DECIMAL holds."""

Rows = Sequence[Sequence[Any]]
"""The rows of a statement, as a driver returns them."""

Conversation = Generator[Call, Rows | None, None]
"""Yields calls; must be sent the rows of a call whose flat statement captures, None for all others."""

_Run = Callable[[Row], Generator[Call, Rows | None, bool]]
"""Plays a step with the transaction's variables; True when the transaction ends with it."""

_Keep = Callable[[Row, Rows], None]
_Loop = Callable[[Row], Iterable[Any]]


class _Sent(NamedTuple):
    """How one statement of a step is sent, and where its rows go."""

    first: int
    per_table: bool
    bind: BindRow
    keep: _Keep | None


def conversation(transaction: Transaction, layout: Layout, source: Source) -> Callable[[], Conversation]:
    """A function that starts one transaction with variables of its own."""
    variables = _variables(transaction)
    places = {name: place for place, name in enumerate(variables)}
    steps = _Steps(layout, source, places)
    runs = [steps.run(step) for step in transaction.steps]

    def start() -> Conversation:
        row: Row = [None] * len(variables)
        for run in runs:
            if (yield from run(row)):
                return

    return start


def _variables(transaction: Transaction) -> list[str]:
    """Every name that is set anywhere in it, once."""
    found: dict[str, None] = {}
    for step in all_steps(transaction.steps):
        found |= dict.fromkeys((*step.names, *([step.index] if step.index else []), *step.let))
        for statement in step.statements:
            found |= dict.fromkeys((*statement.capture, *([statement.rows] if statement.rows else [])))
    found.pop(CONNECTION, None)
    return list(found)


class _Steps:
    """Turns the steps of one transaction into functions."""

    def __init__(self, layout: Layout, source: Source, places: Mapping[str, int]) -> None:
        self._layout = layout
        self._source = source
        self._places = places

    def run(self, step: Step) -> _Run:
        when = None if step.when is None else self._source.function(step.when, self._places)
        chance, random = step.rollback, self._source.numbers.random
        loop, table = self._loop(step), self._table(step)
        body = self._body(step)

        def run(row: Row) -> Generator[Call, Rows | None, bool]:
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

    def _body(self, step: Step) -> Callable[[Row, int], Generator[Call, Rows | None, bool]]:
        """One repetition: variables, statements, inner steps."""
        lets = [
            (self._places[name], setter(value, self._places, self._source))
            for name, value in step.let.items()
        ]
        sent = [self._sent(statement) for statement in step.statements]
        inner = [self.run(one) for one in step.steps]

        def body(row: Row, table: int) -> Generator[Call, Rows | None, bool]:
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

    def _sent(self, statement: Statement) -> _Sent:
        return _Sent(
            self._layout.first(statement),
            len(statement.sql) > 1,
            binder(statement, self._places, self._source),
            self._keep(statement) if statement.captures else None,
        )

    def _keep(self, statement: Statement) -> _Keep:
        columns = [self._places[name] for name in statement.capture]
        whole = self._places[statement.rows] if statement.rows else None

        def keep(row: Row, rows: Rows) -> None:
            if columns:
                first = _exact(rows[0]) if rows else [None] * len(columns)
                _spread(row, columns, first, statement.name)
            if whole is not None:
                row[whole] = [_exact(one) for one in rows]

        return keep

    def _table(self, step: Step) -> Callable[[Row], int]:
        """A table is drawn only for statements that have one."""
        random, tables = self._source.numbers.random, self._layout.tables
        if step.table is not None:
            number = self._source.function(step.table, self._places)
            return lambda row: int(number(row)) % tables
        if any(len(statement.sql) > 1 for statement in step.statements):
            return lambda row: int(random() * tables)
        return lambda row: 0

    def _loop(self, step: Step) -> _Loop:
        """Goes through the repetitions, setting the variables of each."""
        if step.each is not None:
            items = self._source.function(step.each, self._places)
            loop = _over(items, [self._places[name] for name in step.names])
        elif isinstance(step.repeat, int):
            loop = _fixed(step.repeat)
        else:
            loop = _counted(self._source.function(step.repeat, self._places))
        return _numbered(loop, self._places[step.index]) if step.index else loop


def _fixed(repeat: int) -> _Loop:
    repetitions = range(repeat)
    return lambda row: repetitions


def _counted(count: Evaluate) -> _Loop:
    return lambda row: range(int(count(row)))


def _over(items: Evaluate, columns: list[int]) -> _Loop:
    """Puts each item into its variables: a row by its columns, anything else into the only one."""

    def loop(row: Row) -> Iterator[None]:
        for item in items(row):
            _spread(row, columns, item if isinstance(item, list | tuple) else [item], "each")
            yield

    return loop


def _numbered(loop: _Loop, place: int) -> _Loop:
    def numbered(row: Row) -> Iterator[None]:
        for number, _ in enumerate(loop(row), 1):
            row[place] = number
            yield

    return numbered


def _spread(row: Row, columns: list[int], values: Sequence[Any], where: str) -> None:
    if len(values) < len(columns):
        raise UsageError(f"'{where}' gives {len(values)} columns, {len(columns)} variables wait for them")
    for place, value in zip(columns, values, strict=False):
        row[place] = value


def _exact(values: Sequence[Any]) -> list[Any]:
    """A row whose floating point numbers can be calculated with like all others."""
    return [_as_decimal(value) if isinstance(value, float) else value for value in values]


def _as_decimal(value: float) -> Decimal | float:
    """Its shortest digits; one that no DECIMAL column holds stays what it is, and can only be passed on."""
    exact = Decimal(str(value))
    exponent = exact.as_tuple().exponent
    fits = isinstance(exponent, int) and exponent >= -DECIMAL_PLACES and exact.adjusted() < DECIMAL_WHOLES
    return exact if fits else value
