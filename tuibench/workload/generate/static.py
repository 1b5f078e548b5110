"""Static transactions: all calls are known before the first is sent, and steps are independent.

`layout` determines which transactions are static. This is a hot path: it runs for every statement of
sysbench's tests, so each step is compiled to closures once, and has its own short list of variables.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tuibench.workload.generate.draw import (
    BindRow,
    DrawSource,
    characters,
    drawn_characters,
    statement_binder,
    variable_setter,
)
from tuibench.workload.generate.evaluate import Evaluate, constant_value
from tuibench.workload.generate.layout import ProgramLayout
from tuibench.workload.program.limits import (
    MAX_BOUND_CHARACTERS,
    MAX_CHARACTERS,
    MAX_DRAWN_CHARACTERS,
    TOO_MUCH_DRAWN,
    LimitError,
)
from tuibench.workload.program.program import ProgramStep, Statement, Transaction
from tuibench.workload.program.values import Formula, ListDraw, Sum

DERIVED_VALUES = (Sum, Formula, ListDraw)

Call = tuple[int, tuple[Any, ...]]
"""A flat statement's index (see `flat_statements`) and the values of its placeholders."""

Calls = Callable[[], Sequence[Call]]
"""Returns the calls of a transaction, or of a step, with new values each time."""


def static_calls(transaction: Transaction, layout: ProgramLayout, source: DrawSource) -> Calls:
    """The function that returns a static transaction's calls."""
    steps = [_step_calls(step, layout, source) for step in transaction.steps]
    return steps[0] if len(steps) == 1 else _concatenate_calls(steps)


def limited_calls(calls: Iterable[Call]) -> Sequence[Call]:
    """All calls of a step or a transaction. Raises LimitError where their texts are too many."""
    made, left = [], MAX_DRAWN_CHARACTERS
    for call in calls:
        left -= characters(call[1])
        if left < 0:
            raise LimitError(TOO_MUCH_DRAWN)
        made.append(call)
    return tuple(made)


def _may_exceed(step: ProgramStep, repeat: int) -> bool:
    """Whether the texts of a step may be more than is drawn at once."""
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
    if not step.let and not any(map(_is_varying, step.statements)):
        once = [(layout.first(statement), ()) for statement in step.statements]
        return _constant_calls(tuple(once * repeat))
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


def _is_varying(statement: Statement) -> bool:
    return len(statement.sql) > 1 or bool(statement.bind) or statement.part is not None


def _is_single_without_values(statements: tuple[Statement, ...]) -> bool:
    """True if there is exactly one, without values."""
    return len(statements) == 1 and not statements[0].bind and statements[0].part is None


def _constant_calls(fixed_calls: tuple[Call, ...]) -> Calls:
    return lambda: fixed_calls


def _calls_without_values(repeat: int, tables: int, first: int, random: Callable[[], float]) -> Calls:
    """A statement without values, on a random table."""
    return lambda: ((first + int(random() * tables), ()),) * repeat


def _single_variable_calls(
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
