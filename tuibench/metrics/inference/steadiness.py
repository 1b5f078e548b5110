"""Steadiness of a run: the distribution of its throughput from second to second, and its stalls.

A mean hides a server that does nothing for two seconds in every thirty. The lowest seconds (p1 of one-second
TPS), the coefficient of variation, and stalls reveal it: stretches in which throughput is below `STALLED` of
the median of its level. A level lasts until the next change of the load or of a setting: 20 TPS with one
thread are no stall because 64 threads reached 1,000.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from statistics import median
from typing import NamedTuple

from tuibench.model.measurements.steadiness import Stall, Steadiness

STALLED = 0.1
SECOND = 1.0
ROUNDING_SECONDS = 0.05
FEWEST_TICKS = 5
"""A level with fewer ticks has no reliable median, such as the steps of a ramp."""
SETTLING_SECONDS = 10.0
"""Seconds after a change in which some ticks are still near the previous level: the lower of both medians
applies.
"""


class Tick(NamedTuple):
    """One tick: its end, its length, and the transactions that ended in it.

    `level` is a different number after each change of the load or of a setting.
    """

    end_seconds: float
    seconds: float
    transactions: float
    level: int = 0

    @property
    def start_seconds(self) -> float:
        return self.end_seconds - self.seconds

    @property
    def tps(self) -> float:
        return self.transactions / self.seconds


def steadiness(ticks: Sequence[Tick]) -> Steadiness | None:
    """The steadiness of a run; None without a tick. The caller omits pauses."""
    seconds = list(in_seconds(ticks))
    if not seconds:
        return None
    rates = sorted(tick.tps for tick in seconds)
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
    """Merge ticks shorter than a second to whole seconds; an incomplete second at the end is omitted."""
    seconds = transactions = 0.0
    for tick in ticks:
        seconds += tick.seconds
        transactions += tick.transactions
        if seconds >= SECOND - ROUNDING_SECONDS:
            yield Tick(tick.end_seconds, seconds, transactions)
            seconds = transactions = 0.0


def stalls(ticks: Sequence[Tick]) -> Iterator[Stall]:
    """The stretches of ticks below `STALLED` of the median of their level."""
    before = math.inf
    for _, several in groupby(ticks, lambda tick: tick.level):
        level = list(several)
        if len(level) < FEWEST_TICKS:
            continue
        usual = median(tick.tps for tick in level)
        yield from map(_stall, _stretches(level, usual, min(usual, before)))
        before = usual


def _stretches(level: Sequence[Tick], usual: float, at_first: float) -> Iterator[list[Tick]]:
    """Stalled ticks of one level without a pause between them. `at_first` applies while the level settles."""
    settled_seconds = level[0].start_seconds + SETTLING_SECONDS
    stretch: list[Tick] = []
    for tick in level:
        is_settling = tick.end_seconds <= settled_seconds + ROUNDING_SECONDS
        is_stalled = tick.tps < STALLED * (at_first if is_settling else usual)
        is_apart = bool(stretch) and tick.start_seconds > stretch[-1].end_seconds + ROUNDING_SECONDS
        if stretch and (is_apart or not is_stalled):
            yield stretch
            stretch = []
        if is_stalled:
            stretch.append(tick)
    if stretch:
        yield stretch


def _stall(stretch: Sequence[Tick]) -> Stall:
    transactions = math.fsum(tick.transactions for tick in stretch)
    seconds = math.fsum(tick.seconds for tick in stretch)
    return Stall(stretch[0].start_seconds, stretch[-1].end_seconds, transactions / seconds)


def at_rank(ordered: Sequence[float], share: float) -> float:
    """The value at rank ceil(share · n) of an ordered series."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]
