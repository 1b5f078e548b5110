"""Time series reduced to the points that a chart can show, with gaps."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.model.measurements.sample import Sample

MOST_POINTS = 600
"""A chart is about this many pixels wide: more points would overlap."""

SampleValue = Callable[[Sample], float | None]


class Series(NamedTuple):
    """One line: its mean at each of the axis' times, and the lowest and highest there; None is a gap.

    `kind` is line, or area for one that is stacked on those before it; `dashed` is for a requested value.
    """

    name: str
    means: list[float | None]
    lows: list[float | None]
    highs: list[float | None]
    dashed: bool = False

    @property
    def is_empty(self) -> bool:
        return all(value is None for value in self.means)

    @property
    def is_zero(self) -> bool:
        """True if nothing would be visible."""
        return not any(self.highs)

    @property
    def highest(self) -> float:
        return max((value for value in self.highs if value is not None), default=0.0)

    @property
    def mean(self) -> float | None:
        known = [value for value in self.means if value is not None]
        return math.fsum(known) / len(known) if known else None


class TimeAxis:
    """The time axis of all charts of a run: samples in slots, at most `MOST_POINTS` of them."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        length = max(1, math.ceil(len(samples) / MOST_POINTS))
        self._slots = [samples[start : start + length] for start in range(0, len(samples), length)]
        self.times = [slot[-1].elapsed_seconds for slot in self._slots]
        first, second = samples[0].elapsed_seconds, samples[min(1, len(samples) - 1)].elapsed_seconds
        self.start = min(first - max(second - first, 0.0), 0.0) if first > 0 else first
        self.end = max(samples[-1].elapsed_seconds, self.start + 1e-3)

    def series(self, name: str, figure: SampleValue, *, dashed: bool = False) -> Series:
        """A figure of each sample as a line."""
        columns: list[list[float]] = []
        for slot in self._slots:
            columns.append([value for value in map(figure, slot) if value is not None])
        return Series(
            name,
            [math.fsum(column) / len(column) if column else None for column in columns],
            [min(column, default=None) for column in columns],
            [max(column, default=None) for column in columns],
            dashed,
        )


def stack_series(parts: Sequence[Series]) -> list[Series]:
    """Stack each series on the sum of those before it."""
    below = [0.0] * (len(parts[0].means) if parts else 0)
    found = []
    for part in parts:
        tops: list[float | None] = [
            None if value is None else value + base for value, base in zip(part.means, below, strict=True)
        ]
        found.append(Series(part.name, tops, list[float | None](below), tops))
        below = [base if top is None else top for top, base in zip(tops, below, strict=True)]
    return found
