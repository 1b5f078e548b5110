"""The fast way: transactions whose calls are known before the first is sent, step by step independent.

This runs for every statement of sysbench's tests, so each step is turned into closures once; a step's
variables are a short list that only it sees.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tuibench.workload.binding import BindRow, binder, setter
from tuibench.workload.draw import Source
from tuibench.workload.evaluate import Evaluate, fixed
from tuibench.workload.expression import Expression, names
from tuibench.workload.program import (
    CONNECTION,
    FlatStatement,
    Statement,
    Step,
    Transaction,
    first_index,
)
from tuibench.workload.value import Formula, Many, Sum

DERIVED = (Sum, Formula, Many)

Call = tuple[int, tuple[Any, ...]]
"""A flat statement's index (see `flat_statements`) and the values of its placeholders."""

Play = Callable[[list[Call]], None]


def is_simple(transaction: Transaction) -> bool:
    """Whether no step of it needs to know of another, or of the server's answers."""
    return all(map(_is_simple_step, transaction.steps))


def _is_simple_step(step: Step) -> bool:
    return (
        isinstance(step.repeat, int)
        and step.when is step.each is None
        and not (step.index or step.steps or step.rollback)
        and not any(statement.captures for statement in step.statements)
        and not any(isinstance(value, Many) for value in step.let.values())
        and (step.table is None or set(names(step.table)) <= {CONNECTION})
        and _used(step) <= {*step.let, CONNECTION}
    )


def _used(step: Step) -> set[str]:
    """The variables that a step's formulas and statements name, without those of their parts."""
    used: set[str] = set()
    for value in step.let.values():
        used |= _named(value)
    for statement in step.statements:
        used |= _bound(statement.bind)
        if statement.part is not None:
            inner = _bound(statement.part.bind).union(*map(_named, statement.part.let.values()))
            used |= inner - set(statement.part.let)
    return used


def _named(value: object) -> set[str]:
    match value:
        case Formula(expression=expression) | Many(count=expression):
            return set(names(expression))
        case Sum(variables=variables):
            return set(variables)
        case _:
            return set()


def _bound(bind: tuple[str | Expression, ...]) -> set[str]:
    return {name for one in bind for name in ([one] if isinstance(one, str) else names(one))}


def plays(
    transaction: Transaction, indexes: Mapping[FlatStatement, int], tables: int, source: Source
) -> tuple[Play, ...]:
    """For each step the function that adds its calls to a list."""
    return tuple(_step(step, indexes, tables, source) for step in transaction.steps)


def _step(step: Step, indexes: Mapping[FlatStatement, int], tables: int, source: Source) -> Play:
    repeat = int(step.repeat) if isinstance(step.repeat, int) else 0
    if not step.let and not any(map(_varies, step.statements)):
        once: list[Call] = [(first_index(indexes, statement), ()) for statement in step.statements]
        return _constant(once * repeat)
    derived = {name: value for name, value in step.let.items() if isinstance(value, DERIVED)}
    drawn = [name for name in step.let if name not in derived]
    places = {name: place for place, name in enumerate((*drawn, *derived))}
    binds = [
        (first_index(indexes, statement), len(statement.sql) > 1, binder(statement, places, source))
        for statement in step.statements
    ]
    draws = [source.draw(value) for value in step.let.values() if not isinstance(value, DERIVED)]
    sums = [setter(value, places, source) for value in derived.values()]
    table = None if step.table is None else int(fixed(source.own(step.table))) % tables
    if table is None and not step.let and _is_bare(step.statements):
        return _play_bare(repeat, tables, binds[0][0], source.numbers)
    return _play(repeat, tables, table, draws, sums, binds, source.numbers)


def _varies(statement: Statement) -> bool:
    return len(statement.sql) > 1 or bool(statement.bind) or statement.part is not None


def _is_bare(statements: tuple[Statement, ...]) -> bool:
    """Whether there is but one, and without values."""
    return len(statements) == 1 and not statements[0].bind and statements[0].part is None


def _constant(fixed_calls: list[Call]) -> Play:
    return lambda calls: calls.extend(fixed_calls)


def _play_bare(repeat: int, tables: int, first: int, numbers: Random) -> Play:
    """A statement without values, on a table that is drawn."""
    random = numbers.random

    def play(calls: list[Call]) -> None:
        call: Call = (first + int(random() * tables), ())
        calls.extend([call] * repeat)

    return play


def _play(
    repeat: int,
    tables: int,
    fixed_table: int | None,
    draws: list[Callable[[], Any]],
    sums: list[Evaluate],
    binds: list[tuple[int, bool, BindRow]],
    numbers: Random,
) -> Play:
    random, repetitions = numbers.random, range(repeat)
    if len(draws) == 1 and not sums and len(binds) == 1 and fixed_table is None:
        return _play_one(repetitions, tables, draws[0], binds[0], random)

    def play(calls: list[Call]) -> None:
        table = int(random() * tables) if fixed_table is None else fixed_table
        chosen = [(first + table if per_table else first, bind) for first, per_table, bind in binds]
        for _ in repetitions:
            row = [draw() for draw in draws]
            for derive in sums:
                row.append(derive(row))
            for index, bind in chosen:
                calls.append((index, bind(row)))

    return play


def _play_one(
    repetitions: range,
    tables: int,
    draw: Callable[[], Any],
    bind: tuple[int, bool, BindRow],
    random: Callable[[], float],
) -> Play:
    """The same for one variable in one statement: a point SELECT, an UPDATE by key, a DELETE."""
    first, per_table, values = bind

    def play(calls: list[Call]) -> None:
        table = int(random() * tables)
        index = first + table if per_table else first
        for _ in repetitions:
            calls.append((index, values([draw()])))

    return play
