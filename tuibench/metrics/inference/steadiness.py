"""Steadiness of a run: the distribution of its throughput from second to second.

A mean hides a server that does nothing for two seconds in every thirty. The lowest seconds (p1 of one-second
TPS), the coefficient of variation, and stalls reveal it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tuibench.model.measurements.steadiness import Stall, Steadiness

SECOND = 1.0
ROUNDING_SECONDS = 0.05


class Tick(NamedTuple):
    """One tick: its end, its length, and the transactions that ended in it."""

    end_seconds: float
    seconds: float
    transactions: float

    @property
    def tps(self) -> float:
        return self.transactions / self.seconds


def steadiness(ticks: Sequence[Tick], stalls: Sequence[Stall] = ()) -> Steadiness | None:
    """The steadiness of a run; None without a tick. The caller omits pauses."""
    seconds = list(in_seconds(ticks))
    if not seconds:
        return None
    rates = sorted(tick.tps for tick in seconds)
    mean = math.fsum(rates) / len(rates)
    deviation = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / max(len(rates) - 1, 1))
    return Steadiness(
        p1=at_rank(rates, 0.01),
        p50=at_rank(rates, 0.50),
        p99=at_rank(rates, 0.99),
        variation=deviation / mean if mean > 0 else None,
        longest_stall_seconds=max((stall.seconds for stall in stalls), default=0.0),
        stalls=tuple(stalls),
    )


def in_seconds(ticks: Iterable[Tick]) -> Iterator[Tick]:
    """Merge ticks shorter than a second to whole seconds; an incomplete second at the end is omitted."""
    seconds = transactions = 0.0
    for tick in ticks:
        seconds += tick.seconds
        transactions += tick.transactions
        if seconds >= SECOND - ROUNDING_SECONDS:
            yield Tick(tick.end_seconds, seconds, transactions)
            seconds = transactions = 0.0


def at_rank(ordered: Sequence[float], share: float) -> float:
    """The value at rank ceil(share · n) of an ordered series."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]
