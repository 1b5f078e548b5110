"""How steady a run was: the distribution of its throughput from second to second, and its stalls.

A mean hides a server that does nothing for two seconds in every thirty. What shows it are the lowest seconds
(p1 of one-second TPS), the coefficient of variation, and stalls: stretches in which throughput stays below
`STALLED` of the median.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from statistics import median
from typing import NamedTuple

from tuibench.model.steadiness import Stall, Steadiness

STALLED = 0.1
SECOND = 1.0
ROUNDING_SECONDS = 0.05


class Tick(NamedTuple):
    """What one tick measured: when it ended, how long it was, and the transactions that ended in it."""

    end_seconds: float
    seconds: float
    transactions: float


def steadiness(ticks: Sequence[Tick]) -> Steadiness | None:
    """The steadiness of a run; None without a tick. Pauses are left out by the caller."""
    seconds = list(in_seconds(ticks))
    if not seconds:
        return None
    rates = sorted(tick.transactions / tick.seconds for tick in seconds)
    mean = math.fsum(rates) / len(rates)
    deviation = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / max(len(rates) - 1, 1))
    found = tuple(stalls(ticks))
    return Steadiness(
        p1=at_rank(rates, 0.01),
        p50=at_rank(rates, 0.50),
        p99=at_rank(rates, 0.99),
        variation=deviation / mean if mean > 0 else None,
        longest_stall_seconds=max((stall.seconds for stall in found), default=0.0),
        stalls=found,
    )


def in_seconds(ticks: Iterable[Tick]) -> Iterator[Tick]:
    """Ticks that are shorter than a second added up to one; a rest at the end is left out."""
    seconds = transactions = 0.0
    for tick in ticks:
        seconds += tick.seconds
        transactions += tick.transactions
        if seconds >= SECOND - ROUNDING_SECONDS:
            yield Tick(tick.end_seconds, seconds, transactions)
            seconds = transactions = 0.0


def stalls(ticks: Sequence[Tick]) -> Iterator[Stall]:
    """The stretches of ticks below `STALLED` of the median."""
    if not ticks:
        return
    limit = STALLED * median(tick.transactions / tick.seconds for tick in ticks)
    for is_stalled, stretch in groupby(ticks, lambda tick: tick.transactions < limit * tick.seconds):
        if is_stalled:
            several = list(stretch)
            seconds = math.fsum(tick.seconds for tick in several)
            transactions = math.fsum(tick.transactions for tick in several)
            start = several[0].end_seconds - several[0].seconds
            yield Stall(start, several[-1].end_seconds, transactions / seconds)


def at_rank(ordered: Sequence[float], share: float) -> float:
    """The value at rank ceil(share · n) of an ordered series."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]
