"""Steadiness of a series: change points, drifts, swings.

Change point detection in the history of a figure: the runs at which its level changes.

- `change_points` analyses the whole history: E-divisive (Matteson and James, JASA 109, 2014) finds the best
  split of a stretch by the energy distance of its two sides, without an assumption about the distribution.
  Student's t on both sides decides whether the split is significant, as in Hunter (Fleming et al., ICPE 2023;
  apache-otava), and both sides are searched recursively.
- `first_alarm` analyses the newest runs, when a change has few runs after it: a cumulative sum (Page,
  Biometrika 41, 1954) of the evidence that the level has shifted by `shift` against the runs before. The
  evidence is a ratio of t densities, because the level before and its noise are estimated.

Levels are logarithms, in time order.

Steadiness of a run: the distribution of its throughput from second to second.

A mean hides a server that does nothing for two seconds in every thirty. The lowest seconds (p1 of one-second
TPS), the coefficient of variation, and stalls reveal it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, stdev, variance
from typing import NamedTuple

from tuibench.metrics import inference
from tuibench.model.findings import Stall, Steadiness

LEVEL = 0.001
"""Significance level of the t test. It tests the best of many splits, so this is much smaller than the rate
of false alarms.
"""

FEWEST_RUNS = 3
"""The least runs on each side of a change point."""

LONGEST_STRETCH = 400
"""Runs searched at a time; the time of the search grows with the square."""

BASELINE = 100
FEWEST_BASELINE = 8
EVIDENCE = 4.1
"""The logarithm of the likelihood ratio at which the newest runs raise an alarm.

It does so once in 200 runs without a change. A fall of 5 % in noise of 3 % is then detected within five
runs in 77, 81 and 84 % (after 20, 40 and 100 runs). A sum with known level and noise, which is
optimal (Moustakides, Annals of Statistics 14, 1986), detects it in 86 % at the same rate of alarms.
"""

LEAST_NOISE = 0.003
"""The least noise assumed: closer agreement of runs is chance."""


class ChangePoint(NamedTuple):
    """`place` is the first run at the new level; `change` is the difference of logarithms, so far if it is an
    alarm, which was evident at run `seen`.
    """

    place: int
    change: float
    seen: int = 0


def change_points(levels: Sequence[float]) -> list[ChangePoint]:
    """All changes of level, in time order."""
    start = max(0, len(levels) - LONGEST_STRETCH)
    places = [start, *_places(levels, start, len(levels)), len(levels)]
    return [
        ChangePoint(place, fmean(levels[place:after]) - fmean(levels[before:place]))
        for before, place, after in zip(places, places[1:], places[2:], strict=False)
    ]


def first_alarm(levels: Sequence[float], shift: float, since: int = 0) -> ChangePoint | None:
    """The first shift that begins at run `since` or later; a negative `shift` is a fall.

    The baseline is up to `BASELINE` runs before the shift, at the last level.
    """
    changed = [point.place for point in change_points(levels[:since])]
    begin = changed[-1] if changed else 0
    evidence, first = 0.0, max(since, begin + FEWEST_BASELINE)
    for place in range(first, len(levels)):
        if evidence <= 0:
            evidence, first = 0.0, place
        baseline = levels[max(begin, first - BASELINE) : first]
        evidence += _evidence(levels[place], baseline, shift)
        if evidence > EVIDENCE:
            return ChangePoint(first, fmean(levels[first : place + 1]) - fmean(baseline), place)
    return None


def _places(levels: Sequence[float], start: int, end: int) -> list[int]:
    place = _best_split(levels[start:end])
    if place is None:
        return []
    middle = start + place
    left, right = levels[start:middle], levels[middle:end]
    degrees = len(left) + len(right) - 2
    pooled = (variance(left) * (len(left) - 1) + variance(right) * (len(right) - 1)) / degrees
    error = math.sqrt(max(pooled, LEAST_NOISE**2) * (1 / len(left) + 1 / len(right)))
    if abs(fmean(right) - fmean(left)) <= inference.two_sided(LEVEL, degrees) * error:
        return []
    return [*_places(levels, start, middle), middle, *_places(levels, middle, end)]


def _best_split(levels: Sequence[float]) -> int | None:
    """The split with the largest energy distance of the two sides, weighted by their sizes."""
    count = len(levels)
    inside_left, inside_right, whole = 0.0, _distances(levels), _distances(levels)
    best: tuple[float, int] | None = None
    for place, level in enumerate(levels[: count - FEWEST_RUNS], 1):
        inside_left += math.fsum(abs(level - other) for other in levels[: place - 1])
        inside_right -= math.fsum(abs(level - other) for other in levels[place:])
        if place < FEWEST_RUNS:
            continue
        left, right = place, count - place
        between = 2 * (whole - inside_left - inside_right) / (left * right)
        energy = between - 2 * inside_left / (left * (left - 1)) - 2 * inside_right / (right * (right - 1))
        best = max(best or (-math.inf, 0), (energy * left * right / count, place))
    return best[1] if best else None


def _distances(levels: Sequence[float]) -> float:
    """The sum of |x − y| over all pairs."""
    return math.fsum((2 * place - len(levels) + 1) * level for place, level in enumerate(sorted(levels)))


def _evidence(level: float, baseline: Sequence[float], shift: float) -> float:
    """The log likelihood ratio of a shift of the level against none.

    The ratio of two t densities has a maximum beyond the shift and falls again: a level that is further away
    is no weaker evidence, and has that of the maximum.
    """
    count = len(baseline)
    noise = max(stdev(baseline), LEAST_NOISE)
    scale = noise * noise * (1 + 1 / count) * (count - 1)
    size, off = abs(shift), math.copysign(1.0, shift) * (level - fmean(baseline))
    off = min(off, (size + math.sqrt(size * size + 4 * scale)) / 2)
    return count / 2 * (math.log1p(off * off / scale) - math.log1p((off - size) ** 2 / scale))


SECOND = 1.0
ROUNDING_SECONDS = 0.05


def steadiness(
    lengths: Iterable[float], transactions: Iterable[float], stalls: Sequence[Stall] = ()
) -> Steadiness | None:
    """The steadiness of a run from the length of each tick, and the transactions that ended in it; None
    without a whole second. The caller omits pauses.
    """
    rates = sorted(_by_second(lengths, transactions))
    if not rates:
        return None
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


def _by_second(lengths: Iterable[float], transactions: Iterable[float]) -> Iterator[float]:
    """The rate of each second: shorter ticks are merged, an incomplete second at the end is omitted."""
    seconds = count = 0.0
    for length, ended in zip(lengths, transactions, strict=True):
        seconds += length
        count += ended
        if seconds >= SECOND - ROUNDING_SECONDS:
            yield count / seconds
            seconds = count = 0.0


def at_rank(ordered: Sequence[float], share: float) -> float:
    """The value at rank ceil(share · n) of an ordered series."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]
