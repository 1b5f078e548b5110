"""The mix of a program's transactions: what each weighs, and which other mixes it can have."""

from collections.abc import Mapping, Sequence

import msgspec

from tuibench.errors import UsageError
from tuibench.workload import nearest
from tuibench.workload.program import MOST_CARDS, Program

HEAVIEST = 1_000_000_000


def weights_of(program: Program) -> dict[str, float]:
    """What each transaction weighs, in the program's order."""
    return {transaction.name: transaction.weight for transaction in program.transactions}


def with_weights(program: Program, weights: Sequence[float]) -> Program:
    """The program with these weights for its transactions, in their order."""
    pairs = zip(program.transactions, weights, strict=True)
    changed = tuple(msgspec.structs.replace(transaction, weight=weight) for transaction, weight in pairs)
    return msgspec.structs.replace(program, transactions=changed)


def mixed(program: Program, given: Mapping[str, float]) -> dict[str, float]:
    """All weights, those given in the place of the program's.

    A weight of 0 is a transaction that is not drawn. Raises UsageError for an unknown name, a weight out of
    range, or a mix of nothing.
    """
    now = weights_of(program)
    for name, weight in given.items():
        if name not in now:
            raise UsageError(f"{program.profile} has no transaction '{name}'", nearest.hint(name, now))
        if not 0 <= weight <= HEAVIEST:
            raise UsageError(f"the weight of {name} must be between 0 and {HEAVIEST:,}, not {weight:,g}")
        if program.deck and weight != int(weight):
            raise UsageError(f"{name}: in a deck a weight is a number of cards, not {weight:g}")
    mix = now | dict(given)
    if not any(mix.values()):
        raise UsageError("at least one transaction needs a weight above 0")
    if program.deck and sum(mix.values()) > MOST_CARDS:
        raise UsageError(f"a deck has at most {MOST_CARDS:,} cards")
    return mix
