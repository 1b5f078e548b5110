"""The fast way: transactions whose calls are known before the first is sent, step by step independent.

Which these are, `layout` tells. This runs for every statement of sysbench's tests, so each step is turned
into closures once; a step's variables are a short list that only it sees.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tuibench.workload.binding import BindRow, binder, setter
from tuibench.workload.draw import Source
from tuibench.workload.evaluate import Evaluate, fixed
from tuibench.workload.layout import Layout
from tuibench.workload.program import Statement, Step, Transaction
from tuibench.workload.value import Formula, Many, Sum

DERIVED = (Sum, Formula, Many)

Call = tuple[int, tuple[Any, ...]]
"""A flat statement's index (see `flat_statements`) and the values of its placeholders."""

Calls = Callable[[], Sequence[Call]]
"""Gives the calls of a transaction, or of one of its steps, with fresh values each time."""


def calls(transaction: Transaction, layout: Layout, source: Source) -> Calls:
    """The function that gives a simple transaction's calls."""
    steps = [_step(step, layout, source) for step in transaction.steps]
    return steps[0] if len(steps) == 1 else _together(steps)


def _together(steps: Sequence[Calls]) -> Calls:
    def together() -> list[Call]:
        made: list[Call] = []
        for step in steps:
            made += step()
        return made

    return together


def _step(step: Step, layout: Layout, source: Source) -> Calls:
    tables, repeat = layout.tables, int(step.repeat) if isinstance(step.repeat, int) else 0
    if not step.let and not any(map(_varies, step.statements)):
        once = [(layout.first(statement), ()) for statement in step.statements]
        return _constant(tuple(once * repeat))
    derived = {name: value for name, value in step.let.items() if isinstance(value, DERIVED)}
    drawn = [name for name in step.let if name not in derived]
    places = {name: place for place, name in enumerate((*drawn, *derived))}
    binds = [
        (layout.first(statement), len(statement.sql) > 1, binder(statement, places, source))
        for statement in step.statements
    ]
    draws = [source.draw(value) for value in step.let.values() if not isinstance(value, DERIVED)]
    sums = [setter(value, places, source) for value in derived.values()]
    table = None if step.table is None else int(fixed(source.own(step.table))) % tables
    if table is None and not step.let and _is_bare(step.statements):
        return _bare(repeat, tables, binds[0][0], source.numbers.random)
    if table is None and not sums and len(draws) == len(binds) == 1:
        return _single(repeat, tables, draws[0], binds[0], source.numbers.random)
    return _several(repeat, tables, table, draws, sums, binds, source.numbers.random)


def _varies(statement: Statement) -> bool:
    return len(statement.sql) > 1 or bool(statement.bind) or statement.part is not None


def _is_bare(statements: tuple[Statement, ...]) -> bool:
    """Whether there is but one, and without values."""
    return len(statements) == 1 and not statements[0].bind and statements[0].part is None


def _constant(fixed_calls: tuple[Call, ...]) -> Calls:
    return lambda: fixed_calls


def _bare(repeat: int, tables: int, first: int, random: Callable[[], float]) -> Calls:
    """A statement without values, on a table that is drawn."""
    return lambda: ((first + int(random() * tables), ()),) * repeat


def _single(
    repeat: int,
    tables: int,
    draw: Callable[[], Any],
    bind: tuple[int, bool, BindRow],
    random: Callable[[], float],
) -> Calls:
    """One variable in one statement: a point SELECT, an UPDATE by key, a DELETE."""
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


def _several(
    repeat: int,
    tables: int,
    fixed_table: int | None,
    draws: list[Callable[[], Any]],
    sums: list[Evaluate],
    binds: list[tuple[int, bool, BindRow]],
    random: Callable[[], float],
) -> Calls:
    repetitions = range(repeat)

    def several() -> list[Call]:
        table = int(random() * tables) if fixed_table is None else fixed_table
        chosen = [(first + table if per_table else first, bind) for first, per_table, bind in binds]
        made: list[Call] = []
        for _ in repetitions:
            row = [draw() for draw in draws]
            for derive in sums:
                row.append(derive(row))
            for index, bind in chosen:
                made.append((index, bind(row)))
        return made

    return several
