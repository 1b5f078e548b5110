"""The stream of calls of one connection: which statement, with which values.

One stream a connection: its numbers depend on the seed and the connection's number alone, so the same seed
gives the same calls whatever the number of workers. A connection that comes back must go on with the
generator it had: a new one would begin again, and give serial and unique numbers twice.

How an engine runs a transaction
--------------------------------

`generator.draw()` gives the index of the next transaction in `program.transactions`. It is called once for
each transaction: one that is tried again keeps its kind, and gets new values (those of a deadlock would
deadlock again). Then, for every attempt, one of two, as `program.transactions[which].interactive` tells:

Not interactive: `generator.calls[which]()` gives all its calls. Each `(index, values)` is the flat statement
`flat_statements(program)[index]` with the values of its placeholders; its rows are dropped.

Interactive: `generator.converse(which)` is a Python generator that yields such calls one by one. The engine
sends back what it asks for::

    talk = generator.converse(which)
    answer = None
    while True:
        try:
            index, values = talk.send(answer)
        except StopIteration:
            break
        if flat[index].captures:
            answer = await fetch[index](values)       # a sequence of rows, each a sequence of columns
        else:
            await execute[index](values)              # rows dropped
            answer = None

An attempt that fails (an SQL error, a cancellation) is left with `talk.close()`; the next attempt is a new
one. Calling `send` may raise a TuibenchError of the profile's own (it multiplied a text, a captured row was
too short): that is no error of the server and must not be tried again. A statement that captures counts as
any other; of a SELECT, the affected rows are the number of rows fetched.

A transaction that ends with the flat statement named `rollback` was rolled back by intent: it is completed,
but not committed. BEGIN, COMMIT and ROLLBACK are calls like all others; only after an error does the engine
roll back by itself.

`generator.needed` holds the flat indexes that this connection can ever call, None for all: the others need
not be prepared.

A program with `turns` is done when `generator.is_spent`; when `generator.takes_leave()`, the connection is to
be closed and made anew before the next draw. `generator.stretch()` tells how often these need not be asked.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from random import Random

from tuibench.errors import RunError
from tuibench.workload.draw import Source, stream
from tuibench.workload.evaluate import FAULTS, fixed
from tuibench.workload.expression import is_fixed
from tuibench.workload.layout import Layout
from tuibench.workload.pauses import Pauses
from tuibench.workload.program import (
    Program,
    Step,
)
from tuibench.workload.scoped import Conversation, Rows, conversation
from tuibench.workload.simple import Call, Calls, calls
from tuibench.workload.turns import TurnTaker

__all__ = ["Call", "Conversation", "Generator", "Rows", "stream"]


class Generator:
    """Draws transactions for one connection, numbered from 0 over the whole run.

    `draw` gives the index of the next transaction, drawn by weight, dealt from the deck, or by turns; it is
    another function after `set_weights`. `calls` has a function for each transaction.
    `layout` is the program's; whoever makes many generators computes it once.
    """

    __slots__ = ("_deck", "_numbers", "_starts", "_turns", "calls", "draw", "needed", "pauses")

    draw: Callable[[], int]

    def __init__(
        self,
        program: Program,
        seed: int,
        connection: int,
        layout: Layout | None = None,
    ) -> None:
        source = Source(seed, connection)
        layout = layout or Layout(program)
        self.calls: list[Calls] = []
        self._starts: dict[int, Callable[[], Conversation]] = {}
        for which, transaction in enumerate(program.transactions):
            if layout.are_simple[which]:
                self.calls.append(calls(transaction, layout, source))
            else:
                start = conversation(transaction, layout, source)
                self._starts[which] = guarded = _guarded(start, program.profile, transaction.name)
                self.calls.append(_all_of(guarded))
        self._numbers = source.numbers
        self._deck = program.deck
        self._turns = TurnTaker(program.turns) if program.turns is not None else None
        self.set_weights([transaction.weight for transaction in program.transactions])
        self.needed = _needed(layout, source)
        self.pauses = Pauses(program, seed, connection)

    def set_weights(self, weights: Sequence[float]) -> None:
        """What the transactions weigh from now on. What is left of a deck is laid aside; turns stay."""
        turns = self._turns
        self.draw = turns.take if turns is not None else _chooser(weights, self._numbers, deck=self._deck)

    def stretch(self) -> Iterable[None]:
        """Something for each of the transactions that may follow at once, before there is a pause to keep, a
        login to be made anew, or an end.
        """
        if self.pauses.are_any:
            return repeat(None, 1)
        return repeat(None) if self._turns is None else repeat(None, self._turns.stretch)

    @property
    def is_spent(self) -> bool:
        """Whether this connection has had all its turns."""
        return self._turns is not None and self._turns.is_spent

    def takes_leave(self) -> bool:
        """Whether the next transaction belongs to a new login; told once."""
        return self._turns is not None and self._turns.takes_leave()

    def converse(self, which: int) -> Conversation:
        """A transaction with fresh values, call by call, taking rows back. Any transaction can be had so."""
        if which in self._starts:
            return self._starts[which]()
        return _told(self.calls[which]())


def _all_of(start: Callable[[], Conversation]) -> Calls:
    """The calls of a transaction that takes no rows back."""
    return lambda: tuple(start())


def _told(calls: Iterable[Call]) -> Conversation:
    yield from calls


def _guarded(start: Callable[[], Conversation], profile: str, transaction: str) -> Callable[[], Conversation]:
    """Values that do not fit together are the profile's fault, and said to be."""

    def guarded() -> Conversation:
        try:
            yield from start()
        except FAULTS as error:
            raise RunError(
                f"{profile}: the transaction '{transaction}' cannot be computed: {error}",
                "look at its expressions and at the columns it captures",
            ) from error

    return guarded


def _chooser(weights: Sequence[float], numbers: Random, *, deck: bool) -> Callable[[], int]:
    """How the next transaction is chosen. A single one takes no random number."""
    if len(weights) == 1:
        return lambda: 0
    if deck:
        cards = [which for which, weight in enumerate(weights) for _ in range(int(weight))]
        return _dealer(cards, numbers)
    cumulative, random = tuple(accumulate(weights)), numbers.random

    def choose() -> int:
        point = random() * cumulative[-1]
        return next(which for which, limit in enumerate(cumulative) if point < limit)

    return choose


def _dealer(cards: list[int], numbers: Random) -> Callable[[], int]:
    """Deals a deck to its end before it is shuffled again (Fisher and Yates)."""
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


def _needed(layout: Layout, source: Source) -> frozenset[int] | None:
    if not layout.names_tables:
        return None
    return frozenset(index for step in layout.steps for index in _needed_by(step, layout, source))


def _needed_by(step: Step, layout: Layout, source: Source) -> Iterable[int]:
    """All tables' statements, unless the step keeps to one table on this connection."""
    own = None if step.table is None else source.own(step.table)
    for statement in step.statements:
        first = layout.first(statement)
        if len(statement.sql) == 1:
            yield first
        elif own is not None and is_fixed(own):
            yield first + int(fixed(own)) % layout.tables
        else:
            yield from range(first, first + layout.tables)
