"""The stream of calls of one connection: which statement, with which values.

One stream a connection: its numbers depend on the seed and the connection's number alone, so the same seed
gives the same calls whatever the number of workers. This runs for every statement, so each step is turned
into closures once.
"""

from collections.abc import Callable
from itertools import accumulate
from operator import itemgetter
from random import Random
from typing import Any, assert_never

from tuibench.workload.keys import drawer
from tuibench.workload.program import (
    Digits,
    FlatStatement,
    Key,
    Program,
    Statement,
    Step,
    Sum,
    Transaction,
    Value,
    first_index,
    flat_indexes,
)
from tuibench.workload.values import digit_groups

Values = tuple[int | str, ...]
Call = tuple[int, Values]
"""A flat statement's index (see `flat_statements`) and the values of its placeholders."""

_Row = list[Any]
_Draw = Callable[[], int | str]
_Bind = Callable[[_Row], Values]
_Derive = Callable[[_Row], Any]
_Play = Callable[[list[Call]], None]


def stream(seed: int, connection: int) -> Random:
    """The random numbers of one connection.

    Seeded with the text `tuibench:SEED:CONNECTION`, which Python hashes with SHA-512: the same on every
    machine and version, and unrelated for neighbouring seeds and connections.
    """
    return Random(f"tuibench:{seed}:{connection}")


class Generator:
    """Draws transactions for one connection, numbered from 0 over the whole run."""

    __slots__ = ("_cumulative", "_plays", "_random")

    def __init__(self, program: Program, seed: int, connection: int) -> None:
        numbers = stream(seed, connection)
        indexes = flat_indexes(program)
        tables = len(program.tables)
        self._random = numbers.random
        self._cumulative = tuple(accumulate(transaction.weight for transaction in program.transactions))
        self._plays = tuple(
            _transaction(transaction, indexes, tables, numbers) for transaction in program.transactions
        )

    def next_transaction(self) -> tuple[int, list[Call]]:
        """The index of a transaction drawn by weight, and its calls with fresh values.

        A transaction that is tried again must be drawn again: the values of a deadlock would deadlock again.
        """
        which = self._which() if len(self._plays) > 1 else 0
        calls: list[Call] = []
        for play in self._plays[which]:
            play(calls)
        return which, calls

    def _which(self) -> int:
        point = self._random() * self._cumulative[-1]
        return next(i for i, limit in enumerate(self._cumulative) if point < limit)


def _transaction(
    transaction: Transaction, indexes: dict[FlatStatement, int], tables: int, numbers: Random
) -> tuple[_Play, ...]:
    return tuple(_step(step, indexes, tables, numbers) for step in transaction.steps)


def _step(step: Step, indexes: dict[FlatStatement, int], tables: int, numbers: Random) -> _Play:
    drawn = [name for name, value in step.let.items() if not isinstance(value, Sum)]
    derived = [name for name, value in step.let.items() if isinstance(value, Sum)]
    places = {name: place for place, name in enumerate(drawn + derived)}
    binds = [
        (first_index(indexes, statement), len(statement.sql) > 1, _bind(statement, places))
        for statement in step.statements
    ]
    if not places and not any(per_table for _, per_table, _ in binds):
        fixed: list[Call] = [(index, ()) for index, _, _ in binds]
        return _constant(fixed * step.repeat)
    draws = [_draw(step.let[name], numbers) for name in drawn]
    sums = [_derive(step.let[name], places) for name in derived]
    return _play(step.repeat, tables, draws, sums, binds, numbers)


def _constant(fixed: list[Call]) -> _Play:
    return lambda calls: calls.extend(fixed)


def _play(
    repeat: int,
    tables: int,
    draws: list[_Draw],
    sums: list[_Derive],
    binds: list[tuple[int, bool, _Bind]],
    numbers: Random,
) -> _Play:
    random, repetitions = numbers.random, range(repeat)

    def play(calls: list[Call]) -> None:
        table = int(random() * tables)
        chosen = [(first + table if per_table else first, bind) for first, per_table, bind in binds]
        for _ in repetitions:
            row = [draw() for draw in draws]
            for derive in sums:
                row.append(derive(row))
            for index, bind in chosen:
                calls.append((index, bind(row)))

    return play


def _draw(value: Value, numbers: Random) -> _Draw:
    match value:
        case Key(low=low, high=high, distribution=distribution):
            return drawer(distribution, low, high, numbers)
        case Digits(groups=groups):
            return digit_groups(groups, numbers)
        case Sum():
            raise TypeError("a sum is derived from other variables, not drawn")
        case _:
            assert_never(value)


def _derive(value: Value, places: dict[str, int]) -> _Derive:
    """A sum over the row so far; the commonest, one variable and a constant, without a loop."""
    if not isinstance(value, Sum):
        raise TypeError("only a sum is derived from other variables")
    constant, terms = value.constant, [places[name] for name in value.variables]
    if len(terms) == 1:
        place = terms[0]
        return lambda row: row[place] + constant
    return lambda row: sum((row[term] for term in terms), constant)


def _bind(statement: Statement, places: dict[str, int]) -> _Bind:
    bound = [places[name] for name in statement.bind]
    if not bound:
        return lambda row: ()
    if len(bound) == 1:
        place = bound[0]
        return lambda row: (row[place],)
    return itemgetter(*bound)
