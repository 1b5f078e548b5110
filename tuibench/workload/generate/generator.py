"""Transaction generator of one connection: statements with values.

The random stream depends only on the seed and the connection's number, so that a seed gives the same calls
for any number of workers. A connection that reconnects must keep its generator: a new one would repeat serial
and unique numbers.

How an engine runs a transaction
--------------------------------

`generator.draw()` returns the index of the next transaction in `program.transactions`. It is called once per
transaction: a retried one keeps its kind and gets new values (the old ones could deadlock again). Then, for
every attempt, depending on `program.transactions[which].interactive`:

Not interactive: `generator.calls[which]()` returns all its calls. Each `(index, values)` is the flat
statement `flat_statements(program)[index]` with the values of its placeholders; its rows are dropped.

Interactive: `generator.start_interactive(which)` is a Python generator that yields such calls one by one. The
engine
sends captured rows::

    calls = generator.start_interactive(which)
    rows = None
    while True:
        try:
            index, values = calls.send(rows)
        except StopIteration:
            break
        if flat[index].captures:
            rows = await fetch[index](values)       # a sequence of rows, each a sequence of columns
        else:
            await execute[index](values)              # rows dropped
            rows = None

An attempt that fails (an SQL error, a cancellation) is ended with `calls.close()`; the next attempt starts a
new generator. `send` may raise a TuibenchError of the profile (multiplication of a text, a captured row that
is too short): it is not an error of the server and must not be retried. A statement that captures counts as
any other; the affected rows of a SELECT are the number of rows fetched.

A transaction that ends with the flat statement `rollback` was rolled back intentionally: it is completed, but
not committed. BEGIN, COMMIT and ROLLBACK are calls like all others; the engine itself rolls back only after
an error.

`generator.needed` contains the flat indexes that this connection may call, None for all: other statements
need not be prepared.

A program with `turns` ends when `generator.is_exhausted`; if `generator.needs_reconnect()`, the connection
must log in again before the next draw. `generator.uninterrupted()` is the number of transactions without
these checks.

Waits: keying times are constant; think times have a negative exponential distribution with a maximum (TPC-C
5.2.5.4). They use a separate random stream and do not change other values.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from math import log
from random import Random

from tuibench.errors import RunError
from tuibench.workload.generate.draw import DrawSource
from tuibench.workload.generate.evaluate import EVALUATION_ERRORS, constant_value
from tuibench.workload.generate.interactive import Conversation, interactive_transaction
from tuibench.workload.generate.layout import ProgramLayout
from tuibench.workload.generate.static import Call, Calls, limited_calls, static_calls
from tuibench.workload.language.expressions import is_constant
from tuibench.workload.program.program import Program, ProgramStep, Turns


class TurnSequence:
    """The fixed sequence of one connection."""

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
        """The number of turns before `is_exhausted` and `needs_reconnect` must be checked."""
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
        """True if the connection must log in again before the next one; True once per reconnect."""
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
"""The maximum think time, in means."""


class Pauses:
    """The waits of one connection; `are_any` is False if there are none."""

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


class Generator:
    """Generates transactions for one connection; connections are numbered from 0 over the whole run.

    `draw` returns the index of the next transaction, by weight, from the deck, or by turns; `set_weights`
    replaces the function. `calls` has a function for each transaction. `layout` is the program's layout,
    which all generators share.
    """

    __slots__ = ("_deck", "_numbers", "_starts", "_turns", "calls", "draw", "needed", "pauses", "profile")

    draw: Callable[[], int]

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
                self.calls.append(static_calls(transaction, layout, source))
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
        """Set the weights of the transactions. Discard the rest of a deck; turns are not changed."""
        turns = self._turns
        self.draw = turns.take if turns is not None else _chooser(weights, self._numbers, deck=self._deck)

    def uninterrupted(self) -> Iterable[None]:
        """An item for each transaction that may follow immediately, without a wait, a reconnect, or the
        end.
        """
        if self.pauses.are_any:
            return repeat(None, 1)
        return repeat(None) if self._turns is None else repeat(None, self._turns.uninterrupted)

    @property
    def is_exhausted(self) -> bool:
        """True if this connection has completed its turns."""
        return self._turns is not None and self._turns.is_exhausted

    def needs_reconnect(self) -> bool:
        """True if a reconnect is required before the next transaction; True once."""
        return self._turns is not None and self._turns.needs_reconnect()

    def start_interactive(self, which: int) -> Conversation:
        """A transaction with new values, call by call, with captured rows. Works for any transaction."""
        if which in self._starts:
            return self._starts[which]()
        return _replay_calls(self.calls[which]())


def _collect_calls(start: Callable[[], Conversation]) -> Calls:
    """The calls of a transaction that captures no rows."""
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
    """The error of a transaction whose values do not fit, or exceed a limit."""
    return RunError(
        f"{profile}: the transaction '{transaction}' cannot be computed: {error}",
        "check its expressions and captured columns",
    )


def _chooser(weights: Sequence[float], numbers: Random, *, deck: bool) -> Callable[[], int]:
    """The function that selects the next transaction. A single kind consumes no random number."""
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
    """Deal a complete deck before it is shuffled again (Fisher and Yates)."""
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
    """The flat indexes that a connection may call, None for all."""
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
