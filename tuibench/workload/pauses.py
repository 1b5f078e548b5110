"""How long a connection waits before and after a transaction, as a person at a terminal would.

Keying takes as long as it is said to. Thinking is drawn by the negative exponential distribution around its
mean, and capped (TPC-C 5.2.5.4). The numbers are a stream of their own: pauses change no other values.
"""

from math import log
from random import Random

from tuibench.workload.program import Program

LONGEST_MEANS = 10.0
"""No one thinks longer than so many means."""


class Pauses:
    """The pauses of one connection; `are_any` is False where nobody waits."""

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
        return min(-mean * log(1.0 - self._random()), LONGEST_MEANS * mean) if mean else 0.0
