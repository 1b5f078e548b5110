"""How an engine plays a transaction that captures: the reference, on a scripted server without I/O."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.program import FlatStatement, Program, flat_statements

Rows = Sequence[Sequence[Any]]
Answer = Callable[[str, tuple[Any, ...]], Rows]
"""What the server says to a statement of this name with these values."""


class Sent(NamedTuple):
    """One statement as it went to the server."""

    name: str
    sql: str
    values: tuple[Any, ...]


class Player:
    """One connection of a program, against a server that answers by script."""

    def __init__(self, program: Program, answer: Answer, seed: int = 0, connection: int = 0) -> None:
        self.program = program
        self.flat: tuple[FlatStatement, ...] = flat_statements(program)
        self.generator = TransactionGenerator(program, seed, connection)
        self._answer = answer

    def play(self, which: int | None = None) -> list[Sent]:
        """A whole transaction, in the way that `generate` prescribes."""
        which = self.generator.draw() if which is None else which
        if not self.program.transactions[which].interactive:
            return [self._sent(index, values) for index, values in self.generator.calls[which]()]
        talk = self.generator.start_interactive(which)
        sent: list[Sent] = []
        answer: Rows | None = None
        while True:
            try:
                index, values = talk.send(answer)
            except StopIteration:
                return sent
            sent.append(self._sent(index, values))
            answer = self._answer(sent[-1].name, values) if self.flat[index].captures else None

    def _sent(self, index: int, values: tuple[Any, ...]) -> Sent:
        assert self.generator.needed is None or index in self.generator.needed
        return Sent(self.flat[index].name, self.flat[index].sql, values)


def names(sent: Sequence[Sent]) -> list[str]:
    return [one.name for one in sent]


def nothing(name: str, values: tuple[Any, ...]) -> Rows:
    """A server with empty tables."""
    return ()
